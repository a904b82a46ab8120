//! Measuring: what is tried, and how the program is run for it.
//!
//! | file | question it answers |
//! | --- | --- |
//! | [`plan`] | Which settings are tried? → `Plan` |
//! | `reranker` | How is a pair read once by several ways to search? |
//! | [`worker`] | How is a step measured in its own process? |
//! | [`race`] | Which settings need not be asked all questions? |
//! | [`sweep`] | How is a plan run, interrupted and resumed? → records |

pub mod plan;
pub mod race;
mod reranker;
pub mod sweep;
pub mod worker;
