//! The command line of `chunkmill-eval`.

use std::io::{self, Write};
use std::path::{Path, PathBuf};

use anyhow::Context;
use chunkmill::error::{Error, exit};
use clap::{Parser, Subcommand};
use serde_json::json;

use crate::labels::LabelSet;

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
    /// Check that every label still fits its document
    Verify {
        /// Folder with corpus/ and queries.jsonl
        set: PathBuf,
        /// Print one JSON object
        #[arg(long)]
        json: bool,
    },
}

/// Parses the command line, runs it, reports an error, and gives the exit code.
#[must_use]
pub fn main() -> u8 {
    let Cli { command } = Cli::parse();
    let result = match command {
        Command::Verify { set, json } => verify(&set, json),
    };
    result.unwrap_or_else(|error| {
        let _ = writeln!(io::stderr(), "error: {error:#}");
        error.downcast_ref::<Error>().map_or(exit::FAILED, Error::exit_code)
    })
}

fn verify(set: &Path, json: bool) -> anyhow::Result<u8> {
    let labels = LabelSet::read(set)?;
    let found = labels.verify()?;
    let mut out = io::stdout().lock();
    if json {
        let drifted: Vec<_> = found
            .drifted
            .iter()
            .map(|drift| {
                json!({
                    "query_id": drift.query_id,
                    "doc_id": drift.doc_id,
                    "start": drift.range.start,
                    "end": drift.range.end,
                    "problem": drift.kind.describe(),
                })
            })
            .collect();
        let summary = json!({
            "documents": found.documents,
            "queries": labels.queries.len(),
            "references": found.references,
            "drifted": drifted,
        });
        writeln!(out, "{summary}")
    } else {
        for drift in &found.drifted {
            let (range, problem) = (&drift.range, drift.kind.describe());
            writeln!(out, "drifted {}: {} {}..{}: {problem}", drift.query_id, drift.doc_id, range.start, range.end)
                .context("cannot write to standard output")?;
        }
        writeln!(
            out,
            "{} queries, {} references to {} documents, {} drifted",
            labels.queries.len(),
            found.references,
            found.documents,
            found.drifted.len()
        )
    }
    .context("cannot write to standard output")?;
    Ok(if found.drifted.is_empty() { exit::DONE } else { exit::CHECK_FAILED })
}
