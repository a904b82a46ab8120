//! `chunkmill chunk`: chunks as JSON lines, without a model.

use std::io::{self, Write};

use anyhow::Context;
use rayon::prelude::*;

use super::args::{ChunkArgs, CorpusArgs, ModelArgs, ThreadArgs, merge};
use super::{use_threads, warn_unused};
use crate::config::{Config, Options};
use crate::corpus::{self, Quarantined};
use crate::embed;
use crate::error::{Result, exit};
use crate::index::{self, Prepared};
use crate::tokens::{Sizer, TokenCounter, Unit};

/// Documents worked on between two writes: enough to keep every thread busy, few enough to bound
/// memory.
const BATCH: usize = 256;

#[derive(clap::Args)]
pub(super) struct Args {
    #[command(flatten)]
    corpus: CorpusArgs,
    #[command(flatten)]
    chunking: ChunkArgs,
    #[command(flatten)]
    model: ModelArgs,
    #[command(flatten)]
    threads: ThreadArgs,
}

pub(super) fn run(args: Args) -> anyhow::Result<u8> {
    let roots = args.corpus.roots()?;
    let config = merge(Options {
        corpus: args.corpus.options(),
        chunking: args.chunking.options(),
        embedding: args.model.options(),
        threads: args.threads.threads,
        ..Options::default()
    })?;
    warn_unused(&config);
    use_threads(config.threads)?;
    let counter = model_counter(&config)?;
    let sizer = Sizer::new(config.spec.unit(), counter.as_deref())?;
    let found = corpus::discover(&roots, &config.filter, &[])?;
    let mut quarantined = found.quarantined;
    let mut out = io::BufWriter::new(io::stdout().lock());
    for sources in found.sources.chunks(BATCH) {
        let lines: Vec<Result<Result<Vec<u8>, Quarantined>>> = sources
            .par_iter()
            .map(
                |source| Ok(index::prepare(source.clone(), &config.spec, sizer)?.map(|document| json_lines(&document))),
            )
            .collect();
        for lines in lines {
            match lines? {
                Ok(lines) => out.write_all(&lines).context("cannot write to standard output")?,
                Err(passed_over) => quarantined.push(passed_over),
            }
        }
    }
    out.flush().context("cannot write to standard output")?;
    for document in &quarantined {
        tracing::warn!("quarantined {}: {}", document.doc_id, document.reason);
    }
    Ok(if quarantined.is_empty() { exit::DONE } else { exit::QUARANTINED })
}

/// The tokenizer of the model, if sizes are counted with it.
pub(super) fn model_counter(config: &Config) -> Result<Option<Box<dyn TokenCounter>>> {
    let needed = config.spec.unit() == Unit::Model;
    let load = || embed::load_counter(config.engine, &config.model.clone().unwrap_or_default());
    needed.then(load).transpose()
}

fn json_lines(document: &Prepared) -> Vec<u8> {
    let mut lines = Vec::new();
    for row in &document.chunks {
        // A row is strings and numbers: it always has a JSON form.
        if serde_json::to_writer(&mut lines, row).is_ok() {
            lines.push(b'\n');
        }
    }
    lines
}
