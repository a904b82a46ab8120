//! What can be chosen about a ranking, with its defaults.

use std::str::FromStr;

use serde::{Deserialize, Serialize};

use super::language::LanguageSetting;
use crate::value::{named, value};

/// How to search.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default)]
pub enum Mode {
    /// By the dot product with every vector, exactly.
    Vector,
    /// By the words of the query: BM25. Needs no model.
    Keyword,
    /// By both, and by recency if it has a weight: see [`Fusion`].
    #[default]
    Hybrid,
    /// Hybrid, and what is linked with its best hits.
    Graph,
}

impl Mode {
    /// Every mode.
    pub const ALL: [Self; 4] = [Self::Vector, Self::Keyword, Self::Hybrid, Self::Graph];

    /// The name used in settings and reports.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Self::Vector => "vector",
            Self::Keyword => "keyword",
            Self::Hybrid => "hybrid",
            Self::Graph => "graph",
        }
    }

    /// Whether a query needs its vector.
    #[must_use]
    pub fn needs_vector(self) -> bool {
        self != Self::Keyword
    }
}

named!(Mode, "a way to search");

/// How several scores of a chunk become one.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default)]
pub enum Fusion {
    /// A weighted sum of scores, each in standard deviations from its mean over all chunks that may be found.
    #[default]
    Linear,
    /// Reciprocal rank fusion: only ranks count.
    Rrf,
}

impl Fusion {
    /// Every way.
    pub const ALL: [Self; 2] = [Self::Linear, Self::Rrf];

    /// The name used in settings and reports.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Self::Linear => "linear",
            Self::Rrf => "rrf",
        }
    }
}

named!(Fusion, "a way to fuse scores");

/// A number from 0 to 1: how much of a whole something is.
#[derive(Debug, Clone, Copy, PartialEq, PartialOrd, Serialize, Deserialize)]
#[serde(try_from = "f64", into = "f64")]
pub struct Share(f64);

// A share is never NaN.
impl Eq for Share {}

impl Share {
    /// Its value.
    #[must_use]
    pub fn get(self) -> f64 {
        self.0
    }
}

impl TryFrom<f64> for Share {
    type Error = String;

    fn try_from(value: f64) -> Result<Self, String> {
        if (0.0..=1.0).contains(&value) { Ok(Self(value)) } else { Err(format!("{value} is not from 0 to 1")) }
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

/// A finite number that is not negative: how much something counts.
#[derive(Debug, Clone, Copy, PartialEq, PartialOrd, Serialize, Deserialize)]
#[serde(try_from = "f64", into = "f64")]
pub struct Weight(f64);

// A weight is never NaN.
impl Eq for Weight {}

impl Weight {
    /// The weight 1.
    pub const ONE: Self = Self(1.0);

    /// The weight 0: does not count.
    pub const ZERO: Self = Self(0.0);

    /// Its value.
    #[must_use]
    pub fn get(self) -> f64 {
        self.0
    }

    /// Its value among scores of words.
    #[expect(clippy::cast_possible_truncation, reason = "they are single precision")]
    pub(super) fn single(self) -> f32 {
        self.0 as f32
    }
}

impl TryFrom<f64> for Weight {
    type Error = String;

    fn try_from(value: f64) -> Result<Self, String> {
        // One beyond that would be infinite among single-precision scores.
        if (0.0..=1e9).contains(&value) { Ok(Self(value)) } else { Err(format!("{value} is not from 0 to 1e9")) }
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

/// How much a word counts by where it stands.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct FieldWeights {
    /// In the content.
    pub content: Weight,
    /// In the headings above and inside.
    pub headings: Weight,
    /// In the tags of the document.
    pub tags: Weight,
    /// In the aliases of the document.
    pub aliases: Weight,
    /// In the title of the document.
    pub title: Weight,
    /// In its path.
    pub path: Weight,
}

impl Default for FieldWeights {
    /// Headings count a quarter: most stand in the content too, and chunks under one heading share them. On
    /// `datasets/larder`, that found more of the evidence than 0, 0.5 or 1.
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

/// How chunks are ranked.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Ranking {
    /// How scores become one.
    pub fusion: Fusion,
    /// Share of the vector in a linear sum; the rest is the keywords'.
    pub vector_share: Share,
    /// Weight of the document's keyword score in that of its chunks.
    pub document: Weight,
    /// Weight of the vectors of the chunks before and after, in a linear sum.
    pub neighbours: Weight,
    /// Language of documents and questions, for keywords.
    pub language: LanguageSetting,
    /// The constant k of reciprocal rank fusion: larger ones make less of the first ranks.
    pub rrf_k: Weight,
    /// Weight of the vector list in it.
    pub vector: Weight,
    /// Weight of the keyword list in it.
    pub keyword: Weight,
    /// Weight of recency: of the list by modification time, newest first, or of the time in a linear sum.
    pub recency: Weight,
    /// Weight of what is linked with the best: of the list of neighbours, or of the best's own score in a linear sum.
    pub graph: Weight,
    /// How far down the vector and keyword lists are read in reciprocal rank fusion. What is in neither as far as that is
    /// not found, however many hits are asked for.
    pub depth: usize,
    /// How many of the best are asked for what they are linked with.
    pub graph_seeds: usize,
    /// Weights of the fields in keyword search.
    pub fields: FieldWeights,
}

impl Default for Ranking {
    fn default() -> Self {
        Self {
            fusion: Fusion::Linear,
            vector_share: Share(0.6),
            document: Weight::ONE,
            neighbours: Weight(0.2),
            language: LanguageSetting::Auto,
            rrf_k: Weight(60.0),
            vector: Weight::ONE,
            keyword: Weight::ONE,
            recency: Weight::ZERO,
            graph: Weight(0.5),
            depth: 100,
            graph_seeds: 10,
            fields: FieldWeights::default(),
        }
    }
}
