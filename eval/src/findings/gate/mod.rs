//! Is a run worse than a baseline by more than is allowed, and by more than chance explains?
//!
//! Lost evidence comes first: a question that the baseline could score, and whose answer was deleted or reworded since,
//! fails the gate whatever the figures say. They leave this question out, and may even rise. A text that is only
//! elsewhere now is not lost, and neither is a question that was taken out of the labels.
//!
//! A cell fails by a metric only if both conditions are met:
//!
//! 1. The whole paired bootstrap interval of its change, over the questions that both runs have, is beyond the
//!    allowed drop. Noise therefore seldom fails a run, even if no drop at all is allowed.
//! 2. The drop is still significant after Holm's correction for all cells and metrics that changed. With hundreds
//!    of them, one in forty intervals would be beyond its true value by chance alone, and people soon switch off a
//!    gate that cries wolf. The price is sensitivity: with 1,600 comparisons, a single cell must have fallen about
//!    twice as far as with one. Gate the few settings in use, not the sweep that found them. Comparisons that
//!    cannot differ (no question changed) are not counted, so cells that a change does not affect cost nothing.
//!
//! A drop that is larger than allowed but could be chance is reported and does not fail. Sizes do not vary by
//! chance and are compared directly. For repeated timings, the whole spread must be beyond the limit.

mod costs;
mod thresholds;

use chunkmill::error::{Error, Result};
use chunkmill::value::count;
use serde::Serialize;

use crate::data::report::Report;
use crate::findings::analysis::{direction, figure};
use crate::findings::assemble::Measured;
use crate::findings::change::{Broken, Change, Evidence, Moved, changes, merged};
use crate::score::stats::{Clustered, holm, normal_cdf};

pub use thresholds::Thresholds;

/// The result of a gate.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Outcome {
    /// Whether no check failed, and no more questions than allowed lost evidence.
    pub passed: bool,
    /// The evidence of the baseline, compared with that of the run.
    pub evidence: Evidence,
    /// Number of questions that may lose evidence.
    pub allow_lost: usize,
    /// Differences between the runs other than the settings, one sentence each.
    pub notes: Vec<String>,
    /// Number of questions that both runs scored by the same evidence.
    pub questions: usize,
    /// Number of comparisons that Holm's correction accounts for.
    pub comparisons: usize,
    /// Confidence level of the intervals.
    pub confidence: f64,
    /// All checks.
    pub checks: Vec<Check>,
    /// The questions that moved most, averaged over the cells: the fallen ones first.
    pub moved: Vec<Moved>,
    /// The questions that broke by the first metric, or by a metric and in a cell that failed, each once.
    pub broken: Vec<Broken>,
}

/// The result of a check.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum State {
    /// Not worse than allowed.
    Passed,
    /// Worse than allowed, but that could be chance. Does not fail.
    Unsure,
    /// Worse than allowed.
    Failed,
}

/// One comparison with the baseline.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Check {
    /// The cell's id.
    pub cell: String,
    /// Name of a metric, or `cell`, `bytes`, `query_ms`, `index_seconds`.
    pub what: String,
    /// Its result.
    pub state: State,
    /// The finding, in a sentence.
    pub text: String,
    /// The change of a metric.
    pub change: Option<Change>,
}

impl Outcome {
    /// Returns the checks with this result.
    pub fn by_state(&self, state: State) -> impl Iterator<Item = &Check> {
        self.checks.iter().filter(move |check| check.state == state)
    }

    /// Returns whether more questions lost evidence than is allowed.
    #[must_use]
    pub fn lost_too_much(&self) -> bool {
        self.evidence.lost.len() > self.allow_lost
    }

