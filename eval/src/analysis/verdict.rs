//! The verdict in words that a stranger understands: which settings, how good, how sure, and what else would do.

use super::figures::figure;
use super::{direction, hybrid};
use crate::report::{Cell, Report, Summary, Verdict};
use crate::stats::{deviation, minimum_detectable_effect};

/// Probability with which a difference of the size that is told would be shown.
const POWER: f64 = 0.8;

/// With fewer questions the intervals themselves are unsure (see [`crate::stats::bootstrap`]).
const FEW: usize = 50;

/// How many cells are named before the rest is counted.
const NAMED: usize = 3;

/// The verdict over cells that were ranked and compared; `differences` are those of all but the first.
pub(super) fn of(report: &Report, ranked: &[usize], differences: &[Vec<f64>]) -> Verdict {
    let best = &report.cells[ranked[0]];
    let others: Vec<&Cell> = ranked[1..].iter().map(|&at| &report.cells[at]).collect();
    let alike: Vec<&Cell> =
        others.iter().copied().filter(|cell| cell.comparison.is_some_and(|with| !with.separable)).collect();
    // The first of equally small ones, so the best of them.
    let cheapest =
        alike.iter().copied().fold(best, |least, cell| if cell.cost.bytes < least.cost.bytes { cell } else { least });
    let effect = effect(report, best, differences);
    let synthetic = report.labels.synthetic;
    let mut text = vec![headline(report, best, ranked.len())];
    if let Some(others) = beside(&others, &alike) {
        text.push(others);
    }
    text.extend(smallest(best, cheapest, &alike));
    // Where nothing differs, nothing can be said of that.
    text.extend((effect > 0.0).then(|| format!(
        "A setting would have to differ from the best by about {} for these questions to show it in four of five cases.",
        figure(effect)
    )));
    text.extend(warnings(report, best));
    Verdict {
        text: text.join(" "),
        best: best.id.clone(),
        not_separable: alike.iter().map(|cell| cell.id.clone()).collect(),
        cheapest: cheapest.id.clone(),
        toml: best.toml.clone(),
        minimum_detectable_effect: effect,
        hybrid: if synthetic { Vec::new() } else { hybrid::verdicts(report, ranked) },
        hybrid_overall: if synthetic { None } else { hybrid::overall(report) },
    }
}

/// The minimum detectable effect for a typical pair: the median deviation of the differences to the best. Where
/// no cell differs, that of two cells whose values do not depend on each other, √2 times that of the values.
fn effect(report: &Report, best: &Cell, differences: &[Vec<f64>]) -> f64 {
    let mut deviations: Vec<f64> = differences.iter().map(|row| deviation(row)).filter(|&size| size > 0.0).collect();
    deviations.sort_unstable_by(f64::total_cmp);
    let alone = || best.metrics.get(&report.scoring.primary).map_or(0.0, |summary| summary.std * 2.0_f64.sqrt());
    let typical = deviations.get(deviations.len() / 2).copied().unwrap_or_else(alone);
    minimum_detectable_effect(typical, questions(report, best), 1.0 - report.scoring.confidence, POWER)
}

/// For how many questions a cell has the primary metric.
fn questions(report: &Report, cell: &Cell) -> usize {
    cell.values.get(&report.scoring.primary).map_or(0, |values| values.iter().flatten().count())
}

fn headline(report: &Report, best: &Cell, cells: usize) -> String {
    let name = &report.scoring.primary;
    let title = report.metric(name).map_or(name, |metric| &metric.title);
    let Summary { mean, lo, hi, .. } = best.metrics.get(name).copied().unwrap_or_default();
    let mut values = report.cells.iter().filter_map(|cell| cell.metrics.get(name));
    let scale = match (direction(report, name) > 0.0, values.all(|summary| summary.mean <= 1.0)) {
        (true, true) => "; 1 is perfect",
        (true, false) => "; more is better",
        (false, _) => "; less is better",
    };
    let which = if cells == 1 { "The only setting tried is" } else { "Best is" };
    format!(
        "{which} `{}`: {title} is {} on average over {} ({} % interval {} to {}{scale}).",
        best.id,
        figure(mean),
        count(questions(report, best), "question"),
        report.scoring.confidence * 100.0,
        figure(lo),
        figure(hi),
    )
}

/// What the questions say of the other cells.
fn beside(others: &[&Cell], alike: &[&Cell]) -> Option<String> {
    let all = match others.len() {
        0 => return None,
        1 => "the other setting".to_owned(),
        several => format!("the other {several} settings"),
    };
    Some(match alike.len() {
        0 if others.len() == 1 => "The other setting is worse, by more than chance explains.".to_owned(),
        0 => format!("Each of {all} is worse, by more than chance explains."),
        1 if others.len() == 1 => format!("These questions cannot tell {all} (`{}`) from it.", alike[0].id),
        several => {
            let mut names: Vec<String> = alike.iter().take(NAMED).map(|cell| format!("`{}`", cell.id)).collect();
            if several > NAMED {
                names.push(format!("{} more", several - NAMED));
            }
            format!("These questions cannot tell {several} of {all} from it: {}.", names.join(", "))
        }
    })
}

fn smallest(best: &Cell, cheapest: &Cell, alike: &[&Cell]) -> Option<String> {
    if alike.is_empty() {
        return None;
    }
    if cheapest.id == best.id {
        return Some("None of these has a smaller dataset.".to_owned());
    }
    let (small, large) = (megabytes(cheapest.cost.bytes), megabytes(best.cost.bytes));
    let tokens = |cell: &Cell| cell.metrics.get("retrieved_tokens").map(|tokens| format!("{:.0}", tokens.mean));
    let read = tokens(cheapest)
        .zip(tokens(best))
        .map(|(small, large)| format!("; its k hits are {small} tokens, those of the best {large}"));
    Some(format!(
        "The smallest dataset of these is that of `{}`: {small} MB, where the best takes {large} MB{}.",
        cheapest.id,
        read.unwrap_or_default()
    ))
}

#[expect(clippy::cast_precision_loss, reason = "datasets are smaller than 2^53 bytes")]
fn megabytes(bytes: u64) -> String {
    format!("{:.2}", bytes as f64 / 1e6)
}

fn warnings(report: &Report, best: &Cell) -> Vec<String> {
    let mut warnings = Vec::new();
    if questions(report, best) < FEW {
        warnings.push(format!("With fewer than {FEW} questions the intervals are somewhat too narrow."));
    }
    let lost = report.labels.not_indexed;
    if lost > 0 {
        warnings.push(format!(
            "{} {} in documents that were not indexed, because the job does not take such files or they are in \
             quarantine, and {} as not found.",
            count(lost, "reference"),
            if lost == 1 { "is" } else { "are" },
            if lost == 1 { "counts" } else { "count" }
        ));
    }
    if report.labels.synthetic {
        let text = "The questions were made up from the documents (`synth`) and share their words, so keyword search \
                    alone is left out of the choice, and hybrid search is not judged beside it. Real questions may \
                    rank the settings otherwise: over the three sets that chunkmill was measured with, Kendall's tau \
                    between the two rankings was 0.57 to 0.86 by vector and 0.27 to 0.74 by hybrid search (eval/records).";
        warnings.push(text.to_owned());
    }
    warnings
}

fn count(number: usize, what: &str) -> String {
    if number == 1 { format!("1 {what}") } else { format!("{number} {what}s") }
}
