//! At which costs is a cell worth its price? Computes the Pareto fronts of quality against each cost.

use super::ranking::direction;
use crate::data::report::{Cell, Report};
use crate::score::stats::pareto;

/// Reads a cost of a cell; `None` if it was not measured.
type Read = fn(&Cell) -> Option<f64>;

/// The costs by their names in [`Cell::pareto`]. A cost of 0 means that it was not measured.
const COSTS: [(&str, Read); 4] = [
    ("retrieved_tokens", |cell| cell.metrics.get("retrieved_tokens").map(|tokens| tokens.mean)),
    ("bytes", |cell| Some(bytes(cell.cost.bytes)).filter(|&bytes| bytes > 0.0)),
    ("index_seconds", |cell| cell.cost.index.as_ref().map(|index| index.seconds.median)),
    ("query_ms", |cell| Some(cell.cost.query_ms.p50).filter(|&time| time > 0.0)),
];

#[expect(clippy::cast_precision_loss, reason = "datasets are smaller than 2^53 bytes")]
fn bytes(count: u64) -> f64 {
    count as f64
}

/// Returns the name of the metric to plot against a cost. The tokens of the k best chunks pay for the evidence in
/// these chunks (`span_recall`); all other costs pay for the primary metric.
fn quality_beside<'r>(report: &'r Report, cost: &str) -> &'r str {
    let of_k = "span_recall";
    let is_known = || report.cells.iter().any(|cell| cell.metrics.contains_key(of_k));
    if cost == "retrieved_tokens" && is_known() { of_k } else { &report.scoring.primary }
}

/// Fills [`Cell::pareto`] from the means.
pub(super) fn mark(report: &mut Report) {
    for cell in &mut report.cells {
        cell.pareto.clear();
    }
    for (name, cost) in COSTS {
        let quality = quality_beside(report, name).to_owned();
        let direction = direction(report, &quality);
        let point = |cell: &Cell| Some((cost(cell)?, cell.metrics.get(&quality)?.mean * direction));
        let (cells, points): (Vec<usize>, Vec<(f64, f64)>) =
            report.cells.iter().enumerate().filter_map(|(at, cell)| Some((at, point(cell)?))).unzip();
        for (at, _) in cells.into_iter().zip(pareto(&points)).filter(|(_, on_front)| *on_front) {
            report.cells[at].pareto.push(name.to_owned());
        }
    }
}
