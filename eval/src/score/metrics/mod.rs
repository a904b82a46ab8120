//! How much of the answers was retrieved? Pure functions over ranges and ranked lists.
//!
//! There are three levels, because each one alone is misleading:
//!
//! - **text** ([`text`], [`precision_omega`], [`evidence`]): how much of the evidence was retrieved, and how much
//!   else. Chroma's definitions.
//! - **chunks** ([`Ranking::of_chunks`]): how early the evidence appears. A chunk is relevant by what it covers
//!   ([`Coverage`]), never by intersection over union, which is a measure of cost.
//! - **documents** ([`Ranking::of_ids`] over the chunks' documents): the same for documents, ranked by their best
//!   chunk.
//!
//! Recall at a fixed number of chunks favours large chunks, so every metric is also available at a fixed token
//! budget: [`within_budget`].
//!
//! Every value is in 0..=1, and larger is better. Without results, or without anything to find, every value is 0.
//! The caller decides whether a question with nothing to find counts at all.

mod budget;
mod rank;
mod spans;
mod text;

pub use budget::within_budget;
pub use rank::{Coverage, Gain, Ranking, Ties, ordered};
pub use spans::{Cover, Span, solid};
pub use text::{Evidence, Target, TextScores, Touch, evidence, precision_omega, text};

/// Divides two sizes; returns 0 if the divisor is 0.
#[expect(clippy::cast_precision_loss, reason = "texts and lists are shorter than 2^53")]
#[must_use]
pub fn ratio(part: usize, whole: usize) -> f64 {
    if whole == 0 { 0.0 } else { part as f64 / whole as f64 }
}
