//! The bootstrap interval of a mean, for many rows of values at once.

use rayon::prelude::*;

use super::clustered::Clustered;
use super::float;
use super::normal::{normal_cdf, student_quantile};
use super::rng::SplitMix;

/// Rows that are resampled together: as many sums as fit into the registers of any 64-bit processor.
const LANES: usize = 16;

/// How an interval is made.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Bootstrap {
    /// Probability that the interval is to hold, in 0..1.
    pub confidence: f64,
    /// Number of samples; at least one is drawn.
    pub resamples: usize,
    /// Seed of the samples.
    pub seed: u64,
}

/// Between which numbers a mean lies.
#[derive(Debug, Clone, Copy, Default, PartialEq)]
pub struct Interval {
    /// Lower end.
    pub lo: f64,
    /// Upper end.
    pub hi: f64,
}

/// For each row the expanded percentile interval of its mean (Hesterberg 2015, "What teachers should know about the
/// bootstrap", §5.3.3): as many clusters as the row has, n, are drawn from it with replacement, again and again
/// (Cameron, Gelbach & Miller 2008, "Bootstrap-based improvements for inference with clustered errors", call it pairs
/// cluster bootstrap), and the ends are quantiles of the means of these samples, interpolated between neighbours: not the
/// (1 ∓ confidence) / 2 quantiles, whose interval is too narrow for few clusters, but the ∓ Φ(√(n / (n − 1)) · t) ones, with t that
/// quantile of Student's distribution with n − 1 degrees of freedom. The interval of an empty row is 0 to 0.
///
/// Rows with equally many values in each cluster are resampled by the same draws: so a row's interval does not depend on
/// the rows beside it, equal rows have equal intervals, and all is drawn once.
///
/// Not the bias-corrected and accelerated interval: simulated with 100 and 200 questions (shares of success of
/// 0.9, values heaped at 0 and 1, differences of which four in five are 0) the plain one held in 93.5 to 95.9 %
/// of cases and the other in 92.9 to 96.9 %, where 95 % was wanted. The plain one is always within the range of
/// the values, and there is no row for which it is undefined. With 30 clusters both may fall to 91 %; the expanded one, which
/// is as simple, held in 95.0 %, and over 60 clusters of four questions that resemble each other in 93.9 % (`tests/stats.rs`).
#[must_use]
pub fn bootstrap(rows: &[&Clustered], settings: &Bootstrap) -> Vec<Interval> {
    let filled: Vec<(Vec<f64>, Vec<f64>)> = rows.iter().map(|row| row.filled()).collect();
    let shape = |row: usize| filled[row].1.as_slice();
    let mut by_shape: Vec<usize> = (0..rows.len()).collect();
    let ordered = |a: &[f64], b: &[f64]| {
        a.len().cmp(&b.len()).then_with(|| a.partial_cmp(b).unwrap_or(std::cmp::Ordering::Equal))
    };
    by_shape.sort_by(|&a, &b| ordered(shape(a), shape(b)));
    let same = by_shape.chunk_by(|&a, &b| shape(a) == shape(b));
    let batches: Vec<&[usize]> = same.flat_map(|same| same.chunks(LANES)).collect();
    let done: Vec<Vec<Interval>> = batches
        .par_iter()
        .map(|batch| {
            let sums: Vec<&[f64]> = batch.iter().map(|&row| filled[row].0.as_slice()).collect();
            intervals(&sums, batch.first().map_or(&[], |&row| shape(row)), settings)
        })
        .collect();
    let mut result = vec![Interval::default(); rows.len()];
    for (&row, interval) in batches.into_iter().flatten().zip(done.into_iter().flatten()) {
        result[row] = interval;
    }
    result
}

/// Of at most [`LANES`] rows of clusters' sums, with the clusters' numbers of values.
fn intervals(rows: &[&[f64]], counts: &[f64], settings: &Bootstrap) -> Vec<Interval> {
    let length = counts.len();
    if length == 0 {
        return vec![Interval::default(); rows.len()];
    }
    // Cluster by cluster, the rows side by side: one draw serves them all.
    let side_by_side: Vec<[f64; LANES]> =
        (0..length).map(|at| std::array::from_fn(|lane| rows.get(lane).map_or(0.0, |row| row[at]))).collect();
    let samples = settings.resamples.max(1);
    let mut means: Vec<Vec<f64>> = vec![Vec::with_capacity(samples); rows.len()];
    for sample in 0..samples {
        let mut draws = SplitMix::stream(settings.seed, sample);
        let mut sums = [0.0; LANES];
        let mut count = 0.0;
        for _ in 0..length {
            let one = draws.below(length);
            count += counts[one];
            for (sum, value) in sums.iter_mut().zip(&side_by_side[one]) {
                *sum += value;
            }
        }
        for (means, sum) in means.iter_mut().zip(sums) {
            means.push(sum / count);
        }
    }
    let tail = tail(length, settings.confidence);
    means
        .into_iter()
        .map(|mut means| {
            means.sort_unstable_by(f64::total_cmp);
            Interval { lo: quantile(&means, tail), hi: quantile(&means, 1.0 - tail) }
        })
        .collect()
}

/// The share of samples that is beyond each end of an interval over so many clusters.
fn tail(clusters: usize, confidence: f64) -> f64 {
    if clusters < 2 {
        return 0.0;
    }
    let freedom = float(clusters - 1);
    normal_cdf((float(clusters) / freedom).sqrt() * student_quantile((1.0 - confidence) / 2.0, freedom))
}

/// The quantile of ascending values, interpolated (definition 7 of Hyndman & Fan 1996).
fn quantile(ascending: &[f64], share: f64) -> f64 {
    let last = ascending.len() - 1;
    let place = share.clamp(0.0, 1.0) * float(last);
    #[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "it is in 0..=last")]
    let below = place as usize;
    let (low, high) = (ascending[below], ascending[last.min(below + 1)]);
    low + (high - low) * place.fract()
}
