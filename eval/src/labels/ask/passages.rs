//! The whole passages of a document: what a person can judge without seeing the rest, and what a label points to.
//!
//! The document's blocks decide, as its parser sees them; nothing here reads Markdown. A paragraph is a passage,
//! whatever its line feeds, with the code that its last sentence announces, and so are a list item with its continuation, a quote, a row of a table, and a block of
//! code. A block that is too long to read at once is divided where it has parts: into its children, at blank lines of
//! code, or between sentences. Headings are no passages: they say what is asked, not what is answered.

use std::ops::Range;

use chunkmill::document::{Block, BlockKind, Document, Positions};

use crate::labels::synth::sentences;

/// Largest number of bytes of a passage that has parts.
const LONGEST: usize = 1_200;

/// Number of bytes that the parts of a longer paragraph should have.
const PART: usize = 800;

/// A passage of a document.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct WholePassage {
    /// Its byte range.
    pub(super) range: Range<usize>,
    /// The first row of its table, if it is another row.
    pub(super) head: Option<Range<usize>>,
    /// Whether its lines mean something, as in code.
    pub(super) keeps_lines: bool,
}

/// A document as passages, with what a person needs to find their way in it.
#[derive(Debug)]
pub(super) struct Outline {
    /// Its passages, in order and without overlaps.
    pub(super) passages: Vec<WholePassage>,
    /// Where each section starts, and its heading path.
    sections: Vec<(usize, Vec<String>)>,
    /// Its lines.
    pub(super) lines: Positions,
}

impl Outline {
    pub(super) fn new(doc_id: &str, text: &str) -> Self {
        let document = Document::from_text(doc_id, text);
        let sections = document.sections.iter().enumerate();
        let sections = sections.map(|(at, section)| (section.range.start, document.heading_path(at))).collect();
        let mut reader = Reader { document: &document, found: Vec::new() };
        reader.blocks(0..document.blocks.len());
        let mut passages = reader.found;
        passages.sort_by_key(|passage| passage.range.start);
        passages.dedup_by(|next, kept| next.range.start < kept.range.end);
        Self { passages, sections, lines: document.positions }
    }

    /// Returns the heading path of a place.
    pub(super) fn headings(&self, byte: usize) -> &[String] {
        let at = self.sections.partition_point(|(start, _)| *start <= byte);
        at.checked_sub(1).map_or(&[], |at| self.sections[at].1.as_slice())
    }

    /// Returns the passages that share bytes with a range.
    pub(super) fn within(&self, range: &Range<usize>) -> &[WholePassage] {
        let first = self.passages.partition_point(|passage| passage.range.end <= range.start);
        let rest = &self.passages[first..];
        &rest[..rest.partition_point(|passage| passage.range.start < range.end)]
    }

    /// Returns the passage before a range, or after it.
    pub(super) fn beside(&self, range: &Range<usize>, before: bool) -> Option<&WholePassage> {
        if before {
            let next = self.passages.partition_point(|passage| passage.range.end <= range.start);
            next.checked_sub(1).map(|at| &self.passages[at])
        } else {
            self.passages.get(self.passages.partition_point(|passage| passage.range.start < range.end))
        }
    }
}

/// Divides the blocks of a document into passages.
struct Reader<'d> {
    document: &'d Document,
    found: Vec<WholePassage>,
}

