//! chunkmill splits a corpus of documents into chunks, embeds them, and writes Parquet.
//!
//! One offline job, **discover → parse → chunk → count → embed → write**, as a program and as this
//! library. The evaluation harness (`chunkmill-eval`) uses the same code.
//!
//! # Map
//!
//! Six crates, each of which can be used alone, and this one, which has their modules under one name. Data flows down
//! both lists: a crate uses only crates above it, a module only modules above it. Each crate has a map of its own.
//! `tests/book/architecture.rs` checks all of them.
//!
//! | crate | question it answers | modules |
//! | --- | --- | --- |
//! | `chunkmill-base` | What do all crates have in common? | `value`, [`error`], [`setting`], [`safely`] |
//! | `chunkmill-text` | What is in a document, and where is it cut? | [`document`], [`tokens`], [`chunk`] |
//! | `chunkmill-read` | Which text is in a file that is not text, and where? | [`read`] |
//! | `chunkmill-embed` | What is the vector of a text? | [`embed`], [`hub`] |
//! | `chunkmill-dataset` | How does a corpus become a dataset? | [`storage`], [`corpus`], [`links`], [`dataset`], [`job`] |
//! | `chunkmill-search` | What in a dataset answers a question? | [`search`], [`answer`] |
//!
//! | module | question it answers |
//! | --- | --- |
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
//! [`dataset`] has rows and records of its own.
//!
//! # Features
//!
//! The default features are `object-store` (`s3://`, `gs://`, `az://`), `hub` (download models), `answer` (call a language
//! model), `candle` (networks that our own encoder does not implement), `formats` (documents that are not text) and
//! `jemalloc`. Without them
//! (`default-features = false`) there is no network code, no TLS and no async runtime. `cuda` and `metal` enable GPUs and
//! include `candle`.
//!
//! # What is public
//!
//! Everything on these pages. Only the command line is public but hidden: the harness shares it, and it changes without
//! notice. `tests/api` lists the public items, which makes every change visible.
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

#[doc(inline)]
pub use chunkmill_base::{error, safely, setting, value};
#[doc(hidden)] // For the Python module.
pub use chunkmill_dataset::each_column_of_chunks;
#[doc(inline)]
pub use chunkmill_dataset::{corpus, dataset, duplicates, job, links, storage};
#[doc(inline)]
pub use chunkmill_embed as embed;
#[doc(inline)]
pub use chunkmill_embed::hub;
#[doc(inline)]
pub use chunkmill_read as read;
#[doc(inline)]
pub use chunkmill_search::{answer, search};
#[doc(inline)]
pub use chunkmill_text::{chunk, document, similarity, tokens};

pub mod config;

// Hidden: the harness shares flags and output with it.
#[doc(hidden)]
pub mod cli;
