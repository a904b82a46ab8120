//! `chunkmill-eval report`: scores a run and writes its report in every format.

use std::path::{Path, PathBuf};

use chunkmill::cli::{print, print_json, print_json_pretty, print_prose};
use chunkmill::error::exit;
use serde_json::json;

use super::advice::advice;
use super::lost::lost;
use crate::data::report::Report;
use crate::findings::assemble::MeasuredRun;
use crate::run::sweep::{Labelled, Run};
use crate::show::{self, Baseline};

/// Largest number of ways to search the datasets for which TREC files are written by default: about two megabytes
/// each.
const TREC: usize = 64;

#[derive(clap::Args)]
pub(super) struct Args {
    /// Folder of a run, or a report.json
    run: PathBuf,
    #[command(flatten)]
    output: OutputArgs,
    /// Folder for report.html, report.json, report.md, report.csv, junit.xml and trec/ [default: the folder of the run]
    #[arg(short = 'o', long = "output", value_name = "DIR")]
    folder: Option<PathBuf>,
    /// Folder of the labels, if it has moved since the sweep
    #[arg(long, value_name = "SET")]
    labels: Option<PathBuf>,
}

/// Output options of a report.
#[derive(clap::Args)]
pub(super) struct OutputArgs {
    /// Show first what was lost and what changed since this earlier run: its folder, its report.json, or a baseline
    #[arg(long, value_name = "FILE")]
    baseline: Option<PathBuf>,
    /// Whether to write TREC runs and qrels, about 2 MB for each way to search each dataset [default: true for up to 64
    /// of them]
    #[arg(long, value_name = "BOOL", num_args = 0..=1, require_equals = true, default_missing_value = "true")]
    trec: Option<bool>,
    /// Print one JSON object
    #[arg(long)]
    pub(super) json: bool,
}

impl OutputArgs {
    /// Reads the report to compare with. Called before anything runs, because its name may be wrong.
    pub(super) fn baseline(&self) -> anyhow::Result<Option<Report>> {
        Ok(self.baseline.as_deref().map(Report::read).transpose()?)
    }
}

pub(super) fn run(args: &Args) -> anyhow::Result<u8> {
    let own = if args.run.is_dir() { Some(args.run.as_path()) } else { args.run.parent() };
    let folder = args.folder.as_deref().or(own).filter(|folder| !folder.as_os_str().is_empty());
    let folder = folder.unwrap_or(Path::new("."));
    let baseline = args.output.baseline()?;
    // A report that was copied without its records can still be shown.
    if !Run::is_in(&args.run) {
        return write(&Report::read(&args.run)?, None, baseline.as_ref(), folder, &args.output);
    }
    let run = Run::read(&args.run)?;
    let labelled = Labelled::read_changed(args.labels.as_ref().unwrap_or(&run.labels))?;
    let measured = MeasuredRun::read(&args.run, run, labelled)?;
    write(&measured.report(), Some(&measured), baseline.as_ref(), folder, &args.output)
}

/// Writes a report in every format, and prints the verdict and the paths.
pub(super) fn write(
    report: &Report,
    measured: Option<&MeasuredRun>,
    baseline: Option<&Report>,
    folder: &Path,
    output: &OutputArgs,
) -> anyhow::Result<u8> {
    let mut baseline = baseline.map(|baseline| Baseline::new(baseline, report)).transpose()?;
    if let (Some(baseline), Some(measured)) = (&mut baseline, measured) {
        baseline.hand_over(measured);
    }
    let mut written = show::write(report, baseline.as_ref(), folder)?;
    if let Some(measured) = measured {
        let wanted = output.trec.unwrap_or(measured.searches() <= TREC);
        written.extend(measured.write_trec(folder, wanted)?);
    }
    let nothing = || "Nothing could be scored.".to_owned();
    let text = report.verdict.as_ref().map_or_else(nothing, |verdict| advice(&verdict.advice));
    let outcome = baseline.as_ref().map(Baseline::outcome);
    if output.json {
        let (verdict, cells) = (&report.verdict, report.cells.len());
        print_json(&json!({ "gate": outcome, "verdict": verdict, "cells": cells, "files": written }))
    } else {
        if let Some(baseline) = &baseline {
            let outcome = baseline.outcome();
            let mut lines = vec![format!("against the baseline: {}", outcome.verdict())];
            lines.extend(lost(&outcome.evidence, false));
            lines.extend(baseline.figures(report));
            print(format_args!("{}\n", lines.join("\n")))?;
        }
        let paths: Vec<String> = written.iter().map(|path| format!("\n{}", path.display())).collect();
        print_prose(text)?;
        print(paths.concat())
    }?;
    Ok(exit::DONE)
}

/// Prints the JSON Schema of `report.json`.
pub(super) fn schema() -> anyhow::Result<u8> {
    print_json_pretty(&show::json::schema())?;
    Ok(exit::DONE)
}
