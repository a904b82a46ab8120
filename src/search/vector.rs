//! Exact vector search: the dot product with every vector, no index, no approximation.

use std::cmp::Ordering;
use std::ops::Range;

use arrow::array::{AsArray, RecordBatch};
use arrow::datatypes::{Float32Type, Int64Type};
use rayon::prelude::*;
use serde::Serialize;

use crate::error::{Error, Result};
use crate::store::{Dataset, FileEntry, Table, vectors};

/// A chunk that was found.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Hit {
    /// Position among the hits, from 1.
    pub rank: usize,
    /// Dot product of the vectors: the cosine, if the model normalises.
    pub score: f32,
    /// Document it is in.
    pub doc_id: String,
    /// Its id.
    pub chunk_id: String,
    /// Path of the document below its root.
    pub path: String,
    /// Where it starts in the document.
    pub start_byte: i64,
    /// Where it ends in the document.
    pub end_byte: i64,
    /// Its first line, from 1.
    pub start_line: i64,
    /// Its last line.
    pub end_line: i64,
    /// The headings it stands under.
    pub header_path: String,
    /// Its text.
    pub content: String,
    #[serde(skip)]
    chunk_index: i64,
}

/// The `k` chunks whose vectors are nearest to `query`, best first; equal scores stand in order of
/// document and position. Reads every vector once, in parallel over files.
///
/// # Errors
/// [`Error::Dataset`] if a file is damaged or the query has another dimension than the dataset.
pub fn search(dataset: &Dataset, query: &[f32], k: usize) -> Result<Vec<Hit>> {
    let dim = dataset.manifest().model.dim;
    if query.len() != dim {
        return Err(Error::Setting {
            origin: "model".to_owned(),
            problem: format!("its vectors have {} dimensions, those of the dataset {dim}", query.len()),
            help: format!("search with the model of the dataset, {}", dataset.manifest().model.id),
        });
    }
    let files: Vec<&FileEntry> = dataset.files(Table::Chunks).collect();
    let scores: Vec<Vec<f32>> = files.par_iter().map(|file| scores(dataset, file, query)).collect::<Result<_>>()?;
    let Some(least) = kth_best(scores.iter().flatten().copied().collect(), k) else { return Ok(Vec::new()) };
    let mut hits = Vec::new();
    for (file, scores) in files.iter().zip(&scores) {
        let rows: Vec<usize> = (0..scores.len()).filter(|&row| scores[row].total_cmp(&least).is_ge()).collect();
        if !rows.is_empty() {
            hits.extend(fetch(dataset, file, &rows, scores)?);
        }
    }
    hits.sort_by(|a, b| {
        let position = || a.doc_id.cmp(&b.doc_id).then(a.chunk_index.cmp(&b.chunk_index));
        b.score.total_cmp(&a.score).then_with(position)
    });
    hits.truncate(k);
    for (index, hit) in hits.iter_mut().enumerate() {
        hit.rank = index + 1;
    }
    Ok(hits)
}

/// The k-th best score, or the worst if there are fewer.
fn kth_best(mut scores: Vec<f32>, k: usize) -> Option<f32> {
    let last = k.min(scores.len()).checked_sub(1)?;
    let best_first = |a: &f32, b: &f32| -> Ordering { b.total_cmp(a) };
    Some(*scores.select_nth_unstable_by(last, best_first).1)
}

fn scores(dataset: &Dataset, file: &FileEntry, query: &[f32]) -> Result<Vec<f32>> {
    let mut scores = Vec::with_capacity(usize::try_from(file.rows).unwrap_or_default());
    for batch in dataset.read(file, &["embedding"], None)? {
        let batch = batch?;
        let vectors = vectors(batch.column(0), query.len())
            .ok_or_else(|| damaged(file, "its embedding column has an unknown type"))?;
        let values = vectors.as_primitive::<Float32Type>().values();
        scores.extend(values.chunks_exact(query.len()).map(|vector| dot(vector, query)));
    }
    Ok(scores)
}

/// Dot product, summed in eight lanes so that it can be vectorised; the order of additions is
/// fixed, so the score of a pair is the same everywhere.
fn dot(a: &[f32], b: &[f32]) -> f32 {
    let mut lanes = [0.0f32; 8];
    let (a8, a_rest) = a.as_chunks::<8>();
    let (b8, b_rest) = b.as_chunks::<8>();
    for (x, y) in a8.iter().zip(b8) {
        for lane in 0..8 {
            lanes[lane] += x[lane] * y[lane];
        }
    }
    let rest: f32 = a_rest.iter().zip(b_rest).map(|(x, y)| x * y).sum();
    lanes.iter().sum::<f32>() + rest
}

fn fetch(dataset: &Dataset, file: &FileEntry, rows: &[usize], scores: &[f32]) -> Result<Vec<Hit>> {
    const COLUMNS: [&str; 10] = [
        "doc_id",
        "chunk_id",
        "path",
        "start_byte",
        "end_byte",
        "start_line",
        "end_line",
        "header_path",
        "content",
        "chunk_index",
    ];
    let ranges: Vec<Range<usize>> = rows.iter().map(|&row| row..row + 1).collect();
    let mut hits = Vec::with_capacity(rows.len());
    let mut scores = rows.iter().map(|&row| scores[row]);
    for batch in dataset.read(file, &COLUMNS, Some(ranges))? {
        let batch = batch?;
        for row in 0..batch.num_rows() {
            let hit = hit(&batch, row, scores.next().unwrap_or_default());
            hits.push(hit.ok_or_else(|| damaged(file, "a column is missing or has another type"))?);
        }
    }
    Ok(hits)
}

fn hit(batch: &RecordBatch, row: usize, score: f32) -> Option<Hit> {
    let text = |name: &str| Some(batch.column_by_name(name)?.as_string_opt::<i32>()?.value(row).to_owned());
    let int = |name: &str| Some(batch.column_by_name(name)?.as_primitive_opt::<Int64Type>()?.value(row));
    Some(Hit {
        rank: 0,
        score,
        doc_id: text("doc_id")?,
        chunk_id: text("chunk_id")?,
        path: text("path")?,
        start_byte: int("start_byte")?,
        end_byte: int("end_byte")?,
        start_line: int("start_line")?,
        end_line: int("end_line")?,
        header_path: text("header_path")?,
        content: text("content")?,
        chunk_index: int("chunk_index")?,
    })
}

fn damaged(file: &FileEntry, problem: &str) -> Error {
    Error::Dataset {
        path: file.path.clone().into(),
        problem: problem.to_owned(),
        help: "the dataset is damaged: index the corpus again with --fresh".to_owned(),
    }
}
