//! The rows that a search ranks: everything about a chunk except its text, such as its location, headings and
//! document.
//!
//! The rows are read once and kept: about 50 bytes per chunk, and once per document the data that its chunks
//! share. Texts stay on disk; [`Rows::fetch`] reads those of the requested rows.

use std::collections::HashMap;
use std::ops::Range;
use std::sync::Arc;

use arrow::array::{Array, ArrayRef, AsArray, ListArray, PrimitiveArray, RecordBatch, StringArray};
use arrow::datatypes::{Int64Type, TimestampMicrosecondType};
use chunkmill_base::error::{Error, Result};
use chunkmill_dataset::dataset::{Dataset, FileEntry, Table, Time};
use rayon::prelude::*;
use serde::Serialize;

use super::top::ScoredRow;

/// A document's row in the dataset.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct DocumentInfo {
    /// Id of the document.
    pub doc_id: String,
    /// Collection of the document.
    pub collection: String,
    /// Path below the root.
    pub path: String,
    /// Title, if it has one.
    pub title: Option<String>,
    /// Size of the file in bytes.
    pub bytes: u64,
    /// Number of lines.
    pub lines: u64,
    /// Time at which the file was last modified.
    pub modified_time: Option<Time>,
    /// Format in which it was read: markdown, text, …
    pub format: String,
    /// Number of chunks.
    pub chunk_count: u64,
    /// Tags.
    pub tags: Vec<String>,
    /// Aliases.
    pub aliases: Vec<String>,
    /// Promotion level, if it has one.
    pub promotion_level: Option<String>,
}

/// The heading path of some chunks.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub(crate) struct Headings {
    /// Heading path as one string, as the dataset writes it.
    pub(crate) header_path: String,
    /// Headings one by one, outermost first.
    pub(crate) path: Vec<String>,
}

/// A heading of a document.
#[derive(Debug)]
pub(crate) struct HeadingInside {
    /// The number of the heading above it, which comes earlier.
    pub(crate) parent: Option<u32>,
    pub(crate) title: Box<str>,
}

/// The place of a chunk that is cited by its lines.
const LINES: u32 = u32::MAX;

/// A chunk without its text.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Row {
    pub(crate) start_byte: u64,
    pub(crate) end_byte: u64,
    pub(crate) doc: u32,
    /// Position in the document, from 0.
    pub(crate) position: u32,
    pub(crate) prefix_len: u32,
    pub(crate) start_line: u32,
    pub(crate) end_line: u32,
    /// Its number among the places that are cited; [`LINES`] if it is cited by its lines.
    pub(crate) place: u32,
    pub(crate) headings: u32,
}

/// All chunks in the order of the files, and all documents in the order of their ids.
#[derive(Debug)]
pub(crate) struct Rows {
    all: Vec<Row>,
    /// First row of each file, followed by the number of rows.
    starts: Vec<usize>,
    headings: Vec<Headings>,
    /// Places in documents that are not text, as they are cited.
    places: Vec<Box<str>>,
    /// The headings that chunks contain, in the order of the chunks.
    inside: Vec<HeadingInside>,
    /// For each row, the number of headings in the rows before it; at the end, the number of all.
    inside_before: Vec<u32>,
    documents: Vec<Arc<DocumentInfo>>,
}

impl Rows {
    pub(crate) fn load(dataset: &Dataset) -> Result<Self> {
        let mut documents = Vec::new();
        for file in dataset.files(Table::Documents) {
            read_documents(dataset, file, &mut documents)?;
        }
        documents.sort_by(|a, b| a.doc_id.cmp(&b.doc_id));
        let mut read = Self {
            all: Vec::new(),
            starts: vec![0],
            headings: Vec::new(),
            places: Vec::new(),
            inside: Vec::new(),
            inside_before: vec![0],
            documents,
        };
        let mut known = HashMap::new();
        for file in dataset.files(Table::Chunks) {
            read.read_chunks(dataset, file, &mut known)?;
            if u64::try_from(read.all.len() - read.starts[read.starts.len() - 1]) != Ok(file.rows) {
                return Err(damaged(dataset, file, "its number of rows differs from that in the manifest"));
            }
            read.starts.push(read.all.len());
        }
        if u32::try_from(read.all.len()).is_err() {
            return Err(Error::Dataset {
                path: dataset.root().path().to_owned(),
                problem: format!("{} chunks are too many for one search", read.all.len()),
                help: "split the corpus into several datasets and search each one".to_owned(),
            });
        }
        Ok(read)
    }

    pub(crate) fn len(&self) -> usize {
        self.all.len()
    }

    pub(crate) fn row(&self, row: u32) -> &Row {
        self.of(row as usize)
    }

