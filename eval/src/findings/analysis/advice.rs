//! The advice in words: what to use, how good it is, what it costs, how certain that is, and what to do next.
//!
//! Every form of a report shows these sentences, so they cannot contradict each other.

use std::collections::HashSet;

use chunkmill::embed::Engine;
use chunkmill::value::count;

use super::clusters::Clusters;
use super::figures::figure;
use super::ranking::{direction, is_default, is_equal};
use super::ties::{favoured, tie, told_apart};
use crate::data::left_out::Reason;
use crate::data::report::{Advice, Cell, Report, Spread, Summary, Verdict};

/// A cell is called the best from this probability on.
pub(crate) const SURE: f64 = 0.9;

/// With fewer real questions, or fewer places with their evidence, more of them would help.
const ENOUGH: usize = 50;

/// More questions than anyone will label.
const HOPELESS: u64 = 1_000;

/// Returns what a verdict means for a decision. `compared` cells were compared by it.
pub(super) fn advice(report: &Report, verdict: &Verdict, compared: usize) -> Advice {
    let Some(cell) = report.cell(&verdict.advised) else { return Advice::default() };
    Advice {
        headline: headline(report, verdict, cell, compared),
        gain: gain(report, verdict, cell),
        cost: cost(report, cell),
        certainty: certainty(report, verdict, cell, compared),
        next: next(report, verdict, compared),
        caveats: rerankers(report, verdict).chain(caveats(report)).collect(),
    }
}

impl Advice {
    /// Returns all sentences as one text.
    pub(super) fn text(&self) -> String {
        let Self { headline, gain, cost, certainty, next, caveats } = self;
        let parts = [headline, gain, certainty, next, cost].into_iter().chain(caveats);
        parts.filter(|part| !part.is_empty()).map(String::as_str).collect::<Vec<_>>().join(" ")
    }
}

fn asked(report: &Report) -> String {
    count(report.labels.scored, "question")
}

fn headline(report: &Report, verdict: &Verdict, cell: &Cell, compared: usize) -> String {
    let (id, asked) = (&cell.id, asked(report));
    let default = is_default(cell);
    let action = if default { format!("Keep the default, `{id}`") } else { format!("Use `{id}`") };
    if compared == 1 {
        return format!("{action}: no other setting was compared on your {asked}.");
    }
    if verdict.best == *id && verdict.p_best >= SURE {
        let p = percent(verdict.p_best);
        return format!("{action}: of {compared} settings it is the best on your {asked}, with a probability of {p}.");
    }
    if default {
        return format!("{action}: of {compared} settings none is shown to be better on your {asked}.");
    }
    match verdict.tied.len() {
        0 => format!("{action}: of {compared} settings it is ahead on your {asked}, which may be chance."),
        tied => {
            format!("{action}: of {tied} settings that are equally good on your {asked}, it has the smallest dataset.")
        }
    }
}

/// Says how good the recommended cell is, and how good the best and the default are if they are others.
fn gain(report: &Report, verdict: &Verdict, cell: &Cell) -> String {
    let mut said = vec![quality(report, cell)];
    let short = |cell: &Cell| share_or_figure(report, mean(report, cell));
    if let Some(best) = report.cell(&verdict.best).filter(|best| best.id != cell.id && !is_equal(report, best, cell)) {
        said.push(format!("`{}` has {}, which may be chance.", best.id, short(best)));
    }
    let default =
        report.cells.iter().find(|cell| is_default(cell) && cell.metrics.contains_key(&report.scoring.primary));
    if let Some(default) = default.filter(|default| default.id != cell.id && default.id != verdict.best) {
        said.push(format!("The default, `{}`, has {}.", default.id, short(default)));
    }
    let compared = report.cells.iter().filter(|cell| cell.p_best.is_some());
    let worst = compared.map(|cell| mean(report, cell)).reduce(if direction(report, &report.scoring.primary) > 0.0 {
        f64::min
    } else {
        f64::max
    });
    if let Some(worst) = worst.filter(|worst| (worst - mean(report, cell)).abs() > 0.005) {
        said.push(format!("The weakest setting that was tried has {}.", share_or_figure(report, worst)));
    }
    said.join(" ")
}

