//! The difference between two snapshots, chunk by chunk.
//!
//! A file that both snapshots name is the same in both, so only the rows of other files are read. The rows of a file are
//! sorted by document, so two files are compared document by document, whatever their size.

use std::collections::{BTreeMap, HashMap, HashSet};
use std::sync::Arc;

use arrow::array::{Array, ArrayRef, AsArray, BooleanArray, RecordBatch, StringArray, new_null_array};
use arrow::compute::filter_record_batch;
use arrow::datatypes::{DataType, Field, Schema, SchemaRef};
use arrow::error::ArrowError;
use chunkmill_base::error::{Error, Result};
use chunkmill_base::value::named;
use serde::{Deserialize, Serialize};

use super::row_hash::ROW_HASH;
use super::{Dataset, FileEntry, Table};

/// Largest number of files that are read at once.
const MOST_FILES: usize = 256;

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

/// The state of a chunk in one snapshot.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct RowState {
    content: blake3::Hash,
    row: u128,
}

impl RowState {
    /// Reads the two hashes of a row.
    pub(super) fn parse(content: &str, row: &str) -> Option<Self> {
        let is_row = row.len() == 32 && row.bytes().all(|digit| digit.is_ascii_hexdigit());
        let row = u128::from_str_radix(row, 16).ok().filter(|_| is_row)?;
        Some(Self { content: blake3::Hash::from_hex(content).ok()?, row })
    }

    /// Returns the two hashes as text.
    pub(super) fn texts(&self) -> [String; 2] {
        [self.content.to_hex().to_string(), format!("{:032x}", self.row)]
    }
}

/// A chunk that is not the same in two snapshots.
#[derive(Debug, Clone)]
pub(super) struct Difference {
    pub(super) doc_id: Arc<str>,
    pub(super) chunk_id: String,
    pub(super) before: Option<RowState>,
    pub(super) after: Option<RowState>,
}

impl Difference {
    /// Returns a key in whose order the chunks of a document have their positions: the ids of a document differ in a number.
    fn place(&self) -> (&str, usize, &str) {
        (&self.doc_id, self.chunk_id.len(), &self.chunk_id)
    }
}

/// Passes the differences between two snapshots on, document by document. Returns `false` if the snapshots have different
/// numbers of files, and too many to read them all at once.
///
/// # Errors
/// Those of [`Dataset::read_texts`]; those of `each`.
pub(super) fn compare(
    before: &Dataset,
    after: &Dataset,
    mut each: impl FnMut(Vec<Difference>) -> Result<()>,
) -> Result<bool> {
    let [old, new] = [before, after].map(|dataset| dataset.files(Table::Chunks).collect::<Vec<_>>());
    let groups: Vec<(&[&FileEntry], &[&FileEntry])> = if old.len() == new.len() {
        let pairs = old.chunks(1).zip(new.chunks(1));
        pairs.filter(|(old, new)| old[0].path != new[0].path).collect()
    } else if old.len() + new.len() <= MOST_FILES {
        vec![(&old, &new)]
    } else {
        return Ok(false);
    };
    for (old, new) in groups {
        let (mut old, mut new) = (Documents::open(before, old)?, Documents::open(after, new)?);
        while let Some(doc_id) = [old.doc_id(), new.doc_id()].into_iter().flatten().min() {
            let mut states: HashMap<String, RowState> =
                old.rows_of(&doc_id)?.into_iter().map(|row| (row.chunk_id, row.state)).collect();
            let mut found = Vec::new();
            let difference =
                |chunk_id, before, after| Difference { doc_id: Arc::clone(&doc_id), chunk_id, before, after };
            for Row { chunk_id, state, .. } in new.rows_of(&doc_id)? {
                let before = states.remove(&chunk_id);
                if before != Some(state) {
                    found.push(difference(chunk_id, before, Some(state)));
                }
            }
            found.extend(states.into_iter().map(|(chunk_id, state)| difference(chunk_id, Some(state), None)));
            found.sort_by(|a, b| a.place().cmp(&b.place()));
            each(found)?;
        }
    }
    Ok(true)
}

/// A row of `chunks`.
struct Row {
    doc_id: Arc<str>,
    chunk_id: String,
    state: RowState,
}

