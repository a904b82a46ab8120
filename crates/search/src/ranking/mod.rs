//! Ranking: the order in which chunks answer a question.
//!
//! A [`Ranker`] is created once for a snapshot and can then be queried many times, from many threads. The data
//! that a mode needs (vectors, keyword indexes, links) is loaded on first use and kept. Lists are in one
//! order: by score, with ties broken by document and position. They are exact, except that small vectors, if there are some,
//! choose the chunks whose vectors are compared.
//!
//! By default, the score of a chunk c of a document d for a question q is
//!
//! ```text
//! k(c) = BM25(q, c) + β · BM25(q, d)                   keywords, over weighted fields; d also has its title and path
//! v(c) = c's vector + w · those before and after it    scaled to the length of c's vector
//! s(c) = a · z(q · v(c)) + (1 − a) · z(k(c))           z: standard deviations from the mean of the 1,000 best chunks by that score
//! ```
//!
//! With sparse vectors, a share of the score is theirs, and these two have the rest.
//!
//! A question often names the document when the passage does not, and the text around a passage says what the
//! passage is about. `docs/src/concepts/ranking.md` shows what each part gains.
//!
//! | file | question it answers |
//! | --- | --- |
//! | `settings` | Which settings are there? |
//! | `batch`, `document`, `chunk_rows` | What of a dataset is read? |
//! | `cache` | Where is that kept between searches? |
//! | `rows` | What is known about every chunk without its text? |
//! | `top` | Which of many rows are the best? |
//! | `shared` | How do several threads work on one question? |
//! | `column` | What is the product of a question and each vector of a number type? |
//! | `stored` | Which columns would a store have? |
//! | `sparse` | How much do a chunk and a question share, by their sparse vectors? |
//! | `language`, `words` | Which words of a text can be found? |
//! | `keywords` | Which chunks and documents contain the words? |
//! | `linear`, `reciprocal` | How do several scores, or several lists, become one? |
//! | `chance` | How likely is it that a chunk holds evidence? |
//! | `together` | Which vectors does each of many questions have to be compared with? |
//! | `vectors` | How near is each vector? |
//! | `graph` | Which chunks are one link away? |

mod batch;
mod cache;
mod chance;
mod chunk_rows;
mod column;
mod document;
mod graph;
mod keywords;
mod language;
mod linear;
mod reciprocal;
mod rows;
mod settings;
mod shared;
mod sparse;
mod stored;
mod together;
mod top;
mod vectors;
mod words;

pub use document::DocumentInfo;
pub use language::{Language, LanguageSetting};
pub use reciprocal::{Part, Parts};
pub(crate) use rows::{Headings, HeadingsInside, Rows};
pub use settings::{FieldWeights, Fusion, Mode, Ranking, Share, Weight};
pub use stored::StoredAs;
pub use words::Marker;

use std::collections::HashMap;
use std::path::PathBuf;
use std::sync::{Arc, Mutex, OnceLock};

use chunkmill_base::error::{Error, Result};
use chunkmill_dataset::dataset::{Dataset, Time};
use chunkmill_embed::{SparseVector, is_zero};

use cache::Cache;
use column::Prepared;
use graph::Graph;
use keywords::Keywords;
use linear::{POOL, Term};
use reciprocal::{List, RankedRow, fuse, ranked};
use sparse::Postings;
use top::{ScoredRow, Top};
use vectors::Vectors;

/// A question, and how chunks are ranked for it.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Question<'q> {
    pub(crate) mode: Mode,
    /// The question. Its words are the keywords; every text is valid.
    pub(crate) text: &'q str,
    /// Vector of the question, computed by the model of the dataset. Keyword search does not need it.
    pub(crate) vector: Option<&'q [f32]>,
    /// Sparse vector of the question, if the dataset has some and they have a share.
    pub(crate) sparse: Option<&'q SparseVector>,
    pub(crate) ranking: &'q Ranking,
}

/// A chunk that was found, without its text.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct FoundChunk {
    /// Row in the dataset.
    pub row: u32,
    /// Score by which it was ranked.
    pub score: f64,
    /// Rank and score in each list.
    pub parts: Parts,
    /// Chance that it holds evidence, from 0 to 1, if the score is a weighted sum, among at least 100 chunks. A reranker
    /// does not change it.
    pub chance: Option<f64>,
}

