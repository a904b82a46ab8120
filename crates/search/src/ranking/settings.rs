//! The settings of a ranking, with their defaults.

use std::str::FromStr;

use chunkmill_base::value::{named, value};
use serde::{Deserialize, Serialize};

use super::language::LanguageSetting;

named! {
    /// The search mode.
    #[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default)]
    pub enum Mode: "a search mode" {
        /// Exact search by the dot product with every vector.
        Vector = "vector",
        /// Search by the words of the query with BM25. Needs no model.
        Keyword = "keyword",
        /// Search by the tokens that a sparse model gives question and chunks.
        Sparse = "sparse",
        /// All of these, sparse only if the dataset has it, and recency if it has a weight: see [`Fusion`].
        #[default]
        Hybrid = "hybrid",
        /// Hybrid search, plus the chunks linked to its best hits.
        Graph = "graph",
    }
}

impl Mode {
    /// Returns whether a query needs a vector.
    pub fn needs_vector(self) -> bool {
        matches!(self, Self::Vector | Self::Hybrid | Self::Graph)
    }
}

named! {
    /// The method that combines several scores of a chunk.
    #[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default)]
    pub enum Fusion: "a fusion method" {
        /// A weighted sum of scores, each in standard deviations from its mean over all chunks that pass the filter.
        #[default]
        Linear = "linear",
        /// Reciprocal rank fusion: only ranks count.
        Rrf = "rrf",
    }
}

/// A share of a whole, from 0 to 1.
#[derive(Debug, Clone, Copy, PartialEq, PartialOrd, Serialize, Deserialize)]
#[serde(try_from = "f64", into = "f64")]
pub struct Share(f64);

// A share is never NaN.
impl Eq for Share {}

impl Share {
    /// Nothing.
    pub const ZERO: Self = Self(0.0);

    /// The default lowest chance of evidence of a chunk in a context.
    pub const LEAST_CHANCE: Self = Self(0.005);

    /// Returns the value.
    pub fn get(self) -> f64 {
        self.0
    }
}

impl TryFrom<f64> for Share {
    type Error = String;

    fn try_from(value: f64) -> Result<Self, String> {
        if (0.0..=1.0).contains(&value) { Ok(Self(value)) } else { Err(format!("{value} is not between 0 and 1")) }
    }
}

impl From<Share> for f64 {
    fn from(share: Share) -> Self {
        share.0
    }
}

value! {
    Share: {"type": "number", "minimum": 0, "maximum": 1}
}

impl FromStr for Share {
    type Err = String;

    fn from_str(s: &str) -> Result<Self, String> {
        s.parse::<f64>().map_err(|_| format!("`{s}` is not a number"))?.try_into()
    }
}

/// A weight: a finite number that is not negative.
#[derive(Debug, Clone, Copy, PartialEq, PartialOrd, Serialize, Deserialize)]
#[serde(try_from = "f64", into = "f64")]
pub struct Weight(f64);

// A weight is never NaN.
impl Eq for Weight {}

impl Weight {
    /// The weight 1.
    pub const ONE: Self = Self(1.0);

    /// The weight 2.
    pub const TWO: Self = Self(2.0);

    /// The weight 0, which has no effect.
    pub const ZERO: Self = Self(0.0);

    /// Returns the value.
    pub fn get(self) -> f64 {
        self.0
    }

    /// Returns the value in single precision.
    #[expect(clippy::cast_possible_truncation, reason = "they are single precision")]
    pub(super) fn single(self) -> f32 {
        self.0 as f32
    }
}

impl TryFrom<f64> for Weight {
    type Error = String;

    fn try_from(value: f64) -> Result<Self, String> {
        // A larger weight would be infinite among single-precision scores.
        if (0.0..=1e9).contains(&value) { Ok(Self(value)) } else { Err(format!("{value} is not between 0 and 1e9")) }
    }
}

impl From<Weight> for f64 {
    fn from(weight: Weight) -> Self {
        weight.0
    }
}

value! {
    Weight: {"type": "number", "minimum": 0}
}

