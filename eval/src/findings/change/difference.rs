//! How a cell and a question differ between two runs.

use serde::Serialize;

use crate::data::report::Comparison;
use crate::score::stats::ClusteredValues;

/// A cell by one metric, before and after.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Change {
    /// The cell's id.
    pub cell: String,
    /// Name of the metric.
    pub metric: String,
    /// Its mean before, over the questions for which both runs have a value.
    pub before: f64,
    /// Its mean after, over the same questions.
    pub after: f64,
    /// After minus before. All changes are one family for the correction.
    pub comparison: Comparison,
    /// Number of questions that are better than before.
    pub better: usize,
    /// Number of questions that are worse.
    pub worse: usize,
    /// Its means over all questions of the earlier run that are still asked, lost evidence counted as misses; `None` if
    /// nothing is lost.
    pub all: Option<Means>,
    /// The questions that moved most, worst first.
    pub moved: Vec<MovedQuestion>,
    /// The questions that broke: now they have at most half of what they had.
    #[serde(skip)]
    pub fallen: Vec<MovedQuestion>,
    /// After minus before for the questions with both values, by cluster; empty if there are none.
    #[serde(skip)]
    pub differences: ClusteredValues,
}

/// The means of a metric in both runs.
#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
pub struct Means {
    /// Mean before.
    pub before: f64,
    /// Mean after.
    pub after: f64,
}

/// A question whose value changed.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct MovedQuestion {
    /// Id of the question.
    pub query: String,
    /// The question.
    pub text: String,
    /// Its value before.
    pub before: f64,
    /// Its value after.
    pub after: f64,
}
