//! Sparse vectors: for each token of a vocabulary, how much a text is about it (SPLADE, Formal et al. 2021). A network with a
//! language-model head gives a text tokens that it does not have, synonyms for example, so a search by words finds them.
//!
//! The same network may read questions. Or each token of a question has a fixed weight, and no network runs at all
//! (Geng et al. 2024): the `Router` of sentence-transformers then has a `SparseStaticEmbedding` for queries.

use std::collections::BTreeMap;

use half::f16;
use serde::{Deserialize, Serialize};

use crate::kernel::Precision;

/// Flag of a chunk of which the sparse model reads only the beginning.
pub const SPARSE_TRUNCATED: &str = "sparse_truncated";

/// Largest vocabulary. A token must be exact as a float, in which the cache stores it.
pub const MAX_VOCABULARY: usize = 1 << 24;

/// A weight for some tokens of a vocabulary, in the order of the tokens.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct SparseVector(Vec<(u32, f32)>);

impl SparseVector {
    /// Creates a vector from weights by token. Weights are rounded to half precision, in which datasets store them; weights
    /// of 0 are left out.
    pub fn rounded(weights: impl IntoIterator<Item = (u32, f32)>) -> Self {
        Self::new(weights.into_iter().map(|(token, weight)| (token, f16::from_f32(weight).to_f32())))
    }

    pub(crate) fn new(weights: impl IntoIterator<Item = (u32, f32)>) -> Self {
        let mut weights: Vec<(u32, f32)> = weights.into_iter().filter(|(_, weight)| *weight != 0.0).collect();
        weights.sort_unstable_by_key(|(token, _)| *token);
        weights.dedup_by_key(|(token, _)| *token);
        Self(weights)
    }

    /// Creates a vector from tokens and their weights as a dataset stores them; `None` if the tokens are not in order, or a
    /// weight is not a number.
    pub fn stored(tokens: &[u32], weights: &[f32]) -> Option<Self> {
        let is_valid = tokens.len() == weights.len()
            && tokens.is_sorted_by(|a, b| a < b)
            && weights.iter().all(|weight| weight.is_finite());
        is_valid.then(|| Self(tokens.iter().copied().zip(weights.iter().copied()).collect()))
    }

    /// Returns the tokens with their weights, in the order of the tokens.
    pub fn weights(&self) -> &[(u32, f32)] {
        &self.0
    }

    /// Keeps only this many weights, if they are limited: those farthest from 0; of equal ones, those of the first tokens.
    pub(crate) fn keep(&mut self, most: Option<usize>) {
        if let Some(most) = most.filter(|&most| self.0.len() > most) {
            self.0.sort_by(|(_, a), (_, b)| b.abs().total_cmp(&a.abs()));
            self.0.truncate(most);
            self.0.sort_unstable_by_key(|(token, _)| *token);
        }
    }

    /// Returns the tokens and weights as floats, one after the other, for the cache.
    pub(crate) fn to_floats(&self) -> Vec<f32> {
        #[expect(clippy::cast_precision_loss, reason = "a vocabulary has at most 2^24 tokens")]
        self.0.iter().flat_map(|&(token, weight)| [token as f32, weight]).collect()
    }

    /// Does the opposite of [`to_floats`](Self::to_floats).
    pub(crate) fn from_floats(floats: &[f32]) -> Self {
        #[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "they were tokens")]
        Self(floats.as_chunks().0.iter().map(|&[token, weight]| (token as u32, weight)).collect())
    }
}

/// A dataset's record of the model that produced its sparse vectors.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct SparseModel {
    /// Hub id, or the folder's name.
    pub id: String,
    /// Commit of the hub repository, if it came from there.
    pub revision: Option<String>,
    /// Number of tokens that may have a weight.
    pub vocabulary: usize,
    /// Maximum number of tokens the model reads, including special tokens.
    pub max_tokens: usize,
    /// Precision it was computed in.
    pub precision: Precision,
    /// Identifies the files and everything else that determines the vectors: 16 hexadecimal digits.
    pub fingerprint: String,
    /// Identifies what else affects the last bits of the vectors: the instruction set.
    pub arithmetic: String,
    /// SHA-256 of every file that was read, by name.
    pub files: BTreeMap<String, String>,
}
