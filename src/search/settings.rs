//! What can be chosen about a search, with its defaults.

use std::str::FromStr;

use serde::{Deserialize, Serialize};

use crate::value::{named, value};

/// How to search.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default)]
pub enum Mode {
    /// By the dot product with every vector, exactly.
    #[default]
    Vector,
    /// By the words of the query: BM25. Needs no model.
    Keyword,
    /// Both lists, and recency if it has a weight, fused by reciprocal rank.
    Hybrid,
    /// Hybrid, and as one more list what is linked with its best hits.
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
}

impl Default for FieldWeights {
    /// Headings count a quarter: most stand in the content too, and chunks under one heading share them. On
    /// `datasets/larder`, that found more of the evidence than 0, 0.5 or 1.
    fn default() -> Self {
        Self { content: Weight::ONE, headings: Weight(0.25), tags: Weight::ONE, aliases: Weight::ONE }
    }
}

impl FieldWeights {
    #[expect(clippy::cast_possible_truncation, reason = "scores of single words are single precision")]
    pub(super) fn values(&self) -> [f32; 4] {
        [self.content, self.headings, self.tags, self.aliases].map(|weight| weight.get() as f32)
    }
}

/// How lists become one.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Ranking {
    /// The constant k of reciprocal rank fusion: larger ones make less of the first ranks.
    pub rrf_k: Weight,
    /// Weight of the vector list.
    pub vector: Weight,
    /// Weight of the keyword list.
    pub keyword: Weight,
    /// Weight of the list by modification time, newest first.
    pub recency: Weight,
    /// Weight of the list of neighbours.
    pub graph: Weight,
    /// How far down the vector and keyword lists are read. What is in neither as far as that is not found, however
    /// many hits are asked for.
    pub depth: usize,
    /// How many of the best hits are asked for their neighbours.
    pub graph_seeds: usize,
    /// Weights of the fields in keyword search.
    pub fields: FieldWeights,
}

impl Default for Ranking {
    fn default() -> Self {
        Self {
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

/// What is shown of what was found.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Show {
    /// Chunks.
    #[default]
    Chunks,
    /// Chunks, each with the row of its document.
    Both,
    /// Documents, each once, with those of its chunks that were found.
    Documents,
}

impl Show {
    /// Every choice.
    pub const ALL: [Self; 3] = [Self::Chunks, Self::Both, Self::Documents];

    /// The name used in settings.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Self::Chunks => "chunks",
            Self::Both => "both",
            Self::Documents => "documents",
        }
    }
}

named!(Show, "what can be shown");
