//! What follows from the measurements? Turns the values of each question into intervals, comparisons, Pareto
//! fronts and a verdict in plain English.
//!
//! Everything is computed from [`Cell::values`] and [`Cell::cost`], so a report can be analysed again at any time.
//! The same report always produces the same result, for any order of its cells and any number of threads.
//!
//! # Limits of the comparisons
//!
//! The best cell is chosen by the same questions that it is then compared on. With many cells that are all alike,
//! the luckiest one is chosen, and the unluckiest is called separable from it more often than the correction
//! promises (`tests/analysis.rs` has the figures). The list of cells that cannot be separated may therefore be too
//! short at its far end. The cells close to the best, from which users choose, are not affected.
//! [`Verdict::held_out`] says how much of the best cell's figure is due to the luck of selection.
//!
//! # Files
//!
//! | file | question it answers |
//! | --- | --- |
//! | `figures` | How is a number written for people? |
//! | `clusters` | Which questions resemble each other? |
//! | `ranking` | Which cell is better? |
//! | `comparison` | Do cells differ by more than chance explains? |
//! | `front` | At which costs is a cell worth its price? |
//! | `hybrid` | Is fused search worth it? |
//! | `reranker` | Does a reranker pay? |
//! | `ties` | Which settings can the questions not tell apart, and why? |
//! | `verdict` | Which settings are best, and which to use? |
//! | `advice` | What does the verdict mean for a decision, in words? |
//! | `representatives` | Which few cells represent all? |
//! | `analyse` | How does all of this get into a report? |
//!
//! [`Verdict::held_out`]: crate::data::report::Verdict::held_out
//! [`Cell::values`]: crate::data::report::Cell::values
//! [`Cell::cost`]: crate::data::report::Cell::cost

mod advice;
mod analyse;
mod clusters;
mod comparison;
mod figures;
mod front;
mod hybrid;
mod ranking;
mod representatives;
mod reranker;
mod ties;
mod verdict;

pub use analyse::analyse;
pub use clusters::Clusters;
pub use comparison::compare;
pub(crate) use comparison::{paired, resampling};
pub use figures::figure;
pub(crate) use figures::signed;
pub use ranking::{direction, ranked};
pub(crate) use representatives::representatives;
