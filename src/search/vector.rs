//! Exact vector search: the dot product with every vector, no index, no approximation.
//!
//! All vectors lie in one block of memory, row after row. A query reads the block once; several
//! queries share the reading. The order of additions is fixed, so the score of a pair is the same
//! on every machine and number of threads, alone or in a batch.

use arrow::array::AsArray;
use arrow::datatypes::Float32Type;
use rayon::prelude::*;

use super::rows::{Rows, damaged};
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
}

impl Vectors {
    /// Reads all vectors, in parallel over files.
    pub(super) fn load(dataset: &Dataset, rows: &Rows) -> Result<Self> {
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
        Ok(Self { dim, values })
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
        if let Some(other) = queries.iter().map(|query| query.len()).find(|&len| len != self.dim) {
            return Err(Error::Setting {
                origin: "model".to_owned(),
                problem: format!("its vectors have {other} dimensions, those of the dataset {}", self.dim),
                help: "search with the model of the dataset".to_owned(),
            });
        }
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
