//! Choosing the best of many: how likely it is the best, and how much of its figure is the luck of selection.

use rayon::prelude::*;

use super::bootstrap::Bootstrap;
use super::clustered::ClusteredValues;
use super::mean::float;
use super::rng::SplitMix;

/// Number of samples that are processed together.
const LANES: usize = 16;

/// Means that differ by less than this are equal except for rounding.
const ROUNDING: f64 = 1e-12;

/// Returns, for each row, the share of bootstrap samples of clusters in which its mean is the highest. Tied rows
/// share a sample equally, so all shares sum to 1. All rows use the same draws, as paired comparisons require.
/// This is the probability of being the best, as far as the questions tell (Efron & Tibshirani 1998, "The problem
/// of regions"; Hall & Miller 2009, "Using the bootstrap to quantify the authority of an empirical ranking").
///
/// A row counts as the worst in a sample that contains none of its values.
pub fn probability_best(rows: &[&ClusteredValues], settings: &Bootstrap) -> Vec<f64> {
    let clusters = rows.iter().map(|row| row.sums().len()).max().unwrap_or_default();
    let samples = settings.resamples.max(1);
    let blocks: Vec<usize> = (0..samples).step_by(LANES).collect();
    let count = |&first: &usize| {
        let mut times = vec![[0.0; LANES]; clusters];
        for (lane, sample) in (first..samples).take(LANES).enumerate() {
            let mut draws = SplitMix::stream(settings.seed, sample);
            (0..clusters).for_each(|_| times[draws.below(clusters)][lane] += 1.0);
        }
        let means: Vec<[f64; LANES]> = rows.iter().map(|row| means(row, &times)).collect();
        let mut shares = vec![0.0; rows.len()];
        for lane in 0..LANES.min(samples - first) {
            let highest = means.iter().map(|means| means[lane]).fold(f64::NEG_INFINITY, f64::max);
            let is_highest = |row: usize| means[row][lane] >= highest - ROUNDING;
            let together = float((0..rows.len()).filter(|&row| is_highest(row)).count());
            (0..rows.len()).filter(|&row| is_highest(row)).for_each(|row| shares[row] += 1.0 / together);
        }
        shares
    };
    // Summed in the order of the samples, so rounding does not depend on threads.
    let counted: Vec<Vec<f64>> = blocks.par_iter().map(count).collect();
    let mut total = vec![0.0; rows.len()];
    for shares in counted {
        total.iter_mut().zip(shares).for_each(|(total, share)| *total += share);
    }
    total.into_iter().map(|wins| wins / float(samples)).collect()
}

/// Returns a row's mean in each of several samples, given how often each cluster was drawn.
fn means(row: &ClusteredValues, times: &[[f64; LANES]]) -> [f64; LANES] {
    let (mut sums, mut counts) = ([0.0; LANES], [0.0; LANES]);
    for ((sum, count), times) in row.sums().iter().zip(row.counts()).zip(times) {
        for lane in 0..LANES {
            sums[lane] += sum * times[lane];
            counts[lane] += count * times[lane];
        }
    }
    std::array::from_fn(|lane| if counts[lane] > 0.0 { sums[lane] / counts[lane] } else { f64::NEG_INFINITY })
}

/// The result of choosing by one half of the questions and measuring by the other.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct HeldOut {
    /// Mean of the chosen row over the questions that chose it.
    pub chosen: f64,
    /// Its mean over the other questions.
    pub held_out: f64,
    /// Share of the choices that selected the row that is the best by all questions.
    pub same: f64,
}

/// Chooses the row with the highest mean over a random half of the clusters of each set and measures its mean over the
/// other halves. This is repeated `splits` times, and each half takes both roles (Stone 1974, "Cross-validatory choice
/// and assessment of statistical predictions"). The mean of the held-out values is what a choice by this many
/// questions brings, without the luck of selection.
///
/// A row has the values of one setting in each set. Its mean is that of the sets' means, so a set counts as much as
/// another. Returns `None` without rows, or if a set has fewer than two clusters.
pub fn held_out(rows: &[&[ClusteredValues]], splits: usize, seed: u64) -> Option<HeldOut> {
    let set = |at: usize| rows.iter().filter_map(|row| row.get(at)).map(|row| row.sums().len()).max();
    let clusters: Vec<usize> = (0..rows.iter().map(|row| row.len()).max()?).map(set).collect::<Option<_>>()?;
    if clusters.iter().any(|&clusters| clusters < 2) || splits == 0 {
        return None;
    }
    let all: Vec<Vec<usize>> = clusters.iter().map(|&clusters| (0..clusters).collect()).collect();
    let (best, _) = highest(rows, &all)?;
    let choose = |split: usize| {
        let mut draws = SplitMix::stream(!seed, split);
        let halve = |set: &Vec<usize>| {
            let mut order = set.clone();
            // Fisher–Yates shuffle: all orders are equally likely.
            (1..order.len()).rev().for_each(|at| order.swap(at, draws.below(at + 1)));
            let other = order.split_off(order.len() / 2);
            (order, other)
        };
        let (one, other): (Vec<_>, Vec<_>) = all.iter().map(halve).unzip();
        [(&one, &other), (&other, &one)].map(|(by, other)| {
            let (chosen, mean) = highest(rows, by)?;
            Some((chosen == best, mean, mean_of(rows[chosen], other)?))
        })
    };
    let choices: Vec<(bool, f64, f64)> =
        (0..splits).into_par_iter().map(choose).collect::<Vec<_>>().into_iter().flatten().flatten().collect();
    let count = float(choices.len());
    let mean = |value: fn(&(bool, f64, f64)) -> f64| choices.iter().map(value).sum::<f64>() / count;
    (!choices.is_empty()).then(|| HeldOut {
        chosen: mean(|choice| choice.1),
        held_out: mean(|choice| choice.2),
        same: mean(|choice| f64::from(u8::from(choice.0))),
    })
}

/// Returns the row with the highest mean over some clusters of each set, and its mean. The first one wins a tie.
fn highest(rows: &[&[ClusteredValues]], clusters: &[Vec<usize>]) -> Option<(usize, f64)> {
    let means = rows.iter().enumerate().filter_map(|(at, row)| Some((at, mean_of(row, clusters)?)));
    means.reduce(|best, next| if next.1 > best.1 + ROUNDING { next } else { best })
}

/// Returns the mean of a row's means over some clusters of each set; `None` if it has no value in those of a set.
fn mean_of(row: &[ClusteredValues], clusters: &[Vec<usize>]) -> Option<f64> {
    let of = |(set, clusters): (&ClusteredValues, &Vec<usize>)| {
        let of = |values: &[f64]| clusters.iter().filter_map(|&at| values.get(at)).sum::<f64>();
        let count = of(set.counts());
        (count > 0.0).then(|| of(set.sums()) / count)
    };
    if row.len() != clusters.len() {
        return None;
    }
    Some(row.iter().zip(clusters).map(of).sum::<Option<f64>>()? / float(row.len()))
}
