//! The questions that two runs have in common, with their values.

use std::collections::HashMap;

use chunkmill::error::{Error, Result};

use super::difference::{Means, MovedQuestion};
use super::evidence::Evidence;
use crate::data::report::{Cell, QueryRecord, Report};
use crate::score::stats::mean;

/// One question's value in both runs.
#[derive(Debug, Clone, Copy)]
pub(super) struct QuestionValue {
    /// Position among the questions of both runs.
    pub(super) question: usize,
    pub(super) before: f64,
    pub(super) after: f64,
}

impl QuestionValue {
    pub(super) fn rise(&self) -> f64 {
        self.after - self.before
    }
}

/// The questions that both runs contain.
pub(super) struct CommonQuestions<'r> {
    /// The questions that both scored by the same evidence: the question, its position in the run before, and its
    /// position in the run after.
    common: Vec<(&'r QueryRecord, usize, usize)>,
    /// The questions that lost evidence: the position in the run before, that in the run after if it could be scored,
    /// and the share of its evidence that is left.
    lost: Vec<(usize, Option<usize>, f64)>,
}

impl<'r> CommonQuestions<'r> {
    pub(super) fn of(before: &'r Report, after: &'r Report, evidence: &Evidence) -> Result<Self> {
        let name = |query: &'r QueryRecord| (query.id.as_str(), query.text.as_str());
        let known: HashMap<(&str, &str), usize> =
            after.queries.iter().enumerate().map(|(at, query)| (name(query), at)).collect();
        let kept: HashMap<(&str, &str), f64> =
            evidence.lost.iter().map(|lost| ((lost.query.as_str(), lost.text.as_str()), lost.kept)).collect();
        let (mut common, mut lost) = (Vec::new(), Vec::new());
        for (at, query) in before.queries.iter().enumerate() {
            let now = known.get(&name(query)).copied();
            match (kept.get(&name(query)), now) {
                (Some(&kept), now) => lost.push((at, now, kept)),
                (None, Some(now)) => common.push((query, at, now)),
                (None, None) => {}
            }
        }
        if common.is_empty() && lost.is_empty() {
            return Err(Error::setting(
                "the two runs",
                "have no question in common, so nothing can be compared",
                "sweep both over the same set of labels",
            ));
        }
        Ok(Self { common, lost })
    }

    /// Returns the means over the questions of both runs and those that lost evidence. The rest of a question's
    /// evidence counts by its share, so a lost part is a miss.
    pub(super) fn all(&self, before: &Cell, after: &Cell, metric: &str) -> Option<Means> {
        let (one, other) = (before.values.get(metric)?, after.values.get(metric));
        let of = |values: &Vec<Option<f64>>, at: usize| values.get(at).copied().flatten();
        let lost = self.lost.iter().filter_map(|&(then, now, kept)| {
            let now = now.and_then(|now| of(other?, now));
            Some((of(one, then)?, now.map_or(0.0, |now| now * kept)))
        });
        let common = self.values(before, after, metric).into_iter().map(|value| (value.before, value.after));
        let (before, after): (Vec<f64>, Vec<f64>) = common.chain(lost).unzip();
        (!before.is_empty()).then(|| Means { before: mean(&before), after: mean(&after) })
    }

    /// Returns the number of those that the documents answer.
    pub(super) fn both(&self) -> usize {
        self.common.iter().filter(|(query, ..)| !query.unanswered).count()
    }

    /// Returns the questions as recorded in the run before.
    pub(super) fn records(&self) -> impl Iterator<Item = &'r QueryRecord> {
        self.common.iter().map(|(query, ..)| *query)
    }

    /// Returns the questions for which both cells have a value of the metric.
    pub(super) fn values(&self, before: &Cell, after: &Cell, metric: &str) -> Vec<QuestionValue> {
        let (Some(one), Some(other)) = (before.values.get(metric), after.values.get(metric)) else { return Vec::new() };
        let value = |(question, &(_, a, b)): (usize, &(_, usize, usize))| {
            Some(QuestionValue { question, before: (*one.get(a)?)?, after: (*other.get(b)?)? })
        };
        self.common.iter().enumerate().filter_map(value).collect()
    }

    /// Returns each question's mean over several cells.
    pub(super) fn averaged<'v>(&self, cells: impl Iterator<Item = &'v [QuestionValue]>) -> Vec<QuestionValue> {
        let mut sums = vec![(0.0, 0.0, 0.0); self.common.len()];
        for value in cells.flatten() {
            let (before, after, count) = &mut sums[value.question];
            *before += value.before;
            *after += value.after;
            *count += 1.0;
        }
        let mean = |(question, (before, after, count)): (usize, (f64, f64, f64))| {
            (count > 0.0).then(|| QuestionValue { question, before: before / count, after: after / count })
        };
        sums.into_iter().enumerate().filter_map(mean).collect()
    }

    pub(super) fn moved(&self, value: &QuestionValue) -> MovedQuestion {
        let query = self.common[value.question].0;
        MovedQuestion { query: query.id.clone(), text: query.text.clone(), before: value.before, after: value.after }
    }
}
