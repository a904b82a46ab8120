//! What follows from what was measured? From the values of each question to intervals, comparisons, fronts and a
//! verdict in plain English.
//!
//! Everything is computed from [`Cell::values`] and [`Cell::cost`], so a report can be analysed again at any
//! time, and the same report always gives the same result: in any order of its cells, on any number of threads.
//!
//! # What the comparisons can bear
//!
//! The best cell is chosen by the same questions that it is then compared on. With many cells that are all
//! alike, the luckiest is chosen, and the unluckiest is called separable from it more often than Holm's
//! correction promises: with ten cells of independent values in 15 % of simulated runs instead of 5 %, with two
//! in 5 % (`tests/analysis.rs`). So the list of cells that cannot be told apart may be too short at its far
//! end; the cells close to the best, among which one chooses, are not touched.

mod figures;
mod front;
mod hybrid;
mod verdict;

use std::collections::BTreeMap;

use rayon::prelude::*;

use crate::report::{Cell, Comparison, Report, Scoring, Summary};
use crate::stats::{Bootstrap, Interval, bootstrap, deviation, holm, mean, randomisation};

pub use figures::figure;

/// Fills what follows from the values: [`Cell::metrics`], [`Cell::comparison`], [`Cell::pareto`] and
/// [`Report::verdict`]. What was there before is replaced. The verdict is `None` if no cell has a value of the
/// primary metric.
///
/// The best cell has the best mean of the primary metric; of equal ones that with the smaller dataset, then that
/// with the earlier id. Cells are compared over the questions for which both have a value.
pub fn analyse(report: &mut Report) {
    summarise(report);
    front::mark(report);
    for cell in &mut report.cells {
        cell.comparison = None;
    }
    let ranked = ranked(report);
    report.verdict = None;
    let Some((&best, others)) = ranked.split_first() else { return };
    let primary = &report.scoring.primary;
    let differences: Vec<Vec<f64>> =
        others.iter().map(|&other| paired(&report.cells[other], &report.cells[best], primary)).collect();
    let comparisons = compare(&differences, &report.scoring);
    for (&other, comparison) in others.iter().zip(comparisons) {
        report.cells[other].comparison = Some(comparison);
    }
    let fair = ranked.iter().take_while(|&&at| !is_favoured(report, &report.cells[at])).count().max(1);
    report.verdict = Some(verdict::of(report, &ranked[..fair], &differences[..fair - 1]));
}

/// Whether the questions favour a cell so much that it cannot be compared with the others: synthetic questions share
/// words with the text, which is all that keyword search looks at.
fn is_favoured(report: &Report, cell: &Cell) -> bool {
    let is_keyword = |cell: &Cell| cell.retrieval == "keyword";
    report.labels.synthetic && is_keyword(cell) && !report.cells.iter().all(is_keyword)
}

/// How intervals of this run are made.
fn settings(scoring: &Scoring) -> Bootstrap {
    Bootstrap { confidence: scoring.confidence, resamples: scoring.resamples, seed: scoring.seed }
}

fn summarise(report: &mut Report) {
    let rows: Vec<(usize, &String, Vec<f64>)> = report
        .cells
        .iter()
        .enumerate()
        .flat_map(|(at, cell)| cell.values.iter().map(move |(name, values)| (at, name, values)))
        .map(|(at, name, values)| (at, name, values.iter().flatten().copied().collect::<Vec<f64>>()))
        .filter(|(_, _, values)| !values.is_empty())
        .collect();
    let slices: Vec<&[f64]> = rows.iter().map(|(_, _, values)| values.as_slice()).collect();
    let intervals = bootstrap(&slices, &settings(&report.scoring));
    let mut metrics = vec![BTreeMap::new(); report.cells.len()];
    for ((at, name, values), Interval { lo, hi }) in rows.iter().zip(intervals) {
        metrics[*at].insert((*name).clone(), Summary { mean: mean(values), std: deviation(values), lo, hi });
    }
    for (cell, metrics) in report.cells.iter_mut().zip(metrics) {
        cell.metrics = metrics;
    }
}

/// 1 if a larger value of the metric is better, else −1. Of a metric that the report does not describe it is.
#[must_use]
pub fn direction(report: &Report, metric: &str) -> f64 {
    if report.metric(metric).is_none_or(|metric| metric.higher_is_better) { 1.0 } else { -1.0 }
}

/// Positions of the cells that have the primary metric, best first; those by keyword search last where the questions
/// are synthetic, because they share words with the text.
#[must_use]
pub fn ranked(report: &Report) -> Vec<usize> {
    let direction = direction(report, &report.scoring.primary);
    // Means that only rounding parts are equal.
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

/// One cell's values less the other's, over the questions of one report for which both have one.
fn paired(cell: &Cell, other: &Cell, metric: &str) -> Vec<f64> {
    let values = |cell: &'_ Cell| cell.values.get(metric).cloned().unwrap_or_default();
    values(cell).into_iter().zip(values(other)).filter_map(|(one, other)| Some(one? - other?)).collect()
}

/// Compares pairs of cells by the differences of their values, question by question. All pairs given at once
/// are one family for Holm's correction; those without any difference are not counted, for no choice of signs
/// could make a finding of them (Tarone 1990).
///
/// At least [`Scoring::permutations`] are drawn, and more where there are so many pairs that even the smallest p
/// they can give would not be below 1 − confidence after the correction.
#[must_use]
pub fn compare(differences: &[Vec<f64>], scoring: &Scoring) -> Vec<Comparison> {
    let differs = |row: &&Vec<f64>| row.iter().any(|&difference| difference != 0.0);
    let rows: Vec<&[f64]> = differences.iter().filter(differs).map(Vec::as_slice).collect();
    let alpha = 1.0 - scoring.confidence;
    let permutations = permutations(scoring.permutations, rows.len(), alpha);
    let p: Vec<f64> = rows.par_iter().map(|row| randomisation(row, permutations, scoring.seed)).collect();
    let adjusted = holm(&p);
    let intervals = bootstrap(&rows, &settings(scoring));
    let mut found = rows.iter().zip(intervals).zip(p.into_iter().zip(adjusted)).map(
        |((row, Interval { lo, hi }), (p, p_adjusted))| {
            let separable = p_adjusted < alpha;
            Comparison { difference: mean(row), lo, hi, p, p_adjusted, separable }
        },
    );
    let equal = Comparison { p: 1.0, p_adjusted: 1.0, ..Comparison::default() };
    differences.iter().map(|row| if differs(&row) { found.next().unwrap_or(equal) } else { equal }).collect()
}

/// So many that the smallest p, times the number of pairs, is a quarter of alpha; never so many that senseless
/// settings take for ever.
fn permutations(wanted: usize, pairs: usize, alpha: f64) -> usize {
    const MOST: f64 = 100_000.0;
    #[expect(clippy::cast_precision_loss, reason = "cells are fewer than 2^53")]
    let needed = (4.0 * pairs as f64 / alpha).clamp(0.0, MOST);
    #[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "it is in 0..=MOST")]
    let needed = needed.ceil() as usize;
    wanted.max(needed)
}
