//! `chunkmill-eval gate`: checks whether a run is worse than a baseline.

use std::path::{Path, PathBuf};

use chunkmill::cli::{print, print_json};
use chunkmill::error::{Error, exit};
use chunkmill::value::{Value, count};

use super::diff::moved;
use crate::gate::{Check, Outcome, State, Thresholds, gate};
use crate::record::replace;
use crate::render::junit::junit;
use crate::report::Report;

#[derive(clap::Args)]
#[command(override_usage = "chunkmill-eval gate [OPTIONS] --baseline <FILE> <RUN>")]
#[command(after_help = "A metric fails only if the whole paired interval of its change is beyond the allowed drop, \
    also after correction for the number of comparisons. Exit codes: 0 no worse, 1 worse, 2 the two cannot be compared.")]
pub(super) struct Args {
    /// Folder of the run, or its report.json
    run: PathBuf,
    /// What to compare with: a file that `baseline` wrote, or the folder or report.json of another run
    #[arg(long, value_name = "FILE")]
    baseline: Option<PathBuf>,
    #[arg(
        long,
        value_name = "FILE",
        help = "TOML file with max_slower, max_larger and [max_drop]; flags go before it"
    )]
    thresholds: Option<PathBuf>,
    #[arg(long, value_name = "METRIC=DROP", value_parser = drop_of, help = "By how much the mean of a metric may be \
        worse; may be repeated [default: 0.01 for the primary metric, ndcg_at_10, doc_ndcg_at_10]")]
    max_drop: Vec<(String, f64)>,
    /// Largest allowed ratio of query and indexing times [default: inf, not checked]
    #[arg(long, value_name = "RATIO", value_parser = f64::read)]
    max_slower: Option<f64>,
    /// Largest allowed ratio of dataset sizes [default: 1.1]
    #[arg(long, value_name = "RATIO", value_parser = f64::read)]
    max_larger: Option<f64>,
    /// Also write the result as XML for CI (`JUnit`)
    #[arg(long, value_name = "FILE")]
    junit: Option<PathBuf>,
    /// Print one JSON object
    #[arg(long)]
    json: bool,
}

fn drop_of(text: &str) -> Result<(String, f64), String> {
    let (metric, drop) = text.split_once('=').ok_or("write METRIC=DROP, as in ndcg_at_10=0.02")?;
    Ok((metric.to_owned(), f64::read(drop)?))
}

pub(super) fn run(args: &Args) -> anyhow::Result<u8> {
    let mut thresholds = args.thresholds.as_deref().map(Thresholds::read).transpose()?.unwrap_or_default();
    thresholds.max_drop.extend(args.max_drop.iter().cloned());
    thresholds.max_slower = args.max_slower.unwrap_or(thresholds.max_slower);
    thresholds.max_larger = args.max_larger.unwrap_or(thresholds.max_larger);
    thresholds.check("the command line")?;
    let baseline = args.baseline.as_ref().ok_or_else(|| no_baseline(&args.run))?;
    let (run, baseline) = (Report::read(&args.run)?, Report::read(baseline)?);
    let outcome = gate(&run, &baseline, &thresholds)?;
    if let Some(file) = &args.junit {
        replace(file, junit(&run, &outcome.named()).as_bytes())?;
    }
    if args.json { print_json(&outcome) } else { print(describe(&outcome)) }?;
    Ok(if outcome.passed { exit::DONE } else { exit::CHECK_FAILED })
}

/// Returns the error for a missing baseline. clap's own error would not name the command that creates one.
fn no_baseline(run: &Path) -> Error {
    Error::Setting {
        origin: "--baseline".to_owned(),
        problem: "is missing: a gate compares a run with an earlier one".to_owned(),
        help: format!("`chunkmill-eval baseline {} -o FILE` keeps this run for later ones", run.display()),
    }
}

/// Describes the failed checks first, with their questions, then the uncertain ones, and ends with a summary.
fn describe(outcome: &Outcome) -> String {
    let mut lines: Vec<String> = outcome.notes.iter().map(|note| format!("note: {note}")).collect();
    let line = |word: &str, check: &Check| format!("{word} {}: {}: {}", check.cell, check.what, check.text);
    for check in outcome.by_state(State::Failed) {
        lines.push(line("FAILED", check));
        let Some(change) = &check.change else { continue };
        lines.push(format!("  questions worse: {}, better: {}; those that moved most:", change.worse, change.better));
        lines.extend(moved(&change.moved, "    "));
    }
    for check in outcome.by_state(State::Unsure) {
        lines.push(line("could be chance", check));
    }
    if outcome.passed && !outcome.moved.is_empty() {
        lines.push("questions that moved most, on average over the settings:".to_owned());
        lines.extend(moved(&outcome.moved, "  "));
    }
    let failed = outcome.by_state(State::Failed).count();
    let unsure = outcome.by_state(State::Unsure).count();
    lines.push(format!(
        "gate {}: {failed} of {} failed, {unsure} could be chance; {}, corrected for {}",
        if outcome.passed { "passed" } else { "FAILED" },
        count(outcome.checks.len(), "check"),
        count(outcome.questions, "question"),
        count(outcome.comparisons, "comparison"),
    ));
    lines.join("\n")
}
