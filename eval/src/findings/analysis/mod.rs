//! What follows from the measurements? Turns the values of each question into intervals, comparisons, Pareto
//! fronts and a verdict in plain English.
//!
//! Everything is computed from [`Cell::values`] and [`Cell::cost`], so a report can be analysed again at any time.
//! The same report always produces the same result, for any order of its cells and any number of threads.
//!
//! # Limits of the comparisons
//!
//! The best cell is chosen by the same questions that it is then compared on. With many cells that are all alike,
//! the luckiest one is chosen, and the unluckiest is called separable from it more often than the correction
//! promises (`tests/analysis.rs` has the figures). The list of cells that cannot be separated may therefore be too
//! short at its far end. The cells close to the best, from which users choose, are not affected.
//! [`Verdict::held_out`] says how much of the best cell's figure is due to the luck of selection.
//!
//! [`Verdict::held_out`]: crate::data::report::Verdict::held_out

mod clusters;
mod figures;
mod front;
mod hybrid;
mod ties;
mod verdict;

use std::collections::BTreeMap;

use rayon::prelude::*;

use crate::data::report::{Cell, Comparison, Correction, Report, Scoring, Summary};
use crate::score::stats::{
    Bootstrap, Clustered, Found, Interval, bootstrap, constant, deviation, holm, max_t, mean, probability_best,
};

pub use clusters::Clusters;
pub use figures::figure;
pub(crate) use figures::signed;
pub(crate) use front::quality_beside;
pub(crate) use ties::{favoured, untold};
pub(crate) use verdict::{HOPELESS, SURE, is_default, percent};

/// Computes [`Cell::metrics`], [`Cell::p_best`], [`Cell::comparison`], [`Cell::pareto`] and [`Report::verdict`]
/// from the values and replaces what these fields contained. The verdict is `None` if no cell has a value of the
/// primary metric.
///
/// The best cell has the best mean of the primary metric. Ties go to the smaller dataset, then to the id that
/// sorts first. Cells are compared over the questions for which both have a value.
pub fn analyse(report: &mut Report) {
    let clusters = Clusters::of(report);
    summarise(report, &clusters);
    front::mark(report);
    for cell in &mut report.cells {
        (cell.comparison, cell.p_best) = (None, None);
    }
    let ranked = ranked(report);
    report.verdict = None;
    let Some((&best, others)) = ranked.split_first() else { return };
    let primary = &report.scoring.primary;
    let differences: Vec<Clustered> =
        others.iter().map(|&other| paired(&report.cells[other], &report.cells[best], primary, &clusters)).collect();
    let comparisons = compare(&differences, &report.scoring);
    for (&other, comparison) in others.iter().zip(comparisons) {
        report.cells[other].comparison = Some(comparison);
    }
    let fair = ranked.iter().take_while(|&&at| !is_favoured(report, &report.cells[at])).count().max(1);
    let fair = &ranked[..fair];
    let choice: Vec<Clustered> =
        fair.iter().map(|&at| better_is_higher(report, &report.cells[at], &clusters)).collect();
    let shares = probability_best(&choice.iter().collect::<Vec<_>>(), &settings(&report.scoring));
    for (&at, share) in fair.iter().zip(shares) {
        report.cells[at].p_best = Some(share);
    }
    report.verdict = Some(verdict::of(report, fair, &choice, &differences[..fair.len() - 1], &clusters));
}

/// Returns a cell's values of the primary metric, negated if lower is better.
fn better_is_higher(report: &Report, cell: &Cell, clusters: &Clusters) -> Clustered {
    let primary = &report.scoring.primary;
    let direction = direction(report, primary);
    let values = cell.values.get(primary).into_iter().flatten().map(|value| Some((*value)? * direction));
    clusters.gather(values)
}

/// Returns whether the questions favour a cell so much that it cannot be compared with the others: synthetic
/// questions share words with the text, and keyword search looks at nothing else.
fn is_favoured(report: &Report, cell: &Cell) -> bool {
    let is_keyword = |cell: &Cell| cell.retrieval == "keyword";
    report.labels.synthetic && is_keyword(cell) && !report.cells.iter().all(is_keyword)
}

/// Returns the bootstrap settings for the intervals of this run.
fn settings(scoring: &Scoring) -> Bootstrap {
    Bootstrap { confidence: scoring.confidence, resamples: scoring.resamples, seed: scoring.seed }
}

