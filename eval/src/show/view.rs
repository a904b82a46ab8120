//! Parts that every format shows in the same way: the order of the cells, a choice of them, and numbers as text.

use std::collections::BTreeSet;

use chunkmill::value::noun;
use serde_json::Value;

use crate::data::report::{Cell, Metric, Report, Summary};
use crate::findings::analysis::ranked;

/// A report with the order in which its cells are shown.
pub(super) struct View<'r> {
    pub(super) report: &'r Report,
    /// Best first by the primary metric; cells without it last.
    pub(super) ranked: Vec<&'r Cell>,
}

impl<'r> View<'r> {
    pub(super) fn new(report: &'r Report) -> Self {
        let mut order = ranked(report);
        order.extend(
            (0..report.cells.len()).filter(|at| !report.cells[*at].metrics.contains_key(&report.scoring.primary)),
        );
        Self { report, ranked: order.into_iter().map(|at| &report.cells[at]).collect() }
    }

    /// Returns the name of the primary metric.
    pub(super) fn primary(&self) -> &'r str {
        &self.report.scoring.primary
    }

    pub(super) fn primary_title(&self) -> &'r str {
        self.title(self.primary())
    }

    /// Returns a metric's name for people.
    pub(super) fn title(&self, name: &'r str) -> &'r str {
        self.report.metric(name).map_or(name, |metric| metric.title.as_str())
    }

    pub(super) fn summary(&self, cell: &Cell) -> Option<Summary> {
        summary(cell, self.primary())
    }

    /// Formats a mean of the primary metric.
    pub(super) fn value(&self, value: f64) -> String {
        number(self.report.metric(self.primary()), value)
    }

    /// Whether the questions leave open that a cell is as good as the best.
    pub(super) fn is_open(&self, cell: &Cell) -> bool {
        self.report.verdict.as_ref().is_some_and(|verdict| verdict.not_separable.contains(&cell.id))
    }

    /// Returns the first of these cells for each dataset.
    pub(super) fn builds(cells: &[&'r Cell]) -> Vec<&'r Cell> {
        let mut seen = BTreeSet::new();
        cells.iter().copied().filter(|cell| seen.insert(cell.build.as_str())).collect()
    }
}

/// Returns a metric of a cell, if its mean and interval are finite.
pub(super) fn summary(cell: &Cell, metric: &str) -> Option<Summary> {
    let finite = |s: &Summary| [s.mean, s.lo, s.hi].iter().all(|value| value.is_finite());
    cell.metrics.get(metric).copied().filter(finite)
}

/// Returns one of a cell's chunk settings as text; empty if the strategy does not have it.
pub(super) fn setting(cell: &Cell, key: &str) -> String {
    match cell.spec.get(key) {
        None | Some(Value::Null) => String::new(),
        Some(Value::String(text)) => text.clone(),
        Some(other) => other.to_string(),
    }
}

/// Formats a mean of a metric: shares with three decimals, counts as whole numbers.
pub(super) fn number(metric: Option<&Metric>, value: f64) -> String {
    if metric.is_none_or(|metric| metric.higher_is_better) { share(value) } else { count(value) }
}

/// Formats a share: `0.812`.
pub(super) fn share(value: f64) -> String {
    decimals(value, 3)
}

/// Formats a difference: `+0.012` or `−0.012`.
pub(super) fn difference(value: f64) -> String {
    if value.is_finite() { minus(format!("{value:+.3}")) } else { NONE.to_owned() }
}

/// Formats a probability in per cent, but never as certain.
pub(super) fn chance(p: f64) -> String {
    match p {
        p if !p.is_finite() => NONE.to_owned(),
        p if p > 0.99 => ">99\u{a0}%".to_owned(),
        p if p < 0.01 => "<1\u{a0}%".to_owned(),
        p => format!("{:.0}\u{a0}%", p * 100.0),
    }
}

/// Formats a count: `12,400`. A fraction below 10 gets one decimal.
pub(super) fn count(value: f64) -> String {
    if value.abs() < 10.0 && value.fract() != 0.0 || !value.is_finite() {
        return decimals(value, 1);
    }
    let digits = format!("{:.0}", value.abs());
    let mut text = String::new();
    for (at, digit) in digits.chars().enumerate() {
        if at > 0 && (digits.len() - at).is_multiple_of(3) {
            text.push(',');
        }
        text.push(digit);
    }
    if value < 0.0 { format!("−{text}") } else { text }
}

/// Formats a whole number like [`count`].
#[expect(clippy::cast_precision_loss, reason = "it is shown with fewer digits than it keeps")]
pub(super) fn whole(value: u64) -> String {
    count(value as f64)
}

/// Formats a whole number with its noun, which is given in the singular: `1 setting`, `1,200 settings`.
pub(super) fn counted(value: usize, singular: &str) -> String {
    format!("{} {}", whole(value as u64), noun(value, singular))
}

/// Formats about three significant digits: `0.041`, `0.41`, `4.12`, `41.2`, `412`.
pub(super) fn significant(value: f64) -> String {
    let digits = match value.abs() {
        v if v >= 100.0 => return count(value),
        v if v >= 10.0 => 1,
        v if v >= 0.1 || v == 0.0 => 2,
        v if v >= 0.01 => 3,
        _ => 4,
    };
    decimals(value, digits)
}

/// Formats bytes in decimal units: `4.12 MB`.
#[expect(clippy::cast_precision_loss, reason = "three digits are shown")]
pub(super) fn bytes(value: u64) -> String {
    let scales = [(1e9, "GB"), (1e6, "MB"), (1e3, "kB")];
    let found = scales.iter().find(|(scale, _)| value as f64 >= *scale);
    found.map_or_else(|| format!("{value} B"), |(scale, unit)| format!("{} {unit}", significant(value as f64 / scale)))
}

/// Placeholder for a missing number.
const NONE: &str = "–";

fn decimals(value: f64, digits: usize) -> String {
    if value.is_finite() { minus(format!("{value:.digits$}")) } else { NONE.to_owned() }
}

/// Replaces a hyphen by a minus sign, which is as wide as the plus.
fn minus(text: String) -> String {
    match text.strip_prefix('-') {
        None => text,
        Some(digits) if digits.chars().all(|c| matches!(c, '0' | '.')) => digits.to_owned(),
        Some(digits) => format!("−{digits}"),
    }
}
