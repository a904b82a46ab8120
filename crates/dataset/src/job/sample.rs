//! Vectors of some chunks, computed again and compared with those of the dataset: whether a service still has the model that
//! made it, or another machine the same arithmetic.

use std::collections::HashMap;
use std::sync::atomic::AtomicBool;

use arrow::array::AsArray;
use chunkmill_base::error::{Error, Result};
use chunkmill_embed::{Batcher, Embedder, EmbeddingType, Representation, Role, is_zero, restore};
use chunkmill_text::chunk::{Pooling, Spec};
use chunkmill_text::document::without_data_urls;
use serde::Serialize;

use super::paragraphs::ChunkText;
use crate::dataset::{BoilerplateRow, Dataset, Table, boilerplate_rows, restored_vectors};

/// The comparison of some vectors of a dataset with new ones.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Sample {
    /// Number of chunks.
    pub chunks: usize,
    /// Smallest and median cosine.
    pub least: f64,
    /// Median cosine.
    pub median: f64,
    /// The chunk with the smallest cosine.
    pub least_chunk: String,
    /// Type of the most exact vectors, in which both are compared.
    #[serde(skip)]
    pub stored: EmbeddingType,
}

impl Sample {
    /// Returns whether all cosines are those of one model. Reduced precision and another processor stay above these; a value next
    /// to the border of a byte, or next to 0, may be stored on the other side.
    pub fn is_alike(&self) -> bool {
        self.least
            >= match self.stored {
                EmbeddingType::F32 | EmbeddingType::List | EmbeddingType::F16 => 0.999,
                EmbeddingType::Int8 => 0.995,
                EmbeddingType::Bits => 0.93,
            }
    }
}

/// A chunk whose vector is compared.
struct Sampled {
    id: String,
    text: String,
    vector: Vec<f32>,
}

/// Embeds up to `most` chunks again, spread evenly over the dataset, without a cache. Chunks with a vector of zeros do not
/// count. `None` if there are no others.
///
/// # Errors
/// [`Error::Dataset`] if the dataset is damaged, [`Error::Setting`] if its vectors are not those of texts, and errors of the
/// embedder.
pub fn sample(dataset: &Dataset, embedder: &dyn Embedder, most: usize, stop: &AtomicBool) -> Result<Option<Sample>> {
    let manifest = dataset.manifest();
    let spec = Spec::resolve(&manifest.spec.settings)?;
    if spec.pooling() == Pooling::Late {
        let problem = "vectors of late pooling depend on whole documents, so chunks alone cannot be embedded again";
        return Err(Error::setting("sample", problem, "leave it out"));
    }
    let about = documents(dataset)?;
    let rows: u64 = dataset.files(Table::Chunks).map(|file| file.rows).sum();
    let rows = usize::try_from(rows).unwrap_or(usize::MAX);
    let most = most.min(rows);
    let mut wanted = (0..most).map(|at| at * rows / most).peekable();
    let (mut first, mut sampled) = (0, Vec::with_capacity(most));
    let (all, dim) = (manifest.representations(), manifest.model.dim);
    for file in dataset.files(Table::Chunks) {
        let end = first + usize::try_from(file.rows).unwrap_or(usize::MAX);
        let mut here = Vec::new();
        while let Some(row) = wanted.next_if(|row| *row < end) {
            here.push(row - first..row - first + 1);
        }
        first = end;
        if here.is_empty() {
            continue;
        }
        let damaged = || Error::Dataset {
            path: dataset.root().join(&file.path),
            problem: "does not match the dataset's manifest".to_owned(),
            help: "the dataset is damaged: index the corpus again with --fresh".to_owned(),
        };
        let texts = ["chunk_id", "doc_id", "path", "header_path"];
        let sources = Representation::sources(&all).iter().map(Representation::column);
        let columns: Vec<&str> = texts.into_iter().chain(ChunkText::COLUMNS).chain(["flags"]).chain(sources).collect();
        for batch in dataset.read(file, &columns, Some(here))? {
            let batch = batch?;
            let column = |name| batch.column_by_name(name).ok_or_else(damaged);
            let text = |name| column(name)?.as_string_opt::<i32>().ok_or_else(damaged);
            let [ids, documents, paths, headers] = texts.map(text);
            let (ids, documents, paths, headers) = (ids?, documents?, paths?, headers?);
            let values = restored_vectors(&batch, &all).ok_or_else(damaged)?;
            for (row, vector) in values.chunks_exact(dim).enumerate() {
                let text = ChunkText::read(&batch, row).ok_or_else(damaged)?;
                let document = about.get(documents.value(row));
                let boilerplate = document.map_or(&[][..], |document| &document.boilerplate);
                let shown = without_data_urls(&text.without(boilerplate)).into_owned();
                let title = document.and_then(|document| document.title.as_deref());
                let text = spec.context().before(headers.value(row), shown, title, paths.value(row));
                if !is_zero(vector) {
                    sampled.push(Sampled { id: ids.value(row).to_owned(), text, vector: vector.to_vec() });
                }
            }
        }
    }
    let texts: Vec<String> = sampled.iter().map(|chunk| chunk.text.clone()).collect();
    let computed = Batcher::new(embedder, None).embed(&texts, Role::Document, stop, &|_, _| ())?;
    // Rounded as those of the dataset are.
    let again: Vec<_> = Representation::sources(&all).iter().map(|of| of.store(&computed.vectors)).collect();
    let again = restore(&again, dim);
    let again = again.chunks(dim);
    let mut cosines: Vec<(f64, &str)> =
        sampled.iter().zip(again).map(|(chunk, again)| (cosine(&chunk.vector, again), chunk.id.as_str())).collect();
    cosines.sort_by(|a, b| a.0.total_cmp(&b.0));
    let median = cosines.get(cosines.len() / 2).map(|(cosine, _)| *cosine);
    Ok(cosines.first().zip(median).map(|(&(least, id), median)| Sample {
        chunks: cosines.len(),
        least,
        median,
        least_chunk: id.to_owned(),
        stored: manifest.output.embedding_type.best(),
    }))
}

/// The parts of a document that decide what is embedded of its chunks.
struct DocumentContext {
    title: Option<String>,
    boilerplate: Vec<BoilerplateRow>,
}

/// Returns them for all documents that have some, by their ids.
fn documents(dataset: &Dataset) -> Result<HashMap<String, DocumentContext>> {
    let mut found = HashMap::new();
    for file in dataset.files(Table::Documents) {
        for batch in dataset.read(file, &["doc_id", "title", "boilerplate"], None)? {
            let batch = batch?;
            let text = |name| batch.column_by_name(name)?.as_string_opt::<i32>();
            let columns =
                || Some((text("doc_id")?, text("title")?, boilerplate_rows(batch.column_by_name("boilerplate")?)?));
            let (ids, titles, boilerplate) =
                columns().ok_or_else(|| dataset.damaged(file, "does not have the columns of `documents`"))?;
            for ((id, title), boilerplate) in ids.iter().flatten().zip(titles).zip(boilerplate) {
                if title.is_some() || !boilerplate.is_empty() {
                    found.insert(id.to_owned(), DocumentContext { title: title.map(str::to_owned), boilerplate });
                }
            }
        }
    }
    Ok(found)
}

fn cosine(a: &[f32], b: &[f32]) -> f64 {
    let product = |a: &[f32], b: &[f32]| a.iter().zip(b).map(|(a, b)| f64::from(*a) * f64::from(*b)).sum::<f64>();
    product(a, b) / (product(a, a) * product(b, b)).sqrt()
}
