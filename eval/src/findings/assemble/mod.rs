//! Turns a run's records into its report: scores, costs, the texts of the questions that went worst, and files for
//! programs that score runs themselves.
//!
//! | file | question it answers |
//! | --- | --- |
//! | `evidence` | In which state is the evidence of every question? |
//! | `cells` | What are the settings of a cell, and what did it cost? |
//! | `answers` | What was handed over for the questions that went worst? |
//! | `measured` | How do a run's records become its report? |
//! | `trec` | How do other programs score the run? |

mod answers;
mod cells;
mod evidence;
mod measured;
mod trec;

pub use measured::MeasuredRun;