impl FoundChunk {
    /// Returns the highest chance of some chunks, if any has one.
    pub fn highest_chance(found: &[Self]) -> Option<f64> {
        found.iter().filter_map(|found| found.chance).reduce(f64::max)
    }
}

/// A ranker of the chunks in a snapshot.
#[derive(Debug)]
pub(crate) struct Ranker {
    dataset: Dataset,
    cache: Cache,
    stored_as: StoredAs,
    rows: Arc<Rows>,
    vectors: OnceLock<Vectors>,
    /// Sparse vectors, if the dataset has some.
    postings: OnceLock<Option<Postings>>,
    /// Keyword indexes by language setting.
    keywords: Mutex<HashMap<LanguageSetting, Arc<Keywords>>>,
    graph: OnceLock<Graph>,
}

impl Ranker {
    /// Reads everything about chunks and documents except the texts.
    ///
    /// # Errors
    /// [`Error::Dataset`] if a file is damaged or missing.
    pub(crate) fn open(dataset: Dataset, cache: Option<PathBuf>, stored_as: StoredAs) -> Result<Self> {
        let cache = Cache::new(cache, &dataset);
        let rows = Arc::new(Rows::load(&dataset, &cache)?);
        let (vectors, postings, keywords, graph) = Default::default();
        Ok(Self { dataset, cache, stored_as, rows, vectors, postings, keywords, graph })
    }

    pub(crate) fn dataset(&self) -> &Dataset {
        &self.dataset
    }

    pub(crate) fn rows(&self) -> &Rows {
        &self.rows
    }

    /// Returns whether at least half of the documents are in English, as far as their language is known.
    pub(crate) fn is_english(&self, ranking: &Ranking) -> Result<bool> {
        Ok(self.keywords(ranking.language)?.english())
    }

    /// Returns the words of a question that no document has, as they are written. Stop words do not count.
    ///
    /// # Errors
    /// [`Error::Dataset`] if a file is damaged or missing.
    pub(crate) fn unknown_words(&self, question: &str, ranking: &Ranking) -> Result<Vec<String>> {
        self.keywords(ranking.language)?.unknown(&self.dataset, question)
    }

    /// Loads the data that a mode needs, so the first question does not wait for it.
    ///
    /// # Errors
    /// [`Error::Dataset`] if a file is damaged or missing.
    pub(crate) fn prepare(&self, mode: Mode, ranking: &Ranking) -> Result<()> {
        if mode.needs_vector() {
            self.vectors()?;
        }
        if matches!(mode, Mode::Keyword | Mode::Hybrid | Mode::Graph) {
            self.keywords(ranking.language)?;
        }
        if ranking.needs_sparse(mode) {
            self.postings()?;
        }
        if mode == Mode::Graph {
            self.graph()?;
        }
        Ok(())
    }

    /// Returns the best `k` chunks among those that `mask` lets through, best first. Ties are broken by document
    /// and position.
    ///
    /// # Errors
    /// [`Error::Dataset`] if a file is damaged or missing, [`Error::Setting`] if the vector of the question is
    /// missing or its dimension differs from that of the dataset.
    pub(crate) fn best(&self, question: Question<'_>, k: usize, mask: Option<&[bool]>) -> Result<Vec<FoundChunk>> {
        let mut found = match (question.mode, question.ranking.fusion) {
            (Mode::Vector, _) => single(List::Vector, self.by_vector(question, k, mask)?),
            (Mode::Keyword, _) => single(List::Keyword, self.by_keyword(question, k, mask)?),
            (Mode::Sparse, _) => single(List::Sparse, self.by_sparse(question, k, mask)?),
            (Mode::Hybrid | Mode::Graph, Fusion::Linear) => self.summed(question, k, mask)?,
            (Mode::Hybrid | Mode::Graph, Fusion::Rrf) => self.fused(question, mask)?,
        };
        found.truncate(k);
        Ok(found)
    }

    /// Returns the best `k` chunks by vector for each of several questions, which read the vectors together.
    pub(crate) fn nearest(&self, queries: &[&[f32]], k: usize, mask: Option<&[bool]>) -> Result<Vec<Vec<FoundChunk>>> {
        let lists = self.vectors()?.nearest(&self.rows, queries, k, mask)?;
        Ok(lists.into_iter().map(|list| single(List::Vector, ranked(list))).collect())
    }

