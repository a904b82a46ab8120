//! The description of a job.

use std::sync::Arc;

use chunkmill_embed::Cache;
use chunkmill_text::chunk::Spec;
use chunkmill_text::document::Admission;

use crate::corpus::{Filter, Root};
use crate::dataset::Output;
use crate::duplicates::DropRule;

/// The corpus to index, and the settings to use.
#[derive(Debug, Clone)]
pub struct Job {
    /// Roots of the corpus.
    pub roots: Vec<Root>,
    /// Filter that selects which files are documents.
    pub filter: Filter,
    /// Rules for admitting documents.
    pub admission: Admission,
    /// Which duplicates are left out.
    pub drop_duplicates: DropRule,
    /// Number of documents from which a paragraph that stands in them is not embedded; `None` if all are.
    pub skip_boilerplate: Option<u64>,
    /// Chunk settings.
    pub spec: Spec,
    /// Layout of the dataset.
    pub output: Output,
    /// Largest number of tokens in a batch of the model; `None` uses the embedder's default.
    pub batch_tokens: Option<usize>,
    /// Whether the job fails if the model would truncate a chunk.
    pub deny_truncation: bool,
    /// Cache of vectors. It does not affect the bytes of the result.
    pub cache: Option<Arc<Cache>>,
    /// Whether to ignore the existing dataset. The cache is used anyway.
    pub fresh: bool,
    /// Whether more than half of the documents of the existing dataset may be deleted, because they are not in the corpus.
    pub allow_shrink: bool,
}
