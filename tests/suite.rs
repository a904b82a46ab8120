//! All tests in one binary. They test the public interface and the program.
//!
//! The folders mirror the code, in the order of the data. Each `mod.rs` says which file answers which question.
//!
//! | folder | tests |
//! | --- | --- |
//! | `document` | what the parser finds in a text |
//! | `tokens` | sizes in every unit |
//! | `chunk` | where a document is cut |
//! | `embed` | vectors, models, kernels |
//! | `dataset` | storage, corpus, links, files on disk, the job |
//! | `search` | ranking, search, answers |
//! | `cli` | commands, settings, messages |
//! | `book` | the book, the examples, the map of the code |
//!
//! The files next to this one have no tests. They help those of several folders: `common` everywhere, `promises` what
//! holds for every document and spec, `tiny` invented models (in a `model_folder`), `hostile` text against terminals,
//! `python` environments, `built` the examples' programs, `paged` a file with pages, `vendor` a service of vectors.

#![allow(
    clippy::pedantic,
    clippy::unwrap_used,
    clippy::print_stderr,
    unreachable_pub,
    reason = "tests fail by panicking, and print to standard error what they skip"
)]

mod book;
mod built;
mod chunk;
mod cli;
mod common;
mod dataset;
mod document;
mod embed;
mod hostile;
mod paged;
mod promises;
mod python;
mod search;
mod tiny;
mod tokens;
mod vendor;
