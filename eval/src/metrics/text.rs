//! The text that was retrieved beside the text that was wanted.
//!
//! The definitions are those of Chroma's "Evaluating Chunking Strategies for Retrieval" (Smith and
//! Troynikov, 2024) and its code, `chunking_evaluation`, with two faults left out: ranges are
//! half-open throughout ([`Touch`] brings the other reading back for [`precision_omega`]), and text
//! that two references of a question share counts once among what was wanted.

use super::ratio;
use super::spans::{Cover, Span};

/// Something to find: a piece of evidence and how much it matters.
#[derive(Debug, Clone, PartialEq)]
pub struct Target {
    /// Its text, or the texts of which any will do. Each is several spans if it stands in several places, or if parts of
    /// it do not count, as white space may not ([`solid`](super::solid)). One without text is nothing to find.
    pub any: Vec<Cover>,
    /// Its grade. What is not above 0 is nothing to find.
    pub grade: f64,
}

/// How retrieved text and wanted text agree.
#[derive(Debug, Clone, Copy, Default, PartialEq)]
pub struct TextScores {
    /// Share of the wanted text that was retrieved.
    pub recall: f64,
    /// Share of the retrieved text that was wanted. What is retrieved twice was paid for twice.
    pub precision: f64,
    /// Wanted and retrieved over wanted or retrieved.
    pub iou: f64,
}

/// Recall, precision and intersection over union of text. With `I` the units that are in both,
/// each counted once, `W` those that were wanted, and `S` the sum of the results' sizes, so that
/// text which two results share counts twice in it:
///
/// `recall = I / W`, `precision = I / S`, `iou = I / (S + W - I)`
///
/// Source: Chroma, section "Metrics"; `_scores_from_dataset_and_retrievals` in its code.
#[must_use]
pub fn text(wanted: &[Span], retrieved: &[Span]) -> TextScores {
    let wanted: Cover = wanted.iter().copied().collect();
    let found = wanted.common(&retrieved.iter().copied().collect());
    let (want, paid) = (wanted.size(), retrieved.iter().map(Span::size).sum::<usize>());
    TextScores { recall: ratio(found, want), precision: ratio(found, paid), iou: ratio(found, paid + want - found) }
}

impl Target {
    /// Which of its texts some others hold most of, by share; the first of equals. 0 of none.
    #[must_use]
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
    /// They share a unit, or one ends where the other starts: Chroma's code, kept to compare with it.
    Adjacent,
}

/// The precision that a perfect retrieval would have: how little else there is in the chunks that
/// hold the evidence. It depends on the chunks alone, not on a search. With `T` the union of **all**
/// chunks that touch a wanted span, and `W` the union of the wanted spans:
///
/// `precision_omega = |T ∩ W| / |T ∪ W|`
///
/// `chunks` are all those of the dataset, or of the documents in question. Takes time in the
/// product of both lengths.
///
/// Source: Chroma, "Precision Ω"; `_full_precision_score` in its code.
#[must_use]
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

/// In what shape a piece of evidence was retrieved; the better, the smaller.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Evidence {
    /// One result holds all of it.
    Whole,
    /// The results together hold all of it, no one alone does.
    Split,
    /// The results do not hold all of it, though there are chunks that do.
    Missed,
    /// No set of the dataset's chunks holds all of it; no search can find it.
    Unreachable,
}

/// In what shape the results hold a piece of evidence. `chunks` are all those of its document. What
/// has no text is unreachable.
///
/// Source: ours. Other tools count evidence that lies in two results as missed, which favours large
/// chunks by construction.
#[must_use]
pub fn evidence(wanted: &Cover, retrieved: &[Span], chunks: &[Span]) -> Evidence {
    let size = wanted.size();
    let all_in = |spans: &[Span]| wanted.common(&spans.iter().copied().collect()) == size;
    if size == 0 {
        Evidence::Unreachable
    } else if retrieved.iter().any(|span| wanted.within(span) == size) {
        Evidence::Whole
    } else if all_in(retrieved) {
        Evidence::Split
    } else if all_in(chunks) {
        Evidence::Missed
    } else {
        Evidence::Unreachable
    }
}
