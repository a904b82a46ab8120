//! Several scores of a chunk as one: a weighted sum.
//!
//! Scores of different kinds have nothing in common but their order and how far they stand apart; so each is taken in
//! standard deviations from its mean, z(x) = (x − mean) / deviation, over all chunks that may be found for the question. Where all
//! are equal there is nothing to say: z is 0. A chunk's sum is
//!
//! ```text
//! s = a · z(vector) + (1 − a) · z(keywords) + r · z(time)
//! ```
//!
//! The sum is Shaw and Fox's `CombSUM`, the normalisation that of Montague and Aslam (CIKM 2001);
//! `docs/src/concepts/ranking.md` compares it with ranks.
//!
//! The sums over chunks are sums of whole numbers, so they are the same in any order, on any number of threads.

use rayon::prelude::*;

/// Rows that a thread takes at least.
const BLOCK: usize = 4096;

/// The part of the largest value by which values differ that count as equal.
const SAME: f64 = 1e-6;

/// How values lie.
struct Spread {
    mean: f64,
    /// 1 / deviation; 0 if all are equal.
    scale: f64,
}

impl Spread {
    /// Of those values that count and are known.
    fn of(values: &[f32], counts: impl Fn(usize) -> bool) -> Self {
        let known = |(at, value): &(usize, &f32)| !value.is_nan() && counts(*at);
        let counted = || values.iter().enumerate().filter(known).map(|(_, value)| f64::from(*value));
        let (mut least, mut most, mut number) = (f64::INFINITY, f64::NEG_INFINITY, 0_u32);
        for value in counted() {
            (least, most, number) = (least.min(value), most.max(value), number + 1);
        }
        // What differs by less is the rounding of single precision.
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

/// The mean of so many values, none of which is further from 0 than `most`.
#[expect(clippy::cast_possible_truncation, clippy::cast_precision_loss, reason = "scaled to fit")]
fn mean(values: impl Iterator<Item = f64>, number: u32, most: f64) -> f64 {
    // As fine as the sum of all of them can be told in 63 bits; a power of two, so that scaling loses nothing.
    let bits = 61 - f64::from(number).log2().ceil() as i32 - most.log2().ceil() as i32;
    let sum: i64 = values.map(|value| (value * 2_f64.powi(bits)).round() as i64).sum();
    sum as f64 * 2_f64.powi(-bits) / f64::from(number)
}

/// One kind of score, and how much it counts.
pub(super) struct Term<'s> {
    pub(super) weight: f64,
    /// By row; not a number where nothing is known.
    pub(super) scores: &'s [f32],
}

/// The sum of some terms for every row, over those that may be found.
pub(super) fn sum(terms: &[Term<'_>], len: usize, mask: Option<&[bool]>) -> Vec<f64> {
    let terms = terms.par_iter().filter(|term| term.weight > 0.0);
    let spreads: Vec<(&Term<'_>, Spread)> =
        terms.map(|term| (term, Spread::of(term.scores, |row| mask.is_none_or(|mask| mask[row])))).collect();
    let sum = |row: usize| spreads.iter().map(|(term, spread)| term.weight * spread.z(term.scores[row])).sum();
    (0..len).into_par_iter().with_min_len(BLOCK).map(sum).collect()
}