    pub(crate) fn of(&self, row: usize) -> &Row {
        &self.all[row]
    }

    pub(crate) fn iter(&self) -> impl Iterator<Item = &Row> {
        self.all.iter()
    }

    pub(crate) fn headings(&self) -> &[Headings] {
        &self.headings
    }

    pub(crate) fn headings_of(&self, row: &Row) -> &Headings {
        &self.headings[row.headings as usize]
    }

    /// Returns the headings that chunks contain, in the order of the chunks.
    pub(crate) fn inside(&self) -> &[HeadingInside] {
        &self.inside
    }

    /// Returns the numbers of the headings that a row contains.
    pub(crate) fn inside_row(&self, row: usize) -> Range<usize> {
        self.inside_before[row] as usize..self.inside_before[row + 1] as usize
    }

    pub(crate) fn documents(&self) -> &[Arc<DocumentInfo>] {
        &self.documents
    }

    pub(crate) fn document(&self, doc: u32) -> &Arc<DocumentInfo> {
        &self.documents[doc as usize]
    }

    /// Returns the number of the document with this id.
    pub(crate) fn find(&self, doc_id: &str) -> Option<u32> {
        let found = self.documents.binary_search_by(|document| document.doc_id.as_str().cmp(doc_id)).ok()?;
        u32::try_from(found).ok()
    }

    /// Returns the rows of the `index`-th file of chunks.
    pub(crate) fn of_file(&self, index: usize) -> Range<usize> {
        self.starts[index]..self.starts[index + 1]
    }

    pub(super) fn scored(&self, row: usize, score: f64) -> ScoredRow {
        let Row { doc, position, .. } = self.all[row];
        // Row numbers fit in a `u32`: `load` rejects larger datasets.
        ScoredRow {
            score,
            place: u64::from(doc) << 32 | u64::from(position),
            row: u32::try_from(row).unwrap_or(u32::MAX),
        }
    }

    /// Reads text columns of some rows, in the order of `rows`.
    pub(crate) fn fetch<const N: usize>(
        &self,
        dataset: &Dataset,
        rows: &[u32],
        columns: [&'static str; N],
    ) -> Result<Vec<[String; N]>> {
        let mut wanted: Vec<usize> = rows.iter().map(|&row| row as usize).collect();
        wanted.sort_unstable();
        wanted.dedup();
        let files: Vec<(usize, &FileEntry)> = dataset.files(Table::Chunks).enumerate().collect();
        let of_file = |&(index, file): &(usize, &FileEntry)| {
            let rows = self.of_file(index);
            let from = wanted.partition_point(|&row| row < rows.start);
            let to = wanted.partition_point(|&row| row < rows.end);
            fetch_from(dataset, file, rows.start, &wanted[from..to], columns)
        };
        let texts: Vec<Vec<(usize, [String; N])>> = files.par_iter().map(of_file).collect::<Result<_>>()?;
        let texts: HashMap<usize, [String; N]> = texts.into_iter().flatten().collect();
        let text = |row: &u32| texts.get(&(*row as usize)).cloned();
        rows.iter().map(text).collect::<Option<_>>().ok_or_else(|| Error::Dataset {
            path: dataset.root().path().to_owned(),
            problem: "has fewer rows than its manifest says".to_owned(),
            help: "the dataset is damaged: index the corpus again".to_owned(),
        })
    }

    fn read_chunks(&mut self, dataset: &Dataset, file: &FileEntry, known: &mut HashMap<Headings, u32>) -> Result<()> {
        const COLUMNS: [&str; 11] = [
            "doc_id",
            "chunk_index",
            "start_byte",
            "end_byte",
            "prefix_len",
            "start_line",
            "end_line",
            "place",
            "header_path",
            "heading_path",
            "headings",
        ];
        // The last heading and those above it, each with its level. The chunks of a document are consecutive.
        let mut above: Vec<(i64, u32)> = Vec::new();
        for batch in dataset.read(file, &COLUMNS, None)? {
            let batch = Columns { dataset, file, batch: batch? };
            let (ids, header_paths) = (batch.text("doc_id")?, batch.text("header_path")?);
            let places = batch.text("place")?;
            let [position, start_byte, end_byte, prefix_len, start_line, end_line] =
                ["chunk_index", "start_byte", "end_byte", "prefix_len", "start_line", "end_line"]
                    .map(|name| batch.ints(name));
            let (position, prefix_len, start_line, end_line) = (position?, prefix_len?, start_line?, end_line?);
            let (start_byte, end_byte) = (start_byte?, end_byte?);
            let (heading_paths, inside) = (batch.lists("heading_path")?, batch.lists("headings")?);
            let mut document: Option<(&str, u32)> = None;
            for at in 0..batch.batch.num_rows() {
                let id = ids.value(at);
                let doc = match document {
                    Some((last, doc)) if last == id => doc,
                    _ => self.find(id).ok_or_else(|| batch.damaged("a chunk belongs to a document that is missing"))?,
                };
                document = Some((id, doc));
                if self.all.last().is_none_or(|last| last.doc != doc) {
                    above.clear();
                }
                let headings = Headings {
                    header_path: header_paths.value(at).to_owned(),
                    path: texts_of(&heading_paths.value(at))
                        .ok_or_else(|| batch.damaged("`heading_path` does not contain text"))?,
                };
                let of_row =
                    headings_of(&inside.value(at)).ok_or_else(|| batch.damaged("`headings` is no list of headings"))?;
                for (level, title) in of_row {
                    self.add_heading(&batch, &mut above, level, &title, &headings.path)?;
                }
                self.inside_before.push(batch.small(self.inside.len())?);
                let headings = if let Some(&number) = known.get(&headings) {
                    number
                } else {
                    let number = batch.small(known.len())?;
                    self.headings.push(headings.clone());
                    known.insert(headings, number);
                    number
                };
                let int = |column: &PrimitiveArray<Int64Type>| batch.small(column.value(at));
                let byte = |column: &PrimitiveArray<Int64Type>| column.value(at).unsigned_abs();
                let place = if places.is_null(at) { LINES } else { self.add_place(&batch, places.value(at))? };
                self.all.push(Row {
                    start_byte: byte(&start_byte),
                    end_byte: byte(&end_byte),
                    doc,
                    position: int(&position)?,
                    prefix_len: int(&prefix_len)?,
                    start_line: int(&start_line)?,
                    end_line: int(&end_line)?,
                    place,
                    headings,
                });
            }
        }
        Ok(())
    }
}

impl Rows {
    /// Returns where a chunk is in a document that is not text, as it is cited after the path.
    pub(crate) fn cited_place(&self, row: &Row) -> Option<&str> {
        self.places.get(row.place as usize).map(|place| &**place)
    }

