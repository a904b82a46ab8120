//! Rows that cannot be used as they are written.
//!
//! One bad row must not cost a set: it is left out, or mended if there is only one way to do so. Both are counted,
//! and the first ones are named with their places.

use chunkmill::error::Error;
use chunkmill::value::count;

/// Number of flaws that are named; the rest is counted.
const NAMED: usize = 5;

/// The problem of a row, and its place.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Flaw {
    /// `file:line`, or the row.
    pub origin: String,
    /// The problem.
    pub problem: String,
    /// How a row looks.
    help: &'static str,
}

/// Flaws of one kind: their number, and the first of them.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Flaws {
    /// Their number.
    pub count: usize,
    /// The first of them.
    pub first: Vec<Flaw>,
}

impl Flaws {
    pub(super) fn add(&mut self, origin: &str, problem: impl Into<String>, help: &'static str) {
        self.count += 1;
        if self.first.len() < NAMED {
            self.first.push(Flaw { origin: origin.to_owned(), problem: problem.into(), help });
        }
    }

    pub(super) fn extend(&mut self, later: Self) {
        self.count += later.count;
        self.first.extend(later.first);
        self.first.truncate(NAMED);
    }

    /// Returns the error for a set of which nothing is left.
    pub(super) fn error(&self) -> Option<Error> {
        let Flaw { origin, problem, help } = self.first.first()?.clone();
        let rest = match self.count - 1 {
            0 => String::new(),
            more => format!(", and {} cannot be used either", count(more, "more row")),
        };
        let problem = format!("{problem}{rest}; nothing is left to import");
        Some(Error::setting(origin, problem, help))
    }

    /// Warns of the flaws that are named, and counts the rest. `done` says what became of the rows.
    pub fn warn(&self, done: &str) {
        for Flaw { origin, problem, .. } in &self.first {
            tracing::warn!("{done}: {origin}: {problem}");
        }
        let more = self.count - self.first.len();
        if more > 0 {
            tracing::warn!("{done}: {more} more");
        }
    }
}
