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
//! [`share_above`] is about questions that the documents do not answer, which have no evidence.
//!
//! Every value is in 0..=1, and larger is better. Without results, or without anything to find, every value is 0.
//! The caller decides whether a question with nothing to find counts at all.
//!
//! | file | question it answers |
//! | --- | --- |
//! | `ratio` | How large is a part, if there is a whole? |
//! | `text` | How much of the evidence does a text contain, and how much else? |
//! | `rank` | How early does the evidence appear? |
//! | `budget` | What fits a budget? |
//! | `apart` | Do the scores tell questions with an answer from those without one? |

mod apart;
mod budget;
mod rank;
mod ratio;
mod text;

pub use crate::data::spans::{Cover, Span, solid};
pub use apart::share_above;
pub use budget::within_budget;
pub use rank::{Coverage, Gain, Ranking, Ties, ordered};
pub use ratio::ratio;
pub use text::{EvidenceShape, Target, TextScores, Touch, evidence, precision_omega, text};
