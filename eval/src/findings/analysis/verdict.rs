//! The verdict in words that anyone understands: which settings are best, how good and how certain they are, and
//! which others would do.

use chunkmill::chunk::Preset;
use chunkmill::search::Mode;
use chunkmill::value::count;

use super::clusters::Clusters;
use super::figures::figure;
use super::hybrid;
use super::ranking::direction;
use super::ties::{favoured, untold};
use crate::data::report::{Cell, HeldOutRecord, Report, RunnerUp, Summary, Verdict};
use crate::score::stats::{ClusteredValues, HeldOut, POWER, held_out, minimum_detectable_effect};

/// With fewer clusters, the intervals themselves are uncertain (see [`crate::score::stats::bootstrap`]).
const FEW: usize = 50;

/// A cell is called the best from this probability on.
pub(crate) const SURE: f64 = 0.9;

/// A significantly worse cell is ruled out below this probability of being the best.
const RULED_OUT: f64 = 0.025;

/// Number of times the questions are halved.
const SPLITS: usize = 100;

/// More questions than anyone will label.
pub(crate) const HOPELESS: u64 = 100_000;

/// Number of cells that are named; the rest is counted.
const NAMED: usize = 3;

/// Returns the verdict over ranked and compared cells. `choice` contains the cells' values, where higher is
/// better; `differences` contains the differences of the other cells to the best.
pub(super) fn of(
    report: &Report,
    ranked: &[usize],
    choice: &[ClusteredValues],
    differences: &[ClusteredValues],
    clusters: &Clusters,
) -> Verdict {
    let best = &report.cells[ranked[0]];
    let others: Vec<&Cell> = ranked[1..].iter().map(|&at| &report.cells[at]).collect();
    let alike: Vec<&Cell> = others.iter().copied().filter(|cell| !is_ruled_out(cell)).collect();
    // Of equally small datasets, the first: the best of them.
    let cheapest =
        alike.iter().copied().fold(best, |least, cell| if cell.cost.bytes < least.cost.bytes { cell } else { least });
    let alpha = 1.0 - report.scoring.confidence;
    let effect = effect(&choice[0], differences, alpha);
    let runner_up = others.first().zip(differences.first()).and_then(|(cell, row)| runner_up(cell, row, alpha));
    let held_out = report.scoring.held_out.then(|| held_out_of(report, choice)).flatten();
    let synthetic = report.labels.synthetic;
    let all = || std::iter::once(best).chain(others.iter().copied());
    let tied: Vec<String> = all().take_while(|cell| is_equal(report, cell, best)).map(|cell| cell.id.clone()).collect();
    let tied = if tied.len() > 1 { tied } else { Vec::new() };
    let default = all().find(|cell| is_default(cell)).filter(|cell| cell.id == best.id || !is_ruled_out(cell));
    let is_sure = best.p_best.unwrap_or_default() >= SURE;
    let advised = if is_sure { best } else { default.unwrap_or(best) };
    let mut text = vec![headline(report, best, advised, &tied, ranked.len())];
    if tied.len() < ranked.len() {
        text.extend(beside(&others, &alike));
    }
    text.extend(smallest(best, cheapest, &alike));
    text.extend(runner_up.as_ref().and_then(more_questions));
    text.extend(held_out.as_ref().filter(|_| others.len() > 1).and_then(|held_out| luck(report, best, held_out)));
    // If no values differ, the detectable effect is unknown.
    text.extend((effect > 0.0).then(|| {
        format!(
            "These questions reveal a difference of {} four times out of five; smaller ones often stay hidden.",
            figure(effect)
        )
    }));
    text.extend(warnings(report, clusters));
    Verdict {
        text: text.join(" "),
        best: best.id.clone(),
        advised: advised.id.clone(),
        tied,
        p_best: best.p_best.unwrap_or_default(),
        runner_up,
        held_out,
        not_separable: alike.iter().map(|cell| cell.id.clone()).collect(),
        cheapest: cheapest.id.clone(),
        toml: if advised.id == best.id {
            best.toml.clone()
        } else {
            format!("# The default: no other setting is shown to be better.\n{}", advised.toml)
        },
        minimum_detectable_effect: effect,
        hybrid: if synthetic { Vec::new() } else { hybrid::verdicts(report, ranked, clusters) },
        hybrid_overall: if synthetic { None } else { hybrid::overall(report, clusters) },
    }
}

/// Returns whether a cell chunks and searches as chunkmill does by default.
pub(crate) fn is_default(cell: &Cell) -> bool {
    cell.build == Preset::DEFAULT.name() && cell.retrieval == Mode::default().name()
}

