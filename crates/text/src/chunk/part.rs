//! A document in parts that never share a chunk: prose, and what a strategy keeps separate or leaves out. Parts
//! follow the sections: each is inside one.

use std::ops::Range;
use std::sync::LazyLock;

use chunkmill_base::error::Result;
use regex::Regex;

use super::packer::Packer;
use super::piece::{Boundary, Group, Kind};
use crate::document::{Block, BlockKind, Document, Format, is_blank, trim};

/// HTML that shows nothing by itself: comments, and the tags of anchors and containers. The value is `None` only if
/// the pattern is wrong, which a test would show.
static NO_TEXT: LazyLock<Option<Regex>> = LazyLock::new(|| {
    let names = "a|b|br|center|details|div|em|font|hr|i|p|section|small|span|strong|sub|sup";
    Regex::new(&format!(r"(?si)\A(?:\s|<!--.*?-->|</?(?:{names})(?:\s[^<>]*)?/?>)*\z")).ok()
});

/// The treatment of a top-level block.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Treatment {
    /// Stays in the prose around it.
    Prose,
    /// Is a separate part.
    Apart(Kind),
    /// Is not in any chunk.
    Out,
}

/// A range inside one section, or inside several merged sections.
#[derive(Debug, Clone)]
pub(super) struct Part {
    /// The first section that it is in.
    pub(super) section: usize,
    pub(super) range: Range<usize>,
    /// The kind of its contents; `None` if it is left out.
    pub(super) kind: Option<Kind>,
}

/// Returns the parts of a document in order. Parts of white space only are left out.
pub(super) fn parts(document: &Document, treatment: impl Fn(&Block) -> Treatment) -> Vec<Part> {
    let mut parts: Vec<Part> = Vec::new();
    let mut push = |section: usize, range: Range<usize>, kind: Option<Kind>| {
        if !is_blank(&document.text[range.clone()]) {
            parts.push(Part { section, range: trim(&document.text, range), kind });
        }
    };
    let mut block = 0;
    for (index, section) in document.sections.iter().enumerate() {
        let mut at = section.range.start;
        while let Some(Block { range, next, .. }) = document.blocks.get(block)
            && range.start < section.range.end
        {
            let kind = match treatment(&document.blocks[block]) {
                Treatment::Prose => None,
                Treatment::Apart(kind) => Some(Some(kind)),
                Treatment::Out => Some(None),
            };
            if let Some(kind) = kind {
                let (start, end) = (range.start.max(at), range.end.min(section.range.end));
                push(index, at..start, Some(Kind::Text));
                push(index, start..end, kind);
                at = end;
            }
            block = *next;
        }
        push(index, at..section.range.end, Some(Kind::Text));
    }
    parts
}

impl Part {
    /// Adds the next part. Code together with its documentation is code.
    pub(super) fn join(&mut self, next: &Self) {
        self.range.end = next.range.end;
        if self.kind != next.kind {
            self.kind = Some(Kind::Code);
        }
    }

    /// Returns whether it is one or more headings and nothing else.
    pub(super) fn is_bare(&self, document: &Document) -> bool {
        self.kind == Some(Kind::Text) && is_bare(document, &self.range)
    }

    /// Returns whether headings may join it: footnotes and what is left out have none.
    fn holds_text(&self) -> bool {
        matches!(self.kind, Some(Kind::Text | Kind::Code))
    }

    /// Returns the reason why a chunk starts here.
    pub(super) fn boundary(&self, document: &Document) -> Boundary {
        let section = &document.sections[self.section];
        let starts_section = is_blank(&document.text[section.range.start..self.range.start]);
        match self.kind {
            _ if starts_section && section.level > 0 => Boundary::Heading(section.level),
            _ if self.section == 0 && starts_section => Boundary::Start,
            Some(Kind::Code) => Boundary::Code,
            Some(Kind::Footnote) => Boundary::Footnote,
            _ => Boundary::Prose,
        }
    }

    /// Returns its chunks: one if it fits, otherwise whole blocks packed to the target.
    pub(super) fn packed(&self, packer: &Packer<'_>) -> Result<Option<Group>> {
        let Some(kind) = self.kind else { return Ok(None) };
        let group = packer.whole_or_filled(self.range.clone(), self.boundary(packer.document))?;
        Ok(Some(group.of(kind)))
    }

