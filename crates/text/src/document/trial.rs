//! Finds the code and the HTML of a document that may need too much memory, by parsing it in pieces.
//!
//! Nothing in code or HTML is markup, but only the parser knows where they are. Most large documents consist of many
//! blocks: a piece that starts with a block is parsed as it would be inside the document. So the parser reads one piece
//! after the other, each from the block that may continue after the piece before. Only a block that fills its piece is
//! read again, in a piece twice as large. No piece may take more memory than the document.

use std::ops::Range;

use pulldown_cmark::{Event, Parser, Tag};

use super::nodes::{Verbatim, most_bytes, options};
use super::white_space::is_blank;

/// Bytes of a piece.
const PIECE: usize = 64 << 10;

/// Returns the code and the HTML of a text, as far as they can be found with `memory` bytes.
pub(super) fn verbatim(text: &str, memory: u64) -> Vec<Verbatim> {
    let mut found = Vec::new();
    let (mut at, mut size) = (0, PIECE);
    while at < text.len() {
        let from = text.len().min(at + size);
        let end = memchr::memchr(b'\n', &text.as_bytes()[from..]).map_or(text.len(), |feed| from + feed + 1);
        let known = found.partition_point(|known: &Verbatim| known.range.start < at);
        if most_bytes(text, at..end, &found[known..]) as u64 > memory {
            break;
        }
        found.truncate(known);
        let last = read(text, at..end, &mut found);
        if end == text.len() {
            break;
        }
        match last.filter(|last| *last > at) {
            Some(last) => (at, size) = (last, PIECE),
            None => size *= 2,
        }
    }
    found
}

/// Adds the code and the HTML of a piece. Returns the start of the last line that begins a block after a blank line.
fn read(text: &str, piece: Range<usize>, found: &mut Vec<Verbatim>) -> Option<usize> {
    let mut last = None;
    let mut depth = 0;
    for (event, range) in Parser::new_ext(&text[piece.clone()], options()).into_offset_iter() {
        if depth == 0 && !matches!(event, Event::End(_)) {
            let line = line_start(text, piece.start + range.start);
            // Without a blank line before it, link definitions may be part of the same paragraph.
            last = if is_blank(&text[line_start(text, line.saturating_sub(1))..line]) { Some(line) } else { last };
        }
        match event {
            Event::Start(Tag::CodeBlock(_) | Tag::HtmlBlock) => {
                depth += 1;
                found.push(Verbatim { range: piece.start + range.start..piece.start + range.end, nodes: 0 });
            }
            Event::Start(_) => depth += 1,
            Event::End(_) => depth -= 1,
            _ => {
                if let Some(open) = found.last_mut().filter(|open| range.start + piece.start < open.range.end) {
                    open.nodes += 1;
                }
            }
        }
    }
    last
}

fn line_start(text: &str, at: usize) -> usize {
    memchr::memrchr(b'\n', &text.as_bytes()[..at]).map_or(0, |feed| feed + 1)
}
