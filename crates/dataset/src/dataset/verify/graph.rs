//! Whether outlines match the documents, and whether edges lead from and to existing chunks and documents.

use std::cmp::Ordering;
use std::str::FromStr;

use arrow::array::{Array, AsArray, RecordBatch, StringArray};
use arrow::datatypes::Float64Type;
use chunkmill_base::value::count;
use chunkmill_text::document::LinkKind;

use super::super::{Counts, DuplicateRow, EdgeRow, FileEntry, OutlineRow, file_of, read_outlines};
use super::report::{Check, Findings};
use super::rows::{ChunkKey, Fact, chunk_key, hash};
use crate::duplicates::NEAR;
use crate::storage::Location;

/// Counts of a part's outlines.
#[derive(Debug, Default, Clone, Copy)]
pub(super) struct OutlineCounts {
    pub(super) quarantined: u64,
    /// Number of links, each of which becomes an edge.
    pub(super) links: u64,
}

/// Checks the outlines of a part, against the facts of its documents if those could be read.
pub(super) fn outlines(
    root: &Location,
    file: &FileEntry,
    facts: Option<&[Fact]>,
    findings: &mut Findings,
) -> Option<OutlineCounts> {
    let mut outlined = OutlineCounts::default();
    let (mut documents, mut rows) = (0, 0);
    let mut damaged = |problem: String| findings.add(Check::Outline, &file.path, problem);
    let lines =
        read_outlines(root.storage(), root.join(&file.path)).map_err(|error| damaged(error.to_string())).ok()?;
    for line in lines {
        rows += 1;
        match line.map_err(|error| damaged(format!("line {rows}: {error}"))).ok()? {
            OutlineRow::Quarantined(_) => outlined.quarantined += 1,
            OutlineRow::Document(document) => {
                documents += 1;
                let id = hash(document.doc_id());
                if facts.is_some_and(|facts| facts.binary_search_by_key(&id, |fact| fact.id).is_err()) {
                    damaged(format!("line {rows}: `{}` is not in the table documents", document.doc_id()));
                }
                outlined.links += document.into_links().count() as u64;
            }
        }
    }
    if rows != file.rows {
        damaged(format!("has {}; the manifest says {}", count(rows, "line"), file.rows));
    }
    if let Some(facts) = facts.filter(|facts| facts.len() != documents) {
        let described = count(documents, "document");
        damaged(format!("describes {described}; the table documents has {} in this part", facts.len()));
    }
    Some(outlined)
}

/// Every id in the dataset, hashed and sorted.
#[derive(Debug, Default)]
pub(super) struct Ids {
    pub(super) chunks: Vec<ChunkKey>,
    pub(super) documents: Vec<u128>,
    /// Whether the chunks and documents of each part could be read.
    pub(super) read: Vec<bool>,
}

impl Ids {
    /// Returns whether a document exists. If its part could not be read, it is assumed to exist.
    fn has_document(&self, doc_id: &str) -> bool {
        !self.knows(doc_id) || self.documents.binary_search(&hash(doc_id)).is_ok()
    }

    fn has_chunk(&self, chunk_id: &str, doc_id: &str) -> bool {
        !self.knows(doc_id) || self.chunks.binary_search(&chunk_key(chunk_id, doc_id)).is_ok()
    }

    fn knows(&self, doc_id: &str) -> bool {
        self.read.get(file_of(doc_id, self.read.len())) == Some(&true)
    }
}

/// Checks and counts the edges of a part; `None` if they could not all be read.
pub(super) fn edges(
    file: &FileEntry,
    part: usize,
    batches: impl Iterator<Item = Result<RecordBatch, String>>,
    ids: &Ids,
    findings: &mut Findings,
) -> Option<Counts> {
    let mut counts = Counts::default();
    let mut number = 0;
    let mut before: Option<String> = None;
    for batch in batches {
        let batch = batch.map_err(|problem| findings.add(Check::Footer, &file.path, problem)).ok()?;
        let text = |name: &str| -> Option<&StringArray> { batch.column_by_name(name)?.as_string_opt() };
        let [from_chunks, from_docs, to_docs, to_chunks, kinds, targets] = [
            text("from_chunk")?,
            text("from_doc")?,
            text("to_doc")?,
            text("to_chunk")?,
            text("kind")?,
            text("target")?,
        ];
        let resolved = batch.column_by_name("resolved")?.as_boolean_opt()?;
        for row in 0..batch.num_rows() {
            number += 1;
            let optional = |column: &StringArray| column.is_valid(row).then(|| column.value(row).to_owned());
            let target = targets.value(row);
            let mut wrong = |check, problem: &str| {
                findings.add(check, &file.path, format!("row {number}, link to `{target}`: {problem}"));
            };
            let kind = LinkKind::from_str(kinds.value(row)).map_err(|problem| wrong(Check::Edge, &problem));
            let edge = EdgeRow {
                from_chunk: from_chunks.value(row).to_owned(),
                from_doc: from_docs.value(row).to_owned(),
                to_doc: optional(to_docs),
                to_chunk: optional(to_chunks),
                kind: kind.unwrap_or(LinkKind::Link),
                target: target.to_owned(),
                resolved: resolved.value(row),
            };
            counts.add_edge(&edge);
            if file_of(&edge.from_doc, ids.read.len()) != part {
                wrong(Check::Order, &format!("`{}` belongs in another file", edge.from_doc));
            }
            if before.as_deref().map(|before| before.cmp(&edge.from_doc)) == Some(Ordering::Greater) {
                wrong(Check::Order, "comes after rows that it should precede");
            }
            for problem in contradictions(&edge, ids) {
                wrong(Check::Edge, &problem);
            }
            before = Some(edge.from_doc);
        }
    }
    Some(counts)
}

