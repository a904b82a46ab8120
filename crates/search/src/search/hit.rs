//! The results of a search: chunks with their texts and citations, and documents.

use std::collections::HashMap;
use std::sync::Arc;

use chunkmill_base::error::Result;
use chunkmill_base::value::named;
use chunkmill_text::document;
use serde::Serialize;
use serde_json::{Map, Value};

use super::query::Query;
use super::searcher::Searcher;
use crate::ranking::{DocumentInfo, FoundChunk, Parts};

named! {
    /// The kind of results to show.
    #[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
    pub enum Show: "a kind of result" {
        /// Chunks.
        #[default]
        Chunks = "chunks",
        /// Spans: chunks that touch or follow each other in a document become one.
        Spans = "spans",
        /// Chunks, each with the row of its document.
        Both = "both",
        /// Documents, each once, with the chunks that were found in it.
        Documents = "documents",
    }
}

/// The location of a chunk.
#[derive(Debug, Clone)]
pub struct Place<'s> {
    /// Its document.
    pub document: &'s Arc<DocumentInfo>,
    /// Position in the document, from 0.
    pub chunk_index: u32,
    /// Offset of its first byte in the document.
    pub start_byte: u64,
    /// Offset of its end in the document.
    pub end_byte: u64,
    /// Its first line, from 1.
    pub start_line: u32,
    /// Its last line.
    pub end_line: u32,
    /// Where it is in a document that is not text, as it is cited after the path: `#install`, `slide 4`.
    pub cited_place: Option<&'s str>,
    /// Number of bytes of its content before the document's own text.
    pub prefix_len: u32,
    /// Heading path as one string.
    pub header_path: &'s str,
    /// Heading path as a list, outermost heading first.
    pub heading_path: Vec<&'s str>,
}

impl Place<'_> {
    /// Returns the part of its content that is the document's own text, without what is repeated before and after
    /// it.
    pub fn source<'c>(&self, content: &'c str) -> &'c str {
        let start = self.prefix_len as usize;
        let len = usize::try_from(self.end_byte.saturating_sub(self.start_byte)).unwrap_or(usize::MAX);
        content.get(start..start.saturating_add(len)).unwrap_or_default()
    }

    /// Returns path and place as editors and people read them: `guide/start.md:3-17`, `guide.html#install`,
    /// `deck.pptx slide 4`.
    pub fn citation(&self) -> String {
        citation(&self.document.path, self.cited_place, [self.start_line, self.end_line])
    }
}

/// Returns how a place in a document is cited: by its lines, unless it has another name.
pub(super) fn citation(path: &str, place: Option<&str>, [start, end]: [u32; 2]) -> String {
    match place {
        None => format!("{path}:{start}-{end}"),
        Some(place) if place.starts_with([':', '#']) => format!("{path}{place}"),
        Some(place) => format!("{path} {place}"),
    }
}

/// Returns the place from the start of one to the end of another, later one.
pub(super) fn joined_place(first: &str, last: &str) -> String {
    const TO: &str = " to ";
    // A link leads to where the passage starts.
    if first == last || first.starts_with('#') {
        return first.to_owned();
    }
    let lines = first.strip_prefix(':').and_then(|lines| lines.split_once('-'));
    if let (Some((start, _)), Some((_, end))) = (lines, last.rsplit_once('-')) {
        return format!(":{start}-{end}");
    }
    let start = first.split_once(TO).map_or(first, |(start, _)| start);
    let end = last.rsplit_once(TO).map_or(last, |(_, end)| end);
    document::Place::new(start).to(&document::Place::new(end))
}

/// A chunk that was found.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Hit {
    /// Position among the hits, from 1.
    pub rank: usize,
    /// Dot product of the vectors (the cosine if the model normalises), BM25 or fused score, depending on the mode.
    pub score: f64,
    /// Id of its document.
    pub doc_id: String,
    /// Id of the chunk.
    pub chunk_id: String,
    /// Path of the document below its root.
    pub path: String,
    /// Offset of its first byte in the document.
    pub start_byte: u64,
    /// Offset of its end in the document.
    pub end_byte: u64,
    /// Its first line, from 1.
    pub start_line: u32,
    /// Its last line.
    pub end_line: u32,
    /// Heading path as one string.
    pub header_path: String,
    /// Its text.
    pub content: String,
    /// `path:start_line-end_line` or, of a document that is not text, its path and place: `guide.html#install`.
    pub citation: String,
    /// Collection of the document.
    pub collection: String,
    /// Position in the document, from 0.
    pub chunk_index: u32,
    /// Number of bytes of `content` before the document's own text.
    pub prefix_len: u32,
    /// The document's front matter, without title, tags and aliases.
    pub metadata: Map<String, Value>,
    /// Rank and score in each list.
    pub scores: Parts,
    /// Chance that it holds evidence, from 0 to 1, if the score is a weighted sum.
    pub chance: Option<f64>,
    /// Row of the document, if requested.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub document: Option<Arc<DocumentInfo>>,
}

