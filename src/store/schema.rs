//! The columns of each table, as Arrow types and in words.

use std::sync::Arc;

use arrow::array::{
    Array, ArrayRef, BooleanArray, FixedSizeListArray, Float16Array, Float32Array, Int64Array, ListArray, RecordBatch,
    StringArray, StructArray, TimestampMicrosecondArray,
};
use arrow::buffer::OffsetBuffer;
use arrow::datatypes::{ArrowPrimitiveType, DataType, Field, Fields, Float16Type, Schema, SchemaRef, TimeUnit};
use arrow::error::ArrowError;

use super::rows::{ChunkRow, DocumentRow, EdgeRow, HeadingRow, ImageRow, LinkRow};
use crate::embed::{EmbeddingType, Representation};
use crate::value::named;

/// A table of the dataset.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Table {
    /// One row per chunk.
    Chunks,
    /// One row per document.
    Documents,
    /// One row per link inside the corpus.
    Edges,
}

impl Table {
    /// Every table.
    pub const ALL: [Self; 3] = [Self::Chunks, Self::Documents, Self::Edges];

    /// Returns the table's name, which is also the name of its folder below `data/`.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Self::Chunks => "chunks",
            Self::Documents => "documents",
            Self::Edges => "edges",
        }
    }

    /// Returns the table's columns, including those of the vectors.
    #[must_use]
    pub fn schema(self, vectors: &[Representation]) -> SchemaRef {
        match self {
            Self::Chunks => chunks_schema(vectors),
            Self::Documents => documents_schema(),
            Self::Edges => edges_schema(),
        }
    }
}

/// Encoding of `f32` vectors inside Parquet. `f16` is always plain, because readers lag behind.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum FloatEncoding {
    /// `BYTE_STREAM_SPLIT`, which compresses better.
    #[default]
    Bss,
    /// `PLAIN`, for readers that support nothing else.
    Plain,
}

impl FloatEncoding {
    /// Every encoding.
    pub const ALL: [Self; 2] = [Self::Bss, Self::Plain];

    /// Returns the name used in settings and manifests.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Self::Bss => "bss",
            Self::Plain => "plain",
        }
    }
}

named!(FloatEncoding, "an encoding of floats");

fn text(name: &str) -> Field {
    Field::new(name, DataType::Utf8, false)
}

fn int(name: &str) -> Field {
    Field::new(name, DataType::Int64, false)
}

fn flag(name: &str) -> Field {
    Field::new(name, DataType::Boolean, false)
}

fn list(name: &str, element: DataType) -> Field {
    Field::new(name, DataType::List(Arc::new(Field::new("element", element, false))), false)
}

fn time(name: &str) -> Field {
    Field::new(name, DataType::Timestamp(TimeUnit::Microsecond, Some("UTC".into())), true)
}

fn heading_fields() -> Fields {
    vec![int("level"), text("title")].into()
}

fn link_fields() -> Fields {
    vec![text("kind"), text("target"), text("url").with_nullable(true), text("text")].into()
}

fn image_fields() -> Fields {
    vec![text("target"), text("url").with_nullable(true), text("alt")].into()
}

/// A column of vectors.
fn vector(of: &Representation) -> Field {
    let element = |float| Arc::new(Field::new("element", float, false));
    let size = i32::try_from(of.dim).unwrap_or(i32::MAX);
    let values = match of.stored {
        EmbeddingType::F32 => DataType::FixedSizeList(element(DataType::Float32), size),
        EmbeddingType::F16 => DataType::FixedSizeList(element(DataType::Float16), size),
        EmbeddingType::List => DataType::List(element(DataType::Float32)),
    };
    Field::new(of.column, values, false)
}

