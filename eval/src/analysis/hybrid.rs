//! Is fused search worth it? Each hybrid cell beside the better of its halves.

use super::verdict::{figure, signed};
use super::{compare, direction, paired};
use crate::report::{Cell, Comparison, HybridVerdict, Report};

const HALVES: [&str; 2] = ["vector", "keyword"];

/// A hybrid cell, its better half, and whether the other half was tried too.
struct Pair<'r> {
    hybrid: &'r Cell,
    half: &'r Cell,
    both: bool,
}

/// A verdict for each hybrid cell of which a half was tried, best hybrid first.
pub(super) fn verdicts(report: &Report, ranked: &[usize]) -> Vec<HybridVerdict> {
    let cells = || ranked.iter().map(|&at| &report.cells[at]);
    let pairs: Vec<Pair> = cells()
        .filter(|cell| cell.retrieval == "hybrid")
        .filter_map(|hybrid| {
            let is_half = |cell: &&Cell| {
                cell.build == hybrid.build && cell.k == hybrid.k && HALVES.contains(&cell.retrieval.as_str())
            };
            let half = cells().find(is_half)?;
            let both = cells().filter(is_half).any(|cell| cell.retrieval != half.retrieval);
            Some(Pair { hybrid, half, both })
        })
        .collect();
    let primary = &report.scoring.primary;
    let differences: Vec<Vec<f64>> = pairs.iter().map(|pair| paired(pair.hybrid, pair.half, primary)).collect();
    let verdict = |(pair, comparison): (&Pair, Comparison)| HybridVerdict {
        hybrid: pair.hybrid.id.clone(),
        half: pair.half.id.clone(),
        comparison,
        text: text(report, pair, &comparison, pairs.len()),
    };
    pairs.iter().zip(compare(&differences, &report.scoring)).map(verdict).collect()
}

fn text(report: &Report, pair: &Pair, comparison: &Comparison, pairs: usize) -> String {
    let half = &pair.half.retrieval;
    let role = if pair.both { "the better of its halves" } else { "the only one of its halves that was tried" };
    let percent = report.scoring.confidence * 100.0;
    let interval = format!("{percent} % interval {} to {}", signed(comparison.lo), signed(comparison.hi));
    let size = figure(comparison.difference.abs());
    if !comparison.separable {
        let alone = comparison.p < 1.0 - report.scoring.confidence;
        let why = if alone { format!("; not enough for one of {pairs} comparisons") } else { String::new() };
        let difference = signed(comparison.difference);
        return format!(
            "Hybrid search cannot be told apart from {half} search, {role}: difference {difference} ({interval}{why})."
        );
    }
    if comparison.difference * direction(report, &report.scoring.primary) > 0.0 {
        return format!("Hybrid search is better than {half} search, {role}, by {size} ({interval}).");
    }
    format!("Hybrid search is worse than {half} search, {role}, by {size} ({interval}): use {half} search alone.")
}
