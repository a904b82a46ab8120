//! `chunkmill-eval gate`: checks whether a run is worse than a baseline.

use std::path::{Path, PathBuf};

use chunkmill::cli::{print, print_json};
use chunkmill::error::{Error, exit};
use chunkmill::value::{Value, count};

use super::diff::moved;
use super::lost::{broken, lost};
use crate::data::files::replace;
use crate::data::report::Report;
use crate::findings::analysis::{figure, signed};
use crate::findings::assemble::MeasuredRun;
use crate::findings::change::{Change, Means};
use crate::findings::gate::{Check, Outcome, State, Thresholds, gate};
use crate::run::sweep::{Labelled, Run};
use crate::show::junit::junit;

/// Most rows of the table that are shown although nothing is wrong with them.
const ROWS: usize = 36;

#[derive(clap::Args)]
#[command(override_usage = "chunkmill-eval gate [OPTIONS] --baseline <FILE> <RUN>")]
#[command(
    after_help = "Evidence that the baseline could score and that is gone or reworded now fails. A metric fails only if the whole paired interval of its change is beyond the allowed drop, \
    also after correction for the number of comparisons. -v also lists the checks that passed, the lost texts, and the questions that moved most. Exit codes: 0 no worse, 1 worse or evidence lost, 2 the two cannot be compared."
)]
pub(super) struct Args {
    /// Folder of the run, or its report.json
    run: PathBuf,
    /// What to compare with: a file that `baseline` wrote, or the folder or report.json of another run
    #[arg(long, value_name = "FILE")]
    baseline: Option<PathBuf>,
    #[arg(
        long,
        value_name = "FILE",
        help = "TOML file with allow_lost, max_slower, max_larger and [max_drop]; flags go before it"
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
    /// How many questions may lose evidence that was valid in the baseline [default: 0]
    #[arg(long, value_name = "N")]
    allow_lost: Option<usize>,
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

pub(super) fn run(args: &Args, verbose: bool) -> anyhow::Result<u8> {
    let mut thresholds = args.thresholds.as_deref().map(Thresholds::read).transpose()?.unwrap_or_default();
    thresholds.max_drop.extend(args.max_drop.iter().cloned());
    thresholds.max_slower = args.max_slower.unwrap_or(thresholds.max_slower);
    thresholds.max_larger = args.max_larger.unwrap_or(thresholds.max_larger);
    thresholds.allow_lost = args.allow_lost.unwrap_or(thresholds.allow_lost);
    thresholds.check("the command line")?;
    let baseline = args.baseline.as_ref().ok_or_else(|| no_baseline(&args.run))?;
    let (run, baseline) = (Report::read(&args.run)?, Report::read(baseline)?);
    let mut outcome = gate(&run, &baseline, &thresholds)?;
    // A report that was copied without its records or its labels can still be compared.
    if !outcome.broken.is_empty()
        && let Some(measured) = measured(&args.run)
    {
        outcome.hand_over(&measured);
    }
    if let Some(file) = &args.junit {
        replace(file, junit(&run, Some(&outcome)).as_bytes())?;
    }
    if args.json { print_json(&outcome) } else { print(describe(&outcome, verbose)) }?;
    Ok(if outcome.passed { exit::DONE } else { exit::CHECK_FAILED })
}

/// Returns the error for a missing baseline. clap's own error would not name the command that creates one.
fn no_baseline(run: &Path) -> Error {
    Error::setting(
        "--baseline",
        "is missing: a gate compares a run with an earlier one",
        format!("`chunkmill-eval baseline {} -o FILE` keeps this run for later ones", run.display()),
    )
}

/// Reads the records of a run, if it has them and its labels are still there.
fn measured(path: &Path) -> Option<MeasuredRun> {
    let folder = if path.is_dir() { path } else { path.parent()? };
    let run = Run::is_in(folder).then(|| Run::read(folder).ok()).flatten()?;
    let labelled = Labelled::read_changed(&run.labels).ok()?;
    MeasuredRun::read(folder, run, labelled).ok()
}

/// Describes the outcome in the order of reading: the verdict, what was lost, the figures, the questions that broke.
fn describe(outcome: &Outcome, verbose: bool) -> String {
    let mut lines = vec![outcome.verdict()];
    let mut part = |title: &str, body: Vec<String>| {
        if !body.is_empty() {
            lines.push(format!("\n{title}").trim_end().to_owned());
            lines.extend(body);
        }
    };
    let mut evidence = lost(&outcome.evidence, verbose);
    if outcome.lost_too_much() {
        evidence.push(format!(
            "  Restore the texts, or label these questions again (`chunkmill-eval label` with the same set); --allow-lost {} \
             accepts the loss.",
            outcome.evidence.lost.len()
        ));
    }
    part("", evidence);
    part("", table(outcome, verbose));
    let others = outcome.checks.iter().filter(|check| check.change.is_none());
    let others = others.filter(|check| verbose || check.state != State::Passed);
    part(
        "",
        others.map(|check| format!("{} {}: {}: {}", word(check.state), check.cell, check.what, check.text)).collect(),
    );
    part("questions that broke (a setting now has at most half of what it had):", broken(&outcome.broken, verbose));
    // Many small falls can fail a check without a broken question.
    let failed = outcome.by_state(State::Failed).any(|check| check.change.is_some());
    if verbose || (failed && outcome.broken.is_empty()) {
        part("questions that moved most, on average over the settings:", moved(&outcome.moved, "  "));
    }
    let mut notes: Vec<String> = outcome.notes.iter().map(|note| format!("note: {note}")).collect();
    if verbose {
        let texts = outcome.evidence.moved.iter();
        notes.extend(texts.map(|text| format!("moved: {}: {}: {}", text.query, text.doc_id, text.finding)));
        let comparisons = count(outcome.comparisons, "comparison");
        notes.push(format!("note: chance was judged for {comparisons}; questions that did not change need none"));
    }
    part("", notes);
    lines.join("\n")
}

fn word(state: State) -> &'static str {
    match state {
        State::Passed => "passed",
        State::Unsure => "may be within what is allowed",
        State::Failed => "FAILED",
    }
}

