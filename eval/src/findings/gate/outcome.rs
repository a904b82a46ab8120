//! The result of all checks together, and how it is said.

use chunkmill::value::count;
use serde::Serialize;

use super::check::{Check, State};
use crate::findings::assemble::MeasuredRun;
use crate::findings::change::{BrokenQuestion, Evidence, MovedQuestion};

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
    pub moved: Vec<MovedQuestion>,
    /// The questions that broke by the first metric, or by a metric and in a cell that failed, each once.
    pub broken: Vec<BrokenQuestion>,
}

impl Outcome {
    /// Returns the checks with this result.
    pub fn by_state(&self, state: State) -> impl Iterator<Item = &Check> {
        self.checks.iter().filter(move |check| check.state == state)
    }

    /// Returns whether more questions lost evidence than is allowed.
    pub fn lost_too_much(&self) -> bool {
        self.evidence.lost.len() > self.allow_lost
    }

    /// Says in a line whether the gate was passed, and why not.
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
            _ => format!(
                "passed: {unsure} of {checks} got worse, but perhaps by no more than is allowed ({questions}){lost}"
            ),
        }
    }

    /// Adds what is handed over now for each broken question.
    pub fn hand_over(&mut self, run: &MeasuredRun) {
        for broken in &mut self.broken {
            broken.handed_over = run.handed_over(&broken.cell, &broken.query);
        }
    }

    /// Returns the name of each check, with the failure if it failed, as test reports need it.
    pub fn named(&self) -> Vec<(String, Option<String>)> {
        let named = |check: &Check| {
            let failure = (check.state == State::Failed).then(|| check.text.clone());
            (format!("{}: {}", check.cell, check.what), failure)
        };
        self.checks.iter().map(named).collect()
    }
}
