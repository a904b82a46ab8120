//! The evaluation harness of chunkmill: which chunk settings find the evidence, and at what cost.
//!
//! # Map
//!
//! Labels say where the answers are, retrieval returns chunks, and metrics compare the two. A module uses only
//! modules above it.
//!
//! | module | question it answers |
//! | --- | --- |
//! | [`data`] | What is on disk? → `report.json`, the records of a run |
//! | [`labels`] | What is asked of a corpus, and where are its answers? |
//! | [`score`] | How good are the answers, and how certain is that? |
//! | [`run`] | What is tried, and how is it measured? → records |
//! | [`findings`] | What follows from the measurements of one run, or of several? → `report.json` |
//! | [`show`] | How is a report shown, and what does it advise? |
//! | [`cli`] | What does the command line look like? |
//!
//! Each module is a folder, and its `mod.rs` lists its files.
//!
//! # From labels to numbers
//!
//! 1. [`LabelSet::read`] reads the questions, [`LabelSet::check`] finds each reference in the current version of its
//!    document, and [`LabelSet::scored`] returns those that can be scored: places in bytes, never chunk ids, so one
//!    set of labels scores every setting.
//! 2. Each place becomes [`Span`]s, in bytes or characters as the caller likes, and with its grade a [`Target`]. Every
//!    chunk becomes spans too.
//! 3. [`text`], [`evidence`] and [`precision_omega`] look at the retrieved text, [`Ranking`] at the order of chunks or
//!    documents, and [`within_budget`] first cuts the results to a budget.
//!
//! [`LabelSet::read`]: labels::set::LabelSet::read
//! [`LabelSet::check`]: labels::set::LabelSet::check
//! [`LabelSet::scored`]: labels::set::LabelSet::scored
//! [`Span`]: score::metrics::Span
//! [`Target`]: score::metrics::Target
//! [`text`]: score::metrics::text()
//! [`evidence`]: score::metrics::evidence
//! [`precision_omega`]: score::metrics::precision_omega
//! [`Ranking`]: score::metrics::Ranking
//! [`within_budget`]: score::metrics::within_budget

pub mod data;

pub mod labels;

pub mod score;

pub mod run;

pub mod findings;

pub mod show;

pub mod cli;