    /// Returns its chunks as windows.
    pub(super) fn windows(&self, packer: &Packer<'_>) -> Result<Option<Group>> {
        let Some(kind) = self.kind else { return Ok(None) };
        let group = packer.whole_or_windows(self.range.clone(), self.boundary(packer.document))?;
        Ok(Some(group.of(kind)))
    }
}

/// Returns whether a range is one or more headings and nothing else.
pub(super) fn is_bare(document: &Document, range: &Range<usize>) -> bool {
    let inside = document.blocks_in(range);
    let begins = inside.first().is_some_and(|first| is_blank(&document.text[range.start..first.range.start]));
    begins && inside.iter().all(Block::is_heading)
}

/// Returns whether a range has text that is not a heading, and that a page shows. Comments, anchors, rules and
/// reference definitions are not shown.
pub(super) fn has_text(document: &Document, range: &Range<usize>) -> bool {
    let (text, blocks) = (&document.text, &document.blocks);
    let first = blocks.partition_point(|block| block.range.start < range.start);
    let inside = document.blocks_in(range);
    // The range may start inside a block that shows no text.
    let before = document.top_level_block_before(first).map(|before| &blocks[before]);
    let start = before.filter(|before| !shows_text(document, before)).map_or(range.start, |before| before.range.end);
    let start = start.clamp(range.start, range.end);
    let end = inside.first().map_or(range.end, |first| first.range.start).max(start);
    !is_blank(&text[start..end]) || inside.iter().any(|block| shows_text(document, block))
}

fn shows_text(document: &Document, block: &Block) -> bool {
    match block.kind {
        BlockKind::Heading(_) | BlockKind::Rule | BlockKind::References => false,
        BlockKind::Paragraph | BlockKind::Html if document.format == Format::Markdown => {
            let text = document.text[block.range.clone()].trim();
            !(text.starts_with('<') && NO_TEXT.as_ref().is_some_and(|nothing| nothing.is_match(text)))
        }
        _ => true,
    }
}

/// Joins headings that still have no text to a neighbour: to what follows if that is under them or, while both fit a
/// chunk, a sibling; otherwise to what precedes in the same chapter. Only headings without either join text of another
/// chapter.
pub(super) fn adopt_bare(packer: &Packer<'_>, parts: Vec<Part>) -> Result<Vec<Part>> {
    let document = packer.document;
    let parent = |section: usize| document.sections[section].parent;
    let mut adopted: Vec<Part> = Vec::with_capacity(parts.len());
    let mut parts = parts.into_iter().peekable();
    while let Some(part) = parts.next() {
        if !part.is_bare(document) {
            adopted.push(part);
            continue;
        }
        let next = parts.peek().filter(|next| next.holds_text());
        let before = adopted.last().filter(|last| last.holds_text());
        let chapter = parent(part.section);
        let under = next.is_some_and(|next| is_under(document, next.section, part.section));
        let sibling = next.is_some_and(|next| parent(next.section) == chapter);
        let in_chapter = |before: &Part| chapter.is_none_or(|chapter| is_under(document, before.section, chapter));
        let own = before.is_some_and(in_chapter);
        let forward = match next {
            Some(next) if sibling && own && !under => packer.fits(part.range.start..next.range.end)?,
            Some(_) => under || sibling || !own,
            None => false,
        };
        if forward && let Some(next) = parts.peek_mut() {
            (next.section, next.range.start) = (part.section, part.range.start);
        } else if let Some(last) = adopted.last_mut().filter(|last| last.holds_text()) {
            last.range.end = part.range.end;
        } else {
            adopted.push(part);
        }
    }
    Ok(adopted)
}

/// Returns whether a section is another one or below it.
fn is_under(document: &Document, section: usize, above: usize) -> bool {
    std::iter::successors(Some(section), |&at| document.sections[at].parent).any(|at| at == above)
}

/// Joins consecutive prose across section boundaries.
pub(super) fn join_prose(parts: Vec<Part>) -> Vec<Part> {
    let mut joined: Vec<Part> = Vec::new();
    for part in parts {
        match joined.last_mut() {
            Some(last) if last.kind == Some(Kind::Text) && part.kind == last.kind => last.range.end = part.range.end,
            _ => joined.push(part),
        }
    }
    joined
}
