//! Search over a dataset: chunks and documents that answer a question, and passages that fit a budget.
//!
//! A [`Searcher`] is opened once over a snapshot and then asked many times, from many threads.
//!
//! | file | question it answers |
//! | --- | --- |
//! | `filter` | Which chunks may be found at all? |
//! | `hit` | What is shown of what was found? |
//! | `context` | What of it fits a token budget? |

mod context;
mod filter;
mod hit;

pub use context::{CANDIDATES, Context, Packing, Passage};
pub use filter::{Filter, PathPattern};
pub(crate) use hit::Show;
pub use hit::{DocumentHit, Hit, Place};

pub use crate::ranking::{
    DocumentInfo, FieldWeights, Found, Fusion, Language, LanguageSetting, Mode, Part, Parts, Ranking, Share, Weight,
};
#[doc(hidden)] // The harness asks what another store would find.
pub use crate::ranking::{StoredAs, StoredValue};

use std::fmt;
use std::path::PathBuf;
use std::sync::OnceLock;

use crate::embed::Reranker;
use crate::error::Result;
use crate::ranking::{Question, Ranker, Rows};
use crate::store::Dataset;

/// A question, and how to answer it.
#[derive(Debug, Clone, Default)]
pub struct Query<'q> {
    /// How to search.
    pub mode: Mode,
    /// The question: its words are the keywords. Every text is a valid one.
    pub text: &'q str,
    /// Its vector, by the model of the dataset. Keyword search needs none.
    pub vector: Option<&'q [f32]>,
    /// How many chunks, or documents, to find.
    pub k: usize,
    /// Which chunks may be found.
    pub filter: Filter,
    /// Lowest score of a hit: dot product, BM25 or fused score, by the mode; the reranker's, if there is one.
    pub min_score: Option<f64>,
    /// How chunks are ranked.
    pub ranking: Ranking,
    /// In which order a context is filled, where scores tell.
    pub packing: Packing,
    /// What puts the best chunks in order, if not the ranking.
    pub rerank: Option<Rerank<'q>>,
}

/// How the best chunks of a ranking are put in order anew.
#[derive(Clone, Copy)]
pub struct Rerank<'q> {
    /// What reads each with the question. Its scores take the place of the ranking's.
    pub reranker: &'q dyn Reranker,
    /// How many chunks it reads; no others are found.
    pub depth: usize,
}

impl fmt::Debug for Rerank<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Rerank").field("reranker", &self.reranker.id()).field("depth", &self.depth).finish()
    }
}

impl Query<'_> {
    /// In which order a context of what it finds is filled.
    #[must_use]
    pub fn packing(&self) -> Packing {
        match (self.mode, self.ranking.fusion) {
            (Mode::Hybrid | Mode::Graph, Fusion::Linear) if self.rerank.is_none() => self.packing,
            _ => Packing::Rank,
        }
    }
}

/// A snapshot that is open for search.
#[derive(Debug)]
pub struct Searcher {
    ranker: Ranker,
    /// Of all chunks by row, once they were asked for.
    texts: OnceLock<Vec<context::Text>>,
}

impl Searcher {
    /// Reads what is known of every chunk and document; about 50 bytes for a chunk stay in memory. Keyword
    /// indexes are kept in the folder `keyword_cache`, which is made if need be, or nowhere.
    ///
    /// # Errors
    /// [`Error::Dataset`](crate::error::Error::Dataset) if a file is damaged or gone.
    pub fn open(dataset: Dataset, keyword_cache: Option<PathBuf>) -> Result<Self> {
        Self::open_as(dataset, keyword_cache, StoredAs::default())
    }

    /// The same with vectors as another store would keep them, to see what that would find.
    ///
    /// # Errors
    /// Those of [`Searcher::open`].
    #[doc(hidden)] // See `StoredAs`.
    pub fn open_as(dataset: Dataset, keyword_cache: Option<PathBuf>, stored_as: StoredAs) -> Result<Self> {
        Ok(Self { ranker: Ranker::open(dataset, keyword_cache, stored_as)?, texts: OnceLock::new() })
    }

    /// The dataset.
    #[must_use]
    pub fn dataset(&self) -> &Dataset {
        self.ranker.dataset()
    }

    /// Number of chunks.
    #[must_use]
    pub fn len(&self) -> usize {
        self.rows().len()
    }

    /// Whether there are no chunks.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    fn rows(&self) -> &Rows {
        self.ranker.rows()
    }

    /// Reads what a mode needs, so that the first question does not wait for it: all vectors, four bytes a
    /// value; the indexes of words; the links.
    ///
    /// # Errors
    /// [`Error::Dataset`](crate::error::Error::Dataset) if a file is damaged or gone.
    pub fn prepare(&self, mode: Mode, ranking: &Ranking) -> Result<()> {
        self.ranker.prepare(mode, ranking)
    }

    /// The best `k` chunks, best first; equal scores stand in order of document and position.
    ///
    /// # Errors
    /// [`Error::Dataset`](crate::error::Error::Dataset) if a file is damaged or gone,
    /// [`Error::Setting`](crate::error::Error::Setting) if the query's vector is missing or has another dimension than the
    /// dataset, [`Error::Embed`](crate::error::Error::Embed) from a reranker.
    pub fn search(&self, query: &Query<'_>) -> Result<Vec<Found>> {
        let mask = query.filter.mask(self.rows());
        let &Query { mode, text, vector, ref ranking, .. } = query;
        let best = |k| self.ranker.best(Question { mode, text, vector, ranking }, k, mask.as_deref());
        let mut found = match query.rerank {
            None => best(query.k)?,
            Some(Rerank { reranker, depth }) => {
                let mut found = self.reranked(best(depth)?, text, reranker)?;
                found.truncate(query.k);
                found
            }
        };
        if let Some(least) = query.min_score {
            found.retain(|found| found.score >= least);
        }
        Ok(found)
    }

    /// What was found, best first as a reranker says; of equals, the one that was better before.
    fn reranked(&self, mut found: Vec<Found>, question: &str, reranker: &dyn Reranker) -> Result<Vec<Found>> {
        let rows: Vec<u32> = found.iter().map(|found| found.row).collect();
        let texts = self.rows().fetch(self.dataset(), &rows, ["content"])?;
        let texts: Vec<&str> = texts.iter().map(|[content]| content.as_str()).collect();
        for (found, score) in found.iter_mut().zip(reranker.scores(question, &texts)?) {
            found.score = score.into();
        }
        found.sort_by(|a, b| b.score.total_cmp(&a.score));
        Ok(found)
    }

    /// The best `k` chunks by vector for each of several queries, which share the reading of the vectors: the
    /// same as [`Searcher::search`] gives for each, in less time.
    ///
    /// # Errors
    /// Those of [`Searcher::search`].
    pub fn nearest(&self, queries: &[&[f32]], k: usize, filter: &Filter) -> Result<Vec<Vec<Found>>> {
        self.ranker.nearest(queries, k, filter.mask(self.rows()).as_deref())
    }
}
