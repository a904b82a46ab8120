//! Linear fusion: a weighted sum of several scores of a chunk.
//!
//! Scores of different kinds have nothing in common except their order and relative distances. Each is therefore
//! expressed in standard deviations from its mean, z(x) = (x − mean) / deviation, over all chunks that pass the
//! filter: the [`POOL`] best ones by that score. If all scores are equal, they say nothing and z is 0. The sum of a chunk is
//!
//! ```text
//! s = a · z(vector) + (1 − a) · z(keywords) + r · z(time)
//! ```
//!
//! Over all chunks, a z would mean something else in every corpus: few chunks have a rare word, so the deviation of keywords falls and
//! the best z rises with the square root of the number of chunks, while that of vectors hardly rises. `eval/records` shows what a pool
//! gains. The modification time is no measure of relevance, so it counts over all chunks.
//!
//! The sum is Shaw and Fox's `CombSUM`, the normalisation that of Montague and Aslam (CIKM 2001).
//! `docs/src/concepts/ranking.md` compares it with ranks.
//!
//! Sums over chunks are computed in integers, so they are the same in any order and on any number of threads.

use rayon::prelude::*;

/// Number of the best scores whose mean and deviation count.
pub(super) const POOL: usize = 1000;

/// Smallest number of rows that a thread processes.
const BLOCK: usize = 4096;

/// Largest difference between values that count as equal, as a fraction of the largest absolute value.
const SAME: f64 = 1e-6;

/// The distribution of some values.
struct Spread {
    mean: f64,
    /// 1 / deviation; 0 if all values are equal.
    scale: f64,
}

impl Spread {
    /// Computes the spread of the scores of a term that count and are known, or of the best of them.
    fn of(term: &Term<'_>, counts: impl Fn(usize) -> bool) -> Self {
        let known = |(at, value): &(usize, &f32)| !value.is_nan() && counts(*at);
        let known = term.scores.iter().enumerate().filter(known).map(|(_, value)| *value);
        let values = if term.is_relevance { best(known) } else { known.collect() };
        let counted = || values.iter().map(|value| f64::from(*value));
        let (mut least, mut most, mut number) = (f64::INFINITY, f64::NEG_INFINITY, 0_u32);
        for value in counted() {
            (least, most, number) = (least.min(value), most.max(value), number + 1);
        }
        // Smaller differences are rounding errors of single precision.
        let size = least.abs().max(most.abs());
        if most - least <= SAME * size || number == 0 {
            return Self { mean: 0.0, scale: 0.0 };
        }
        let mean = mean(counted(), number, size);
        let widest = (most - mean).max(mean - least);
        let variance = self::mean(counted().map(|value| (value - mean) * (value - mean)), number, widest * widest);
        Self { mean, scale: 1.0 / variance.sqrt() }
    }

    fn z(&self, value: f32) -> f64 {
        if value.is_nan() { 0.0 } else { (f64::from(value) - self.mean) * self.scale }
    }
}

/// Returns the [`POOL`] highest values, in no order.
fn best(values: impl Iterator<Item = f32>) -> Vec<f32> {
    let mut best: Vec<f32> = Vec::with_capacity(2 * POOL);
    let mut least = f32::NEG_INFINITY;
    let cut = |best: &mut Vec<f32>| {
        let (_, least, _) = best.select_nth_unstable_by(POOL - 1, |a, b| b.total_cmp(a));
        let least = *least;
        best.truncate(POOL);
        least
    };
    for value in values {
        // Of equal values, it does not matter which ones are kept.
        if value > least || best.len() < POOL {
            best.push(value);
            if best.len() == 2 * POOL {
                least = cut(&mut best);
            }
        }
    }
    if best.len() > POOL {
        cut(&mut best);
    }
    best
}

/// Returns the mean of `number` values, none of which is further from 0 than `most`.
#[expect(clippy::cast_possible_truncation, clippy::cast_precision_loss, reason = "scaled to fit")]
fn mean(values: impl Iterator<Item = f64>, number: u32, most: f64) -> f64 {
    // The finest scale at which the sum of all values fits in 63 bits; a power of two, so scaling is exact.
    let bits = 61 - f64::from(number).log2().ceil() as i32 - most.log2().ceil() as i32;
    let sum: i64 = values.map(|value| (value * 2_f64.powi(bits)).round() as i64).sum();
    sum as f64 * 2_f64.powi(-bits) / f64::from(number)
}

/// One kind of score, and its weight.
pub(super) struct Term<'s> {
    pub(super) weight: f64,
    /// Scores by row; NaN where the score is unknown.
    pub(super) scores: &'s [f32],
    /// Whether high scores are better answers, and so only the best ones set the scale.
    pub(super) is_relevance: bool,
}

/// Computes the sum of some terms for every row, and how much a score of each term counts in it. Means and deviations cover the
/// rows that `mask` lets through.
pub(super) fn sum(terms: &[Term<'_>], len: usize, mask: Option<&[bool]>) -> (Vec<f64>, Vec<f64>) {
    let spread = |term: &Term<'_>| {
        let counts = |row: usize| mask.is_none_or(|mask| mask[row]);
        if term.weight > 0.0 { Spread::of(term, counts) } else { Spread { mean: 0.0, scale: 0.0 } }
    };
    let spreads: Vec<Spread> = terms.par_iter().map(spread).collect();
    let counted: Vec<_> = terms.iter().zip(&spreads).filter(|(term, _)| term.weight > 0.0).collect();
    let sum = |row: usize| counted.iter().map(|(term, spread)| term.weight * spread.z(term.scores[row])).sum();
    let factors = terms.iter().zip(&spreads).map(|(term, spread)| term.weight * spread.scale).collect();
    ((0..len).into_par_iter().with_min_len(BLOCK).map(sum).collect(), factors)
}
