//! The best chunks in the order of a ranking and a reranker together.
//!
//! A reranker reads a question with a passage, but knows nothing of the other documents. Where questions name their document, or
//! evidence is not what it was trained on, its order alone is worse than the ranking's. So its scores are added:
//!
//! ```text
//! s′(c) = s(c) + σ/w · z(r(c))     c: one of the chunks that are read
//! ```
//!
//! s is the score of the ranking, σ its standard deviation over the chunks that are read, r what the reranker says before its
//! activation, z the number of standard deviations from the mean, and w the weight of the ranking. The order is that of
//! z(r) + w · z(s), and the scale that of s: a context is packed as without a reranker. The chunks that are not read
//! follow in their order.

use std::fmt;
use std::time::{Duration, Instant};

use chunkmill_base::error::Result;
use chunkmill_embed::Reranker;

use crate::ranking::{FoundChunk, Weight};

/// A reranker, and how it is used.
#[derive(Clone, Copy)]
pub struct Rerank<'q> {
    /// The reranker, which reads each chunk with the question.
    pub reranker: &'q dyn Reranker,
    /// Number of chunks it reads.
    pub depth: usize,
    /// Weight of the ranking's score. With 0, the reranker's scores replace it.
    pub weight: Weight,
    /// If given, it reads only as many of the best chunks as there is time for, but at least eight.
    pub time: Option<Duration>,
}

/// Number of chunks that are read before the speed is known.
const FIRST: usize = 8;

impl Rerank<'_> {
    /// Returns whether its scores are added to those of the ranking, not put in their place.
    pub fn adds(self) -> bool {
        self.weight > Weight::ZERO
    }

    /// Orders hits by the scores of the ranking and the reranker, best first. Ties keep their order. `texts` are those of
    /// the first hits, as a model sees them.
    pub(super) fn order(self, mut found: Vec<FoundChunk>, question: &str, texts: &[String]) -> Result<Vec<FoundChunk>> {
        let texts: Vec<&str> = texts.iter().map(String::as_str).collect();
        let logits = self.read(question, &texts)?;
        let (read, rest) = found.split_at_mut(logits.len());
        if self.adds() {
            let scores: Vec<f64> = read.iter().map(|found| found.score).collect();
            for (found, score) in read.iter_mut().zip(sums(&scores, &logits, self.weight.get())) {
                found.score = score;
            }
        } else {
            for (found, logit) in read.iter_mut().zip(logits) {
                found.score = self.reranker.score(logit).into();
            }
        }
        read.sort_by(|a, b| b.score.total_cmp(&a.score));
        let least = read.last().map_or(f64::INFINITY, |found| found.score);
        for found in rest {
            found.score = found.score.min(least);
        }
        Ok(found)
    }

    /// Returns what the reranker says of the passages, or of the first ones if time is short.
    #[expect(
        clippy::cast_precision_loss,
        clippy::cast_possible_truncation,
        clippy::cast_sign_loss,
        reason = "an estimate"
    )]
    fn read(self, question: &str, passages: &[&str]) -> Result<Vec<f32>> {
        let Some(time) = self.time else { return self.reranker.logits(question, passages) };
        let started = Instant::now();
        let mut logits = self.reranker.logits(question, &passages[..FIRST.min(passages.len())])?;
        loop {
            let spent = started.elapsed();
            let speed = logits.len() as f64 / spent.as_secs_f64().max(f64::EPSILON);
            let more = (speed * time.saturating_sub(spent).as_secs_f64()) as usize;
            let next = &passages[logits.len()..];
            let next = &next[..more.min(next.len())];
            if next.is_empty() {
                return Ok(logits);
            }
            logits.extend(self.reranker.logits(question, next)?);
        }
    }
}

impl fmt::Debug for Rerank<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { reranker, depth, weight, time } = self;
        f.debug_struct("Rerank")
            .field("reranker", &reranker.id())
            .field("depth", depth)
            .field("weight", weight)
            .field("time", time)
            .finish()
    }
}

/// Returns the sums for some chunks, on the scale of their scores.
fn sums(scores: &[f64], logits: &[f32], weight: f64) -> Vec<f64> {
    let logits: Vec<f64> = logits.iter().copied().map(f64::from).collect();
    let ((_, unit), (mean, deviation)) = (spread(scores), spread(&logits));
    // If all scores are equal, any unit gives the order of the reranker.
    let unit = if unit > 0.0 { unit } else { 1.0 } / weight;
    let z = |logit: f64| if deviation > 0.0 { (logit - mean) / deviation } else { 0.0 };
    scores.iter().zip(logits).map(|(score, logit)| score + unit * z(logit)).collect()
}

/// Returns the mean and the standard deviation of some values; for none, 0.
fn spread(values: &[f64]) -> (f64, f64) {
    if values.is_empty() {
        return (0.0, 0.0);
    }
    #[expect(clippy::cast_precision_loss, reason = "far below 2^52")]
    let mean = |values: &mut dyn Iterator<Item = f64>, count: usize| values.sum::<f64>() / count as f64;
    let middle = mean(&mut values.iter().copied(), values.len());
    let variance = mean(&mut values.iter().map(|value| (value - middle) * (value - middle)), values.len());
    (middle, variance.sqrt())
}
