//! Exhaustive vector search: the dot product with every vector, without an index.
//!
//! The smallest column of vectors is read for every question, and the best rows are scored again by the most exact one. With
//! floats alone, both are the same, and the search is exact. Several questions read the vectors together.

use std::ops::Range;
use std::sync::{Mutex, PoisonError};

use arrow::buffer::ScalarBuffer;
use chunkmill_base::error::{Error, Result};
use chunkmill_base::value::count;
use chunkmill_dataset::dataset::{Dataset, FileEntry, Table, restored_vectors, vectors};
use chunkmill_embed::{EmbeddingType, Representation, StoredVectors, is_zero};
use rayon::prelude::*;

use super::batch::damaged;
use super::cache::{Cache, Sections};
use super::chance::SimilarityScale;
use super::column::{Column, Prepared};
use super::rows::Rows;
use super::shared::share;
use super::stored::StoredAs;
use super::together::{self, Questions, Scratch};
use super::top::{ScoredRow, Top};

/// Number of bytes of vectors that one thread processes at a time: they fit in its cache, where several questions can read them,
/// and memory is read in long stretches.
const BLOCK: usize = 256 << 10;

/// Number of scores that are compared with the lowest of the best at a time.
const AT_A_TIME: usize = 32;

/// Number of rows for each requested one that are scored again by a more exact column.
const AGAIN: usize = 4;

/// Smallest number of rows that are scored again. If there are no more, only the more exact column is read.
const FEWEST_AGAIN: usize = 1000;

/// Number of questions for which whole numbers are worth it.
const MANY: usize = 16;

/// Number of questions that read the vectors together, and of those that keep rows that are scored again.
const TOGETHER: usize = 1024;
const TOGETHER_AGAIN: usize = 64;

/// Number of rows that a thread takes at a time to score them again.
const FEW: usize = 64;

/// Number of rows that show how scores of the small column differ from those of the most exact one.
const SAMPLE: usize = 1000;

/// Names of the sections in the cached file.
const EXACT: &str = "exact";
const SMALL: &str = "small";
const AROUND: &str = "around";
const SCALE: &str = "scale";

/// The vectors of all chunks.
#[derive(Debug)]
pub(super) struct Vectors {
    /// The number of values of a question.
    dim: usize,
    /// The most exact column.
    exact: Column,
    /// A smaller column, which is read for every question, if there is one.
    small: Option<Column>,
    /// Dot products by row.
    around: ScalarBuffer<f32>,
    /// How similar the vectors are to each other, if there are several.
    scale: Option<SimilarityScale>,
    /// Which rows are zeros; empty if none are.
    zeros: Vec<bool>,
}

/// The dot products of a row's vector with itself and the rows after it. They are 0 for rows of other documents. Of each row,
/// [`VALUES`](Self::VALUES) numbers are kept.
#[derive(Debug, Clone, Copy, Default)]
struct Neighbourhood {
    /// Dot product with itself.
    own: f32,
    /// Dot product with the next row.
    next: f32,
    /// Dot product with the row after the next.
    second: f32,
    /// Whether the next row belongs to the same document.
    joined: bool,
}

impl Vectors {
    /// Opens all vectors as if they were stored in the form `stored_as`. As they are stored, they are cached.
    pub(super) fn load(dataset: &Dataset, rows: &Rows, stored_as: StoredAs, cache: &Cache) -> Result<Self> {
        let dim = dataset.manifest().model.dim;
        let best = dataset.manifest().representations()[0];
        if stored_as == StoredAs::default() {
            let build = || Ok(Self::read(dataset, rows)?.sections());
            let open = |sections: &Sections| {
                Self::open(dataset, rows, sections)
                    .ok_or_else(|| damaged(dataset, None, "its vectors do not fit its rows"))
            };
            return cache.load("vectors", build, open);
        }
        let mut values = read(dataset, rows, &best)?.floats(dim);
        let zeros = if best.stored == EmbeddingType::Bits { zeros(dataset, &best)? } else { Vec::new() };
        let zeros = values.chunks_mut(dim).zip(zeros).filter(|(_, is_zero)| *is_zero);
        zeros.for_each(|(vector, _)| vector.fill(0.0));
        let (best, smallest) = stored_as.columns(values, dim);
        Ok(Self::new(dim, best, smallest, rows))
    }

