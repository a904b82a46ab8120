//! Rows in their stored form. `chunkmill chunk` prints [`ChunkRow`]s unchanged, through
//! [`ChunkLines`](super::ChunkLines).

use std::borrow::Cow;
use std::collections::BTreeSet;
use std::ops::Range;
use std::sync::{Arc, Mutex, PoisonError};

use arrow::array::{Array, ArrayRef, AsArray};
use arrow::datatypes::Int64Type;
use chunkmill_embed::{SPARSE_TRUNCATED, ZERO_VECTOR, is_zero};
use chunkmill_text::chunk::{Chunk, Normalizer, Spec};
use chunkmill_text::document::{Document, Format, Link, LinkKind, short_target};
use chunkmill_text::similarity::Signature;
use serde::{Deserialize, Serialize};

use super::columns::{Columns, columns, structs};
use super::time::Time;
use crate::corpus::QuarantinedDocument;

/// A name of a fixed list: a kind, a flag.
type Name = &'static str;

columns! {
    ($) as each_column_of_chunks;
    /// A row of `chunks` without its vector. The fields are in the order of the columns.
    #[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
    pub struct ChunkRow {
        chunk_id: String = "unique, and the same for the same input and settings",
        doc_id: Arc<str> = "the document: its path, or collection:path in a named collection",
        collection: Arc<str> = "name of the corpus root",
        path: Arc<str> = "path below the root, with / between its parts",
        chunk_index: i64 = "position in the document, from 0",
        section_index: i64 = "position of the section (or merged sections), from 0",
        sub_index: Option<i64> = "position among the pieces of a section that was split; null if it was not",
        n_in_section: i64 = "number of chunks in the section",
        #[serde(deserialize_with = "name")]
        kind: Name = "text, code, footnote, or document for a whole one",
        heading_path: Arc<[String]> = "the headings above the first text in the range that is not a heading, outermost first",
        header_path: Arc<str> = "the heading path as one string",
        headings: Vec<HeadingRow> = "the headings that start in the range, with their levels: Markdown headings, top-level keys of YAML and JSON, items of source code",
        content: String = "prefix_len bytes of prefix, the document's bytes start_byte..end_byte and, if a code fence was cut, the line that closes it",
        normalized_content: Option<String> = "content as the spec normalises it; null if the spec does not",
        start_byte: i64 = "first byte of the range in the layer: the file's text as UTF-8 or, of a format that is not text, the column layer of documents",
        end_byte: i64 = "one past the last byte of the range",
        start_char: i64 = "start_byte in Unicode scalar values",
        end_char: i64 = "end_byte in Unicode scalar values",
        start_line: i64 = "line of the first byte of the range, from 1",
        end_line: i64 = "line of the last byte of the range, from 1",
        source_start: Option<i64> = "first byte of the file that the range is from; null if the file is a package, whose places have names",
        source_end: Option<i64> = "one past the last byte of the file that the range is from; null in a package",
        place: Option<String> = "where the range is in a file that is not read as it is: #name of a section of a page, :first-last line, or names such as slide 4 or Prices!A1:C9; null otherwise",
        page_start: Option<i64> = "page or slide on which the range starts, from 1; null in formats without pages",
        page_end: Option<i64> = "page or slide on which the range ends",
        prefix_len: i64 = "bytes of content before the source text: parent headers, overlap, the head of a table or fence that was cut",
        has_overlap: bool = "whether the prefix repeats the end of the previous chunk",
        overlap_start_byte: Option<i64> = "first byte, in the file, of what the prefix repeats of the previous chunk; null without overlap",
        overlap_end_byte: Option<i64> = "one past the last byte of it; null without overlap",
        is_sub_split: bool = "whether the section was over the maximum and was split",
        n_chars: i64 = "length of content in Unicode scalar values",
        n_tokens: i64 = "exact number of tokens in content, in the encoding of the chunk settings (cl100k_base by default), without inline data: URLs",
        n_model_tokens: Option<i64> = "the model's tokens, including special ones, before truncation",
        truncated: Option<bool> = "whether the text was truncated to what the model reads",
        #[serde(deserialize_with = "names")]
        flags: Vec<Name> = "oversized_… for a block over the maximum, alone or with its headings or overlap, or part of a list item that is; inline_data if it has an inline data: URL; zero_vector if the model knows no word of it; sparse_truncated if the sparse model reads only the beginning; names of risks in the text",
        links: Vec<LinkRow> = "links that start in the range: kind, target as written (… for inline data), absolute URL if the spec has a base, text",
        images: Vec<ImageRow> = "images that start in the range: target as written (… for inline data), absolute URL if the spec has a base, alternative text",
        tags: Arc<[String]> = "from the front matter and #tags in the text",
        aliases: Arc<[String]> = "from the front matter",
        metadata: Arc<str> = "the rest of the front matter, as JSON",
        promotion_level: Option<Arc<str>> = "from the front matter of the document; null in the collection external, which has no levels",
        content_hash: String = "BLAKE3 of content",
        modified_time: Option<Time> = "the file's own modification time",
    }
}

