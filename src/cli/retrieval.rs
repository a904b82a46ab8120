//! A question to a dataset, as `search` and `context` take it.

use std::num::NonZeroUsize;

use super::args::ConfigArgs;
use super::flags::{ModelFlags, SearchFlags, ThreadFlags};
use super::use_threads;
use crate::config::Options;
use crate::embed;
use crate::search::{CANDIDATES, Context, Filter, PathPattern, Query, Searcher};
use crate::storage::Location;
use crate::store::Dataset;

#[derive(clap::Args)]
pub(super) struct RetrievalArgs {
    /// Where the dataset is: a folder, or a URL like `s3://BUCKET/PREFIX`
    dataset: Location,
    /// What to look for, in words; nothing in it has a special meaning
    query: String,
    /// Leave out hits with a lower score: dot product, BM25 or fused score, by the mode; the reranker's with --rerank
    #[arg(long, value_name = "SCORE", allow_negative_numbers = true)]
    min_score: Option<f64>,
    #[command(flatten)]
    search: SearchFlags,
    #[command(flatten)]
    filter: FilterArgs,
    #[command(flatten)]
    model: ModelFlags,
    #[command(flatten)]
    threads: ThreadFlags,
    #[command(flatten)]
    config: ConfigArgs,
}

/// What is packed for a reader.
#[derive(clap::Args)]
pub(super) struct ContextArgs {
    #[command(flatten)]
    retrieval: RetrievalArgs,
    /// Most tokens, in the dataset's encoding, of the passages with their labels
    #[arg(long, value_name = "N", default_value = "2000")]
    pub(super) budget: NonZeroUsize,
    /// How many of the best chunks are considered
    #[arg(short, value_name = "N", default_value_t = CANDIDATES)]
    k: usize,
}

impl ContextArgs {
    /// Which settings file.
    pub(super) fn config(&self) -> &ConfigArgs {
        &self.retrieval.config
    }

    /// The question, and the passages for it that fit the budget.
    pub(super) fn pack(self) -> anyhow::Result<(String, Context)> {
        let budget = self.budget.get();
        self.retrieval.ask(self.k, |searcher, query| {
            Ok((query.text.to_owned(), searcher.context(&searcher.search(query)?, budget, query.packing())?))
        })
    }
}

/// Which chunks may be found.
#[derive(clap::Args)]
#[command(next_help_heading = "Filters, applied before the best are chosen")]
struct FilterArgs {
    /// Only this collection; repeated: one of them
    #[arg(long, value_name = "NAME")]
    collection: Vec<String>,
    /// Only documents with this promotion level; repeated: one of them
    #[arg(long, value_name = "LEVEL")]
    promotion_level: Vec<String>,
    /// Only this document, below this folder, or paths that match this glob; repeated: one of them
    #[arg(long, value_name = "PATH|GLOB")]
    path: Vec<String>,
    /// Only under this heading: `Guide > Install`, as far down as wanted; repeated: one of them
    #[arg(long, value_name = "HEADINGS")]
    heading: Vec<String>,
    /// Only documents with this tag; repeated: with all of them
    #[arg(long, value_name = "TAG")]
    tag: Vec<String>,
}

impl FilterArgs {
    fn filter(self) -> crate::error::Result<Filter> {
        let Self { collection, promotion_level, path, heading, tag } = self;
        let paths: Vec<PathPattern> = path.iter().map(|path| path.parse()).collect::<Result<_, _>>()?;
        Ok(Filter { collections: collection, promotion_levels: promotion_level, paths, headings: heading, tags: tag })
    }
}

impl RetrievalArgs {
    /// Opens the dataset, embeds the question if need be, and hands both over.
    pub(super) fn ask<T>(
        self,
        k: usize,
        answer: impl FnOnce(&Searcher, &Query<'_>) -> crate::error::Result<T>,
    ) -> anyhow::Result<T> {
        let dataset = Dataset::open(&self.dataset)?;
        let named = self.model.0.model.is_some();
        let config = self.config.resolve(Options {
            embedding: self.model.0,
            search: self.search.0,
            run: self.threads.0,
            ..Options::default()
        })?;
        use_threads(config.threads)?;
        let filter = self.filter.filter()?;
        let embed = || embed::query(config.embedder_of(dataset.manifest(), named)?.as_ref(), &self.query);
        let vector = config.mode.needs_vector().then(embed).transpose()?;
        let searcher = Searcher::open(dataset, config.keyword_cache.clone())?;
        let reranker = config.reranker()?;
        let query = Query {
            vector: vector.as_deref(),
            filter,
            min_score: self.min_score,
            rerank: config.rerank(reranker.as_deref()),
            ..config.query(&self.query, k)
        };
        Ok(answer(&searcher, &query)?)
    }
}
