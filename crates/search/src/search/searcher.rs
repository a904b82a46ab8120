//! A dataset that is open for search.

use std::path::PathBuf;
use std::sync::OnceLock;

use chunkmill_base::error::Result;
use chunkmill_dataset::dataset::Dataset;
use chunkmill_text::chunk::Context;
use chunkmill_text::document::without_data_urls;
use chunkmill_text::similarity::Shingles;

use super::filter::Filter;
use super::query::Query;
use crate::ranking::{FoundChunk, Mode, Question, Ranker, Ranking, Rows, StoredAs};

/// A snapshot that is open for search.
#[derive(Debug)]
pub struct Searcher {
    pub(super) ranker: Ranker,
    /// Texts of all chunks by row, once they have been requested.
    pub(super) texts: OnceLock<Vec<Text>>,
}

impl Searcher {
    /// Opens everything about chunks and documents except the texts. It is cached in the folder `cache`, as are the vectors
    /// and the keyword indexes when they are first needed, in files that are mapped into memory. The folder is created if
    /// necessary; `None` turns caching off. Cached data is not read from the dataset, so damage to its files may stay unnoticed.
    ///
    /// # Errors
    /// [`Error::Dataset`](chunkmill_base::error::Error::Dataset) if a file is damaged or missing.
    pub fn open(dataset: Dataset, cache: Option<PathBuf>) -> Result<Self> {
        Self::open_as(dataset, cache, StoredAs::default())
    }

    /// Opens a dataset with the vectors as another store would keep them, to see what that store would find.
    pub fn open_as(dataset: Dataset, cache: Option<PathBuf>, stored_as: StoredAs) -> Result<Self> {
        Ok(Self { ranker: Ranker::open(dataset, cache, stored_as)?, texts: OnceLock::new() })
    }

    /// Returns the dataset.
    pub fn dataset(&self) -> &Dataset {
        self.ranker.dataset()
    }

    /// Returns the number of chunks.
    pub fn len(&self) -> usize {
        self.rows().len()
    }

    /// Returns whether there are no chunks.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    pub(super) fn rows(&self) -> &Rows {
        self.ranker.rows()
    }

    /// Loads the data that a mode needs, so the first question does not wait for it: the vectors of the most exact column
    /// (four bytes per value in floats) and of the smallest, the keyword indexes, and the links.
    ///
    /// # Errors
    /// [`Error::Dataset`](chunkmill_base::error::Error::Dataset) if a file is damaged or missing.
    pub fn prepare(&self, mode: Mode, ranking: &Ranking) -> Result<()> {
        self.ranker.prepare(mode, ranking)
    }

    /// Returns a remark on each condition of a filter that nothing in the dataset meets, such as a path that does not
    /// exist, with the name that was most likely meant.
    ///
    /// # Errors
    /// [`Error::Setting`](chunkmill_base::error::Error::Setting) for a path that is neither a name nor a glob.
    pub fn unmet(&self, filter: &Filter) -> Result<Vec<String>> {
        filter.unmet(self.rows())
    }

    /// Returns the words of a question that no document has, as they are written. Stop words such as *what* do not
    /// count.
    ///
    /// # Errors
    /// [`Error::Dataset`](chunkmill_base::error::Error::Dataset) if a file is damaged or missing.
    pub fn unknown_words(&self, question: &str, ranking: &Ranking) -> Result<Vec<String>> {
        self.ranker.unknown_words(question, ranking)
    }

    /// Returns whether at least half of the documents are in English, as far as their language is known: a model for
    /// English says little about others.
    ///
    /// # Errors
    /// [`Error::Dataset`](chunkmill_base::error::Error::Dataset) if a file is damaged or missing.
    pub fn is_english(&self, ranking: &Ranking) -> Result<bool> {
        self.ranker.is_english(ranking)
    }

    /// Returns the best `k` chunks, best first. Ties are broken by document and position.
    ///
    /// # Errors
    /// [`Error::Dataset`](chunkmill_base::error::Error::Dataset) if a file is damaged or missing,
    /// [`Error::Setting`](chunkmill_base::error::Error::Setting) if the vector of the query is missing or its dimension
    /// differs from that of the dataset, [`Error::Embed`](chunkmill_base::error::Error::Embed) from a reranker.
    pub fn search(&self, query: &Query<'_>) -> Result<Vec<FoundChunk>> {
        let mask = query.filter.mask(self.rows())?;
        let &Query { mode, text, vector, sparse, ref ranking, .. } = query;
        let best = |k| self.ranker.best(Question { mode, text, vector, sparse, ranking }, k, mask.as_deref());
        let mut found = match query.rerank {
            None => best(query.k)?,
            Some(rerank) => {
                let found = best(query.k.max(rerank.depth))?;
                let texts = self.texts_to_read(&found[..rerank.depth.min(found.len())])?;
                rerank.order(found, text, &texts)?
            }
        };
        found.truncate(query.k);
        if let Some(least) = query.min_score {
            found.retain(|found| found.score >= least);
        }
        Ok(found)
    }

    /// Returns the text of each hit as a model sees it: with its document's name and its headings.
    fn texts_to_read(&self, found: &[FoundChunk]) -> Result<Vec<String>> {
        let rows: Vec<u32> = found.iter().map(|found| found.row).collect();
        let contents = self.rows().fetch(self.dataset(), &rows, ["content"])?;
        let text = |(row, [content]): (u32, [String; 1])| {
            let place = self.place(row);
            let content = without_data_urls(&content).into_owned();
            Context::Full.before(place.header_path, content, place.document.title.as_deref(), &place.document.path)
        };
        Ok(rows.into_iter().zip(contents).map(text).collect())
    }

    /// Returns the best `k` chunks by vector for each of several queries. The results are those of
    /// [`Searcher::search`], but the queries read the vectors together, which takes less time.
    pub fn nearest(&self, queries: &[&[f32]], k: usize, filter: &Filter) -> Result<Vec<Vec<FoundChunk>>> {
        self.ranker.nearest(queries, k, filter.mask(self.rows())?.as_deref())
    }
}

/// A chunk's own text and its cost in a context.
#[derive(Debug, Clone)]
pub(super) struct Text {
    pub(super) own: String,
    /// Its runs of words, by which it is compared with texts of other documents.
    pub(super) shingles: Shingles,
    pub(super) hash: blake3::Hash,
    /// Number of tokens in its own text, and in the label of a passage that starts with it.
    pub(super) tokens: [usize; 2],
}
