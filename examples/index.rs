//! Makes a dataset of a folder of documents with the default settings, as `chunkmill index` does.
//!
//! ```sh
//! cargo run --release --example index -- datasets/larder/corpus out
//! ```
#![allow(clippy::print_stdout, reason = "an example shows its result")]

use std::sync::atomic::AtomicBool;

use anyhow::Context;
use chunkmill::config::Options;
use chunkmill::corpus::Root;
use chunkmill::index::{self, Event};
use chunkmill::storage::Location;

fn main() -> anyhow::Result<()> {
    let mut arguments = std::env::args().skip(1);
    let corpus = arguments.next().context("name a folder of documents")?;
    let out: Location = arguments.next().context("name a folder for the dataset")?.parse()?;

    // Settings are merged first and checked once: here those of the environment alone.
    let config = Options::from_env()?.resolve()?;
    let embedder = config.embedder()?;
    let job = config.job(vec![Root::new(corpus)], false);
    // Setting it from a handler of Ctrl-C ends the job cleanly; the next run goes on where it was.
    let stop = AtomicBool::new(false);
    let watch = |event: Event| {
        if let Event::Discovered { documents, .. } = event {
            println!("{documents} documents found");
        }
    };
    let report = index::run(&job, &out, embedder.as_ref(), &stop, &watch)?;
    println!("{} chunks in {out}", report.manifest.counts.chunks);
    Ok(())
}
