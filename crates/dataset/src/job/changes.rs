//! Which documents a run finds new, changed or gone. People read it before an update and after it.

use std::collections::HashMap;

use chunkmill_base::error::Result;
use serde::{Deserialize, Serialize};

use super::parts::PartWork;
use crate::corpus::NameList;
use crate::dataset::{self, Dataset, FileEntry, Part, QuarantineRow, Table};

/// The documents of a corpus, compared with a dataset.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct DocumentChanges {
    /// Number of documents in the corpus.
    pub discovered: u64,
    /// Documents in the corpus but not in the dataset.
    pub new: NameList,
    /// Documents in both, with different contents.
    pub changed: NameList,
    /// Number of documents in both, with the same contents.
    pub unchanged: u64,
    /// Documents in the dataset only.
    pub deleted: NameList,
    /// Number of files in the corpus that are no documents yet: too large, a symbolic link, or not readable.
    pub passed_over: u64,
}

/// Compares the documents of a corpus with those of a dataset, a part at a time.
pub(super) struct Comparison<'d> {
    dataset: Option<&'d Dataset>,
    /// Content hashes of all documents, if the dataset divides them into other parts.
    all: Option<HashMap<String, String>>,
    /// Content hashes of the documents that the dataset refused.
    refused: HashMap<String, String>,
    changes: DocumentChanges,
    /// Documents that were refused before and have the same content. They count as unchanged.
    refused_again: Vec<String>,
}

impl<'d> Comparison<'d> {
    /// `parts` is the number of parts to compare, `deleted` the documents that the corpus does not have.
    pub(super) fn new(dataset: Option<&'d Dataset>, parts: usize, deleted: NameList) -> Self {
        let dataset = dataset.filter(|dataset| !dataset.manifest().parts.is_empty());
        let all = dataset.filter(|dataset| dataset.manifest().parts.len() != parts);
        // A damaged dataset must not stop the run that replaces it.
        let all = all.map(|dataset| contents(dataset, dataset.files(Table::Documents)).unwrap_or_default());
        let rows = dataset.and_then(|dataset| dataset::quarantined(dataset.root(), dataset.manifest()).ok());
        let refused = rows.into_iter().flatten().filter_map(|row| Some((row.doc_id, row.content_hash?))).collect();
        let changes = DocumentChanges { deleted, ..DocumentChanges::default() };
        Self { dataset, all, refused, changes, refused_again: Vec::new() }
    }

    /// Compares a part and returns, for each of its sources, whether the dataset has the same content. `before` is the
    /// part of the dataset with its number. A part that exists already has no changed documents, not even among those
    /// that cannot be read.
    pub(super) fn part(
        &mut self,
        part: &PartWork,
        contents: &[Option<String>],
        before: Option<&Part>,
        is_there: bool,
    ) -> Vec<bool> {
        let here = match (self.dataset, &self.all) {
            (Some(dataset), None) if !is_there => of_part(dataset, before),
            _ => HashMap::new(),
        };
        let known = self.all.as_ref().unwrap_or(&here);
        let changes = &mut self.changes;
        changes.discovered += part.documents();
        changes.passed_over += part.passed_over.len() as u64;
        let same = part.sources.iter().zip(contents).map(|(source, content)| {
            let id = &*source.origin.doc_id;
            let refused = self.refused.get(id);
            let before = known.get(id).or(refused);
            let is_same = is_there || (before.is_some() && before == content.as_ref());
            match before {
                _ if is_same => {
                    changes.unchanged += 1;
                    if !is_there && refused.is_some() {
                        self.refused_again.push(id.to_owned());
                    }
                }
                Some(_) => changes.changed.add(id),
                // A file that cannot be read is quarantined; it is no document yet.
                None if content.is_none() => changes.passed_over += 1,
                None => changes.new.add(id),
            }
            is_same
        });
        same.collect()
    }

    /// Returns the changes. `quarantined`, sorted by id, contains the documents that the new dataset refuses; without
    /// it, those that were refused before are expected to be refused again.
    pub(super) fn finish(self, quarantined: Option<&[QuarantineRow]>) -> DocumentChanges {
        let mut changes = self.changes;
        for id in self.refused_again {
            let is_refused = |rows: &[QuarantineRow]| rows.binary_search_by(|row| row.doc_id.cmp(&id)).is_ok();
            if !quarantined.is_none_or(is_refused) {
                changes.unchanged -= 1;
                changes.new.add(&id);
            }
        }
        changes
    }
}

/// Returns the content hash of each document of a part.
fn of_part(dataset: &Dataset, part: Option<&Part>) -> HashMap<String, String> {
    contents(dataset, part.into_iter().flat_map(|part| part.of(Table::Documents))).unwrap_or_default()
}

fn contents<'f>(dataset: &Dataset, files: impl Iterator<Item = &'f FileEntry>) -> Result<HashMap<String, String>> {
    let mut known = HashMap::new();
    for file in files {
        for batch in dataset.read_texts(file, ["doc_id", "content_hash"])? {
            let [ids, hashes] = batch?;
            let pairs = ids.iter().zip(hashes.iter()).filter_map(|(id, hash)| Some((id?.to_owned(), hash?.to_owned())));
            known.extend(pairs);
        }
    }
    Ok(known)
}
