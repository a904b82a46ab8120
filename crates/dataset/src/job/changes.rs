//! What a run changes: which documents are new, changed or gone, and how many chunks come, go and stay. People read it
//! after an update; a copy of the dataset elsewhere is brought up to date by it.

use std::collections::HashMap;

use chunkmill_base::error::Result;
use serde::{Deserialize, Serialize};

use super::parts::PartWork;
use crate::corpus::NameList;
use crate::dataset::{self, Dataset, FileEntry, Part, QuarantineRow, Table};

/// Largest number of chunks whose changes are counted: 16 bytes each are kept.
const MOST_CHUNKS: u64 = 20_000_000;

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

/// Numbers of chunks, compared with the dataset before. A chunk stays if its document still has a chunk of the same
/// content, wherever that is.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct ChunkChanges {
    /// Chunks that the dataset did not have.
    pub added: u64,
    /// Chunks that the dataset has no longer.
    pub removed: u64,
    /// Chunks that stay.
    pub kept: u64,
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

/// The chunks of those parts of a dataset that a run replaces.
pub(super) struct ReplacedChunks {
    /// Number of chunks by the hash of document and content.
    chunks: HashMap<[u8; 16], u64>,
    /// Number of chunks in the other parts.
    kept: u64,
}

impl ReplacedChunks {
    /// Reads the chunks of a dataset that are not in the parts to keep. Returns `None` if there are too many to count, or
    /// if they cannot be read.
    pub(super) fn read(dataset: Option<&Dataset>, is_kept: impl Fn(usize) -> bool) -> Option<Self> {
        let mut replaced = Self { chunks: HashMap::new(), kept: 0 };
        let Some(dataset) = dataset else { return Some(replaced) };
        let mut open = 0;
        for (index, part) in dataset.manifest().parts.iter().enumerate() {
            *(if is_kept(index) { &mut replaced.kept } else { &mut open }) += part.counts.chunks;
        }
        if open > MOST_CHUNKS {
            return None;
        }
        for_each_chunk(dataset, is_kept, |key| *replaced.chunks.entry(key).or_default() += 1).ok()?;
        Some(replaced)
    }

    /// Compares them with the chunks of the dataset that the run made.
    pub(super) fn compare(mut self, dataset: &Dataset, is_kept: impl Fn(usize) -> bool) -> Result<ChunkChanges> {
        let mut changes = ChunkChanges { kept: self.kept, ..ChunkChanges::default() };
        for_each_chunk(dataset, is_kept, |key| match self.chunks.get_mut(&key) {
            Some(left @ 1..) => {
                *left -= 1;
                changes.kept += 1;
            }
            _ => changes.added += 1,
        })?;
        changes.removed = self.chunks.values().sum();
        Ok(changes)
    }
}

/// Calls a function with the hash of each chunk that is not in the parts to keep.
fn for_each_chunk(dataset: &Dataset, is_kept: impl Fn(usize) -> bool, mut each: impl FnMut([u8; 16])) -> Result<()> {
    let parts = dataset.manifest().parts_with_files().enumerate().filter(|(index, _)| !is_kept(*index));
    let parts: Vec<Part> = parts.filter_map(|(_, part)| part).collect();
    for file in parts.iter().flat_map(|part| part.of(Table::Chunks)) {
        for batch in dataset.read_texts(file, ["doc_id", "content_hash"])? {
            let [ids, hashes] = batch?;
            for (id, hash) in ids.iter().flatten().zip(hashes.iter().flatten()) {
                let hash = blake3::Hasher::new().update(hash.as_bytes()).update(id.as_bytes()).finalize();
                let mut key = [0; 16];
                key.copy_from_slice(&hash.as_bytes()[..16]);
                each(key);
            }
        }
    }
    Ok(())
}
