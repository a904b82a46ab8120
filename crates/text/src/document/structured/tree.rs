//! The entries of a YAML or JSON file while it is read. Only this decides which bytes belong to which entry.

use std::ops::Range;

use crate::document::block::{Block, BlockKind};
use crate::document::parsed::{Heading, ParsedBody};
use crate::document::room::{self, Room};
use crate::document::white_space::{one_line, trim};
use crate::document::{line, text};

/// Entries nested deeper than this are part of the entry around them.
const MAX_DEPTH: usize = 8;

/// A nested entry shorter than this contains no blocks. Nobody would cut it, and without this limit a long list of
/// small lists would take many times its size in blocks.
const MIN_CUT: usize = 64;

/// The entries read so far.
pub(super) struct Tree<'t> {
    text: &'t str,
    pub(super) blocks: Vec<Block>,
    headings: Vec<Heading>,
    /// The open entries, outermost first; `None` for entries that are not recorded.
    pub(super) open: Vec<Option<usize>>,
    /// Number of open entries inside these that are too deep, or inside an entry that is not recorded.
    skipped: usize,
    /// The last entry closed at each depth of `open`, while its parent is open.
    closed: Vec<Option<usize>>,
    /// End of the last token, which never moves back.
    pub(super) cursor: usize,
    end: usize,
    /// Maximum memory in bytes.
    room: u64,
}

impl<'t> Tree<'t> {
    pub(super) fn new(text: &'t str, body: &Range<usize>, room: u64) -> Self {
        Self {
            text,
            blocks: Vec::new(),
            headings: Vec::new(),
            open: Vec::new(),
            skipped: 0,
            closed: vec![None],
            cursor: body.start,
            end: body.end,
            room,
        }
    }

    /// Returns the number of bytes that the entries take.
    pub(super) fn bytes(&self) -> usize {
        self.blocks.len() * room::BLOCK + self.headings.len() * room::HEADING
    }

    /// Returns whether the entries take more memory than they may. If so, the rest makes no difference.
    pub(super) fn is_over(&self) -> bool {
        self.bytes() as u64 > self.room
    }

    /// Notes that a token ends here.
    pub(super) fn token(&mut self, end: usize) {
        self.cursor = self.cursor.max(end);
    }

    /// Opens an entry whose first token is at `at`.
    pub(super) fn enter(&mut self, at: usize, kind: BlockKind) {
        let at = at.max(self.cursor);
        let depth = self.open.len();
        if depth > MAX_DEPTH || self.open.last().is_some_and(Option::is_none) {
            self.skipped += 1;
            self.cursor = at;
            return;
        }
        let start = self.start(at);
        let mut index = None;
        let before = self.closed[depth];
        if before.is_none_or(|before| self.blocks[before].range.start < start) {
            if let Some(before) = before {
                // The comma and the comments after an entry belong to it.
                let end = self.blocks[before].range.end;
                let gap = self.text[end..start].trim_end();
                self.blocks[before].range.end = end + gap.len();
            }
            index = Some(self.blocks.len());
            self.blocks.push(Block { kind, range: start..at, next: 0 });
        }
        self.cursor = at;
        self.open.push(index);
        self.closed.push(None);
    }

    /// Names the open entry, if it is at the top level.
    pub(super) fn name(&mut self, title: &str) {
        if let [Some(block)] = self.open[..] {
            let title = one_line(title.to_owned());
            self.headings.push(Heading {
                level: 1,
                title,
                anchor: String::new(),
                start: self.blocks[block].range.start,
                continues: false,
            });
        }
    }

