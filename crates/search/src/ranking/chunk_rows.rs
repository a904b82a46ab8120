//! Reads the rows of all chunks, without their texts, from a dataset into tables that a search can use as they are.

use std::collections::HashMap;
use std::sync::Arc;

use arrow::array::{Array, ArrayRef, AsArray, LargeListBuilder, LargeStringArray, LargeStringBuilder, PrimitiveArray};
use arrow::array::{UInt32Array, UInt64Array};
use arrow::datatypes::Int64Type;
use arrow::error::ArrowError;
use chunkmill_base::error::{Error, Result};
use chunkmill_dataset::dataset::{Dataset, FileEntry, Table};

use super::batch::{Columns, damaged, texts_of};
use super::cache::{Sections, table_of};
use super::document::{self, DocumentInfo};

/// Names of the tables.
pub(super) const DOCUMENTS: &str = "documents";
pub(super) const ROWS: &str = "rows";
pub(super) const HEADINGS: &str = "headings";
pub(super) const PLACES: &str = "places";
pub(super) const INSIDE: &str = "inside";

/// No number of a place or a heading.
pub(super) const NONE: u32 = u32::MAX;

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
    /// Its number among the places that are cited; [`NONE`] if it is cited by its lines.
    pub(crate) place: u32,
    pub(crate) headings: u32,
    /// The number of headings in the rows before it and in it.
    pub(crate) inside: u32,
}

/// The heading path of some chunks: as one string, as the dataset writes it, and the headings one by one, outermost first.
type HeadingPath = (String, Vec<String>);

/// A heading of a document: the number of the heading above it, which comes earlier, and its title.
struct HeadingInside {
    parent: u32,
    title: Box<str>,
}

/// The chunks that have been read.
#[derive(Default)]
struct Chunks {
    rows: Vec<Row>,
    headings: Vec<HeadingPath>,
    numbers: HashMap<HeadingPath, u32>,
    places: Vec<Box<str>>,
    inside: Vec<HeadingInside>,
}

/// Reads everything about chunks and documents except the texts.
///
/// # Errors
/// [`Error::Dataset`] if a file is damaged or missing.
pub(super) fn read(dataset: &Dataset) -> Result<Sections> {
    let (mut batches, mut documents) = (Vec::new(), Vec::new());
    for file in dataset.files(Table::Documents) {
        for batch in dataset.read(file, &document::COLUMNS, None)? {
            let batch = Columns::of_file(dataset, file, batch?);
            documents.extend(DocumentInfo::all(&batch)?);
            batches.push(batch.batch);
        }
    }
    documents.sort_by(|a, b| a.doc_id.cmp(&b.doc_id));
    let mut chunks = Chunks::default();
    for file in dataset.files(Table::Chunks) {
        let before = chunks.rows.len();
        chunks.read(dataset, file, &documents)?;
        if u64::try_from(chunks.rows.len() - before) != Ok(file.rows) {
            return Err(damaged(dataset, file, "its number of rows differs from that in the manifest"));
        }
    }
    if u32::try_from(chunks.rows.len()).is_err() {
        return Err(Error::Dataset {
            path: dataset.root().path().to_owned(),
            problem: format!("{} chunks are too many for one search", chunks.rows.len()),
            help: "split the corpus into several datasets and search each one".to_owned(),
        });
    }
    let mut sections = Sections::default();
    let inserted = sections.insert_table(DOCUMENTS, &batches).and_then(|()| chunks.insert(&mut sections));
    inserted.map_err(|error| damaged(dataset, None, &error.to_string()))?;
    Ok(sections)
}

/// Returns the number of the document with this id among documents in the order of their ids.
pub(super) fn find(documents: &[Arc<DocumentInfo>], doc_id: &str) -> Option<u32> {
    let found = documents.binary_search_by(|document| document.doc_id.as_str().cmp(doc_id)).ok()?;
    u32::try_from(found).ok()
}

