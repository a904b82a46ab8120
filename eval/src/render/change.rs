//! What changed since another report: cells by id, questions by id, the metric that decides.

use std::collections::HashMap;

use super::view::View;
use crate::report::{Cell, Report};

/// One cell, then and now, over the questions that both runs scored.
pub(super) struct Change<'r> {
    pub(super) cell: &'r Cell,
    pub(super) was: f64,
    pub(super) now: f64,
    /// Questions answered better, worse and as before; a change too small to show counts as none.
    pub(super) better: usize,
    pub(super) worse: usize,
    pub(super) same: usize,
}

impl Change<'_> {
    pub(super) fn difference(&self) -> f64 {
        self.now - self.was
    }
}

/// The whole comparison.
pub(super) struct Changes<'r> {
    /// Cells of both, best first as of now.
    pub(super) cells: Vec<Change<'r>>,
    /// Ids of cells that only one has.
    pub(super) new: Vec<&'r str>,
    pub(super) gone: Vec<&'r str>,
    /// What differs that makes the two hard to compare, each as a sentence.
    pub(super) warnings: Vec<String>,
}

/// A change of a question's value that is rounding.
const NOTHING: f64 = 1e-9;

impl<'r> Changes<'r> {
    pub(super) fn new(view: &View<'r>, baseline: &'r Report) -> Self {
        let then: HashMap<&str, &Cell> = baseline.cells.iter().map(|cell| (cell.id.as_str(), cell)).collect();
        let common = common(view.report, baseline);
        let pair = |cell: &'r Cell| change(view.primary(), cell, then.get(cell.id.as_str())?, &common);
        let only = |of: &'r Report, other: &Report| {
            of.cells.iter().map(|cell| cell.id.as_str()).filter(|id| other.cell(id).is_none()).collect()
        };
        Self {
            cells: view.ranked.iter().filter_map(|cell| pair(cell)).collect(),
            new: only(view.report, baseline),
            gone: only(baseline, view.report),
            warnings: warnings(view.report, baseline, common.len()),
        }
    }

    /// Those that changed most, either way.
    pub(super) fn largest(&self, count: usize) -> Vec<&Change<'r>> {
        let mut changes: Vec<&Change> = self.cells.iter().filter(|c| c.difference().abs() > NOTHING).collect();
        changes.sort_by(|a, b| b.difference().abs().total_cmp(&a.difference().abs()));
        changes.truncate(count);
        changes
    }

    /// The whole in one sentence.
    pub(super) fn sentence(&self, view: &View) -> String {
        if self.cells.is_empty() {
            return "The two runs have no setting in common.".to_owned();
        }
        let count = |of: fn(&Change) -> bool| self.cells.iter().filter(|change| of(change)).count();
        let up = count(|change| change.difference() > NOTHING);
        let down = count(|change| change.difference() < -NOTHING);
        let (up, down) = if view.higher_is_better() { (up, down) } else { (down, up) };
        format!(
            "Of {} settings that both runs have, {up} are better by {}, {down} are worse, and {} are as before.",
            self.cells.len(),
            view.primary_title(),
            self.cells.len() - up - down
        )
    }
}

/// Positions of the questions that both have, now and then.
fn common(now: &Report, then: &Report) -> Vec<(usize, usize)> {
    let ids: HashMap<&str, usize> =
        then.queries.iter().enumerate().map(|(at, query)| (query.id.as_str(), at)).collect();
    let place = |(at, id): (usize, &str)| ids.get(id).map(|&old| (at, old));
    now.queries.iter().map(|query| query.id.as_str()).enumerate().filter_map(place).collect()
}

fn change<'r>(primary: &str, cell: &'r Cell, then: &Cell, common: &[(usize, usize)]) -> Option<Change<'r>> {
    let values = |cell: &'_ Cell| cell.values.get(primary).cloned().unwrap_or_default();
    let (new, old) = (values(cell), values(then));
    let value = |values: &[Option<f64>], at: usize| values.get(at).copied().flatten();
    let pairs: Vec<(f64, f64)> =
        common.iter().filter_map(|&(now, was)| Some((value(&new, now)?, value(&old, was)?))).collect();
    if pairs.is_empty() {
        // Questions may have been left out of a report to save room; the means still say something.
        let (now, was) = (cell.metrics.get(primary)?.mean, then.metrics.get(primary)?.mean);
        return Some(Change { cell, was, now, better: 0, worse: 0, same: 0 });
    }
    let better = pairs.iter().filter(|(now, was)| now - was > NOTHING).count();
    let worse = pairs.iter().filter(|(now, was)| was - now > NOTHING).count();
    #[expect(clippy::cast_precision_loss, reason = "questions are fewer than 2^52")]
    let mean = |of: fn(&(f64, f64)) -> f64| pairs.iter().map(of).sum::<f64>() / pairs.len() as f64;
    let (now, was) = (mean(|pair| pair.0), mean(|pair| pair.1));
    Some(Change { cell, was, now, better, worse, same: pairs.len() - better - worse })
}

fn warnings(now: &Report, then: &Report, common: usize) -> Vec<String> {
    let mut warnings = Vec::new();
    if now.labels.queries_hash != then.labels.queries_hash {
        let all = now.queries.len().max(then.queries.len());
        warnings
            .push(format!("The questions are not the same; compared on the {common} of {all} that both runs have."));
    }
    if now.labels.corpus_hash != then.labels.corpus_hash {
        warnings.push("The documents are not the same.".to_owned());
    }
    if now.scoring.primary != then.scoring.primary {
        let (now, then) = (&now.scoring.primary, &then.scoring.primary);
        warnings.push(format!("The baseline was decided by {then}; both are compared by {now} here."));
    }
    if now.scoring.coverage != then.scoring.coverage {
        warnings.push("A reference counts as found by another rule than in the baseline.".to_owned());
    }
    warnings
}