    /// Closes the last entry opened.
    pub(super) fn leave(&mut self) {
        if self.skipped > 0 {
            self.skipped -= 1;
            return;
        }
        self.closed.pop();
        let Some(Some(index)) = self.open.pop() else { return };
        let block = &mut self.blocks[index];
        block.range.end = block.range.end.max(self.cursor);
        let Range { start, end } = block.range;
        if end - start < MIN_CUT {
            self.blocks.truncate(index + 1);
        }
        self.blocks[index].next = self.blocks.len();
        let Some(closed) = self.closed.last_mut() else { return };
        let named = self.open.is_empty() && self.headings.last().is_some_and(|heading| heading.start == start);
        match *closed {
            // Short neighbours on one line share a block.
            Some(before)
                if !named
                    && before + 1 == index
                    && self.blocks.len() == index + 1
                    && end - self.blocks[before].range.start < MIN_CUT
                    && !self.text[self.blocks[before].range.start..end].contains(['\n', '\r']) =>
            {
                self.blocks.truncate(index);
                self.blocks[before] =
                    Block { range: self.blocks[before].range.start..end, next: index, ..self.blocks[before].clone() };
            }
            _ => *closed = Some(index),
        }
    }

    /// Returns the start of the entry whose first token is at `at`: the start of the token's line or, if there are
    /// comments above it, the start of their first line.
    pub(super) fn start(&self, at: usize) -> usize {
        let gap = &self.text[self.cursor..at];
        let fresh = self.text[..self.cursor].chars().next_back().is_none_or(|c| matches!(c, '\n' | '\r' | '\u{feff}'));
        let mut line = self.cursor + if fresh { 0 } else { line::len(gap) };
        let Some(last) = last_line(gap, fresh) else { return at };
        let last = self.cursor + last;
        let indent = indent_of(&self.text[last..at]);
        while line < last {
            let length = line::len(&self.text[line..last]);
            let content = &self.text[line..line + length];
            let comment = content.trim_start();
            // A comment that is indented further than the entry is still about what is above it, and `...` ends
            // the document above.
            let above = (comment.starts_with('#') && indent_of(content) > indent) || content.trim_end() == "...";
            if !comment.is_empty() && !above {
                break;
            }
            line += length;
        }
        line
    }

    /// Extends the entries to cover the whole text.
    pub(super) fn finish(mut self, body: &Range<usize>, room: &mut Room) -> ParsedBody {
        while !self.open.is_empty() {
            self.leave();
        }
        if let Some(Some(last)) = self.closed.first() {
            let end = self.blocks[*last].range.end;
            self.blocks[*last].range.end = end + self.text[end..self.end].trim_end().len();
        }
        let about = self.preamble(body.start);
        let mut blocks = text::parse(self.text, body.start..about, room).blocks;
        for block in &mut blocks {
            block.kind = BlockKind::Comment;
        }
        let shift = blocks.len();
        // Everything else before the first entry is part of it: markers, brackets, its own comments.
        let start = trim(self.text, about..self.end).start;
        let first = std::mem::replace(&mut self.blocks[0].range.start, start);
        for block in self.blocks.iter_mut().take_while(|block| block.range.start < start) {
            block.range.start = start;
        }
        if let Some(heading) = self.headings.first_mut()
            && heading.start == first
        {
            heading.start = start;
        }
        blocks.extend(self.blocks.into_iter().map(|block| Block { next: block.next + shift, ..block }));
        ParsedBody { blocks, headings: self.headings, ..ParsedBody::default() }
    }

    /// Returns the end of the comments about the whole file: those that a blank line separates from the first
    /// entry.
    pub(super) fn preamble(&self, start: usize) -> usize {
        let (mut end, mut line, mut commented) = (start, start, false);
        while line < self.end {
            let length = line::len(&self.text[line..self.end]);
            let content = self.text[line..line + length].trim();
            if content.is_empty() {
                end = if commented { line } else { end };
            } else if content.starts_with('#') || content.starts_with("//") {
                commented = true;
            } else if !content.starts_with('%') && content != "---" {
                break;
            }
            line += length;
        }
        end
    }
}

/// Returns the start of the last line of a text, unless that is in the middle of a line.
fn last_line(text: &str, fresh: bool) -> Option<usize> {
    memchr::memrchr2(b'\n', b'\r', text.as_bytes()).map_or_else(|| fresh.then_some(0), |feed| Some(feed + 1))
}

fn indent_of(line: &str) -> usize {
    line.bytes().take_while(|byte| *byte == b' ').count()
}
