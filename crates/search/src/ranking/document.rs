//! The documents of a dataset, as a search shows and filters them.

use std::sync::Arc;

use arrow::array::{Array, AsArray, ListArray, StringArray};
use arrow::datatypes::TimestampMicrosecondType;
use chunkmill_base::error::Result;
use chunkmill_dataset::dataset::Time;
use rayon::prelude::*;
use serde::Serialize;

use super::batch::{Columns, texts_of};

/// A document's row in the dataset.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct DocumentInfo {
    /// Id of the document.
    pub doc_id: String,
    /// Collection of the document.
    pub collection: String,
    /// Path below the root.
    pub path: String,
    /// Title, if it has one.
    pub title: Option<String>,
    /// Size of the file in bytes.
    pub bytes: u64,
    /// Number of lines.
    pub lines: u64,
    /// Time at which the file was last modified.
    pub modified_time: Option<Time>,
    /// Format in which it was read: markdown, text, …
    pub format: String,
    /// Number of chunks.
    pub chunk_count: u64,
    /// Tags.
    pub tags: Vec<String>,
    /// Aliases.
    pub aliases: Vec<String>,
    /// Promotion level, if it has one.
    pub promotion_level: Option<String>,
}

/// The columns of `documents` that are read.
pub(super) const COLUMNS: [&str; 12] = [
    "doc_id",
    "collection",
    "path",
    "title",
    "bytes",
    "lines",
    "modified_time",
    "format",
    "chunk_count",
    "tags",
    "aliases",
    "promotion_level",
];

impl DocumentInfo {
    /// Returns the documents of a batch with all [`COLUMNS`].
    ///
    /// # Errors
    /// [`Error::Dataset`](chunkmill_base::error::Error::Dataset) if a column has another type.
    pub(super) fn all(batch: &Columns<'_>) -> Result<Vec<Arc<Self>>> {
        let [doc_id, collection, path, title, format, level] =
            ["doc_id", "collection", "path", "title", "format", "promotion_level"].map(|name| batch.text(name));
        let (doc_id, collection, path, title, format, level) = (doc_id?, collection?, path?, title?, format?, level?);
        let (bytes, lines, chunk_count) = (batch.ints("bytes")?, batch.ints("lines")?, batch.ints("chunk_count")?);
        let (tags, aliases) = (batch.lists("tags")?, batch.lists("aliases")?);
        let times = batch.column("modified_time")?;
        let times = times
            .as_primitive_opt::<TimestampMicrosecondType>()
            .ok_or_else(|| batch.damaged("`modified_time` is not a timestamp column"))?;
        let document = |at: usize| {
            let text = |column: &StringArray| column.is_valid(at).then(|| column.value(at).to_owned());
            let list = |column: &ListArray| {
                texts_of(&column.value(at)).ok_or_else(|| batch.damaged("a list does not contain text"))
            };
            Ok(Arc::new(Self {
                doc_id: doc_id.value(at).to_owned(),
                collection: collection.value(at).to_owned(),
                path: path.value(at).to_owned(),
                title: text(&title),
                bytes: bytes.value(at).unsigned_abs(),
                lines: lines.value(at).unsigned_abs(),
                modified_time: times.is_valid(at).then(|| Time::from_micros(times.value(at))),
                format: format.value(at).to_owned(),
                chunk_count: chunk_count.value(at).unsigned_abs(),
                tags: list(&tags)?,
                aliases: list(&aliases)?,
                promotion_level: text(&level),
            }))
        };
        (0..batch.batch.num_rows()).into_par_iter().map(document).collect()
    }
}