columns! {
    /// A heading that starts in a chunk.
    #[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
    pub struct HeadingRow {
        level: i64 = "level from 1, the highest, to 6",
        title: String = "text of the heading",
    }
}

columns! {
    /// A link in a chunk.
    #[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
    pub struct LinkRow {
        #[serde(deserialize_with = "name")]
        kind: Name = "`link` or `wikilink`",
        target: String = "target as written",
        url: Option<String> = "target as an absolute URL, if the spec has a base URL",
        text: String = "text of the link",
    }
}

columns! {
    /// An image in a chunk.
    #[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
    pub struct ImageRow {
        target: String = "target as written",
        url: Option<String> = "target as an absolute URL, if the spec has a base URL",
        alt: String = "alternative text",
    }
}

structs!(HeadingRow, LinkRow, ImageRow);

columns! {
    /// A row of `documents`. The fields are in the order of the columns.
    #[derive(Debug, Clone, PartialEq, Serialize)]
    pub struct DocumentRow {
        doc_id: Arc<str> = "the document: its path, or collection:path in a named collection",
        collection: Arc<str> = "name of the corpus root",
        path: Arc<str> = "path below the root, with / between its parts",
        title: Option<String> = "from the front matter, otherwise the first heading of level 1",
        bytes: i64 = "size of the file",
        lines: i64 = "number of lines",
        content_hash: String = "BLAKE3 of the file",
        modified_time: Option<Time> = "the file's own modification time",
        format: &'static str = "markdown, text, yaml, json, the language of source code, or the name of another format: html, word",
        is_chunked: bool = "whether it has more than one chunk",
        chunk_count: i64 = "number of its chunks",
        tags: Arc<[String]> = "from the front matter and #tags in the text",
        aliases: Arc<[String]> = "from the front matter",
        metadata: Arc<str> = "the rest of the front matter, as JSON",
        promotion_level: Option<Arc<str>> = "from the front matter of the document; null in the collection external, which has no levels",
        flags: Vec<&'static str> = "anything unusual about the document, by name",
        layer: Option<Arc<str>> = "the text that was chunked and that all ranges are of, if the file is not that text",
        dropped: Vec<DroppedRow> = "characters of the source that are not in the layer, by reason",
        boilerplate: Vec<BoilerplateRow> = "with skip_boilerplate, where paragraphs are that stand in many documents: chunks are embedded without them, unless nothing of a chunk would be left; in order",
        #[serde(skip)]
        signature: Option<Box<Signature>> = "MinHash signature of the text of its chunks, as datatrove computes it: 14 bands of 8 values over runs of 5 words; null if there are fewer words",
    }
}

columns! {
    /// Text of a source that is not in the layer.
    #[derive(Debug, Clone, PartialEq, Eq, Serialize)]
    pub struct DroppedRow {
        reason: &'static str = "the reason: navigation, hidden, script, comment, markup, running_head, output, deleted, repeated, attachment, limit",
        chars: i64 = "number of characters, without white space",
    }
}

