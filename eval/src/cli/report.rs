//! `chunkmill-eval report`: a run's report in every form.

use std::io::{self, Write};
use std::path::{Path, PathBuf};

use anyhow::Context;
use chunkmill::error::exit;

use crate::render;
use crate::report::Report;

#[derive(clap::Args)]
pub(super) struct Args {
    /// Folder of a run, or a report.json
    run: PathBuf,
    /// Folder for report.html, report.json, report.md, report.csv and junit.xml; that of the run if not given
    #[arg(short, long, value_name = "DIR")]
    output: Option<PathBuf>,
    /// Also say what changed since this run
    #[arg(long, value_name = "FILE")]
    baseline: Option<PathBuf>,
}

pub(super) fn run(args: &Args) -> anyhow::Result<u8> {
    let report = Report::read(&args.run)?;
    let baseline = args.baseline.as_deref().map(Report::read).transpose()?;
    let own = if args.run.is_dir() { Some(args.run.as_path()) } else { args.run.parent() };
    let folder = args.output.as_deref().or(own).filter(|folder| !folder.as_os_str().is_empty());
    let written = render::write(&report, baseline.as_ref(), folder.unwrap_or(Path::new(".")))?;
    let mut out = io::stdout().lock();
    for path in &written {
        writeln!(out, "{}", path.display()).context("cannot write to standard output")?;
    }
    Ok(exit::DONE)
}

/// Prints the JSON Schema of `report.json`.
pub(super) fn schema() -> anyhow::Result<u8> {
    let schema = serde_json::to_string_pretty(&render::json::schema())?;
    writeln!(io::stdout().lock(), "{schema}").context("cannot write to standard output")?;
    Ok(exit::DONE)
}
