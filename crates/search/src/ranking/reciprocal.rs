//! Reciprocal rank fusion: several ranked lists become one.
//!
//! The score of a row is the sum over lists of weight / (k + rank), with ranks from 1. A list without the row adds
//! nothing (Cormack, Clarke and Büttcher, "Reciprocal Rank Fusion outperforms Condorcet and individual Rank
//! Learning Methods", SIGIR 2009; the weights are ours). Only ranks count, so lists whose scores are not
//! comparable can be fused. Sums are computed in the order of the lists.

use std::collections::HashMap;

use serde::Serialize;

use super::settings::Weight;
use super::top::ScoredRow;

/// Rank and score of a hit in one list.
#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
pub struct Part {
    /// Rank in the list, from 1; `None` if ranks do not count.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub rank: Option<usize>,
    /// Score in the list.
    pub score: f64,
}

/// Rank and score of a hit in each list; `None` if the hit is not in the list or there is no list of this kind.
#[derive(Debug, Clone, Copy, Default, PartialEq, Serialize)]
pub struct Parts {
    /// By vector: the dot product.
    pub vector: Option<Part>,
    /// By keyword: BM25.
    pub keyword: Option<Part>,
    /// By sparse vector: the dot product.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub sparse: Option<Part>,
    /// By modification time, newest first: seconds since 1970. Equal times share a rank.
    pub recency: Option<Part>,
    /// By links: the fused score of the best hit it is linked to.
    pub graph: Option<Part>,
}

/// The lists, in the order in which they are summed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum List {
    Vector,
    Keyword,
    Sparse,
    Recency,
    Graph,
}

impl Parts {
    pub(super) fn of(list: List, part: Part) -> Self {
        let mut parts = Self::default();
        *parts.of_mut(list) = Some(part);
        parts
    }

    fn of_mut(&mut self, list: List) -> &mut Option<Part> {
        match list {
            List::Vector => &mut self.vector,
            List::Keyword => &mut self.keyword,
            List::Sparse => &mut self.sparse,
            List::Recency => &mut self.recency,
            List::Graph => &mut self.graph,
        }
    }
}

/// A ranked row of a list.
#[derive(Debug, Clone, Copy)]
pub(super) struct RankedRow {
    pub(super) rank: usize,
    pub(super) row: ScoredRow,
}

/// Numbers the rows of a sorted list.
pub(super) fn ranked(list: Vec<ScoredRow>) -> Vec<RankedRow> {
    (1..).zip(list).map(|(rank, row)| RankedRow { rank, row }).collect()
}

/// Fuses lists; the best row comes first.
pub(super) fn fuse(lists: &[(List, Weight, &[RankedRow])], k: Weight) -> Vec<(ScoredRow, Parts)> {
    let mut fused: HashMap<u32, (ScoredRow, Parts)> = HashMap::new();
    for &(list, weight, rows) in lists {
        for &RankedRow { rank, row } in rows {
            let (sum, parts) =
                fused.entry(row.row).or_insert_with(|| (ScoredRow { score: 0.0, ..row }, Parts::default()));
            #[expect(clippy::cast_precision_loss, reason = "ranks are far below 2^52")]
            let rank_value = rank as f64;
            sum.score += weight.get() / (k.get() + rank_value);
            *parts.of_mut(list) = Some(Part { rank: Some(rank), score: row.score });
        }
    }
    let mut fused: Vec<(ScoredRow, Parts)> = fused.into_values().collect();
    fused.sort_unstable_by(|(a, _), (b, _)| ScoredRow::order(a, b));
    fused
}
