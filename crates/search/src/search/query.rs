//! A question, and how to answer it.

use chunkmill_base::value::named;
use chunkmill_embed::SparseVector;

use serde::{Deserialize, Serialize};

use super::filter::Filter;
use super::rerank::Rerank;
use crate::ranking::{Fusion, Mode, Ranking, Share};

/// A question, and how to answer it.
#[derive(Debug, Clone, Default)]
pub struct Query<'q> {
    /// Search mode.
    pub mode: Mode,
    /// The question. Its words are the keywords; every text is valid.
    pub text: &'q str,
    /// Vector of the question, computed by the model of the dataset. Keyword search does not need it.
    pub vector: Option<&'q [f32]>,
    /// Sparse vector of the question, computed by the sparse model of the dataset if it has one. Vector and keyword search,
    /// and sums without a share for it, do not need it.
    pub sparse: Option<&'q SparseVector>,
    /// Number of chunks, or documents, to find.
    pub k: usize,
    /// Filter that hits must pass.
    pub filter: Filter,
    /// Lowest score of a hit: a dot product, BM25 or a fused score, depending on the mode, or the score of a
    /// reranker that replaces it.
    pub min_score: Option<f64>,
    /// Ranking settings.
    pub ranking: Ranking,
    /// How a context is filled, as far as the scores support it.
    pub fill: FillRule,
    /// Reranker for the best chunks, if any.
    pub rerank: Option<Rerank<'q>>,
}

/// The vectors of a question that a search needs.
#[derive(Debug, Clone, Default, Serialize, Deserialize)]
pub struct QuestionVectors {
    /// See [`Query::vector`].
    pub vector: Option<Vec<f32>>,
    /// See [`Query::sparse`].
    pub sparse: Option<SparseVector>,
}

impl Query<'_> {
    /// Returns how a context is filled with the results.
    pub fn fill_rule(&self) -> FillRule {
        self.fill.supported(self.mode, self.ranking.fusion, self.rerank.is_none_or(Rerank::adds))
    }
}

/// How a context is filled.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct FillRule {
    /// The order in which chunks are added.
    pub order: Packing,
    /// Lowest chance of evidence of a chunk. A chunk whose chance is not known always passes.
    pub least: Share,
}

impl FillRule {
    /// Returns as much of the rule as the scores of a search support. Only a weighted sum has a chance and says how much
    /// evidence is expected, and the latter only if no reranker replaces it: `is_kept`.
    #[must_use]
    pub fn supported(self, mode: Mode, fusion: Fusion, is_kept: bool) -> Self {
        let sums = matches!((mode, fusion), (Mode::Hybrid | Mode::Graph, Fusion::Linear));
        Self {
            order: if sums && is_kept { self.order } else { Packing::Rank },
            least: if sums { self.least } else { Share::ZERO },
        }
    }
}

impl Default for FillRule {
    fn default() -> Self {
        // On the labelled sets of `eval/records`, it costs no evidence beyond chance at any budget.
        Self { order: Packing::default(), least: Share::LEAST_CHANCE }
    }
}

impl From<Packing> for FillRule {
    /// Adds all chunks in this order, however unlikely they are.
    fn from(order: Packing) -> Self {
        Self { order, least: Share::ZERO }
    }
}

named! {
    /// The order in which a context is filled.
    #[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default)]
    pub enum Packing: "a packing order" {
        /// By expected evidence per token if the scores are those of a linear sum, otherwise by rank.
        #[default]
        Evidence = "evidence",
        /// By rank.
        Rank = "rank",
    }
}