/// Returns the columns of `chunks`, those of the vectors last.
#[must_use]
pub fn chunks_schema(vectors: &[Representation]) -> SchemaRef {
    let mut fields = vec![
        text("chunk_id"),
        text("doc_id"),
        text("collection"),
        text("path"),
        int("chunk_index"),
        int("section_index"),
        int("sub_index").with_nullable(true),
        int("n_in_section"),
        text("kind"),
        list("heading_path", DataType::Utf8),
        text("header_path"),
        list("headings", DataType::Struct(heading_fields())),
        text("content"),
        text("normalized_content").with_nullable(true),
        int("start_byte"),
        int("end_byte"),
        int("start_char"),
        int("end_char"),
        int("start_line"),
        int("end_line"),
        int("prefix_len"),
        flag("has_overlap"),
        int("overlap_start_byte").with_nullable(true),
        int("overlap_end_byte").with_nullable(true),
        flag("is_sub_split"),
        int("n_chars"),
        int("n_tokens"),
        int("n_model_tokens").with_nullable(true),
        flag("truncated").with_nullable(true),
        list("flags", DataType::Utf8),
        list("links", DataType::Struct(link_fields())),
        list("images", DataType::Struct(image_fields())),
        list("tags", DataType::Utf8),
        list("aliases", DataType::Utf8),
        text("metadata"),
        text("promotion_level").with_nullable(true),
        text("content_hash"),
        time("modified_time"),
    ];
    fields.extend(vectors.iter().map(vector));
    Arc::new(Schema::new(fields))
}

/// Returns the columns of `documents`.
#[must_use]
pub fn documents_schema() -> SchemaRef {
    Arc::new(Schema::new(vec![
        text("doc_id"),
        text("collection"),
        text("path"),
        text("title").with_nullable(true),
        int("bytes"),
        int("lines"),
        text("content_hash"),
        time("modified_time"),
        text("format"),
        flag("is_chunked"),
        int("chunk_count"),
        list("tags", DataType::Utf8),
        list("aliases", DataType::Utf8),
        text("metadata"),
        text("promotion_level").with_nullable(true),
        list("flags", DataType::Utf8),
    ]))
}

/// Returns the columns of `edges`.
#[must_use]
pub fn edges_schema() -> SchemaRef {
    Arc::new(Schema::new(vec![
        text("from_chunk"),
        text("from_doc"),
        text("to_doc").with_nullable(true),
        text("to_chunk").with_nullable(true),
        text("kind"),
        text("target"),
        flag("resolved"),
    ]))
}

