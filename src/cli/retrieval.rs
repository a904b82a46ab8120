//! A question to a dataset, as `search` and `context` take it.

use std::num::NonZeroUsize;

use super::args::ConfigArgs;
use super::flags::{ModelFlags, SearchFlags, ThreadFlags};
use super::use_threads;
use crate::config::{Config, Options};
use crate::embed::hub::ModelRef;
use crate::embed::{self, Backend, Engine, ModelInfo, PrecisionSetting, Role};
use crate::error::Error;
use crate::search::{CANDIDATES, Context, Filter, PathPattern, Query, Ranking, Searcher};
use crate::storage::Location;
use crate::store::{Dataset, Manifest};

#[derive(clap::Args)]
pub(super) struct RetrievalArgs {
    /// Where the dataset is: a folder, or a URL like `s3://BUCKET/PREFIX`
    dataset: Location,
    /// What to look for, in words; nothing in it has a special meaning
    query: String,
    /// Leave out hits with a lower score: dot product, BM25 or fused score, by the mode
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
        let embed = || embed(&self.query, dataset.manifest(), &config, named);
        let vector = config.mode.needs_vector().then(embed).transpose()?;
        let searcher = Searcher::open(dataset, config.keyword_cache)?;
        let query = Query {
            mode: config.mode,
            text: &self.query,
            vector: vector.as_deref(),
            k,
            filter,
            min_score: self.min_score,
            ranking: reaching(config.ranking, k),
            packing: config.packing,
        };
        Ok(answer(&searcher, &query)?)
    }
}

/// Lists as deep as hits are asked for, unless another depth than the default was: who asks for many wants many.
fn reaching(ranking: Ranking, k: usize) -> Ranking {
    let default = Ranking::default().depth;
    if ranking.depth == default { Ranking { depth: default.max(k), ..ranking } } else { ranking }
}

/// The vector of a question, by the model that made the dataset's.
fn embed(query: &str, manifest: &Manifest, config: &Config, named: bool) -> crate::error::Result<Vec<f32>> {
    // The dataset says what made its vectors; nothing else could read them.
    let ModelInfo { engine, precision, .. } = manifest.model;
    let backend = Backend { engine, precision: PrecisionSetting::Fixed(precision), ..config.backend };
    let model = match config.model.clone() {
        Some(model) if named => model,
        configured => recorded(&manifest.model).or_else(|error| configured.ok_or(error))?,
    };
    let embedder = embed::load(backend, &model)?;
    if embedder.info().fingerprint != manifest.model.fingerprint {
        return Err(Error::Model {
            model: embedder.info().id.clone(),
            problem: format!(
                "is not the model of the dataset ({}, fingerprint {}); its own fingerprint is {}",
                manifest.model.id,
                manifest.model.fingerprint,
                embedder.info().fingerprint
            ),
            help: "search with the same model, by --mode keyword, or index again".to_owned(),
        });
    }
    let encoded = embedder.encode(query, Role::Query)?;
    embedder.embed(&[&encoded.ids])
}

/// The model that a dataset says it was made with.
fn recorded(model: &ModelInfo) -> crate::error::Result<ModelRef> {
    let wrong =
        |problem: String| Error::Model { model: model.id.clone(), problem, help: "name it: --model FOLDER".to_owned() };
    if model.engine == Engine::Fake {
        return Ok(ModelRef::default());
    }
    let Some(revision) = &model.revision else {
        return Err(wrong("was a local folder when the dataset was made".to_owned()));
    };
    format!("{}@{revision}", model.id).parse().map_err(wrong)
}