/// Returns whether two cells have the same mean, except for rounding.
fn is_equal(report: &Report, one: &Cell, other: &Cell) -> bool {
    let mean = |cell: &Cell| cell.metrics.get(&report.scoring.primary).map(|summary| (summary.mean * 1e12).round());
    mean(one) == mean(other)
}

/// Returns whether a cell is significantly worse than the best and seldom the best when the questions are
/// resampled.
fn is_ruled_out(cell: &Cell) -> bool {
    cell.comparison.is_some_and(|with| with.separable) && cell.p_best.is_none_or(|p| p < RULED_OUT)
}

/// Returns the minimum detectable effect for a typical pair, from the median standard error of the differences to
/// the best. If no cell differs, it assumes two cells with independent values: √2 times the standard error of the
/// values.
fn effect(values: &ClusteredValues, differences: &[ClusteredValues], alpha: f64) -> f64 {
    let mut errors: Vec<f64> =
        differences.iter().map(ClusteredValues::standard_error).filter(|&error| error > 0.0).collect();
    errors.sort_unstable_by(f64::total_cmp);
    let alone = || values.standard_error() * 2.0_f64.sqrt();
    minimum_detectable_effect(errors.get(errors.len() / 2).copied().unwrap_or_else(alone), alpha, POWER)
}

/// Estimates how many more questions would separate a cell from the best. The standard error falls with the square
/// root of their number, so N questions become N · (effect / difference)², where the effect is what N questions
/// detect with probability [`POWER`].
fn runner_up(cell: &Cell, difference: &ClusteredValues, alpha: f64) -> Option<RunnerUp> {
    let separable = cell.comparison.is_some_and(|with| with.separable);
    let found = difference.mean().abs();
    if separable || found == 0.0 {
        return None;
    }
    let times = (minimum_detectable_effect(difference.standard_error(), alpha, POWER) / found).powi(2);
    #[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "it is at least 0, and saturates")]
    let more = (difference.len() * (times - 1.0)).max(0.0).ceil() as u64;
    // Two digits: the estimate is not more precise than that.
    let step = 10_u64.pow(more.checked_ilog10().unwrap_or_default().saturating_sub(1));
    Some(RunnerUp { id: cell.id.clone(), more_questions: more.div_ceil(step).saturating_mul(step) })
}

fn more_questions(next: &RunnerUp) -> Option<String> {
    match next.more_questions {
        0 => None,
        more if more > HOPELESS => {
            Some(format!("No realistic number of labelled questions would separate it from `{}`.", next.id))
        }
        more => Some(format!(
            "About {} like these would separate it from `{}`, if the difference stays the same.",
            count(more, "more question"),
            next.id
        )),
    }
}

fn held_out_of(report: &Report, choice: &[ClusteredValues]) -> Option<HeldOutRecord> {
    let rows: Vec<&ClusteredValues> = choice.iter().collect();
    let HeldOut { chosen, held_out, same } = held_out(&rows, SPLITS, report.scoring.seed)?;
    let direction = direction(report, &report.scoring.primary);
    Some(HeldOutRecord { splits: SPLITS, chosen: chosen * direction, held_out: held_out * direction, same })
}

/// Describes how much of the best cell's figure is due to the luck of selection, if it shows in the figures.
fn luck(report: &Report, best: &Cell, record: &HeldOutRecord) -> Option<String> {
    let mean = figure(best.metrics.get(&report.scoring.primary).copied().unwrap_or_default().mean);
    let held_out = figure(record.held_out);
    (held_out != mean).then(|| {
        format!(
            "Chosen by half of the questions and measured by the other half ({} times), a winner has {held_out}, not \
             {mean}: the difference comes from choosing and measuring it with the same questions.",
            record.splits
        )
    })
}

/// Returns the number of questions for which a cell has the primary metric.
fn questions(report: &Report, cell: &Cell) -> usize {
    cell.values.get(&report.scoring.primary).map_or(0, |values| values.iter().flatten().count())
}

/// Recommends a setting, and describes the best ones.
fn headline(report: &Report, best: &Cell, advised: &Cell, tied: &[String], cells: usize) -> String {
    let p = best.p_best.unwrap_or_default();
    if cells == 1 {
        return format!("The only setting tried is `{}`: {}.", best.id, figures(report, best));
    }
    if p >= SURE {
        return format!("Best is `{}`, with a probability of {}: {}.", best.id, percent(p), figures(report, best));
    }
    let none = format!("of {cells} settings none is shown to be better");
    let keep = format!("Keep the default, `{}`", advised.id);
    if let Some(untold) = untold(report, tied, cells) {
        let advice = if is_default(advised) {
            keep
        } else {
            format!("Use `{}`, which has the smallest dataset of the best", advised.id)
        };
        return format!("{advice}: {none}. {untold} With `{}`, {}.", advised.id, figures(report, advised));
    }
    let ahead = format!("ahead, and the best with a probability of {}: {}", percent(p), figures(report, best));
    match (is_default(advised), advised.id == best.id) {
        (true, true) => format!("{keep}: it is {ahead}."),
        (true, false) => {
            let own = figure(advised.metrics.get(&report.scoring.primary).copied().unwrap_or_default().mean);
            format!("{keep}: {none}. `{}` is {ahead}; the default has {own}.", best.id)
        }
        _ => format!("`{}` is {ahead}.", best.id),
    }
}

