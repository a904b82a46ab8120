//! Rows in their stored form. `chunkmill chunk` prints [`ChunkRow`]s unchanged, through
//! [`ChunkLines`](super::ChunkLines).

use std::borrow::Cow;
use std::collections::BTreeSet;
use std::ops::Range;
use std::sync::{Arc, Mutex, PoisonError};

use serde::{Deserialize, Serialize};

use crate::chunk::{Chunk, Normalizer, Spec};
use crate::corpus::Quarantined;
use crate::document::{Document, Link, LinkKind, short_target};
use crate::embed::{ZERO_VECTOR, is_zero};

/// A name of a fixed list: a kind, a flag.
type Name = &'static str;

/// A row of `chunks` without its vector. The fields are in the order of the columns.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[expect(missing_docs, reason = "`describe` documents each column, for people and for the card")]
pub struct ChunkRow {
    pub chunk_id: String,
    pub doc_id: Arc<str>,
    pub collection: Arc<str>,
    pub path: Arc<str>,
    pub chunk_index: i64,
    pub section_index: i64,
    pub sub_index: Option<i64>,
    pub n_in_section: i64,
    #[serde(deserialize_with = "name")]
    pub kind: Name,
    pub heading_path: Arc<[String]>,
    pub header_path: Arc<str>,
    pub headings: Vec<HeadingRow>,
    pub content: String,
    pub normalized_content: Option<String>,
    pub start_byte: i64,
    pub end_byte: i64,
    pub start_char: i64,
    pub end_char: i64,
    pub start_line: i64,
    pub end_line: i64,
    pub prefix_len: i64,
    pub has_overlap: bool,
    pub overlap_start_byte: Option<i64>,
    pub overlap_end_byte: Option<i64>,
    pub is_sub_split: bool,
    pub n_chars: i64,
    pub n_tokens: i64,
    /// Set once a model has read the chunk.
    pub n_model_tokens: Option<i64>,
    /// Set once a model has read the chunk.
    pub truncated: Option<bool>,
    #[serde(deserialize_with = "names")]
    pub flags: Vec<Name>,
    pub links: Vec<LinkRow>,
    pub images: Vec<ImageRow>,
    pub tags: Arc<[String]>,
    pub aliases: Arc<[String]>,
    pub metadata: Arc<str>,
    pub promotion_level: Option<Arc<str>>,
    pub content_hash: String,
    #[serde(serialize_with = "rfc3339", deserialize_with = "micros")]
    pub modified_time: Option<i64>,
}

/// A heading that starts in a chunk.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct HeadingRow {
    /// Level from 1, the highest, to 6.
    pub level: i64,
    /// Text of the heading.
    pub title: String,
}

/// A link in a chunk.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct LinkRow {
    /// `link` or `wikilink`.
    #[serde(deserialize_with = "name")]
    pub kind: Name,
    /// Target as written.
    pub target: String,
    /// Target as an absolute URL, if the spec has a base URL.
    pub url: Option<String>,
    /// Text of the link.
    pub text: String,
}

/// An image in a chunk.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct ImageRow {
    /// Target as written.
    pub target: String,
    /// Target as an absolute URL, if the spec has a base URL.
    pub url: Option<String>,
    /// Alternative text.
    pub alt: String,
}

impl LinkRow {
    pub(super) fn cells(&self) -> [Option<&str>; 4] {
        [Some(self.kind), Some(&self.target), self.url.as_deref(), Some(&self.text)]
    }
}

impl ImageRow {
    pub(super) fn cells(&self) -> [Option<&str>; 3] {
        [Some(&self.target), self.url.as_deref(), Some(&self.alt)]
    }
}

/// A row of `documents`. The fields are in the order of the columns.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[expect(missing_docs, reason = "`describe` documents each column, for people and for the card")]
pub struct DocumentRow {
    pub doc_id: Arc<str>,
    pub collection: Arc<str>,
    pub path: Arc<str>,
    pub title: Option<String>,
    pub bytes: i64,
    pub lines: i64,
    pub content_hash: String,
    #[serde(serialize_with = "rfc3339")]
    pub modified_time: Option<i64>,
    pub format: &'static str,
    pub is_chunked: bool,
    pub chunk_count: i64,
    pub tags: Arc<[String]>,
    pub aliases: Arc<[String]>,
    pub metadata: Arc<str>,
    pub promotion_level: Option<Arc<str>>,
    pub flags: Vec<&'static str>,
}

