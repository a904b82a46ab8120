//! Which cell is better? The direction of a metric, and the order of the cells.

use chunkmill::chunk::Preset;
use chunkmill::search::Mode;

use crate::data::report::{Cell, Report};

/// Returns 1 if a larger value of the metric is better, else −1. A metric that the report does not describe counts
/// as higher-is-better.
pub fn direction(report: &Report, metric: &str) -> f64 {
    if report.metric(metric).is_none_or(|metric| metric.higher_is_better) { 1.0 } else { -1.0 }
}

/// Returns the positions of the cells that have the primary metric, best first. If the questions are synthetic,
/// keyword search comes last, because these questions share words with the text.
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

/// Returns whether the questions favour a cell so much that it cannot be compared with the others: synthetic
/// questions share words with the text, and keyword search looks at nothing else.
pub(super) fn is_favoured(report: &Report, cell: &Cell) -> bool {
    let is_keyword = |cell: &Cell| cell.retrieval == "keyword";
    report.labels.synthetic && is_keyword(cell) && !report.cells.iter().all(is_keyword)
}

/// Returns whether a cell chunks and searches as chunkmill does by default.
pub(super) fn is_default(cell: &Cell) -> bool {
    let is_plain = cell.reranker.is_none();
    is_plain && cell.build == Preset::DEFAULT.name() && cell.retrieval == Mode::default().name()
}

/// Returns whether two cells have the same mean, except for rounding.
pub(super) fn is_equal(report: &Report, one: &Cell, other: &Cell) -> bool {
    let mean = |cell: &Cell| cell.metrics.get(&report.scoring.primary).map(|summary| (summary.mean * 1e12).round());
    mean(one) == mean(other)
}
