//! Bootstrap intervals of means, for many rows of values at once.

use rayon::prelude::*;

use super::clustered::ClusteredValues;
use super::mean::float;
use super::normal::{normal_cdf, student_quantile};
use super::rng::SplitMix;

/// Number of rows that are resampled together: as many sums as fit into the registers of any 64-bit processor.
const LANES: usize = 16;

/// Settings of a bootstrap interval.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Bootstrap {
    /// Confidence level of the interval, in 0..1.
    pub confidence: f64,
    /// Number of samples; at least one is drawn.
    pub resamples: usize,
    /// Seed of the samples.
    pub seed: u64,
}

/// The bounds of a mean.
#[derive(Debug, Clone, Copy, Default, PartialEq)]
pub struct Interval {
    /// Lower end.
    pub lo: f64,
    /// Upper end.
    pub hi: f64,
}

impl Interval {
    /// Returns whether chance does not explain a difference: the interval does not contain 0.
    pub fn excludes_zero(self) -> bool {
        self.lo > 0.0 || self.hi < 0.0
    }
}

/// Returns the interval of a share, a mean of values from 0 to 1, if all of its `clusters` independent values are
/// equal. Every sample of them is the same, so a bootstrap would call the mean certain. But as many as 1 − α^(1/n) of
/// all questions may differ from the n that were asked, with a probability of α (Clopper & Pearson 1934, "The use of
/// confidence or fiducial limits", one side; about 3 / n at 95 %, the "rule of three" of Hanley & Lippman-Hand 1983),
/// and each of those may be anything.
pub fn constant(value: f64, clusters: usize, confidence: f64) -> Interval {
    let unseen = unseen(clusters, confidence);
    Interval { lo: value * (1.0 - unseen), hi: value + (1.0 - value) * unseen }
}

/// Returns the largest share of all questions that none of `clusters` independent ones may have been from.
pub fn unseen(clusters: usize, confidence: f64) -> f64 {
    if clusters == 0 { 1.0 } else { 1.0 - (1.0 - confidence).powf(1.0 / float(clusters)) }
}

/// Returns the expanded percentile interval of each row's mean (Hesterberg 2015, "What teachers should know about
/// the bootstrap", §5.3.3). As many clusters as the row has, n, are drawn from it with replacement, repeatedly
/// (the pairs cluster bootstrap of Cameron, Gelbach & Miller 2008, "Bootstrap-based improvements for inference
/// with clustered errors"). The ends are quantiles of the means of these samples, interpolated between neighbours.
/// With the (1 ∓ confidence) / 2 quantiles, the interval would be too narrow for few clusters. The ends are
/// therefore the Φ(√(n / (n − 1)) · t) quantile and its mirror image, where t is the (1 − confidence) / 2 quantile
/// of Student's distribution with n − 1 degrees of freedom. The interval of an empty row is 0 to 0.
///
/// Rows with equally many values in each cluster are resampled with the same draws. A row's interval therefore
/// does not depend on the other rows, equal rows have equal intervals, and everything is drawn once.
///
/// This is not the bias-corrected and accelerated interval. In simulations with 100 and 200 questions (success
/// rates of 0.9, values heaped at 0 and 1, differences of which four in five are 0), the plain interval contained
/// the truth in 93.5 to 95.9 % of cases and the other in 92.9 to 96.9 %, at a confidence of 95 %. The plain one
/// always stays within the range of the values and is defined for every row. With 30 clusters, the coverage of
/// both may fall to 91 %. The expanded one, which is equally simple, reached 95.0 %, and 93.9 % over 60 clusters
/// of four questions that resemble each other (`tests/stats.rs`).
pub fn bootstrap(rows: &[&ClusteredValues], settings: &Bootstrap) -> Vec<Interval> {
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

/// Returns the intervals of at most [`LANES`] rows, from the sums of their clusters and the number of values in
/// each cluster.
fn intervals(rows: &[&[f64]], counts: &[f64], settings: &Bootstrap) -> Vec<Interval> {
    let length = counts.len();
    if length == 0 {
        return vec![Interval::default(); rows.len()];
    }
    // Stored by cluster, with the rows side by side, so one draw serves them all.
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

/// Returns the share of samples beyond each end of an interval over this many clusters.
fn tail(clusters: usize, confidence: f64) -> f64 {
    if clusters < 2 {
        return 0.0;
    }
    let freedom = float(clusters - 1);
    normal_cdf((float(clusters) / freedom).sqrt() * student_quantile((1.0 - confidence) / 2.0, freedom))
}

/// Returns a quantile of ascending values, interpolated (definition 7 of Hyndman & Fan 1996).
fn quantile(ascending: &[f64], share: f64) -> f64 {
    let last = ascending.len() - 1;
    let place = share.clamp(0.0, 1.0) * float(last);
    #[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "it is in 0..=last")]
    let below = place as usize;
    let (low, high) = (ascending[below], ascending[last.min(below + 1)]);
    low + (high - low) * place.fract()
}
