//! From a document to its rows and to the texts that the model sees.

use std::collections::BTreeMap;
use std::ops::Range;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use chunkmill_base::error::{Error, Result, Skip};
use chunkmill_embed::{Passage, Reading};
use chunkmill_text::chunk::{self, Chunk, Pooling, Spec};
use chunkmill_text::document::{Admission, Costly, Document, Layer, Origin, blank_data_urls, without_data_urls};
use chunkmill_text::similarity::{Shingles, Signature};
use chunkmill_text::tokens::Sizer;
use rayon::prelude::*;

use super::duplicates::{JoinedText, OwnText};
use super::paragraphs::{ChunkText, ParagraphPlace, SkippedBoilerplate, is_inside, meeting, paragraphs};
use crate::corpus::{self, FetchedDocument, QuarantinedDocument, Source};
use crate::dataset::{ChunkRow, DocumentRow};
use crate::links::Outline;

/// A document as rows: its own row, and for each chunk a row and the text that the model sees.
pub struct PreparedDocument {
    /// Row of the table `documents`.
    pub document: DocumentRow,
    /// Rows of the table `chunks`.
    pub chunks: Vec<ChunkRow>,
    /// Text that the model sees for each chunk.
    pub texts: Vec<String>,
    /// Document that the model reads instead, with [`Pooling::Late`].
    pub reading: Option<Reading>,
    /// Anchors that links can name in the document, and its outgoing links.
    pub outline: Outline,
}

/// The settings that turn a source into rows.
#[derive(Clone, Copy)]
pub struct Recipe<'a> {
    /// Chunk settings.
    pub spec: &'a Spec,
    /// Sizer for the unit of the spec.
    pub sizer: Sizer<'a>,
    /// Rules for admitting documents.
    pub admission: Admission,
    /// Promotion levels by document id. They override those in the front matter.
    pub levels: Option<&'a BTreeMap<String, String>>,
}

impl<'a> Recipe<'a> {
    /// Reads, parses, chunks and counts one document.
    ///
    /// # Errors
    /// The outer error comes from the sizer; the inner one says why the document is quarantined.
    pub fn cut(&self, source: impl Into<FetchedDocument>) -> Result<Result<Cut<'a>, QuarantinedDocument>> {
        let source: FetchedDocument = source.into();
        let (memory, limit) = (source.bytes(), self.admission.memory_of(source.bytes()));
        if memory > limit {
            // Not even its bytes fit.
            let hash = source.hash();
            return Ok(Err(QuarantinedDocument::of(source.origin(), Skip::TooCostly { memory, limit }, hash)));
        }
        source.read(&self.admission.read).map_or_else(|passed_over| Ok(Err(passed_over)), |read| self.cut_layer(read))
    }

    /// Does the same as [`cut`](Self::cut) for a document that has already been read.
    pub fn cut_layer(&self, (origin, layer): (Origin, Layer)) -> Result<Result<Cut<'a>, QuarantinedDocument>> {
        let limit = self.admission.memory_of(layer.text.len() as u64);
        let too_costly = |origin, memory, hash| {
            Ok(Err(QuarantinedDocument::of(origin, Skip::TooCostly { memory, limit }, Some(hash))))
        };
        let mut document = match Document::parse_within(origin, layer, limit) {
            Ok(document) => document,
            Err(Costly { origin, content_hash, memory }) => return too_costly(origin, memory, content_hash),
        };
        if let Err(reason) = self.admission.admit(&mut document) {
            return Ok(Err(QuarantinedDocument::of(document.origin, reason, Some(document.content_hash))));
        }
        if let Some(level) = self.levels.and_then(|levels| levels.get(&*document.origin.doc_id)) {
            document.promotion_level = Some(level.clone());
        }
        // Measured once, to cut the document and to count the tokens of its chunks.
        let ruler = self.sizer.measure(&document)?;
        let memory = document.memory();
        let chunks = match chunk::chunk_within(&ruler, self.spec, limit.saturating_sub(memory))? {
            Ok(chunks) => chunks,
            Err(more) => return too_costly(document.origin, memory + more, document.content_hash),
        };
        let row = DocumentRow::new(&document, chunks.len());
        let count = |chunk: &Chunk| {
            let document = ruler.document();
            ruler.tokens_between(&chunk.prefix(document), chunk.range.clone(), chunk.suffix(document))
        };
        let n_tokens = chunks.iter().map(count).collect::<Result<_>>()?;
        Ok(Ok(Cut { row, document, chunks, n_tokens, spec: self.spec }))
    }

    /// Reads, parses, chunks and counts one document, and builds its rows.
    pub fn prepare(&self, source: impl Into<FetchedDocument>) -> Result<Result<PreparedDocument, QuarantinedDocument>> {
        Ok(self.cut(source)?.map(Cut::prepare))
    }

    /// Cuts documents and returns what `take` makes of each; `None` for one that is not indexed.
    pub(super) fn cut_all<T: Send>(
        &self,
        sources: &[Source],
        stop: &AtomicBool,
        take: impl Fn(Cut<'a>) -> T + Sync,
    ) -> Result<Vec<Option<T>>> {
        let mut all = Vec::with_capacity(sources.len());
        for block in corpus::blocks(sources, BLOCK_BYTES) {
            if stop.load(Ordering::Relaxed) {
                return Err(Error::Interrupted);
            }
            let cut = |source: FetchedDocument| Ok(self.cut(source)?.ok().map(&take));
            all.extend(corpus::fetch(block)?.into_par_iter().map(cut).collect::<Result<Vec<_>>>()?);
        }
        Ok(all)
    }
}

