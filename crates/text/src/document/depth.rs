//! Quotes and lists that are nested too deeply.
//!
//! The markdown parser goes through all open quotes, lists and footnotes at each line. A line that continues a
//! paragraph lazily keeps all of them open without repeating their markers, so a few lines of markers would make
//! each of the short lines after them cost as much as a page. Every level takes at least one column of the line that
//! opens it. A marker that starts at or after [`MAX_COLUMN`] therefore is text: the parser reads a copy in which it
//! is a letter. Offsets stay the same, and everything else still reads the original.

use std::ops::Range;

use memchr::memchr2_iter;

/// Column from which on a marker no longer opens a quote or a list. A list nested in steps of four columns has 64
/// levels before it.
const MAX_COLUMN: usize = 256;

/// Columns between two tab stops.
const TAB: usize = 4;

/// Returns the offsets of the markers that are nested too deeply: the first of each line of `text[body]`.
pub(super) fn too_deep(text: &str, body: Range<usize>) -> Vec<usize> {
    let bytes = &text.as_bytes()[body.clone()];
    let mut found = Vec::new();
    let mut start = 0;
    for end in memchr2_iter(b'\n', b'\r', bytes).chain([bytes.len()]) {
        // A tab is at most four columns wide, and a marker's line is longer than what is before it.
        if end - start > MAX_COLUMN / TAB && !bytes[start].is_ascii_alphabetic() {
            found.extend(deep_marker(&bytes[start..end]).map(|at| body.start + start + at));
        }
        start = end + 1;
    }
    found
}

/// Returns the offset of the first marker of a line that is nested too deeply.
fn deep_marker(line: &[u8]) -> Option<usize> {
    let (mut at, mut column) = (0, 0);
    loop {
        let taken = match line.get(at)? {
            b' ' => 1,
            b'\t' => {
                column += TAB - 1;
                1
            }
            _ => marker(&line[at..])?,
        };
        if column >= MAX_COLUMN && !line[at].is_ascii_whitespace() {
            return (!is_rule(&line[at..])).then_some(at);
        }
        at += taken;
        column += taken;
    }
}

/// Returns the length of the marker of a quote, a list item or a footnote that a text starts with.
fn marker(text: &[u8]) -> Option<usize> {
    let ends = |at: usize| text.get(at).is_none_or(|byte| matches!(byte, b' ' | b'\t'));
    match text.first()? {
        b'>' => Some(1),
        b'-' | b'+' | b'*' => ends(1).then_some(1),
        b'0'..=b'9' => {
            let digits = text.iter().take_while(|byte| byte.is_ascii_digit()).count();
            (matches!(text.get(digits), Some(b'.' | b')')) && ends(digits + 1)).then_some(digits + 1)
        }
        b'[' if text.get(1) == Some(&b'^') => {
            let mut at = 2;
            while *text.get(at)? != b']' {
                at += if text[at] == b'\\' { 2 } else { 1 };
            }
            (text.get(at + 1) == Some(&b':')).then_some(at + 2)
        }
        _ => None,
    }
}

/// Returns whether a text is a thematic break of bullets with blanks between them. Those look like markers.
fn is_rule(text: &[u8]) -> bool {
    text.iter().all(|byte| matches!(byte, b' ' | b'\t') || *byte == text[0]) && matches!(text[0], b'-' | b'*')
}
