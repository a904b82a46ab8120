//! The cells of a table, each with its bytes.
//!
//! The rules are those of the crate `csv`, which the tests compare with: a cell that begins with `"` ends with the next `"`
//! that is not doubled, and what follows up to the delimiter belongs to it. But that crate says only where a row starts,
//! and a quotation that is never closed makes the rest of the file one cell. Here it is text.

use std::ops::Range;

/// A cell: its bytes with quotation marks, and how far the quotation goes.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Cell {
    pub(super) range: Range<usize>,
    /// Where the quotation ends, behind its last mark, if the cell begins with one.
    quoted: Option<usize>,
}

impl Cell {
    /// Calls a function with each part of the cell: its bytes, and whether they are text or marks.
    pub(super) fn parts(&self, text: &str, mut part: impl FnMut(Range<usize>, bool)) {
        let Range { start, end } = self.range;
        let Some(quoted) = self.quoted else { return part(start..end, true) };
        part(start..start + 1, false);
        let mut at = start + 1;
        let last = quoted.saturating_sub(1).max(at);
        while at < last {
            let mark = text[at..last].find('"').map_or(last, |mark| at + mark);
            // Of two marks, the first is text.
            let kept = (mark + 1).min(last);
            part(at..kept, true);
            if mark + 1 < last {
                part(mark + 1..mark + 2, false);
            }
            at = (mark + 2).min(last).max(kept);
        }
        part(last..quoted, false);
        part(quoted..end, true);
    }

    /// Returns the text of the cell.
    pub(super) fn text(&self, text: &str) -> String {
        let mut kept = String::new();
        self.parts(text, |range, is_text| {
            if is_text {
                kept.push_str(&text[range]);
            }
        });
        kept
    }
}

/// The rows of a table. Lines without anything are none.
#[derive(Debug, Clone)]
pub(super) struct Rows<'t> {
    text: &'t str,
    delimiter: u8,
    at: usize,
    /// Whether a quotation was not closed before. From then on, one must be closed in its line.
    in_line: bool,
    /// Up to where marks are text, because the first quotation of this line was not closed.
    plain: usize,
}

impl<'t> Rows<'t> {
    /// Returns the rows of a text from a byte on.
    pub(super) fn new(text: &'t str, delimiter: u8, at: usize) -> Self {
        Self { text, delimiter, at, in_line: false, plain: 0 }
    }

    /// Reads the next row into `cells`; `false` if there is none.
    pub(super) fn next(&mut self, cells: &mut Vec<Cell>) -> bool {
        cells.clear();
        let bytes = self.text.as_bytes();
        while matches!(bytes.get(self.at), Some(b'\n' | b'\r')) {
            self.at += 1;
        }
        if self.at >= bytes.len() {
            return false;
        }
        loop {
            cells.push(self.cell());
            match bytes.get(self.at) {
                Some(byte) if *byte == self.delimiter => self.at += 1,
                _ => return true,
            }
        }
    }

    /// Returns whether a quotation was not closed.
    #[cfg(test)]
    pub(super) fn was_open(&self) -> bool {
        self.in_line
    }

    fn cell(&mut self) -> Cell {
        let start = self.at;
        let quoted = self.quotation(start);
        let from = quoted.unwrap_or(start);
        let rest = &self.text.as_bytes()[from..];
        self.at = from + memchr(rest, |byte| byte == self.delimiter || matches!(byte, b'\n' | b'\r'));
        Cell { range: start..self.at, quoted }
    }

    /// Returns where the quotation ends that starts here.
    fn quotation(&mut self, start: usize) -> Option<usize> {
        let bytes = self.text.as_bytes();
        if bytes.get(start) != Some(&b'"') || start < self.plain {
            return None;
        }
        let mut at = start + 1;
        while let Some(byte) = bytes.get(at) {
            match byte {
                b'"' if bytes.get(at + 1) == Some(&b'"') => at += 2,
                b'"' => return Some(at + 1),
                b'\n' | b'\r' if self.in_line => break,
                _ => at += 1,
            }
        }
        // No quotation is searched before this byte again, so no byte is searched often.
        if self.in_line {
            self.plain = at;
        }
        self.in_line = true;
        None
    }
}

fn memchr(bytes: &[u8], is: impl Fn(u8) -> bool) -> usize {
    bytes.iter().position(|byte| is(*byte)).unwrap_or(bytes.len())
}

/// The delimiters that are tried.
const DELIMITERS: [u8; 4] = [b',', b';', b'\t', b'|'];

/// Rows and bytes that are tried.
const TRIED: usize = 50;
const TRIED_BYTES: usize = 1 << 16;

/// Returns the delimiter with which most of the first rows have as many cells as the first, more than one; of several, that
/// with most cells. Otherwise, it is a comma.
pub(super) fn delimiter(text: &str, start: usize) -> u8 {
    let end = text.floor_char_boundary(text.len().min(start + TRIED_BYTES));
    let score = |delimiter: u8| {
        let mut rows = Rows::new(&text[..end], delimiter, start);
        let mut cells = Vec::new();
        let mut counts = Vec::new();
        while counts.len() < TRIED && rows.next(&mut cells) {
            counts.push(cells.len());
        }
        let first = counts.first().copied().unwrap_or_default();
        let equal = counts.iter().filter(|count| **count == first).count();
        if first > 1 { (equal * 100 / counts.len(), first) } else { (0, 0) }
    };
    let mut best = (b',', (0, 0));
    for delimiter in DELIMITERS {
        let score = score(delimiter);
        if score > best.1 {
            best = (delimiter, score);
        }
    }
    best.0
}
