//! What in a dataset answers a question: chunks are ranked, the best evidence is packed into a token budget, and, if
//! configured, a language model answers from it.
//!
//! # Map
//!
//! Data flows down this list, and a module uses only modules above it.
//!
//! | module | question it answers |
//! | --- | --- |
//! | `ranking` | How well does each chunk answer a question? → `Ranker` |
//! | [`search`] | What in a dataset answers a question, and what fits a token budget? → `Searcher` |
//! | [`answer`] | What does a language model answer from those passages alone? Only if configured |

mod ranking;
pub mod search;

pub mod answer;
