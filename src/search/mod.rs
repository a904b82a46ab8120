//! Search over a dataset: by vector, by keyword, by both, and along links.
//!
//! A [`Searcher`] is opened once over a snapshot and then asked many times, from many threads. What
//! a mode needs (vectors, an index of words, links) is read when it is first asked for and kept.
//! Every list is exact and in one order: by score, and among equal scores by document and position.
//!
//! | file | question it answers |
//! | --- | --- |
//! | `settings` | What can be chosen? |
//! | `rows` | What is known of every chunk without its text? |
//! | `top` | Which are the best of many? |
//! | `vector` | Which vectors are nearest? |
//! | `keyword`, `cache` | Which chunks have the words? Where is their index kept? |
//! | `graph` | What is one link away? |
//! | `fusion` | How do several lists become one? |
//! | `filter` | Which chunks may be found at all? |
//! | `hit` | What is shown of what was found? |
//! | `context` | What of it fits a token budget? |

mod cache;
mod context;
mod filter;
mod fusion;
mod graph;
mod hit;
mod keyword;
mod rows;
mod settings;
mod top;
mod vector;

pub use context::{Context, Passage};
pub use filter::{Filter, PathPattern};
pub use fusion::{Part, Parts};
pub use hit::{DocumentHit, Hit, Place};
pub use rows::DocumentInfo;
pub use settings::{FieldWeights, Mode, Ranking, Show, Weight};

use std::path::PathBuf;
use std::sync::{Arc, OnceLock};

use fusion::{List, Ranked, fuse, ranked};
use graph::Graph;
use keyword::Keywords;
use rows::Rows;
use top::Scored;
use vector::Vectors;

use crate::error::{Error, Result};
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
    /// Lowest score of a hit: dot product, BM25 or fused score, by the mode.
    pub min_score: Option<f64>,
    /// How lists become one.
    pub ranking: Ranking,
}

/// A chunk that was found, without its text.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Found {
    /// Its row in the dataset, for [`Searcher::place`].
    pub row: u32,
    /// Its score, by which it was ranked.
    pub score: f64,
    /// What each list says of it.
    pub parts: Parts,
}

/// A snapshot that is open for search.
#[derive(Debug)]
pub struct Searcher {
    dataset: Dataset,
    keyword_cache: Option<PathBuf>,
    rows: Arc<Rows>,
    vectors: OnceLock<Vectors>,
    keywords: OnceLock<Keywords>,
    graph: OnceLock<Graph>,
}

impl Searcher {
    /// Reads what is known of every chunk and document; about 50 bytes for a chunk stay in memory. Keyword
    /// indexes are kept in the folder `keyword_cache`, which is made if need be, or nowhere.
    ///
    /// # Errors
    /// [`Error::Dataset`] if a file is damaged or gone.
    pub fn open(dataset: Dataset, keyword_cache: Option<PathBuf>) -> Result<Self> {
        let rows = Arc::new(Rows::load(&dataset)?);
        Ok(Self {
            dataset,
            keyword_cache,
            rows,
            vectors: OnceLock::new(),
            keywords: OnceLock::new(),
            graph: OnceLock::new(),
        })
    }

    /// The dataset.
    #[must_use]
    pub fn dataset(&self) -> &Dataset {
        &self.dataset
    }

    /// Number of chunks.
    #[must_use]
    pub fn len(&self) -> usize {
        self.rows.len()
    }

    /// Whether there are no chunks.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// Reads what a mode needs, so that the first question does not wait for it: all vectors, four bytes a
    /// value; the index of words; the links.
    ///
    /// # Errors
    /// [`Error::Dataset`] if a file is damaged or gone.
    pub fn prepare(&self, mode: Mode) -> Result<()> {
        if mode != Mode::Keyword {
            self.vectors()?;
        }
        if mode != Mode::Vector {
            self.keywords()?;
        }
        if mode == Mode::Graph {
            self.graph()?;
        }
        Ok(())
    }

    /// The best `k` chunks, best first; equal scores stand in order of document and position.
    ///
    /// # Errors
    /// [`Error::Dataset`] if a file is damaged or gone, [`Error::Setting`] if the query's vector is missing or
    /// has another dimension than the dataset.
    pub fn search(&self, query: &Query<'_>) -> Result<Vec<Found>> {
        let mask: Option<Arc<[bool]>> = query.filter.mask(&self.rows).map(Arc::from);
        let mut found = match query.mode {
            Mode::Vector => single(List::Vector, self.by_vector(query, query.k, mask.as_ref())?),
            Mode::Keyword => single(List::Keyword, self.by_keyword(query, query.k, mask.as_ref())?),
            Mode::Hybrid | Mode::Graph => self.fused(query, mask.as_ref())?,
        };
        found.truncate(query.k);
        if let Some(least) = query.min_score {
            found.retain(|found| found.score >= least);
        }
        Ok(found)
    }

