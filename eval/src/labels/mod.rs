//! Labelled questions: what is asked of a corpus, and where its answers are.
//!
//! | file | question it answers |
//! | --- | --- |
//! | [`set`] | Which questions are there, and where in the corpus are their answers now? |
//! | [`import`] | How do the labels of other projects become ours, and the questions of a log? |
//! | [`synth`] | What could be asked of documents that have no labels? |
//! | [`ask`] | Where do the documents answer real questions? A person decides |

pub mod ask;
pub mod import;
pub mod set;
pub mod synth;
