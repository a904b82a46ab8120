//! What decides a part's files: when it is the same as before, so are they.
//!
//! A part's inputs are its documents, as they are on disk now, and the recipe. They are hashed
//! into one value, which the manifest keeps; a part whose value has not changed is taken over.

use std::fs::File;

use blake3::{Hash, Hasher};
use rayon::prelude::*;

use super::Job;
use crate::corpus::Source;
use crate::document::PARSER_VERSION;
use crate::embed::ModelInfo;
use crate::store::FORMAT_VERSION;

/// A document as the hash of a part's inputs sees it.
#[derive(Debug, Clone)]
pub(super) struct Input<'a> {
    pub(super) source: &'a Source,
    /// BLAKE3 of the file in hexadecimal, `None` if it cannot be read.
    pub(super) content: Option<String>,
}

/// Everything that is not a document and decides what is written. Whatever is missing here could change without
/// anything being made again; whatever is here and decides nothing makes all again for nothing.
#[derive(Debug, Clone, Copy)]
pub(super) struct Recipe(Hash);

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
        Self(blake3::hash(parts.join("\n").as_bytes()))
    }

    /// The value of a part's inputs, which are sorted by document.
    pub(super) fn inputs<'a>(&self, documents: impl Iterator<Item = Input<'a>>) -> String {
        let mut hasher = Hasher::new();
        hasher.update(self.0.as_bytes());
        for Input { source, content } in documents {
            let Source { doc_id, collection, path, modified_micros, .. } = source;
            let text = |text: &str| [&(text.len() as u64).to_le_bytes(), text.as_bytes()].concat();
            for field in [doc_id, collection, path, content.as_deref().unwrap_or("unreadable")] {
                hasher.update(&text(field));
            }
            hasher.update(&text(&modified_micros.map(|micros| micros.to_string()).unwrap_or_default()));
        }
        hasher.finalize().to_hex().to_string()
    }
}

/// Reads every document once to see what it is.
pub(super) fn look_at(sources: &[Source]) -> Vec<Input<'_>> {
    let hash = |source: &Source| {
        let mut hasher = Hasher::new();
        hasher.update_reader(File::open(&source.file)?)?;
        Ok::<_, std::io::Error>(hasher.finalize().to_hex().to_string())
    };
    sources.par_iter().map(|source| Input { source, content: hash(source).ok() }).collect()
}
