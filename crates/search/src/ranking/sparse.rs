//! Scores by sparse vectors: the dot product of a question's with each chunk's.
//!
//! They are turned around when a dataset is opened: for each token, the chunks that have it. A question then touches only the
//! chunks that share a token with it.

use arrow::buffer::ScalarBuffer;
use chunkmill_base::error::{Error, Result};
use chunkmill_base::value::count;
use chunkmill_dataset::dataset::{Dataset, SPARSE, Table, sparse_vectors};
use chunkmill_embed::{SparseModel, SparseVector};
use rayon::prelude::*;

use super::batch::damaged;
use super::cache::{Cache, Sections};
use super::rows::Rows;

/// Names of the sections in the cached file.
const STARTS: &str = "starts";
const ROWS: &str = "rows";
const WEIGHTS: &str = "weights";

/// The chunks that have each token.
#[derive(Debug)]
pub(super) struct Postings {
    /// Where the entries of each token start, and at the end their number.
    starts: ScalarBuffer<u64>,
    /// Rows and weights, by token and row.
    rows: ScalarBuffer<u32>,
    weights: ScalarBuffer<f32>,
    /// The number of rows.
    len: usize,
}

impl Postings {
    /// Opens all sparse vectors, from the cache or else from the dataset; `None` if it has none.
    pub(super) fn load(dataset: &Dataset, rows: &Rows, cache: &Cache) -> Result<Option<Self>> {
        let Some(model) = &dataset.manifest().model.sparse else { return Ok(None) };
        let open = |sections: &Sections| {
            Self::open(sections, rows.len())
                .ok_or_else(|| damaged(dataset, None, "its sparse vectors do not fit its rows"))
        };
        cache.load("sparse", || read(dataset, model, rows), open).map(Some)
    }

    /// Opens the sparse vectors in the sections of a cached file; `None` if they are not those of `len` rows.
    fn open(sections: &Sections, len: usize) -> Option<Self> {
        let (starts, rows) = (sections.numbers::<u64>(STARTS)?, sections.numbers::<u32>(ROWS)?);
        let weights = sections.numbers(WEIGHTS)?;
        let is_whole = starts.is_sorted()
            && starts.last().is_some_and(|end| usize::try_from(*end) == Ok(rows.len()))
            && rows.len() == weights.len()
            && rows.par_iter().all(|row| (*row as usize) < len);
        is_whole.then_some(Self { starts, rows, weights, len })
    }

    /// Computes the dot product with every row, summed in the order of the tokens.
    pub(super) fn scores(&self, question: &SparseVector) -> Vec<f32> {
        let mut scores = vec![0.0; self.len];
        let place = |start: &u64| usize::try_from(*start).unwrap_or(usize::MAX);
        for &(token, weight) in question.weights() {
            let token = token as usize;
            let Some(range) = self.starts.get(token).zip(self.starts.get(token + 1)) else { continue };
            let range = place(range.0)..place(range.1);
            for (row, stored) in self.rows[range.clone()].iter().zip(&self.weights[range]) {
                scores[*row as usize] += weight * stored;
            }
        }
        scores
    }
}

/// Reads the sparse vectors of a dataset, by token.
fn read(dataset: &Dataset, model: &SparseModel, rows: &Rows) -> Result<Sections> {
    let files: Vec<_> = dataset.files(Table::Chunks).enumerate().collect();
    let read = files.into_par_iter().map(|(index, file)| {
        let mut vectors = Vec::new();
        for batch in dataset.read(file, &[SPARSE], None)? {
            let found = sparse_vectors(batch?.column(0));
            vectors.extend(found.ok_or_else(|| damaged(dataset, file, "its sparse vectors are not in order"))?);
        }
        let is_of_model = |(token, _): &(u32, f32)| (*token as usize) < model.vocabulary;
        if vectors.len() != rows.of_file(index).len() {
            return Err(damaged(dataset, file, "it has more or fewer sparse vectors than chunks"));
        }
        if !vectors.iter().flat_map(SparseVector::weights).all(is_of_model) {
            return Err(damaged(dataset, file, "a sparse vector has a token that the model does not have"));
        }
        Ok(vectors)
    });
    let vectors: Vec<Vec<SparseVector>> = read.collect::<Result<_>>()?;
    let most = vectors.iter().flatten().filter_map(|vector| vector.weights().last());
    let tokens = most.map(|(token, _)| *token as usize + 1).max().unwrap_or_default();
    let mut starts = vec![0_usize; tokens + 1];
    for (token, _) in vectors.iter().flatten().flat_map(SparseVector::weights) {
        starts[*token as usize + 1] += 1;
    }
    for token in 0..tokens {
        starts[token + 1] += starts[token];
    }
    let mut next = starts.clone();
    let (mut by_token, mut weights) = (vec![0_u32; starts[tokens]], vec![0.0_f32; starts[tokens]]);
    for (row, vector) in (0..).zip(vectors.iter().flatten()) {
        for &(token, weight) in vector.weights() {
            by_token[next[token as usize]] = row;
            weights[next[token as usize]] = weight;
            next[token as usize] += 1;
        }
    }
    let starts: Vec<u64> = starts.into_iter().map(|start| start as u64).collect();
    let mut sections = Sections::default();
    sections.insert(STARTS, starts);
    sections.insert(ROWS, by_token);
    sections.insert(WEIGHTS, weights);
    Ok(sections)
}

/// Returns the error for a question without a sparse vector.
pub(super) fn missing(mode: &str) -> Error {
    Error::setting(
        "mode",
        format!("`{mode}` needs the query's sparse vector, because the dataset has sparse vectors"),
        "embed the query with the sparse model of the dataset, or set the sparse share to 0",
    )
}

/// Returns the error for a dataset without sparse vectors.
pub(super) fn none(dataset: &Dataset) -> Error {
    let chunks = count(dataset.manifest().counts.chunks, "chunk");
    Error::setting(
        "mode",
        format!("`sparse` needs sparse vectors, and the {chunks} of this dataset have none"),
        "index with --sparse-model, or use another mode",
    )
}