impl Chunks {
    fn read(&mut self, dataset: &Dataset, file: &FileEntry, documents: &[Arc<DocumentInfo>]) -> Result<()> {
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
            let batch = Columns::of_file(dataset, file, batch?);
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
                    _ => find(documents, id)
                        .ok_or_else(|| batch.damaged("a chunk belongs to a document that is missing"))?,
                };
                document = Some((id, doc));
                if self.rows.last().is_none_or(|last| last.doc != doc) {
                    above.clear();
                }
                let path = texts_of(&heading_paths.value(at))
                    .ok_or_else(|| batch.damaged("`heading_path` does not contain text"))?;
                let of_row =
                    headings_of(&inside.value(at)).ok_or_else(|| batch.damaged("`headings` is no list of headings"))?;
                for (level, title) in of_row {
                    self.add_heading(&batch, &mut above, level, &title, &path)?;
                }
                let int = |column: &PrimitiveArray<Int64Type>| batch.small(column.value(at));
                let byte = |column: &PrimitiveArray<Int64Type>| column.value(at).unsigned_abs();
                let row = Row {
                    start_byte: byte(&start_byte),
                    end_byte: byte(&end_byte),
                    doc,
                    position: int(&position)?,
                    prefix_len: int(&prefix_len)?,
                    start_line: int(&start_line)?,
                    end_line: int(&end_line)?,
                    place: if places.is_null(at) { NONE } else { self.add_place(&batch, places.value(at))? },
                    headings: self.add_path(&batch, (header_paths.value(at).to_owned(), path))?,
                    inside: batch.small(self.inside.len())?,
                };
                self.rows.push(row);
            }
        }
        Ok(())
    }

    fn add_path(&mut self, batch: &Columns<'_>, path: HeadingPath) -> Result<u32> {
        if let Some(&number) = self.numbers.get(&path) {
            return Ok(number);
        }
        let number = batch.small(self.headings.len())?;
        self.headings.push(path.clone());
        self.numbers.insert(path, number);
        Ok(number)
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
            let parent = above.last().map_or(NONE, |(_, parent)| *parent);
            above.push((level, batch.small(self.inside.len())?));
            self.inside.push(HeadingInside { parent, title: title.into() });
        }
        Ok(())
    }

    /// Adds the tables of the chunks.
    fn insert(self, sections: &mut Sections) -> Result<(), ArrowError> {
        drop(self.numbers);
        let bytes = |of: fn(&Row) -> u64| Arc::new(self.rows.iter().map(of).collect::<UInt64Array>()) as ArrayRef;
        let small = |of: fn(&Row) -> u32| Arc::new(self.rows.iter().map(of).collect::<UInt32Array>()) as ArrayRef;
        let rows = table_of([
            ("start_byte", bytes(|row| row.start_byte)),
            ("end_byte", bytes(|row| row.end_byte)),
            ("doc", small(|row| row.doc)),
            ("position", small(|row| row.position)),
            ("prefix_len", small(|row| row.prefix_len)),
            ("start_line", small(|row| row.start_line)),
            ("end_line", small(|row| row.end_line)),
            ("place", small(|row| row.place)),
            ("headings", small(|row| row.headings)),
            ("inside", small(|row| row.inside)),
        ])?;
        sections.insert_table(ROWS, &[rows])?;
        let mut paths = LargeListBuilder::new(LargeStringBuilder::new());
        self.headings.iter().for_each(|(_, path)| paths.append_value(path.iter().map(Some)));
        let whole = LargeStringArray::from_iter_values(self.headings.iter().map(|(whole, _)| whole));
        let headings = table_of([("header_path", Arc::new(whole)), ("heading_path", Arc::new(paths.finish()))])?;
        sections.insert_table(HEADINGS, &[headings])?;
        let places = LargeStringArray::from_iter_values(&self.places);
        sections.insert_table(PLACES, &[table_of([("place", Arc::new(places))])?])?;
        let parents: UInt32Array = self.inside.iter().map(|heading| heading.parent).collect();
        let titles = LargeStringArray::from_iter_values(self.inside.iter().map(|heading| &heading.title));
        let inside = table_of([("parent", Arc::new(parents)), ("title", Arc::new(titles))])?;
        sections.insert_table(INSIDE, &[inside])
    }
}

/// Returns the levels and titles in a list of headings.
fn headings_of(list: &ArrayRef) -> Option<Vec<(i64, String)>> {
    let list = list.as_struct_opt()?;
    let levels = list.column_by_name("level")?.as_primitive_opt::<Int64Type>()?;
    let titles = texts_of(list.column_by_name("title")?)?;
    Some(levels.values().iter().copied().zip(titles).collect())
}
