//! The report of a job, when it is done.

use std::time::Duration;

use super::changes::DocumentChanges;
use super::paragraphs::SkippedBoilerplate;
use crate::corpus::OtherFiles;
use crate::dataset::{ChunkChanges, Manifest, QuarantineRow};

/// The result of a job.
#[derive(Debug)]
pub struct Report {
    /// The committed manifest.
    pub manifest: Manifest,
    /// All documents that are not indexed.
    pub quarantined: Vec<QuarantineRow>,
    /// Whether there was a dataset before.
    pub is_update: bool,
    /// The documents of the corpus, compared with the dataset before.
    pub documents: DocumentChanges,
    /// Numbers of chunks, compared with the dataset before; `None` if there were too many to count (20 million).
    pub chunks: Option<ChunkChanges>,
    /// Files below the roots that the globs do not take.
    pub other_files: OtherFiles,
    /// Paragraphs that were left out of what is embedded.
    pub skipped: SkippedBoilerplate,
    /// Ids of the documents whose front matter is not valid, see [`MALFORMED_FRONT_MATTER`](chunkmill_text::document::MALFORMED_FRONT_MATTER).
    pub malformed_front_matter: Vec<String>,
    /// Number of chunks in reused parts, or with vectors from the previous snapshot.
    pub chunks_reused: u64,
    /// Number of distinct texts that were embedded.
    pub texts_embedded: usize,
    /// Number of distinct texts whose vectors were in the cache.
    pub texts_cached: usize,
    /// Number of tokens that the model read for the embedded texts.
    pub tokens_read: usize,
    /// The work of a sparse model.
    pub sparse: SparseWork,
    /// Time from start to commit.
    pub elapsed: Duration,
    /// Time spent in each stage: preparing, embedding, writing. The stages overlap.
    pub stages: [Duration; 3],
}

/// The work of a sparse model in a job; none without one.
#[derive(Debug, Clone, Copy, Default)]
pub struct SparseWork {
    /// Number of texts whose sparse vectors were computed.
    pub texts: usize,
    /// Number of tokens that it read for them.
    pub tokens: usize,
    /// Time it took, as a part of the time of embedding.
    pub time: Duration,
}

impl SparseWork {
    pub(super) fn add(&mut self, texts: usize, tokens: usize, time: Duration) {
        self.texts += texts;
        self.tokens += tokens;
        self.time += time;
    }
}
