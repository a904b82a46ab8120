//! The work to do: the documents of each part, and whether the part must be built.

use std::collections::BTreeMap;

use chunkmill_base::error::Result;
use chunkmill_text::document::EXTERNAL;
use rayon::prelude::*;

use super::event::Event;
use super::inputs::InputRecipe;
use super::job::Job;
use crate::corpus::{self, FetchedDocument, OtherFiles, Source};
use crate::dataset::{self, Dataset, Part, PartInputs, QuarantineRow};
use crate::storage::Location;

/// Bytes of documents that are read and hashed at a time.
const LOOK_BYTES: u64 = 64 << 20;

/// The documents of one part, ordered by id.
#[derive(Debug, Clone, Default)]
pub(super) struct PartWork {
    /// Documents to read.
    pub(super) sources: Vec<Source>,
    /// Documents that are not read, with the reasons.
    pub(super) passed_over: Vec<QuarantineRow>,
    /// Hash of the recipe and all documents, and the promotion levels that were set for some.
    pub(super) inputs: PartInputs,
}

impl PartWork {
    /// Returns the total size of the documents to read, in bytes.
    pub(super) fn bytes(&self) -> u64 {
        self.sources.iter().map(|source| source.bytes).sum()
    }

    /// Returns the number of documents, including quarantined ones.
    pub(super) fn documents(&self) -> u64 {
        (self.sources.len() + self.passed_over.len()) as u64
    }

    /// Reads the documents once to compute the inputs of the part. Returns the hash of each file, see
    /// [`FetchedDocument::hash`].
    pub(super) fn look(&mut self, recipe: &InputRecipe<'_>) -> Result<Vec<Option<String>>> {
        let mut contents = Vec::with_capacity(self.sources.len());
        for sources in corpus::blocks(&self.sources, LOOK_BYTES) {
            contents
                .par_extend(corpus::fetch(sources)?.into_par_iter().map(|document: FetchedDocument| document.hash()));
        }
        let mut inputs = recipe.begin(&self.passed_over);
        for (source, content) in self.sources.iter().zip(&contents) {
            inputs.document(source, content.as_deref());
        }
        self.inputs.inputs = inputs.value();
        Ok(contents)
    }
}

/// Finds the documents of a corpus and assigns them to parts, and the files that are no documents. `promotions` contains levels by document id.
pub(super) fn find(
    job: &Job,
    out: &Location,
    promotions: &BTreeMap<String, String>,
) -> Result<(Vec<PartWork>, OtherFiles)> {
    let found = corpus::discover(&job.roots, &job.filter, std::slice::from_ref(out))?;
    let files = job.output.files;
    let mut parts = vec![PartWork::default(); files];
    for document in &found.quarantined {
        parts[dataset::file_of(&document.doc_id, files)].passed_over.push(document.into());
    }
    for source in found.sources {
        parts[dataset::file_of(&source.origin.doc_id, files)].sources.push(source);
    }
    for part in &mut parts {
        let passed_over = part.passed_over.iter().map(|row| (&*row.doc_id, &*row.collection));
        let documents =
            part.sources.iter().map(|source| (&*source.origin.doc_id, &*source.origin.collection)).chain(passed_over);
        let leveled = documents.filter(|(_, collection)| *collection != EXTERNAL);
        let promoted = leveled.filter_map(|(id, _)| Some((id.to_owned(), promotions.get(id)?.clone())));
        part.inputs.promotions = promoted.collect();
        part.sources.shrink_to_fit();
    }
    Ok((parts, found.others))
}

/// Creates the event that reports the documents found.
pub(super) fn discovered<'p>(parts: impl Iterator<Item = &'p PartWork>) -> Event {
    let (documents, bytes) =
        parts.fold((0, 0), |(documents, bytes), part| (documents + part.documents(), bytes + part.bytes()));
    Event::Discovered { documents, bytes }
}

/// Returns the promotion levels that were set for documents of a dataset.
pub(super) fn promotions(dataset: Option<&Dataset>) -> BTreeMap<String, String> {
    let parts = dataset.into_iter().flat_map(|dataset| &dataset.manifest().parts);
    parts.flat_map(|part| part.inputs.promotions.clone()).collect()
}

/// Returns whether a finished part is what this work would produce.
pub(super) fn is_usable(job: &Job, work: &PartWork, part: &Part) -> bool {
    part.record.inputs == work.inputs && !(job.deny_truncation && part.record.counts.is_truncated())
}
