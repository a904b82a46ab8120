//! How far a job is: what it has told, as numbers.

use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Instant;

use serde::Serialize;

use super::Event;

/// Adds up what a job tells. Any thread may add and look.
#[derive(Debug)]
pub struct Tally {
    started: Instant,
    documents: AtomicU64,
    bytes: AtomicU64,
    prepared: AtomicU64,
    bytes_prepared: AtomicU64,
    chunks: AtomicU64,
    ready: AtomicU64,
    /// Texts of the file being embedded that are done.
    in_work: AtomicU64,
    /// Texts that the model read, those whose vectors were in the cache not counted.
    embedded: AtomicU64,
    tokens: AtomicU64,
}

/// How far a job is at some moment.
#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
pub struct Standing {
    /// Documents found.
    pub documents: u64,
    /// Those of them that are chunked, taken over or in quarantine.
    pub prepared: u64,
    /// Chunks of these.
    pub chunks: u64,
    /// Chunks that have their vectors.
    pub ready: u64,
    /// Texts that the model has read.
    pub texts_embedded: u64,
    /// How fast it reads.
    pub tokens_per_second: f64,
    /// Time since the start.
    pub seconds: f64,
    /// Time that the rest will take, if it is like what is done; 0 while nothing is.
    pub eta_seconds: f64,
    /// Share of the work that is done: what is known of it, scaled to the bytes of the documents not yet seen.
    #[serde(skip)]
    pub done: f64,
}

impl Default for Tally {
    fn default() -> Self {
        let zero = || AtomicU64::new(0);
        Self {
            started: Instant::now(),
            documents: zero(),
            bytes: zero(),
            prepared: zero(),
            bytes_prepared: zero(),
            chunks: zero(),
            ready: zero(),
            in_work: zero(),
            embedded: zero(),
            tokens: zero(),
        }
    }
}

impl Tally {
    /// Adds what was told.
    pub fn on(&self, event: Event) {
        let add = |counter: &AtomicU64, n: usize| counter.fetch_add(n as u64, Ordering::Relaxed);
        match event {
            Event::Discovered { documents, bytes } => {
                self.documents.store(documents, Ordering::Relaxed);
                self.bytes.store(bytes, Ordering::Relaxed);
            }
            Event::Kept { documents, bytes, chunks } => {
                self.bytes_prepared.fetch_add(bytes, Ordering::Relaxed);
                self.prepared.fetch_add(documents, Ordering::Relaxed);
                self.chunks.fetch_add(chunks, Ordering::Relaxed);
                self.ready.fetch_add(chunks, Ordering::Relaxed);
            }
            Event::Prepared { bytes, chunks } => {
                self.bytes_prepared.fetch_add(bytes, Ordering::Relaxed);
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
    }

    /// How far the job is.
    #[must_use]
    #[expect(clippy::cast_precision_loss, reason = "an estimate")]
    pub fn now(&self) -> Standing {
        let load = |counter: &AtomicU64| counter.load(Ordering::Relaxed);
        let share = |part: u64, whole: u64| if whole > 0 { part as f64 / whole as f64 } else { 0.0 };
        let (documents, prepared, chunks) = (load(&self.documents), load(&self.prepared), load(&self.chunks));
        let ready = load(&self.ready) + load(&self.in_work);
        let seconds = self.started.elapsed().as_secs_f64();
        // Documents differ in size far more than their bytes differ in what they cost.
        let done = share(load(&self.bytes_prepared), load(&self.bytes)).min(1.0) * share(ready, chunks);
        Standing {
            documents,
            prepared,
            chunks,
            ready,
            texts_embedded: load(&self.embedded),
            tokens_per_second: (load(&self.tokens) as f64 / seconds.max(1e-3)).round(),
            seconds,
            eta_seconds: if done > 0.0 { seconds * (1.0 - done) / done } else { 0.0 },
            done,
        }
    }
}