/// A row of `edges`. The fields are in the order of the columns.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct EdgeRow {
    pub from_chunk: String,
    pub from_doc: String,
    pub to_doc: Option<String>,
    pub to_chunk: Option<String>,
    pub kind: LinkKind,
    pub target: String,
    pub resolved: bool,
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
}

impl From<&Quarantined> for QuarantineRow {
    fn from(document: &Quarantined) -> Self {
        Self {
            doc_id: document.doc_id.to_string(),
            collection: document.collection.to_string(),
            path: document.path.to_string(),
            code: document.reason.code().into(),
            reason: document.reason.to_string(),
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
    #[must_use]
    pub fn bytes(&self) -> usize {
        let own = [&self.chunk_id, &self.content, &self.content_hash].map(String::len).iter().sum::<usize>();
        let shared = [&self.doc_id, &self.collection, &self.path, &self.metadata, &self.header_path];
        let lists = [&self.heading_path, &self.tags, &self.aliases].into_iter().flat_map(|list| list.iter());
        let url = |url: &Option<String>| url.as_ref().map_or(0, String::len);
        own + self.normalized_content.as_ref().map_or(0, String::len)
            + shared.map(|text| text.len()).iter().sum::<usize>()
            + lists.map(String::len).sum::<usize>()
            + self.headings.iter().map(|heading| heading.title.len()).sum::<usize>()
            + self.links.iter().map(|link| link.target.len() + link.text.len() + url(&link.url)).sum::<usize>()
            + self.images.iter().map(|image| image.target.len() + image.alt.len() + url(&image.url)).sum::<usize>()
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

    /// Creates the row of a chunk that was cut with `spec` and that no model has read yet. `shared` is the row of
    /// its document: every chunk repeats the document's id, tags, aliases and metadata on disk but shares them in
    /// memory. `n_tokens` is the result of [`Ruler::tokens_between`](crate::tokens::Ruler::tokens_between) for its
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
        Self {
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

impl DocumentRow {
    /// Creates the row of a document that was cut into `chunks` chunks.
    #[must_use]
    pub fn new(document: &Document, chunks: usize) -> Self {
        Self {
            doc_id: Arc::clone(&document.source.doc_id),
            collection: Arc::clone(&document.source.collection),
            path: Arc::clone(&document.source.path),
            title: document.title.clone(),
            bytes: i64::try_from(document.bytes).unwrap_or(i64::MAX),
            lines: int(document.lines()),
            content_hash: document.content_hash.clone(),
            modified_time: document.source.modified_micros,
            format: document.format.name(),
            is_chunked: chunks > 1,
            chunk_count: int(chunks),
            tags: document.tags.clone().into(),
            aliases: document.aliases.clone().into(),
            metadata: serde_json::Value::Object(document.metadata.clone()).to_string().into(),
            promotion_level: document.promotion_level.as_deref().map(Into::into),
            flags: document.flags.clone(),
        }
    }
}

/// Converts a size or offset, which is at most [`crate::corpus::MAX_BYTES`].
fn int(value: usize) -> i64 {
    i64::try_from(value).unwrap_or(i64::MAX)
}

#[expect(clippy::ref_option, reason = "the signature that serde asks for")]
fn rfc3339<S: serde::Serializer>(micros: &Option<i64>, serializer: S) -> Result<S::Ok, S::Error> {
    written(*micros).serialize(serializer)
}

fn micros<'de, D: serde::Deserializer<'de>>(deserializer: D) -> Result<Option<i64>, D::Error> {
    let text = Option::<String>::deserialize(deserializer)?;
    let time = text.map(|text| chrono::DateTime::parse_from_rfc3339(&text)).transpose();
    Ok(time.map_err(serde::de::Error::custom)?.map(|time| time.timestamp_micros()))
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

/// Formats a time for people, as in RFC 3339.
pub(super) fn written(micros: Option<i64>) -> Option<String> {
    let time = micros.and_then(chrono::DateTime::from_timestamp_micros);
    time.map(|time| time.to_rfc3339_opts(chrono::SecondsFormat::Micros, true))
}
