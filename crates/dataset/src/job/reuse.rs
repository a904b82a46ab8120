//! Reuse of vectors from the previous snapshot, for documents that have not changed.
//!
//! A document that shares a part with a changed document is read and chunked again, which is cheap. Its vectors,
//! which are expensive, are reused.

use std::collections::{BTreeMap, HashMap};
use std::ops::Range;

use arrow::array::{ArrayRef, AsArray};
use arrow::datatypes::Int64Type;
use blake3::Hash;
use chunkmill_base::error::{Error, Result};
use chunkmill_embed::{Representation, SPARSE_TRUNCATED, SparseVector};

use crate::dataset::{
    BoilerplateRow, ChunkRow, Dataset, DocumentRow, FileEntry, Manifest, SPARSE, Table, boilerplate_rows, flagged,
    restored_vectors, sparse_vectors,
};

/// The values that models computed for a chunk.
#[derive(Debug, Default)]
pub(super) struct ChunkValues {
    pub(super) vector: Vec<f32>,
    /// Empty without a sparse model.
    pub(super) sparse: SparseValues,
    /// Number of model tokens before truncation.
    pub(super) n_tokens: i64,
}

/// The values that a sparse model computed for a chunk.
#[derive(Debug, Default)]
pub(super) struct SparseValues {
    pub(super) vector: SparseVector,
    pub(super) is_truncated: bool,
}

/// The location of a document's rows: the file of chunks, the first row, and the number of rows.
#[derive(Debug, Clone, Copy)]
struct RowRange {
    file: u32,
    row: u32,
    chunks: u32,
}

/// A snapshot whose vectors are those that the job would compute.
#[derive(Debug)]
pub(super) struct Earlier {
    dataset: Dataset,
    /// Documents by the hash of id and content, to use as little memory per document as possible.
    documents: HashMap<[u8; 16], RowRange>,
    /// The paragraphs without which some of them were embedded.
    skipped: HashMap<[u8; 16], Vec<BoilerplateRow>>,
}

impl Earlier {
    /// Opens a dataset to reuse its vectors. Returns `None` if they were computed in another way or the dataset is
    /// damaged; all vectors are then computed again.
    pub(super) fn open(dataset: Dataset, next: &Manifest) -> Option<Self> {
        Self::read(dataset, next).unwrap_or_else(|error| {
            tracing::warn!("{error}; this run computes all vectors again");
            None
        })
    }

    fn read(dataset: Dataset, next: &Manifest) -> Result<Option<Self>> {
        let manifest = dataset.manifest();
        // Rounded vectors can only be stored as they are; exact ones in any type.
        let serves = manifest.output.embedding_type.serve(next.output.embedding_type);
        let alike = manifest.spec.fingerprint == next.spec.fingerprint
            && manifest.model.computes_as(&next.model)
            && manifest.parser_version == next.parser_version
            && manifest.admission.read.reads_as(&next.admission.read)
            && serves;
        if !alike {
            return Ok(None);
        }
        let (mut documents, mut skipped) = (HashMap::new(), HashMap::new());
        for (number, file) in dataset.files(Table::Documents).enumerate() {
            // Chunks are grouped by document, in the order of the documents.
            let mut row = 0;
            for batch in dataset.read(file, &["doc_id", "content_hash", "chunk_count", "boilerplate"], None)? {
                let batch = batch?;
                let text = |name| batch.column_by_name(name).and_then(|column| column.as_string_opt::<i32>());
                let counts =
                    batch.column_by_name("chunk_count").and_then(|column| column.as_primitive_opt::<Int64Type>());
                let boilerplate = batch.column_by_name("boilerplate").and_then(boilerplate_rows);
                let columns = text("doc_id").zip(text("content_hash")).zip(counts).zip(boilerplate);
                let (((ids, hashes), counts), boilerplate) = columns.ok_or_else(|| damaged(&dataset, file))?;
                for (((id, hash), &count), boilerplate) in ids.iter().zip(hashes).zip(counts.values()).zip(boilerplate)
                {
                    let chunks = u32::try_from(count).map_err(|_| damaged(&dataset, file))?;
                    let place = RowRange { file: u32::try_from(number).unwrap_or(u32::MAX), row, chunks };
                    let key = key(id.unwrap_or_default(), hash.unwrap_or_default());
                    documents.insert(key, place);
                    if !boilerplate.is_empty() {
                        skipped.insert(key, boilerplate);
                    }
                    row = row.checked_add(chunks).ok_or_else(|| damaged(&dataset, file))?;
                }
            }
        }
        Ok(Some(Self { dataset, documents, skipped }))
    }

    /// Returns whether a document that has not changed was embedded without these ranges.
    pub(super) fn skips(&self, doc_id: &str, content_hash: &str, boilerplate: &[BoilerplateRow]) -> bool {
        self.skipped.get(&key(doc_id, content_hash)).map_or(&[][..], Vec::as_slice) == boilerplate
    }

