//! One comparison with the baseline, and its result.

use serde::Serialize;

use crate::findings::change::Change;

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
