//! The most that the markdown parser can make of a text.
//!
//! pulldown-cmark's first pass makes a node for each character that may be markup, a node for the text up to the next
//! one, and a few for each line. Which characters may be markup depends on those next to them, so the estimate looks at
//! these as the parser does. It does not know which lines are code or HTML, where nothing is markup: that is what
//! [`trial`](super::trial) finds out if the estimate is too high for a document.

use std::ops::Range;

use memchr::memchr2_iter;

use pulldown_cmark::Options;

use super::room::{BLOCK, HEADING, PARSED};

/// The extensions of markdown that are read.
pub(super) fn options() -> Options {
    Options::ENABLE_TABLES
        | Options::ENABLE_FOOTNOTES
        | Options::ENABLE_STRIKETHROUGH
        | Options::ENABLE_TASKLISTS
        | Options::ENABLE_HEADING_ATTRIBUTES
        | Options::ENABLE_MATH
        | Options::ENABLE_GFM
        | Options::ENABLE_WIKILINKS
}

/// Bytes per node of pulldown-cmark's tree.
const NODE: usize = 48;

/// The initial capacity of the tree: the minimum number of nodes, and the bytes of text per node. It doubles when
/// it is full.
const FIRST_NODES: (usize, usize) = (128, 32);

/// Bytes per block that chunking takes. There is no tree then.
const CHUNKED: usize = BLOCK - PARSED;

/// Bytes per link, image, element of HTML, character reference, or level of a nested quote or list.
const LINK: usize = 40;

/// Maximum number of cells that the parser adds to the short rows of a table.
const FILLED_CELLS: usize = 1 << 18;

/// Maximum length of a character reference such as `&amp;`.
const REFERENCE: usize = 40;

/// Bytes per byte of the worst text there is, without tables.
const WORST: usize = 700;

/// Bytes of the shortest table to which the parser adds that many cells: its head has 418 columns, and 627 rows follow.
const FILLED_TABLE: usize = 2500;

/// Returns whether a text is so short that it needs no estimate.
pub(super) fn is_small(text: &str, memory: u64) -> bool {
    let tables = memchr::memchr(b'|', text.as_bytes()).map_or(0, |_| text.len() / FILLED_TABLE + 1);
    text.len().saturating_mul(WORST).saturating_add(tables.saturating_mul(FILLED_CELLS * NODE)) as u64 <= memory
}

/// Lines of code or HTML that the parser takes as they are, and the number of nodes that it makes of them.
#[derive(Debug)]
pub(super) struct Verbatim {
    pub(super) range: Range<usize>,
    pub(super) nodes: usize,
}

/// Returns the most bytes that the parser takes for `text[range]`, including the blocks that we build from it.
/// `verbatim` are the lines that are known to be verbatim, in order; others may be as well.
pub(super) fn most_bytes(text: &str, range: Range<usize>, verbatim: &[Verbatim]) -> usize {
    let bytes = text.as_bytes();
    let mut count = Count::default();
    let mut known = verbatim.iter().peekable();
    let mut start = range.start;
    for end in memchr2_iter(b'\n', b'\r', &bytes[range.clone()]).map(|at| range.start + at).chain([range.end]) {
        while let Some(before) = known.next_if(|known| known.range.end <= start) {
            count.take(before);
        }
        if known.peek().is_some_and(|known| known.range.start <= start) {
            count.last = Line::default();
        } else if start == end && start > range.start && bytes[start - 1] == b'\r' {
            // The line feed after a carriage return; in code, it is text of its own.
            count.nodes += 1;
        } else {
            count.add(&bytes[start..end]);
        }
        start = end + 1;
    }
    known.for_each(|known| count.take(known));
    let (least, bytes_per_node) = FIRST_NODES;
    let mut room = least.max(range.len() / bytes_per_node);
    // The old half remains until all of it has been copied.
    while room <= count.nodes {
        room *= 2;
    }
    count.blocks * PARSED + count.own + (NODE * room).max(count.blocks * CHUNKED)
}

