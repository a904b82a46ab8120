//! The command line: the only place that knows clap, standard output and exit codes.
//!
//! A subcommand is one file with its arguments and a `run`. Results go to standard output, all else
//! to standard error.

mod answer;
mod args;
mod chunk;
mod compare;
mod completions;
mod context;
mod demo;
mod explain;
mod failure;
mod filter;
mod flags;
mod gc;
mod index;
mod job;
mod lifecycle;
mod man;
mod model;
mod output;
mod progress;
mod retrieval;
mod schema;
mod search;
mod shards;
mod stats;
mod verify;
mod version;

use anyhow::Context;
use clap::{Parser, Subcommand};
use tracing_subscriber::filter::LevelFilter;

use crate::config::Config;

// The harness, and the module for Python, take and say the same.
pub use completions::{CompletionArgs, completions};
pub use failure::{finish, parse};
pub use flags::{EmbeddingFlags, ThreadFlags};
pub use job::Summary;
pub use man::{ManArgs, man};
pub use output::{print, print_json, print_json_pretty, tell, visible};

/// Split a corpus into chunks, embed them, and write Parquet.
#[derive(Parser)]
#[command(name = "chunkmill", version, about, arg_required_else_help = true)]
#[command(after_help = "Every setting has an environment variable: CHUNKMILL_MAX for --max. Flags go over variables, \
                        these over the file that --config names, or else chunkmill.toml here or above.\n\n\
                        Exit codes: 0 done, 1 a check failed, 2 usage or settings, 3 done but documents \
                        were quarantined, 4 dataset locked, 5 the job failed, 130 interrupted.")]
pub struct Cli {
    /// Say more on standard error; twice for still more. With --version: of what the program is made
    #[arg(short, long, global = true, action = clap::ArgAction::Count)]
    verbose: u8,
    /// Say only errors on standard error
    #[arg(short, long, global = true, conflicts_with = "verbose")]
    quiet: bool,
    #[command(subcommand)]
    command: Command,
}

#[derive(Subcommand)]
enum Command {
    /// Try it: index a small corpus that the program carries, and ask it two questions
    Demo(demo::Args),
    /// Chunk and embed a corpus, and write it as a dataset
    Index(index::Args),
    /// Say what `index` would do; with --shards, share it out to several processes
    Plan(shards::PlanArgs),
    /// Make one shard of a plan
    Run(shards::RunArgs),
    /// Publish what the shards of a plan made, as one dataset
    Commit(shards::CommitArgs),
    /// Give a document, and all its chunks, a promotion level
    Promote(lifecycle::PromoteArgs),
    /// Take documents out of a dataset
    Delete(lifecycle::DeleteArgs),
    /// Chunk a corpus without a model; one JSON object per chunk on standard output
    Chunk(chunk::Args),
    /// Chunk the documents of a table: an Arrow IPC stream on standard input, another on standard output
    Filter(filter::Args),
    /// Show where and why a file is cut
    Explain(explain::Args),
    /// Find the chunks, or documents, that answer a question
    Search(search::Args),
    /// Pack passages that answer a question into a token budget, with their places
    Context(context::Args),
    /// Answer a question in words from such passages, with citations, by a language model that was configured
    Answer(answer::Args),
    /// Count what is in a dataset
    Stats(stats::Args),
    /// Check that a dataset is what it says it is; exit code 1 if not
    Verify(verify::Args),
    /// Remove what runs that were stopped have left in a dataset
    Gc(gc::Args),
    /// Print the columns of a dataset's tables
    Schema(schema::Args),
    /// Fetch a model, check one, or list those that people use
    Model(model::Args),
    /// Print a completion script for a shell
    Completions(CompletionArgs),
    /// Print the manual page of a command
    Man(ManArgs),
}

/// Parses the command line, runs it, reports an error, and gives the exit code.
#[must_use]
pub fn main() -> u8 {
    let cli: Cli = parse();
    output::log(match (cli.quiet, cli.verbose) {
        (true, _) => LevelFilter::ERROR,
        (false, 0) => LevelFilter::WARN,
        (false, 1) => LevelFilter::INFO,
        (false, _) => LevelFilter::DEBUG,
    });
    let result = match cli.command {
        Command::Demo(args) => demo::run(&args),
        Command::Index(args) => index::run(args, cli.quiet),
        Command::Plan(args) => shards::plan(args),
        Command::Run(args) => shards::run(args, cli.quiet),
        Command::Commit(args) => shards::commit(&args),
        Command::Promote(args) => lifecycle::promote(&args),
        Command::Delete(args) => lifecycle::delete(&args),
        Command::Chunk(args) => chunk::run(args),
        Command::Filter(args) => filter::run(args),
        Command::Explain(args) => explain::run(args),
        Command::Search(args) => search::run(args),
        Command::Context(args) => context::run(args),
        Command::Answer(args) => answer::run(args),
        Command::Stats(args) => stats::run(&args),
        Command::Verify(args) => verify::run(&args),
        Command::Gc(args) => gc::run(&args),
        Command::Schema(args) => schema::run(&args),
        Command::Model(args) => model::run(args),
        Command::Completions(args) => completions::<Cli>(&args),
        Command::Man(args) => man::<Cli>(&args),
    };
    finish(result)
}

/// Sets how many threads work, for the whole process.
fn use_threads(threads: Option<usize>) -> anyhow::Result<()> {
    let builder = rayon::ThreadPoolBuilder::new().num_threads(threads.unwrap_or_default());
    builder.build_global().context("cannot start the worker threads")
}

/// Tells of settings that have no effect, and of those that cannot be meant.
pub fn warn_of_settings(config: &Config) {
    let spec = &config.spec;
    for name in &config.unused {
        tracing::warn!("`{name}` has no effect with strategy `{}`", spec.strategy());
    }
    if spec.is_tiny() {
        let (max, unit) = (spec.max(), spec.unit());
        tracing::warn!(
            "with a maximum of {max} (unit {unit}) a chunk has room for a word or two at most; raise --max, or name another --unit"
        );
    }
}
