//! Compares a run with a baseline.

use chunkmill::error::{Error, Result};

use super::check::{Check, State};
use super::costs;
use super::outcome::Outcome;
use super::thresholds::Thresholds;
use crate::data::report::Report;
use crate::findings::analysis::{direction, figure};
use crate::findings::change::{Change, changes, merged};
use crate::score::stats::{ClusteredValues, holm, normal_cdf};

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
        return Err(Error::setting(
            "the baseline",
            "has no values to compare with",
            "name a run whose questions could be scored",
        ));
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
fn chance(gain: f64, changes: &ClusteredValues, allowed: f64) -> f64 {
    let beyond = gain + allowed;
    let p = if beyond >= 0.0 { 1.0 } else { normal_cdf(beyond / changes.standard_error()) };
    p.max(0.5_f64.powi(i32::try_from(changes.clusters()).unwrap_or(i32::MAX)))
}
