//! The events of a job, which it tells while it runs.

/// A progress event of a running job.
#[derive(Debug, Clone, Copy)]
pub enum Event {
    /// The corpus has been searched for documents.
    Discovered {
        /// Number of documents found, including those already quarantined.
        documents: u64,
        /// Total size in bytes, without those already quarantined.
        bytes: u64,
    },
    /// A part was reused as it is.
    Kept {
        /// Number of documents in it.
        documents: u64,
        /// Total size in bytes, without those quarantined at discovery.
        bytes: u64,
        /// Number of chunks in it.
        chunks: u64,
    },
    /// A document was read, parsed and chunked, or quarantined.
    Prepared {
        /// Size in bytes at discovery.
        bytes: u64,
        /// Number of its chunks.
        chunks: usize,
    },
    /// A batch was embedded, or its vectors came from the cache.
    Embedded {
        /// Number of texts in it.
        texts: usize,
        /// Number of tokens that the model read; 0 if the vectors came from the cache.
        tokens: usize,
    },
    /// All chunks of a block have their vectors, including those with duplicate texts.
    Ready {
        /// Number of chunks.
        chunks: usize,
    },
}

/// Callback for the events of a job. It is called from any thread.
pub type Watcher<'a> = &'a (dyn Fn(Event) + Sync);
