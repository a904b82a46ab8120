//! chunkmill splits a corpus of documents into chunks, embeds them, and writes Parquet.
//!
//! One offline job, **discover → parse → chunk → count → embed → write**, as a program and as this
//! library. The evaluation harness beside it (`chunkmill-eval`) uses the same code.
//!
//! # Map
//!
//! Data flows down this list, and a module uses only modules above it. `tests/architecture.rs`
//! proves that the list is complete and that this is true.
//!
//! | module | question it answers |
//! | --- | --- |
//! | [`error`] | What can go wrong, and what does the process say then? |
//! | [`value`] | How is the value of a setting written, and which name was meant? |
//! | [`settings`] | What is a setting, and what is known of it? |
//! | `http` | How is a web service asked? |
//! | [`storage`] | Where are files: in a folder, or in an object store? → `Location` |
//! | [`corpus`] | Which documents are there, and what are their bytes? → `Source`, `Content` |
//! | [`document`] | What is in a document, and where? → `Document` |
//! | [`tokens`] | How long is a range of it, in any unit? → `Ruler` |
//! | [`chunk`] | Where is it cut? → `Chunk` |
//! | [`links`] | What does a link lead to? → `Catalog` |
//! | [`hub`] | Which files does a repository of the Hugging Face hub have, and where are they here? |
//! | [`embed`] | What vector does a text have? → `Embedder` |
//! | [`store`] | What is on disk, and when is it committed? → `Manifest`, Parquet files |
//! | [`index`] | How do these work together as one job? |
//! | `ranking` | In which order do chunks answer a question? → `Ranker` |
//! | [`search`] | What in a dataset answers a question, and what of it fits a budget? → `Searcher` |
//! | [`answer`] | What does a language model say to it, from these passages alone? Asked only if configured |
//! | [`config`] | What did the user ask for, in flags, environment and files? |
//! | [`cli`] | How is it said on a command line? |
//!
//! # What always holds
//!
//! - Byte ranges go from the parse to Parquet. Nothing searches for a chunk's text again.
//! - No document disappears: indexed and quarantined ones together are the discovered ones.
//! - The same input and settings give the same bytes, on any number of threads.
//! - A vector is a function of its text and the model alone, never of its batch.
//! - A file is named by the manifest only after it is on disk.
//!
//! # What is deliberately absent
//!
//! No server, no async code outside the clients of the hub and of object stores, no vector database, no approximate index, no
//! plug-ins: strategies are a closed set. Domain types do not derive their form on disk;
//! [`store`] has rows and records of its own.
//!
//! # Features
//!
//! All that is released has these: `object-store` (`s3://`, `gs://`, `az://`), `hub` (models are fetched, not only read from
//! the cache or a folder), `answer` (a language model is asked), `candle` (networks that the encoder of our own lacks).
//! Without them, `default-features = false`, there is no network code, no TLS and no async runtime. GPUs are used with
//! `cuda` or `metal`, which include `candle`.
//!
//! # What is public
//!
//! What these pages show. Some of what other crates can name is hidden from them: the harness, the benchmarks and the tests
//! need it, and it changes without notice. `tests/api` lists what is shown, so that a change of it is seen.
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
//! assert_eq!(chunks[1].heading_path, ["Guide", "Install"]);
//! assert_eq!(chunks[1].content(&document), "## Install\n\nRun it.");
//! # Ok::<(), chunkmill::error::Error>(())
//! ```

pub mod error;
// Hidden: who makes a setting a flag, a variable or a key needs these two, as the command line and the harness do.
#[doc(hidden)]
pub mod value;

#[doc(hidden)]
pub mod settings;

#[cfg(feature = "http")]
mod http;

pub mod storage;

pub mod corpus;
pub mod document;
pub mod tokens;

pub mod chunk;

// Hidden: a step of the job, which the tests try alone.
#[doc(hidden)]
pub mod links;

// Hidden: the harness fetches sets of labels by it.
#[doc(hidden)]
pub mod hub;

pub mod embed;

pub mod store;

pub mod index;

mod ranking;
pub mod search;

pub mod answer;

pub mod config;

// Hidden: the harness takes and says the same on its command line.
#[doc(hidden)]
pub mod cli;