columns! {
    /// A paragraph that stands in many documents, or a piece of it between parts that are in no chunk.
    #[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
    pub struct BoilerplateRow {
        start_byte: i64 = "first byte of it, as in the chunks",
        end_byte: i64 = "one past its last byte",
    }
}

structs!(DroppedRow, BoilerplateRow);

impl BoilerplateRow {
    /// Returns it as a range.
    pub fn range(&self) -> Range<usize> {
        let [start, end] = [self.start_byte, self.end_byte].map(|byte| usize::try_from(byte).unwrap_or_default());
        start..end
    }
}

impl From<Range<usize>> for BoilerplateRow {
    fn from(range: Range<usize>) -> Self {
        Self { start_byte: int(range.start), end_byte: int(range.end) }
    }
}

/// Returns the values of the column `boilerplate`; `None` if it is not that column.
pub(crate) fn boilerplate_rows(column: &ArrayRef) -> Option<Vec<Vec<BoilerplateRow>>> {
    let lists = column.as_list_opt::<i32>()?;
    let row = |row| {
        let list = lists.value(row);
        let of = list.as_struct_opt()?;
        let bytes = |name| of.column_by_name(name)?.as_primitive_opt::<Int64Type>();
        let pairs = bytes("start_byte")?.values().iter().zip(bytes("end_byte")?.values());
        Some(pairs.map(|(&start_byte, &end_byte)| BoilerplateRow { start_byte, end_byte }).collect())
    };
    (0..lists.len()).map(row).collect()
}

columns! {
    /// A row of `edges`. The fields are in the order of the columns.
    #[derive(Debug, Clone, PartialEq, Eq)]
    pub(crate) struct EdgeRow {
        from_chunk: String = "the chunk that the link starts in",
        from_doc: String = "the document of that chunk",
        to_doc: Option<String> = "the document that the link leads to; null if none in the corpus",
        to_chunk: Option<String> = "the chunk that contains the section or place that the link names; null if it names none",
        kind: LinkKind = "link, wikilink or image",
        target: String = "where it leads, as written",
        resolved: bool = "whether the document is in the corpus and contains what the link names",
    }
}

columns! {
    /// A row of `duplicates`. The fields are in the order of the columns.
    #[derive(Debug, Clone, PartialEq)]
    pub(crate) struct DuplicateRow {
        doc_id: String = "the document",
        duplicate_of: String = "the document that has nearly the same words, is no duplicate, and comes first by its id",
        jaccard: f64 = "share of all runs of 5 words of both documents that both have",
        containment: f64 = "share of the runs of 5 words of the document that the other one has too",
    }
}

/// A line of `quarantine.jsonl`.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct QuarantineRow {
    /// Id of the document.
    pub doc_id: String,
    /// Collection of the document.
    pub collection: String,
    /// Path below the collection's root.
    pub path: String,
    /// A short stable word for the reason.
    pub code: Cow<'static, str>,
    /// The reason in words.
    pub reason: String,
    /// BLAKE3 hash of the bytes that were read, in hexadecimal; `None` if nothing was read.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub content_hash: Option<String>,
}

impl From<&QuarantinedDocument> for QuarantineRow {
    fn from(document: &QuarantinedDocument) -> Self {
        Self {
            doc_id: document.doc_id.to_string(),
            collection: document.collection.to_string(),
            path: document.path.to_string(),
            code: document.reason.code().into(),
            reason: document.reason.to_string(),
            content_hash: document.hash.clone(),
        }
    }
}

/// Bytes of text that are turned into one batch of a table.
const BATCH_BYTES: usize = 8 << 20;

/// Divides rows of these sizes among the batches of a table, each as large as it may be. In a batch, every row repeats
/// what the chunks of a document share.
pub fn batches(bytes: impl Iterator<Item = usize>) -> impl Iterator<Item = Range<usize>> {
    let mut rows = bytes.enumerate().peekable();
    std::iter::from_fn(move || {
        let (first, mut total) = rows.next()?;
        let mut end = first + 1;
        while let Some((row, bytes)) = rows.next_if(|(_, bytes)| total + bytes <= BATCH_BYTES) {
            (end, total) = (row + 1, total + bytes);
        }
        Some(first..end)
    })
}

