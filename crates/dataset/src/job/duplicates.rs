//! From the signatures of all documents to the table of duplicates.
//!
//! Whether a document is a duplicate depends on all others, so the table is written when all parts are there, like that of
//! links. Signatures are in the table of documents, also in parts that were reused. The words of documents that may be
//! alike are read from their chunks.

use std::collections::BTreeMap;
use std::ops::Range;
use std::sync::atomic::{AtomicBool, Ordering};

use arrow::array::{Array, AsArray, RecordBatch};
use arrow::datatypes::{Int64Type, UInt32Type};
use chunkmill_base::error::{Error, Result};
use chunkmill_text::document::Document;
use chunkmill_text::similarity::{SIGNATURE, Shingles, Signature};
use rayon::prelude::*;

use crate::dataset::{self, Counts, Dataset, DuplicateRow, FORMAT_VERSION, FileEntry, Manifest, Part, Staging, Table};
use crate::duplicates::{self, NEAR, ShortSignature, Sketch};

/// Where the chunks of a document are.
struct ChunkPlace {
    part: usize,
    rows: Range<usize>,
}

/// The files of a part that are read.
struct Files {
    documents: FileEntry,
    chunks: FileEntry,
}

/// Finds the duplicates among the documents of all parts, writes one file of duplicates per part, and adds them to
/// `counts`. Unless the run is fresh, those of the earlier snapshot are kept if it has the same documents.
pub(super) fn write(
    staging: &Staging,
    manifest: &Manifest,
    parts: &[Part],
    counts: &mut Counts,
    fresh: bool,
    stop: &AtomicBool,
) -> Result<Vec<FileEntry>> {
    let known = if fresh { None } else { known(staging, parts) };
    if let Some((files, duplicates)) = known {
        counts.duplicates = duplicates;
        return Ok(files);
    }
    let snapshot = Dataset::uncommitted(staging.root().clone(), manifest.clone());
    let files = parts.iter().filter_map(|part| {
        let [documents, chunks] = [Table::Documents, Table::Chunks].map(|table| part.of(table).next().cloned());
        Some(Files { documents: documents?, chunks: chunks? })
    });
    let files: Vec<Files> = files.collect();
    let read = |(part, of): (usize, &Files)| documents(staging, &snapshot, part, &of.documents);
    let found: Vec<Vec<(Sketch, ChunkPlace)>> = files.par_iter().enumerate().map(read).collect::<Result<_>>()?;
    let mut all: Vec<(Sketch, ChunkPlace)> = found.into_iter().flatten().collect();
    all.par_sort_unstable_by(|(a, _), (b, _)| a.doc_id.cmp(&b.doc_id));
    let (sketches, places): (Vec<Sketch>, Vec<ChunkPlace>) = all.into_iter().unzip();
    let found = duplicates::find(&sketches, NEAR, |wanted| {
        if stop.load(Ordering::Relaxed) {
            return Err(Error::Interrupted);
        }
        words(staging, &snapshot, &files, &places, wanted)
    })?;
    let mut rows: Vec<Vec<DuplicateRow>> = parts.iter().map(|_| Vec::new()).collect();
    for ((sketch, place), duplicate) in sketches.iter().zip(&places).zip(found) {
        let Some(duplicate) = duplicate else { continue };
        counts.duplicates += 1;
        rows[place.part].push(DuplicateRow {
            doc_id: sketch.doc_id.clone(),
            duplicate_of: sketches[duplicate.of].doc_id.clone(),
            jaccard: duplicate.jaccard,
            containment: duplicate.containment,
        });
    }
    let write = |(index, rows): (usize, &Vec<DuplicateRow>)| {
        dataset::write_duplicates(staging.workspace(), manifest, index, rows)
    };
    rows.iter().enumerate().map(write).collect()
}

/// Returns the files of the snapshot that is replaced, and how many duplicates they have, if it has the same documents and
/// chunks, and its files are intact.
fn known(staging: &Staging, parts: &[Part]) -> Option<(Vec<FileEntry>, u64)> {
    let earlier = Dataset::find(staging.root()).ok()??;
    let is_same_table = |table| {
        let now = parts.iter().flat_map(|part| part.of(table));
        now.map(|file| &file.path).eq(earlier.files(table).map(|file| &file.path))
    };
    let versions = (earlier.manifest().format_version, earlier.manifest().tool_version.as_str());
    let is_same = versions == (FORMAT_VERSION, env!("CARGO_PKG_VERSION"))
        && [Table::Documents, Table::Chunks].into_iter().all(is_same_table);
    let files: Vec<FileEntry> = earlier.files(Table::Duplicates).filter(|_| is_same).cloned().collect();
    let is_intact = |file: &FileEntry| {
        let bytes = staging.root().read(&file.path);
        bytes.is_ok_and(|bytes| blake3::hash(&bytes).to_hex().as_str() == file.blake3)
    };
    let is_whole = files.len() == parts.len() && files.iter().all(is_intact);
    is_whole.then(|| (files, earlier.manifest().counts.duplicates))
}

