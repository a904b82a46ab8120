//! The questions that two runs have in common, with their values.

use std::collections::HashMap;

use chunkmill::error::{Error, Result};

use super::{Moved, Value};
use crate::report::{Cell, QueryRecord, Report};

/// The questions that both runs contain.
pub(super) struct Questions<'r> {
    /// The question, its position in the run before, and its position in the run after.
    common: Vec<(&'r QueryRecord, usize, usize)>,
}

impl<'r> Questions<'r> {
    pub(super) fn of(before: &'r Report, after: &'r Report) -> Result<Self> {
        let known: HashMap<(&str, &str), usize> = after
            .queries
            .iter()
            .enumerate()
            .map(|(at, query)| ((query.id.as_str(), query.text.as_str()), at))
            .collect();
        let both = |(at, query): (usize, &'r QueryRecord)| {
            Some((query, at, *known.get(&(query.id.as_str(), query.text.as_str()))?))
        };
        let common: Vec<_> = before.queries.iter().enumerate().filter_map(both).collect();
        if common.is_empty() {
            return Err(Error::Setting {
                origin: "the two runs".to_owned(),
                problem: "have no question in common, so nothing can be compared".to_owned(),
                help: "sweep both over the same set of labels".to_owned(),
            });
        }
        Ok(Self { common })
    }

    /// Returns their number.
    pub(super) fn both(&self) -> usize {
        self.common.len()
    }

    /// Returns the questions as recorded in the run before.
    pub(super) fn records(&self) -> impl Iterator<Item = &'r QueryRecord> {
        self.common.iter().map(|(query, ..)| *query)
    }

    /// Returns the questions for which both cells have a value of the metric.
    pub(super) fn values(&self, before: &Cell, after: &Cell, metric: &str) -> Vec<Value> {
        let (Some(one), Some(other)) = (before.values.get(metric), after.values.get(metric)) else { return Vec::new() };
        let value = |(question, &(_, a, b)): (usize, &(_, usize, usize))| {
            Some(Value { question, before: (*one.get(a)?)?, after: (*other.get(b)?)? })
        };
        self.common.iter().enumerate().filter_map(value).collect()
    }

    /// Returns each question's mean over several cells.
    pub(super) fn averaged<'v>(&self, cells: impl Iterator<Item = &'v [Value]>) -> Vec<Value> {
        let mut sums = vec![(0.0, 0.0, 0.0); self.common.len()];
        for value in cells.flatten() {
            let (before, after, count) = &mut sums[value.question];
            *before += value.before;
            *after += value.after;
            *count += 1.0;
        }
        let mean = |(question, (before, after, count)): (usize, (f64, f64, f64))| {
            (count > 0.0).then(|| Value { question, before: before / count, after: after / count })
        };
        sums.into_iter().enumerate().filter_map(mean).collect()
    }

    pub(super) fn moved(&self, value: &Value) -> Moved {
        let query = self.common[value.question].0;
        Moved { query: query.id.clone(), text: query.text.clone(), before: value.before, after: value.after }
    }
}
