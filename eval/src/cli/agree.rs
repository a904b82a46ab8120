//! `chunkmill-eval agree`: whether two sets of questions rank settings alike.

use std::collections::BTreeSet;
use std::io::{self, Write};
use std::path::PathBuf;

use anyhow::Context;
use chunkmill::error::exit;

use crate::agreement::{Agreement, agreement};
use crate::report::Report;

#[derive(clap::Args)]
pub(super) struct Args {
    /// Folder of a run, or its report.json: its choice is judged
    a: PathBuf,
    /// Folder of a run of the same sweep file over other labels: it judges
    b: PathBuf,
    /// Metric to rank by; may be repeated [default: the primary metric of A]
    #[arg(long, value_name = "NAME")]
    metric: Vec<String>,
    /// Print one JSON object for each comparison
    #[arg(long)]
    json: bool,
}

pub(super) fn run(args: &Args) -> anyhow::Result<u8> {
    let (a, b) = (Report::read(&args.a)?, Report::read(&args.b)?);
    let metrics = if args.metric.is_empty() { vec![a.scoring.primary.clone()] } else { args.metric.clone() };
    let mut out = io::stdout().lock();
    for metric in &metrics {
        let all = agreement(&a, &b, metric, None)?;
        let modes: BTreeSet<&str> = a.cells.iter().map(|cell| cell.retrieval.as_str()).collect();
        // Of one way to search alone there may be too few settings.
        let each = modes.into_iter().filter_map(|mode| agreement(&a, &b, metric, Some(mode)).ok());
        for found in [all].into_iter().chain(each) {
            let text = if args.json { serde_json::to_string(&found)? } else { describe(&found) };
            writeln!(out, "{text}").context("cannot write to standard output")?;
        }
    }
    Ok(exit::DONE)
}

fn describe(found: &Agreement) -> String {
    let Agreement { metric, retrieval, cells, tau, pick, best, regret, random_regret } = found;
    let which = retrieval.as_ref().map_or(String::new(), |retrieval| format!(" by {retrieval} search"));
    let tau = tau.map_or("not defined".to_owned(), |tau| format!("{tau:.3}"));
    format!(
        "{metric}{which}: Kendall's tau-b over {cells} settings is {tau}. A's best, `{}`, has {:.3} in B, where the best, `{}`, \
         has {:.3}: {regret:.3} is lost, {random_regret:.3} by a setting taken at random.",
        pick.0, pick.1, best.0, best.1
    )
}
