//! Scores by sparse vectors: the dot product of a question's with each chunk's.
//!
//! They are turned around when a dataset is opened: for each token, the chunks that have it. A question then touches only the
//! chunks that share a token with it.

use chunkmill_base::error::{Error, Result};
use chunkmill_base::value::count;
use chunkmill_dataset::dataset::{Dataset, SPARSE, Table, sparse_vectors};
use chunkmill_embed::SparseVector;
use rayon::prelude::*;

use super::rows::{Rows, damaged};

/// The chunks that have each token.
#[derive(Debug)]
pub(super) struct Postings {
    /// Where the entries of each token start, and at the end their number.
    starts: Vec<usize>,
    /// Rows and weights, by token and row.
    entries: Vec<(u32, f32)>,
    rows: usize,
}

impl Postings {
    /// Reads all sparse vectors; `None` if the dataset has none.
    pub(super) fn load(dataset: &Dataset, rows: &Rows) -> Result<Option<Self>> {
        let Some(model) = &dataset.manifest().model.sparse else { return Ok(None) };
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
        let mut starts = vec![0; tokens + 1];
        for (token, _) in vectors.iter().flatten().flat_map(SparseVector::weights) {
            starts[*token as usize + 1] += 1;
        }
        for token in 0..tokens {
            starts[token + 1] += starts[token];
        }
        let mut next = starts.clone();
        let mut entries = vec![(0, 0.0); starts[tokens]];
        for (row, vector) in (0..).zip(vectors.iter().flatten()) {
            for &(token, weight) in vector.weights() {
                entries[next[token as usize]] = (row, weight);
                next[token as usize] += 1;
            }
        }
        Ok(Some(Self { starts, entries, rows: rows.len() }))
    }

    /// Computes the dot product with every row, summed in the order of the tokens.
    pub(super) fn scores(&self, question: &SparseVector) -> Vec<f32> {
        let mut scores = vec![0.0; self.rows];
        for &(token, weight) in question.weights() {
            let token = token as usize;
            let Some(range) = self.starts.get(token).zip(self.starts.get(token + 1)) else { continue };
            for &(row, stored) in &self.entries[*range.0..*range.1] {
                scores[row as usize] += weight * stored;
            }
        }
        scores
    }
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
