//! Chunking: turns a document into [`Chunk`]s, according to a [`Spec`].
//!
//! A strategy proposes groups of source ranges, one file per strategy. Only `pack` enforces sizes and overlap;
//! only this file assigns ids, paths and positions. Every strategy therefore works with every unit, and every
//! chunk obeys the same rules:
//!
//! - its content is a prefix, exactly the bytes `range` of the document, and a suffix;
//! - the ranges of a document's chunks do not overlap, and they cover every byte except white space, dropped front
//!   matter and what the spec leaves out;
//! - its size is at most the spec's maximum, unless it is one atomic block, perhaps with its headings or overlap, and
//!   flagged `oversized_…`;
//! - its heading path is that of the first text in it that is not a heading.
//!
//! How the strategies differ, one file each:
//!
//! | strategy | may cut | merges | over the limit |
//! | --- | --- | --- | --- |
//! | `header` | before every heading | forward until the minimum, a small rest backward | whole blocks up to the maximum |
//! | `section` | before every heading, around documentation in source code | a small section with the next one that is not deeper, a heading alone with any; items of source code inside one item | whole blocks up to the target, then sentences |
//! | `semantic` | where a subtree of sections no longer fits | siblings up to the target | whole blocks up to the target |
//! | `code_aware` | like `semantic`, and around code | like `semantic`, prose and code separately | like `semantic` |
//! | `fixed` | before headings, or nowhere | forward until the minimum | windows of the target |
//! | `heading` | before every heading | never | windows of the maximum |
//! | `lines` | before headings 2 and 3 of long documents | never | whole blocks up to the maximum |
//! | `structure` | wherever it costs least | chunks under the minimum, inside one parent first | blocks, then rows, lines, sentences, words |
//! | `recursive`, `chroma_recursive` | at separators, from blank line to character | pieces up to the maximum | – |
//! | `windows` | anywhere | never | windows of the maximum |
//! | `none` | nowhere | – | – |

mod context;
mod fixed;
mod fragment;
mod header;
mod heading;
mod id;
mod items;
mod lines;
mod none;
mod normalize;
mod pack;
mod packer;
mod part;
mod piece;
mod pooling;
mod recursive;
mod repeats;
mod section;
mod segment;
mod semantic;
mod sentence;
mod settings;
mod spec;
mod strategy;
mod structure;
mod windows;

use std::ops::Range;
use std::sync::Arc;

use chunkmill_base::error::Result;

pub use context::Context;
pub use normalize::Normalizer;
pub use piece::{Boundary, Kind};
pub use pooling::Pooling;
pub use repeats::{OVERLAP_SEPARATOR, Repeats};
pub use sentence::sentence_starts;
pub use settings::{BaseUrl, Settings, TokenEstimator};
pub use spec::Spec;
pub use strategy::{Preset, Strategy, Switch};

use crate::document::{Block, BlockKind, DOCUMENT_BLOCKED, Document, INLINE_DATA, Signal};
use crate::tokens::{Ruler, Sizer};
use id::Ids;
use packer::{Budget, Packer};
use piece::{Group, Piece};

/// A piece of one document.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Chunk {
    /// Id, unique in the corpus and the same for the same input and spec.
    pub id: String,
    /// Position in the document, from 0.
    pub index: usize,
    /// Position in the document of its section, or of the merged sections it comes from.
    pub section_index: usize,
    /// Position among the pieces of a section that was split; `None` if it was not split.
    pub sub_index: Option<usize>,
    /// Number of chunks from its section.
    pub n_in_section: usize,
    /// The kind of its contents.
    pub kind: Kind,
    /// Titles of the headings above the first text of its source that is not a heading, outermost first. The chunks of
    /// a section share them.
    pub heading_path: Arc<[String]>,
    /// The heading path in the strategy's own notation.
    pub header_path: Arc<str>,
    /// What it repeats around its own text: headings, the end of the previous chunk, the lines around a table or fence
    /// that was cut.
    pub repeats: Repeats,
    /// Its byte range in the document.
    pub range: Range<usize>,
    /// `oversized_…` if it is over the maximum, or is part of a list item that is; the names of the document's
    /// [signals](Document::signals) in it; `inline_data` if it has an [inline URL](Document::data_urls); and whether its
    /// document is blocked.
    pub flags: Vec<&'static str>,
    /// The reason why it starts where it does.
    pub boundary: Boundary,
}

impl Chunk {
    /// Returns the text: its own, with what it repeats before and after it.
    pub fn content(&self, document: &Document) -> String {
        [&self.prefix(document), &document.text[self.range.clone()], self.suffix(document)].concat()
    }

    /// Returns the text before its own.
    pub fn prefix(&self, document: &Document) -> String {
        self.repeats.before(document, self.range.start)
    }

