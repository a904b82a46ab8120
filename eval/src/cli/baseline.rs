//! `chunkmill-eval baseline`: saves the values with which later runs are compared, small enough to keep with the
//! code.

use std::path::PathBuf;

use chunkmill::error::exit;

use crate::data::files::replace;
use crate::data::report::Report;
use crate::findings::gate::Thresholds;

#[derive(clap::Args)]
pub(super) struct Args {
    /// Folder of a run, or its report.json
    run: PathBuf,
    /// File to write
    #[arg(short, long = "output", value_name = "FILE")]
    out: PathBuf,
    /// Metric to keep; repeat for several [default: the metrics that `gate` checks]
    #[arg(long, value_name = "NAME")]
    metric: Vec<String>,
}

pub(super) fn run(args: &Args) -> anyhow::Result<u8> {
    let report = Report::read(&args.run)?;
    let metrics = if args.metric.is_empty() {
        Thresholds::default().drops(&report)?.into_iter().map(|(name, _)| name).collect()
    } else {
        for metric in &args.metric {
            super::diff::known(&report, metric, &args.run.display().to_string())?;
        }
        // By default, a gate checks the primary metric.
        [args.metric.as_slice(), std::slice::from_ref(&report.scoring.primary)].concat()
    };
    replace(&args.out, &serde_json::to_vec(&report.baseline(&metrics))?)?;
    Ok(exit::DONE)
}
