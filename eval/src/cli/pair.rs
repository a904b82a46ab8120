//! Arguments of `diff` and `agree`: two runs, and the metrics to compare them by.

use std::path::PathBuf;

use crate::data::report::Report;

#[derive(clap::Args)]
pub(super) struct PairArgs {
    /// Folder of a run, or its report.json. For `agree` also a set of labels, or its file of labels
    pub(super) a: PathBuf,
    /// Folder of the other run
    pub(super) b: PathBuf,
    /// Metric to compare; repeat for several [default: the primary metric of A]
    #[arg(long, value_name = "NAME")]
    metric: Vec<String>,
    /// Print JSON
    #[arg(long)]
    pub(super) json: bool,
}

impl PairArgs {
    /// Reads both reports and returns them with the names of the metrics.
    pub(super) fn read(&self) -> anyhow::Result<(Report, Report, Vec<String>)> {
        let (a, b) = (Report::read(&self.a)?, Report::read(&self.b)?);
        let metrics = if self.metric.is_empty() { vec![a.scoring.primary.clone()] } else { self.metric.clone() };
        Ok((a, b, metrics))
    }
}