/// A file whose rows are read in order, and its next row.
type OpenFile<'d> = (Box<dyn Iterator<Item = Result<Row>> + 'd>, Option<Row>);

/// The rows of several files, which are sorted by document, one document after the other.
struct Documents<'d>(Vec<OpenFile<'d>>);

impl<'d> Documents<'d> {
    fn open(dataset: &'d Dataset, files: &[&'d FileEntry]) -> Result<Self> {
        let mut open: Vec<OpenFile<'d>> = Vec::with_capacity(files.len());
        for &file in files {
            let batches = dataset.read_texts(file, ["doc_id", "chunk_id", "content_hash", ROW_HASH])?;
            let mut rows = batches.flat_map(move |batch| match batch {
                Ok(columns) => (0..columns[0].len()).map(|row| read_row(dataset, file, &columns, row)).collect(),
                Err(error) => vec![Err(error)],
            });
            let first = rows.next().transpose()?;
            open.push((Box::new(rows), first));
        }
        Ok(Self(open))
    }

    /// Returns the id of the next document.
    fn doc_id(&self) -> Option<Arc<str>> {
        self.0.iter().filter_map(|(_, row)| Some(Arc::clone(&row.as_ref()?.doc_id))).min()
    }

    /// Returns the rows of a document, if it is the next one.
    fn rows_of(&mut self, doc_id: &str) -> Result<Vec<Row>> {
        let mut found = Vec::new();
        for (rows, next) in &mut self.0 {
            while let Some(row) = next.take_if(|row| &*row.doc_id == doc_id) {
                found.push(row);
                *next = rows.next().transpose()?;
            }
        }
        Ok(found)
    }
}

fn read_row(
    dataset: &Dataset,
    file: &FileEntry,
    [documents, ids, contents, rows]: &[StringArray; 4],
    row: usize,
) -> Result<Row> {
    let state = RowState::parse(contents.value(row), rows.value(row));
    let state = state.ok_or_else(|| dataset.damaged(file, "has a hash that is none"))?;
    Ok(Row { doc_id: documents.value(row).into(), chunk_id: ids.value(row).to_owned(), state })
}

/// Returns how many contents of documents are new in these differences, and how many are gone.
pub(super) fn contents(differences: &[Difference]) -> (u64, u64) {
    let mut balance: HashMap<(&str, blake3::Hash), i64> = HashMap::new();
    for Difference { doc_id, before, after, .. } in differences {
        for (state, step) in [(before, -1), (after, 1)] {
            if let Some(RowState { content, .. }) = state {
                *balance.entry((doc_id, *content)).or_default() += step;
            }
        }
    }
    let of = |sign: i64| balance.values().map(|&balance| u64::try_from(sign * balance).unwrap_or_default()).sum();
    (of(1), of(-1))
}

named! {
    /// The kind of a change.
    #[derive(Debug, Clone, Copy, PartialEq, Eq)]
    pub enum ChangeKind: "a kind of change" {
        /// A chunk with a new id.
        Added = "added",
        /// A chunk whose id was there, with another row.
        Changed = "changed",
        /// A chunk whose content was there under another id, which has other content now or is gone.
        Moved = "moved",
        /// A chunk whose id is gone.
        Removed = "removed",
    }
}

/// A chunk that is not the same in two snapshots.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct RowChange {
    /// The kind of change.
    pub change: ChangeKind,
    /// Its id.
    pub chunk_id: String,
    /// Its document.
    pub doc_id: String,
    /// The id that had its content, if it was moved.
    pub moved_from: Option<String>,
    /// Hash of its content, now or, if it was removed, before.
    pub content_hash: String,
    /// Hash of its row, now or, if it was removed, before.
    pub row_hash: String,
}

/// The chunks that differ between two snapshots: a copy of the first becomes the second by writing the rows that are
/// added, changed or moved over those with the same id, and deleting those that are removed.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Changes {
    /// Id of the earlier snapshot.
    pub since: String,
    /// Id of the snapshot that the dataset has.
    pub snapshot: String,
    /// The chunks, by document and position.
    pub rows: Vec<RowChange>,
}

