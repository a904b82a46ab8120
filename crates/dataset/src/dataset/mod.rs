//! The dataset on disk: Parquet files that one manifest names.
//!
//! ```text
//! out/
//!   manifest.json       the commit point: the files, what they were made with, and its own checksum
//!   README.md           a Hugging Face dataset card
//!   quarantine.jsonl    every document that is not indexed, and why
//!   data/chunks/train-00000-of-00008-<hash>.parquet     data/documents/…
//!   data/edges/train-00000-of-00008-<hash>.parquet      data/duplicates/…
//!   state/outlines/train-00000-of-00008-<hash>.jsonl.zst     what a later run does not have to read again
//!   .changes/           what changed with each commit; see [`history`]
//!   .staging/           a run in progress, or what it finished before it was interrupted
//!   .shards-<plan>/     the same for the shards of a plan that is not committed yet
//! ```
//!
//! A hash of a document's id alone decides its file. A file's name ends in a hash of its bytes, so a new snapshot never
//! overwrites a file of the old one: readers of the old manifest are undisturbed until the new one replaces it in one
//! step. Nothing in a file depends on the clock or on where the dataset is, which may be a folder or an object store.

mod card;
mod columns;
mod commit;
mod difference;
mod gc;
mod history;
mod json;
mod json_lines;
mod lock;
mod manifest;
mod outline;
mod reader;
mod row_hash;
mod rows;
mod schema;
mod spool;
mod time;
mod verify;
mod workspace;
mod writer;

pub(crate) use commit::{Staging, attempt, attempted, forget_attempts};
pub use difference::{ChangeKind, Changes, ChunkChanges, RowChange};
pub use gc::{KINDS, Kind, Leftover, Sweep, Swept, gc};
pub use json_lines::ChunkLines;
pub use manifest::file_of;
pub use manifest::{
    Counts, EdgeCount, EdgeKinds, FORMAT_VERSION, FileEntry, MAX_FILES, Manifest, Output, Part, PartInputs, PartRecord,
    SpecRecord, Texts,
};
pub use outline::{DocumentOutline, read_outlines};
pub(crate) use outline::{OutlineRow, quarantined};
pub use reader::Dataset;
pub use reader::{restored_vectors, sparse_vectors, vectors};
pub use row_hash::{ROW_HASH, with_row_hashes};
pub use rows::QuarantineRow;
pub use rows::batches;
pub use rows::{BoilerplateRow, ChunkRow, DocumentRow, HeadingRow, ImageRow, LinkRow};
pub(crate) use rows::{DuplicateRow, EdgeRow, boilerplate_rows, flagged};
pub use schema::chunks_batch;
pub use schema::{
    FloatEncoding, SPARSE, Table, chunks_schema, describe, documents_schema, duplicates_schema, edges_schema,
};
pub(crate) use spool::{Records, Spool};
pub use time::Time;
pub use verify::{Check, Finding, Verification, verify};
pub(crate) use workspace::Workspace;
pub(crate) use writer::{PartWriter, write_duplicates, write_edges};