    fn by_vector(&self, question: Question<'_>, k: usize, mask: Option<&[bool]>) -> Result<Vec<RankedRow>> {
        let lists = self.vectors()?.nearest(&self.rows, &[vector_of(question)?], k, mask)?;
        Ok(ranked(lists.into_iter().flatten().collect()))
    }

    fn by_keyword(&self, question: Question<'_>, k: usize, mask: Option<&[bool]>) -> Result<Vec<RankedRow>> {
        let scores = self.keyword_scores(&*self.keywords(question.ranking.language)?, question)?;
        let found = scores.into_iter().map(f64::from).enumerate().filter(|(_, score)| *score > 0.0);
        Ok(ranked(self.top(found, k, mask)))
    }

    fn by_sparse(&self, question: Question<'_>, k: usize, mask: Option<&[bool]>) -> Result<Vec<RankedRow>> {
        let scores = self.sparse_scores(question)?;
        if scores.is_none() && question.mode == Mode::Sparse && self.rows.len() > 0 {
            return Err(sparse::none(&self.dataset));
        }
        let found = scores.into_iter().flatten().map(f64::from).enumerate().filter(|(_, score)| *score > 0.0);
        Ok(ranked(self.top(found, k, mask)))
    }

    /// Computes the sparse score of every row, if there are sparse vectors and they count.
    fn sparse_scores(&self, question: Question<'_>) -> Result<Option<Vec<f32>>> {
        if !question.ranking.needs_sparse(question.mode) {
            return Ok(None);
        }
        let Some(postings) = self.postings()? else { return Ok(None) };
        let vector = question.sparse.ok_or_else(|| sparse::missing(question.mode.name()))?;
        Ok(Some(postings.scores(vector)))
    }

    /// Computes the keyword score of every row.
    fn keyword_scores(&self, keywords: &Keywords, question: Question<'_>) -> Result<Vec<f32>> {
        let Ranking { fields, document, .. } = question.ranking;
        keywords.scores(&self.dataset, &self.rows, question.text, fields, document.single())
    }

    /// Ranks chunks by weighted sums of scores.
    fn summed(&self, question: Question<'_>, k: usize, mask: Option<&[bool]>) -> Result<Vec<FoundChunk>> {
        let &Ranking { vector_share, sparse_share, recency, neighbours, graph, graph_seeds, .. } = question.ranking;
        let vector = vector_of(question)?;
        // Loaded first, because loading may need all threads.
        let (vectors, keywords) = (self.vectors()?, self.keywords(question.ranking.language)?);
        let by_vector = || vectors.scores(vector, neighbours.single());
        let (by_vector, by_keyword) = rayon::join(by_vector, || self.keyword_scores(&keywords, question));
        let (mut by_vector, by_keyword) = (by_vector?, by_keyword?);
        let by_sparse = self.sparse_scores(question)?.unwrap_or_default();
        let again = ScoredAgain { vectors, query: vectors.prepare(vector), weight: neighbours.single() };
        if let Some(count) = vectors.scored_again(POOL) {
            // The best ones set the scale, and small vectors do not know them well.
            let known = by_vector.iter().copied().map(f64::from).enumerate().filter(|(_, score)| !score.is_nan());
            let best = self.top(known, count, mask);
            again.apply(&best, &mut by_vector, |_, _| ());
        }
        let times = if recency > Weight::ZERO { self.times() } else { Vec::new() };
        let of_sparse = if by_sparse.is_empty() { 0.0 } else { sparse_share.get() };
        let relevance = |weight: f64, scores| Term { weight, scores, is_relevance: true };
        let terms = [
            relevance((1.0 - of_sparse) * vector_share.get(), &by_vector),
            relevance((1.0 - of_sparse) * (1.0 - vector_share.get()), &by_keyword),
            relevance(of_sparse, &by_sparse),
            Term { weight: recency.get(), scores: &times, is_relevance: false },
        ];
        let (mut sums, factors) = linear::sum(&terms, self.rows.len(), mask);
        let score_again = |sums: &mut [f64], by_vector: &mut [f32]| {
            let Some(count) = vectors.scored_again(k.max(graph_seeds)) else { return };
            let best = self.top(sums.iter().copied().enumerate(), count, mask);
            again.apply(&best, by_vector, |row, change| sums[row] += factors[0] * change);
        };
        score_again(&mut sums, &mut by_vector);
        let mut linked = HashMap::new();
        if question.mode == Mode::Graph {
            let seeds = self.top(sums.iter().copied().enumerate(), graph_seeds, mask);
            for RankedRow { row: ScoredRow { row, score, .. }, .. } in
                self.graph()?.neighbours(&self.rows, &seeds, mask)
            {
                sums[row as usize] += graph.get() * score.max(0.0);
                linked.insert(row, Part { rank: None, score });
            }
            score_again(&mut sums, &mut by_vector);
        }
        let candidates = mask.map_or(self.rows.len(), |mask| mask.iter().filter(|passes| **passes).count());
        // A question without a vector is similar to nothing, whatever the documents say.
        let scale = vectors.scale().filter(|_| !is_zero(vector));
        let found = |ScoredRow { row, score, .. }: ScoredRow| {
            let part = |scores: &[f32]| {
                let score = scores.get(row as usize).filter(|score| !score.is_nan())?;
                Some(Part { rank: None, score: f64::from(*score) })
            };
            let parts = Parts {
                vector: part(&by_vector),
                keyword: part(&by_keyword).filter(|part| part.score > 0.0),
                sparse: part(&by_sparse).filter(|part| part.score > 0.0),
                recency: part(&times),
                graph: linked.get(&row).copied(),
            };
            let similarity = parts.vector.map(|part: Part| part.score);
            let chance = scale.and_then(|scale| scale.chance(score, similarity, candidates));
            FoundChunk { row, score, parts, chance }
        };
        Ok(self.top(sums.into_iter().enumerate(), k, mask).into_iter().map(found).collect())
    }

