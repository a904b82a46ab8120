//! The verdict: which settings are best, which others would do, and which to use.

use super::advice::{SURE, advice};
use super::clusters::Clusters;
use super::hybrid;
use super::ranking::{direction, is_default, is_equal};
use super::reranker;
use crate::data::report::{Advice, Cell, HeldOutRecord, Report, RunnerUp, Verdict};
use crate::score::stats::{ClusteredValues, HeldOut, POWER, held_out, minimum_detectable_effect};

/// A significantly worse cell is ruled out below this probability of being the best.
const RULED_OUT: f64 = 0.025;

/// Number of times the questions are halved.
const SPLITS: usize = 100;

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
    let rerankers = reranker::verdicts(report, ranked, clusters);
    // A reranker is advised if it pays, and only then.
    let advised = match rerankers.iter().find(|verdict| [&verdict.reranked, &verdict.without].contains(&&advised.id)) {
        Some(verdict) => {
            report.cell(if verdict.pays { &verdict.reranked } else { &verdict.without }).unwrap_or(advised)
        }
        None => advised,
    };
    let mut verdict = Verdict {
        text: String::new(),
        advice: Advice::default(),
        best: best.id.clone(),
        advised: advised.id.clone(),
        tied,
        p_best: best.p_best.unwrap_or_default(),
        runner_up,
        held_out,
        not_separable: alike.iter().map(|cell| cell.id.clone()).collect(),
        cheapest: cheapest.id.clone(),
        toml: if is_default(advised) && advised.id != best.id {
            format!("# The default: no other setting is shown to be better.\n{}", advised.toml)
        } else {
            advised.toml.clone()
        },
        minimum_detectable_effect: effect,
        rerankers,
        hybrid: if synthetic { Vec::new() } else { hybrid::verdicts(report, ranked, clusters) },
        hybrid_overall: if synthetic { None } else { hybrid::overall(report, clusters) },
    };
    verdict.advice = advice(report, &verdict, ranked.len());
    verdict.text = verdict.advice.text();
    verdict
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

fn held_out_of(report: &Report, choice: &[ClusteredValues]) -> Option<HeldOutRecord> {
    let rows: Vec<&[ClusteredValues]> = choice.iter().map(std::slice::from_ref).collect();
    let HeldOut { chosen, held_out, same } = held_out(&rows, SPLITS, report.scoring.seed)?;
    let direction = direction(report, &report.scoring.primary);
    Some(HeldOutRecord { splits: SPLITS, chosen: chosen * direction, held_out: held_out * direction, same })
}
