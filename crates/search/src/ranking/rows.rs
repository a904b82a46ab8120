//! The rows that a search ranks: everything about a chunk except its text, such as its location, headings and
//! document.
//!
//! They are tables, which are used where they lie in the cached file: about 50 bytes per chunk. The data that the chunks of a
//! document share is in memory, once per document. Texts stay in the dataset; [`Rows::fetch`] reads those of the requested rows.

use std::collections::HashMap;
use std::ops::Range;
use std::sync::Arc;

use arrow::array::{Array, LargeListArray, LargeStringArray, PrimitiveArray, StringArray};
use arrow::buffer::ScalarBuffer;
use arrow::datatypes::{ArrowPrimitiveType, UInt32Type, UInt64Type};
use arrow::record_batch::RecordBatch;
use chunkmill_base::error::{Error, Result};
use chunkmill_dataset::dataset::{Dataset, FileEntry, Table};
use rayon::prelude::*;

use super::batch::{Columns, damaged};
use super::cache::{Cache, Sections, column};
use super::chunk_rows::{self, DOCUMENTS, HEADINGS, INSIDE, NONE, PLACES, ROWS, Row};
use super::document::DocumentInfo;

/// The heading path of some chunks.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Headings<'r> {
    /// Heading path as one string, as the dataset writes it.
    pub(crate) header_path: &'r str,
    /// Headings one by one, outermost first.
    pub(crate) path: Vec<&'r str>,
}

/// The headings that chunks contain, in the order of the chunks.
#[derive(Debug)]
pub(crate) struct HeadingsInside {
    parents: ScalarBuffer<u32>,
    titles: LargeStringArray,
}

/// All chunks in the order of the files, and all documents in the order of their ids.
#[derive(Debug)]
pub(crate) struct Rows {
    /// First row of each file, followed by the number of rows.
    starts: Vec<usize>,
    columns: RowColumns,
    header_paths: LargeStringArray,
    heading_paths: LargeListArray,
    /// Titles of all heading paths.
    titles: LargeStringArray,
    /// Places in documents that are not text, as they are cited.
    places: LargeStringArray,
    inside: HeadingsInside,
    documents: Vec<Arc<DocumentInfo>>,
}

/// The fields of each [`Row`].
#[derive(Debug)]
struct RowColumns {
    start_byte: ScalarBuffer<u64>,
    end_byte: ScalarBuffer<u64>,
    doc: ScalarBuffer<u32>,
    position: ScalarBuffer<u32>,
    prefix_len: ScalarBuffer<u32>,
    start_line: ScalarBuffer<u32>,
    end_line: ScalarBuffer<u32>,
    place: ScalarBuffer<u32>,
    headings: ScalarBuffer<u32>,
    inside: ScalarBuffer<u32>,
}

impl RowColumns {
    fn of(rows: &RecordBatch) -> Option<Self> {
        let small = |name| numbers::<UInt32Type>(rows, name);
        Some(Self {
            start_byte: numbers::<UInt64Type>(rows, "start_byte")?,
            end_byte: numbers::<UInt64Type>(rows, "end_byte")?,
            doc: small("doc")?,
            position: small("position")?,
            prefix_len: small("prefix_len")?,
            start_line: small("start_line")?,
            end_line: small("end_line")?,
            place: small("place")?,
            headings: small("headings")?,
            inside: small("inside")?,
        })
    }
}

fn numbers<T: ArrowPrimitiveType>(table: &RecordBatch, name: &str) -> Option<ScalarBuffer<T::Native>> {
    Some(column::<PrimitiveArray<T>>(table, name)?.values().clone())
}

impl Rows {
    /// Opens the rows of a dataset: from the cache, or else from its files.
    ///
    /// # Errors
    /// [`Error::Dataset`] if a file is damaged or missing.
    pub(super) fn load(dataset: &Dataset, cache: &Cache) -> Result<Self> {
        let open = |sections: &Sections| {
            let documents = Self::documents_in(dataset, sections)?;
            Self::open(dataset, sections, documents).ok_or_else(|| damaged(dataset, None, "its rows cannot be read"))
        };
        cache.load("rows", || chunk_rows::read(dataset), open)
    }

    fn documents_in(dataset: &Dataset, sections: &Sections) -> Result<Vec<Arc<DocumentInfo>>> {
        let batches =
            sections.table(DOCUMENTS).ok_or_else(|| damaged(dataset, None, "its documents cannot be read"))?;
        let mut documents = Vec::new();
        for batch in batches {
            documents.extend(DocumentInfo::all(&Columns { dataset, file: None, batch })?);
        }
        documents.par_sort_by(|a, b| a.doc_id.cmp(&b.doc_id));
        Ok(documents)
    }

    fn open(dataset: &Dataset, sections: &Sections, documents: Vec<Arc<DocumentInfo>>) -> Option<Self> {
        let [rows, headings, places, inside] = [ROWS, HEADINGS, PLACES, INSIDE].map(|name| sections.table(name)?.pop());
        let (headings, inside) = (headings?, inside?);
        let heading_paths: LargeListArray = column(&headings, "heading_path")?;
        let mut starts = vec![0_usize];
        for file in dataset.files(Table::Chunks) {
            starts.push(starts[starts.len() - 1].checked_add(usize::try_from(file.rows).ok()?)?);
        }
        let rows = Self {
            starts,
            columns: RowColumns::of(&rows?)?,
            header_paths: column(&headings, "header_path")?,
            titles: heading_paths.values().as_any().downcast_ref().cloned()?,
            heading_paths,
            places: column(&places?, "place")?,
            inside: HeadingsInside {
                parents: numbers::<UInt32Type>(&inside, "parent")?,
                titles: column(&inside, "title")?,
            },
            documents,
        };
        rows.is_whole().then_some(rows)
    }

