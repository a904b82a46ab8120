//! Findings: what follows from the measurements of one run, or of several.
//!
//! | file | question it answers |
//! | --- | --- |
//! | [`analysis`] | What follows from the measurements? Summaries, comparisons, fronts, the verdict |
//! | [`assemble`] | How do a run's records become its report? |
//! | [`agreement`] | Do two sets of questions rank settings alike? |
//! | [`change`] | What evidence was lost between two runs, and what differs, question by question? |
//! | [`sets`] | What holds over several sets of labels, and which setting do all of them choose? |
//! | [`gate`] | Did a run lose evidence, or is it worse than a baseline by more than is allowed and than chance explains? |

pub mod agreement;
pub mod analysis;
pub mod assemble;
pub mod change;
pub mod gate;
pub mod sets;
