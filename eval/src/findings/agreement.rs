//! Do two sets of questions rank settings alike?
//!
//! There are two measures, because each alone misleads. Kendall's tau-b looks at all pairs of settings, but nobody
//! would choose between the settings of most pairs. The regret looks at the choice that matters: how much you lose
//! on the second set if you take the setting that is best on the first.

use std::collections::HashMap;

use chunkmill::error::{Error, Result};
use serde::Serialize;

use crate::data::report::{Cell, Report};
use crate::findings::analysis::direction;
use crate::score::stats::kendall_tau_b;

/// Agreement of two runs in ranking the settings that both have.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Agreement {
    /// The metric by which settings are ranked.
    pub metric: String,
    /// The way to search that was compared; `None` if all were.
    pub retrieval: Option<String>,
    /// Number of settings that both runs have.
    pub cells: usize,
    /// Kendall's tau-b of the means; `None` if all settings are equal in one of the runs.
    pub tau: Option<f64>,
    /// The setting that is best in the first run, and its mean in the second.
    pub pick: (String, f64),
    /// The setting that is best in the second run, and its mean there.
    pub best: (String, f64),
    /// How much worse `pick` is than `best` in the second run; 0 is best.
    pub regret: f64,
    /// The regret of a random setting.
    pub random_regret: f64,
}

/// Compares the rankings of all settings, or of those with one way to search. Settings are matched by id.
///
/// # Errors
/// [`Error::Setting`] if fewer than two settings have the metric in both runs.
pub fn agreement(a: &Report, b: &Report, metric: &str, retrieval: Option<&str>) -> Result<Agreement> {
    let sign = direction(a, metric);
    let mean = |cell: &Cell| cell.metrics.get(metric).map(|summary| summary.mean);
    let of_b: HashMap<&str, f64> = b.cells.iter().filter_map(|cell| Some((cell.id.as_str(), mean(cell)?))).collect();
    let mut cells: Vec<&Cell> =
        a.cells.iter().filter(|cell| retrieval.is_none_or(|retrieval| cell.retrieval == retrieval)).collect();
    // Ties go to the smaller dataset, then to the lower id, as in a report.
    cells.sort_by(|a, b| a.cost.bytes.cmp(&b.cost.bytes).then_with(|| a.id.cmp(&b.id)));
    let value = |cell: &&'_ Cell| mean(cell).zip(of_b.get(cell.id.as_str()).copied());
    let both: Vec<(&str, f64, f64)> =
        cells.iter().filter_map(|cell| value(cell).map(|(a, b)| (cell.id.as_str(), a, b))).collect();
    let best = |value: fn(&(&str, f64, f64)) -> f64| {
        both.iter().copied().reduce(|best, next| if sign * value(&next) > sign * value(&best) { next } else { best })
    };
    let (Some(pick), Some(best), true) = (best(|cell| cell.1), best(|cell| cell.2), both.len() > 1) else {
        return Err(Error::setting(
            "the two runs",
            format!("have fewer than two settings with `{metric}` in common"),
            "run both with the same sweep file",
        ));
    };
    let (ours, theirs): (Vec<f64>, Vec<f64>) = both.iter().map(|&(_, a, b)| (a, b)).unzip();
    #[expect(clippy::cast_precision_loss, reason = "far fewer than 2^52 settings")]
    let average = theirs.iter().sum::<f64>() / both.len() as f64;
    Ok(Agreement {
        metric: metric.to_owned(),
        retrieval: retrieval.map(str::to_owned),
        cells: both.len(),
        tau: kendall_tau_b(&ours, &theirs),
        pick: (pick.0.to_owned(), pick.2),
        best: (best.0.to_owned(), best.2),
        regret: sign * (best.2 - pick.2),
        random_regret: sign * (best.2 - average),
    })
}
