//! `chunkmill-eval table`: compares runs of one sweep file over several sets of labels.

use std::path::{Path, PathBuf};

use anyhow::Context;
use chunkmill::cli::print;
use chunkmill::error::{Error, exit};
use chunkmill::value::count;

use crate::data::files::replace;
use crate::data::report::Report;
use crate::findings::sets::{Set, Sets};
use crate::show::table::table;

#[derive(clap::Args)]
pub(super) struct Args {
    /// One run per set of labels: its folder, or its report.json
    #[arg(required = true)]
    runs: Vec<PathBuf>,
    /// The run with synthetic questions for each of those runs, in the same order
    #[arg(long, value_name = "RUN")]
    synthetic: Vec<PathBuf>,
    /// Id of the setting that the others are compared with
    #[arg(long, value_name = "ID", default_value = "structure, hybrid, k=5")]
    of: String,
    /// Folder for table.md, table.csv and the plots
    #[arg(short, long, value_name = "DIR")]
    output: PathBuf,
}

pub(super) fn run(args: &Args) -> anyhow::Result<u8> {
    if !args.synthetic.is_empty() && args.synthetic.len() != args.runs.len() {
        return Err(Error::setting(
            "--synthetic",
            format!("is given {}, for {}", count(args.synthetic.len(), "time"), count(args.runs.len(), "run")),
            "name one for each run, or none",
        )
        .into());
    }
    let read = |(at, run): (usize, &PathBuf)| {
        let synthetic = args.synthetic.get(at).map(|run| Report::read(run)).transpose()?;
        let report = Report::read(run)?;
        Ok(Set { name: report.labels.name.clone(), report, synthetic })
    };
    let sets = Sets::new(args.runs.iter().enumerate().map(read).collect::<chunkmill::error::Result<Vec<_>>>()?);
    if sets.as_slice().iter().any(|set| set.report.cell(&args.of).is_none()) {
        tracing::warn!("not every run has `{}`, so no change against it is shown", args.of);
    }
    for (name, text) in table(&sets, &args.of)? {
        let file: &Path = &args.output.join(name);
        std::fs::create_dir_all(&args.output).with_context(|| format!("cannot create {}", args.output.display()))?;
        replace(file, text.as_bytes())?;
        print(file.display())?;
    }
    Ok(exit::DONE)
}