    /// Adds a place. Chunks in a row are often from the same.
    fn add_place(&mut self, batch: &Columns<'_>, place: &str) -> Result<u32> {
        if self.places.last().is_none_or(|last| **last != *place) {
            self.places.push(place.into());
        }
        batch.small(self.places.len() - 1)
    }

    /// Adds a heading of a chunk with the heading path `path`. `above` are the headings that it may be under.
    fn add_heading(
        &mut self,
        batch: &Columns<'_>,
        above: &mut Vec<(i64, u32)>,
        level: i64,
        title: &str,
        path: &[String],
    ) -> Result<()> {
        above.truncate(above.partition_point(|(higher, _)| *higher < level));
        let same = |above: &[(i64, u32)]| {
            above.iter().zip(path).take_while(|((_, at), title)| *self.inside[*at as usize].title == ***title).count()
        };
        let mut missing: &[String] = &[];
        if let Some((last, higher)) = path.split_last()
            && last == title
            && (above.len() != higher.len() || same(above) < above.len())
        {
            // A heading above it is in no chunk.
            let known = same(above).min(higher.len());
            above.truncate(known);
            missing = &higher[known..];
        }
        for (level, title) in
            missing.iter().map(|title| (level.saturating_sub(1), title.as_str())).chain([(level, title)])
        {
            let parent = above.last().map(|(_, parent)| *parent);
            above.push((level, batch.small(self.inside.len())?));
            self.inside.push(HeadingInside { parent, title: title.into() });
        }
        Ok(())
    }
}

/// Returns the levels and titles in a list of headings.
fn headings_of(list: &ArrayRef) -> Option<Vec<(i64, String)>> {
    let list = list.as_struct_opt()?;
    let levels = list.column_by_name("level")?.as_primitive_opt::<Int64Type>()?;
    let titles = texts_of(list.column_by_name("title")?)?;
    Some(levels.values().iter().copied().zip(titles).collect())
}

/// Reads text columns of some rows of one file, whose first row has the number `first`.
fn fetch_from<const N: usize>(
    dataset: &Dataset,
    file: &FileEntry,
    first: usize,
    rows: &[usize],
    columns: [&'static str; N],
) -> Result<Vec<(usize, [String; N])>> {
    let mut texts = Vec::with_capacity(rows.len());
    if rows.is_empty() {
        return Ok(texts);
    }
    let ranges = rows.iter().map(|row| row - first..row - first + 1).collect();
    let mut rows = rows.iter();
    for batch in dataset.read(file, &columns, Some(ranges))? {
        let batch = Columns { dataset, file, batch: batch? };
        let found: Vec<StringArray> = columns.iter().map(|name| batch.text(name)).collect::<Result<_>>()?;
        for (at, &row) in (0..batch.batch.num_rows()).zip(rows.by_ref()) {
            texts.push((row, std::array::from_fn(|column| found[column].value(at).to_owned())));
        }
    }
    Ok(texts)
}

fn read_documents(dataset: &Dataset, file: &FileEntry, documents: &mut Vec<Arc<DocumentInfo>>) -> Result<()> {
    const COLUMNS: [&str; 12] = [
        "doc_id",
        "collection",
        "path",
        "title",
        "bytes",
        "lines",
        "modified_time",
        "format",
        "chunk_count",
        "tags",
        "aliases",
        "promotion_level",
    ];
    for batch in dataset.read(file, &COLUMNS, None)? {
        let batch = Columns { dataset, file, batch: batch? };
        let [doc_id, collection, path, title, format, level] =
            ["doc_id", "collection", "path", "title", "format", "promotion_level"].map(|name| batch.text(name));
        let (doc_id, collection, path, title, format, level) = (doc_id?, collection?, path?, title?, format?, level?);
        let (bytes, lines, chunk_count) = (batch.ints("bytes")?, batch.ints("lines")?, batch.ints("chunk_count")?);
        let (tags, aliases) = (batch.lists("tags")?, batch.lists("aliases")?);
        let times = batch.column("modified_time")?;
        let times = times
            .as_primitive_opt::<TimestampMicrosecondType>()
            .ok_or_else(|| batch.damaged("`modified_time` is not a timestamp column"))?;
        for at in 0..batch.batch.num_rows() {
            let text = |column: &StringArray| column.is_valid(at).then(|| column.value(at).to_owned());
            let list = |column: &ListArray| {
                texts_of(&column.value(at)).ok_or_else(|| batch.damaged("a list does not contain text"))
            };
            documents.push(Arc::new(DocumentInfo {
                doc_id: doc_id.value(at).to_owned(),
                collection: collection.value(at).to_owned(),
                path: path.value(at).to_owned(),
                title: text(&title),
                bytes: bytes.value(at).unsigned_abs(),
                lines: lines.value(at).unsigned_abs(),
                modified_time: times.is_valid(at).then(|| Time::from_micros(times.value(at))),
                format: format.value(at).to_owned(),
                chunk_count: chunk_count.value(at).unsigned_abs(),
                tags: list(&tags)?,
                aliases: list(&aliases)?,
                promotion_level: text(&level),
            }));
        }
    }
    Ok(())
}

/// A batch of a file whose columns must have certain types.
pub(crate) struct Columns<'d> {
    pub(crate) dataset: &'d Dataset,
    pub(crate) file: &'d FileEntry,
    pub(crate) batch: RecordBatch,
}

impl Columns<'_> {
    fn column(&self, name: &str) -> Result<&ArrayRef> {
        self.batch.column_by_name(name).ok_or_else(|| self.damaged(&format!("there is no column `{name}`")))
    }

