//! Exact vector search: the dot product with every vector, without an index or approximation.
//!
//! All vectors are in one block of memory, row after row. A query reads the block once; several queries read it
//! together. The order of additions is fixed, so the score of a pair is the same on every machine and any number
//! of threads, alone or in a batch.

use arrow::array::AsArray;
use arrow::datatypes::Float32Type;
use chunkmill_base::error::{Error, Result};
use chunkmill_base::value::count;
use chunkmill_dataset::dataset::{Dataset, FileEntry, Table, vectors};
use chunkmill_embed::{Representation, is_zero};
use rayon::prelude::*;

use super::chance::SimilarityScale;
use super::rows::{Rows, damaged};
use super::stored::StoredAs;
use super::top::{ScoredRow, Top};

/// Number of rows that one thread processes at a time: vectors of usual size then fit in its cache, where several
/// queries can read them.
const BLOCK: usize = 256;

/// Number of partial sums computed side by side: enough that the processor does not wait for any of them.
const LANES: usize = 16;

/// The vectors of all chunks.
#[derive(Debug)]
pub(super) struct Vectors {
    dim: usize,
    values: Vec<f32>,
    /// Dot products by row.
    around: Vec<Neighbourhood>,
    /// How similar the vectors are to each other, if there are several.
    scale: Option<SimilarityScale>,
}

/// The dot products of a row's vector with itself and the rows after it. They are 0 for rows of other documents.
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
    /// Reads all vectors, in parallel over files, as if they were stored in the form `stored_as`.
    pub(super) fn load(dataset: &Dataset, rows: &Rows, stored_as: StoredAs) -> Result<Self> {
        let [of] = dataset.manifest().representations();
        let dim = of.dim;
        // The number comes from the manifest; before so much memory is taken for it, the files confirm it.
        confirm(dataset, &of)?;
        let mut values = vec![0.0; rows.len() * dim];
        let mut rest = values.as_mut_slice();
        let mut parts = Vec::new();
        for (index, file) in dataset.files(Table::Chunks).enumerate() {
            let (part, behind) = rest.split_at_mut(rows.of_file(index).len() * dim);
            parts.push((file, part));
            rest = behind;
        }
        parts.into_par_iter().try_for_each(|(file, part)| fill(dataset, file, part, &of))?;
        stored_as.apply(&mut values, dim);
        let around = (0..rows.len()).into_par_iter().map(|row| Neighbourhood::of(&values, dim, rows, row));
        let around: Vec<Neighbourhood> = around.collect();
        let scale = SimilarityScale::of(&values, dim, around.iter().map(|around| around.own));
        Ok(Self { dim, values, around, scale })
    }

    /// Returns how similar the vectors are to each other, if there are several.
    pub(super) fn scale(&self) -> Option<SimilarityScale> {
        self.scale
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
        // Nothing is near a vector of zeros.
        let none = || queries.iter().map(|query| Top::new(if is_zero(query) { 0 } else { k })).collect::<Vec<_>>();
        let best = self
            .values
            .par_chunks(self.dim.max(1) * BLOCK)
            .enumerate()
            .map(|(index, block)| {
                let first = index * BLOCK;
                let mut best = none();
                for (query, best) in queries.iter().zip(&mut best) {
                    for (row, vector) in (first..).zip(block.chunks_exact(self.dim)) {
                        if self.says_nothing(row) || mask.is_some_and(|mask| !mask[row]) {
                            continue;
                        }
                        let score = f64::from(dot(vector, query));
                        if best.wants(score) {
                            best.push(rows.scored(row, score));
                        }
                    }
                }
                best
            })
            .reduce(none, |mut all, more| {
                all.iter_mut().zip(more).for_each(|(all, more)| all.append(more));
                all
            });
        Ok(best.into_iter().map(Top::into_best).collect())
    }

    /// Computes the dot product with every row. Each row is blended with `weight` times the rows before and after
    /// it, and keeps its length. The score of a vector of zeros is NaN: unknown.
    ///
    /// # Errors
    /// [`Error::Setting`] if the dimension of the query differs.
    pub(super) fn scores(&self, query: &[f32], weight: f32) -> Result<Vec<f32>> {
        self.check(query)?;
        let mut scores = vec![0.0; self.around.len()];
        if is_zero(query) {
            scores.fill(f32::NAN);
            return Ok(scores);
        }
        scores.par_chunks_mut(BLOCK).zip(self.values.par_chunks(self.dim.max(1) * BLOCK)).for_each(
            |(scores, block)| {
                scores
                    .iter_mut()
                    .zip(block.chunks_exact(self.dim))
                    .for_each(|(score, vector)| *score = dot(vector, query));
            },
        );
        if weight > 0.0 {
            self.blend(&mut scores, weight);
        }
        (0..scores.len()).filter(|&row| self.says_nothing(row)).for_each(|row| scores[row] = f32::NAN);
        Ok(scores)
    }

    /// Turns the scores of vectors into those of `v + w (before + after)`, whose length is known without computing
    /// it.
    fn blend(&self, scores: &mut [f32], w: f32) {
        let (mut before, mut before_score) = (Neighbourhood::default(), 0.0);
        for row in 0..scores.len() {
            let (here, score) = (self.around[row], scores[row]);
            let after = if here.joined { (self.around[row + 1].own, scores[row + 1]) } else { (0.0, 0.0) };
            let length =
                here.own + 2.0 * w * (before.next + here.next) + w * w * (before.own + 2.0 * before.second + after.0);
            let sum = score + w * (before_score + after.1);
            scores[row] = if length > 0.0 { sum * (here.own / length).sqrt() } else { score };
            (before, before_score) = if here.joined { (here, score) } else { (Neighbourhood::default(), 0.0) };
        }
    }

    /// Returns whether the vector of a row is all zeros: its text has no word that the model knows.
    fn says_nothing(&self, row: usize) -> bool {
        self.around[row].own == 0.0
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
    fn of(values: &[f32], dim: usize, rows: &Rows, row: usize) -> Self {
        let vector = |row: usize| &values[row * dim..(row + 1) * dim];
        let of_same = |other: usize| other < rows.len() && rows.of(other).doc == rows.of(row).doc;
        let with = |other: usize| if of_same(other) { dot(vector(row), vector(other)) } else { 0.0 };
        Self { own: with(row), next: with(row + 1), second: with(row + 2), joined: of_same(row + 1) }
    }
}

