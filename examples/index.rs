//! Builds a dataset from a folder of documents with the default settings, as `chunkmill index` does.
//!
//! ```sh
//! cargo run --release --example index -- datasets/larder/corpus out
//! ```
#![allow(clippy::print_stdout, reason = "an example shows its result")]

use std::sync::atomic::AtomicBool;

use anyhow::Context;
use chunkmill::config::Options;
use chunkmill::corpus::Root;
use chunkmill::job::{self, Event};
use chunkmill::storage::Location;

fn main() -> anyhow::Result<()> {
    let mut arguments = std::env::args().skip(1);
    let corpus = arguments.next().context("name a folder of documents")?;
    let out: Location = arguments.next().context("name a folder for the dataset")?.parse()?;

    // Merge all sources of settings, then check them once. Here the only source is the environment.
    let config = Options::from_env()?.resolve()?;
    let embedder = config.embedder()?;
    let job = config.job(vec![Root::new(corpus)], false)?;
    // To end the job cleanly, set this flag, for example in a Ctrl-C handler. The next run resumes the job.
    let stop = AtomicBool::new(false);
    let watch = |event: Event| {
        if let Event::Discovered { documents, .. } = event {
            println!("{documents} documents found");
        }
    };
    let report = job::run(&job, &out, embedder.as_ref(), &stop, &watch)?;
    println!("{} chunks in {out}", report.manifest.counts.chunks);
    Ok(())
}