    pub(crate) fn text(&self, name: &str) -> Result<StringArray> {
        let column = self.column(name)?.as_string_opt::<i32>().cloned();
        column.ok_or_else(|| self.damaged(&format!("`{name}` is not a text column")))
    }

    pub(crate) fn ints(&self, name: &str) -> Result<PrimitiveArray<Int64Type>> {
        let column = self.column(name)?.as_primitive_opt::<Int64Type>().cloned();
        column.ok_or_else(|| self.damaged(&format!("`{name}` is not an integer column")))
    }

    pub(crate) fn lists(&self, name: &str) -> Result<ListArray> {
        let column = self.column(name)?.as_list_opt::<i32>().cloned();
        column.ok_or_else(|| self.damaged(&format!("`{name}` is not a list column")))
    }

    fn small(&self, number: impl TryInto<u32>) -> Result<u32> {
        number.try_into().map_err(|_| self.damaged("a position is out of range"))
    }

    pub(crate) fn damaged(&self, problem: &str) -> Error {
        damaged(self.dataset, self.file, problem)
    }
}

/// Returns the elements of a list of texts.
pub(crate) fn texts_of(list: &ArrayRef) -> Option<Vec<String>> {
    Some(list.as_string_opt::<i32>()?.iter().flatten().map(str::to_owned).collect())
}

pub(crate) fn damaged(dataset: &Dataset, file: &FileEntry, problem: &str) -> Error {
    Error::Dataset {
        path: dataset.root().join(&file.path),
        problem: problem.to_owned(),
        help: "the dataset is damaged: index the corpus again".to_owned(),
    }
}