impl ChunkRow {
    /// Returns how many bytes of text its columns take in a table, including what it shares with other rows.
    pub fn bytes(&self) -> usize {
        self.bytes_of_text()
    }

    /// Records what a model made of the text: how many tokens it counted, whether that is over the `max_tokens` it
    /// reads, and whether the vector says nothing.
    pub fn set_embedding(&mut self, vector: &[f32], n_tokens: i64, max_tokens: usize) {
        self.n_model_tokens = Some(n_tokens);
        self.truncated = Some(usize::try_from(n_tokens).is_ok_and(|n_tokens| n_tokens > max_tokens));
        if is_zero(vector) {
            self.flags.push(ZERO_VECTOR);
        }
    }

    /// Records whether a sparse model read only the beginning of the text.
    pub fn set_sparse(&mut self, is_truncated: bool) {
        if is_truncated {
            self.flags.push(SPARSE_TRUNCATED);
        }
    }

    /// Creates the row of a chunk that was cut with `spec` and that no model has read yet. `shared` is the row of
    /// its document: every chunk repeats the document's id, tags, aliases and metadata on disk but shares them in
    /// memory. `n_tokens` is the result of [`Ruler::tokens_between`](chunkmill_text::tokens::Ruler::tokens_between) for its
    /// content.
    #[must_use]
    pub fn new(document: &Document, chunk: Chunk, spec: &Spec, shared: &DocumentRow, n_tokens: usize) -> Self {
        let content = chunk.content(document);
        let normalizer = spec.normalizer();
        let normalize = |n: &Normalizer<'_>| n.normalize(document, &chunk.repeats, chunk.range.clone());
        let (prefix, suffix) = (chunk.prefix(document), chunk.suffix(document));
        let overlap = chunk.repeats.overlap.clone();
        let url = |link: &Link| {
            let leads_by_path = !link.named && spec.base_url().is_some();
            leads_by_path.then(|| normalizer?.absolute(document, &link.target)).flatten()
        };
        let positions = &document.positions;
        let (start_line, end_line) = positions.lines_of(&chunk.range);
        let (start_char, end_char) = (positions.char_at(chunk.range.start), positions.char_at(chunk.range.end));
        let first = document.links.partition_point(|link| link.range.start < chunk.range.start);
        let inside = || document.links[first..].iter().take_while(|link| link.range.start < chunk.range.end);
        let links = inside().filter(|link| link.kind != LinkKind::Image);
        let images = inside().filter(|link| link.kind == LinkKind::Image);
        let headings = document.headings_in(&chunk.range);
        let source = document.source_range(&chunk.range);
        let source_byte = |byte: u64| i64::try_from(byte).unwrap_or(i64::MAX);
        let pages =
            document.places_of(&chunk.range).map(|(first, last)| [first, last].map(|place| place.page.map(i64::from)));
        let [page_start, page_end] = pages.unwrap_or_default();
        Self {
            source_start: source.as_ref().map(|place| source_byte(place.start)),
            source_end: source.as_ref().map(|place| source_byte(place.end)),
            place: document.cited_place(&chunk.range),
            page_start,
            page_end,
            doc_id: Arc::clone(&shared.doc_id),
            collection: Arc::clone(&shared.collection),
            path: Arc::clone(&shared.path),
            chunk_index: int(chunk.index),
            section_index: int(chunk.section_index),
            sub_index: chunk.sub_index.map(int),
            n_in_section: int(chunk.n_in_section),
            kind: chunk.kind.name(),
            start_byte: int(chunk.range.start),
            end_byte: int(chunk.range.end),
            start_char: int(start_char),
            end_char: int(end_char),
            start_line: int(start_line),
            end_line: int(end_line),
            prefix_len: int(prefix.len()),
            has_overlap: overlap.is_some(),
            overlap_start_byte: overlap.as_ref().map(|overlap| int(overlap.start)),
            overlap_end_byte: overlap.as_ref().map(|overlap| int(overlap.end)),
            is_sub_split: chunk.sub_index.is_some(),
            n_chars: int(prefix.chars().count() + end_char - start_char + suffix.chars().count()),
            n_tokens: int(n_tokens),
            n_model_tokens: None,
            truncated: None,
            headings: headings
                .map(|section| HeadingRow { level: section.level.into(), title: section.title.clone() })
                .collect(),
            links: links
                .map(|link| LinkRow {
                    kind: link.kind.name(),
                    target: short_target(&link.target),
                    url: url(link),
                    text: link.text.clone(),
                })
                .collect(),
            images: images
                .map(|image| ImageRow { target: short_target(&image.target), url: url(image), alt: image.text.clone() })
                .collect(),
            tags: Arc::clone(&shared.tags),
            aliases: Arc::clone(&shared.aliases),
            metadata: Arc::clone(&shared.metadata),
            promotion_level: shared.promotion_level.clone(),
            content_hash: blake3::hash(content.as_bytes()).to_hex().as_str().to_owned(),
            modified_time: shared.modified_time,
            content,
            normalized_content: normalizer.as_ref().map(normalize),
            // These are moved out of the chunk.
            chunk_id: chunk.id,
            heading_path: chunk.heading_path,
            header_path: chunk.header_path,
            flags: chunk.flags,
        }
    }
}