    /// Says in a line whether the gate was passed, and why not.
    #[must_use]
    pub fn verdict(&self) -> String {
        let (failed, unsure) = (self.by_state(State::Failed).count(), self.by_state(State::Unsure).count());
        let checks = count(self.checks.len(), "check");
        let lost = self.evidence.loss().unwrap_or_default();
        if !self.passed {
            let is = if failed == 1 { "is" } else { "are" };
            let worse = format!("{failed} of {checks} {is} worse than allowed");
            return match (self.lost_too_much(), failed) {
                (true, 0) => format!("FAILED: {lost} ({} allowed)", self.allow_lost),
                (true, _) => format!("FAILED: {lost} ({} allowed), and {worse}", self.allow_lost),
                (false, _) => format!("FAILED: {worse}"),
            };
        }
        let questions = count(self.questions, "question");
        let lost = if self.evidence.lost.is_empty() { String::new() } else { format!("; {lost}, which is allowed") };
        match unsure {
            0 => format!("passed: nothing got worse than allowed ({checks}, {questions}){lost}"),
            _ => format!("passed: {unsure} of {checks} got worse, but that could be chance ({questions}){lost}"),
        }
    }

    /// Adds what is handed over now for each broken question.
    pub fn hand_over(&mut self, run: &Measured) {
        for broken in &mut self.broken {
            broken.handed_over = run.handed_over(&broken.cell, &broken.query);
        }
    }

    /// Returns the name of each check, with the failure if it failed, as test reports need it.
    #[must_use]
    pub fn named(&self) -> Vec<(String, Option<String>)> {
        let named = |check: &Check| {
            let failure = (check.state == State::Failed).then(|| check.text.clone());
            (format!("{}: {}", check.cell, check.what), failure)
        };
        self.checks.iter().map(named).collect()
    }
}

/// Compares a run with a baseline. A cell of the baseline that the run lacks fails; a cell that only the run has is
/// ignored. Intervals use the baseline's confidence, number of samples and seed.
///
/// # Errors
/// [`Error::Setting`] if a threshold is out of range or for a metric that the baseline does not have, if the baseline
/// has nothing to compare, or if the two cannot be compared; see [`changes`].
pub fn gate(run: &Report, baseline: &Report, thresholds: &Thresholds) -> Result<Outcome> {
    thresholds.check("thresholds")?;
    let drops = thresholds.drops(baseline)?;
    if baseline.cells.is_empty() || drops.is_empty() {
        return Err(Error::Setting {
            origin: "the baseline".to_owned(),
            problem: "has no values to compare with".to_owned(),
            help: "name a run whose questions could be scored".to_owned(),
        });
    }
    let metrics: Vec<String> = drops.iter().map(|(name, _)| name.clone()).collect();
    let found = changes(baseline, run, &metrics)?;
    let mut checks: Vec<Check> = Vec::new();
    let mut comparisons = 0;
    let mut worse: Vec<Change> = Vec::new();
    if found.questions == 0 || run.cells.is_empty() {
        checks.push(nothing_left());
    } else {
        checks.extend(found.missing.iter().map(|cell| missing(cell)));
        let falls: Vec<Fall> = found.changes.into_iter().map(|change| Fall::of(change, &drops, baseline)).collect();
        let counted: Vec<f64> = falls.iter().filter_map(|fall| fall.p).collect();
        comparisons = counted.len();
        let mut adjusted = holm(&counted).into_iter();
        for fall in falls {
            let p = fall.p.and_then(|_| adjusted.next());
            checks.extend(fall.check(p, baseline));
        }
        checks.extend(costs::checks(run, baseline, thresholds));
        let counts = |check: &&Check| check.state == State::Failed || metrics.first() == Some(&check.what);
        worse = checks.iter().filter(counts).filter_map(|check| check.change.clone()).collect();
    }
    let mut outcome = Outcome {
        passed: checks.iter().all(|check| check.state != State::Failed),
        evidence: found.evidence,
        allow_lost: thresholds.allow_lost,
        notes: found.notes,
        questions: found.questions,
        comparisons,
        confidence: baseline.scoring.confidence,
        checks,
        moved: found.moved,
        broken: merged(worse.iter()),
    };
    outcome.passed &= !outcome.lost_too_much();
    Ok(outcome)
}

