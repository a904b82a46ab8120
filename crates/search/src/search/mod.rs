//! Search over a dataset: chunks and documents that answer a question, and passages that fit a budget.
//!
//! A [`Searcher`] is opened once for a snapshot and can then be queried many times, from many threads.
//!
//! | file | question it answers |
//! | --- | --- |
//! | `query` | What is asked, and how? |
//! | `filter` | Which chunks can be found? |
//! | `searcher` | Which chunks answer it? |
//! | `rerank` | What does a reranker add? |
//! | `hit` | How are the results shown? |
//! | `context` | Which passages fit a token budget? |

mod context;
mod filter;
mod hit;
mod query;
mod rerank;
mod searcher;

pub use context::{CANDIDATES, Context, Passage};
pub use filter::{Filter, PathPattern};
pub use hit::{DocumentHit, Hit, Place, Show};
pub use query::{FillRule, Packing, Query, QuestionVectors};
pub use rerank::Rerank;
pub use searcher::Searcher;

pub use crate::ranking::StoredAs;
pub use crate::ranking::{
    DocumentInfo, FieldWeights, FoundChunk, Fusion, Language, LanguageSetting, Marker, Mode, Part, Parts, Ranking,
    Share, Weight,
};