impl Changes {
    /// Names the differences between two snapshots.
    pub(super) fn new(since: String, snapshot: String, mut differences: Vec<Difference>) -> Self {
        differences.retain(|difference| difference.before != difference.after);
        differences.sort_by(|a, b| a.place().cmp(&b.place()));
        let content = |state: Option<RowState>| state.map(|state| state.content);
        let is_other = |difference: &&Difference| content(difference.before) != content(difference.after);
        // The ids that no longer have a content, by content and document. The last one is taken first.
        let mut left: HashMap<blake3::Hash, BTreeMap<&str, Vec<&str>>> = HashMap::new();
        for difference in differences.iter().rev().filter(is_other) {
            let Some(before) = difference.before else { continue };
            left.entry(before.content).or_default().entry(&difference.doc_id).or_default().push(&difference.chunk_id);
        }
        let mut take = |difference: &Difference, content: blake3::Hash| {
            let documents = left.get_mut(&content)?;
            let own = &*difference.doc_id;
            let from = if documents.contains_key(own) { own } else { documents.keys().next().copied()? };
            let ids = documents.get_mut(from)?;
            let id = ids.pop()?;
            if ids.is_empty() {
                documents.remove(from);
            }
            Some(id.to_owned())
        };
        let mut row = |difference: &Difference| {
            let moved_from = difference.after.filter(|_| is_other(&difference));
            let moved_from = moved_from.and_then(|state| take(difference, state.content));
            let change = match (difference.before, difference.after) {
                (_, None) => ChangeKind::Removed,
                _ if moved_from.is_some() => ChangeKind::Moved,
                (None, _) => ChangeKind::Added,
                _ => ChangeKind::Changed,
            };
            let [content_hash, row_hash] = difference.after.or(difference.before)?.texts();
            let (chunk_id, doc_id) = (difference.chunk_id.clone(), difference.doc_id.to_string());
            Some(RowChange { change, chunk_id, doc_id, moved_from, content_hash, row_hash })
        };
        let rows = differences.iter().filter_map(&mut row).collect();
        Self { since, snapshot, rows }
    }

    /// Compares two datasets.
    ///
    /// # Errors
    /// Those of [`Dataset::read`]; [`Error::Setting`] if there are too many files to compare.
    pub fn between(before: &Dataset, after: &Dataset) -> Result<Self> {
        let mut all = Vec::new();
        let is_whole = compare(before, after, |differences| {
            all.extend(differences);
            Ok(())
        })?;
        if !is_whole {
            let problem = "the snapshots have different numbers of files, and too many to compare";
            return Err(Error::setting(
                "--since",
                problem,
                "compare snapshots with the same number of files, or take all rows",
            ));
        }
        Ok(Self::new(before.id(), after.id(), all))
    }

    /// Returns the number of rows of a kind.
    pub fn count(&self, kind: ChangeKind) -> usize {
        self.rows.iter().filter(|row| row.change == kind).count()
    }

    /// Returns the columns of [`table`](Self::table): all texts, of which only `moved_from` may be null.
    pub fn schema() -> SchemaRef {
        let field = |name| Field::new(name, DataType::Utf8, name == "moved_from");
        let names = ["change", "chunk_id", "doc_id", "moved_from", "content_hash", ROW_HASH];
        Arc::new(Schema::new(names.map(field).to_vec()))
    }

    /// Returns the changes as a table.
    ///
    /// # Errors
    /// Those of [`RecordBatch::try_new`].
    pub fn table(&self) -> Result<RecordBatch, ArrowError> {
        let text = |of: fn(&RowChange) -> Option<&str>| -> ArrayRef {
            Arc::new(self.rows.iter().map(of).collect::<StringArray>())
        };
        let columns = vec![
            text(|row| Some(row.change.name())),
            text(|row| Some(&row.chunk_id)),
            text(|row| Some(&row.doc_id)),
            text(|row| row.moved_from.as_deref()),
            text(|row| Some(&row.content_hash)),
            text(|row| Some(&row.row_hash)),
        ];
        RecordBatch::try_new(Self::schema(), columns)
    }

    /// Returns the columns of [`chunks`](Self::chunks): `change` and `moved_from`, then those of `chunks`, which may all
    /// be null. Its metadata has the ids of both snapshots.
    pub fn chunks_schema(&self, dataset: &Dataset) -> SchemaRef {
        let chunks = dataset.manifest().schema(Table::Chunks);
        let known = ["change", "moved_from"].map(|name| Field::new(name, DataType::Utf8, name == "moved_from"));
        let columns = chunks.fields().iter().map(|field| field.as_ref().clone().with_nullable(true));
        let ids = [("chunkmill.since", &self.since), ("chunkmill.snapshot", &self.snapshot)];
        let ids: HashMap<String, String> = ids.map(|(key, id)| (key.to_owned(), id.clone())).into();
        Arc::new(Schema::new_with_metadata(known.into_iter().chain(columns).collect::<Vec<_>>(), ids))
    }