/// Checks the duplicates of a part and returns them; `None` if they could not all be read.
pub(super) fn duplicates(
    file: &FileEntry,
    part: usize,
    batches: impl Iterator<Item = Result<RecordBatch, String>>,
    ids: &Ids,
    findings: &mut Findings,
) -> Option<Vec<DuplicateRow>> {
    let mut rows: Vec<DuplicateRow> = Vec::new();
    for batch in batches {
        let batch = batch.map_err(|problem| findings.add(Check::Footer, &file.path, problem)).ok()?;
        let text = |name: &str| -> Option<&StringArray> { batch.column_by_name(name)?.as_string_opt() };
        let share = |name: &str| batch.column_by_name(name)?.as_primitive_opt::<Float64Type>();
        let (documents, originals) = (text("doc_id")?, text("duplicate_of")?);
        let (jaccard, containment) = (share("jaccard")?, share("containment")?);
        for row in 0..batch.num_rows() {
            let [doc_id, duplicate_of] = [documents, originals].map(|column| column.value(row).to_owned());
            let found =
                DuplicateRow { doc_id, duplicate_of, jaccard: jaccard.value(row), containment: containment.value(row) };
            let DuplicateRow { doc_id, duplicate_of, .. } = &found;
            let number = rows.len() + 1;
            let mut wrong = |check, problem: &str| {
                findings.add(check, &file.path, format!("row {number}, duplicate `{doc_id}`: {problem}"));
            };
            if file_of(doc_id, ids.read.len()) != part {
                wrong(Check::Order, "belongs in another file");
            }
            if rows.last().is_some_and(|before| before.doc_id >= *doc_id) {
                wrong(Check::Order, "comes after a row that it should precede");
            }
            for id in [doc_id, duplicate_of].into_iter().filter(|id| !ids.has_document(id)) {
                wrong(Check::Duplicate, &format!("`{id}` is not in the table documents"));
            }
            if duplicate_of >= doc_id {
                wrong(Check::Duplicate, &format!("`{duplicate_of}` does not come before it"));
            }
            if !(NEAR..=1.0).contains(&found.jaccard) || !(found.jaccard..=1.0).contains(&found.containment) {
                wrong(Check::Duplicate, "has shares that cannot be");
            }
            rows.push(found);
        }
    }
    Some(rows)
}

/// Returns the problems of an edge that leads from or to something missing, or contradicts itself.
fn contradictions(edge: &EdgeRow, ids: &Ids) -> Vec<String> {
    let EdgeRow { from_chunk, from_doc, to_doc, to_chunk, resolved, .. } = edge;
    let mut problems = Vec::new();
    if !ids.has_document(from_doc) {
        problems.push(format!("from_doc `{from_doc}` is not in the table documents"));
    } else if !ids.has_chunk(from_chunk, from_doc) {
        problems.push(format!("from_chunk `{from_chunk}` is not a chunk of `{from_doc}`"));
    }
    match (to_doc, to_chunk) {
        (None, Some(to_chunk)) => problems.push(format!("to_chunk `{to_chunk}` has no to_doc")),
        (None, None) if *resolved => problems.push("is resolved but leads to no document".to_owned()),
        (Some(to_doc), _) if !ids.has_document(to_doc) => {
            problems.push(format!("to_doc `{to_doc}` is not in the table documents"));
        }
        (Some(to_doc), Some(to_chunk)) if !ids.has_chunk(to_chunk, to_doc) => {
            problems.push(format!("to_chunk `{to_chunk}` is not a chunk of `{to_doc}`"));
        }
        _ => {}
    }
    if to_chunk.is_some() && !resolved {
        problems.push("leads to a chunk but is not resolved".to_owned());
    }
    problems
}