/// Describes a column in words. Every column of every table has a description.
#[must_use]
pub fn describe(table: Table, column: &str) -> Option<&'static str> {
    Some(match (table, column) {
        (_, "doc_id") => "the document: its path, or collection:path in a named collection",
        (_, "collection") => "name of the corpus root",
        (_, "path") => "path below the root, with / between its parts",
        (_, "modified_time") => "the file's own modification time",
        (_, "tags") => "from the front matter and #tags in the text",
        (_, "aliases") => "from the front matter",
        (_, "metadata") => "the rest of the front matter, as JSON",
        (Table::Chunks | Table::Documents, "promotion_level") => {
            "from the front matter of the document; null in the collection external, which has no levels"
        }
        (Table::Chunks, "chunk_id") => "unique, and the same for the same input and settings",
        (Table::Chunks, "chunk_index") => "position in the document, from 0",
        (Table::Chunks, "section_index") => "position of the section (or merged sections), from 0",
        (Table::Chunks, "sub_index") => "position among the pieces of a section that was split; null if it was not",
        (Table::Chunks, "n_in_section") => "number of chunks in the section",
        (Table::Chunks, "kind") => "text, code, footnote, or document for a whole one",
        (Table::Chunks, "heading_path") => {
            "the headings above the first text in the range that is not a heading, outermost first"
        }
        (Table::Chunks, "header_path") => "the heading path as one string",
        (Table::Chunks, "headings") => {
            "the headings that start in the range, with their levels: Markdown headings, top-level keys of YAML and JSON, items of source code"
        }
        (Table::Chunks, "content") => {
            "prefix_len bytes of prefix, the document's bytes start_byte..end_byte and, if a code fence was cut, the line that closes it"
        }
        (Table::Chunks, "normalized_content") => "content as the spec normalises it; null if the spec does not",
        (Table::Chunks, "start_byte" | "end_byte") => "byte range in the file (UTF-16 files: in their text as UTF-8)",
        (Table::Chunks, "start_char" | "end_char") => "the same range in Unicode scalar values",
        (Table::Chunks, "start_line" | "end_line") => "first and last line of the range, from 1, inclusive",
        (Table::Chunks, "prefix_len") => {
            "bytes of content before the source text: parent headers, overlap, the head of a table or fence that was cut"
        }
        (Table::Chunks, "has_overlap") => "whether the prefix repeats the end of the previous chunk",
        (Table::Chunks, "overlap_start_byte" | "overlap_end_byte") => {
            "byte range of the text that the prefix repeats of the previous chunk; null without overlap"
        }
        (Table::Chunks, "is_sub_split") => "whether the section was over the maximum and was split",
        (Table::Chunks, "n_chars") => "length of content in Unicode scalar values",
        (Table::Chunks, "n_tokens") => {
            "exact number of tokens in content, in the encoding of the chunk settings (cl100k_base by default), without inline data: URLs"
        }
        (Table::Chunks, "n_model_tokens") => "the model's tokens, including special ones, before truncation",
        (Table::Chunks, "truncated") => "whether the text was truncated to what the model reads",
        (Table::Chunks, "flags") => {
            "oversized_… for a block over the maximum, alone or with its headings or overlap, or part of a list item that is; inline_data if it has an inline data: URL; zero_vector if the model knows no word of it; names of risks in the text"
        }
        (Table::Chunks, "links") => {
            "links that start in the range: kind, target as written (… for inline data), absolute URL if the spec has a base, text"
        }
        (Table::Chunks, "images") => {
            "images that start in the range: target as written (… for inline data), absolute URL if the spec has a base, alternative text"
        }
        (Table::Chunks, "content_hash") => "BLAKE3 of content",
        (Table::Documents, "title") => "from the front matter, otherwise the first heading of level 1",
        (Table::Documents, "bytes") => "size of the file",
        (Table::Documents, "lines") => "number of lines",
        (Table::Documents, "content_hash") => "BLAKE3 of the file",
        (Table::Documents, "format") => "markdown, text, yaml, json, or the language of source code",
        (Table::Documents, "is_chunked") => "whether it has more than one chunk",
        (Table::Documents, "chunk_count") => "number of its chunks",
        (Table::Documents, "flags") => "anything unusual about the document, by name",
        (Table::Edges, "from_chunk") => "the chunk that the link starts in",
        (Table::Edges, "from_doc") => "the document of that chunk",
        (Table::Edges, "to_doc") => "the document that the link leads to; null if none in the corpus",
        (Table::Edges, "to_chunk") => {
            "the chunk that contains the section or place that the link names; null if it names none"
        }
        (Table::Edges, "kind") => "link, wikilink or image",
        (Table::Edges, "target") => "where it leads, as written",
        (Table::Edges, "resolved") => "whether the document is in the corpus and contains what the link names",
        (Table::Chunks, column) => return Representation::describe(column),
        _ => return None,
    })
}