fn quality(report: &Report, cell: &Cell) -> String {
    let primary = &report.scoring.primary;
    let Summary { mean, lo, hi, .. } = cell.metrics.get(primary).copied().unwrap_or_default();
    let confidence = report.scoring.confidence * 100.0;
    let Some(budget) = budget(report) else {
        let title = report.metric(primary).map_or(primary.as_str(), |metric| &metric.title).replace('`', "'");
        let better = if direction(report, primary) > 0.0 { "more" } else { "less" };
        let [mean, lo, hi] = [mean, lo, hi].map(figure);
        let asked = asked(report);
        return format!(
            "{} is {mean} on average over {asked} ({lo} to {hi} with {confidence} % confidence; {better} is better).",
            capital(&title)
        );
    };
    let reader = format!("With {} tokens per question, the reader gets", thousands(budget));
    if mean >= 1.0 {
        let asked = report.labels.scored;
        let all = if asked == 1 { "the only question".to_owned() } else { format!("all {asked} questions") };
        return format!(
            "{reader} all the text that answers it, for {all}. That promises at least {} for questions like these.",
            share(lo, f64::floor)
        );
    }
    format!(
        "{reader} {} of the text that answers it ({} to {} with {confidence} % confidence).",
        share(mean, f64::round),
        share(lo, f64::floor),
        share(hi, f64::ceil)
    )
}

fn mean(report: &Report, cell: &Cell) -> f64 {
    cell.metrics.get(&report.scoring.primary).map_or(0.0, |summary| summary.mean)
}

/// Returns the number of tokens handed over, as digits, if evidence in them is the primary metric: a share of text, which
/// is shown in per cent.
fn budget(report: &Report) -> Option<&str> {
    report.scoring.primary.strip_prefix("evidence_in_context_")
}

/// Formats a value of the primary metric as [`quality`] does.
fn share_or_figure(report: &Report, value: f64) -> String {
    if budget(report).is_some() { share(value, f64::round) } else { figure(value) }
}

/// Formats a difference of the primary metric as [`quality`] does.
fn points(report: &Report, difference: f64) -> String {
    if budget(report).is_some() {
        format!("{:.0} percentage points", (100.0 * difference).ceil())
    } else {
        figure(difference)
    }
}

/// Formats a share in per cent. Only all is shown as 100 %, and only nothing as 0 %.
fn share(value: f64, round: fn(f64) -> f64) -> String {
    // A product such as 100 × 0.29 is a little less than 29.
    let percent = round((value * 1e8).round() / 1e6);
    match value {
        value if value < 1.0 && percent >= 100.0 => "over 99 %".to_owned(),
        value if value > 0.0 && percent <= 0.0 => "under 1 %".to_owned(),
        _ => format!("{percent:.0} %"),
    }
}

/// Formats a probability, which is never shown as certain.
pub(crate) fn percent(p: f64) -> String {
    match p * 100.0 {
        p if p > 99.0 => "over 99 %".to_owned(),
        p if p < 1.0 => "under 1 %".to_owned(),
        p => format!("{p:.0} %"),
    }
}

/// Writes a number of digits with commas: `1,000`.
fn thousands(digits: &str) -> String {
    let separated = |(at, digit): (usize, char)| {
        let comma = at > 0 && (digits.len() - at).is_multiple_of(3);
        comma.then_some(',').into_iter().chain([digit])
    };
    digits.chars().enumerate().flat_map(separated).collect()
}

fn capital(text: &str) -> String {
    let mut rest = text.chars();
    rest.next().map_or_else(String::new, |first| first.to_uppercase().chain(rest).collect())
}

#[expect(clippy::cast_precision_loss, reason = "two digits of a size are shown")]
fn cost(report: &Report, cell: &Cell) -> String {
    let seconds = cell.cost.index.as_ref().map_or_else(String::new, |index| {
        let Spread { median, min, max } = index.seconds;
        let range = if index.repeats > 1 { format!(" ({min:.1} to {max:.1} s)") } else { String::new() };
        if median < 90.0 {
            format!("takes {median:.1} s{range} on this machine and ")
        } else {
            format!("takes {:.0} minutes on this machine and ", median / 60.0)
        }
    });
    let truncated = match cell.cost.truncated {
        0 => String::new(),
        some => format!(
            " The model does not see the end of {some} of {} ({}).",
            count(cell.chunks, "chunk"),
            percent(some as f64 / cell.chunks.max(1) as f64)
        ),
    };
    format!(
        "Indexing {} {seconds}produces {:.1} MB; a question takes {:.0} ms.{truncated}",
        count(report.labels.documents, "document"),
        cell.cost.bytes as f64 / 1e6,
        cell.cost.query_ms.p50.max(1.0)
    )
}

fn certainty(report: &Report, verdict: &Verdict, cell: &Cell, compared: usize) -> String {
    let mut said = Vec::new();
    if let Some(tie) = tie(report, &verdict.tied, compared) {
        said.push(tie);
    } else if compared > 1 {
        let (open, others) = (verdict.not_separable.len(), compared - 1);
        let alike = match open {
            0 if others == 1 => "the other setting is shown to be worse".to_owned(),
            0 => format!("each of the other {others} settings is shown to be worse"),
            1 if others == 1 => "the other setting may be as good".to_owned(),
            _ => format!("{open} of the other {others} settings may be as good as the best"),
        };
        let best = if verdict.best == cell.id { "it".to_owned() } else { format!("`{}`", verdict.best) };
        said.push(format!("With a probability of {} {best} is the best; {alike}.", percent(verdict.p_best)));
    }
    if let Some(record) = verdict.held_out.filter(|_| compared > 1 && verdict.tied.is_empty()) {
        said.push(format!(
            "Chosen by half of the questions and checked on the other half, a winner has {} ({} of the checks choose the same \
             setting).",
            share_or_figure(report, record.held_out),
            share(record.same, f64::round)
        ));
    }
    if verdict.minimum_detectable_effect > 0.0 {
        said.push(format!(
            "{} reveal a difference of {} four times out of five; smaller ones often stay hidden.",
            capital(&asked(report)),
            points(report, verdict.minimum_detectable_effect)
        ));
    }
    said.join(" ")
}