    /// Returns the text after its own.
    pub fn suffix<'d>(&self, document: &'d Document) -> &'d str {
        self.repeats.after(document)
    }

    /// Returns the number of sections that its source touches.
    pub fn sections(&self, document: &Document) -> usize {
        let last = document.section_at(self.range.end.saturating_sub(1).max(self.range.start));
        last.zip(document.section_at(self.range.start)).map_or(0, |(last, first)| last - first + 1)
    }
}

/// Chunks a document. The result depends only on the document, the spec and the sizer's tokenizer. Time is linear
/// in the document's length for any fixed limit.
///
/// # Errors
/// [`Error::Embed`](chunkmill_base::error::Error::Embed) if the sizer's tokenizer fails.
pub fn chunk(document: &Document, spec: &Spec, sizer: Sizer<'_>) -> Result<Vec<Chunk>> {
    chunk_measured(&sizer.measure(document)?, spec)
}

/// Chunks a document that the caller has already measured. The ruler's sizer must use the spec's unit.
pub fn chunk_measured(ruler: &Ruler<'_>, spec: &Spec) -> Result<Vec<Chunk>> {
    Ok(chunk_within(ruler, spec, u64::MAX)?.unwrap_or_default())
}

/// Does the same as [`chunk_measured`] for chunks that may take at most `memory` bytes. They are counted before they
/// are built.
///
/// # Errors
/// The outer error is that of [`chunk`]; the inner one is the memory that the chunks take at least, in bytes.
pub fn chunk_within(ruler: &Ruler<'_>, spec: &Spec, memory: u64) -> Result<Result<Vec<Chunk>, u64>> {
    let document = ruler.document();
    let room = if spec.strategy() == Strategy::Structure { structure::room(ruler, spec)? } else { 0 };
    let budget = Budget::new(memory);
    let packer = Packer { document, spec: &spec.narrowed(room), sizer: ruler.sizer(), ruler, budget: &budget };
    let groups = match spec.strategy() {
        Strategy::Header => header::propose(&packer)?,
        Strategy::Section => section::propose(&packer)?,
        Strategy::Semantic | Strategy::CodeAware => semantic::propose(&packer)?,
        Strategy::Fixed => fixed::propose(&packer)?,
        Strategy::Heading => heading::propose(&packer)?,
        Strategy::Lines => lines::propose(&packer)?,
        Strategy::Structure => structure::propose(&packer)?,
        Strategy::Recursive => recursive::propose(&packer, &recursive::LANGCHAIN)?,
        Strategy::ChromaRecursive => recursive::propose(&packer, &recursive::CHROMA)?,
        Strategy::Windows => windows::propose(&packer)?,
        Strategy::None => none::propose(document),
    };
    let chunks = assemble(document, spec, groups, &budget);
    Ok(if budget.is_over() { Err(budget.used()) } else { Ok(chunks) })
}

/// Makes chunks of groups, as many as there is room for.
fn assemble(document: &Document, spec: &Spec, groups: Vec<Group>, budget: &Budget) -> Vec<Chunk> {
    // The pieces of sections that were split are counted already.
    let whole: usize = groups.iter().filter(|group| !group.split).map(|group| group.pieces.len()).sum();
    if !budget.take(groups.len() * size_of::<Group>() + whole * size_of::<Piece>()) {
        return Vec::new();
    }
    let mut chunks = Vec::with_capacity(groups.len());
    let mut paths = Paths { document, spec, of: None, last: Path::default() };
    let mut signals = SignalCursor { document, next: 0, open: Vec::new() };
    let mut ids = Ids::new(spec.strategy(), &document.origin.doc_id);
    for (section_index, group) in groups.into_iter().enumerate() {
        let n_in_section = group.pieces.len();
        let footnote = (group.kind == Kind::Footnote).then(|| {
            let start = group.pieces.first().map_or(0, |piece| piece.range.start);
            ids.footnote(label(document, start), group.split.then_some(n_in_section))
        });
        for (sub, piece) in group.pieces.into_iter().enumerate() {
            let index = chunks.len();
            let sub_index = group.split.then_some(sub);
            let first = if group.kind == Kind::Document { None } else { document.section_at(piece.range.start) };
            let sections = first.map(|first| (first, first_with_text(document, first, &piece.range)));
            let Some((heading_path, header_path)) = paths.of(sections, budget) else { return chunks };
            let id = match &footnote {
                Some(ids) => ids[sub].clone(),
                None => ids.text(index, section_index, sub_index),
            };
            if !budget.take(size_of::<Chunk>() + id.len()) {
                return chunks;
            }
            chunks.push(Chunk {
                id,
                index,
                section_index,
                sub_index,
                n_in_section,
                kind: kind(document, group.kind, &piece),
                heading_path,
                header_path,
                flags: flags(document, &mut signals, &piece),
                repeats: piece.repeats,
                range: piece.range,
                boundary: piece.boundary,
            });
        }
    }
    chunks
}