/// Builds a batch from rows of `chunks` and their vectors, which are row-major.
///
/// # Errors
/// Those of [`RecordBatch::try_new`], if the number of vectors differs from the number of rows.
pub fn chunks_batch(rows: &[ChunkRow], vectors: &[(Representation, &[f32])]) -> Result<RecordBatch, ArrowError> {
    fn string(rows: &[ChunkRow], get: impl Fn(&ChunkRow) -> &str) -> ArrayRef {
        Arc::new(StringArray::from_iter_values(rows.iter().map(get)))
    }
    let integer =
        |get: fn(&ChunkRow) -> i64| -> ArrayRef { Arc::new(Int64Array::from_iter_values(rows.iter().map(get))) };
    let strings = |get: fn(&ChunkRow) -> Vec<&str>| strings(rows.iter().map(get));
    let links =
        structs(link_fields(), rows.iter().map(|row| row.links.iter().map(LinkRow::cells).collect::<Vec<_>>()))?;
    let images =
        structs(image_fields(), rows.iter().map(|row| row.images.iter().map(ImageRow::cells).collect::<Vec<_>>()))?;
    let mut columns: Vec<ArrayRef> = vec![
        string(rows, |row| &row.chunk_id),
        string(rows, |row| &row.doc_id),
        string(rows, |row| &row.collection),
        string(rows, |row| &row.path),
        integer(|row| row.chunk_index),
        integer(|row| row.section_index),
        Arc::new(rows.iter().map(|row| row.sub_index).collect::<Int64Array>()),
        integer(|row| row.n_in_section),
        string(rows, |row| row.kind),
        strings(|row| row.heading_path.iter().map(String::as_str).collect())?,
        string(rows, |row| &row.header_path),
        headings(rows)?,
        string(rows, |row| &row.content),
        Arc::new(rows.iter().map(|row| row.normalized_content.as_deref()).collect::<StringArray>()),
        integer(|row| row.start_byte),
        integer(|row| row.end_byte),
        integer(|row| row.start_char),
        integer(|row| row.end_char),
        integer(|row| row.start_line),
        integer(|row| row.end_line),
        integer(|row| row.prefix_len),
        Arc::new(rows.iter().map(|row| Some(row.has_overlap)).collect::<BooleanArray>()),
        Arc::new(rows.iter().map(|row| row.overlap_start_byte).collect::<Int64Array>()),
        Arc::new(rows.iter().map(|row| row.overlap_end_byte).collect::<Int64Array>()),
        Arc::new(rows.iter().map(|row| Some(row.is_sub_split)).collect::<BooleanArray>()),
        integer(|row| row.n_chars),
        integer(|row| row.n_tokens),
        Arc::new(rows.iter().map(|row| row.n_model_tokens).collect::<Int64Array>()),
        Arc::new(rows.iter().map(|row| row.truncated).collect::<BooleanArray>()),
        strings(|row| row.flags.clone())?,
        links,
        images,
        strings(|row| row.tags.iter().map(String::as_str).collect())?,
        strings(|row| row.aliases.iter().map(String::as_str).collect())?,
        string(rows, |row| &row.metadata),
        Arc::new(rows.iter().map(|row| row.promotion_level.as_deref()).collect::<StringArray>()),
        string(rows, |row| &row.content_hash),
        times(rows.iter().map(|row| row.modified_time)),
    ];
    for (of, values) in vectors {
        columns.push(embeddings(rows.len(), of, values)?);
    }
    let all: Vec<Representation> = vectors.iter().map(|(of, _)| *of).collect();
    RecordBatch::try_new(chunks_schema(&all), columns)
}

/// Builds a batch from rows of `documents`.
pub(super) fn documents_batch(rows: &[DocumentRow]) -> Result<RecordBatch, ArrowError> {
    fn string(rows: &[DocumentRow], get: impl Fn(&DocumentRow) -> &str) -> ArrayRef {
        Arc::new(StringArray::from_iter_values(rows.iter().map(get)))
    }
    let integer =
        |get: fn(&DocumentRow) -> i64| -> ArrayRef { Arc::new(Int64Array::from_iter_values(rows.iter().map(get))) };
    let strings = |get: fn(&DocumentRow) -> Vec<&str>| strings(rows.iter().map(get));
    let columns: Vec<ArrayRef> = vec![
        string(rows, |row| &row.doc_id),
        string(rows, |row| &row.collection),
        string(rows, |row| &row.path),
        Arc::new(rows.iter().map(|row| row.title.as_deref()).collect::<StringArray>()),
        integer(|row| row.bytes),
        integer(|row| row.lines),
        string(rows, |row| &row.content_hash),
        times(rows.iter().map(|row| row.modified_time)),
        string(rows, |row| row.format),
        Arc::new(rows.iter().map(|row| Some(row.is_chunked)).collect::<BooleanArray>()),
        integer(|row| row.chunk_count),
        strings(|row| row.tags.iter().map(String::as_str).collect())?,
        strings(|row| row.aliases.iter().map(String::as_str).collect())?,
        string(rows, |row| &row.metadata),
        Arc::new(rows.iter().map(|row| row.promotion_level.as_deref()).collect::<StringArray>()),
        strings(|row| row.flags.clone())?,
    ];
    RecordBatch::try_new(documents_schema(), columns)
}

