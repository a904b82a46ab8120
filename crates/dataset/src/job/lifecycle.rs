//! Changing a dataset without its corpus: promotion and deletion.
//!
//! Both copy the files of the affected parts row by row into new files and commit these like any snapshot, so a
//! reader sees all of a change or none of it. A level that is set here becomes one of the inputs of its part,
//! and later runs set it again. A part with deleted rows has no known inputs: the next run over a corpus rebuilds
//! it and indexes all documents that are still there.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;
use std::sync::atomic::AtomicBool;

use arrow::array::{Array, AsArray, BooleanArray, RecordBatch, StringArray};
use arrow::compute::filter_record_batch;
use arrow::error::ArrowError;
use chunkmill_base::error::{Error, Result};
use chunkmill_base::value::{count, did_you_mean, nearest, nearest_path};
use chunkmill_text::document::EXTERNAL;

use super::publish;
use crate::dataset::{
    Dataset, Manifest, OutlineRow, Part, PartRecord, PartWriter, ROW_HASH, Staging, Table, file_of, read_outlines,
    with_row_hashes,
};
use crate::storage::Location;

/// The result of a change.
#[derive(Debug, Clone, Copy, PartialEq, Eq, serde::Serialize)]
pub struct ChangeCounts {
    /// Number of documents that were changed or deleted.
    pub documents: u64,
    /// Number of their chunks.
    pub chunks: u64,
}

/// Sets the promotion level of a document and all its chunks, in one snapshot. Later runs keep it, whatever the
/// front matter says.
///
/// # Errors
/// [`Error::Setting`] if the level is not valid, if the dataset does not contain the document, if the id is that
/// of a chunk, or if the document is in the collection `external`, which has no levels; [`Error::Locked`] if
/// another process is writing to the dataset; those of [`Dataset`].
pub fn promote(out: &Location, doc_id: &str, level: &str, stop: &AtomicBool) -> Result<ChangeCounts> {
    if level.is_empty() || level.trim() != level || level.chars().any(char::is_control) {
        return Err(refused(
            "LEVEL",
            format!("{level:?} is not a valid level"),
            "use one line without surrounding spaces",
        ));
    }
    let change = Change::open(out)?;
    let files = change.dataset.manifest().output.files;
    match change.find(|id, _| id == doc_id)?.get(doc_id).map(String::as_str) {
        Some(EXTERNAL) => {
            let problem = format!("{doc_id} is in the collection `{EXTERNAL}`, which has no promotion levels");
            return Err(change.refused(problem, "its documents are read-only"));
        }
        Some(_) => {}
        None => return Err(change.no_document(doc_id)?),
    }
    let set = |batch: &RecordBatch| {
        let ids = batch.column_by_name("doc_id").map(AsArray::as_string::<i32>);
        let place = batch.schema().index_of("promotion_level")?;
        let before = batch.column(place).as_string::<i32>();
        let is_it = |row| ids.is_some_and(|ids| ids.value(row) == doc_id);
        let levels = (0..batch.num_rows())
            .map(|row| if is_it(row) { Some(level) } else { before.is_valid(row).then(|| before.value(row)) });
        let mut columns = batch.columns().to_vec();
        columns[place] = Arc::new(levels.collect::<StringArray>());
        let changed = RecordBatch::try_new(batch.schema(), columns)?;
        if changed.column_by_name(ROW_HASH).is_some() { with_row_hashes(&changed) } else { Ok(changed) }
    };
    let part = file_of(doc_id, files);
    let record = |mut record: PartRecord| {
        record.inputs.promotions.insert(doc_id.to_owned(), level.to_owned());
        record
    };
    let chunks = change.chunks(&BTreeSet::from([doc_id.to_owned()]))?;
    change.commit(&BTreeSet::from([part]), &set, &|_| true, &record, stop)?;
    Ok(ChangeCounts { documents: 1, chunks })
}

/// Deletes documents from a dataset, by id and by collection, in one snapshot. The next run over a corpus that
/// still contains them indexes them again.
///
/// # Errors
/// [`Error::Setting`] if the dataset does not contain one of the documents or collections; [`Error::Locked`] if
/// another process is writing to the dataset; those of [`Dataset`].
pub fn delete(out: &Location, documents: &[String], collections: &[String], stop: &AtomicBool) -> Result<ChangeCounts> {
    let change = Change::open(out)?;
    let asked = |id: &str, collection: &str| {
        documents.iter().any(|asked| asked == id) || collections.iter().any(|asked| asked == collection)
    };
    let found = change.find(asked)?;
    if let Some(id) = documents.iter().find(|id| !found.contains_key(*id)) {
        return Err(change.no_document(id)?);
    }
    if let Some(name) = collections.iter().find(|name| !found.values().any(|collection| collection == *name)) {
        let all: BTreeSet<String> = change.find(|_, _| true)?.into_values().collect();
        let meant = did_you_mean(nearest(name, all.iter().map(String::as_str)));
        let problem = format!("the dataset has no document in a collection `{name}`{meant}");
        return Err(change.refused(problem, "the column `collection` of data/documents has the collections"));
    }
    let ids: BTreeSet<String> = found.into_keys().collect();
    let files = change.dataset.manifest().output.files;
    let parts: BTreeSet<usize> = ids.iter().map(|id| file_of(id, files)).collect();
    let without = |batch: &RecordBatch| {
        let column = batch.column_by_name("doc_id").map(AsArray::as_string::<i32>);
        let stays = column.into_iter().flatten().map(|id| Some(!id.is_some_and(|id| ids.contains(id))));
        filter_record_batch(batch, &stays.collect::<BooleanArray>())
    };
    let record = |mut record: PartRecord| {
        record.inputs.inputs.clear();
        record.inputs.promotions.retain(|id, _| !ids.contains(id));
        record
    };
    let chunks = change.chunks(&ids)?;
    change.commit(&parts, &without, &|id| !ids.contains(id), &record, stop)?;
    Ok(ChangeCounts { documents: ids.len() as u64, chunks })
}

