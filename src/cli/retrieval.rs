//! Arguments for a question to a dataset, shared by `search`, `context` and `answer`.

use std::num::NonZeroUsize;
use std::path::Path;

use super::args::ConfigArgs;
use super::flags::{ModelFlags, QuestionServiceFlags, SearchFlags, ThreadFlags};
use super::start::use_threads;
use crate::config::Options;
use crate::dataset::Dataset;
use crate::embed::known::KnownModel;
use crate::error::Error;
use crate::search::{
    CANDIDATES, Context, Filter, FoundChunk, Mode, Packing, PathPattern, Query, QuestionVectors, Ranking, Searcher,
    Share,
};
use crate::storage::Location;
use crate::value::{Value, count};

/// Default number of the best chunks to consider for a context.
const DEFAULT_K: NonZeroUsize = NonZeroUsize::new(CANDIDATES).expect("some are considered");

#[derive(clap::Args)]
pub(super) struct RetrievalArgs {
    /// The dataset: a folder, or a URL such as `s3://BUCKET/PREFIX`
    dataset: Location,
    /// The question, in plain words; there is no query syntax
    #[arg(value_parser = question)]
    query: String,
    /// Drop hits with a lower score. The scale depends on --mode; with --rerank-weight 0 it is the reranker's score
    #[arg(long, value_name = "SCORE", allow_negative_numbers = true, value_parser = f64::read)]
    min_score: Option<f64>,
    #[command(flatten)]
    search: SearchFlags,
    #[command(flatten)]
    filter: FilterArgs,
    #[command(flatten)]
    model: ModelFlags,
    #[command(flatten)]
    service: QuestionServiceFlags,
    #[command(flatten)]
    threads: ThreadFlags,
    #[command(flatten)]
    config: ConfigArgs,
}

/// A question, and a token budget for the passages.
#[derive(clap::Args)]
pub(super) struct ContextArgs {
    #[command(flatten)]
    retrieval: RetrievalArgs,
    /// Largest number of tokens of all passages and their labels, in the dataset's encoding
    #[arg(
        long,
        value_name = "N",
        default_value = "2000",
        allow_negative_numbers = true,
        value_parser = NonZeroUsize::read
    )]
    budget: NonZeroUsize,
    /// How many of the best chunks to consider
    #[arg(
        short,
        value_name = "N",
        default_value_t = DEFAULT_K,
        allow_negative_numbers = true,
        value_parser = NonZeroUsize::read
    )]
    k: NonZeroUsize,
}

/// A question with its passages.
pub(super) struct PackedQuestion {
    pub(super) question: String,
    pub(super) context: Context,
    /// Words of the question that no document has, if no passage is likely to answer it. None if `--least` is 0: then the
    /// passages are wanted however unlikely they are.
    pub(super) lacks: Vec<String>,
}

impl ContextArgs {
    /// Returns the arguments that name the settings file.
    pub(super) fn config(&self) -> &ConfigArgs {
        &self.retrieval.config
    }

    /// Returns the question with the passages that fit the budget.
    pub(super) fn pack(self) -> anyhow::Result<PackedQuestion> {
        let budget = self.budget.get();
        self.retrieval.ask(self.k.get(), |searcher, query| {
            let found = searcher.search(query)?;
            let rule = query.fill_rule();
            let context = searcher.context(&found, budget, rule)?;
            let mut lacks = warn_of_unlikely(searcher, query, context.chance)?;
            if query.fill.least == Share::ZERO {
                lacks.clear();
            }
            if context.passages.is_empty() {
                warn_of_none(&found, &context, rule.least);
            } else {
                warn_of_best(searcher, &found, &context)?;
            }
            Ok(PackedQuestion { question: query.text.to_owned(), context, lacks })
        })
    }
}

/// Chance below which a question may have no answer here. The best passage is below it for 4 % of larder's questions that
/// have an answer and for none of three other sets', and for half or more of the questions about something else.
const UNLIKELY: f64 = 0.03;

/// Warns if the best chance of a result says that the documents may not answer the question. Returns the words that they do
/// not have: if there are any, the question is almost certainly about something else.
pub(super) fn warn_of_unlikely(
    searcher: &Searcher,
    query: &Query<'_>,
    best: Option<f64>,
) -> crate::error::Result<Vec<String>> {
    let Some(best) = best.filter(|best| *best < UNLIKELY) else { return Ok(Vec::new()) };
    let unknown = searcher.unknown_words(query.text, &query.ranking)?;
    let words: Vec<String> = unknown.iter().map(|word| format!("`{word}`")).collect();
    let lacks = if words.is_empty() { String::new() } else { format!("; no document has {}", words.join(", ")) };
    let best = percent(best);
    tracing::warn!("the documents may not answer this question: the best passage does with a chance of {best}{lacks}");
    Ok(unknown)
}

/// Warns if the documents are in languages that the model was not trained for, and their vectors count as usual.
fn warn_of_language(searcher: &Searcher, query: &Query<'_>) -> crate::error::Result<()> {
    let model = &searcher.dataset().manifest().model.id;
    let is_usual = matches!(query.mode, Mode::Hybrid | Mode::Graph)
        && query.ranking.vector_share == Ranking::default().vector_share;
    let is_english = KnownModel::find(model).is_some_and(KnownModel::is_english);
    if is_usual && is_english && !searcher.is_english(&query.ranking)? {
        tracing::warn!(
            "most documents are not in English, and {model} was trained for English; `--vector-share 0.2` or `--mode keyword` \
             may find more, and so may a model for many languages (`chunkmill model list`)"
        );
    }
    Ok(())
}

