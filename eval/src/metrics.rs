//! How well does what was retrieved hold the answers? Pure functions over ranges and ranked lists.
//!
//! Three levels, because each alone misleads:
//!
//! - **text** ([`text`], [`precision_omega`], [`evidence`]): how much of the evidence is in what was
//!   retrieved, and how much else. Chroma's definitions.
//! - **chunks** ([`Ranking::of_chunks`]): how early the evidence comes. A chunk is relevant by what
//!   it covers ([`Coverage`]), never by intersection over union, which is a measure of cost.
//! - **documents** ([`Ranking::of_ids`] over the chunks' documents): the same by best chunk.
//!
//! Recall at a fixed number of chunks favours large chunks, so every metric can also be had at a
//! fixed budget of tokens: [`within_budget`].
//!
//! Every value is in 0..=1 and larger is better. Without results every value is 0, and so it is
//! without anything to find: whether such a question counts at all is for the caller to decide.

mod budget;
mod rank;
mod spans;
mod text;

pub use budget::within_budget;
pub use rank::{Coverage, Gain, Ranking, Ties, ordered};
pub use spans::{Cover, Span, solid};
pub use text::{Evidence, Target, TextScores, Touch, evidence, precision_omega, text};

/// A quotient of two sizes; 0 if the divisor is.
#[expect(clippy::cast_precision_loss, reason = "texts and lists are shorter than 2^53")]
#[must_use]
pub fn ratio(part: usize, whole: usize) -> f64 {
    if whole == 0 { 0.0 } else { part as f64 / whole as f64 }
}