/// Counts line by line.
#[derive(Default)]
struct Count {
    /// Nodes of the parser.
    nodes: usize,
    blocks: usize,
    /// Bytes of headings and links.
    own: usize,
    /// The line before.
    last: Line,
    /// Columns of the table whose rows the next lines may be; 0 if they are in no table.
    columns: usize,
    /// Cells that were added to the short rows of this table.
    filled: usize,
}

/// A line, as far as the next one depends on it.
#[derive(Default)]
struct Line {
    /// It can only be a line of a paragraph, unless it is verbatim.
    is_plain: bool,
    /// Nodes of its markup and the bars between its cells. The head of a table is read twice.
    inline: usize,
    bars: usize,
}

impl Count {
    /// Counts lines that are known to be verbatim.
    fn take(&mut self, verbatim: &Verbatim) {
        self.nodes += 1 + verbatim.nodes;
        self.blocks += 1;
    }

    fn add(&mut self, line: &[u8]) {
        let indent = line.iter().take_while(|byte| matches!(byte, b' ' | b'\t')).count();
        let text = &line[indent..];
        if text.is_empty() {
            // In code, a line of blanks is text.
            self.nodes += if indent > 4 { 2 } else { 0 };
            (self.last, self.columns) = (Line::default(), 0);
            return;
        }
        let start = Start::of(text);
        let is_plain = start == Start::Plain && (indent < 4 || self.last.is_plain);
        // The line and the line end, or the line and the block that it begins.
        self.nodes += 2;
        match start {
            Start::Plain => self.blocks += usize::from(!(is_plain && self.last.is_plain)),
            Start::Heading => (self.blocks, self.own) = (self.blocks + 1, self.own + HEADING),
            Start::Other => self.blocks += 1,
            Start::Container => {
                let is_marker = |byte: &&u8| matches!(byte, b'>' | b'+' | b'*' | b'-' | b'.' | b')');
                let inside = |byte: &&u8| is_marker(byte) || matches!(byte, b' ' | b'\t' | b'0'..=b'9');
                let levels = text.iter().take_while(inside).filter(is_marker).count();
                self.nodes += 2 * levels;
                self.blocks += 1;
                self.own += levels.saturating_sub(1) * LINK;
            }
        }
        let Marks { inline, links, bars } = Marks::of(text, self.columns > 0);
        self.nodes += inline;
        self.own += links * LINK;
        if self.columns > 0 {
            // A row has no line end.
            let cells = cells(text, bars);
            self.nodes += cells;
            self.nodes -= usize::from(start == Start::Plain && bars > 0);
            let missing = self.columns.saturating_sub(cells).min(FILLED_CELLS - self.filled);
            self.filled += missing;
            self.nodes += missing;
        } else if self.last.bars > 0 && text.iter().all(|byte| matches!(byte, b'|' | b'-' | b':' | b' ' | b'\t' | b'>'))
        {
            (self.columns, self.filled) = (cells(text, bars), 0);
            self.nodes += 2 + 2 * (self.last.bars + 1) + self.last.inline;
        }
        self.last = Line { is_plain, inline, bars };
    }
}

/// Returns the number of cells in a row with this many bars; a bar at its start or at its end is between no cells.
fn cells(row: &[u8], bars: usize) -> usize {
    let outer = usize::from(row.starts_with(b"|")) + usize::from(row.trim_ascii_end().ends_with(b"|"));
    (bars + 1).saturating_sub(outer).max(1)
}

/// The block that a line may begin.
#[derive(PartialEq)]
enum Start {
    /// A paragraph, if it is not in one already.
    Plain,
    Heading,
    /// A quote, a list or an item.
    Container,
    /// Any other block.
    Other,
}