    /// Reads all vectors, in parallel over files.
    fn read(dataset: &Dataset, rows: &Rows) -> Result<Self> {
        let column = |of: Representation| Ok::<_, Error>(Column::new(of, read(dataset, rows, &of)?));
        let (best, small) = columns(dataset, rows);
        let mut exact = column(best)?;
        if best.stored == EmbeddingType::Bits {
            exact.mark_zeros(&zeros(dataset, &best)?);
        }
        Ok(Self::new(dataset.manifest().model.dim, exact, small.map(column).transpose()?, rows))
    }

    fn new(dim: usize, exact: Column, small: Option<Column>, rows: &Rows) -> Self {
        let around = (0..rows.len()).into_par_iter().map(|row| Neighbourhood::of(&exact, rows, row).values());
        let around: Vec<[f32; Neighbourhood::VALUES]> = around.collect();
        let own = around.iter().map(|[own, ..]| *own);
        let scale = SimilarityScale::of(&exact, own);
        Self { dim, exact, small, around: around.into_flattened().into(), scale, zeros: Vec::new() }.with_zeros()
    }

    /// Returns what [`open`](Self::open) needs.
    fn sections(&self) -> Sections {
        let mut sections = Sections::default();
        sections.insert(EXACT, self.exact.bytes());
        if let Some(small) = &self.small {
            sections.insert(SMALL, small.bytes());
        }
        sections.insert(AROUND, self.around.inner().clone());
        sections.insert(SCALE, self.scale.map(SimilarityScale::values).as_slice().concat());
        sections
    }

    /// Opens vectors in the sections of a cached file. Returns `None` if they are not those of the dataset.
    fn open(dataset: &Dataset, rows: &Rows, sections: &Sections) -> Option<Self> {
        let column = |of, name| Column::of_bytes(of, rows.len(), sections.get(name)?.clone());
        let (best, small) = columns(dataset, rows);
        let exact = column(best, EXACT)?;
        let small = if let Some(small) = small { Some(column(small, SMALL)?) } else { None };
        let around = sections.numbers(AROUND).filter(|around| around.len() == rows.len() * Neighbourhood::VALUES)?;
        let scale = sections.numbers(SCALE)?;
        let scale = scale.first_chunk().map(|values| SimilarityScale::from_values(*values));
        let opened = Self { dim: dataset.manifest().model.dim, exact, small, around, scale, zeros: Vec::new() };
        let is_joined = |row| opened.around(row).joined == joined(rows, row, row + 1);
        (0..rows.len()).into_par_iter().all(is_joined).then(|| opened.with_zeros())
    }

    /// Finds the rows that are zeros, and tells columns of bits.
    fn with_zeros(mut self) -> Self {
        let zeros: Vec<bool> = (0..self.len()).into_par_iter().map(|row| self.around(row).own == 0.0).collect();
        if zeros.contains(&true) {
            for column in self.small.iter_mut().chain([&mut self.exact]) {
                column.mark_zeros(&zeros);
            }
            self.zeros = zeros;
        }
        self
    }

    fn len(&self) -> usize {
        self.around.len() / Neighbourhood::VALUES
    }

    fn around(&self, row: usize) -> Neighbourhood {
        self.around.as_chunks().0.get(row).copied().map(Neighbourhood::from_values).unwrap_or_default()
    }

    /// Returns how similar the vectors are to each other, if there are several.
    pub(super) fn scale(&self) -> Option<SimilarityScale> {
        self.scale
    }

    /// Returns the column that is read for every question.
    fn scanned(&self) -> &Column {
        self.small.as_ref().unwrap_or(&self.exact)
    }

    /// Returns how many rows to score again, for the best `k`; `None` if all scores are those of the most exact column.
    pub(super) fn scored_again(&self, k: usize) -> Option<usize> {
        self.small.is_some().then(|| k.saturating_mul(AGAIN).max(FEWEST_AGAIN))
    }

