//! A question, and how to answer it.

use chunkmill_base::value::named;

use super::filter::Filter;
use super::rerank::Rerank;
use crate::ranking::{Fusion, Mode, Ranking};

/// A question, and how to answer it.
#[derive(Debug, Clone, Default)]
pub struct Query<'q> {
    /// Search mode.
    pub mode: Mode,
    /// The question. Its words are the keywords; every text is valid.
    pub text: &'q str,
    /// Vector of the question, computed by the model of the dataset. Keyword search does not need it.
    pub vector: Option<&'q [f32]>,
    /// Number of chunks, or documents, to find.
    pub k: usize,
    /// Filter that hits must pass.
    pub filter: Filter,
    /// Lowest score of a hit: a dot product, BM25 or a fused score, depending on the mode, or the score of a
    /// reranker that replaces it.
    pub min_score: Option<f64>,
    /// Ranking settings.
    pub ranking: Ranking,
    /// Order in which a context is filled, if the scores support it.
    pub packing: Packing,
    /// Reranker for the best chunks, if any.
    pub rerank: Option<Rerank<'q>>,
}

impl Query<'_> {
    /// Returns the order in which a context of the results is filled.
    pub fn packing(&self) -> Packing {
        match (self.mode, self.ranking.fusion) {
            (Mode::Hybrid | Mode::Graph, Fusion::Linear) if self.rerank.is_none_or(Rerank::adds) => self.packing,
            _ => Packing::Rank,
        }
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
