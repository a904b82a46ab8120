//! Chunking: a document and a [`Spec`] make [`Chunk`]s.
//!
//! A strategy proposes groups of source ranges, one file per strategy; `pack` alone enforces
//! sizes and overlap; this file alone gives ids, paths and positions. So every strategy works with
//! every unit, and every chunk obeys the same rules:
//!
//! - its content is a prefix and then exactly the bytes `range` of the document;
//! - the ranges of a document's chunks do not overlap and hold every byte that is not white space
//!   or dropped front matter;
//! - its size is at most the spec's maximum, unless it is one atomic block and flagged
//!   `oversized_…`.
//!
//! Strategies that are still to come go beside `header` and `heading` and into [`Strategy`].

mod header;
mod heading;
mod none;
mod normalize;
mod pack;
mod spec;

use std::fmt;
use std::ops::Range;

pub use normalize::Normalizer;
pub use spec::{Preset, Settings, Spec, Strategy};

use crate::document::Document;
use crate::error::Result;
use crate::tokens::Sizer;
use pack::{Group, Packer};

/// What a chunk holds.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Kind {
    /// Part of a document.
    Text,
    /// A whole document, as [`Strategy::None`] makes them.
    Document,
}

impl Kind {
    /// The name written to datasets.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Self::Text => "text",
            Self::Document => "document",
        }
    }
}

/// Why a chunk starts where it does.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Boundary {
    /// The text starts here.
    Start,
    /// A heading of this level starts here.
    Heading(u8),
    /// The chunk before was full; this is the next blank line.
    BlankLine,
    /// The chunk before was full, no blank line would have served; this is the next block.
    Block,
    /// The chunk before was full; this is inside a block, at the limit.
    Limit,
}

impl fmt::Display for Boundary {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Start => write!(f, "start of text"),
            Self::Heading(level) => write!(f, "heading {level}"),
            Self::BlankLine => write!(f, "full: blank line"),
            Self::Block => write!(f, "full: next block"),
            Self::Limit => write!(f, "full: at the limit"),
        }
    }
}

/// A piece of one document.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Chunk {
    /// Unique in the corpus, the same for the same input and spec.
    pub id: String,
    /// Position in the document, from 0.
    pub index: usize,
    /// Position of the section (or merged sections) it comes from among those of the document.
    pub section_index: usize,
    /// Position among the pieces of a section that was split; `None` if it was not.
    pub sub_index: Option<usize>,
    /// How many chunks its section gave.
    pub n_in_section: usize,
    /// What it holds.
    pub kind: Kind,
    /// Titles of the headings that its source starts under, outermost first.
    pub heading_path: Vec<String>,
    /// The heading path in the strategy's own way of writing it.
    pub header_path: String,
    /// What stands before the source text: parent headers, overlap.
    pub prefix: String,
    /// Whether the prefix repeats text of the chunk before.
    pub has_overlap: bool,
    /// Its bytes in the document.
    pub range: Range<usize>,
    /// `oversized_…` if it is over the maximum.
    pub flags: Vec<&'static str>,
    /// Why it starts where it does.
    pub boundary: Boundary,
}

impl Chunk {
    /// The text: prefix, then source.
    #[must_use]
    pub fn content(&self, document: &Document) -> String {
        format!("{}{}", self.prefix, &document.text[self.range.clone()])
    }

    /// How many sections of the document its source touches.
    #[must_use]
    pub fn sections(&self, document: &Document) -> usize {
        let last = document.section_at(self.range.end.saturating_sub(1).max(self.range.start));
        last.zip(document.section_at(self.range.start)).map_or(0, |(last, first)| last - first + 1)
    }
}

/// What the model sees for a chunk whose content is `content`.
#[must_use]
pub fn embed_text(chunk: &Chunk, content: String, spec: &Spec) -> String {
    if spec.heading_context() && !chunk.header_path.is_empty() {
        format!("{}\n\n{content}", chunk.header_path)
    } else {
        content
    }
}

/// Cuts a document. The result depends on the document, the spec and the sizer's tokenizer alone.
/// Linear in the document's length for any fixed limit.
///
/// # Errors
/// [`Error::Embed`](crate::error::Error::Embed) if the sizer's tokenizer fails.
pub fn chunk(document: &Document, spec: &Spec, sizer: Sizer<'_>) -> Result<Vec<Chunk>> {
    let ruler = sizer.measure(document)?;
    let packer = Packer { document, spec, sizer, ruler: &ruler };
    let groups = match spec.strategy() {
        Strategy::Header => header::propose(&packer)?,
        Strategy::Heading => heading::propose(&packer)?,
        Strategy::None => none::propose(document),
    };
    Ok(assemble(document, spec, groups))
}

fn assemble(document: &Document, spec: &Spec, groups: Vec<Group>) -> Vec<Chunk> {
    let mut chunks = Vec::with_capacity(groups.len());
    for (section_index, group) in groups.into_iter().enumerate() {
        let n_in_section = group.pieces.len();
        for (sub, piece) in group.pieces.into_iter().enumerate() {
            let index = chunks.len();
            let sub_index = group.split.then_some(sub);
            let whole = spec.strategy() == Strategy::None;
            let section = if whole { None } else { document.section_at(piece.range.start) };
            let heading_path = section.map(|section| document.heading_path(section)).unwrap_or_default();
            chunks.push(Chunk {
                id: id(spec.strategy(), &document.source.doc_id, index, section_index, sub_index),
                index,
                section_index,
                sub_index,
                n_in_section,
                kind: if whole { Kind::Document } else { Kind::Text },
                header_path: heading_path.join(" > "),
                heading_path,
                prefix: piece.prefix,
                has_overlap: piece.has_overlap,
                range: piece.range,
                flags: piece.flags,
                boundary: piece.boundary,
            });
        }
    }
    chunks
}

fn id(strategy: Strategy, doc_id: &str, index: usize, section: usize, sub: Option<usize>) -> String {
    match (strategy, sub) {
        (Strategy::Heading, _) => format!("{doc_id}#{index}"),
        (Strategy::Header | Strategy::None, None) => format!("{doc_id}_chunk_{section}"),
        (Strategy::Header | Strategy::None, Some(sub)) => format!("{doc_id}_chunk_{section}_sub_{sub}"),
    }
}
