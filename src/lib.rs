//! chunkmill splits a corpus of documents into chunks, embeds them, and writes Parquet.
//!
//! One offline job, **discover → parse → chunk → count → embed → write**, as a program and as this
//! library. The evaluation harness (`chunkmill-eval`) uses the same code.
//!
//! # Map
//!
//! Data flows down this list, and a module uses only modules above it. `tests/architecture.rs` checks both claims.
//!
//! | module | question it answers |
//! | --- | --- |
//! | [`value`] | How are values and numbers written, and which name did a typo mean? |
//! | [`error`] | What can go wrong, and what does the process say then? |
//! | [`settings`] | What is a setting, and what do we know about it? |
//! | `http` | How do we call web services? |
//! | [`storage`] | Where are files: in a folder, or in an object store? → `Location` |
//! | [`corpus`] | Which documents are there, and what are their bytes? → `Source`, `Content` |
//! | [`document`] | What is in a document, and where? → `Document` |
//! | [`tokens`] | How long is a range of a document, in any unit? → `Ruler` |
//! | [`chunk`] | Where is a document cut? → `Chunk` |
//! | [`links`] | Where does a link lead? → `Catalog` |
//! | [`hub`] | Which files does a repository of the Hugging Face hub have, and where are they here? |
//! | [`embed`] | What is the vector of a text? → `Embedder` |
//! | [`store`] | What is on disk, and when is it committed? → `Manifest`, Parquet files |
//! | [`index`] | How do these modules work together as one job? |
//! | `ranking` | How well does each chunk answer a question? → `Ranker` |
//! | [`search`] | What in a dataset answers a question, and what fits a token budget? → `Searcher` |
//! | [`answer`] | What does a language model answer from those passages alone? Only if configured |
//! | [`config`] | What did the user ask for, in flags, environment and files? |
//! | [`cli`] | How does the command line work? |
//!
//! # What always holds
//!
//! - Byte ranges go from the parse to Parquet. Nothing searches for a chunk's text again.
//! - No document disappears: indexed + quarantined = discovered.
//! - The same input and settings give the same bytes, on any number of threads.
//! - A vector is a function of its text and the model alone, never of its batch.
//! - The manifest names a file only after the file is on disk.
//!
//! # What is deliberately absent
//!
//! No server, no async code outside the clients of the hub and of object stores, no vector database, no approximate index, no
//! plug-ins: strategies are a closed set. Domain types do not derive their form on disk;
//! [`store`] has rows and records of its own.
//!
//! # Features
//!
//! The default features are `object-store` (`s3://`, `gs://`, `az://`), `hub` (download models), `answer` (call a language
//! model), `candle` (networks that our own encoder does not implement) and `jemalloc`. Without them
//! (`default-features = false`) there is no network code, no TLS and no async runtime. `cuda` and `metal` enable GPUs and
//! include `candle`.
//!
//! # What is public
//!
//! Everything on these pages. Some items are public but hidden: the harness, the benchmarks and the tests need them, and
//! they change without notice. `tests/api` lists the public items, which makes every change visible.
//!
//! # Example
//!
//! ```
//! use chunkmill::chunk::{Spec, chunk};
//! use chunkmill::document::Document;
//!
//! let document = Document::from_text("guide.md", "# Guide\n\nStart here.\n\n## Install\n\nRun it.\n");
//! let spec: Spec = "heading-tokens max=64 overlap=8".parse()?;
//! let chunks = chunk(&document, &spec, spec.sizer(None)?)?;
//!
//! assert_eq!(chunks[1].id, "guide.md#1");
//! assert_eq!(*chunks[1].heading_path, ["Guide", "Install"]);
//! assert_eq!(chunks[1].content(&document), "## Install\n\nRun it.");
//! # Ok::<(), chunkmill::error::Error>(())
//! ```

// Hidden, like `settings`: the command line and the harness need both, to make a setting a flag, a variable and a key.
#[doc(hidden)]
pub mod value;

pub mod error;

#[doc(hidden)]
pub mod settings;

#[cfg(feature = "http")]
mod http;

pub mod storage;

pub mod corpus;
pub mod document;
pub mod tokens;

pub mod chunk;

// Hidden: a step of the job, which the tests run on its own.
#[doc(hidden)]
pub mod links;

// Hidden: the harness downloads sets of labels with it.
#[doc(hidden)]
pub mod hub;

pub mod embed;

pub mod store;

pub mod index;

mod ranking;
pub mod search;

pub mod answer;

pub mod config;

// Hidden: the harness shares flags and output with it.
#[doc(hidden)]
pub mod cli;