/// Fails if the first vectors of the dataset do not have the length that the manifest says.
fn confirm(dataset: &Dataset, of: &Representation) -> Result<()> {
    let Some(file) = dataset.files(Table::Chunks).find(|file| file.rows > 0) else { return Ok(()) };
    let Some(batch) = dataset.read(file, &[of.column], None)?.next().transpose()? else { return Ok(()) };
    match vectors(batch.column(0), of.dim) {
        Some(_) => Ok(()),
        None => Err(damaged(
            dataset,
            file,
            &format!("its vectors do not have the {} of the manifest", count(of.dim, "dimension")),
        )),
    }
}

fn fill(dataset: &Dataset, file: &FileEntry, mut part: &mut [f32], of: &Representation) -> Result<()> {
    for batch in dataset.read(file, &[of.column], None)? {
        let batch = batch?;
        let vectors = vectors(batch.column(0), of.dim)
            .ok_or_else(|| damaged(dataset, file, "its embedding column has an unknown type"))?;
        let values = vectors.as_primitive::<Float32Type>().values();
        let Some((here, behind)) = part.split_at_mut_checked(values.len()) else {
            return Err(damaged(dataset, file, "it has more vectors than chunks"));
        };
        here.copy_from_slice(values);
        part = behind;
    }
    if part.is_empty() { Ok(()) } else { Err(damaged(dataset, file, "it has fewer vectors than chunks")) }
}

/// Returns the dot product of two vectors of the same length, summed in lanes to allow vectorisation.
fn dot(a: &[f32], b: &[f32]) -> f32 {
    let mut lanes = [0.0f32; LANES];
    let (a_lanes, a_rest) = a.as_chunks::<LANES>();
    let (b_lanes, b_rest) = b.as_chunks::<LANES>();
    for (x, y) in a_lanes.iter().zip(b_lanes) {
        for lane in 0..LANES {
            lanes[lane] += x[lane] * y[lane];
        }
    }
    let rest: f32 = a_rest.iter().zip(b_rest).map(|(x, y)| x * y).sum();
    lanes.iter().sum::<f32>() + rest
}