/// Returns which rows of the column `flags` have a flag; `None` if it is not that column.
pub(crate) fn flagged(flags: &ArrayRef, flag: &str) -> Option<Vec<bool>> {
    let flags = flags.as_list_opt::<i32>()?;
    let has = |row| Some(flags.value(row).as_string_opt::<i32>()?.iter().any(|found| found == Some(flag)));
    (0..flags.len()).map(has).collect()
}

impl DocumentRow {
    /// Creates the row of a document that was cut into `chunks` chunks.
    #[must_use]
    pub fn new(document: &Document, chunks: usize) -> Self {
        Self {
            doc_id: Arc::clone(&document.origin.doc_id),
            collection: Arc::clone(&document.origin.collection),
            path: Arc::clone(&document.origin.path),
            title: document.title.clone(),
            bytes: i64::try_from(document.bytes).unwrap_or(i64::MAX),
            lines: int(document.lines()),
            content_hash: document.content_hash.clone(),
            modified_time: document.origin.modified_micros.map(Time::from_micros),
            format: document.format.name(),
            is_chunked: chunks > 1,
            chunk_count: int(chunks),
            tags: document.tags.clone().into(),
            aliases: document.aliases.clone().into(),
            metadata: serde_json::Value::Object(document.metadata.clone()).to_string().into(),
            promotion_level: document.promotion_level.as_deref().map(Into::into),
            flags: document.flags.clone(),
            layer: matches!(document.format, Format::Written(_)).then(|| document.text.as_str().into()),
            boilerplate: Vec::new(),
            signature: None,
            dropped: document
                .dropped
                .iter()
                .map(|dropped| DroppedRow {
                    reason: dropped.reason.name(),
                    chars: i64::try_from(dropped.chars).unwrap_or(i64::MAX),
                })
                .collect(),
        }
    }
}

/// Converts a size or offset, which is at most [`chunkmill_text::document::MAX_BYTES`].
fn int(value: usize) -> i64 {
    i64::try_from(value).unwrap_or(i64::MAX)
}

fn name<'de, D: serde::Deserializer<'de>>(deserializer: D) -> Result<Name, D::Error> {
    Ok(kept(String::deserialize(deserializer)?))
}

fn names<'de, D: serde::Deserializer<'de>>(deserializer: D) -> Result<Vec<Name>, D::Error> {
    Ok(Vec::<String>::deserialize(deserializer)?.into_iter().map(kept).collect())
}

/// Keeps a name until the process ends. There are only as many as kinds and flags.
fn kept(name: String) -> Name {
    static KEPT: Mutex<BTreeSet<Name>> = Mutex::new(BTreeSet::new());
    let mut known = KEPT.lock().unwrap_or_else(PoisonError::into_inner);
    if let Some(name) = known.get(name.as_str()) {
        return name;
    }
    let name: Name = name.leak();
    known.insert(name);
    name
}
