//! Compares two ways to chunk on a set of labels, as `chunkmill-eval sweep` does, and prints which one is better.
//!
//! ```sh
//! cargo run --release --package chunkmill-eval --example sweep -- datasets/larder run
//! ```
#![allow(clippy::print_stdout, reason = "an example shows its result")]

use std::path::Path;
use std::time::SystemTime;

use anyhow::Context;
use chunkmill::config::Options;
use chunkmill_eval::findings::assemble::MeasuredRun;
use chunkmill_eval::run::sweep::{Labelled, Run, SweepSettings, check_models, sweep};
use chunkmill_eval::run::{plan, worker};

const GRID: &str = "[[grid]]\nstrategy = [\"recursive\", \"structure\"]\nmax = 128\nmode = \"keyword\"\n";

fn main() -> anyhow::Result<()> {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    // A sweep measures each step in its own process: this program, started again with this one argument.
    if arguments == [worker::COMMAND] {
        return worker::serve();
    }
    let [labels, out] = arguments.as_slice() else { anyhow::bail!("name a set of labels and a folder for the run") };
    let plan = plan::parse(GRID, "GRID", Options::from_env()?)?;
    let labelled = Labelled::read(Path::new(labels))?;
    let now = chrono::DateTime::<chrono::Utc>::from(SystemTime::now()).to_rfc3339();
    let run = Run::new(&plan, &labelled, &check_models(&plan)?, arguments.clone(), now);
    sweep(&plan, &run, Path::new(out), &labelled, &SweepSettings::default(), &mut |_| {})?;
    let report = MeasuredRun::read(Path::new(out), run, labelled)?.report();
    for cell in &report.cells {
        println!("{}: {:.3}", cell.id, cell.metrics[&report.scoring.primary].mean);
    }
    println!("{}", report.verdict.context("no question could be scored")?.text);
    Ok(())
}
