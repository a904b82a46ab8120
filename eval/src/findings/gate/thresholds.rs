//! How much worse a run may be: from a file, from flags, or by default.

use std::collections::BTreeMap;
use std::fs;
use std::path::Path;

use chunkmill::error::{Error, Result};
use chunkmill::value::one_of;
use serde::Deserialize;

use crate::data::report::Report;

/// The default allowed drop of a metric: a hundredth. It is below what a few hundred questions can detect, so in
/// practice every detectable drop fails, while a real but tiny one still passes.
const DROP: f64 = 0.01;

/// Help for errors in a thresholds file.
const TABLE: &str =
    "write a TOML file with the keys allow_lost, max_slower, max_larger, and [max_drop] with names of metrics";

/// How much worse a run may be than its baseline. A thresholds file is TOML with these keys and no others.
#[derive(Debug, Clone, PartialEq, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct Thresholds {
    /// Number of questions that may lose evidence that the baseline could score. 0 by default.
    pub allow_lost: usize,
    /// Allowed drop of the mean by name of the metric, in the metric's own unit: `[max_drop]`, `ndcg_at_10 = 0.02`.
    /// Metrics that are not named are not checked. If none is named, the baseline's primary metric, `ndcg_at_10` and
    /// `doc_ndcg_at_10` may drop by 0.01.
    pub max_drop: BTreeMap<String, f64>,
    /// Largest allowed ratio of the time of a question (95th percentile) and, if both runs timed it, of indexing.
    /// `inf`, the default, checks no times: a baseline usually comes from another machine.
    pub max_slower: f64,
    /// Largest allowed ratio of dataset sizes, for documents of the same size. 1.1 by default; `inf` checks no
    /// sizes.
    pub max_larger: f64,
}

impl Default for Thresholds {
    fn default() -> Self {
        Self { allow_lost: 0, max_drop: BTreeMap::new(), max_slower: f64::INFINITY, max_larger: 1.1 }
    }
}

impl Thresholds {
    /// Reads a thresholds file.
    ///
    /// # Errors
    /// [`Error::Named`] if it cannot be read; [`Error::Setting`] if it is not TOML, or has an unknown key or a
    /// number out of range.
    pub fn read(path: &Path) -> Result<Self> {
        let text = fs::read_to_string(path).map_err(Error::named(path, TABLE))?;
        let origin = path.display().to_string();
        let read: Self = toml::from_str(&text)
            .map_err(|error| Error::setting(origin.clone(), error.to_string().trim_end().to_owned(), TABLE))?;
        read.check(&origin)?;
        Ok(read)
    }

    /// Checks that each threshold is in range; `origin` names their source in the error.
    ///
    /// # Errors
    /// [`Error::Setting`] if one is not.
    pub fn check(&self, origin: &str) -> Result<()> {
        let drops = self.max_drop.iter().map(|(name, &drop)| (name.as_str(), drop, drop >= 0.0 && drop.is_finite()));
        let ratios = [("max_slower", self.max_slower), ("max_larger", self.max_larger)];
        let ratios = ratios.map(|(name, ratio)| (name, ratio, ratio >= 1.0));
        match drops.chain(ratios).find(|(.., fits)| !fits) {
            None => Ok(()),
            Some((name, number, _)) => Err(Error::setting(
                origin,
                format!("{name} is {number}"),
                "a drop is a number from 0 up; max_slower and max_larger are ratios from 1 up, or inf",
            )),
        }
    }

    /// Returns the metrics to check with their allowed drops, the baseline's primary metric first.
    ///
    /// # Errors
    /// [`Error::Setting`] if the thresholds name a metric that the baseline does not have.
    pub fn drops(&self, baseline: &Report) -> Result<Vec<(String, f64)>> {
        let has = |name: &str| baseline.cells.iter().any(|cell| cell.values.contains_key(name));
        let primary = baseline.scoring.primary.as_str();
        if let Some(unknown) = self.max_drop.keys().find(|name| !has(name)) {
            let known: Vec<&str> = baseline.metrics.iter().map(|metric| metric.name.as_str()).collect();
            return Err(Error::setting(
                "max_drop",
                format!("the baseline has no metric `{unknown}`"),
                one_of(unknown, &known),
            ));
        }
        let mut drops: BTreeMap<&str, f64> = self.max_drop.iter().map(|(name, &drop)| (name.as_str(), drop)).collect();
        if drops.is_empty() {
            let usual = [primary, "ndcg_at_10", "doc_ndcg_at_10"];
            drops.extend(usual.into_iter().filter(|name| has(name)).map(|name| (name, DROP)));
        }
        let mut drops: Vec<(String, f64)> = drops.into_iter().map(|(name, drop)| (name.to_owned(), drop)).collect();
        drops.sort_by_key(|(name, _)| name != primary);
        Ok(drops)
    }
}
