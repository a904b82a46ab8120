//! Do cells differ by more than chance explains?

use super::clusters::Clusters;
use super::figures::signed;
use crate::data::report::{Cell, Comparison, Correction, Scoring};
use crate::score::stats::{Bootstrap, ClusteredValues, Interval, PermutationTest, bootstrap, holm, max_t};

/// Compares pairs of cells by the differences of their values, question by question. All pairs passed together
/// form one family for the correction. Pairs without any difference are not counted, because no choice of signs
/// could make them significant (Tarone 1990).
///
/// With Holm's correction, more than [`Scoring::permutations`] permutations are drawn if there are so many pairs
/// that otherwise even the smallest possible p would not stay below 1 − confidence after correction.
pub fn compare(differences: &[ClusteredValues], scoring: &Scoring) -> Vec<Comparison> {
    let differs = |row: &&ClusteredValues| row.sums().iter().any(|&difference| difference != 0.0);
    let rows: Vec<&ClusteredValues> = differences.iter().filter(differs).collect();
    let alpha = 1.0 - scoring.confidence;
    let permutations = match scoring.correction {
        Correction::MaxT => scoring.permutations,
        Correction::Holm => permutations(scoring.permutations, rows.len(), alpha),
    };
    let sums: Vec<&[f64]> = rows.iter().map(|row| row.sums()).collect();
    let tested = max_t(&sums, permutations, scoring.seed);
    let adjusted = match scoring.correction {
        Correction::MaxT => tested.iter().map(|found| found.p_max).collect(),
        Correction::Holm => holm(&tested.iter().map(|found| found.p).collect::<Vec<_>>()),
    };
    let intervals = bootstrap(&rows, &resampling(scoring));
    let mut found = rows.iter().zip(intervals).zip(tested.into_iter().zip(adjusted)).map(
        |((row, Interval { lo, hi }), (PermutationTest { p, .. }, p_adjusted))| {
            let separable = p_adjusted < alpha;
            Comparison { difference: row.mean(), lo, hi, p, p_adjusted, separable }
        },
    );
    let equal = Comparison { p: 1.0, p_adjusted: 1.0, ..Comparison::default() };
    differences.iter().map(|row| if differs(&row) { found.next().unwrap_or(equal) } else { equal }).collect()
}

/// Returns one cell's values minus the other's, over the questions of one report for which both have a value.
pub(crate) fn paired(cell: &Cell, other: &Cell, metric: &str, clusters: &Clusters) -> ClusteredValues {
    let values = |cell: &'_ Cell| cell.values.get(metric).cloned().unwrap_or_default();
    clusters.gather(values(cell).into_iter().zip(values(other)).map(|(one, other)| Some(one? - other?)))
}

/// Returns the interval of a comparison in words. One that is separable alone, but not among all `pairs`, has the reason.
pub(super) fn interval(comparison: &Comparison, scoring: &Scoring, pairs: usize) -> String {
    let percent = scoring.confidence * 100.0;
    let alone = !comparison.separable && comparison.p < 1.0 - scoring.confidence;
    let why = if alone { format!("; not enough for one of {pairs} comparisons") } else { String::new() };
    format!("{percent} % interval {} to {}{why}", signed(comparison.lo), signed(comparison.hi))
}

/// Returns the bootstrap settings for the intervals of this run.
pub(crate) fn resampling(scoring: &Scoring) -> Bootstrap {
    Bootstrap { confidence: scoring.confidence, resamples: scoring.resamples, seed: scoring.seed }
}

/// Returns a number of permutations for which the smallest p, times the number of pairs, is a quarter of alpha.
/// The number is capped to keep absurd settings from running forever.
fn permutations(wanted: usize, pairs: usize, alpha: f64) -> usize {
    const MOST: f64 = 100_000.0;
    #[expect(clippy::cast_precision_loss, reason = "cells are fewer than 2^53")]
    let needed = (4.0 * pairs as f64 / alpha).clamp(0.0, MOST);
    #[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "it is in 0..=MOST")]
    let needed = needed.ceil() as usize;
    wanted.max(needed)
}