    /// Returns the best rows by score.
    fn top(&self, scores: impl Iterator<Item = (usize, f64)>, k: usize, mask: Option<&[bool]>) -> Vec<ScoredRow> {
        let mut top = Top::new(&self.rows, k);
        for (row, score) in scores {
            if top.wants(score) && mask.is_none_or(|mask| mask[row]) {
                top.push(row, score);
            }
        }
        top.into_best()
    }

    /// Returns the time in seconds at which each row's document was last modified; NaN if it is unknown.
    fn times(&self) -> Vec<f32> {
        #[expect(clippy::cast_precision_loss, reason = "minutes make no difference")]
        let seconds = |time: Time| time.micros().div_euclid(1_000_000) as f32;
        self.rows.docs().iter().map(|doc| self.rows.document(*doc).modified_time.map_or(f32::NAN, seconds)).collect()
    }

    fn fused(&self, question: Question<'_>, mask: Option<&[bool]>) -> Result<Vec<FoundChunk>> {
        let Ranking { rrf_k, vector, keyword, sparse, recency, graph, depth, graph_seeds, .. } = *question.ranking;
        let by_vector = self.by_vector(question, depth, mask)?;
        let by_keyword = self.by_keyword(question, depth, mask)?;
        let by_sparse = self.by_sparse(question, depth, mask)?;
        let fuse = |neighbours: &[RankedRow]| {
            let mut lists = vec![
                (List::Vector, vector, &by_vector[..]),
                (List::Keyword, keyword, &by_keyword),
                (List::Sparse, sparse, &by_sparse),
                (List::Graph, graph, neighbours),
            ];
            let newest = if recency > Weight::ZERO { self.newest(&lists) } else { Vec::new() };
            lists.insert(3, (List::Recency, recency, &newest));
            // A list with weight 0 adds nothing.
            lists.retain(|&(_, weight, _)| weight > Weight::ZERO);
            fuse(&lists, rrf_k)
        };
        let mut fused = fuse(&[]);
        if question.mode == Mode::Graph {
            let seeds: Vec<ScoredRow> = fused.iter().take(graph_seeds).map(|(seed, _)| *seed).collect();
            fused = fuse(&self.graph()?.neighbours(&self.rows, &seeds, mask));
        }
        let found =
            |(row, parts): (ScoredRow, Parts)| FoundChunk { row: row.row, score: row.score, parts, chance: None };
        Ok(fused.into_iter().map(found).collect())
    }