fn next(report: &Report, verdict: &Verdict, compared: usize) -> String {
    let mut said = Vec::new();
    let sure = compared > 1 && verdict.p_best >= SURE;
    let unfinished = report.left_out.iter().filter(|left| left.reason == Reason::TimeWasUp).count();
    if unfinished > 0 {
        let left = count(unfinished, "more setting");
        said.push(format!("Allow more time (`--minutes`): the time was up before {left} could be tried."));
    }
    if report.labels.synthetic {
        said.push("Ask fifty real questions (`--questions FILE`): these were made up from the documents.".to_owned());
    } else if let Some(more) = told_apart(report, &verdict.tied) {
        said.push(more);
    } else if let Some(next) = verdict.runner_up.as_ref().filter(|next| !sure && next.more_questions > 0) {
        said.push(if next.more_questions > HOPELESS {
            let (best, next) = (&verdict.best, &next.id);
            format!("No realistic number of questions would separate `{best}` from `{next}`: choose by what they cost.")
        } else {
            let more = count(next.more_questions, "more question");
            format!("Label about {more} like these to separate `{}` from `{}`.", verdict.best, next.id)
        });
    }
    let few = ENOUGH.saturating_sub(report.labels.scored);
    if few > 0 && !report.labels.synthetic && said.is_empty() {
        said.push(format!("Label about {} to be surer.", count(few, "more question")));
    }
    if said.is_empty() {
        said.push("Index your documents with these settings.".to_owned());
    }
    said.join(" ")
}

/// Returns what is found of each reranker where it is best.
fn rerankers<'r>(report: &'r Report, verdict: &'r Verdict) -> impl Iterator<Item = String> + 'r {
    let mut known = HashSet::new();
    let model = |id: &str| report.cell(id)?.reranker.as_ref().map(|reranker| reranker.model.as_str());
    let first = verdict.rerankers.iter().filter(move |found| known.insert(model(&found.reranked)));
    first.map(|found| found.text.clone())
}

/// Returns what a reader must know before trusting the results.
fn caveats(report: &Report) -> Vec<String> {
    let mut caveats = Vec::new();
    if report.cells.iter().any(|cell| cell.engine.starts_with(Engine::Remote.name())) {
        caveats.push(
            "Vectors came from a web service: times are those of its network and of the cache, not of this machine."
                .to_owned(),
        );
    }
    // A moved reference is scored at its new place.
    let fits = |state: &str| matches!(state, "valid" | "moved");
    let states = &report.labels.states;
    let drifted: usize = states.iter().filter(|(state, _)| !fits(state)).map(|(_, count)| count).sum();
    if drifted > 0 {
        caveats.push(format!(
            "{drifted} of {} no longer match their documents and were left out; `chunkmill-eval verify` lists them.",
            count(states.values().sum::<usize>(), "reference")
        ));
    }
    let lost = report.labels.not_indexed;
    if lost > 0 {
        caveats.push(format!(
            "References in documents that were not indexed, because the job does not accept these files or \
             quarantined them, count as not found: {lost}."
        ));
    }
    let clusters = Clusters::of(report);
    if let Some(places) = clusters.too_few() {
        caveats.push(format!(
            "The evidence of all questions is in {} of the documents, so the intervals are too narrow for other places.",
            count(places, "place")
        ));
    } else if report.labels.scored < ENOUGH {
        caveats.push(format!("With fewer than {ENOUGH} questions, the true intervals are somewhat wider."));
    } else if clusters.len() < ENOUGH {
        let places = clusters.len();
        caveats.push(format!("The answers are in only {places} places, so the true intervals are somewhat wider."));
    }
    if report.labels.synthetic {
        caveats.push(
            "The questions were made up from the documents (`synth`) and share their words, so keyword search alone is left \
             out of the choice, and hybrid search is not compared with it. Real questions may rank the settings \
             differently: over the three sets that chunkmill was measured with, Kendall's tau between the two rankings was \
             0.57 to 0.86 in vector and 0.27 to 0.74 in hybrid search (eval/records)."
                .to_owned(),
        );
    }
    caveats.extend(favoured(report));
    caveats
}