    /// Returns the `k` best rows for each query, among those that `mask` lets through.
    ///
    /// # Errors
    /// [`Error::Setting`] if the dimension of a query differs.
    pub(super) fn nearest(
        &self,
        rows: &Rows,
        queries: &[&[f32]],
        k: usize,
        mask: Option<&[bool]>,
    ) -> Result<Vec<Vec<ScoredRow>>> {
        queries.iter().try_for_each(|query| self.check(query))?;
        let most = if self.small.is_some() { TOGETHER_AGAIN } else { TOGETHER };
        if queries.len() > most {
            let groups = queries.chunks(most).map(|queries| self.nearest(rows, queries, k, mask));
            return Ok(groups.collect::<Result<Vec<_>>>()?.concat());
        }
        let prepared: Vec<Prepared<'_>> = queries.iter().map(|query| self.scanned().prepare(query)).collect();
        let wanted = self.scored_again(k);
        // Nothing is near a vector of zeros.
        let most = |query: &[f32]| if is_zero(query) { 0 } else { wanted.unwrap_or(k) };
        let none = || queries.iter().map(|query| Top::new(rows, most(query))).collect::<Vec<_>>();
        let rounded = || queries.iter().map(|query| self.scanned().rounded(query));
        let together = if queries.len() < MANY { None } else { Questions::new(rounded(), self.scanned().dim()) };
        let best = if let Some(questions) = together {
            // No row below the best that any thread knows is wanted.
            let least = Mutex::new(vec![f64::NEG_INFINITY; queries.len()]);
            let is_zero: Vec<bool> = queries.iter().map(|query| is_zero(query)).collect();
            let look = |best: &mut [Top<'_>], scratch: &mut Scratch, block: Range<usize>| {
                let known = known_least(&least, best);
                questions.near(self.scanned(), block, &known, scratch, |row, question| {
                    if !is_zero[question] {
                        let score = self.scanned().score(row, &prepared[question]);
                        self.offer(&mut best[question], row, score, mask);
                    }
                });
            };
            self.all_blocks(together::ROWS, none, look)
        } else {
            self.all_blocks(self.scanned().rows_in(BLOCK), none, |best, scores: &mut Vec<f32>, block| {
                scores.resize(block.len(), 0.0);
                for (query, best) in prepared.iter().zip(best) {
                    self.scanned().scores(block.start, query, scores);
                    for (few, scores) in scores.chunks(AT_A_TIME).enumerate() {
                        #[expect(clippy::cast_possible_truncation, reason = "as precise as scores, or infinite")]
                        let least = best.least() as f32;
                        // Counted, because the compiler then compares several at a time.
                        let is_wanted = |score: &f32| u32::from(*score >= least) + u32::from(score.is_nan());
                        if scores.iter().map(is_wanted).sum::<u32>() > 0 {
                            let rows_of = block.start + few * AT_A_TIME..;
                            rows_of.zip(scores).for_each(|(row, score)| self.offer(best, row, *score, mask));
                        }
                    }
                }
            })
        };
        let best = best.into_iter().map(Top::into_best);
        if wanted.is_none() {
            return Ok(best.collect());
        }
        let again = |(found, query): (Vec<ScoredRow>, &&[f32])| {
            let query = self.exact.prepare(query);
            let found: Vec<usize> = found.iter().map(|found| found.row as usize).collect();
            let mut best = Top::new(rows, k);
            for (row, score) in found.iter().zip(self.scores_of(&found, &query, 0.0)) {
                best.push(*row, f64::from(score));
            }
            best.into_best()
        };
        Ok(best.zip(queries).map(again).collect())
    }

