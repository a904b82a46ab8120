//! The costs of a run compared with its baseline: bytes and times.

use std::collections::BTreeSet;

use super::check::{Check, State};
use super::thresholds::Thresholds;
use crate::data::report::{Cell, Report};
use crate::findings::analysis::figure;

/// Returns one check per build for the costs that all its cells share, and one per cell for the time of a question.
pub(super) fn checks(run: &Report, baseline: &Report, thresholds: &Thresholds) -> Vec<Check> {
    let mut seen = BTreeSet::new();
    let mut checks = Vec::new();
    // Larger documents may need more space.
    let growth = if baseline.labels.bytes == 0 { 1.0 } else { float(run.labels.bytes) / float(baseline.labels.bytes) };
    for before in &baseline.cells {
        let Some(after) = run.cell(&before.id) else { continue };
        let check = |what: &str, unit: &str, allowed: f64, costs: CostChange| {
            (allowed.is_finite() && costs.before > 0.0).then(|| costs.check(before, what, unit, allowed))
        };
        let times = CostChange::flat(before.cost.query_ms.p95, after.cost.query_ms.p95);
        checks.extend(check("query_ms", "ms (95th percentile)", thresholds.max_slower, times));
        if !seen.insert(&before.build) {
            continue;
        }
        let bytes = CostChange::flat(float(before.cost.bytes) * growth, float(after.cost.bytes));
        let unit = if growth.to_bits() == 1.0_f64.to_bits() { "bytes" } else { "bytes (scaled to these documents)" };
        checks.extend(check("bytes", unit, thresholds.max_larger, bytes));
        if let (Some(one), Some(other)) = (&before.cost.index, &after.cost.index) {
            let (one, other) = (one.seconds, other.seconds);
            let spread =
                CostChange { before: one.median, most_before: one.max, after: other.median, least_after: other.min };
            checks.extend(check("index_seconds", "s (median)", thresholds.max_slower, spread));
        }
    }
    checks
}

/// A cost in both runs. It is too high if even its smallest measurement exceeds the limit relative to the largest
/// measurement before.
struct CostChange {
    before: f64,
    most_before: f64,
    after: f64,
    least_after: f64,
}

impl CostChange {
    /// Creates a cost that was measured once.
    fn flat(before: f64, after: f64) -> Self {
        Self { before, most_before: before, after, least_after: after }
    }

    fn check(&self, cell: &Cell, what: &str, unit: &str, allowed: f64) -> Check {
        let ratio = self.after / self.before;
        let state = match (ratio > allowed, self.least_after > allowed * self.most_before) {
            (false, _) => State::Passed,
            (true, false) => State::Unsure,
            (true, true) => State::Failed,
        };
        let (before, after) = (figure(self.before), figure(self.after));
        let text =
            format!("{before} {unit} before, {after} now: {ratio:.2} times as much ({allowed} times is allowed)");
        Check { cell: cell.id.clone(), what: what.to_owned(), state, text, change: None }
    }
}

#[expect(clippy::cast_precision_loss, reason = "datasets are smaller than 2^53 bytes")]
fn float(bytes: u64) -> f64 {
    bytes as f64
}
