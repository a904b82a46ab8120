//! Fills in all that a report says of its values.

use std::collections::BTreeMap;

use rayon::prelude::*;

use super::clusters::Clusters;
use super::comparison::{compare, paired, resampling};
use super::ranking::{direction, is_favoured, ranked};
use super::{front, verdict};
use crate::data::report::{Cell, Report, Summary};
use crate::score::stats::{ClusteredValues, Interval, bootstrap, constant, deviation, mean, probability_best};

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
    let differences: Vec<ClusteredValues> =
        others.iter().map(|&other| paired(&report.cells[other], &report.cells[best], primary, &clusters)).collect();
    let comparisons = compare(&differences, &report.scoring);
    for (&other, comparison) in others.iter().zip(comparisons) {
        report.cells[other].comparison = Some(comparison);
    }
    let fair = ranked.iter().take_while(|&&at| !is_favoured(report, &report.cells[at])).count().max(1);
    let fair = &ranked[..fair];
    let choice: Vec<ClusteredValues> =
        fair.iter().map(|&at| better_is_higher(report, &report.cells[at], &clusters)).collect();
    let shares = probability_best(&choice.iter().collect::<Vec<_>>(), &resampling(&report.scoring));
    for (&at, share) in fair.iter().zip(shares) {
        report.cells[at].p_best = Some(share);
    }
    report.verdict = Some(verdict::of(report, fair, &choice, &differences[..fair.len() - 1], &clusters));
}

/// Returns a cell's values of the primary metric, negated if lower is better.
fn better_is_higher(report: &Report, cell: &Cell, clusters: &Clusters) -> ClusteredValues {
    let primary = &report.scoring.primary;
    let direction = direction(report, primary);
    let values = cell.values.get(primary).into_iter().flatten().map(|value| Some((*value)? * direction));
    clusters.gather(values)
}

fn summarise(report: &mut Report, clusters: &Clusters) {
    let rows: Vec<(usize, &String, &Vec<Option<f64>>)> = report
        .cells
        .iter()
        .enumerate()
        .flat_map(|(at, cell)| cell.values.iter().map(move |(name, values)| (at, name, values)))
        .filter(|(_, _, values)| values.iter().any(Option::is_some))
        .collect();
    let clustered: Vec<ClusteredValues> =
        rows.par_iter().map(|(_, _, values)| clusters.gather(values.iter().copied())).collect();
    let intervals = bootstrap(&clustered.iter().collect::<Vec<_>>(), &resampling(&report.scoring));
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