/// Returns the first section with text of its own in a range that starts in the section `first`; `first` if there is
/// none.
fn first_with_text(document: &Document, first: usize, range: &Range<usize>) -> usize {
    let inside = document.sections[first..].iter().take_while(|section| section.range.start < range.end);
    let mut parts = inside.map(|section| section.range.start.max(range.start)..section.range.end.min(range.end));
    first + parts.position(|part| part::has_text(document, &part)).unwrap_or(0)
}

/// A heading path: its titles, and all of it in the strategy's own notation.
type Path = (Arc<[String]>, Arc<str>);

/// The heading paths of chunks in order. Consecutive chunks of a section share theirs.
struct Paths<'d> {
    document: &'d Document,
    spec: &'d Spec,
    /// The sections that the last path is of.
    of: Option<(usize, usize)>,
    last: Path,
}

impl Paths<'_> {
    /// Returns the heading path of a chunk, or `None` if there is no room for it. `sections` are the one in which the
    /// chunk starts and the first in it with text.
    fn of(&mut self, sections: Option<(usize, usize)>, budget: &Budget) -> Option<Path> {
        if self.of != sections {
            let titles = sections.map(|(_, section)| self.document.heading_path(section)).unwrap_or_default();
            let texts: usize = titles.iter().map(String::len).sum();
            if !budget.take(titles.len() * size_of::<String>() + 2 * texts) {
                return None;
            }
            let written = match sections {
                Some((first, _)) if self.spec.strategy() == Strategy::Lines => lines::header_path(self.document, first),
                _ => titles.join(" > "),
            };
            (self.of, self.last) = (sections, (titles.into(), written.into()));
        }
        Some(self.last.clone())
    }
}

/// Returns the label of the footnote whose definition starts here.
fn label(document: &Document, start: usize) -> &str {
    let footnotes = &document.footnotes;
    let after = footnotes.partition_point(|footnote| document.blocks[footnote.block].range.start <= start);
    after.checked_sub(1).map_or("", |at| &footnotes[at].label)
}

/// Returns the kind of a piece. If a group of code had to be split, a piece may contain only the text next to the
/// code.
fn kind(document: &Document, kind: Kind, piece: &Piece) -> Kind {
    let blocks = &document.blocks;
    let is_code = |block: &Block| block.kind == BlockKind::Code;
    let starts = || document.blocks_in(&piece.range).iter().any(is_code);
    let goes_on = || {
        let first = blocks.partition_point(|block| block.range.start < piece.range.start);
        let before = document.top_level_block_before(first).map(|before| &blocks[before]);
        before.is_some_and(|before| is_code(before) && before.range.end > piece.range.start)
    };
    if kind == Kind::Code && !starts() && !goes_on() { Kind::Text } else { kind }
}

/// Returns the piece's own flags and those it inherits: the signals of its text, overlap included, and that its
/// document would be blocked.
fn flags(document: &Document, signals: &mut SignalCursor<'_>, piece: &Piece) -> Vec<&'static str> {
    let mut flags = piece.flags.clone();
    let Repeats { overlap, .. } = &piece.repeats;
    // There is nothing but white space between the overlap and the piece.
    let start = overlap.as_ref().map_or(piece.range.start, |overlap| overlap.start);
    // Most documents have neither.
    if !document.signals.is_empty() {
        let own = signals.within(start..piece.range.end);
        let others = piece.repeats.others(document).flat_map(|range| signals_in(document, range));
        for name in others.chain(own) {
            if !flags.contains(&name) {
                flags.push(name);
            }
        }
    }
    if !document.data_urls.is_empty() {
        let mut ranges = piece.repeats.others(document).chain(std::iter::once(start..piece.range.end));
        let has_data = ranges.any(|range| !document.data_urls_in(&range).is_empty());
        flags.extend(has_data.then_some(INLINE_DATA));
    }
    flags.extend(document.flags.iter().copied().filter(|&flag| flag == DOCUMENT_BLOCKED));
    flags
}

/// Returns the names of the signals that start in a range.
fn signals_in(document: &Document, range: Range<usize>) -> impl Iterator<Item = &'static str> {
    let first = document.signals.partition_point(|signal| signal.range.start < range.start);
    let inside = document.signals[first..].iter().take_while(move |signal| signal.range.start < range.end);
    inside.map(|signal| signal.kind.name())
}

/// A cursor over a document's signals that advances with its pieces.
struct SignalCursor<'d> {
    document: &'d Document,
    /// The first signal that starts after all pieces so far.
    next: usize,
    /// Signals before it that may reach into the next piece or its overlap.
    open: Vec<&'d Signal>,
}

impl SignalCursor<'_> {
    /// Returns the names of the signals that touch a range. The ends of successive ranges must ascend.
    fn within(&mut self, range: Range<usize>) -> impl Iterator<Item = &'static str> {
        let signals = &self.document.signals;
        while let Some(signal) = signals.get(self.next).filter(|signal| signal.range.start < range.end) {
            self.open.push(signal);
            self.next += 1;
        }
        self.open.retain(|signal| signal.range.end > range.start);
        self.open.iter().map(|signal| signal.kind.name())
    }
}
