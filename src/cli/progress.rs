//! Progress on standard error: bars on a terminal, plain or JSON lines elsewhere.

use std::str::FromStr;
use std::sync::Mutex;
use std::time::{Duration, Instant};

use indicatif::{ProgressBar, ProgressStyle};
use serde_json::json;
use tracing_subscriber::filter::LevelFilter;

use super::output::{is_watched, tell};
use crate::job::{Event, Standing, Tally, Watcher};
use crate::value::{count, named};

/// Default time between two plain or JSON lines.
const INTERVAL: Duration = Duration::from_secs(5);

/// Time between two lines, as written on the command line: seconds, optionally with a fraction.
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

named! {
    /// How progress is shown.
    #[derive(Debug, Clone, Copy, PartialEq, Eq)]
    pub(super) enum ProgressMode: "a way to show progress" {
        /// Bars on a terminal, otherwise plain.
        Auto = "auto",
        /// A line of text at each interval.
        Plain = "plain",
        /// A line with a JSON object at each interval.
        Json = "json",
        /// Nothing.
        Never = "never",
    }
}

/// The progress display of a job.
pub(super) struct Progress {
    mode: ProgressMode,
    interval: Duration,
    bar: ProgressBar,
    last_line: Mutex<Instant>,
    tally: Tally,
}

/// Runs a job with progress on standard error, unless only errors are wanted.
pub fn watched<T>(job: impl FnOnce(Watcher<'_>) -> T) -> T {
    let is_quiet = LevelFilter::current() <= LevelFilter::ERROR;
    let mode = if is_quiet { ProgressMode::Never } else { ProgressMode::Auto };
    let progress = Progress::start(mode, Interval::default());
    let done = job(&|event| progress.on(event));
    progress.finish();
    done
}

impl Progress {
    pub(super) fn start(mode: ProgressMode, Interval(interval): Interval) -> Self {
        let mode = if mode == ProgressMode::Auto && !is_watched() { ProgressMode::Plain } else { mode };
        let bar = if mode == ProgressMode::Auto { ProgressBar::new(0) } else { ProgressBar::hidden() };
        let style = ProgressStyle::with_template("{bar:30} {percent}% {msg}");
        bar.set_style(style.unwrap_or_else(|_| ProgressStyle::default_bar()));
        if mode == ProgressMode::Auto {
            bar.enable_steady_tick(Duration::from_millis(200));
        }
        Self { mode, interval, bar, last_line: Mutex::new(Instant::now()), tally: Tally::default() }
    }

    pub(super) fn on(&self, event: Event) {
        self.tally.on(event);
        if let Event::Discovered { documents, .. } = event {
            self.bar.set_length(documents);
        }
        self.show();
    }

    #[expect(
        clippy::cast_precision_loss,
        clippy::cast_possible_truncation,
        clippy::cast_sign_loss,
        reason = "for people"
    )]
    fn show(&self) {
        if self.mode == ProgressMode::Never {
            return;
        }
        let message = |now: &Standing| {
            let Standing { prepared, ready, tokens_per_second, .. } = now;
            let (documents, chunks) = (count(now.documents, "document"), count(now.chunks, "chunk"));
            let left = time_left(now.eta_seconds);
            format!("{prepared}/{documents}, {ready}/{chunks}, {tokens_per_second:.0} tokens/s, {left}")
        };
        if self.mode == ProgressMode::Auto {
            let now = self.tally.now();
            self.bar.set_position((now.done * now.documents as f64) as u64);
            self.bar.set_message(message(&now));
            return;
        }
        let Ok(mut last) = self.last_line.try_lock() else { return };
        if last.elapsed() < self.interval {
            return;
        }
        *last = Instant::now();
        let now = self.tally.now();
        let line = if self.mode == ProgressMode::Json {
            json!(now).to_string()
        } else {
            format!("{:3.0}% {}", now.done * 100.0, message(&now))
        };
        // Written in one piece, so a killed process leaves only whole lines.
        tell(line + "\n");
    }

    pub(super) fn finish(&self) {
        self.bar.finish_and_clear();
    }
}

/// Formats the remaining time in readable units. The estimate is based on the bytes of the remaining documents, so a
/// few long ones at the end are accounted for.
#[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "for people")]
fn time_left(seconds: f64) -> String {
    let seconds = seconds.round() as u64;
    match (seconds / 3600, seconds / 60 % 60) {
        (0, 0..2) => format!("{seconds} s left"),
        (0, minutes) => format!("{minutes} min {} s left", seconds % 60),
        (hours, minutes) => format!("{hours} h {minutes} min left"),
    }
}
