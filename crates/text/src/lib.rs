//! The chunker of chunkmill, alone: documents, tokens and chunks, without vectors, files or a command line.
//!
//! # Map
//!
//! Data flows down this list, and a module uses only modules above it.
//!
//! | module | question it answers |
//! | --- | --- |
//! | [`document`] | What is in a document, and where? → `Document` |
//! | [`tokens`] | How long is a range of a document, in any unit? → `Ruler` |
//! | [`chunk`] | Where is a document cut? → `Chunk` |
//! | [`similarity`] | How much of one text stands in another? → `Shingles`, `Signature` |
//!
//! # Example
//!
//! ```
//! use chunkmill_text::chunk::{Spec, chunk};
//! use chunkmill_text::document::Document;
//!
//! let document = Document::from_text("guide.md", "# Guide\n\nStart here.\n\n## Install\n\nRun it.\n");
//! let spec: Spec = "heading-tokens max=64 overlap=8".parse()?;
//! for chunk in chunk(&document, &spec, spec.sizer(None)?)? {
//!     println!("{} {:?} {:?}: {}", chunk.id, chunk.range, chunk.heading_path, chunk.content(&document));
//! }
//! # Ok::<(), chunkmill_text::error::Error>(())
//! ```

pub mod document;
pub mod tokens;

pub mod chunk;

pub mod similarity;

pub use chunkmill_base::{error, setting};
