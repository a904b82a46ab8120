//! The inputs that determine a part's files: if the inputs are unchanged, so are the files.
//!
//! A part's inputs are its documents, as they are on disk now, and the recipe. They are hashed into one value,
//! which is stored in the manifest. A part is reused if its value has not changed.

use blake3::{Hash, Hasher};
use chunkmill_embed::ModelInfo;
use chunkmill_text::document::{Admission, Origin, PARSER_VERSION};

use super::job::Job;
use super::paragraphs::SkippedBoilerplate;
use crate::corpus::Source;
use crate::dataset::{FORMAT_VERSION, QuarantineRow};

/// Everything that determines what is written, except the documents. If something were missing here, changing it
/// would rebuild nothing. If something irrelevant were included, changing it would rebuild everything for nothing.
#[derive(Debug, Clone, Copy)]
pub(super) struct InputRecipe<'a> {
    hash: Hash,
    admission: Admission,
    /// The paragraphs of each document that are not embedded.
    pub(super) skipped: &'a SkippedBoilerplate,
}

impl<'a> InputRecipe<'a> {
    pub(super) fn new(job: &Job, model: &ModelInfo, skipped: &'a SkippedBoilerplate) -> Self {
        let sparse = model.sparse.iter().map(|sparse| &*sparse.id);
        let parts = [
            env!("CARGO_PKG_VERSION").to_owned(),
            FORMAT_VERSION.to_string(),
            PARSER_VERSION.to_string(),
            job.spec.fingerprint(),
            // Written into every file, although the same model under another name computes the same vectors.
            [&*model.id]
                .into_iter()
                .chain(model.identity().iter().map(String::as_str))
                .chain(sparse)
                .collect::<Vec<_>>()
                .join("\n"),
            serde_json::to_string(&(job.admission, job.output)).unwrap_or_default(),
        ];
        Self { hash: blake3::hash(parts.join("\n").as_bytes()), admission: job.admission, skipped }
    }

    /// Starts the value of a part with the documents that were quarantined at discovery.
    pub(super) fn begin(&self, passed_over: &[QuarantineRow]) -> Inputs<'a> {
        let mut inputs = Inputs { hasher: Hasher::new(), recipe: *self };
        inputs.hasher.update(self.hash.as_bytes());
        inputs.fields([&passed_over.len().to_string()]);
        for row in passed_over {
            let content = row.content_hash.as_deref().unwrap_or_default();
            inputs.fields([&row.doc_id, &row.collection, &row.path, &row.code, &row.reason, content]);
        }
        inputs
    }
}

/// The value of a part's inputs, computed from its documents in order.
pub(super) struct Inputs<'a> {
    hasher: Hasher,
    recipe: InputRecipe<'a>,
}

impl Inputs<'_> {
    /// Adds a document. `content` is the BLAKE3 hash of the file in hexadecimal, or `None` if it cannot be read.
    pub(super) fn document(&mut self, source: &Source, content: Option<&str>) {
        let Origin { doc_id, collection, path, modified_micros } = &source.origin;
        let modified = modified_micros.map(|micros| micros.to_string()).unwrap_or_default();
        self.fields([doc_id, collection, path, content.unwrap_or("unreadable"), &modified]);
        // A document that was quarantined for lack of memory is tried again by a run with more memory.
        if let Some(limit) = self.recipe.admission.limit_of_job(source.bytes) {
            self.fields(["memory", &limit.to_string()]);
        }
        for range in self.recipe.skipped.of(doc_id, content.unwrap_or_default()) {
            self.fields(["boilerplate", &range.start_byte.to_string(), &range.end_byte.to_string()]);
        }
    }

    fn fields<const N: usize>(&mut self, texts: [&str; N]) {
        for text in texts {
            self.hasher.update(&(text.len() as u64).to_le_bytes());
            self.hasher.update(text.as_bytes());
        }
    }

    pub(super) fn value(&self) -> String {
        self.hasher.finalize().to_hex().to_string()
    }
}