    /// Ranks the rows of some lists by modification time, newest first. Equal times share a rank. Recency only
    /// reorders relevant rows and adds none.
    fn newest(&self, lists: &[(List, Weight, &[RankedRow])]) -> Vec<RankedRow> {
        let weighed = lists.iter().filter(|(_, weight, _)| *weight > Weight::ZERO);
        let mut rows: Vec<ScoredRow> = weighed
            .flat_map(|(_, _, rows)| rows.iter())
            .filter_map(|ranked| {
                let time = self.rows.document(self.rows.row(ranked.row.row).doc).modified_time?;
                #[expect(clippy::cast_precision_loss, reason = "seconds since 1970 are far below 2^52")]
                Some(ScoredRow { score: time.micros().div_euclid(1_000_000) as f64, ..ranked.row })
            })
            .collect();
        rows.sort_unstable_by(ScoredRow::order);
        rows.dedup_by_key(|row| row.row);
        let mut newest: Vec<RankedRow> = ranked(rows);
        for at in 1..newest.len() {
            if newest[at].row.score.total_cmp(&newest[at - 1].row.score).is_eq() {
                newest[at].rank = newest[at - 1].rank;
            }
        }
        newest
    }

    fn vectors(&self) -> Result<&Vectors> {
        once(&self.vectors, || Vectors::load(&self.dataset, &self.rows, self.stored_as, &self.cache))
    }

    fn keywords(&self, language: LanguageSetting) -> Result<Arc<Keywords>> {
        let known = || self.keywords.lock().unwrap_or_else(std::sync::PoisonError::into_inner);
        if let Some(keywords) = known().get(&language) {
            return Ok(Arc::clone(keywords));
        }
        let keywords = Keywords::load(&self.dataset, &self.rows, language, &self.cache)?;
        Ok(Arc::clone(known().entry(language).or_insert_with(|| Arc::new(keywords))))
    }

    fn postings(&self) -> Result<Option<&Postings>> {
        once(&self.postings, || Postings::load(&self.dataset, &self.rows, &self.cache)).map(Option::as_ref)
    }

    fn graph(&self) -> Result<&Graph> {
        once(&self.graph, || Graph::load(&self.dataset, &self.rows))
    }
}

/// How the vectors of some rows are scored again, by the most exact column.
struct ScoredAgain<'s> {
    vectors: &'s Vectors,
    query: Prepared<'s>,
    /// Weight of the rows before and after each.
    weight: f32,
}

impl ScoredAgain<'_> {
    /// Replaces the scores of some rows, and passes each row and the change of its score to `changed`.
    fn apply(&self, rows: &[ScoredRow], scores: &mut [f32], mut changed: impl FnMut(usize, f64)) {
        let rows: Vec<usize> = rows.iter().map(|row| row.row as usize).collect();
        for (&row, score) in rows.iter().zip(self.vectors.scores_of(&rows, &self.query, self.weight)) {
            if !scores[row].is_nan() {
                changed(row, f64::from(score) - f64::from(scores[row]));
                scores[row] = score;
            }
        }
    }
}

/// Returns the vector of a question that needs one.
fn vector_of(question: Question<'_>) -> Result<&[f32]> {
    question.vector.ok_or_else(|| {
        Error::setting(
            "mode",
            format!("`{}` needs the query's vector", question.mode),
            "embed the query with the model of the dataset, or search by keyword",
        )
    })
}

/// Returns the value in a cell, and loads it if the cell is empty. No lock is held while loading: a pool thread
/// that waits for others during loading may start on another question, which must not wait for this thread in
/// turn.
fn once<T>(cell: &OnceLock<T>, load: impl FnOnce() -> Result<T>) -> Result<&T> {
    if let Some(loaded) = cell.get() {
        return Ok(loaded);
    }
    let loaded = load()?;
    Ok(cell.get_or_init(|| loaded))
}

/// Turns a single list into results.
fn single(list: List, rows: Vec<RankedRow>) -> Vec<FoundChunk> {
    let found = |RankedRow { rank, row }| {
        let ScoredRow { row, score, .. } = row;
        FoundChunk { row, score, parts: Parts::of(list, Part { rank: Some(rank), score }), chance: None }
    };
    rows.into_iter().map(found).collect()
}