    /// The best `k` chunks by vector for each of several queries, which share the reading of the vectors: the
    /// same as [`Searcher::search`] gives for each, in less time.
    ///
    /// # Errors
    /// Those of [`Searcher::search`].
    pub fn nearest(&self, queries: &[&[f32]], k: usize, filter: &Filter) -> Result<Vec<Vec<Found>>> {
        let mask = filter.mask(&self.rows);
        let lists = self.vectors()?.nearest(&self.rows, queries, k, mask.as_deref())?;
        Ok(lists.into_iter().map(|list| single(List::Vector, ranked(list))).collect())
    }

    fn by_vector(&self, query: &Query<'_>, k: usize, mask: Option<&Arc<[bool]>>) -> Result<Vec<Ranked>> {
        let vector = query.vector.ok_or_else(|| Error::Setting {
            origin: "mode".to_owned(),
            problem: format!("`{}` needs the query's vector", query.mode),
            help: "embed the query with the model of the dataset, or search by keyword".to_owned(),
        })?;
        let lists = self.vectors()?.nearest(&self.rows, &[vector], k, mask.map(|mask| &**mask))?;
        Ok(ranked(lists.into_iter().flatten().collect()))
    }

    fn by_keyword(&self, query: &Query<'_>, k: usize, mask: Option<&Arc<[bool]>>) -> Result<Vec<Ranked>> {
        let fields = &query.ranking.fields;
        self.keywords()?.best(&self.dataset, &self.rows, query.text, fields, k, mask).map(ranked)
    }

    fn fused(&self, query: &Query<'_>, mask: Option<&Arc<[bool]>>) -> Result<Vec<Found>> {
        let Ranking { rrf_k, vector, keyword, recency, graph, depth, graph_seeds, .. } = query.ranking;
        let by_vector = self.by_vector(query, depth, mask)?;
        let by_keyword = self.by_keyword(query, depth, mask)?;
        let fuse = |neighbours: &[Ranked]| {
            let mut lists = vec![
                (List::Vector, vector, &by_vector[..]),
                (List::Keyword, keyword, &by_keyword),
                (List::Graph, graph, neighbours),
            ];
            let newest = if recency > Weight::ZERO { self.newest(&lists) } else { Vec::new() };
            lists.insert(2, (List::Recency, recency, &newest));
            // A list without a weight brings nothing in.
            lists.retain(|&(_, weight, _)| weight > Weight::ZERO);
            fuse(&lists, rrf_k)
        };
        let mut fused = fuse(&[]);
        if query.mode == Mode::Graph {
            let seeds = &fused[..graph_seeds.min(fused.len())];
            let neighbours = self.graph()?.neighbours(&self.rows, seeds, mask.map(|mask| &**mask));
            fused = fuse(&neighbours);
        }
        Ok(fused.into_iter().map(|(row, parts)| Found { row: row.row, score: row.score, parts }).collect())
    }

    /// The rows of some lists by modification time, newest first; equal times have one rank. Recency reorders
    /// what is relevant: it brings nothing in of its own.
    fn newest(&self, lists: &[(List, Weight, &[Ranked])]) -> Vec<Ranked> {
        let weighed = lists.iter().filter(|(_, weight, _)| *weight > Weight::ZERO);
        let mut rows: Vec<Scored> = weighed
            .flat_map(|(_, _, rows)| rows.iter())
            .filter_map(|ranked| {
                let time = self.rows.document(self.rows.row(ranked.row.row).doc).modified_time?;
                #[expect(clippy::cast_precision_loss, reason = "seconds since 1970 are far below 2^52")]
                Some(Scored { score: time.div_euclid(1_000_000) as f64, ..ranked.row })
            })
            .collect();
        rows.sort_unstable_by(Scored::order);
        rows.dedup_by_key(|row| row.row);
        let mut newest: Vec<Ranked> = ranked(rows);
        for at in 1..newest.len() {
            if newest[at].row.score.total_cmp(&newest[at - 1].row.score).is_eq() {
                newest[at].rank = newest[at - 1].rank;
            }
        }
        newest
    }

    fn vectors(&self) -> Result<&Vectors> {
        once(&self.vectors, || Vectors::load(&self.dataset, &self.rows))
    }

    fn keywords(&self) -> Result<&Keywords> {
        once(&self.keywords, || Keywords::load(&self.dataset, &self.rows, self.keyword_cache.as_deref()))
    }

    fn graph(&self) -> Result<&Graph> {
        once(&self.graph, || Graph::load(&self.dataset, &self.rows))
    }
}

/// What a cell holds, loaded if it is empty. No lock is held while loading: a thread of the pool that waits
/// for others in there may take up another question, which must not wait for it in turn.
fn once<T>(cell: &OnceLock<T>, load: impl FnOnce() -> Result<T>) -> Result<&T> {
    if let Some(loaded) = cell.get() {
        return Ok(loaded);
    }
    let loaded = load()?;
    Ok(cell.get_or_init(|| loaded))
}

/// A list that is all there is.
fn single(list: List, rows: Vec<Ranked>) -> Vec<Found> {
    let found = |Ranked { rank, row }| {
        let Scored { row, score, .. } = row;
        Found { row, score, parts: Parts::of(list, Part { rank, score }) }
    };
    rows.into_iter().map(found).collect()
}