/// Bytes of documents that are cut at a time by [`Recipe::cut_all`].
const BLOCK_BYTES: u64 = 8 << 20;

/// Estimated bytes of a row: short texts, links, a vector of about 400 values, and what the batch adds for it.
pub(super) const ROW_BYTES: usize = 2500;

/// A chunked document whose rows are not built yet. The rows of a large document need not be in memory together.
pub struct Cut<'a> {
    /// Row of the table `documents`.
    pub row: DocumentRow,
    pub(super) document: Document,
    pub(super) chunks: Vec<Chunk>,
    pub(super) n_tokens: Vec<usize>,
    pub(super) spec: &'a Spec,
}

impl Cut<'_> {
    /// Builds all rows, each with the text that the model sees.
    pub fn prepare(self) -> PreparedDocument {
        let (document, spec, outline, passage) = (self.row.clone(), self.spec, self.outline(), self.passage());
        let chunks: Vec<ChunkRow> = self.rows().collect();
        let texts = chunks.iter().map(|row| embed_text(row, &document, spec)).collect();
        let reading = passage.map(|passage| Reading { passage, spans: chunks.iter().map(span).collect() });
        PreparedDocument { document, chunks, texts, reading, outline }
    }

    /// Adds the signature of the text of all chunks to the row of the document.
    pub(super) fn signed(mut self) -> Self {
        self.row.signature = Signature::of(&self.shingles()).map(Box::new);
        self
    }

    /// Returns the runs of words of the text of all chunks.
    pub(super) fn shingles(&self) -> Shingles {
        Shingles::of(&self.own_text().0)
    }

    /// Returns the text of all chunks without what they repeat, and where in it the text of each starts.
    fn own_text(&self) -> (String, Vec<usize>) {
        let mut joined = JoinedText::default();
        let own = |chunk: &Chunk| joined.push(&OwnText::of(&self.document, chunk.range.clone()));
        let starts = self.chunks.iter().map(own).collect();
        (joined.text, starts)
    }

    /// Returns the places of all paragraphs in the text of the chunks, without white space around them. A paragraph that
    /// is in several chunks has several.
    pub(super) fn paragraphs(&self) -> Vec<ParagraphPlace> {
        let (text, starts) = self.own_text();
        let mut places = Vec::new();
        for paragraph in paragraphs(&text) {
            let start = paragraph.start + paragraph.text.len() - paragraph.text.trim_start().len();
            let end = start + paragraph.text.trim().len();
            let first = starts.partition_point(|&chunk| chunk <= start).saturating_sub(1);
            for (chunk, &at) in self.chunks[first..].iter().zip(&starts[first..]).take_while(|(_, at)| **at < end) {
                let part = start.max(at)..end.min(at + chunk.range.len());
                if !part.is_empty() {
                    let [start, end] = [part.start, part.end].map(|byte| short(chunk.range.start + byte - at));
                    places.push(ParagraphPlace { hash: paragraph.hash, start, end });
                }
            }
        }
        places.shrink_to_fit();
        places
    }

    /// Leaves paragraphs out of what is embedded.
    pub(super) fn skipping(mut self, skipped: &SkippedBoilerplate) -> Self {
        self.row.boilerplate = skipped.of(&self.row.doc_id, &self.row.content_hash).to_vec();
        self
    }

    /// Returns the document as quarantined, because a service refused a text of it.
    pub(super) fn refused(self, said: &str) -> QuarantinedDocument {
        let Document { origin, content_hash, .. } = self.document;
        QuarantinedDocument::of(origin, Skip::Refused { said: said.to_owned() }, Some(content_hash))
    }

    /// Returns the document as the model reads it whole, if the spec uses late pooling.
    pub(super) fn passage(&self) -> Option<Arc<Passage>> {
        let Document { title, origin, text, .. } = &self.document;
        let name = self.spec.context().name_of(title.as_deref(), &origin.path);
        (self.spec.pooling() == Pooling::Late).then(|| {
            let mut seen = blank_data_urls(text.clone());
            for Chunk { range, .. } in &self.chunks {
                if !is_inside(&text[range.clone()], range.start, &self.row.boilerplate) {
                    for part in meeting(&self.row.boilerplate, range) {
                        seen.replace_range(part.clone(), &" ".repeat(part.len()));
                    }
                }
            }
            Arc::new(Passage::new(name, seen))
        })
    }

    /// Returns the anchors that links can name in the document, and its outgoing links.
    pub(super) fn outline(&self) -> Outline {
        Outline::new(&self.document, &self.chunks)
    }

    /// Estimates the memory that all its rows would take together with their vectors, in bytes.
    pub(super) fn row_bytes(&self) -> usize {
        let texts = |chunk: &Chunk| {
            let path: usize = chunk.heading_path.iter().map(String::len).sum();
            chunk.prefix(&self.document).len() + chunk.range.len() + chunk.suffix(&self.document).len() + 2 * path
        };
        self.chunks.iter().map(|chunk| ROW_BYTES + texts(chunk)).sum()
    }

    /// Returns the rows of the table `chunks`, each built on demand.
    pub fn rows(self) -> impl Iterator<Item = ChunkRow> {
        let Self { row, document, chunks, n_tokens, spec } = self;
        let counted = chunks.into_iter().zip(n_tokens);
        counted.map(move |(chunk, n_tokens)| ChunkRow::new(&document, chunk, spec, &row, n_tokens))
    }
}

