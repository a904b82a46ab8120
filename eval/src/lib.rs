//! The evaluation harness of chunkmill: which chunk settings find the evidence, and at what cost.
//!
//! # Map
//!
//! | module | question it answers |
//! | --- | --- |
//! | [`labels`] | Which questions are there, and where in the corpus are their answers? |
//! | [`cli`] | How is it said on a command line? |
//!
//! Labels are byte ranges of documents, never chunk ids, so one set of labels scores every setting.

pub mod labels;

pub mod cli;
