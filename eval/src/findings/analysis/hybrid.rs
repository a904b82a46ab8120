//! Is fused search worth it? Compares each hybrid cell with the better of its halves.

use std::collections::HashSet;

use super::clusters::Clusters;
use super::comparison::{compare, interval, paired};
use super::figures::{figure, signed};
use super::ranking::direction;
use crate::data::report::{Cell, Comparison, HybridOverall, HybridVerdict, Report};
use crate::score::stats::{ClusteredValues, mean};

const HALVES: [&str; 2] = ["vector", "keyword"];

/// A hybrid cell, its better half, and whether the other half was also tried.
struct Pair<'r> {
    hybrid: &'r Cell,
    half: &'r Cell,
    both: bool,
}

/// Returns a verdict for each hybrid cell with at least one half among the cells, best hybrid first.
pub(super) fn verdicts(report: &Report, ranked: &[usize], clusters: &Clusters) -> Vec<HybridVerdict> {
    let cells = || ranked.iter().map(|&at| &report.cells[at]);
    let pairs: Vec<Pair> = cells()
        .filter(|cell| cell.retrieval == "hybrid")
        .filter_map(|hybrid| {
            let is_half = |cell: &&Cell| is_half(hybrid, cell);
            let half = cells().find(is_half)?;
            let both = cells().filter(is_half).any(|cell| cell.retrieval != half.retrieval);
            Some(Pair { hybrid, half, both })
        })
        .collect();
    let primary = &report.scoring.primary;
    let differences: Vec<ClusteredValues> =
        pairs.iter().map(|pair| paired(pair.hybrid, pair.half, primary, clusters)).collect();
    let verdict = |(pair, comparison): (&Pair, Comparison)| HybridVerdict {
        hybrid: pair.hybrid.id.clone(),
        half: pair.half.id.clone(),
        comparison,
        text: text(report, pair, &comparison, pairs.len()),
    };
    pairs.iter().zip(compare(&differences, &report.scoring)).map(verdict).collect()
}

/// Returns whether a cell is one of the halves of a fused cell. If the run does not say, the halves are the cells
/// over the same dataset with the same k.
fn is_half(hybrid: &Cell, cell: &Cell) -> bool {
    let is_kind = HALVES.contains(&cell.retrieval.as_str());
    let same = cell.build == hybrid.build && cell.k == hybrid.k;
    is_kind && if hybrid.halves.is_empty() { same } else { hybrid.halves.contains(&cell.id) }
}

/// Returns one verdict over all hybrid cells that have both halves, using the mean over the datasets for each
/// question. The individual comparisons are many and small, so none of them may show what all of them show
/// together. The half is the one that is better over all cells, not the better one of each cell, which would be
/// chosen by the same questions that measure it.
pub(super) fn overall(report: &Report, clusters: &Clusters) -> Option<HybridOverall> {
    let primary = report.scoring.primary.as_str();
    let of = |hybrid: &Cell, mode: &str| {
        let half = |cell: &&Cell| cell.retrieval == mode && is_half(hybrid, cell);
        report.cells.iter().find(half)?.values.get(primary)
    };
    let (mut searches, mut builds, mut tried) = (HashSet::new(), HashSet::new(), Vec::new());
    for cell in report.cells.iter().filter(|cell| cell.retrieval == "hybrid") {
        let Some(values) = cell.values.get(primary).zip(of(cell, HALVES[0]).zip(of(cell, HALVES[1]))) else { continue };
        // The same search with another k is not further evidence.
        if searches.insert(cell.id.rsplit_once("k=").map_or(cell.id.as_str(), |(search, _)| search)) {
            builds.insert(cell.build.as_str());
            tried.push([values.0, values.1.0, values.1.1]);
        }
    }
    // A question counts if every cell has a value for it.
    let average = |which: usize, question: usize| {
        let values: Option<Vec<f64>> = tried.iter().map(|values| values[which][question]).collect();
        values.map(|values| mean(&values))
    };
    let questions = 0..tried.first()?[0].len();
    let averages: Vec<Option<[f64; 3]>> =
        questions.map(|question| Some([average(0, question)?, average(1, question)?, average(2, question)?])).collect();
    let total = |which: usize| averages.iter().flatten().map(|values| values[which]).sum::<f64>();
    let better = if (total(2) - total(1)) * direction(report, primary) > 0.0 { 2 } else { 1 };
    let differences = clusters.gather(averages.iter().map(|values| values.map(|values| values[0] - values[better])));
    let comparison = compare(&[differences], &report.scoring).pop()?;
    let (half, datasets) = (HALVES[better - 1], builds.len());
    let percent = report.scoring.confidence * 100.0;
    let interval = format!("{percent} % interval {} to {}", signed(comparison.lo), signed(comparison.hi));
    let gain = comparison.difference * direction(report, primary);
    let over =
        if datasets == 1 { "With this chunking".to_owned() } else { format!("Over all {datasets} chunkings together") };
    let text = if comparison.separable {
        let word = if gain > 0.0 { "better" } else { "worse" };
        let advice = if gain > 0.0 { String::new() } else { format!(": use {half} search alone") };
        format!(
            "{over}, hybrid search is {word} than {half} search, the better of its halves, by {} ({interval}){advice}.",
            figure(comparison.difference.abs())
        )
    } else {
        format!(
            "{over}, hybrid search cannot be told apart from {half} search, the better of its halves: difference {} ({interval}).",
            signed(comparison.difference)
        )
    };
    Some(HybridOverall { half: half.to_owned(), datasets, comparison, text })
}

fn text(report: &Report, pair: &Pair, comparison: &Comparison, pairs: usize) -> String {
    let half = &pair.half.retrieval;
    let role = if pair.both { "the better of its halves" } else { "the only one of its halves that was tried" };
    let interval = interval(comparison, &report.scoring, pairs);
    let size = figure(comparison.difference.abs());
    if !comparison.separable {
        let difference = signed(comparison.difference);
        return format!(
            "Hybrid search cannot be told apart from {half} search, {role}: difference {difference} ({interval})."
        );
    }
    if comparison.difference * direction(report, &report.scoring.primary) > 0.0 {
        return format!("Hybrid search is better than {half} search, {role}, by {size} ({interval}).");
    }
    format!("Hybrid search is worse than {half} search, {role}, by {size} ({interval}): use {half} search alone.")
}
