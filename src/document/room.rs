//! The room that a document takes in memory, known before it is taken: a file of a few megabytes of nothing but `[` would
//! take hundreds of times its size, and end the job with all its other documents.
//!
//! Our own parsers take [`Room`] for what they find, and stop where there is no more. The markdown parser cannot be
//! stopped, so what it will need at most is reckoned from the bytes that it reads: see [`parser_bytes`]. The figures
//! were fitted to what hundreds of kinds of hostile text took; `make costs` measures them again, `tests/costs.rs` a few.

/// The memory that a document may take.
pub(super) struct Room {
    most: u64,
    used: u64,
}

/// Bytes for each byte of text: itself, what hides regions from the parser, positions.
const TEXT: usize = 6;

/// Bytes for a block that our own parsers find, with what chunking knows of it.
pub(super) const BLOCK: usize = 250;

/// Bytes for a heading beside its block: title, anchor, section.
pub(super) const HEADING: usize = 250;

/// Bytes for a place where source code is cut, or for a comment that may belong to what follows.
pub(super) const CUT: usize = 130;

impl Room {
    pub(super) fn new(most: u64) -> Self {
        Self { most, used: 0 }
    }

    /// Takes room for a text.
    pub(super) fn take_text(&mut self, text: &str) {
        self.take(text.len().saturating_mul(TEXT));
    }

    /// Takes some bytes; whether there was room for them.
    pub(super) fn take(&mut self, bytes: usize) -> bool {
        self.used = self.used.saturating_add(bytes as u64);
        !self.is_over()
    }

    /// How many bytes are left.
    pub(super) fn left(&self) -> u64 {
        self.most.saturating_sub(self.used)
    }

    /// Whether more was taken than there is.
    pub(super) fn is_over(&self) -> bool {
        self.used > self.most
    }

    /// What was taken, also if that is too much.
    pub(super) fn used(&self) -> u64 {
        self.used
    }
}

/// A node of pulldown-cmark's tree.
const NODE: usize = 56;

/// The nodes that the tree has room for at first, and its text's bytes for each; it doubles when it is full.
const FIRST_NODES: (usize, usize) = (128, 32);

/// Bytes for each byte of the worst text there is: one that stays below the limit even so is not looked at.
const WORST: usize = 700;

/// Takes room for what pulldown-cmark makes of a text, and we of that; whether there is so much.
pub(super) fn take_parser(room: &mut Room, text: &str) -> bool {
    text.len().saturating_mul(WORST) as u64 <= room.left() || room.take(parser_bytes(text))
}

/// The most that pulldown-cmark's tree takes for a text, with the blocks that we make of it. Its first pass makes a node
/// of each mark that may be one of something, one of the text up to the next, and some for each line.
fn parser_bytes(text: &str) -> usize {
    let (mut nodes, mut own) = (0, 0);
    for line in text.as_bytes().split(|&byte| byte == b'\n' || byte == b'\r') {
        let (line_nodes, line_own) = of_line(line);
        nodes += line_nodes;
        own += line_own;
    }
    let (least, bytes) = FIRST_NODES;
    let mut room = least.max(text.len() / bytes);
    // The old half is there until all of it was copied.
    while room < nodes {
        room *= 2;
    }
    NODE * nodes.max(room) + own
}

/// The nodes of a line, and the bytes of our own blocks, headings and links.
fn of_line(line: &[u8]) -> (usize, usize) {
    let indent = line.iter().take_while(|byte| matches!(byte, b' ' | b'\t')).count();
    let line = &line[indent..];
    let Some(&first) = line.first() else { return (0, 0) };
    // Text, line end, and the paragraph around them.
    let (mut nodes, mut own) = match first {
        b'#' | b'=' => (3, HEADING + BLOCK),
        b'-' => (4, HEADING + BLOCK),
        b'+' | b'*' | b'0'..=b'9' => (4, BLOCK),
        _ => (3, BLOCK / 2),
    };
    // Containers in containers: quotes, lists, items.
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

/// Bytes that pulldown-cmark looks at in the text of a paragraph, heading or cell.
fn is_mark(byte: u8) -> bool {
    matches!(byte, b'[' | b']' | b'<' | b'!' | b'|' | b'*' | b'_' | b'~' | b'`' | b'$' | b'\\' | b'&')
}
