//! A question, and how to answer it.

use std::fmt;

use chunkmill_base::value::named;
use chunkmill_embed::Reranker;

use super::filter::Filter;
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
    /// Lowest score of a hit: a dot product, BM25 or a fused score, depending on the mode, or the score of the
    /// reranker if there is one.
    pub min_score: Option<f64>,
    /// Ranking settings.
    pub ranking: Ranking,
    /// Order in which a context is filled, if the scores support it.
    pub packing: Packing,
    /// Reranker for the best chunks, if any.
    pub rerank: Option<Rerank<'q>>,
}

/// A reranker, and how many chunks it reorders.
#[derive(Clone, Copy)]
pub struct Rerank<'q> {
    /// The reranker, which reads each chunk with the question. Its scores replace those of the ranking.
    pub reranker: &'q dyn Reranker,
    /// Number of chunks it reads. Other chunks are not returned.
    pub depth: usize,
}

impl fmt::Debug for Rerank<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Rerank").field("reranker", &self.reranker.id()).field("depth", &self.depth).finish()
    }
}

impl Query<'_> {
    /// Returns the order in which a context of the results is filled.
    pub fn packing(&self) -> Packing {
        match (self.mode, self.ranking.fusion) {
            (Mode::Hybrid | Mode::Graph, Fusion::Linear) if self.rerank.is_none() => self.packing,
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
