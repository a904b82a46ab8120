//! Rows of `chunks` as lines of JSON.
//!
//! Most bytes of a line are column names and values that all chunks of a document share, not the chunk's own text.
//! So the shared values are written once per document. The output is byte for byte what `serde_json` writes for the
//! row, at almost three times the speed; a test compares them.

use super::columns::Columns;
use super::rows::{ChunkRow, DocumentRow};

/// The columns that every chunk has from its document.
const SHARED: [&str; 8] =
    ["doc_id", "collection", "path", "tags", "aliases", "metadata", "promotion_level", "modified_time"];

/// A writer of the chunks of one document as lines.
pub struct ChunkLines {
    /// For each column of `chunks` the member that is the same in every line, if it is.
    shared: Vec<Option<Vec<u8>>>,
}

impl ChunkLines {
    /// Creates the writer for the chunks of this document.
    #[must_use]
    pub fn new(document: &DocumentRow) -> Self {
        let member = |column: &&str| SHARED.contains(column).then(|| document.member(column)).flatten();
        Self { shared: ChunkRow::NAMES.iter().map(member).collect() }
    }

    /// Appends the line of one chunk to `out`, including the line feed.
    pub fn push(&self, row: &ChunkRow, out: &mut Vec<u8>) {
        row.object(&self.shared, out);
        out.push(b'\n');
    }
}
