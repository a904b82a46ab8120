//! A reranker that reads each pair once. Ways to search that differ in the weight or the depth of a reranker read the same
//! passages, and reading takes nearly all of a sweep's time. The time that a pair took is counted each time.

use std::collections::HashMap;
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::Instant;

use chunkmill::embed::Reranker;
use chunkmill::error::Result;

/// A reranker with what it said so far.
pub(super) struct OnceReranker {
    reranker: Box<dyn Reranker>,
    pairs: Mutex<ReadPairs>,
}

#[derive(Default)]
struct ReadPairs {
    /// The logit of each pair, and the milliseconds that it took.
    known: HashMap<blake3::Hash, (f32, f64)>,
    saved_ms: f64,
}

impl OnceReranker {
    pub(super) fn new(reranker: Box<dyn Reranker>) -> Self {
        Self { reranker, pairs: Mutex::default() }
    }

    /// Returns the reranker as it is, which takes its time for each pair.
    pub(super) fn inner(&self) -> &dyn Reranker {
        self.reranker.as_ref()
    }

    /// Returns the milliseconds that were saved since this was asked last.
    pub(super) fn saved_ms(&self) -> f64 {
        std::mem::take(&mut self.pairs().saved_ms)
    }

    fn pairs(&self) -> MutexGuard<'_, ReadPairs> {
        self.pairs.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Reranker for OnceReranker {
    fn id(&self) -> &str {
        self.reranker.id()
    }

    fn score(&self, logit: f32) -> f32 {
        self.reranker.score(logit)
    }

    fn logits(&self, question: &str, passages: &[&str]) -> Result<Vec<f32>> {
        let key = |passage: &&str| {
            let mut hash = blake3::Hasher::new();
            hash.update(&question.len().to_le_bytes()).update(question.as_bytes()).update(passage.as_bytes());
            hash.finalize()
        };
        let keys: Vec<blake3::Hash> = passages.iter().map(key).collect();
        let mut read = self.pairs();
        let new: Vec<usize> = (0..keys.len()).filter(|&at| !read.known.contains_key(&keys[at])).collect();
        read.saved_ms += keys.iter().filter_map(|key| read.known.get(key)).map(|(_, ms)| ms).sum::<f64>();
        if !new.is_empty() {
            let texts: Vec<&str> = new.iter().map(|&at| passages[at]).collect();
            let started = Instant::now();
            let logits = self.reranker.logits(question, &texts)?;
            #[expect(clippy::cast_precision_loss, reason = "far below 2^52")]
            let each = started.elapsed().as_secs_f64() * 1000.0 / new.len() as f64;
            read.known.extend(new.iter().map(|&at| keys[at]).zip(logits.into_iter().map(|logit| (logit, each))));
        }
        Ok(keys.iter().map(|key| read.known.get(key).map_or(f32::NEG_INFINITY, |(logit, _)| *logit)).collect())
    }
}