    /// Returns whether each number is one of something.
    fn is_whole(&self) -> bool {
        let RowColumns { doc, place, headings, inside, .. } = &self.columns;
        let all = |numbers: &[u32], len: usize| numbers.par_iter().all(|number| (*number as usize) < len);
        let is_earlier = |(at, parent): (usize, &u32)| *parent == NONE || (*parent as usize) < at;
        self.starts.last() == Some(&self.len())
            && all(doc, self.documents.len())
            && all(headings, self.header_paths.len())
            && place.par_iter().all(|place| *place == NONE || (*place as usize) < self.places.len())
            && inside.is_sorted()
            && inside.last().copied().unwrap_or_default() as usize <= self.inside.len()
            && self.inside.parents.par_iter().enumerate().all(is_earlier)
    }

    pub(crate) fn len(&self) -> usize {
        self.columns.doc.len()
    }

    pub(crate) fn row(&self, row: u32) -> Row {
        self.of(row as usize)
    }

    pub(crate) fn of(&self, row: usize) -> Row {
        let of = &self.columns;
        Row {
            start_byte: of.start_byte[row],
            end_byte: of.end_byte[row],
            doc: of.doc[row],
            position: of.position[row],
            prefix_len: of.prefix_len[row],
            start_line: of.start_line[row],
            end_line: of.end_line[row],
            place: of.place[row],
            headings: of.headings[row],
            inside: of.inside[row],
        }
    }

    pub(crate) fn iter(&self) -> impl Iterator<Item = Row> {
        (0..self.len()).map(|row| self.of(row))
    }

    /// Returns the number of each row's document.
    pub(crate) fn docs(&self) -> &[u32] {
        &self.columns.doc
    }

    /// Returns all heading paths.
    pub(crate) fn headings(&self) -> impl Iterator<Item = Headings<'_>> {
        (0..self.header_paths.len()).map(|number| self.heading_path(number))
    }

    pub(crate) fn headings_of(&self, row: Row) -> Headings<'_> {
        self.heading_path(row.headings as usize)
    }

    fn heading_path(&self, number: usize) -> Headings<'_> {
        // Offsets count from the start of the table and are checked when it is read.
        let offsets = &self.heading_paths.value_offsets()[number..number + 2];
        let place = |offset: i64| usize::try_from(offset).unwrap_or_default();
        let path = (place(offsets[0])..place(offsets[1])).map(|at| self.titles.value(at)).collect();
        Headings { header_path: self.header_paths.value(number), path }
    }

    /// Returns the headings that chunks contain.
    pub(crate) fn inside(&self) -> &HeadingsInside {
        &self.inside
    }

    /// Returns the numbers of the headings that a row contains.
    pub(crate) fn inside_row(&self, row: usize) -> Range<usize> {
        let ends = &self.columns.inside;
        let start = row.checked_sub(1).map_or(0, |before| ends[before]);
        start as usize..ends[row] as usize
    }

    pub(crate) fn documents(&self) -> &[Arc<DocumentInfo>] {
        &self.documents
    }

    pub(crate) fn document(&self, doc: u32) -> &Arc<DocumentInfo> {
        &self.documents[doc as usize]
    }

    /// Returns the number of the document with this id.
    pub(crate) fn find(&self, doc_id: &str) -> Option<u32> {
        chunk_rows::find(&self.documents, doc_id)
    }

    /// Returns the rows of the `index`-th file of chunks.
    pub(crate) fn of_file(&self, index: usize) -> Range<usize> {
        self.starts[index]..self.starts[index + 1]
    }

    /// Returns where a chunk is in a document that is not text, as it is cited after the path.
    pub(crate) fn cited_place(&self, row: Row) -> Option<&str> {
        (row.place != NONE).then(|| self.places.value(row.place as usize))
    }

    /// Returns a number by which rows are in the order of documents and positions.
    pub(super) fn order(&self, row: usize) -> u64 {
        let RowColumns { doc, position, .. } = &self.columns;
        u64::from(doc[row]) << 32 | u64::from(position[row])
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
}

impl HeadingsInside {
    pub(crate) fn len(&self) -> usize {
        self.titles.len()
    }

    /// Returns the number of the heading above a heading, which comes earlier.
    pub(crate) fn parent(&self, heading: usize) -> Option<usize> {
        Some(self.parents[heading]).filter(|parent| *parent != NONE).map(|parent| parent as usize)
    }

    pub(crate) fn title(&self, heading: usize) -> &str {
        self.titles.value(heading)
    }
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
        let batch = Columns::of_file(dataset, file, batch?);
        let found: Vec<StringArray> = columns.iter().map(|name| batch.text(name)).collect::<Result<_>>()?;
        for (at, &row) in (0..batch.batch.num_rows()).zip(rows.by_ref()) {
            texts.push((row, std::array::from_fn(|column| found[column].value(at).to_owned())));
        }
    }
    Ok(texts)
}
