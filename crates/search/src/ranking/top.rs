//! The best of many scored rows, in one total order.
//!
//! Every ranking is by score, with ties broken by document and position. That order is total, so the best rows are
//! the same however the work is divided among threads.

use std::cmp::Ordering;

use super::rows::Rows;

/// A row of the dataset with a score.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) struct ScoredRow {
    pub(super) score: f64,
    /// Place of the row among all rows, by document and position.
    pub(super) place: u64,
    pub(super) row: u32,
}

impl ScoredRow {
    /// Compares two rows; the better one comes first.
    pub(super) fn order(a: &Self, b: &Self) -> Ordering {
        b.score.total_cmp(&a.score).then(a.place.cmp(&b.place))
    }
}

/// A collector of the best `k` rows.
#[derive(Debug)]
pub(super) struct Top<'r> {
    rows: &'r Rows,
    k: usize,
    kept: Vec<ScoredRow>,
    /// Number of kept rows, from the first on, whose places are known. They are looked up together: each one is somewhere else in
    /// memory, and a processor can wait for several.
    placed: usize,
    /// Lowest score that a row must reach, once `k` rows are known.
    least: Option<f64>,
}

/// Number of rows collected in excess of `2 k` before the worst are removed.
const SLACK: usize = 64;

impl<'r> Top<'r> {
    pub(super) fn new(rows: &'r Rows, k: usize) -> Self {
        Self { rows, k, kept: Vec::new(), placed: 0, least: None }
    }

    /// Returns whether a row with this score may be among the best: the comparison that most rows of a long list need.
    pub(super) fn wants(&self, score: f64) -> bool {
        self.least.is_none_or(|least| score >= least || score.is_nan())
    }

    /// Returns the lowest score that a row must reach to be among the best.
    pub(super) fn least(&self) -> f64 {
        self.least.unwrap_or(f64::NEG_INFINITY)
    }

    pub(super) fn push(&mut self, row: usize, score: f64) {
        if self.wants(score) {
            // Row numbers fit in a `u32`: larger datasets are rejected.
            self.kept.push(ScoredRow { score, place: 0, row: u32::try_from(row).unwrap_or(u32::MAX) });
            if self.kept.len() >= self.k.saturating_mul(2).saturating_add(SLACK) {
                self.cut();
            }
        }
    }

    pub(super) fn append(&mut self, other: Self) {
        for row in other.kept {
            self.push(row.row as usize, row.score);
        }
    }

    /// Returns the best rows, in order.
    pub(super) fn into_best(mut self) -> Vec<ScoredRow> {
        self.cut();
        self.kept.sort_unstable_by(ScoredRow::order);
        self.kept
    }

    fn cut(&mut self) {
        for row in &mut self.kept[self.placed..] {
            row.place = self.rows.order(row.row as usize);
        }
        if let Some(before) = self.k.checked_sub(1)
            && self.kept.len() > before
        {
            let (_, least, _) = self.kept.select_nth_unstable_by(before, ScoredRow::order);
            self.least = Some(least.score);
        }
        self.kept.truncate(self.k);
        self.placed = self.kept.len();
    }
}
