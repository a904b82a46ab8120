//! Compares retrieved text with wanted text.
//!
//! The definitions are those of Chroma's "Evaluating Chunking Strategies for Retrieval" (Smith and Troynikov,
//! 2024) and its code, `chunking_evaluation`, without two faults. Ranges are half-open throughout ([`Touch`]
//! restores the other reading for [`precision_omega`]), and text that two references of a question share counts
//! once as wanted text.

use super::ratio::ratio;
use crate::data::spans::{Cover, Span};

/// Something to find: a piece of evidence and how much it matters.
#[derive(Debug, Clone, PartialEq)]
pub struct Target {
    /// Its text, or alternative texts, any one of which will do. A text consists of several spans if it is in
    /// several places, or if parts of it do not count, such as white space ([`solid`](super::solid)). A target
    /// without text is ignored.
    pub any: Vec<Cover>,
    /// Its grade. A target whose grade is not above 0 is ignored.
    pub grade: f64,
}

/// How well retrieved text matches wanted text.
#[derive(Debug, Clone, Copy, Default, PartialEq)]
pub struct TextScores {
    /// Share of the wanted text that was retrieved.
    pub recall: f64,
    /// Share of the retrieved text that was wanted. Text retrieved twice was paid for twice.
    pub precision: f64,
    /// Intersection of wanted and retrieved text over their union.
    pub iou: f64,
}

/// Returns recall, precision and intersection over union of text. `I` is the number of units in both, each counted
/// once; `W` is the number of wanted units; `S` is the sum of the results' sizes, where text that two results
/// share counts twice:
///
/// `recall = I / W`, `precision = I / S`, `iou = I / (S + W - I)`
///
/// Source: Chroma, section "Metrics"; `_scores_from_dataset_and_retrievals` in its code.
pub fn text(wanted: &[Span], retrieved: &[Span]) -> TextScores {
    let wanted: Cover = wanted.iter().copied().collect();
    let found = wanted.common(&retrieved.iter().copied().collect());
    let (want, paid) = (wanted.size(), retrieved.iter().map(Span::size).sum::<usize>());
    TextScores { recall: ratio(found, want), precision: ratio(found, paid), iou: ratio(found, paid + want - found) }
}

impl Target {
    /// Returns the position of the alternative text with the largest share in some retrieved text. The first one
    /// wins a tie. Returns 0 if there are no texts.
    pub fn nearest(&self, retrieved: &Cover) -> usize {
        let share = |text: &Cover| ratio(text.common(retrieved), text.size());
        let shares = self.any.iter().map(share).enumerate();
        shares.reduce(|best, next| if next.1 > best.1 { next } else { best }).map_or(0, |(at, _)| at)
    }
}

/// When a chunk touches a reference.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Touch {
    /// They share a unit.
    Shared,
    /// They share a unit, or one ends where the other starts, as in Chroma's code. Kept for comparison.
    Adjacent,
}

/// Returns the precision of a perfect retrieval: how little else is in the chunks that contain the evidence. It
/// depends on the chunks alone, not on a search. `T` is the union of **all** chunks that touch a wanted span, and
/// `W` is the union of the wanted spans:
///
/// `precision_omega = |T ∩ W| / |T ∪ W|`
///
/// `chunks` are all chunks of the dataset, or of the documents in question. The time is proportional to the
/// product of both lengths.
///
/// Source: Chroma, "Precision Ω"; `_full_precision_score` in its code.
pub fn precision_omega(wanted: &[Span], chunks: &[Span], touch: Touch) -> f64 {
    let touches = |chunk: &Span, want: &Span| match touch {
        Touch::Shared => chunk.shared(want).is_some(),
        Touch::Adjacent => chunk.doc == want.doc && chunk.start <= want.end && want.start <= chunk.end,
    };
    let touching = chunks.iter().filter(|chunk| wanted.iter().any(|want| touches(chunk, want)));
    let touching: Cover = touching.copied().collect();
    let wanted: Cover = wanted.iter().copied().collect();
    let common = touching.common(&wanted);
    ratio(common, touching.size() + wanted.size() - common)
}

/// The shape in which a piece of evidence was retrieved. Smaller is better.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum EvidenceShape {
    /// One result contains all of it.
    Whole,
    /// The results together contain all of it, but no single one does.
    Split,
    /// The results do not contain all of it, although there are chunks that do.
    Missed,
    /// The dataset's chunks do not contain all of it, so no search can find it.
    Unreachable,
}

/// Returns the shape in which the results contain a piece of evidence. `chunks` are all chunks of its document.
/// Evidence without text is unreachable.
///
/// Source: ours. Other tools count evidence that is spread over two results as missed, which favours large chunks
/// by construction.
pub fn evidence(wanted: &Cover, retrieved: &[Span], chunks: &[Span]) -> EvidenceShape {
    let size = wanted.size();
    let all_in = |spans: &[Span]| wanted.common(&spans.iter().copied().collect()) == size;
    if size == 0 {
        EvidenceShape::Unreachable
    } else if retrieved.iter().any(|span| wanted.within(span) == size) {
        EvidenceShape::Whole
    } else if all_in(retrieved) {
        EvidenceShape::Split
    } else if all_in(chunks) {
        EvidenceShape::Missed
    } else {
        EvidenceShape::Unreachable
    }
}