/// A snapshot that is about to be replaced by a changed one.
struct Change {
    staging: Staging,
    dataset: Dataset,
}

impl Change {
    fn open(out: &Location) -> Result<Self> {
        // Before the lock is taken, because a wrong name must not create a folder.
        Dataset::open(out)?;
        let staging = Staging::open(out)?;
        let dataset = Dataset::open(out)?;
        Ok(Self { staging, dataset })
    }

    fn refused(&self, problem: String, help: &str) -> Error {
        refused(&self.dataset.root().to_string(), problem, help)
    }

    /// Finds documents, including quarantined ones. Returns their collections by id.
    fn find(&self, is_asked: impl Fn(&str, &str) -> bool) -> Result<BTreeMap<String, String>> {
        let mut found = BTreeMap::new();
        for file in self.dataset.files(Table::Documents) {
            for batch in self.dataset.read_texts(file, ["doc_id", "collection"])? {
                let [ids, collections] = batch?;
                for (id, collection) in ids.iter().flatten().zip(collections.iter().flatten()) {
                    if is_asked(id, collection) {
                        found.insert(id.to_owned(), collection.to_owned());
                    }
                }
            }
        }
        let quarantined = crate::dataset::quarantined(self.dataset.root(), self.dataset.manifest())?;
        let asked = quarantined.into_iter().filter(|row| is_asked(&row.doc_id, &row.collection));
        found.extend(asked.map(|row| (row.doc_id, row.collection)));
        Ok(found)
    }

    /// Returns the number of chunks in these documents.
    fn chunks(&self, ids: &BTreeSet<String>) -> Result<u64> {
        let mut chunks = 0;
        for file in self.dataset.files(Table::Chunks) {
            for batch in self.dataset.read_texts(file, ["doc_id"])? {
                let [column] = batch?;
                chunks += column.iter().flatten().filter(|id| ids.contains(*id)).count() as u64;
            }
        }
        Ok(chunks)
    }

    /// Returns the error for an id that no document has. It may be the id of a chunk.
    fn no_document(&self, id: &str) -> Result<Error> {
        for file in self.dataset.files(Table::Chunks) {
            for batch in self.dataset.read_texts(file, ["chunk_id", "doc_id"])? {
                let [chunks, documents] = batch?;
                if let Some(row) = chunks.iter().position(|chunk| chunk == Some(id)) {
                    let problem = format!("{id} is a single chunk, not a document");
                    return Ok(self.refused(problem, &format!("name the document: {}", documents.value(row))));
                }
            }
        }
        let all = self.find(|_, _| true)?;
        let all: Vec<&str> = all.keys().map(String::as_str).collect();
        let meant = did_you_mean(nearest_path(id, &all, &['/', ':']));
        let help =
            "ids are in the column `doc_id` of data/documents: the path, or COLLECTION:PATH in a named collection";
        Ok(self.refused(format!("the dataset has no document {id}{meant}"), help))
    }

    /// Rewrites these parts and commits them. Each batch of rows passes through `map`; the outline of a document
    /// is kept if `stays` returns `true`.
    fn commit(
        self,
        parts: &BTreeSet<usize>,
        map: &dyn Fn(&RecordBatch) -> Result<RecordBatch, ArrowError>,
        stays: &dyn Fn(&str) -> bool,
        record: &dyn Fn(PartRecord) -> PartRecord,
        stop: &AtomicBool,
    ) -> Result<Manifest> {
        let Self { mut staging, dataset } = self;
        if !staging.finished().is_empty() {
            let parts = count(staging.finished().len(), "part");
            tracing::warn!("discarding {parts} that an interrupted run had finished");
        }
        staging.keep(|_, _| false)?;
        let manifest = dataset.manifest();
        let mut all = Vec::with_capacity(manifest.output.files);
        let mut before = manifest.parts_with_files();
        for index in 0..manifest.output.files {
            let damaged = |problem: &str| Error::Dataset {
                path: dataset.root().path().to_owned(),
                problem: format!("part {index} {problem}"),
                help: "the dataset is damaged: index the corpus again with --fresh".to_owned(),
            };
            let part = before.next().flatten().ok_or_else(|| damaged("is not in the manifest"))?;
            if !parts.contains(&index) {
                all.push(part);
                continue;
            }
            let mut writer = PartWriter::new(staging.workspace(), manifest, index)?;
            let [chunks, documents, outlines] = part.files.as_slice() else { return Err(damaged("lacks files")) };
            for batch in dataset.read_all(chunks)? {
                writer.push_chunks(&map(&batch?).map_err(|error| damaged(&error.to_string()))?)?;
            }
            for batch in dataset.read_all(documents)? {
                writer.push_documents(&map(&batch?).map_err(|error| damaged(&error.to_string()))?)?;
            }
            for row in read_outlines(dataset.root().storage(), dataset.root().join(&outlines.path))? {
                let row = row?;
                let id = match &row {
                    OutlineRow::Document(document) => document.doc_id(),
                    OutlineRow::Quarantined(row) => &row.doc_id,
                };
                if stays(id) {
                    writer.push_outline(&row)?;
                }
            }
            let (files, counts) = writer.finish()?;
            let record = record(PartRecord { counts, ..part.record });
            all.push(Part { record, files });
        }
        let (manifest, _, _) = publish::publish(staging, manifest.clone(), all, false, stop)?;
        Ok(manifest)
    }
}

fn refused(origin: &str, problem: String, help: &str) -> Error {
    Error::setting(origin, problem, help)
}
