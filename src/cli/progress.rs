//! Progress on standard error: bars on a terminal, plain or JSON lines elsewhere.

use std::str::FromStr;
use std::sync::Mutex;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, Instant};

use indicatif::{ProgressBar, ProgressStyle};
use serde_json::json;

use super::output::{is_watched, tell};
use crate::index::Event;
use crate::value::named;

/// Time between two plain or JSON lines when nothing else is said.
const INTERVAL: Duration = Duration::from_secs(5);

/// Time between two lines as it is written on a command line: seconds, with a fraction if need be.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Interval(Duration);

impl Default for Interval {
    fn default() -> Self {
        Self(INTERVAL)
    }
}

impl FromStr for Interval {
    type Err = &'static str;

    fn from_str(s: &str) -> Result<Self, Self::Err> {
        let seconds = s.parse().ok().and_then(|seconds| Duration::try_from_secs_f64(seconds).ok());
        seconds.map(Self).ok_or("write seconds, such as 0.5; 0 shows every step")
    }
}

/// How progress is shown.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Mode {
    /// Bars on a terminal, else plain.
    Auto,
    /// A line now and then.
    Plain,
    /// A JSON object per line now and then.
    Json,
    /// Nothing.
    Never,
}

impl Mode {
    const ALL: [Self; 4] = [Self::Auto, Self::Plain, Self::Json, Self::Never];

    fn name(self) -> &'static str {
        match self {
            Self::Auto => "auto",
            Self::Plain => "plain",
            Self::Json => "json",
            Self::Never => "never",
        }
    }
}

named!(Mode, "a way to show progress");

/// Counts what a job tells and shows it.
pub(super) struct Progress {
    mode: Mode,
    interval: Duration,
    bar: ProgressBar,
    started: Instant,
    last_line: Mutex<Instant>,
    documents: AtomicU64,
    prepared: AtomicU64,
    chunks: AtomicU64,
    ready: AtomicU64,
    /// Texts of the file being embedded that are done.
    in_work: AtomicU64,
    /// Texts that the model read, those whose vectors were in the cache not counted.
    embedded: AtomicU64,
    tokens: AtomicU64,
}

impl Progress {
    pub(super) fn start(mode: Mode, Interval(interval): Interval) -> Self {
        let mode = if mode == Mode::Auto && !is_watched() { Mode::Plain } else { mode };
        let bar = if mode == Mode::Auto { ProgressBar::new(0) } else { ProgressBar::hidden() };
        let style = ProgressStyle::with_template("{bar:30} {percent}% {msg} eta {eta}");
        bar.set_style(style.unwrap_or_else(|_| ProgressStyle::default_bar()));
        if mode == Mode::Auto {
            bar.enable_steady_tick(Duration::from_millis(200));
        }
        let now = Instant::now();
        let zero = || AtomicU64::new(0);
        Self {
            mode,
            interval,
            bar,
            started: now,
            last_line: Mutex::new(now),
            documents: zero(),
            prepared: zero(),
            chunks: zero(),
            ready: zero(),
            in_work: zero(),
            embedded: zero(),
            tokens: zero(),
        }
    }

    pub(super) fn on(&self, event: Event) {
        let add = |counter: &AtomicU64, n: usize| counter.fetch_add(n as u64, Ordering::Relaxed);
        match event {
            Event::Discovered { documents, .. } => {
                self.documents.store(documents, Ordering::Relaxed);
                self.bar.set_length(documents);
            }
            Event::Kept { documents, chunks } => {
                self.prepared.fetch_add(documents, Ordering::Relaxed);
                self.chunks.fetch_add(chunks, Ordering::Relaxed);
                self.ready.fetch_add(chunks, Ordering::Relaxed);
            }
            Event::Prepared { chunks } => {
                add(&self.prepared, 1);
                add(&self.chunks, chunks);
            }
            Event::Embedded { texts, tokens } => {
                if tokens > 0 {
                    add(&self.embedded, texts);
                }
                add(&self.tokens, tokens);
                add(&self.in_work, texts);
            }
            Event::Ready { chunks } => {
                add(&self.ready, chunks);
                self.in_work.store(0, Ordering::Relaxed);
            }
        }
        self.show();
    }

    /// Share of the work that is done: what is known of it, scaled to the documents not yet seen.
    #[expect(clippy::cast_precision_loss, reason = "an estimate")]
    fn done(&self) -> f64 {
        let load = |counter: &AtomicU64| counter.load(Ordering::Relaxed) as f64;
        let share = |part: f64, whole: f64| if whole > 0.0 { part / whole } else { 0.0 };
        share(load(&self.prepared), load(&self.documents))
            * share(load(&self.ready) + load(&self.in_work), load(&self.chunks))
    }

    #[expect(
        clippy::cast_precision_loss,
        clippy::cast_possible_truncation,
        clippy::cast_sign_loss,
        reason = "for people"
    )]
    fn show(&self) {
        let load = |counter: &AtomicU64| counter.load(Ordering::Relaxed);
        let elapsed = self.started.elapsed().as_secs_f64();
        let rate = load(&self.tokens) as f64 / elapsed.max(1e-3);
        let message = || {
            format!(
                "{}/{} documents, {}/{} chunks, {rate:.0} tokens/s",
                load(&self.prepared),
                load(&self.documents),
                load(&self.ready) + load(&self.in_work),
                load(&self.chunks)
            )
        };
        if self.mode == Mode::Auto {
            self.bar.set_position((self.done() * load(&self.documents) as f64) as u64);
            self.bar.set_message(message());
            return;
        }
        if self.mode == Mode::Never {
            return;
        }
        let Ok(mut last) = self.last_line.try_lock() else { return };
        if last.elapsed() < self.interval {
            return;
        }
        *last = Instant::now();
        let done = self.done();
        let eta = if done > 0.0 { elapsed * (1.0 - done) / done } else { 0.0 };
        let line = if self.mode == Mode::Json {
            json!({
                "documents": load(&self.documents),
                "prepared": load(&self.prepared),
                "chunks": load(&self.chunks),
                "ready": load(&self.ready) + load(&self.in_work),
                "texts_embedded": load(&self.embedded),
                "tokens_per_second": rate.round(),
                "seconds": elapsed,
                "eta_seconds": eta,
            })
            .to_string()
        } else {
            format!("{:3.0}% {}, eta {eta:.0} s", done * 100.0, message())
        };
        // In one piece, so that a process that is killed leaves whole lines.
        tell(line + "\n");
    }

    pub(super) fn finish(&self) {
        self.bar.finish_and_clear();
    }
}
