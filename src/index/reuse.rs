//! Vectors of the snapshot before, for documents that have not changed.
//!
//! A document that shares a part with one that changed is read and chunked again, which costs little,
//! but keeps its vectors, which cost much.

use std::collections::{BTreeMap, HashMap};

use arrow::array::AsArray;
use arrow::datatypes::{Float32Type, Int64Type};

use crate::error::{Error, Result};
use crate::store::{ChunkRow, Dataset, DocumentRow, EmbeddingType, Manifest, Table, file_of, vectors};

/// What a chunk keeps.
#[derive(Debug, Default)]
pub(super) struct Kept {
    pub(super) vector: Vec<f32>,
    /// The model's tokens before it cut any.
    pub(super) n_tokens: i64,
}

/// What a document's chunks keep, in order.
type Known = Vec<Kept>;

/// A snapshot whose vectors are those that the job would compute.
#[derive(Debug)]
pub(super) struct Earlier {
    dataset: Dataset,
    /// Content hash of each document.
    documents: HashMap<String, String>,
}

impl Earlier {
    /// `None` if the dataset's vectors were made in another way.
    pub(super) fn open(dataset: Dataset, next: &Manifest) -> Result<Option<Self>> {
        let manifest = dataset.manifest();
        // What was rounded cannot be had back; what was not can be stored in any way.
        let [stored, wanted] = [manifest, next].map(|manifest| manifest.output.embedding_type);
        let exact = stored == wanted || stored != EmbeddingType::F16;
        let alike = manifest.spec.fingerprint == next.spec.fingerprint
            && manifest.model.computes_as(&next.model)
            && manifest.parser_version == next.parser_version
            && manifest.format_version == next.format_version
            && exact;
        if !alike {
            return Ok(None);
        }
        let mut documents = HashMap::new();
        for file in dataset.files(Table::Documents) {
            for batch in dataset.read(file, &["doc_id", "content_hash"], None)? {
                let batch = batch?;
                let (ids, hashes) = (batch.column(0).as_string::<i32>(), batch.column(1).as_string::<i32>());
                documents
                    .extend(ids.iter().zip(hashes).filter_map(|(id, hash)| Some((id?.to_owned(), hash?.to_owned()))));
            }
        }
        Ok(Some(Self { dataset, documents }))
    }

    /// What each chunk keeps, if its document is as it was.
    pub(super) fn vectors(&self, documents: &[DocumentRow], chunks: &[ChunkRow]) -> Result<Vec<Option<Kept>>> {
        let same = documents.iter().filter(|row| self.documents.get(&row.doc_id) == Some(&row.content_hash));
        let mut by_file: BTreeMap<usize, HashMap<&str, Known>> = BTreeMap::new();
        let files = self.dataset.manifest().output.files;
        for row in same {
            by_file.entry(file_of(&row.doc_id, files)).or_default().insert(&row.doc_id, Known::new());
        }
        for (&index, wanted) in &mut by_file {
            self.fetch(index, wanted)?;
        }
        let mut known: HashMap<&str, Known> = by_file.into_values().flatten().collect();
        // Chunks stand by document and in order; a document that gave another number of them is not the same after all.
        let mut counts: HashMap<&str, usize> = HashMap::new();
        for row in chunks {
            *counts.entry(&row.doc_id).or_default() += 1;
        }
        known.retain(|id, vectors| counts.get(id) == Some(&vectors.len()));
        let of = |row: &ChunkRow| {
            let at = usize::try_from(row.chunk_index).ok()?;
            Some(std::mem::take(known.get_mut(row.doc_id.as_str())?.get_mut(at)?))
        };
        Ok(chunks.iter().map(of).collect())
    }

    /// Reads the vectors of some documents from one file, where rows stand by document and position.
    fn fetch(&self, index: usize, wanted: &mut HashMap<&str, Known>) -> Result<()> {
        let dim = self.dataset.manifest().model.dim;
        let Some(file) = self.dataset.files(Table::Chunks).nth(index) else { return Ok(()) };
        for batch in self.dataset.read(file, &["doc_id", "n_model_tokens", "embedding"], None)? {
            let batch = batch?;
            let damaged = || Error::Dataset {
                path: self.dataset.root().join(&file.path),
                problem: "does not hold vectors of the dataset's dimension".to_owned(),
                help: "the dataset is damaged: index the corpus again with --fresh".to_owned(),
            };
            let column = |name| batch.column_by_name(name).ok_or_else(damaged);
            let ids = column("doc_id")?.as_string::<i32>();
            let tokens = column("n_model_tokens")?.as_primitive::<Int64Type>();
            let values = vectors(column("embedding")?, dim).ok_or_else(damaged)?;
            let values = values.as_primitive::<Float32Type>().values();
            for (row, (id, tokens)) in ids.iter().zip(tokens).enumerate() {
                if let (Some(known), Some(n_tokens)) = (id.and_then(|id| wanted.get_mut(id)), tokens) {
                    known.push(Kept { vector: values[row * dim..][..dim].to_vec(), n_tokens });
                }
            }
        }
        Ok(())
    }
}
