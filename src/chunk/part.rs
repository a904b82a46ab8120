//! A document in parts that never share a chunk: prose, and what a strategy keeps separate or leaves out. Parts
//! follow the sections: each is inside one.

use std::ops::Range;

use super::pack::Group;
use super::packer::Packer;
use super::{Boundary, Kind};
use crate::document::{Block, Document, is_blank, trim};
use crate::error::Result;

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

/// Joins headings that still have no text to what follows them or, if that is not text, to what precedes them.
pub(super) fn adopt_bare(document: &Document, parts: Vec<Part>) -> Vec<Part> {
    let holds_text = |part: &Part| matches!(part.kind, Some(Kind::Text | Kind::Code));
    let mut adopted: Vec<Part> = Vec::with_capacity(parts.len());
    let mut parts = parts.into_iter().peekable();
    while let Some(part) = parts.next() {
        if part.is_bare(document) {
            if let Some(next) = parts.peek_mut().filter(|next| holds_text(next)) {
                (next.section, next.range.start) = (part.section, part.range.start);
                continue;
            }
            if let Some(last) = adopted.last_mut().filter(|last| holds_text(last)) {
                last.range.end = part.range.end;
                continue;
            }
        }
        adopted.push(part);
    }
    adopted
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
