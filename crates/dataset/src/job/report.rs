//! The report of a job, when it is done.

use std::time::Duration;

use super::leaving::Leaving;
use crate::dataset::{Manifest, QuarantineRow};

/// The result of a job.
#[derive(Debug)]
pub struct Report {
    /// The committed manifest.
    pub manifest: Manifest,
    /// All documents that are not indexed.
    pub quarantined: Vec<QuarantineRow>,
    /// Documents of the previous snapshot that are not in the corpus any more.
    pub deleted: Leaving,
    /// Ids of the documents whose front matter is not valid, see [`MALFORMED_FRONT_MATTER`](chunkmill_text::document::MALFORMED_FRONT_MATTER).
    pub malformed_front_matter: Vec<String>,
    /// Number of chunks in reused parts, or with vectors from the previous snapshot.
    pub chunks_kept: u64,
    /// Number of distinct texts that were embedded.
    pub texts_embedded: usize,
    /// Number of distinct texts whose vectors were in the cache.
    pub texts_cached: usize,
    /// Number of tokens that the model read for the embedded texts.
    pub tokens_read: usize,
    /// Time from start to commit.
    pub elapsed: Duration,
    /// Time spent in each stage: preparing, embedding, writing. The stages overlap.
    pub stages: [Duration; 3],
}
