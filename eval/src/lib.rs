//! The evaluation harness of chunkmill: which chunk settings find the evidence, and at what cost.
//!
//! # Map
//!
//! Labels say where the answers are, retrieval returns chunks, and metrics compare the two. A module uses only
//! modules above it.
//!
//! | module | question it answers |
//! | --- | --- |
//! | `files` | How are files read and written, and where not? |
//! | [`labels`] | Which questions are there, and where in the corpus are their answers now? |
//! | [`import`] | How do the labels of other projects become ours? |
//! | [`synth`] | What could be asked of documents that have no labels? |
//! | [`metrics`] | How much of the answers does the retrieved text contain? Numbers only, no files |
//! | [`trec`] | How are runs and judgements written for other programs? |
//! | [`report`] | What did a sweep find out? → `report.json`: everything that is shown or compared |
//! | [`record`] | What was measured on one dataset? → a file of the run |
//! | [`score`] | How good is each answer of a setting? |
//! | [`grid`] | Which settings are tried? → `Plan` |
//! | [`label`] | Where do the documents answer real questions? A person decides |
//! | [`worker`] | How is a step measured in its own process? |
//! | [`stats`] | How certain is a number? Intervals, tests and orders; numbers only, no reports |
//! | [`race`] | Which settings need not be asked all questions? |
//! | [`sweep`] | How is a plan run, interrupted and resumed? → records |
//! | [`analysis`] | What follows from the measurements? Summaries, comparisons, fronts, the verdict |
//! | [`assemble`] | How do a run's records become its report? |
//! | [`agreement`] | Do two sets of questions rank settings alike? |
//! | [`change`] | What evidence was lost between two runs, and what differs, question by question? |
//! | [`gate`] | Did a run lose evidence, or is it worse than a baseline by more than is allowed and than chance explains? |
//! | [`render`] | How is a report shown? → one HTML page, Markdown, CSV, XML for CI, JSON |
//! | [`recommend`] | Which settings are tried by default, and what does the result mean? |
//! | [`cli`] | What does the command line look like? |
//!
//! # From labels to numbers
//!
//! 1. [`labels::LabelSet::read`] reads the questions, [`labels::LabelSet::check`] finds each reference in the
//!    current version of its document, and [`labels::LabelSet::scored`] returns those that can be scored: places in
//!    bytes, never chunk ids, so one set of labels scores every setting.
//! 2. Each place becomes [`metrics::Span`]s, in bytes or characters as the caller likes, and with its grade a
//!    [`metrics::Target`]. Every chunk becomes spans too.
//! 3. [`metrics::text`], [`metrics::evidence`] and [`metrics::precision_omega`] look at the retrieved text,
//!    [`metrics::Ranking`] at the order of chunks or documents, and [`metrics::within_budget`] first cuts the
//!    results to a budget.

mod files;
pub mod labels;

pub mod import;

pub mod synth;

pub mod metrics;

pub mod trec;

pub mod report;

pub mod record;
pub mod score;

pub mod grid;
pub mod label;
pub mod worker;

pub mod stats;

pub mod race;

pub mod sweep;

pub mod analysis;
pub mod assemble;

pub mod agreement;
pub mod change;
pub mod gate;

pub mod render;

pub mod recommend;

pub mod cli;
