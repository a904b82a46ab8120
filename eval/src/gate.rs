//! Is a run worse than a baseline by more than is allowed, and by more than chance explains?
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
use serde::Serialize;

use crate::analysis::{direction, figure};
use crate::change::{Change, Moved, changes};
use crate::report::Report;
use crate::stats::{Clustered, holm, normal_cdf};

pub use thresholds::Thresholds;

/// The result of a gate.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Outcome {
    /// Whether no check failed.
    pub passed: bool,
    /// Differences between the runs other than the settings, one sentence each.
    pub notes: Vec<String>,
    /// Number of questions that both runs scored.
    pub questions: usize,
    /// Number of comparisons that Holm's correction accounts for.
    pub comparisons: usize,
    /// All checks.
    pub checks: Vec<Check>,
    /// The questions that moved most, averaged over the cells: the fallen ones first.
    pub moved: Vec<Moved>,
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
/// [`Error::Setting`] if a threshold is out of range or for a metric that the baseline does not have, if the runs
/// have no question in common or were scored by different rules, or if the baseline has nothing to compare.
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
    let mut checks: Vec<Check> = found.missing.iter().map(|cell| missing(cell)).collect();
    let falls: Vec<Fall> = found.changes.into_iter().map(|change| Fall::of(change, &drops, baseline)).collect();
    let counted: Vec<f64> = falls.iter().filter_map(|fall| fall.p).collect();
    let comparisons = counted.len();
    let mut adjusted = holm(&counted).into_iter();
    for fall in falls {
        let p = fall.p.and_then(|_| adjusted.next());
        checks.extend(fall.check(p, baseline));
    }
    checks.extend(costs::checks(run, baseline, thresholds));
    let passed = checks.iter().all(|check| check.state != State::Failed);
    let (notes, questions, moved) = (found.notes, found.questions, found.moved);
    Ok(Outcome { passed, notes, questions, comparisons, checks, moved })
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
        let text = format!(
            "{before} before, {after} now: {word} by {} ({} % interval of the gain {} to {}; a drop of {} is allowed)",
            figure(gain.abs()),
            baseline.scoring.confidence * 100.0,
            figure(ends.0),
            figure(ends.1),
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
