//! Does a reranker pay? Compares each cell that has one with the cell that only lacks it.
//!
//! A reranker that was trained on other questions can lose evidence, on some corpora much of it, so it is only advised where
//! these questions show a gain.

use super::clusters::Clusters;
use super::comparison::{compare, interval, paired};
use super::figures::signed;
use super::ranking::direction;
use crate::data::report::{Cell, Comparison, Report, RerankerVerdict};

/// Returns a verdict for each cell with a reranker whose counterpart is among the cells, best first.
pub(super) fn verdicts(report: &Report, ranked: &[usize], clusters: &Clusters) -> Vec<RerankerVerdict> {
    let counterpart = |cell: &Cell| report.cell(cell.reranker.as_ref()?.without.as_deref()?);
    let pairs: Vec<(&Cell, &Cell)> =
        ranked.iter().map(|&at| &report.cells[at]).filter_map(|cell| Some((cell, counterpart(cell)?))).collect();
    let differences: Vec<_> =
        pairs.iter().map(|(cell, without)| paired(cell, without, &report.scoring.primary, clusters)).collect();
    let direction = direction(report, &report.scoring.primary);
    let verdict = |(&(cell, without), comparison): (&(&Cell, &Cell), Comparison)| {
        let pays = comparison.separable && comparison.difference * direction > 0.0;
        RerankerVerdict {
            reranked: cell.id.clone(),
            without: without.id.clone(),
            comparison,
            pays,
            text: text(report, [cell, without], &comparison, (pays, pairs.len())),
        }
    };
    pairs.iter().zip(compare(&differences, &report.scoring)).map(verdict).collect()
}

fn text(report: &Report, [cell, without]: [&Cell; 2], comparison: &Comparison, (pays, pairs): (bool, usize)) -> String {
    let model = cell.reranker.as_ref().map_or("", |reranker| &reranker.model);
    let name = model.rsplit(['/', '\\']).next().unwrap_or(model);
    let [with, before] = [cell, without].map(|cell| cell.cost.query_ms.p50.max(1.0));
    let time = format!("A question takes {with:.0} ms with it and {before:.0} ms without.");
    // The p of values that are all equal.
    if comparison.difference == 0.0 && comparison.p >= 1.0 {
        return format!("The reranker {name} changes nothing here. {time}");
    }
    let primary = report.metric(&report.scoring.primary).map_or(&report.scoring.primary, |metric| &metric.title);
    let interval = interval(comparison, &report.scoring, pairs);
    let found = format!("{} in {primary} ({interval})", signed(comparison.difference));
    match (pays, comparison.separable) {
        (true, _) => format!("The reranker {name} pays: {found}. {time}"),
        (false, true) => format!("The reranker {name} loses evidence here: {found}. Leave it out."),
        (false, false) => format!("The reranker {name} is not shown to pay: {found}. {time}"),
    }
}
