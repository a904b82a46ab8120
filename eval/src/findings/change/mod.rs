//! What differs between two runs, question by question?
//!
//! The gate, the comparison of two runs, and a report with a baseline all use this module, so they cannot disagree.
//! Cells are matched by id, questions by id and text. Cells and questions that only one run has are reported, not
//! compared. Questions that lost evidence are reported first of all, and a second pair of means counts them as misses:
//! without them, deleting the hardest answers would raise a figure.
//!
//! | file | question it answers |
//! | --- | --- |
//! | `evidence` | Which evidence was lost? |
//! | `difference` | What is a change, of a cell or of a question? |
//! | `questions` | Which questions do both runs have, and with which values? |
//! | `broken` | Which questions broke? |
//! | `changes` | How do two runs differ? |

mod broken;
mod changes;
mod difference;
mod evidence;
mod questions;

pub use broken::BrokenQuestion;
pub(crate) use broken::merged;
pub use changes::{Changes, changes};
pub use difference::{Change, Means, MovedQuestion};
pub use evidence::{Evidence, Loss, LostQuestion, LostReference, MovedText, NamedQuestion};