    /// Returns the reused values of each chunk whose document has not changed. `documents` and `chunks` are in the
    /// same order of documents; chunks of the first and the last document may be missing. Nothing is reused from a
    /// damaged file.
    pub(super) fn vectors<'d>(
        &self,
        documents: impl IntoIterator<Item = &'d DocumentRow>,
        chunks: &[ChunkRow],
    ) -> Vec<Option<ChunkValues>> {
        let mut kept: Vec<Option<ChunkValues>> = chunks.iter().map(|_| None).collect();
        // For each file, ranges of its rows with the index of the chunk that the first row belongs to.
        let mut wanted: BTreeMap<u32, Vec<(Range<usize>, usize)>> = BTreeMap::new();
        let mut at = 0;
        for row in documents {
            let start = at;
            at += chunks[at..].iter().take_while(|chunk| chunk.doc_id == row.doc_id).count();
            // A document with a different number of chunks has changed after all.
            let known = self.documents.get(&key(&row.doc_id, &row.content_hash));
            let known = known.filter(|place| {
                i64::from(place.chunks) == row.chunk_count
                    && self.skips(&row.doc_id, &row.content_hash, &row.boilerplate)
            });
            let first = chunks.get(start).and_then(|chunk| usize::try_from(chunk.chunk_index).ok());
            if let Some((place, first)) = known.zip(first).filter(|_| at > start) {
                let first = place.row as usize + first;
                wanted.entry(place.file).or_default().push((first..first + (at - start), start));
            }
        }
        for (file, mut runs) in wanted {
            runs.sort_by_key(|(rows, _)| rows.start);
            let places = runs.iter().flat_map(|(rows, start)| *start..start + rows.len());
            let rows = runs.iter().map(|(rows, _)| rows.clone()).collect();
            if let Err(error) = self.fetch(file as usize, rows, places, chunks, &mut kept) {
                tracing::warn!("{error}; this run computes the vectors of this file again");
            }
        }
        kept
    }

    /// Reads rows of one file; `places` contains the index of the chunk for each row.
    fn fetch(
        &self,
        file: usize,
        rows: Vec<Range<usize>>,
        mut places: impl Iterator<Item = usize>,
        chunks: &[ChunkRow],
        kept: &mut [Option<ChunkValues>],
    ) -> Result<()> {
        let all = self.dataset.manifest().representations();
        let dim = self.dataset.manifest().model.dim;
        let Some(file) = self.dataset.files(Table::Chunks).nth(file) else { return Ok(()) };
        let damaged = || damaged(&self.dataset, file);
        let is_sparse = self.dataset.manifest().model.sparse.is_some();
        let columns = ["chunk_id", "content_hash", "n_model_tokens", "flags"].into_iter();
        let columns = columns.chain(Representation::sources(&all).iter().map(Representation::column));
        let columns = columns.chain(is_sparse.then_some(SPARSE));
        for batch in self.dataset.read(file, &columns.collect::<Vec<_>>(), Some(rows))? {
            let batch = batch?;
            let column = |name| batch.column_by_name(name).ok_or_else(damaged);
            let text = |name| column(name)?.as_string_opt::<i32>().ok_or_else(damaged);
            let rows = text("chunk_id")?.iter().zip(text("content_hash")?);
            let tokens = column("n_model_tokens")?.as_primitive_opt::<Int64Type>().ok_or_else(damaged)?;
            let values = restored_vectors(&batch, &all).ok_or_else(damaged)?;
            let sparse = is_sparse.then(|| sparse_values(column("flags")?, column(SPARSE)?).ok_or_else(damaged));
            let mut sparse = sparse.transpose()?.into_iter().flatten();
            for (row, ((id, hash), tokens)) in rows.zip(tokens).enumerate() {
                let place = places.next().ok_or_else(damaged)?;
                let sparse = sparse.next().unwrap_or_default();
                if let Some(n_tokens) = tokens
                    && id == Some(&chunks[place].chunk_id)
                    && hash == Some(&chunks[place].content_hash)
                {
                    kept[place] = Some(ChunkValues { vector: values[row * dim..][..dim].to_vec(), sparse, n_tokens });
                }
            }
        }
        Ok(())
    }
}

/// Returns the sparse vectors of some rows, and whether the model read only the beginning of each text.
fn sparse_values(flags: &ArrayRef, vectors: &ArrayRef) -> Option<Vec<SparseValues>> {
    let truncated = flagged(flags, SPARSE_TRUNCATED)?;
    let values = sparse_vectors(vectors)?.into_iter().zip(truncated);
    Some(values.map(|(vector, is_truncated)| SparseValues { vector, is_truncated }).collect())
}

fn key(doc_id: &str, content_hash: &str) -> [u8; 16] {
    let hash: Hash = blake3::hash(format!("{content_hash} {doc_id}").as_bytes());
    let mut key = [0; 16];
    key.copy_from_slice(&hash.as_bytes()[..16]);
    key
}

fn damaged(dataset: &Dataset, file: &FileEntry) -> Error {
    Error::Dataset {
        path: dataset.root().join(&file.path),
        problem: "does not match the dataset's manifest".to_owned(),
        help: "the dataset is damaged: index the corpus again with --fresh".to_owned(),
    }
}
