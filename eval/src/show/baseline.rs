//! A report compared with an earlier one: the text that page and Markdown share.

use chunkmill::error::Result;
use chunkmill::value;

use super::view::View;
use crate::data::report::{Cell, Report};
use crate::findings::analysis::{direction, figure};
use crate::findings::assemble::MeasuredRun;
use crate::findings::change::{Change, Changes, changes};
use crate::findings::gate::{Outcome, Thresholds, gate};

/// An earlier report, what a gate with the default thresholds makes of it, and the changes since then by the current
/// primary metric.
#[derive(Debug)]
pub struct Baseline<'r> {
    pub(super) report: &'r Report,
    pub(super) outcome: Outcome,
    pub(super) changes: Changes,
}

impl<'r> Baseline<'r> {
    /// Compares a report with an earlier one.
    ///
    /// # Errors
    /// [`chunkmill::error::Error::Setting`] if the two cannot be compared; see [`gate`].
    pub fn new(baseline: &'r Report, report: &Report) -> Result<Self> {
        let outcome = gate(report, baseline, &Thresholds::default())?;
        let changes = changes(baseline, report, std::slice::from_ref(&report.scoring.primary))?;
        Ok(Self { report: baseline, outcome, changes })
    }

    /// Adds what is handed over now for each broken question.
    pub fn hand_over(&mut self, run: &MeasuredRun) {
        self.outcome.hand_over(run);
    }

    /// Returns what a gate with the default thresholds says, to be shown before everything else.
    pub fn outcome(&self) -> &Outcome {
        &self.outcome
    }

    /// Compares the best setting by the primary metric, in words: over the questions with the same evidence and, if some
    /// was lost, over all. `None` if the baseline does not have this setting.
    pub fn figures(&self, report: &Report) -> Option<String> {
        let best = &report.verdict.as_ref()?.best;
        let change =
            self.changes.changes.iter().find(|change| change.cell == *best && !change.differences.is_empty())?;
        let title = report.metric(&change.metric).map_or(change.metric.as_str(), |metric| metric.title.as_str());
        // Backticks are around settings.
        let title = title.replace('`', "'");
        let [before, after] = [change.before, change.after].map(figure);
        let same = value::count(self.changes.questions, "question");
        let Some(all) = change.all else {
            return Some(format!("`{best}`: {title} {before} before, {after} now, over {same}"));
        };
        let [all_before, all_after] = [all.before, all.after].map(figure);
        let all = value::count(self.changes.evidence.questions, "question");
        Some(format!(
            "`{best}`: {title} {before} before, {after} now, over the {same} with the same evidence; {all_before} before, \
             {all_after} now, over all {all}, with lost evidence as misses"
        ))
    }

    /// Returns the changed cells for which both runs have values: significant changes before those that could be
    /// chance, and larger changes before smaller ones.
    pub(super) fn largest<'v>(&self, view: &View<'v>, count: usize) -> Vec<(&'v Cell, &Change)> {
        let moved = self.changes.changes.iter().filter(|change| change.better + change.worse > 0);
        let mut moved: Vec<_> = moved.filter_map(|change| Some((view.report.cell(&change.cell)?, change))).collect();
        moved.sort_by(|(_, a), (_, b)| {
            let size = |change: &Change| change.comparison.difference.abs();
            b.comparison.separable.cmp(&a.comparison.separable).then(size(b).total_cmp(&size(a)))
        });
        moved.truncate(count);
        moved
    }

    /// Summarizes the changes in one sentence.
    pub(super) fn sentence(&self, view: &View) -> String {
        let all = self.changes.changes.len();
        if all == 0 {
            return "The two runs have no setting in common.".to_owned();
        }
        let direction = direction(view.report, view.primary());
        let count = |sign: f64| {
            let real = |c: &&Change| c.comparison.separable && c.comparison.difference * direction * sign > 0.0;
            self.changes.changes.iter().filter(real).count()
        };
        let (up, down) = (count(1.0), count(-1.0));
        let (title, all) = (view.primary_title(), value::count(all, "setting"));
        if up + down == 0 {
            return format!("By {title}, of {all} in both runs, none changed by more than chance explains.");
        }
        format!("By {title}, of {all} in both runs, {up} got better and {down} got worse by more than chance explains.")
    }
}

/// Says in words whether a change is more than chance.
pub(super) fn sure(change: &Change) -> &'static str {
    if change.comparison.separable { "real" } else { "could be chance" }
}
