//! Settings that questions cannot tell apart: how many, why, and what would tell them apart.
//!
//! The first of many equal settings is not ahead, and a figure of 1 says more about the questions than about the
//! settings.

use chunkmill::value::count;

use super::clusters::Clusters;
use super::figures::figure;
use super::ranking::direction;
use crate::data::report::{Cell, Report};
use crate::score::judge::in_context;
use crate::score::stats::{ClusteredValues, POWER, minimum_detectable_effect, unseen};

/// A difference that is worth knowing: one question in twenty, or as much on average.
const WORTHWHILE: f64 = 0.05;

/// Means that differ by less are equal except for rounding.
const ROUNDING: f64 = 1e-9;

/// Cells that tie for the best place.
struct Tie<'r> {
    cells: Vec<&'r Cell>,
    /// They find everything, or nothing.
    extreme: Option<Extreme>,
}

#[derive(Clone, Copy)]
enum Extreme {
    Everything,
    Nothing,
}

impl<'r> Tie<'r> {
    fn of(report: &'r Report, tied: &[String]) -> Option<Self> {
        let cells: Vec<&Cell> = tied.iter().filter_map(|id| report.cell(id)).collect();
        if cells.len() < 2 {
            return None;
        }
        let mean = cells[0].metrics.get(&report.scoring.primary)?.mean;
        let is_share = direction(report, &report.scoring.primary) > 0.0;
        let extreme = if is_share && mean > 1.0 - ROUNDING {
            Some(Extreme::Everything)
        } else if is_share && mean.abs() < ROUNDING {
            Some(Extreme::Nothing)
        } else {
            None
        };
        Some(Self { cells, extreme })
    }
}

/// Describes the cells that tie for the best place, `of` so many that could be: what they have in common. Returns
/// `None` if no others tie.
pub(super) fn tie(report: &Report, tied: &[String], of: usize) -> Option<String> {
    let Tie { cells, extreme } = Tie::of(report, tied)?;
    let all = cells.len() == of;
    let who = if all { format!("All {of} settings") } else { format!("{} of {of} settings", cells.len()) };
    let what = match extreme {
        Some(Extreme::Everything) => "find everything",
        Some(Extreme::Nothing) => "find nothing",
        None if all => "are equally good",
        None => "are the best and equally good",
    };
    Some(format!("{who} {what}, so these questions do not tell them apart."))
}

/// Describes what would tell tied cells apart: how many more questions, and another budget. Returns `None` if no
/// others tie.
pub(super) fn told_apart(report: &Report, tied: &[String]) -> Option<String> {
    let Tie { cells, extreme } = Tie::of(report, tied)?;
    let other = extreme.map(|extreme| match extreme {
        Extreme::Everything => "harder",
        Extreme::Nothing => "easier",
    });
    let mut said = vec![more(report, &cells, other)];
    said.extend(budgets(report, &cells));
    Some(said.join(" "))
}

/// Describes how many questions would tell tied cells apart, and which `other` ones would.
fn more(report: &Report, cells: &[&Cell], other: Option<&str>) -> String {
    let primary = &report.scoring.primary;
    let clusters = Clusters::of(report);
    let values = |cell: &'_ Cell| cell.values.get(primary).cloned().unwrap_or_default();
    let first = values(cells[0]);
    let asked = first.iter().flatten().count();
    let difference = |cell: &&Cell| -> ClusteredValues {
        clusters.gather(values(cell).into_iter().zip(&first).map(|(one, other)| Some(one? - (*other)?)))
    };
    let error = cells[1..].iter().map(|cell| difference(cell).standard_error()).fold(0.0, f64::max);
    let alpha = 1.0 - report.scoring.confidence;
    let or_others = other.map(|other| format!(", or, better, {other} ones")).unwrap_or_default();
    if error > 0.0 {
        let times = (minimum_detectable_effect(error, alpha, POWER) / WORTHWHILE).powi(2);
        return match rounded(asked, times) {
            0 => "More questions like these would not help: ask other ones.".to_owned(),
            more => format!(
                "About {}{or_others} would show a difference of {WORTHWHILE} four times out of five.",
                count(more, "more question")
            ),
        };
    }
    // They agree on every question: nothing shows how much they differ, only how rarely.
    let needed = (1..10_000).find(|&n| unseen(n, report.scoring.confidence) <= WORTHWHILE).unwrap_or(10_000);
    match needed.saturating_sub(asked) {
        0 => format!("More questions like these would hardly help: ask {} ones.", other.unwrap_or("other")),
        more => format!(
            "About {}{or_others} would show whether they differ on one question in twenty.",
            count(more, "more question")
        ),
    }
}

/// Returns how many questions are missing to have `times` as many, in two digits.
#[expect(
    clippy::cast_precision_loss,
    clippy::cast_possible_truncation,
    clippy::cast_sign_loss,
    reason = "at least 0, and it saturates"
)]
fn rounded(asked: usize, times: f64) -> u64 {
    let more = (asked as f64 * (times - 1.0)).max(0.0).ceil() as u64;
    let step = 10_u64.pow(more.checked_ilog10().unwrap_or_default().saturating_sub(1));
    more.div_ceil(step).saturating_mul(step)
}

/// Describes the budget at which tied cells differ most, or says that they do not.
fn budgets(report: &Report, cells: &[&Cell]) -> Option<String> {
    let mean = |cell: &&Cell, budget: usize| Some(cell.metrics.get(&in_context(budget))?.mean);
    let others: Vec<usize> =
        report.scoring.budgets.iter().copied().filter(|&budget| in_context(budget) != report.scoring.primary).collect();
    let spread = |budget: usize| {
        let known = cells.iter().filter_map(|cell| Some((mean(cell, budget)?, cell.id.as_str())));
        let best = known.clone().reduce(|best, next| if next.0 > best.0 { next } else { best })?;
        let least = known.map(|(mean, _)| mean).fold(f64::INFINITY, f64::min);
        Some((budget, least, best))
    };
    let spreads: Vec<(usize, f64, (f64, &str))> = others.into_iter().filter_map(spread).collect();
    let widest = spreads.iter().reduce(|widest, next| {
        let width = |(_, least, best): &(usize, f64, (f64, &str))| best.0 - least;
        if width(next) > width(widest) + ROUNDING { next } else { widest }
    })?;
    let (budget, least, (most, id)) = widest;
    if most - least < ROUNDING {
        return Some("They do not differ at any other budget either.".to_owned());
    }
    Some(format!(
        "They differ most in {budget} tokens, from {} to {}: `{id}` is ahead there.",
        figure(*least),
        figure(*most)
    ))
}

/// Says how many questions have evidence that was chosen from the proposals of search, if any.
pub(super) fn favoured(report: &Report) -> Option<String> {
    let (proposed, all) = (report.labels.proposed, report.labels.scored);
    (proposed > 0).then(|| {
        let which = if proposed == all { "all questions".to_owned() } else { format!("{proposed} of {all} questions") };
        format!(
            "The evidence of {which} was chosen from passages that search proposed. This favours settings that find \
             what hybrid search with the default finds."
        )
    })
}
