//! `chunkmill index`: creates or updates a dataset.

use crate::cli::job::{JobArgs, ProgressArgs, Ready, print_report};
use crate::cli::start::warn_of_settings;
use crate::job;

/// Shown below the help.
const EXAMPLES: &str = "Examples:\n\
\x20 chunkmill index docs -o out\n\
\x20 chunkmill index guide=docs/guide api=docs/api -o out    one collection each\n\
\x20 chunkmill index docs -o out --preset ragdocs --max 800\n\
\x20 chunkmill index docs -o out --model BAAI/bge-small-en-v1.5 --precision int8\n\
\x20 chunkmill index s3://bucket/docs -o s3://bucket/out";

#[derive(clap::Args)]
#[command(after_help = EXAMPLES)]
pub(crate) struct Args {
    #[command(flatten)]
    job: JobArgs,
    /// Rebuild the whole dataset (cached vectors are still used)
    #[arg(long, help_heading = "Running")]
    fresh: bool,
    /// Delete the documents that the corpus no longer has, even if they are more than half of the dataset
    #[arg(long, help_heading = "Running")]
    allow_shrink: bool,
    /// Print the result as one JSON object
    #[arg(long, help_heading = "Running")]
    json: bool,
    #[command(flatten)]
    progress: ProgressArgs,
}

pub(crate) fn run(args: Args, quiet: bool) -> anyhow::Result<u8> {
    let (roots, out) = (args.job.corpus.roots()?, args.job.out.clone());
    let config = args.job.options()?.resolve()?;
    warn_of_settings(&config);
    let Ready { mut job, embedder, stop } = Ready::new(roots, config, args.fresh)?;
    job.allow_shrink = args.allow_shrink;
    let progress = args.progress.start(quiet)?;
    let result = job::run(&job, &out, embedder.as_ref(), &stop, &|event| progress.on(event));
    progress.finish();
    print_report(&result?, &out.to_string(), args.json, quiet)
}
