//! The commands of the program, and what each of them runs.

use chunkmill::cli::{CompletionArgs, ManArgs, Verbosity, completions, finish, man, parse};
use chunkmill::config::unknown_variables;
use chunkmill::error::exit;
use clap::{Parser, Subcommand};

use super::{
    agree, baseline, compare, diff, gate, import, label, pair, questions, recommend, report, sweep, synth, table,
    verify,
};
use crate::run::worker;

/// Measure which chunk settings retrieve best, and at what cost.
#[derive(Parser)]
#[command(name = "chunkmill-eval", version, about, arg_required_else_help = true, max_term_width = 100)]
#[command(
    after_help = "Exit codes: 0 done, 1 a check failed, 2 usage or settings, 3 imported, but rows were left out, 5 the job failed."
)]
pub struct Cli {
    #[command(flatten)]
    verbosity: Verbosity,
    #[command(subcommand)]
    command: Command,
}

#[derive(Subcommand)]
enum Command {
    /// Import labels from another benchmark
    #[command(subcommand)]
    Import(import::Format),
    /// Recommend settings for your documents: how sure the result is, and what it costs
    Recommend(recommend::Args),
    /// Measure every combination of a grid of settings against labels
    Sweep(sweep::Args),
    /// Score a run again and write its report: HTML, JSON, Markdown, CSV, XML for CI, TREC
    Report(report::Args),
    /// Print the JSON Schema of report.json
    Schema,
    /// One measured step of a sweep, in a process of its own
    #[command(hide = true)]
    Work,
    /// Collect questions that people ask: from search logs, pages of frequent questions, titles of issues
    Questions(questions::Args),
    /// Label real questions: chunkmill proposes passages, you accept them
    Label(label::Args),
    /// Make synthetic questions from documents
    Synth(synth::Args),
    /// Check that every label still matches its document; exit code 1 if one has drifted
    Verify(verify::Args),
    /// Compare a run with a baseline; exit code 1 if evidence was lost, or if it is significantly worse
    Gate(gate::Args),
    /// Compare two runs
    Diff(pair::PairArgs),
    /// Lay several runs side by side in one page: models, corpora, days
    Compare(compare::Args),
    /// Save the values of a run as a baseline for later runs
    Baseline(baseline::Args),
    /// Compare runs of one sweep over several sets of labels: tables and plots
    Table(table::Args),
    /// Check whether two sets of labels rank settings alike
    Agree(pair::PairArgs),
    /// Print a completion script for a shell
    Completions(CompletionArgs),
    /// Print the manual page of a command
    Man(ManArgs),
}

/// Parses and runs the command line, reports an error, and returns the exit code.
pub fn main() -> u8 {
    if let Some(code) = chunkmill::cli::reading_one() {
        return code;
    }
    let Cli { verbosity, command } = parse();
    // A process of a sweep would repeat all remarks.
    if !matches!(command, Command::Work) {
        verbosity.start();
        for remark in unknown_variables() {
            tracing::warn!("{remark}");
        }
    }
    let result = match command {
        Command::Import(format) => import::run(&format),
        Command::Recommend(args) => recommend::run(args),
        Command::Sweep(args) => sweep::run(args),
        Command::Report(args) => report::run(&args),
        Command::Schema => report::schema(),
        Command::Work => worker::serve().map(|()| exit::DONE),
        Command::Questions(args) => questions::run(args),
        Command::Label(args) => label::run(args),
        Command::Synth(args) => synth::run(args),
        Command::Verify(args) => verify::run(&args),
        Command::Gate(args) => gate::run(&args, verbosity.is_verbose()),
        Command::Baseline(args) => baseline::run(&args),
        Command::Diff(args) => diff::run(&args),
        Command::Compare(args) => compare::run(&args),
        Command::Table(args) => table::run(&args),
        Command::Agree(args) => agree::run(&args),
        Command::Completions(args) => completions::<Cli>(&args),
        Command::Man(args) => man::<Cli>(&args),
    };
    finish(result)
}
