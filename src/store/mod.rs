//! The dataset on disk: Parquet files that one manifest names.
//!
//! ```text
//! out/
//!   manifest.json       the commit point: what the files are, what they were made with, and its own checksum
//!   README.md           a Hugging Face dataset card
//!   quarantine.jsonl    every document that is not indexed, and why
//!   data/chunks/train-00000-of-00008-<hash>.parquet     data/documents/…
//!   data/edges/train-00000-of-00008-<hash>.parquet
//!   state/outlines/train-00000-of-00008-<hash>.jsonl.zst     what a later run need not read again
//!   .staging/           a run at work, or what it finished before it was stopped
//!   .shards-<plan>/     the same of the shards of a plan that is not committed yet
//! ```
//!
//! A document's file follows from a hash of its id alone. A file's name ends in a hash of its
//! bytes, so a new snapshot never writes over a file of the old one: readers of the old manifest
//! are undisturbed until the new one replaces it in one step. Nothing in a file depends on the
//! clock or on where it lies, which may be a folder or an object store.

mod card;
mod commit;
mod gc;
mod json_lines;
mod lock;
mod manifest;
mod outline;
mod reader;
mod rows;
mod schema;
mod spool;
mod verify;
mod workspace;
mod writer;

pub(crate) use commit::{Staging, attempt, attempted, forget_attempts};
pub use gc::{KINDS, Kind, Leftover, Sweep, Swept, gc};
#[doc(hidden)] // For the benchmarks.
pub use json_lines::ChunkLines;
pub use manifest::{
    Counts, EdgeCount, EdgeKinds, FORMAT_VERSION, FileEntry, MAX_FILES, Manifest, Output, Part, PartInputs, PartRecord,
    SpecRecord, Texts,
};
#[doc(hidden)] // The tests read them.
pub use outline::{DocumentOutline, read_outlines};
pub(crate) use outline::{OutlineRow, quarantined};
pub use reader::Dataset;
#[doc(hidden)] // What the module for Python gives as an array.
pub use reader::vectors;
pub(crate) use rows::EdgeRow;
pub use rows::QuarantineRow;
#[doc(hidden)] // What `index::Recipe` makes.
pub use rows::{ChunkRow, DocumentRow, HeadingRow, ImageRow, LinkRow};
#[doc(hidden)] // What the module for Python gives as a table.
pub use schema::chunks_batch;
pub use schema::{FloatEncoding, Table, chunks_schema, describe, documents_schema, edges_schema};
pub(crate) use spool::{Records, Spool};
pub use verify::{Check, Finding, Verification, verify};
pub(crate) use workspace::Workspace;
pub(crate) use writer::{PartWriter, write_edges};

/// The file that a document's rows go to.
#[doc(hidden)] // The tests find a file by it.
#[must_use]
pub fn file_of(doc_id: &str, files: usize) -> usize {
    let hash = blake3::hash(doc_id.as_bytes());
    let mut first = [0; 8];
    first.copy_from_slice(&hash.as_bytes()[..8]);
    let files = files.max(1) as u64;
    usize::try_from(u64::from_le_bytes(first) % files).unwrap_or_default()
}