impl FromStr for Weight {
    type Err = String;

    fn from_str(s: &str) -> Result<Self, String> {
        s.parse::<f64>().map_err(|_| format!("`{s}` is not a number"))?.try_into()
    }
}

/// The weights of a word by the field it is found in.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct FieldWeights {
    /// Weight in the content.
    pub content: Weight,
    /// Weight in the headings above and inside.
    pub headings: Weight,
    /// Weight in the tags of the document.
    pub tags: Weight,
    /// Weight in the aliases of the document.
    pub aliases: Weight,
    /// Weight in the title of the document.
    pub title: Weight,
    /// Weight in the path of the document.
    pub path: Weight,
}

impl Default for FieldWeights {
    /// Headings have a weight of one quarter: most of them are also in the content, and chunks under one heading
    /// share them. On `datasets/larder`, this found more of the evidence than 0, 0.5 or 1.
    fn default() -> Self {
        Self {
            content: Weight::ONE,
            headings: Weight(0.25),
            tags: Weight::ONE,
            aliases: Weight::ONE,
            title: Weight(0.5),
            path: Weight(2.0),
        }
    }
}

impl FieldWeights {
    pub(super) fn values(&self) -> [f32; 6] {
        [self.content, self.headings, self.tags, self.aliases, self.title, self.path].map(Weight::single)
    }
}

/// The settings of a ranking.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Ranking {
    /// Method that combines the scores.
    pub fusion: Fusion,
    /// Share of the vector score in a linear sum. Keywords get the rest.
    pub vector_share: Share,
    /// Share of the sparse score in a linear sum, if the dataset has sparse vectors. Vectors and keywords get the rest.
    pub sparse_share: Share,
    /// Weight of the document's keyword score in the scores of its chunks.
    pub document: Weight,
    /// Weight of the vectors of the previous and the next chunk, in a linear sum.
    pub neighbours: Weight,
    /// Language of documents and questions, for keywords.
    pub language: LanguageSetting,
    /// Constant k of reciprocal rank fusion. A larger value makes the first ranks count less.
    pub rrf_k: Weight,
    /// Weight of the vector list in reciprocal rank fusion.
    pub vector: Weight,
    /// Weight of the keyword list in reciprocal rank fusion.
    pub keyword: Weight,
    /// Weight of the sparse list in reciprocal rank fusion.
    pub sparse: Weight,
    /// Weight of recency: of the list by modification time, newest first, or of the time in a linear sum.
    pub recency: Weight,
    /// Weight of chunks linked to the best hits: of the list of neighbours, or of the best hit's own score in a
    /// linear sum.
    pub graph: Weight,
    /// Number of entries of the vector and keyword lists that reciprocal rank fusion reads. Chunks further down in
    /// both lists are not found, however many hits are requested.
    pub depth: usize,
    /// Number of best hits whose links are followed.
    pub graph_seeds: usize,
    /// Weights of the fields in keyword search.
    pub fields: FieldWeights,
}

impl Default for Ranking {
    fn default() -> Self {
        Self {
            fusion: Fusion::Linear,
            vector_share: Share(0.6),
            sparse_share: Share(0.1),
            document: Weight::ONE,
            neighbours: Weight(0.2),
            language: LanguageSetting::Auto,
            rrf_k: Weight(60.0),
            vector: Weight::ONE,
            keyword: Weight::ONE,
            sparse: Weight::ONE,
            recency: Weight::ZERO,
            graph: Weight(0.5),
            depth: 100,
            graph_seeds: 10,
            fields: FieldWeights::default(),
        }
    }
}

impl Ranking {
    /// Returns whether a search needs sparse vectors, if the dataset has some.
    pub fn needs_sparse(&self, mode: Mode) -> bool {
        match mode {
            Mode::Vector | Mode::Keyword => false,
            Mode::Sparse => true,
            Mode::Hybrid | Mode::Graph => match self.fusion {
                Fusion::Linear => self.sparse_share > Share::ZERO,
                Fusion::Rrf => self.sparse > Weight::ZERO,
            },
        }
    }
}