/// A document that was found by its chunks.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct DocumentHit {
    /// Position among the documents, from 1.
    pub rank: usize,
    /// Score of its best chunk.
    pub score: f64,
    /// Row of the document.
    #[serde(flatten)]
    pub document: Arc<DocumentInfo>,
    /// Its chunks that reach the requested lowest score, best first. Only the best chunk if no lowest score was
    /// requested.
    pub chunks: Vec<Hit>,
}

impl Searcher {
    /// Returns the location of a row.
    ///
    /// # Panics
    /// If the dataset does not have this row.
    pub fn place(&self, row: u32) -> Place<'_> {
        let row = self.rows().row(row);
        let headings = self.rows().headings_of(row);
        Place {
            document: self.rows().document(row.doc),
            chunk_index: row.position,
            start_byte: row.start_byte,
            end_byte: row.end_byte,
            start_line: row.start_line,
            end_line: row.end_line,
            cited_place: self.rows().cited_place(row),
            prefix_len: row.prefix_len,
            header_path: headings.header_path,
            heading_path: headings.path,
        }
    }

    /// Reads the ids, texts and metadata of hits. With `documents`, each hit also gets the row of its document.
    ///
    /// # Errors
    /// [`Error::Dataset`](chunkmill_base::error::Error::Dataset) if a file is damaged or missing.
    pub fn hits(&self, found: &[FoundChunk], documents: bool) -> Result<Vec<Hit>> {
        let rows: Vec<u32> = found.iter().map(|found| found.row).collect();
        let texts = self.rows().fetch(self.dataset(), &rows, ["chunk_id", "content", "metadata"])?;
        let hit = |(rank, (found, [chunk_id, content, metadata])): (usize, (&FoundChunk, [String; 3]))| {
            let place = self.place(found.row);
            Hit {
                rank,
                score: found.score,
                doc_id: place.document.doc_id.clone(),
                chunk_id,
                path: place.document.path.clone(),
                start_byte: place.start_byte,
                end_byte: place.end_byte,
                start_line: place.start_line,
                end_line: place.end_line,
                header_path: place.header_path.to_owned(),
                content,
                citation: place.citation(),
                collection: place.document.collection.clone(),
                chunk_index: place.chunk_index,
                prefix_len: place.prefix_len,
                metadata: serde_json::from_str(&metadata).unwrap_or_default(),
                scores: found.parts,
                chance: found.chance,
                document: documents.then(|| Arc::clone(place.document)),
            }
        };
        Ok((1..).zip(found.iter().zip(texts)).map(hit).collect())
    }

    /// Returns the best `k` documents by their best chunks. With a lowest score, only documents with a chunk that
    /// reaches it are returned. With `rrf`, the fused list is only as deep as its parts:
    /// [`Ranking::depth`](crate::ranking::Ranking::depth).
    pub fn documents(&self, query: &Query<'_>) -> Result<Vec<DocumentHit>> {
        let all = Query { k: self.len(), ..query.clone() };
        let mut order: Vec<Vec<FoundChunk>> = Vec::new();
        let mut places = HashMap::new();
        for found in self.search(&all)? {
            let doc = self.rows().row(found.row).doc;
            match places.get(&doc) {
                Some(&at) if query.min_score.is_some() => Vec::push(&mut order[at], found),
                None if order.len() < query.k => {
                    places.insert(doc, order.len());
                    order.push(vec![found]);
                }
                Some(_) | None => {}
            }
        }
        let flat: Vec<FoundChunk> = order.iter().flatten().copied().collect();
        let mut hits = self.hits(&flat, false)?.into_iter();
        let document = |(rank, found): (usize, Vec<FoundChunk>)| {
            let mut chunks: Vec<Hit> = hits.by_ref().take(found.len()).collect();
            for (rank, chunk) in (1..).zip(&mut chunks) {
                chunk.rank = rank;
            }
            let document = Arc::clone(self.place(found[0].row).document);
            DocumentHit { rank, score: found[0].score, document, chunks }
        };
        Ok((1..).zip(order).map(document).collect())
    }
}
