//! What decides a part's files: when it is the same as before, so are they.
//!
//! A part's inputs are its documents, as they are on disk now, and the recipe. They are hashed
//! into one value, which the manifest keeps; a part whose value has not changed is taken over.

use blake3::{Hash, Hasher};

use super::Job;
use crate::corpus::Source;
use crate::document::{Admission, PARSER_VERSION};
use crate::embed::ModelInfo;
use crate::store::{FORMAT_VERSION, QuarantineRow};

/// Everything that is not a document and decides what is written. Whatever is missing here could change without
/// anything being made again; whatever is here and decides nothing makes all again for nothing.
#[derive(Debug, Clone, Copy)]
pub(super) struct Recipe {
    hash: Hash,
    admission: Admission,
}

impl Recipe {
    pub(super) fn new(job: &Job, model: &ModelInfo) -> Self {
        let parts = [
            env!("CARGO_PKG_VERSION").to_owned(),
            FORMAT_VERSION.to_string(),
            PARSER_VERSION.to_string(),
            job.spec.fingerprint(),
            // Written into every file, though the same model under another name gives the same vectors.
            model.id.clone(),
            model.fingerprint.clone(),
            model.arithmetic.clone(),
            serde_json::to_string(&(job.admission, job.output)).unwrap_or_default(),
        ];
        Self { hash: blake3::hash(parts.join("\n").as_bytes()), admission: job.admission }
    }

    /// Begins the value of a part with what of it was passed over already when it was found.
    pub(super) fn begin(&self, passed_over: &[QuarantineRow]) -> Inputs {
        let mut inputs = Inputs { hasher: Hasher::new(), admission: self.admission };
        inputs.hasher.update(self.hash.as_bytes());
        inputs.fields([&passed_over.len().to_string()]);
        for row in passed_over {
            inputs.fields([&row.doc_id, &row.collection, &row.path, &row.reason]);
        }
        inputs
    }
}

/// The value of a part's inputs, as its documents come in order.
pub(super) struct Inputs {
    hasher: Hasher,
    admission: Admission,
}

impl Inputs {
    /// Adds a document. `content` is the BLAKE3 of the file in hexadecimal, `None` if it cannot be read.
    pub(super) fn document(&mut self, source: &Source, content: Option<&str>) {
        let Source { doc_id, collection, path, modified_micros, .. } = source;
        let modified = modified_micros.map(|micros| micros.to_string()).unwrap_or_default();
        self.fields([doc_id, collection, path, content.unwrap_or("unreadable"), &modified]);
        // What a run with little memory turned away is tried again by one that has more.
        if let Some(limit) = self.admission.limit_of_job(source.bytes) {
            self.fields(["memory", &limit.to_string()]);
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
