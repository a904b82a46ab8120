//! `chunkmill index`: creates or updates a dataset.

use std::sync::atomic::AtomicBool;

use serde::Serialize;

use crate::cli::job::{JobArgs, ProgressArgs, Ready, print_report};
use crate::cli::output::{print_json, print_prose};
use crate::cli::start::warn_of_settings;
use crate::embed::{BatchProgress, Embedder};
use crate::error::exit;
use crate::job::{self, Job};
use crate::storage::Location;
use crate::value::count;

/// Shown below the help.
const EXAMPLES: &str = "Examples:\n\
\x20 chunkmill index docs -o out\n\
\x20 chunkmill index guide=docs/guide api=docs/api -o out    one collection each\n\
\x20 chunkmill index docs -o out --preset ragdocs --max 800\n\
\x20 chunkmill index docs -o out --model BAAI/bge-small-en-v1.5 --precision int8\n\
\x20 chunkmill index s3://bucket/docs -o s3://bucket/out";

#[derive(clap::Args)]
#[command(after_help = EXAMPLES)]
#[expect(clippy::struct_excessive_bools, reason = "each is a flag of its own")]
pub(crate) struct Args {
    #[command(flatten)]
    job: JobArgs,
    /// Rebuild the whole dataset (cached vectors are still used)
    #[arg(long, help_heading = "Running")]
    fresh: bool,
    /// Delete the documents that the corpus no longer has, even if they are more than half of the dataset
    #[arg(long, help_heading = "Running")]
    allow_shrink: bool,
    /// Have the texts computed later by OpenAI's batches, for less: hand them over and end with exit code 6. The same command
    /// makes the dataset once the vectors are there
    #[arg(long, help_heading = "Embedding service")]
    batch: bool,
    /// Print the result as one JSON object
    #[arg(long, help_heading = "Running")]
    json: bool,
    #[command(flatten)]
    progress: ProgressArgs,
}

/// The output of `--json` if vectors are computed later.
#[derive(Serialize)]
struct Waiting {
    /// Number of texts that were handed over by this run.
    submitted: usize,
    /// Number of texts that are not computed yet, with these.
    waiting: usize,
}

/// Fetches vectors that were handed over for later and, with `--batch`, hands over those that are missing. Returns the exit
/// code if there is something to wait for.
fn later(
    job: &Job,
    out: &Location,
    embedder: &dyn Embedder,
    batch: bool,
    json: bool,
    stop: &AtomicBool,
) -> anyhow::Result<Option<u8>> {
    let BatchProgress { received, failed, waiting } = job::collect(job, embedder)?;
    if received + failed > 0 {
        tracing::info!("{} came from batches, {failed} did not", count(received, "vector"));
    }
    // Sent one by one, what is under way would be paid for twice.
    let mut submitted = Waiting { submitted: 0, waiting };
    if batch && waiting == 0 {
        submitted.submitted = job::submit(job, out, embedder, stop)?;
        submitted.waiting = submitted.submitted;
    }
    if submitted.waiting == 0 {
        return Ok(None);
    }
    if json {
        print_json(&submitted)?;
    } else {
        let new = match submitted.submitted {
            0 => String::new(),
            new => format!(", {new} of them handed over now"),
        };
        let waiting = count(submitted.waiting, "text");
        print_prose(format!("{waiting} to be computed by the service{new}: run the same command again later"))?;
    }
    Ok(Some(exit::WAITING))
}

pub(crate) fn run(args: Args, quiet: bool) -> anyhow::Result<u8> {
    let (roots, out) = (args.job.corpus.roots()?, args.job.out.clone());
    let config = args.job.options()?.resolve()?;
    warn_of_settings(&config);
    let Ready { mut job, embedder, stop } = Ready::new(roots, config, args.fresh)?;
    job.allow_shrink = args.allow_shrink;
    if let Some(code) = later(&job, &out, embedder.as_ref(), args.batch, args.json, &stop)? {
        return Ok(code);
    }
    let progress = args.progress.start(quiet)?;
    let result = job::run(&job, &out, embedder.as_ref(), &stop, &|event| progress.on(event));
    progress.finish();
    print_report(&result?, &out.to_string(), args.json, quiet)
}