    /// Passes all rows to `look`, in blocks of `len`, and returns what it finds.
    fn all_blocks<'r, S: Default + Send>(
        &self,
        len: usize,
        none: impl Fn() -> Vec<Top<'r>> + Sync,
        look: impl Fn(&mut [Top<'r>], &mut S, Range<usize>) + Sync,
    ) -> Vec<Top<'r>> {
        let blocks = (0..self.len()).step_by(len).map(|first| first..self.len().min(first + len));
        let start = || (none(), S::default());
        let found = share(blocks, start, |(best, scratch), block| look(best, scratch, block));
        let all = found.into_iter().map(|(best, _)| best).reduce(|mut all, more| {
            all.iter_mut().zip(more).for_each(|(all, more)| all.append(more));
            all
        });
        all.unwrap_or_else(none)
    }

    /// Adds a row to the best ones, if it is one of them.
    fn offer(&self, best: &mut Top<'_>, row: usize, score: f32, mask: Option<&[bool]>) {
        let score = f64::from(score);
        if best.wants(score) && !self.says_nothing(row) && mask.is_none_or(|mask| mask[row]) {
            best.push(row, score);
        }
    }

    /// Computes the dot product with every row, by the column that is read. Each row is blended with `weight` times the rows before
    /// and after it, and keeps its length. The score of a vector of zeros is NaN: unknown.
    ///
    /// # Errors
    /// [`Error::Setting`] if the dimension of the query differs.
    pub(super) fn scores(&self, query: &[f32], weight: f32) -> Result<Vec<f32>> {
        self.check(query)?;
        let mut scores = vec![0.0; self.len()];
        if is_zero(query) {
            scores.fill(f32::NAN);
            return Ok(scores);
        }
        let prepared = self.scanned().prepare(query);
        let rows = self.scanned().rows_in(BLOCK);
        share(
            scores.chunks_mut(rows).enumerate(),
            || (),
            |(), (block, scores)| {
                self.scanned().scores(block * rows, &prepared, scores);
            },
        );
        if weight > 0.0 {
            let mut before = 0.0;
            for row in 0..scores.len() {
                let after = scores.get(row + 1).copied().unwrap_or_default();
                let blended = self.blend(row, [before, scores[row], after], weight);
                before = std::mem::replace(&mut scores[row], blended);
            }
        }
        scores.iter_mut().zip(&self.zeros).filter(|(_, is_zero)| **is_zero).for_each(|(score, _)| *score = f32::NAN);
        if self.small.is_some() {
            self.expect_exact(&mut scores, &self.exact.prepare(query), weight);
        }
        Ok(scores)
    }

    /// Turns scores of the small column into what is to be expected of exact ones, by a linear regression over a sample of rows:
    /// signs have less of a direction, and what a rounding adds is not in the exact score.
    fn expect_exact(&self, scores: &mut [f32], query: &Prepared<'_>, weight: f32) {
        let step = scores.len().div_ceil(SAMPLE).max(1);
        let known = (0..scores.len()).step_by(step).filter(|row| !scores[*row].is_nan());
        let known: Vec<usize> = known.collect();
        let exact = self.scores_of(&known, query, weight);
        let pairs: Vec<[f64; 2]> =
            known.iter().zip(exact).map(|(row, exact)| [scores[*row], exact].map(f64::from)).collect();
        #[expect(clippy::cast_precision_loss, reason = "a sample is small")]
        let mean = |of: &dyn Fn(&[f64; 2]) -> f64| pairs.iter().map(of).sum::<f64>() / pairs.len() as f64;
        let means = [0, 1].map(|at| mean(&|pair| pair[at]));
        let spread = |other: usize| mean(&|pair| (pair[0] - means[0]) * (pair[other] - means[other]));
        let [variance, covariance] = [0, 1].map(spread);
        if variance > 0.0 && covariance > 0.0 {
            #[expect(clippy::cast_possible_truncation, reason = "as precise as scores")]
            let expected = |score: f32| (means[1] + (f64::from(score) - means[0]) * covariance / variance) as f32;
            scores.par_iter_mut().for_each(|score| *score = expected(*score));
        } else {
            // The sample says nothing.
            let rows: Vec<usize> = (0..scores.len()).collect();
            scores.copy_from_slice(&self.scores_of(&rows, query, weight));
        }
    }