/// Describes a cell's mean of the primary metric and its interval.
fn figures(report: &Report, cell: &Cell) -> String {
    let name = &report.scoring.primary;
    let title = report.metric(name).map_or(name, |metric| &metric.title);
    let Summary { mean, lo, hi, .. } = cell.metrics.get(name).copied().unwrap_or_default();
    let mut values = report.cells.iter().filter_map(|cell| cell.metrics.get(name));
    let scale = match (direction(report, name) > 0.0, values.all(|summary| summary.mean <= 1.0)) {
        (true, true) => "; 1 is perfect",
        (true, false) => "; more is better",
        (false, _) => "; less is better",
    };
    format!(
        "{title} is {} on average over {} ({} % interval {} to {}{scale})",
        figure(mean),
        count(questions(report, cell), "question"),
        report.scoring.confidence * 100.0,
        figure(lo),
        figure(hi),
    )
}

/// Formats a probability, which is never shown as certain.
pub(crate) fn percent(p: f64) -> String {
    match p * 100.0 {
        p if p > 99.0 => "over 99 %".to_owned(),
        p if p < 1.0 => "under 1 %".to_owned(),
        p => format!("{p:.0} %"),
    }
}

/// Describes the other cells: which are ruled out and which are not.
fn beside(others: &[&Cell], alike: &[&Cell]) -> Option<String> {
    let all = match others.len() {
        0 => return None,
        1 => "the other setting".to_owned(),
        several => format!("the other {several} settings"),
    };
    let is_or_are = |count: usize| if count == 1 { "is" } else { "are" };
    Some(match alike.len() {
        0 if others.len() == 1 => "The other setting is significantly worse.".to_owned(),
        0 => format!("Each of {all} is significantly worse."),
        1 if others.len() == 1 => format!("The other, `{}`, is not ruled out ({}).", alike[0].id, chance(alike[0])),
        several => {
            let with_chance = |cell: &&Cell| format!("`{}` ({})", cell.id, chance(cell));
            let mut names: Vec<String> = alike.iter().take(NAMED).map(with_chance).collect();
            if several > NAMED {
                names.push(format!("{} more", several - NAMED));
            }
            format!("{several} of {all} {} not ruled out: {}.", is_or_are(several), names.join(", "))
        }
    })
}

fn chance(cell: &Cell) -> String {
    percent(cell.p_best.unwrap_or_default())
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
        .map(|(small, large)| format!("; its k hits have {small} tokens, those of the best {large}"));
    Some(format!(
        "The smallest of these datasets is that of `{}`: {small} MB, while the best takes {large} MB{}.",
        cheapest.id,
        read.unwrap_or_default()
    ))
}

#[expect(clippy::cast_precision_loss, reason = "datasets are smaller than 2^53 bytes")]
fn megabytes(bytes: u64) -> String {
    format!("{:.2}", bytes as f64 / 1e6)
}

fn warnings(report: &Report, clusters: &Clusters) -> Vec<String> {
    let mut warnings = Vec::new();
    if let Some(places) = clusters.too_few() {
        warnings.push(format!(
            "The evidence of all questions is in {} of the documents, so the intervals are too narrow for other places.",
            count(places, "place")
        ));
    } else if clusters.len() < FEW {
        warnings.push(format!(
            "With fewer than {FEW} questions, or answers in fewer than {FEW} places, the true intervals are somewhat wider."
        ));
    }
    let lost = report.labels.not_indexed;
    if lost > 0 {
        warnings.push(format!(
            "References in documents that were not indexed, because the job does not accept these files or \
             quarantined them, count as not found: {lost}."
        ));
    }
    if report.labels.synthetic {
        let text = "The questions were made up from the documents (`synth`) and share their words, so keyword search \
                    alone is left out of the choice, and hybrid search is not compared with it. Real questions may \
                    rank the settings differently: over the three sets that chunkmill was measured with, Kendall's tau \
                    between the two rankings was 0.57 to 0.86 in vector and 0.27 to 0.74 in hybrid search \
                    (eval/records).";
        warnings.push(text.to_owned());
    }
    warnings.extend(favoured(report));
    warnings
}
