//! The command line: the only module that uses clap, standard output and exit codes.
//!
//! A subcommand is one file in `commands` with its arguments and a `run` function. Results are written to standard output,
//! everything else to standard error.

mod args;
mod commands;
mod escape;
mod failure;
mod flags;
mod job;
mod line;
mod output;
mod progress;
mod retrieval;
mod snippet;
mod start;
mod version;

use clap::{Parser, Subcommand};

use crate::config::unknown_variables;
use commands::{
    answer, changes, chunk, context, demo, explain, filter, formats, gc, index, lifecycle, model, schema, search,
    shards, stats, sync, verify,
};

// The evaluation harness and the Python module use the same arguments and messages.
pub use args::Verbosity;
pub use commands::answer::client as answer_client;
pub use commands::completions::{CompletionArgs, completions};
pub use commands::man::{ManArgs, man};
pub use escape::visible;
pub use failure::{finish, parse};
pub use flags::{AnswerFlags, EmbeddingFlags, ServiceFlags, ThreadFlags};
pub use job::{Summary, truncated};
pub use line::{Line, Look};
pub use output::{note, print, print_json, print_json_pretty, print_prose, tell, tell_line, width_of_messages};
pub use progress::watched;
pub use start::{reading_one, warn_of_settings};

/// Split a corpus into chunks, embed them, and write Parquet. Start with `chunkmill demo`. A second program,
/// `chunkmill-eval`, finds out which chunk settings suit your documents
#[derive(Parser)]
#[command(name = "chunkmill", version, arg_required_else_help = true, max_term_width = 100)]
#[command(
    after_help = "Every setting has an environment variable: CHUNKMILL_MAX for --max. Flags override variables. \
                        Variables override the settings file: the one that --config names, else chunkmill.toml \
                        in this folder or a parent.\n\n\
                        Exit codes: 0 done, 1 a check failed, 2 usage or settings, 3 done but documents \
                        were quarantined, 4 dataset locked, 5 the job failed, 130 interrupted."
)]
pub struct Cli {
    #[command(flatten)]
    verbosity: Verbosity,
    #[command(subcommand)]
    command: Command,
}

#[derive(Subcommand)]
enum Command {
    /// Try chunkmill: index a small built-in corpus and search it
    Demo(demo::Args),
    /// Chunk and embed a corpus, and write a dataset
    Index(index::Args),
    /// Print what `index` would do; with --shards, split the work between processes
    Plan(shards::PlanArgs),
    /// Build one shard of a plan
    Run(shards::RunArgs),
    /// Publish the shards of a plan as one dataset
    Commit(shards::CommitArgs),
    /// Set the promotion level of a document and its chunks
    Promote(lifecycle::PromoteArgs),
    /// Delete documents from a dataset
    Delete(lifecycle::DeleteArgs),
    /// Chunk a corpus without a model; prints one JSON object per chunk
    Chunk(chunk::Args),
    /// Chunk the documents of a table: Arrow IPC stream in, Arrow IPC stream out
    Filter(filter::Args),
    /// Show where a file is cut, and why
    Explain(explain::Args),
    /// List the formats of documents that this program reads
    Formats(formats::Args),
    /// Find the chunks or documents that answer a question
    Search(search::Args),
    /// Pack the best passages for a question into a token budget, with citations
    Context(context::Args),
    /// Answer a question from those passages, with citations, through a configured language model
    Answer(answer::Args),
    /// Print counts and sizes of a dataset
    Stats(stats::Args),
    /// Show which chunks are not the same as in an earlier snapshot
    Changes(changes::Args),
    /// Bring a table of a vector database up to date, by the program `chunkmill-sync` of the Python package
    Sync(sync::Args),
    /// Check every promise of a dataset; exit code 1 if one is broken
    Verify(verify::Args),
    /// Remove leftovers of interrupted runs from a dataset
    Gc(gc::Args),
    /// Print the columns of a dataset's tables
    Schema(schema::Args),
    /// Fetch, check or list models
    Model(model::Args),
    /// Print a completion script for a shell
    Completions(CompletionArgs),
    /// Print the manual page of a command
    Man(ManArgs),
}

/// Parses and runs the command line, reports an error, and returns the exit code.
pub fn main() -> u8 {
    if let Some(code) = reading_one() {
        return code;
    }
    let Cli { verbosity, command } = parse();
    verbosity.start();
    let (quiet, verbose) = (verbosity.is_quiet(), verbosity.is_verbose());
    for remark in unknown_variables() {
        tracing::warn!("{remark}");
    }
    let result = match command {
        Command::Demo(args) => demo::run(&args),
        Command::Index(args) => index::run(args, quiet),
        Command::Plan(args) => shards::plan(args, verbose),
        Command::Run(args) => shards::run(args, quiet),
        Command::Commit(args) => shards::commit(&args, quiet),
        Command::Promote(args) => lifecycle::promote(&args),
        Command::Delete(args) => lifecycle::delete(&args),
        Command::Chunk(args) => chunk::run(args),
        Command::Filter(args) => filter::run(args),
        Command::Explain(args) => explain::run(args),
        Command::Formats(args) => formats::run(&args),
        Command::Search(args) => search::run(args),
        Command::Context(args) => context::run(args),
        Command::Answer(args) => answer::run(args),
        Command::Stats(args) => stats::run(&args),
        Command::Changes(args) => changes::run(&args),
        Command::Sync(args) => sync::run(&args),
        Command::Verify(args) => verify::run(args),
        Command::Gc(args) => gc::run(&args),
        Command::Schema(args) => schema::run(&args),
        Command::Model(args) => model::run(args),
        Command::Completions(args) => completions::<Cli>(&args),
        Command::Man(args) => man::<Cli>(&args),
    };
    finish(result)
}
