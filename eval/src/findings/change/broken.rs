//! The questions that broke, each once, whatever the number of settings and metrics in which it did.

use std::collections::HashMap;

use serde::Serialize;

use super::difference::{Change, MovedQuestion};
use super::questions::{CommonQuestions, QuestionValue};

/// A question that broke: in some setting, it now has at most half of what it had.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct BrokenQuestion {
    /// Id of the question.
    pub query: String,
    /// The question.
    pub text: String,
    /// The cell in which it fell most.
    pub cell: String,
    /// The metric by which it fell most there.
    pub metric: String,
    /// Its value there before.
    pub before: f64,
    /// Its value there now.
    pub after: f64,
    /// Number of cells in which it broke.
    pub cells: usize,
    /// Number of cells that were compared.
    pub of: usize,
    /// The places that this cell hands over for it now, as `path:line-line`; empty if the run's records are not there.
    pub handed_over: Vec<String>,
}

/// Returns the questions of one change that broke.
pub(super) fn fallen(values: &[QuestionValue], questions: &CommonQuestions) -> Vec<MovedQuestion> {
    let broke = values.iter().filter(|value| value.before > 0.0 && 2.0 * value.after <= value.before);
    broke.map(|value| questions.moved(value)).collect()
}

/// Returns the questions that broke in some changes: those that broke in most cells first, then those that fell most.
pub(crate) fn merged<'c>(changes: impl Iterator<Item = &'c Change> + Clone) -> Vec<BrokenQuestion> {
    let mut cells: Vec<&str> = changes.clone().map(|change| change.cell.as_str()).collect();
    cells.sort_unstable();
    cells.dedup();
    let of = cells.len();
    let mut broken: Vec<(BrokenQuestion, Vec<&str>)> = Vec::new();
    let mut known: HashMap<&str, usize> = HashMap::new();
    for change in changes {
        for MovedQuestion { query, text, before, after } in &change.fallen {
            let at = *known.entry(query).or_insert_with(|| {
                let (metric, handed_over) = (String::new(), Vec::new());
                let (query, text, cell) = (query.clone(), text.clone(), String::new());
                broken.push((
                    BrokenQuestion { query, text, cell, metric, before: 0.0, after: 0.0, cells: 0, of, handed_over },
                    Vec::new(),
                ));
                broken.len() - 1
            });
            let (found, cells) = &mut broken[at];
            if before - after > found.before - found.after {
                (found.before, found.after) = (*before, *after);
                (found.cell, found.metric) = (change.cell.clone(), change.metric.clone());
            }
            if !cells.contains(&change.cell.as_str()) {
                cells.push(&change.cell);
                found.cells += 1;
            }
        }
    }
    let mut broken: Vec<BrokenQuestion> = broken.into_iter().map(|(broken, _)| broken).collect();
    let fell = |broken: &BrokenQuestion| broken.before - broken.after;
    broken.sort_by(|a, b| b.cells.cmp(&a.cells).then(fell(b).total_cmp(&fell(a))));
    broken
}