/// Returns the byte range of a chunk in its document, including the overlap before it.
pub(super) fn span(row: &ChunkRow) -> Range<usize> {
    byte(row.overlap_start_byte.unwrap_or(row.start_byte))..byte(row.end_byte)
}

/// Returns the text that the model sees for a chunk.
pub(super) fn embed_text(row: &ChunkRow, document: &DocumentRow, spec: &Spec) -> String {
    let [prefix_len, start, end] = [row.prefix_len, row.start_byte, row.end_byte].map(byte);
    let overlap = row.overlap_start_byte.zip(row.overlap_end_byte);
    let text = ChunkText {
        content: &row.content,
        normalized: row.normalized_content.as_deref(),
        prefix_len,
        range: start..end,
        overlap: overlap.map(|(start, end)| byte(start)..byte(end)),
    };
    let shown = without_data_urls(&text.without(&document.boilerplate)).into_owned();
    spec.context().before(&row.header_path, shown, document.title.as_deref(), &document.path)
}

/// Converts an offset of a row.
fn byte(value: i64) -> usize {
    usize::try_from(value).unwrap_or_default()
}

/// Converts an offset in a text, which is at most [`chunkmill_text::document::MAX_BYTES`].
fn short(value: usize) -> u32 {
    u32::try_from(value).unwrap_or(u32::MAX)
}