    /// Prepares a question for [`score`](Self::score).
    pub(super) fn prepare<'q>(&self, query: &'q [f32]) -> Prepared<'q> {
        self.exact.prepare(query)
    }

    /// Computes what [`scores`](Self::scores) does for some rows, by the most exact column.
    pub(super) fn scores_of(&self, rows: &[usize], query: &Prepared<'_>, weight: f32) -> Vec<f32> {
        let mut scores = vec![0.0; rows.len()];
        // Each of them is somewhere else in memory, and several threads wait for several.
        share(
            rows.chunks(FEW).zip(scores.chunks_mut(FEW)),
            || (),
            |(), (rows, scores)| {
                rows.iter().zip(scores).for_each(|(row, score)| *score = self.score(*row, query, weight));
            },
        );
        scores
    }

    fn score(&self, row: usize, query: &Prepared<'_>, weight: f32) -> f32 {
        if self.says_nothing(row) {
            return f32::NAN;
        }
        let score = |row: usize| self.exact.score(row, query);
        if weight == 0.0 {
            return score(row);
        }
        let before = if row > 0 && self.around(row - 1).joined { score(row - 1) } else { 0.0 };
        let after = if self.around(row).joined { score(row + 1) } else { 0.0 };
        self.blend(row, [before, score(row), after], weight)
    }

    /// Turns the score of a vector into that of `v + w (before + after)`, whose length is known without computing it.
    fn blend(&self, row: usize, [before_score, score, after_score]: [f32; 3], w: f32) -> f32 {
        let here = self.around(row);
        let before = row.checked_sub(1).map(|before| self.around(before)).filter(|before| before.joined);
        let before_score = if before.is_some() { before_score } else { 0.0 };
        let before = before.unwrap_or_default();
        let (after, after_score) = if here.joined { (self.around(row + 1).own, after_score) } else { (0.0, 0.0) };
        let length =
            here.own + 2.0 * w * (before.next + here.next) + w * w * (before.own + 2.0 * before.second + after);
        let sum = score + w * (before_score + after_score);
        if length > 0.0 { sum * (here.own / length).sqrt() } else { score }
    }

    /// Returns whether the vector of a row is all zeros: its text has no word that the model knows.
    fn says_nothing(&self, row: usize) -> bool {
        self.zeros.get(row) == Some(&true)
    }

    fn check(&self, query: &[f32]) -> Result<()> {
        if query.len() == self.dim {
            return Ok(());
        }
        Err(Error::setting(
            "model",
            format!("its vectors have {}, but those of the dataset have {}", count(query.len(), "dimension"), self.dim),
            "search with the model of the dataset",
        ))
    }
}

impl Neighbourhood {
    /// The number of values that are kept of it.
    const VALUES: usize = 4;

    fn values(self) -> [f32; Self::VALUES] {
        [self.own, self.next, self.second, f32::from(u8::from(self.joined))]
    }

    fn from_values([own, next, second, joined]: [f32; Self::VALUES]) -> Self {
        Self { own, next, second, joined: joined > 0.0 }
    }

    fn of(column: &Column, rows: &Rows, row: usize) -> Self {
        let vector = column.vector(row);
        let with =
            |other: usize| if joined(rows, row, other) { column.dot(&vector, &column.vector(other)) } else { 0.0 };
        Self {
            own: column.dot(&vector, &vector),
            next: with(row + 1),
            second: with(row + 2),
            joined: joined(rows, row, row + 1),
        }
    }
}

