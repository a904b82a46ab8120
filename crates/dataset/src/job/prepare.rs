//! From a document to its rows and to the texts that the model sees.

use std::collections::BTreeMap;
use std::ops::Range;
use std::sync::Arc;

use chunkmill_base::error::{Result, Skip};
use chunkmill_embed::{Passage, Reading};
use chunkmill_text::chunk::{self, Chunk, Pooling, Spec};
use chunkmill_text::document::{Admission, Costly, Document, Layer, Origin, blank_data_urls, without_data_urls};
use chunkmill_text::similarity::{Shingles, Signature};
use chunkmill_text::tokens::Sizer;

use super::duplicates::OwnText;
use crate::corpus::{FetchedDocument, QuarantinedDocument};
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
}

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
        let (mut text, mut end) = (String::new(), self.chunks.first().map_or(0, |chunk| chunk.range.start));
        for Chunk { range, .. } in &self.chunks {
            OwnText::of(&self.document.text, range.clone()).add_to(&mut text, &mut end);
        }
        Shingles::of(&text)
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
        (self.spec.pooling() == Pooling::Late).then(|| Arc::new(Passage::new(name, blank_data_urls(text.clone()))))
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
    let start = row.overlap_start_byte.unwrap_or(row.start_byte);
    let [start, end] = [start, row.end_byte].map(|byte| usize::try_from(byte).unwrap_or_default());
    start..end
}

/// Returns the text that the model sees for a chunk.
pub(super) fn embed_text(row: &ChunkRow, document: &DocumentRow, spec: &Spec) -> String {
    let shown = row.normalized_content.as_ref().unwrap_or(&row.content);
    let shown = without_data_urls(shown).into_owned();
    spec.context().before(&row.header_path, shown, document.title.as_deref(), &document.path)
}
