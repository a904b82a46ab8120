//! The memory that a document takes, known before it is allocated. A file of a few megabytes of nothing but `[`
//! would take hundreds of times its size and end the job for all other documents.
//!
//! Our own parsers reserve [`Room`] for what they find and stop when there is none left. The markdown parser
//! cannot be stopped, so the most it can need is estimated from the bytes it reads: see [`parser_bytes`]. The
//! figures were fitted to the memory that hundreds of kinds of hostile text took. `make costs` measures them
//! again; `tests/costs.rs` measures a few.

/// The memory that a document may take.
pub(super) struct Room {
    most: u64,
    used: u64,
}

/// Bytes per byte of text: the text itself, the copy that hides regions from the parser, and positions.
const TEXT: usize = 6;

/// Bytes per block that our own parsers find, including what chunking stores about it.
pub(super) const BLOCK: usize = 250;

/// Bytes per heading, in addition to its block: title, anchor, section.
pub(super) const HEADING: usize = 250;

/// Bytes per place where source code is cut, or per comment that may belong to what follows.
pub(super) const CUT: usize = 130;

impl Room {
    pub(super) fn new(most: u64) -> Self {
        Self { most, used: 0 }
    }

    /// Reserves room for a text.
    pub(super) fn take_text(&mut self, text: &str) {
        self.take(text.len().saturating_mul(TEXT));
    }

    /// Reserves some bytes. Returns whether there was room for them.
    pub(super) fn take(&mut self, bytes: usize) -> bool {
        self.used = self.used.saturating_add(bytes as u64);
        !self.is_over()
    }

    /// Returns the number of bytes left.
    pub(super) fn left(&self) -> u64 {
        self.most.saturating_sub(self.used)
    }

    /// Returns whether more was reserved than there is.
    pub(super) fn is_over(&self) -> bool {
        self.used > self.most
    }

    /// Returns the number of bytes reserved, even if that is too many.
    pub(super) fn used(&self) -> u64 {
        self.used
    }
}

/// Bytes per node of pulldown-cmark's tree.
const NODE: usize = 56;

/// The initial capacity of the tree: the minimum number of nodes, and the bytes of text per node. It doubles when
/// it is full.
const FIRST_NODES: (usize, usize) = (128, 32);

/// Bytes per byte of the worst text there is. A text that would stay below the limit even at this rate is not
/// examined.
const WORST: usize = 700;

/// Reserves room for what pulldown-cmark makes of a text and what we make of that. Returns whether there is
/// enough.
pub(super) fn take_parser(room: &mut Room, text: &str) -> bool {
    text.len().saturating_mul(WORST) as u64 <= room.left() || room.take(parser_bytes(text))
}

/// Returns the most that pulldown-cmark's tree takes for a text, including the blocks that we build from it. Its
/// first pass makes a node for each character that may be markup, a node for the text up to the next one, and a
/// few for each line.
fn parser_bytes(text: &str) -> usize {
    let (mut nodes, mut own) = (0, 0);
    for line in text.as_bytes().split(|&byte| byte == b'\n' || byte == b'\r') {
        let (line_nodes, line_own) = of_line(line);
        nodes += line_nodes;
        own += line_own;
    }
    let (least, bytes) = FIRST_NODES;
    let mut room = least.max(text.len() / bytes);
    // The old half remains until all of it has been copied.
    while room < nodes {
        room *= 2;
    }
    NODE * nodes.max(room) + own
}

/// Returns the number of nodes of a line, and the bytes of our own blocks, headings and links.
fn of_line(line: &[u8]) -> (usize, usize) {
    let indent = line.iter().take_while(|byte| matches!(byte, b' ' | b'\t')).count();
    let line = &line[indent..];
    let Some(&first) = line.first() else { return (0, 0) };
    // The text, the line end, and the paragraph around them.
    let (mut nodes, mut own) = match first {
        b'#' | b'=' => (3, HEADING + BLOCK),
        b'-' => (4, HEADING + BLOCK),
        b'+' | b'*' | b'0'..=b'9' => (4, BLOCK),
        _ => (3, BLOCK / 2),
    };
    // Nested containers: quotes, lists, items.
    let containers = line
        .iter()
        .take_while(|&&byte| matches!(byte, b' ' | b'\t' | b'>' | b'+' | b'*' | b'-' | b'.' | b')' | b'0'..=b'9'));
    let containers = containers.filter(|byte| matches!(byte, b'>' | b'+' | b'*' | b'-' | b'.' | b')')).count();
    nodes += 2 * containers.saturating_sub(1);
    own += containers.saturating_sub(1) * 40;
    let mut inside = false;
    for &byte in line {
        let mark = is_mark(byte);
        nodes += usize::from(mark) + usize::from(inside && !mark);
        own += if byte == b']' || byte == b'>' { 40 } else { 0 };
        inside = mark;
    }
    (nodes, own)
}

/// Returns whether pulldown-cmark examines this byte in the text of a paragraph, heading or cell.
fn is_mark(byte: u8) -> bool {
    matches!(byte, b'[' | b']' | b'<' | b'!' | b'|' | b'*' | b'_' | b'~' | b'`' | b'$' | b'\\' | b'&')
}