/// Writes a chance in percent, with a digit after the point if it is small.
pub(super) fn percent(chance: f64) -> String {
    let percent = 100.0 * chance;
    if percent < 0.95 { format!("{percent:.1} %") } else { format!("{percent:.0} %") }
}

/// Says why a context is empty.
fn warn_of_none(found: &[FoundChunk], context: &Context, least: Share) {
    if found.is_empty() {
        tracing::warn!("no passage was found");
    } else if context.chance.is_some_and(|chance| chance < least.get()) {
        let least = percent(least.get());
        tracing::warn!(
            "no passage holds evidence with a chance of at least {least}; to see the best ones, lower --least"
        );
    } else {
        let budget = count(context.budget, "token");
        tracing::warn!("not even the first line of the best chunk fits {budget}; raise --budget");
    }
}

/// Warns if the best passage is not in the context, or only its first lines, because it exceeds the budget alone.
fn warn_of_best(searcher: &Searcher, found: &[FoundChunk], context: &Context) -> crate::error::Result<()> {
    let is_whole = context.passages.iter().any(|passage| passage.rank == 1 && !passage.cut);
    let Some(best) = found.get(..1).filter(|_| !is_whole) else { return Ok(()) };
    let whole = searcher.context(best, usize::MAX, Packing::Rank)?;
    if whole.tokens > context.budget {
        let tokens = count(whole.tokens, "token");
        tracing::warn!("the best passage has {tokens} and does not fit into the budget; raise --budget");
    }
    Ok(())
}

/// Parses a question.
fn question(text: &str) -> Result<String, &'static str> {
    if text.trim().is_empty() { Err("the question is empty") } else { Ok(text.to_owned()) }
}

/// The heading of the filters in the help.
const FILTERS: &str = "Filters (applied before ranking)";

/// Filters on the chunks that can be found.
#[derive(clap::Args)]
struct FilterArgs {
    /// Only this collection; repeat to allow several
    #[arg(long, help_heading = FILTERS, value_name = "NAME")]
    collection: Vec<String>,
    /// Only documents with this promotion level; repeat to allow several
    #[arg(long, help_heading = FILTERS, value_name = "LEVEL")]
    promotion_level: Vec<String>,
    /// Only this document, this folder, or paths that match this glob; repeat to allow several
    #[arg(long, help_heading = FILTERS, value_name = "PATH|GLOB")]
    path: Vec<PathPattern>,
    /// Only below this heading path, such as `Guide > Install`; repeat to allow several
    #[arg(long, help_heading = FILTERS, value_name = "HEADINGS")]
    heading: Vec<String>,
    /// Only documents with this tag, in any case, or one nested below it; repeat to require all of them
    #[arg(long, help_heading = FILTERS, value_name = "TAG")]
    tag: Vec<String>,
}

impl FilterArgs {
    fn filter(self) -> Filter {
        let Self { collection, promotion_level, path, heading, tag } = self;
        Filter {
            collections: collection,
            promotion_levels: promotion_level,
            paths: path,
            headings: heading,
            tags: tag,
            ..Filter::default()
        }
    }
}

impl RetrievalArgs {
    /// Returns the question.
    pub(super) fn question(&self) -> &str {
        &self.query
    }

    /// Opens the dataset.
    fn open(&self) -> crate::error::Result<Dataset> {
        let opened = Dataset::open(&self.dataset);
        let is_dataset = |text: &str| text.parse().is_ok_and(|at: Location| Dataset::open(&at).is_ok());
        if opened.is_err() && Path::new(&self.query).is_dir() && is_dataset(&self.query) {
            return Err(Error::setting(
                self.dataset.to_string(),
                format!("is not a dataset, but `{}` is", self.query),
                "the dataset comes first, then the question",
            ));
        }
        opened
    }

    /// Returns the least score that results must have, if one was given.
    pub(super) fn least(&self) -> Option<f64> {
        self.min_score
    }

    /// Opens the dataset, embeds the question if the mode needs a vector, and passes both to `answer`.
    pub(super) fn ask<T>(
        self,
        k: usize,
        answer: impl FnOnce(&Searcher, &Query<'_>) -> crate::error::Result<T>,
    ) -> anyhow::Result<T> {
        let dataset = self.open()?;
        let named = [self.model.0.model.is_some(), self.model.0.sparse_model.is_some()];
        let config = self.config.resolve(Options {
            embedding: self.model.0,
            service: self.service.0,
            search: self.search.0,
            run: self.threads.0,
            ..Options::default()
        })?;
        use_threads(config.threads)?;
        let filter = self.filter.filter();
        let manifest = dataset.manifest();
        let embedder = || config.embedder_of(manifest, named[0]);
        let QuestionVectors { vector, sparse } =
            config.question(&self.query, embedder, || config.sparse_of(manifest, named[1]))?;
        let searcher = Searcher::open(dataset, config.search_cache.clone())?;
        for remark in searcher.unmet(&filter)? {
            tracing::warn!("{remark}");
        }
        let reranker = config.reranker()?;
        let query = Query {
            vector: vector.as_deref(),
            sparse: sparse.as_ref(),
            filter,
            min_score: self.min_score,
            rerank: config.rerank(reranker.as_deref()),
            ..config.query(&self.query, k)
        };
        warn_of_language(&searcher, &query)?;
        Ok(answer(&searcher, &query)?)
    }
}