/// Tells all threads the lowest scores that these best rows ask for, and returns the highest that any thread knows.
fn known_least(least: &Mutex<Vec<f64>>, best: &[Top<'_>]) -> Vec<f64> {
    let mut least = least.lock().unwrap_or_else(PoisonError::into_inner);
    least.iter_mut().zip(best).for_each(|(least, best)| *least = least.max(best.least()));
    least.clone()
}

/// Returns whether two rows belong to the same document.
fn joined(rows: &Rows, row: usize, other: usize) -> bool {
    rows.docs().get(other) == Some(&rows.docs()[row])
}

/// Returns how the most exact column is stored, and the smallest one, if it is worth to read it first.
fn columns(dataset: &Dataset, rows: &Rows) -> (Representation, Option<Representation>) {
    let all = dataset.manifest().representations();
    let (best, smallest) = (all[0], all[all.len() - 1]);
    (best, (best != smallest && rows.len() > FEWEST_AGAIN).then_some(smallest))
}

/// Reads a column, in parallel over files.
fn read(dataset: &Dataset, rows: &Rows, of: &Representation) -> Result<StoredVectors> {
    // The number of values comes from the manifest; before so much memory is taken for it, the files confirm it.
    confirm(dataset, of)?;
    let len = rows.len() * of.width();
    Ok(match of.stored {
        EmbeddingType::F32 | EmbeddingType::List | EmbeddingType::F16 => {
            let mut values = vec![0.0; len];
            let floats = |stored| match stored {
                StoredVectors::F32(values) => Some(values),
                other => Some(other.floats(of.dim)),
            };
            fill(dataset, rows, of, &mut values, floats)?;
            StoredVectors::F32(values)
        }
        EmbeddingType::Int8 => {
            let mut values = vec![0; len];
            let bytes = |stored| if let StoredVectors::Int8(values) = stored { Some(values) } else { None };
            fill(dataset, rows, of, &mut values, bytes)?;
            StoredVectors::Int8(values)
        }
        EmbeddingType::Bits => {
            let mut values = vec![0; len];
            let bits = |stored| if let StoredVectors::Bits(values) = stored { Some(values) } else { None };
            fill(dataset, rows, of, &mut values, bits)?;
            StoredVectors::Bits(values)
        }
    })
}

/// Fails if the first vectors of the dataset do not have the length that the manifest says.
fn confirm(dataset: &Dataset, of: &Representation) -> Result<()> {
    let Some(file) = dataset.files(Table::Chunks).find(|file| file.rows > 0) else { return Ok(()) };
    let Some(batch) = dataset.read(file, &[of.column()], None)?.next().transpose()? else { return Ok(()) };
    match vectors(batch.column(0), of) {
        Some(_) => Ok(()),
        None => Err(damaged(
            dataset,
            file,
            &format!("its vectors do not have the {} of the manifest", count(of.dim, "dimension")),
        )),
    }
}

/// Fills `values` with those of a column. `take` returns the values of a batch.
fn fill<T: Copy + Send>(
    dataset: &Dataset,
    rows: &Rows,
    of: &Representation,
    values: &mut [T],
    take: impl Fn(StoredVectors) -> Option<Vec<T>> + Sync,
) -> Result<()> {
    let mut rest = values;
    let mut parts = Vec::new();
    for (index, file) in dataset.files(Table::Chunks).enumerate() {
        let (part, behind) = rest.split_at_mut(rows.of_file(index).len() * of.width());
        parts.push((file, part));
        rest = behind;
    }
    let fill = |(file, mut part): (&FileEntry, &mut [T])| {
        for batch in dataset.read(file, &[of.column()], None)? {
            let values = vectors(batch?.column(0), of).and_then(&take);
            let values = values.ok_or_else(|| damaged(dataset, file, "its vectors have an unknown type"))?;
            let Some((here, behind)) = part.split_at_mut_checked(values.len()) else {
                return Err(damaged(dataset, file, "it has more vectors than chunks"));
            };
            here.copy_from_slice(&values);
            part = behind;
        }
        if part.is_empty() { Ok(()) } else { Err(damaged(dataset, file, "it has fewer vectors than chunks")) }
    };
    parts.into_par_iter().try_for_each(fill)
}

/// Returns for each row whether its vector is zeros, which bits cannot say.
fn zeros(dataset: &Dataset, of: &Representation) -> Result<Vec<bool>> {
    let mut zeros = Vec::new();
    for file in dataset.files(Table::Chunks) {
        for batch in dataset.read(file, &[of.column(), "flags"], None)? {
            let batch = batch?;
            let vectors = restored_vectors(&batch, &[*of])
                .ok_or_else(|| damaged(dataset, file, "its vectors have an unknown type"))?;
            zeros.extend(vectors.chunks(of.dim.max(1)).map(is_zero));
        }
    }
    Ok(zeros)
}