/// Builds a batch from rows of `edges`.
pub(super) fn edges_batch(rows: &[EdgeRow]) -> Result<RecordBatch, ArrowError> {
    let string =
        |get: fn(&EdgeRow) -> &str| -> ArrayRef { Arc::new(StringArray::from_iter_values(rows.iter().map(get))) };
    let columns: Vec<ArrayRef> = vec![
        string(|row| &row.from_chunk),
        string(|row| &row.from_doc),
        Arc::new(rows.iter().map(|row| row.to_doc.as_deref()).collect::<StringArray>()),
        Arc::new(rows.iter().map(|row| row.to_chunk.as_deref()).collect::<StringArray>()),
        string(|row| row.kind.name()),
        string(|row| &row.target),
        Arc::new(rows.iter().map(|row| Some(row.resolved)).collect::<BooleanArray>()),
    ];
    RecordBatch::try_new(edges_schema(), columns)
}

fn lists(element: DataType, lengths: Vec<usize>, values: ArrayRef) -> Result<ArrayRef, ArrowError> {
    let field = Arc::new(Field::new("element", element, false));
    Ok(Arc::new(ListArray::try_new(field, OffsetBuffer::from_lengths(lengths), values, None)?))
}

fn strings<'r>(rows: impl Iterator<Item = Vec<&'r str>>) -> Result<ArrayRef, ArrowError> {
    let mut lengths = Vec::new();
    let mut values = Vec::new();
    for row in rows {
        lengths.push(row.len());
        values.extend(row);
    }
    lists(DataType::Utf8, lengths, Arc::new(StringArray::from(values)))
}

fn structs<'r, const N: usize>(
    fields: Fields,
    rows: impl Iterator<Item = Vec<[Option<&'r str>; N]>>,
) -> Result<ArrayRef, ArrowError> {
    let mut lengths = Vec::new();
    let mut values: Vec<[Option<&str>; N]> = Vec::new();
    for row in rows {
        lengths.push(row.len());
        values.extend(row);
    }
    let column = |at: usize| Arc::new(values.iter().map(|value| value[at]).collect::<StringArray>()) as ArrayRef;
    let array = StructArray::try_new(fields.clone(), (0..N).map(column).collect(), None)?;
    lists(DataType::Struct(fields), lengths, Arc::new(array))
}

fn headings(rows: &[ChunkRow]) -> Result<ArrayRef, ArrowError> {
    let lengths = rows.iter().map(|row| row.headings.len()).collect();
    let all = || rows.iter().flat_map(|row: &ChunkRow| &row.headings);
    let level = Int64Array::from_iter_values(all().map(|heading: &HeadingRow| heading.level));
    let title = StringArray::from_iter_values(all().map(|heading| &heading.title));
    let array = StructArray::try_new(heading_fields(), vec![Arc::new(level), Arc::new(title)], None)?;
    lists(DataType::Struct(heading_fields()), lengths, Arc::new(array))
}

fn times(micros: impl Iterator<Item = Option<i64>>) -> ArrayRef {
    Arc::new(micros.collect::<TimestampMicrosecondArray>().with_timezone("UTC"))
}

fn embeddings(rows: usize, of: &Representation, vectors: &[f32]) -> Result<ArrayRef, ArrowError> {
    let Representation { dim, stored, .. } = *of;
    let values: ArrayRef = match stored {
        EmbeddingType::F16 => {
            let half = vectors.iter().map(|&x| <Float16Type as ArrowPrimitiveType>::Native::from_f32(x));
            Arc::new(Float16Array::from_iter_values(half))
        }
        EmbeddingType::F32 | EmbeddingType::List => Arc::new(Float32Array::from(vectors.to_vec())),
    };
    if stored == EmbeddingType::List {
        return lists(DataType::Float32, vec![dim; rows], values);
    }
    let field = Arc::new(Field::new("element", values.data_type().clone(), false));
    let size = i32::try_from(dim).map_err(|_| ArrowError::InvalidArgumentError(format!("dimension {dim}")))?;
    Ok(Arc::new(FixedSizeListArray::try_new(field, size, values, None)?))
}