/// Reads what is compared of the documents of a part.
fn documents(
    staging: &Staging,
    snapshot: &Dataset,
    part: usize,
    file: &FileEntry,
) -> Result<Vec<(Sketch, ChunkPlace)>> {
    let mut found = Vec::new();
    let mut next = 0;
    let columns = ["doc_id", "content_hash", "bytes", "chunk_count", "signature"];
    for batch in snapshot.read_at(&staging.locate(file), file, &columns, None)? {
        let batch = batch?;
        let read = || {
            let text = |name: &str| batch.column_by_name(name)?.as_string_opt::<i32>();
            let int = |name: &str| batch.column_by_name(name)?.as_primitive_opt::<Int64Type>();
            let signatures = batch.column_by_name("signature")?.as_fixed_size_list_opt()?;
            let values = signatures.values().as_primitive_opt::<UInt32Type>()?.values();
            Some((text("doc_id")?, text("content_hash")?, int("bytes")?, int("chunk_count")?, signatures, values))
        };
        let Some((ids, hashes, bytes, chunks, signatures, values)) = read() else {
            return Err(snapshot.damaged(file, "does not have the columns of `documents`"));
        };
        for row in 0..batch.num_rows() {
            let signature = || {
                let signature = values.get(row * SIGNATURE..)?.first_chunk().copied().map(Signature)?;
                Some(Box::new(ShortSignature::new(&signature)))
            };
            let sketch = Sketch {
                doc_id: ids.value(row).to_owned(),
                content: duplicates::short(hashes.value(row)),
                signature: if signatures.is_valid(row) { signature() } else { None },
                bytes: bytes.value(row).unsigned_abs(),
            };
            let count = usize::try_from(chunks.value(row)).unwrap_or_default();
            found.push((sketch, ChunkPlace { part, rows: next..next + count }));
            next += count;
        }
    }
    Ok(found)
}

/// Reads the words of documents from their chunks.
fn words(
    staging: &Staging,
    snapshot: &Dataset,
    files: &[Files],
    places: &[ChunkPlace],
    wanted: &[usize],
) -> Result<Vec<Shingles>> {
    let mut of_part: BTreeMap<usize, Vec<usize>> = BTreeMap::new();
    for &document in wanted {
        of_part.entry(places[document].part).or_default().push(document);
    }
    let read = |(part, mut documents): (usize, Vec<usize>)| {
        documents.sort_unstable_by_key(|&document| places[document].rows.start);
        let file = &files[part].chunks;
        let rows = documents.iter().map(|&document| places[document].rows.clone()).collect();
        let mut texts = documents.iter().map(|&document| (document, places[document].rows.len()));
        let mut found = Vec::with_capacity(documents.len());
        let mut open: Option<(usize, usize)> = None;
        let mut joined = JoinedText::default();
        for batch in snapshot.read_at(&staging.locate(file), file, &OwnText::COLUMNS, Some(rows))? {
            let batch = batch?;
            for row in 0..batch.num_rows() {
                let own = OwnText::read(&batch, row)
                    .ok_or_else(|| snapshot.damaged(file, "has text that does not fit its range"))?;
                let (document, left) = open.take().unwrap_or_else(|| {
                    joined = JoinedText::default();
                    texts.find(|(_, chunks)| *chunks > 0).unwrap_or_default()
                });
                joined.push(&own);
                match left {
                    0 | 1 => found.push((document, Shingles::of(&joined.text))),
                    left => open = Some((document, left - 1)),
                }
            }
        }
        Ok(found)
    };
    let found: Vec<Vec<(usize, Shingles)>> = of_part.into_par_iter().map(read).collect::<Result<_>>()?;
    let mut found: BTreeMap<usize, Shingles> = found.into_iter().flatten().collect();
    Ok(wanted.iter().map(|document| found.remove(document).unwrap_or_default()).collect())
}

/// The text of a chunk that is the document's own, and where it is.
pub(super) struct OwnText<'b> {
    range: Range<usize>,
    /// Its first and its last line.
    lines: (usize, usize),
    text: &'b str,
}

impl<'b> OwnText<'b> {
    /// The columns of `chunks` that it is read from.
    pub(super) const COLUMNS: [&'static str; 6] =
        ["content", "prefix_len", "start_byte", "end_byte", "start_line", "end_line"];

    /// Returns the text of a row of `chunks`; `None` if it does not fit its range.
    pub(super) fn read(batch: &'b RecordBatch, row: usize) -> Option<Self> {
        let int = |name: &str| {
            let column = batch.column_by_name(name)?.as_primitive_opt::<Int64Type>()?;
            usize::try_from(column.value(row)).ok()
        };
        let (start, end, prefix) = (int("start_byte")?, int("end_byte")?, int("prefix_len")?);
        let content = batch.column_by_name("content")?.as_string_opt::<i32>()?.value(row);
        let text = content.get(prefix..prefix.checked_add(end.checked_sub(start)?)?)?;
        Some(Self { range: start..end, lines: (int("start_line")?, int("end_line")?), text })
    }

    /// Returns the text of a part of a document.
    pub(super) fn of(document: &'b Document, range: Range<usize>) -> Self {
        Self { lines: document.positions.lines_of(&range), text: &document.text[range.clone()], range }
    }
}

/// The text of a document, put together from its chunks.
#[derive(Default)]
pub(super) struct JoinedText {
    pub(super) text: String,
    end: usize,
    last_line: usize,
}

impl JoinedText {
    /// Adds the text of the next chunk, and returns where it starts. Chunks that do not touch stay apart, with a blank line
    /// between them if there is a line between them.
    pub(super) fn push(&mut self, own: &OwnText<'_>) -> usize {
        let (first_line, last_line) = own.lines;
        if !self.text.is_empty() && own.range.start != self.end {
            let is_next_line = (self.last_line..=self.last_line + 1).contains(&first_line);
            self.text.push_str(if is_next_line { "\n" } else { "\n\n" });
        }
        let start = self.text.len();
        self.text.push_str(own.text);
        (self.end, self.last_line) = (own.range.end, last_line);
        start
    }
}