impl Start {
    /// Returns what a line without its indentation begins.
    fn of(text: &[u8]) -> Self {
        let first = text[0];
        let run = text.iter().take_while(|byte| **byte == first).count();
        let blank_at = |at: usize| text.get(at).is_none_or(u8::is_ascii_whitespace);
        let is_line = || text.iter().all(|byte| *byte == first || byte.is_ascii_whitespace());
        match first {
            b'#' if run <= 6 && blank_at(run) => Self::Heading,
            b'-' | b'=' if is_line() => Self::Heading,
            b'>' => Self::Container,
            b'-' | b'+' | b'*' if blank_at(1) => Self::Container,
            b'0'..=b'9' => {
                let digits = text.iter().take_while(|byte| byte.is_ascii_digit()).count();
                let is_item = matches!(text.get(digits), Some(b'.' | b')')) && blank_at(digits + 1);
                if is_item { Self::Container } else { Self::Plain }
            }
            b'*' | b'_' if is_line() => Self::Other,
            b'`' | b'~' if run > 2 => Self::Other,
            b'[' if text.get(1) == Some(&b'^') => Self::Other,
            b'<' => Self::Other,
            _ => Self::Plain,
        }
    }
}

/// The markup that a line may have inside its blocks.
struct Marks {
    /// Nodes for it and for the text between it.
    inline: usize,
    links: usize,
    bars: usize,
}

impl Marks {
    /// Counts them in a line without its indentation. In the row of a table, blanks around a cell are no text.
    fn of(line: &[u8], is_row: bool) -> Self {
        let mut marks = Self { inline: 0, links: 0, bars: 0 };
        let mut after_mark = is_row;
        let mut starts_cell = is_row;
        let mut at = 0;
        while let Some(&byte) = line.get(at) {
            if is_row && matches!(byte, b' ' | b'\t' | b'|') {
                let blanks = line[at..].iter().take_while(|byte| matches!(byte, b' ' | b'\t')).count();
                if byte == b'|' {
                    marks.bars += 1;
                    (after_mark, starts_cell) = (true, true);
                    at += 1;
                    continue;
                } else if starts_cell || line.get(at + blanks).is_none_or(|next| *next == b'|') {
                    at += blanks;
                    continue;
                }
            }
            starts_cell = false;
            let run = || line[at..].iter().take_while(|next| **next == byte).count();
            let (taken, nodes) = match byte {
                b'[' | b'$' => (1, 1),
                b']' | b'<' => {
                    marks.links += 1;
                    (1, 1)
                }
                b'`' => (run(), 1),
                b'*' | b'_' | b'~' => {
                    let run = run();
                    (run, if is_delimiter(line, at, run) { run } else { 0 })
                }
                b'\\' if line.get(at + 1).is_some_and(u8::is_ascii_punctuation) => {
                    // The next character is the start of a text of its own, or a run of backticks.
                    let ticks = line[at + 1..].iter().take_while(|next| **next == b'`').count();
                    (1 + ticks.max(1), 1)
                }
                b'&' if is_reference(&line[at..]) => {
                    marks.links += 1;
                    (1, 1)
                }
                b'|' => {
                    marks.bars += 1;
                    (1, 0)
                }
                _ => (1, 0),
            };
            marks.inline += nodes + usize::from(after_mark && nodes == 0);
            after_mark = nodes > 0;
            at += taken;
        }
        marks
    }
}

/// Returns whether a run of `*`, `_` or `~` may open or close emphasis.
fn is_delimiter(line: &[u8], at: usize, run: usize) -> bool {
    let (before, after) = (at.checked_sub(1).map(|at| line[at]), line.get(at + run));
    let (blank_before, blank_after) =
        (before.is_none_or(|byte| matches!(byte, b' ' | b'\t')), after.is_none_or(|byte| matches!(byte, b' ' | b'\t')));
    let inside_word =
        before.is_some_and(|byte| byte.is_ascii_alphanumeric()) && after.is_some_and(u8::is_ascii_alphanumeric);
    match line[at] {
        _ if blank_before && blank_after => false,
        b'_' => !inside_word,
        b'~' => run <= 2 && !(inside_word && run == 1),
        _ => true,
    }
}

/// Returns whether a text starts with what may be a character reference.
fn is_reference(text: &[u8]) -> bool {
    let inside = |byte: &&u8| byte.is_ascii_alphanumeric() || **byte == b'#';
    let name = text[1..].iter().take(REFERENCE).take_while(inside).count();
    name > 0 && text.get(1 + name) == Some(&b';')
}
