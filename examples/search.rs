//! Searches a dataset for a question, as `chunkmill search` does, with the model that computed its vectors.
//!
//! ```sh
//! cargo run --release --example search -- out "how long are backups kept?"
//! ```
#![allow(clippy::print_stdout, reason = "an example shows its result")]

use anyhow::{Context, ensure};
use chunkmill::config::Options;
use chunkmill::dataset::Dataset;
use chunkmill::embed;
use chunkmill::search::{Query, Searcher};
use chunkmill::storage::Location;

fn main() -> anyhow::Result<()> {
    let mut arguments = std::env::args().skip(1);
    let folder: Location = arguments.next().context("name a dataset")?.parse()?;
    let question = arguments.next().context("ask a question")?;

    let dataset = Dataset::open(folder)?;
    let config = Options::from_env()?.resolve()?;
    let embedder = config.embedder()?;
    let made_by = &dataset.manifest().model;
    ensure!(embedder.info().fingerprint == made_by.fingerprint, "the dataset needs its own model, {}", made_by.id);
    // The role matters: many models encode questions differently from documents. `Mode::Keyword` needs no vector.
    let vector = embed::query(embedder.as_ref(), &question)?;
    // Only if the dataset has sparse vectors: CHUNKMILL_SPARSE_MODEL names their model.
    let sparse = embed::sparse_query(embedder.as_ref(), &question)?;

    // Open the searcher once. It can then answer many queries, from many threads.
    let searcher = Searcher::open(dataset, config.search_cache)?;
    let query = Query { text: &question, vector: Some(&vector), sparse: sparse.as_ref(), k: 3, ..Query::default() };
    for hit in searcher.hits(&searcher.search(&query)?, false)? {
        println!("{}. {:.3} {}\n{}\n", hit.rank, hit.score, hit.citation, hit.content.trim_end());
    }
    Ok(())
}