fn summarise(report: &mut Report, clusters: &Clusters) {
    let rows: Vec<(usize, &String, &Vec<Option<f64>>)> = report
        .cells
        .iter()
        .enumerate()
        .flat_map(|(at, cell)| cell.values.iter().map(move |(name, values)| (at, name, values)))
        .filter(|(_, _, values)| values.iter().any(Option::is_some))
        .collect();
    let clustered: Vec<Clustered> =
        rows.par_iter().map(|(_, _, values)| clusters.gather(values.iter().copied())).collect();
    let intervals = bootstrap(&clustered.iter().collect::<Vec<_>>(), &settings(&report.scoring));
    let mut metrics = vec![BTreeMap::new(); report.cells.len()];
    for (((at, name, values), row), interval) in rows.iter().zip(&clustered).zip(intervals) {
        let values: Vec<f64> = values.iter().flatten().copied().collect();
        let is_share = direction(report, name) > 0.0 && values.iter().all(|value| (0.0..=1.0).contains(value));
        let is_constant = values.windows(2).all(|pair| pair[0].to_bits() == pair[1].to_bits());
        let Interval { lo, hi } = match values.first() {
            Some(&value) if is_share && is_constant => constant(value, row.clusters(), report.scoring.confidence),
            _ => interval,
        };
        metrics[*at].insert((*name).clone(), Summary { mean: mean(&values), std: deviation(&values), lo, hi });
    }
    for (cell, metrics) in report.cells.iter_mut().zip(metrics) {
        cell.metrics = metrics;
    }
}

/// Returns 1 if a larger value of the metric is better, else −1. A metric that the report does not describe counts
/// as higher-is-better.
#[must_use]
pub fn direction(report: &Report, metric: &str) -> f64 {
    if report.metric(metric).is_none_or(|metric| metric.higher_is_better) { 1.0 } else { -1.0 }
}

/// Returns the positions of the cells that have the primary metric, best first. If the questions are synthetic,
/// keyword search comes last, because these questions share words with the text.
#[must_use]
pub fn ranked(report: &Report) -> Vec<usize> {
    let direction = direction(report, &report.scoring.primary);
    // Means that differ only by rounding are equal.
    let quality = |cell: &Cell| Some((cell.metrics.get(&report.scoring.primary)?.mean * direction * 1e12).round());
    let mut cells: Vec<(f64, usize)> =
        report.cells.iter().enumerate().filter_map(|(at, cell)| Some((quality(cell)?, at))).collect();
    cells.sort_by(|(a_quality, a), (b_quality, b)| {
        let (a, b) = (&report.cells[*a], &report.cells[*b]);
        let favoured = is_favoured(report, a).cmp(&is_favoured(report, b));
        favoured.then(b_quality.total_cmp(a_quality)).then(a.cost.bytes.cmp(&b.cost.bytes)).then(a.id.cmp(&b.id))
    });
    cells.into_iter().map(|(_, at)| at).collect()
}

/// Returns one cell's values minus the other's, over the questions of one report for which both have a value.
fn paired(cell: &Cell, other: &Cell, metric: &str, clusters: &Clusters) -> Clustered {
    let values = |cell: &'_ Cell| cell.values.get(metric).cloned().unwrap_or_default();
    clusters.gather(values(cell).into_iter().zip(values(other)).map(|(one, other)| Some(one? - other?)))
}

/// Compares pairs of cells by the differences of their values, question by question. All pairs passed together
/// form one family for the correction. Pairs without any difference are not counted, because no choice of signs
/// could make them significant (Tarone 1990).
///
/// With Holm's correction, more than [`Scoring::permutations`] permutations are drawn if there are so many pairs
/// that otherwise even the smallest possible p would not stay below 1 − confidence after correction.
#[must_use]
pub fn compare(differences: &[Clustered], scoring: &Scoring) -> Vec<Comparison> {
    let differs = |row: &&Clustered| row.sums().iter().any(|&difference| difference != 0.0);
    let rows: Vec<&Clustered> = differences.iter().filter(differs).collect();
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
    let intervals = bootstrap(&rows, &settings(scoring));
    let mut found = rows.iter().zip(intervals).zip(tested.into_iter().zip(adjusted)).map(
        |((row, Interval { lo, hi }), (Found { p, .. }, p_adjusted))| {
            let separable = p_adjusted < alpha;
            Comparison { difference: row.mean(), lo, hi, p, p_adjusted, separable }
        },
    );
    let equal = Comparison { p: 1.0, p_adjusted: 1.0, ..Comparison::default() };
    differences.iter().map(|row| if differs(&row) { found.next().unwrap_or(equal) } else { equal }).collect()
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