/// Returns one table of the metrics in each setting. In a long one, only what got worse is shown, unless all is wanted.
fn table(outcome: &Outcome, verbose: bool) -> Vec<String> {
    let mut checks: Vec<(&Check, &Change)> =
        outcome.checks.iter().filter_map(|check| Some((check, check.change.as_ref()?))).collect();
    let all = checks.len();
    if all > ROWS && !verbose {
        checks.retain(|(check, _)| check.state != State::Passed);
    }
    let has_lost = checks.iter().any(|(_, change)| change.all.is_some());
    let mut rows = vec![["metric", "setting", "before", "now", "change"].map(str::to_owned).to_vec()];
    rows[0].push(format!("{} % interval", outcome.confidence * 100.0));
    if has_lost {
        rows[0].extend(["all before", "all now"].map(str::to_owned));
    }
    rows[0].push(String::new());
    for (check, change) in &checks {
        let comparison = &change.comparison;
        let interval = format!("{} to {}", signed(comparison.lo), signed(comparison.hi));
        let numbers = [figure(change.before), figure(change.after), signed(comparison.difference), interval];
        let mut row = vec![check.what.clone(), check.cell.clone()];
        row.extend(numbers);
        if has_lost {
            let of = |mean: fn(&Means) -> f64| change.all.as_ref().map_or_else(String::new, |all| figure(mean(all)));
            row.extend([of(|all| all.before), of(|all| all.after)]);
        }
        row.push(if check.state == State::Passed { String::new() } else { word(check.state).to_owned() });
        rows.push(row);
    }
    let mut lines = Vec::new();
    if !checks.is_empty() {
        let same = count(outcome.questions, "question");
        let all = count(outcome.evidence.questions, "question");
        let also = if has_lost { format!("; \"all\": all {all}, lost evidence as misses") } else { String::new() };
        lines.push(format!("over the {same} that both runs scored by the same evidence{also}"));
        lines.extend(aligned(&rows));
    }
    if checks.len() < all {
        lines.push(format!("{} not shown: no worse than allowed (-v shows them)", count(all - checks.len(), "row")));
    }
    lines
}

/// Aligns columns: the first two to the left, numbers to the right.
fn aligned(rows: &[Vec<String>]) -> Vec<String> {
    let columns = rows.first().map_or(0, Vec::len);
    let width = |at: usize| rows.iter().map(|row| row[at].chars().count()).max().unwrap_or_default();
    let widths: Vec<usize> = (0..columns).map(width).collect();
    let line = |row: &Vec<String>| {
        let cell = |(at, text): (usize, &String)| {
            let width = widths[at];
            if at < 2 || at + 1 == columns { format!("{text:width$}") } else { format!("{text:>width$}") }
        };
        row.iter().enumerate().map(cell).collect::<Vec<_>>().join("  ").trim_end().to_owned()
    };
    rows.iter().map(line).collect()
}
