//! `chunkmill chunk`: chunks as JSON lines, without a model.

use std::io::{self, Write};

use anyhow::Context;
use rayon::prelude::*;

use super::args::{ChunkArgs, CorpusArgs, ModelArgs, ThreadArgs, merge};
use super::{use_threads, warn_unused};
use crate::config::{Config, Options};
use crate::corpus::{self, Quarantined, Source};
use crate::embed;
use crate::error::{Result, exit};
use crate::index::{Prepared, Recipe};
use crate::store::ChunkRow;
use crate::tokens::{Sizer, TokenCounter, Unit, load_cl100k};

/// Documents worked on between two writes: enough to keep every thread busy, few enough to bound
/// memory.
const BATCH: usize = 256;

const CANNOT_WRITE: &str = "cannot write to standard output";

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
    load_cl100k();
    let counter = model_counter(&config)?;
    let sizer = Sizer::new(config.spec.unit(), counter.as_deref())?;
    let found = corpus::discover(&roots, &config.filter, &[])?;
    let recipe = Recipe { spec: &config.spec, sizer, admission: config.admission, levels: None };
    let mut quarantined = found.quarantined;
    let mut out = io::BufWriter::with_capacity(1 << 16, io::stdout().lock());
    for sources in found.sources.chunks(BATCH) {
        let prepare = |source: &Source| recipe.prepare(source.clone());
        let prepared: Vec<Result<Result<Prepared, Quarantined>>> = sources.par_iter().map(prepare).collect();
        for document in prepared {
            match document? {
                Ok(document) => document.chunks.iter().try_for_each(|row| write_line(&mut out, row))?,
                Err(passed_over) => quarantined.push(passed_over),
            }
        }
    }
    out.flush().context(CANNOT_WRITE)?;
    for document in &quarantined {
        tracing::warn!("quarantined {}: {}", document.doc_id, document.reason);
    }
    Ok(if quarantined.is_empty() { exit::DONE } else { exit::QUARANTINED })
}

/// The tokenizer of the model, if sizes are counted with it.
pub(super) fn model_counter(config: &Config) -> Result<Option<Box<dyn TokenCounter>>> {
    let needed = config.spec.unit() == Unit::Model;
    needed.then(|| load_counter(config)).transpose()
}

pub(super) fn load_counter(config: &Config) -> Result<Box<dyn TokenCounter>> {
    embed::load_counter(config.backend.engine, &config.model.clone().unwrap_or_default())
}

/// Rows are written one at a time: what a document's chunks share would, written out, be large.
fn write_line(out: &mut impl Write, row: &ChunkRow) -> anyhow::Result<()> {
    serde_json::to_writer(&mut *out, row).map_err(io::Error::from).context(CANNOT_WRITE)?;
    out.write_all(b"\n").context(CANNOT_WRITE)
}
