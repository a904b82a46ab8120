//! A chunk repeats parts of the document around its own text, and knows their places. Texts are rendered from places,
//! and nothing searches for a chunk's text again: flags, vectors, links and readers of a dataset all know which bytes are
//! repeated.

use std::ops::Range;

use crate::document::Document;

/// Stands between what is repeated of the previous chunk and the chunk's own text, if something is left out between
/// them.
pub const OVERLAP_SEPARATOR: &str = "\n\n";

/// The parts of a document that a chunk repeats.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Repeats {
    /// Sections whose headings come first, outermost first: the marks of their level, their titles and a blank line.
    pub headings: Vec<usize>,
    /// The end of the previous chunk of the section, as bytes of the document.
    pub overlap: Option<Range<usize>>,
    /// The head of a table or the opening line of a fence that was cut, as bytes of the document.
    pub opening: Range<usize>,
    /// The line that closes a fence that was cut, with the end of the line before, as bytes of the document.
    pub closing: Range<usize>,
}

impl Repeats {
    /// Returns whether it is nothing.
    pub fn is_empty(&self) -> bool {
        !self.precedes() && self.closing.is_empty()
    }

    /// Returns the text before a chunk's own, which starts at `start`.
    pub fn before(&self, document: &Document, start: usize) -> String {
        if !self.precedes() {
            return String::new();
        }
        let Self { overlap, opening, .. } = self;
        let overlap = overlap.as_ref().map(|overlap| &document.text[overlap.clone()]);
        [&self.heading_lines(document), &document.text[opening.clone()], overlap.unwrap_or_default(), self.gap(start)]
            .concat()
    }

    /// Returns whether anything comes before a chunk's own text.
    fn precedes(&self) -> bool {
        !self.headings.is_empty() || self.overlap.is_some() || !self.opening.is_empty()
    }

    /// Returns the text after a chunk's own.
    pub fn after<'d>(&self, document: &'d Document) -> &'d str {
        &document.text[self.closing.clone()]
    }

    /// Returns the headings as they are written before a chunk.
    pub(super) fn heading_lines(&self, document: &Document) -> String {
        let line = |&section: &usize| {
            let section = &document.sections[section];
            format!("{} {}\n\n", "#".repeat(section.level.into()), section.title)
        };
        self.headings.iter().map(line).collect()
    }

    /// Returns what stands between the overlap and a text that starts at `start`.
    pub(super) fn gap(&self, start: usize) -> &'static str {
        if self.overlap.as_ref().is_some_and(|overlap| overlap.end != start) { OVERLAP_SEPARATOR } else { "" }
    }

    /// Returns the ranges of the document that are repeated, except the overlap.
    pub(super) fn others(&self, document: &Document) -> impl Iterator<Item = Range<usize>> {
        let heading = |&section: &usize| {
            let first = document.blocks_in(&document.sections[section].range).first();
            first.filter(|block| block.is_heading()).map(|block| block.range.clone())
        };
        let opening = Some(self.opening.clone()).filter(|opening| !opening.is_empty());
        self.headings.iter().filter_map(heading).chain(opening)
    }
}