impl Reader<'_> {
    /// Reads the blocks at these indices that no other of them contains.
    fn blocks(&mut self, indices: Range<usize>) {
        let mut at = indices.start;
        while at < indices.end {
            let next = self.document.blocks[at].next.max(at + 1);
            if next < indices.end && self.goes_on(at, next) {
                let end = self.document.blocks[next].next.max(next + 1);
                let keeps_lines = self.document.blocks[next..end].iter().any(|block| keeps_lines(block.kind));
                self.put(self.document.blocks[at].range.start..self.document.blocks[next].range.end, keeps_lines);
                at = end;
            } else {
                self.block(at);
                at = next;
            }
        }
    }

    /// Returns whether the sentence of a paragraph ends in the block after it, as before the code that it announces.
    fn goes_on(&self, at: usize, next: usize) -> bool {
        let (paragraph, next) = (&self.document.blocks[at], &self.document.blocks[next]);
        let text =
            self.document.text[paragraph.range.clone()].trim_end_matches(|c: char| !c.is_alphanumeric() && !is_end(c));
        // A long list is read item by item.
        let most = match next.kind {
            BlockKind::Code | BlockKind::Math | BlockKind::Quote => LONGEST,
            BlockKind::List => LONGEST / 2,
            _ => 0,
        };
        paragraph.kind == BlockKind::Paragraph
            && !text.ends_with(is_end)
            && next.range.end - paragraph.range.start <= most
    }

    fn block(&mut self, at: usize) {
        let Block { kind, range, next } = &self.document.blocks[at];
        let inside = at + 1..*next;
        match kind {
            BlockKind::Heading(_) | BlockKind::Rule | BlockKind::References => {}
            BlockKind::List => self.blocks(inside),
            BlockKind::Table => self.rows(range),
            BlockKind::Paragraph | BlockKind::Math | BlockKind::Template if range.len() <= LONGEST => {
                self.put(range.clone(), false);
            }
            _ if range.len() <= LONGEST => {
                let blocks = &self.document.blocks[at..*next];
                self.put(range.clone(), blocks.iter().any(|block| keeps_lines(block.kind)));
            }
            kind if inside.is_empty() => self.divided(range.clone(), keeps_lines(*kind)),
            kind => {
                // The text of the block itself is before, between and after the blocks inside it.
                let mut start = range.start;
                let mut child = inside.start;
                while child < inside.end {
                    let Block { range: inner, next, .. } = &self.document.blocks[child];
                    self.divided(start..inner.start.max(start), keeps_lines(*kind));
                    start = inner.end.max(start);
                    child = (*next).max(child + 1);
                }
                self.divided(start..range.end.max(start), keeps_lines(*kind));
                self.blocks(inside);
            }
        }
    }

    /// Adds text without blocks inside: as one passage, or in parts if it is too long.
    fn divided(&mut self, range: Range<usize>, keeps_lines: bool) {
        if range.len() <= LONGEST {
            return self.put(range, keeps_lines);
        }
        let text = &self.document.text;
        let parts = if keeps_lines { paragraphs_of_lines(text, &range) } else { sentences(text, &range) };
        let mut open: Option<Range<usize>> = None;
        for part in parts {
            match &mut open {
                Some(run) if part.end - run.start <= PART => run.end = part.end,
                _ => {
                    if let Some(done) = open.replace(part) {
                        self.put(done, keeps_lines);
                    }
                }
            }
        }
        if let Some(last) = open {
            self.put(last, keeps_lines);
        }
    }

    /// Adds the rows of a table below its head.
    fn rows(&mut self, range: &Range<usize>) {
        let mut lines = lines(&self.document.text, range);
        let Some(head) = lines.next() else { return };
        for row in lines.skip(1) {
            let range = self.trimmed(row);
            if self.says_something(&range) {
                self.found.push(WholePassage { range, head: Some(head.clone()), keeps_lines: true });
            }
        }
    }

    fn put(&mut self, range: Range<usize>, keeps_lines: bool) {
        let range = self.trimmed(range);
        if self.says_something(&range) {
            self.found.push(WholePassage { range, head: None, keeps_lines });
        }
    }

    fn trimmed(&self, range: Range<usize>) -> Range<usize> {
        let text = &self.document.text[range.clone()];
        let start = range.start + text.len() - text.trim_start().len();
        start..start + text.trim().len()
    }

    fn says_something(&self, range: &Range<usize>) -> bool {
        self.document.text[range.clone()].contains(char::is_alphanumeric)
    }
}

/// Returns whether a sentence ends with this character.
fn is_end(c: char) -> bool {
    ".?!…。？！．".contains(c)
}

/// Returns whether the lines of a block mean something.
fn keeps_lines(kind: BlockKind) -> bool {
    matches!(kind, BlockKind::Code | BlockKind::Html | BlockKind::Table | BlockKind::Entry | BlockKind::FrontMatter)
}

/// Returns the lines of a range, with their ends.
fn lines(text: &str, range: &Range<usize>) -> impl Iterator<Item = Range<usize>> {
    let mut at = range.start;
    text[range.clone()].split_inclusive('\n').map(move |line| {
        at += line.len();
        at - line.len()..at
    })
}

/// Returns the runs of lines between blank ones.
fn paragraphs_of_lines(text: &str, range: &Range<usize>) -> Vec<Range<usize>> {
    let mut runs: Vec<Range<usize>> = Vec::new();
    let mut is_open = false;
    for line in lines(text, range) {
        let is_blank = text[line.clone()].trim().is_empty();
        match runs.last_mut() {
            // A line of code is never divided, but a run of them may be.
            Some(run) if is_open && !is_blank && line.end - run.start <= LONGEST => run.end = line.end,
            _ if !is_blank => runs.push(line),
            _ => {}
        }
        is_open = !is_blank;
    }
    runs
}