fn nothing_left() -> Check {
    let text = "no question of the baseline can be scored by the same evidence".to_owned();
    Check { cell: "all settings".to_owned(), what: "questions".to_owned(), state: State::Failed, text, change: None }
}

fn missing(cell: &str) -> Check {
    let text = "the baseline has it, but the run does not".to_owned();
    Check { cell: cell.to_owned(), what: "cell".to_owned(), state: State::Failed, text, change: None }
}

/// A change, with the allowed drop.
struct Fall {
    change: Change,
    allowed: f64,
    /// Improvement: its mean, and the ends of its interval.
    gain: f64,
    ends: (f64, f64),
    /// Probability of a drop this large if the true drop were exactly the allowed one; `None` if nothing changed.
    p: Option<f64>,
}

impl Fall {
    fn of(change: Change, drops: &[(String, f64)], baseline: &Report) -> Self {
        let allowed = drops.iter().find(|(name, _)| *name == change.metric).map_or(0.0, |(_, drop)| *drop);
        let direction = direction(baseline, &change.metric);
        let (lo, hi) = (change.comparison.lo * direction, change.comparison.hi * direction);
        let gain = change.differences.mean() * direction;
        let p = (change.better + change.worse > 0).then(|| chance(gain, &change.differences, allowed));
        Self { gain, ends: (lo.min(hi), lo.max(hi)), change, allowed, p }
    }

    /// Returns `None` if neither run has the metric for this cell.
    fn check(self, p_adjusted: Option<f64>, baseline: &Report) -> Option<Check> {
        let Self { change, allowed, gain, ends, .. } = self;
        let cell = change.cell.clone();
        let what = change.metric.clone();
        if change.differences.is_empty() {
            let had = baseline.cell(&cell).and_then(|cell| cell.values.get(&what));
            had.filter(|values| values.iter().any(Option::is_some))?;
            let text = "the baseline has values of it, but the run has none for the same questions".to_owned();
            return Some(Check { cell, what, state: State::Failed, text, change: None });
        }
        let alpha = (1.0 - baseline.scoring.confidence) / 2.0;
        let state = match (gain < -allowed, ends.1 < -allowed && p_adjusted.is_some_and(|p| p < alpha)) {
            (false, _) => State::Passed,
            (true, false) => State::Unsure,
            (true, true) => State::Failed,
        };
        let (before, after) = (figure(change.before), figure(change.after));
        let word = if gain < 0.0 { "worse" } else { "better" };
        // The ends of the interval in the direction of the word, as in "worse by 0.076 (0.044 to 0.115)".
        let sign = if gain < 0.0 { -1.0 } else { 1.0 };
        let (lo, hi) = (ends.0 * sign, ends.1 * sign);
        let text = format!(
            "{before} before, {after} now: {word} by {} ({} to {} with {} % confidence); allowed: {}",
            figure(gain.abs()),
            figure(lo.min(hi)),
            figure(lo.max(hi)),
            baseline.scoring.confidence * 100.0,
            figure(allowed),
        );
        Some(Check { cell, what, state, text, change: Some(change) })
    }
}

/// Returns the one-sided p-value of a mean gain whose true value is −`allowed`: Φ((gain + allowed) / standard
/// error). It is at least 2^−n for n clusters, the probability that n coins all fall the same way, so fewer than
/// six questions fail nothing.
fn chance(gain: f64, changes: &Clustered, allowed: f64) -> f64 {
    let beyond = gain + allowed;
    let p = if beyond >= 0.0 { 1.0 } else { normal_cdf(beyond / changes.standard_error()) };
    p.max(0.5_f64.powi(i32::try_from(changes.clusters()).unwrap_or(i32::MAX)))
}
