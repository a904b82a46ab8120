//! Where a document comes from, as far as its text, its chunks and its rows need to know. The folder or the object
//! store it was read from is not part of it: that is known to [`corpus`](chunkmill_dataset::corpus) alone.

use std::sync::Arc;

/// Collection of documents below a root without a name.
pub const DEFAULT_COLLECTION: &str = "default";

/// Collection of reference material from elsewhere. Its documents are read-only: nothing sets their promotion
/// level or changes it.
pub const EXTERNAL: &str = "external";

/// The identity of a document in its corpus. Documents share what they have in common: all of a corpus are in memory
/// at once.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Origin {
    /// Id, unique across the corpus: `path`, or `collection:path` in a named collection.
    pub doc_id: Arc<str>,
    /// Name of the root it came from.
    pub collection: Arc<str>,
    /// Path below the root with `/` between its parts; the file's name if the root is a file. Its extension determines
    /// the format.
    pub path: Arc<str>,
    /// The file's modification time in microseconds since 1970, if there is one.
    pub modified_micros: Option<i64>,
}

impl From<&str> for Origin {
    /// Returns the origin of a text that is not a file of a corpus. Its path is its id.
    fn from(path: &str) -> Self {
        let path: Arc<str> = path.into();
        Self { doc_id: Arc::clone(&path), collection: DEFAULT_COLLECTION.into(), path, modified_micros: None }
    }
}