    /// Reads the rows that are added, changed or moved from `dataset`, which has the later snapshot. Batches with those that
    /// are removed come first; they have only ids and hashes.
    pub fn chunks<'c>(&'c self, dataset: &'c Dataset) -> impl Iterator<Item = Result<RecordBatch>> + 'c {
        let known: HashMap<&str, &RowChange> = self.rows.iter().map(|row| (row.chunk_id.as_str(), row)).collect();
        let is_removed = |row: &&RowChange| row.change == ChangeKind::Removed;
        let here: HashSet<&str> = self.rows.iter().filter(|row| !is_removed(row)).map(|row| &*row.doc_id).collect();
        let schema = self.chunks_schema(dataset);
        let removed: Vec<&RowChange> = self.rows.iter().filter(is_removed).collect();
        let gone =
            (!removed.is_empty()).then(|| of_removed(&schema, &removed).map_err(|error| dataset.unreadable(&error)));
        let files = dataset.manifest().output.files;
        let parts: HashSet<usize> = here.into_iter().map(|document| super::file_of(document, files)).collect();
        let of = dataset.files(Table::Chunks).enumerate().filter(move |(part, _)| parts.contains(part));
        let batches = of.flat_map(move |(_, file)| -> Box<dyn Iterator<Item = Result<RecordBatch>>> {
            match dataset.read_all(file) {
                Ok(batches) => Box::new(batches),
                Err(error) => Box::new(std::iter::once(Err(error))),
            }
        });
        let later =
            batches.map(move |batch| of_batch(&schema, &batch?, &known).map_err(|error| dataset.unreadable(&error)));
        gone.into_iter().chain(later.filter(|batch| !batch.as_ref().is_ok_and(|batch| batch.num_rows() == 0)))
    }
}

/// Returns rows of which there is nothing left.
fn of_removed(schema: &SchemaRef, rows: &[&RowChange]) -> Result<RecordBatch, ArrowError> {
    let columns = schema.fields().iter().map(|field| -> ArrayRef {
        let of: fn(&RowChange) -> &str = match field.name().as_str() {
            "change" => |row| row.change.name(),
            "chunk_id" => |row| &row.chunk_id,
            "doc_id" => |row| &row.doc_id,
            "content_hash" => |row| &row.content_hash,
            ROW_HASH => |row| &row.row_hash,
            _ => return new_null_array(field.data_type(), rows.len()),
        };
        Arc::new(rows.iter().map(|row| Some(of(row))).collect::<StringArray>())
    });
    RecordBatch::try_new(Arc::clone(schema), columns.collect())
}

/// Returns the rows of a batch that are not the same, with what became of them.
fn of_batch(
    schema: &SchemaRef,
    batch: &RecordBatch,
    known: &HashMap<&str, &RowChange>,
) -> Result<RecordBatch, ArrowError> {
    let ids =
        |batch: &RecordBatch| batch.column_by_name("chunk_id").and_then(|ids| ids.as_string_opt::<i32>()).cloned();
    let lacks = || ArrowError::SchemaError("no column `chunk_id`".to_owned());
    let is_known = |id: Option<&str>| Some(id.is_some_and(|id| known.contains_key(id)));
    let wanted: BooleanArray = ids(batch).ok_or_else(lacks)?.iter().map(is_known).collect();
    let batch = filter_record_batch(batch, &wanted)?;
    let ids = ids(&batch).ok_or_else(lacks)?;
    let changes = || ids.iter().map(|id| known.get(id?).copied());
    let mut columns: Vec<ArrayRef> = vec![
        Arc::new(changes().map(|row| Some(row?.change.name())).collect::<StringArray>()),
        Arc::new(changes().map(|row| row?.moved_from.as_deref()).collect::<StringArray>()),
    ];
    columns.extend(batch.columns().iter().cloned());
    RecordBatch::try_new(Arc::clone(schema), columns)
}
