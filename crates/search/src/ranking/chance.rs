//! Chance: how likely is it that a chunk holds evidence for a question?
//!
//! A rank says which chunk is the best one, not whether it is any good: a question that no document answers has a best
//! chunk, too. The chance p of a chunk c among n chunks is
//!
//! ```text
//! ln(p / (1 − p)) = 0.62 · (s(c) − h(n)) + 6.2 · (v(c) − m) / (o − m) − 4.1
//! h(n) = √(2 ln min(n, 1000)) + 2.5 · max(0, 1 − 1000 / n)
//! ```
//!
//! s is the score of the weighted sum, in standard deviations of the 1,000 best chunks; h(n) is about the highest one of n chunks that
//! have nothing to do with the question, if their scores are normal. v is the score of the vector, m the mean dot product of
//! two chunks of the dataset, and o that of a chunk with itself: some models say .1 of unrelated texts, others .7.
//!
//! The numbers are those of a logistic regression on the best 20 chunks for the questions of four labelled sets, and for
//! the same questions without the documents that answer them, among 100 to 2,000 chunks. `eval/records` shows how often a
//! chance is right on a set if the numbers come from the other three. Fewer chunks have no chance: their deviations say
//! too little.

use rayon::prelude::*;

use super::column::Column;
use super::linear::POOL;

/// Weight of the score above the highest one by chance.
const SCORE: f64 = 0.62;

/// Weight of the similarity.
const SIMILARITY: f64 = 6.2;

/// The logarithm of the odds if both are 0.
const UNRELATED: f64 = -4.1;

/// By how much the highest of very many scores is higher in deviations of the best ones than in those of all.
const TAIL: f64 = 2.5;

/// Number of rows that one thread adds up at a time.
const BLOCK: usize = 1024;

/// Smallest number of chunks among which a chance is known.
const FEWEST: usize = 100;

/// How similar the vectors of a dataset are to each other.
#[derive(Debug, Clone, Copy)]
pub(super) struct SimilarityScale {
    /// Mean dot product of two chunks.
    others: f64,
    /// Mean dot product of a chunk with itself.
    itself: f64,
}

impl SimilarityScale {
    /// Measures vectors, of which `own` are the dot products with themselves, one for each row. Vectors of zeros do not count.
    /// Returns `None` if there are no two different ones. The order of additions is fixed.
    pub(super) fn of(vectors: &Column, own: impl ExactSizeIterator<Item = f32>) -> Option<Self> {
        let (rows, dim) = (own.len(), vectors.dim());
        let sum_of = |block: usize| {
            let mut sum = vec![0.0; dim];
            for row in block * BLOCK..rows.min((block + 1) * BLOCK) {
                sum.iter_mut().zip(&*vectors.vector(row)).for_each(|(sum, value)| *sum += f64::from(*value));
            }
            sum
        };
        let blocks: Vec<Vec<f64>> = (0..rows.div_ceil(BLOCK)).into_par_iter().map(sum_of).collect();
        let sum = (0..dim).map(|at| blocks.iter().map(|block| block[at]).sum::<f64>());
        let all: f64 = sum.map(|sum| sum * sum).sum();
        let own = own.filter(|own| *own > 0.0).map(f64::from);
        let (count, squares) = own.fold((0.0, 0.0), |(count, sum), own| (count + 1.0, sum + own));
        let itself = squares / count;
        // Each of two different chunks stands with the other, both ways.
        let others = (all - itself * count) / (count * (count - 1.0));
        (itself - others > f64::EPSILON).then_some(Self { others, itself })
    }

    /// Returns the numbers that it consists of.
    pub(super) fn values(self) -> [f64; 2] {
        [self.others, self.itself]
    }

    pub(super) fn from_values([others, itself]: [f64; 2]) -> Self {
        Self { others, itself }
    }

    /// Returns the chance of a chunk among `count` chunks, if there are enough: `score` is that of the weighted sum, `vector`
    /// that of its vector, if it has one.
    pub(super) fn chance(self, score: f64, vector: Option<f64>, count: usize) -> Option<f64> {
        #[expect(clippy::cast_precision_loss, reason = "rows are far below 2^52")]
        let [all, pool] = [count, count.min(POOL)].map(|count| count as f64);
        // The best of many have a smaller deviation than all of them. Within 4 % of what the normal distribution has.
        let highest = (2.0 * pool.ln()).sqrt() + TAIL * (1.0 - pool / all);
        let similarity = vector.map_or(0.0, |vector| (vector - self.others) / (self.itself - self.others));
        let log_odds = SCORE * (score - highest) + SIMILARITY * similarity + UNRELATED;
        (count >= FEWEST).then(|| 1.0 / (1.0 + (-log_odds).exp()))
    }
}
