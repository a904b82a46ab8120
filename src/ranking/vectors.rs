//! Exact vector search: the dot product with every vector, no index, no approximation.
//!
//! All vectors lie in one block of memory, row after row. A query reads the block once; several
//! queries share the reading. The order of additions is fixed, so the score of a pair is the same
//! on every machine and number of threads, alone or in a batch.

use arrow::array::AsArray;
use arrow::datatypes::Float32Type;
use rayon::prelude::*;

use super::rows::{Rows, damaged};
use super::stored::StoredAs;
use super::top::{Scored, Top};
use crate::embed::Representation;
use crate::error::{Error, Result};
use crate::store::{Dataset, FileEntry, Table, vectors};

/// Rows that one thread takes at a time: of the usual vectors they fit its cache, so that several
/// queries read them from there.
const BLOCK: usize = 256;

/// The sums that are carried beside each other: enough for the processor to have no wait for one.
const LANES: usize = 16;

/// The vectors of all chunks.
#[derive(Debug)]
pub(super) struct Vectors {
    dim: usize,
    values: Vec<f32>,
    /// By row.
    around: Vec<Around>,
}

/// How a row's vector lies to those of the rows after it. A row of another document is as none: 0.
#[derive(Debug, Clone, Copy, Default)]
struct Around {
    /// Its dot product with itself.
    own: f32,
    /// With the next.
    next: f32,
    /// With the one after that.
    second: f32,
    /// Whether the next is of the same document.
    joined: bool,
}

impl Vectors {
    /// Reads all vectors, in parallel over files, as if they were stored so.
    pub(super) fn load(dataset: &Dataset, rows: &Rows, stored_as: StoredAs) -> Result<Self> {
        let [of] = dataset.manifest().representations();
        let dim = of.dim;
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
        let around = (0..rows.len()).into_par_iter().map(|row| Around::of(&values, dim, rows, row)).collect();
        Ok(Self { dim, values, around })
    }

    /// The `k` best rows for each query, of those that `mask` lets through.
    ///
    /// # Errors
    /// [`Error::Setting`] if a query has another dimension.
    pub(super) fn nearest(
        &self,
        rows: &Rows,
        queries: &[&[f32]],
        k: usize,
        mask: Option<&[bool]>,
    ) -> Result<Vec<Vec<Scored>>> {
        queries.iter().try_for_each(|query| self.check(query))?;
        let none = || queries.iter().map(|_| Top::new(k)).collect::<Vec<_>>();
        let best = self
            .values
            .par_chunks(self.dim.max(1) * BLOCK)
            .enumerate()
            .map(|(index, block)| {
                let first = index * BLOCK;
                let mut best = none();
                for (query, best) in queries.iter().zip(&mut best) {
                    for (row, vector) in (first..).zip(block.chunks_exact(self.dim)) {
                        if mask.is_some_and(|mask| !mask[row]) {
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

    /// The dot product with every row, each of which has `weight` times the rows before and after it in it, and the length of
    /// its own.
    ///
    /// # Errors
    /// [`Error::Setting`] if the query has another dimension.
    pub(super) fn scores(&self, query: &[f32], weight: f32) -> Result<Vec<f32>> {
        self.check(query)?;
        let mut scores = vec![0.0; self.values.len() / self.dim.max(1)];
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
        Ok(scores)
    }

    /// From the scores of vectors those of `v + w (before + after)`, whose length is known without making it.
    fn blend(&self, scores: &mut [f32], w: f32) {
        let (mut before, mut before_score) = (Around::default(), 0.0);
        for row in 0..scores.len() {
            let (here, score) = (self.around[row], scores[row]);
            let after = if here.joined { (self.around[row + 1].own, scores[row + 1]) } else { (0.0, 0.0) };
            let length =
                here.own + 2.0 * w * (before.next + here.next) + w * w * (before.own + 2.0 * before.second + after.0);
            let sum = score + w * (before_score + after.1);
            scores[row] = if length > 0.0 { sum * (here.own / length).sqrt() } else { score };
            (before, before_score) = if here.joined { (here, score) } else { (Around::default(), 0.0) };
        }
    }

    fn check(&self, query: &[f32]) -> Result<()> {
        if query.len() == self.dim {
            return Ok(());
        }
        Err(Error::Setting {
            origin: "model".to_owned(),
            problem: format!("its vectors have {} dimensions, those of the dataset {}", query.len(), self.dim),
            help: "search with the model of the dataset".to_owned(),
        })
    }
}

impl Around {
    fn of(values: &[f32], dim: usize, rows: &Rows, row: usize) -> Self {
        let vector = |row: usize| &values[row * dim..(row + 1) * dim];
        let of_same = |other: usize| other < rows.len() && rows.of(other).doc == rows.of(row).doc;
        let with = |other: usize| if of_same(other) { dot(vector(row), vector(other)) } else { 0.0 };
        Self { own: with(row), next: with(row + 1), second: with(row + 2), joined: of_same(row + 1) }
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

/// Dot product of two vectors of one length, summed in lanes so that it can be vectorised.
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
