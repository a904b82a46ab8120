//! The progress of a job as numbers, computed from its events.

use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Instant;

use serde::Serialize;

use super::event::Event;

/// A running sum of the events of a job. Any thread may add events and read the sum.
#[derive(Debug)]
pub struct Tally {
    started: Instant,
    documents: AtomicU64,
    bytes: AtomicU64,
    prepared: AtomicU64,
    bytes_prepared: AtomicU64,
    chunks: AtomicU64,
    ready: AtomicU64,
    /// Finished texts of the block that is being embedded.
    in_work: AtomicU64,
    /// Texts that the model read, without those whose vectors were in the cache.
    embedded: AtomicU64,
    tokens: AtomicU64,
}

/// The progress of a job at one moment.
#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
pub struct Standing {
    /// Number of documents found.
    pub documents: u64,
    /// Number of documents that are chunked, reused or quarantined.
    pub prepared: u64,
    /// Number of their chunks.
    pub chunks: u64,
    /// Number of chunks that have vectors.
    pub ready: u64,
    /// Number of texts that the model has read.
    pub texts_embedded: u64,
    /// Number of tokens that the model reads per second.
    pub tokens_per_second: f64,
    /// Seconds since the start.
    pub seconds: f64,
    /// Estimated seconds for the rest of the work, extrapolated from what is done; 0 while nothing is done.
    pub eta_seconds: f64,
    /// Share of the work that is done: the prepared share of all bytes times the share of known chunks with
    /// vectors.
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
    /// Adds an event.
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

    /// Returns the current progress.
    #[expect(clippy::cast_precision_loss, reason = "an estimate")]
    pub fn now(&self) -> Standing {
        let load = |counter: &AtomicU64| counter.load(Ordering::Relaxed);
        let share = |part: u64, whole: u64| if whole > 0 { part as f64 / whole as f64 } else { 0.0 };
        let (documents, prepared, chunks) = (load(&self.documents), load(&self.prepared), load(&self.chunks));
        let ready = load(&self.ready) + load(&self.in_work);
        let seconds = self.started.elapsed().as_secs_f64();
        // Documents differ far more in size than in cost per byte.
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
