//! The command line of `chunkmill-eval`.

mod import;
mod synth;
mod verify;

use std::io::{self, Write};

use chunkmill::error::{Error, exit};
use clap::{Parser, Subcommand};

/// Measure which chunk settings retrieve best, and at what cost.
#[derive(Parser)]
#[command(name = "chunkmill-eval", version, about, arg_required_else_help = true)]
#[command(after_help = "Exit codes: 0 done, 1 a check failed, 2 usage or settings, 5 the job failed.")]
struct Cli {
    #[command(subcommand)]
    command: Command,
}

#[derive(Subcommand)]
enum Command {
    /// Make a set of labels from another project's
    #[command(subcommand)]
    Import(import::Format),
    /// Make up questions from documents that have none
    Synth(synth::Args),
    /// Check that every label still fits its document; exit code 1 if one has drifted
    Verify(verify::Args),
}

/// Parses the command line, runs it, reports an error, and gives the exit code.
#[must_use]
pub fn main() -> u8 {
    let Cli { command } = Cli::parse();
    let result = match command {
        Command::Import(format) => import::run(&format),
        Command::Synth(args) => synth::run(&args),
        Command::Verify(args) => verify::run(&args),
    };
    result.unwrap_or_else(|error| {
        let _ = writeln!(io::stderr(), "error: {error:#}");
        error.downcast_ref::<Error>().map_or(exit::FAILED, Error::exit_code)
    })
}
