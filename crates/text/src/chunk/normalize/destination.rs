//! The places of link destinations in the source.
//!
//! A parser reports which bytes are a link and where it leads, but not which of the bytes are the destination.
//! Bytes are taken for the destination only if they decode to exactly what the parser understood; otherwise the
//! link is not changed.

use std::borrow::Cow;
use std::ops::Range;

use super::blocks::blocks_in;
use crate::document::{BlockKind, Document};

/// The destination of a link, image or reference definition.
pub(super) struct Destination {
    /// Its bytes, without `<` and `>`.
    pub(super) range: Range<usize>,
    /// The destination without escapes.
    pub(super) target: String,
}

/// Finds the destinations that are entirely in a range. Those of definitions inside other blocks are not found.
pub(super) fn find<'d>(document: &'d Document, range: &Range<usize>) -> impl Iterator<Item = Destination> + use<'d> {
    inline(document, range).chain(definitions(document, range))
}

fn inline<'d>(document: &'d Document, range: &Range<usize>) -> impl Iterator<Item = Destination> + use<'d> {
    let Range { start, end } = *range;
    let first = document.links.partition_point(|link| link.range.start < start);
    let links = document.links[first..].iter().take_while(move |link| link.range.start < end);
    let links = links.filter(move |link| link.range.end <= end && !link.named);
    links.filter_map(|link| {
        let source = &document.text[link.range.clone()];
        // Only `[text](destination)` ends like this; a reference or an autolink does not.
        let open = source.strip_suffix(')')?.rfind("](")? + 2;
        let inner = parse(&source[open..source.len() - 1])?;
        let range = link.range.start + open + inner.start..link.range.start + open + inner.end;
        let target = link.target.clone();
        (unescape(&document.text[range.clone()]) == target).then_some(Destination { range, target })
    })
}

fn definitions<'d>(document: &'d Document, range: &Range<usize>) -> impl Iterator<Item = Destination> + use<'d> {
    let Range { start, end } = *range;
    let text = &document.text;
    let blocks = blocks_in(document, range).iter().filter(|block| block.kind == BlockKind::References);
    let lines = blocks.flat_map(move |block| {
        let mut at = block.range.start.max(start);
        // A definition may end the block or continue on the next line.
        text[at..block.range.end.min(end).max(at)].split_inclusive(['\n', '\r']).map(move |line| {
            at += line.len();
            (line, at, block.range.end)
        })
    });
    lines.filter_map(move |(line, next, last)| {
        let label = line.trim_start_matches(' ').strip_prefix('[').filter(|label| !label.starts_with('^'))?;
        let after = label.find("]:")? + 2;
        let mut at = next - label.len() + after;
        let mut rest = &text[at..next];
        if rest.trim().is_empty() {
            // The destination is on the next line.
            let below = text[next..last].trim_start();
            (at, rest) = (last - below.len(), below.lines().next()?);
        }
        let inner = parse(rest)?;
        let range = at + inner.start..at + inner.end;
        // Not if it continues after the chunk.
        let whole = range.end < end || range.end == last || text[range.end..].starts_with(char::is_whitespace);
        (range.end <= end && whole).then(|| Destination { target: unescape(&text[range.clone()]).into_owned(), range })
    })
}

/// Returns the destination at the start of a text, after white space.
fn parse(text: &str) -> Option<Range<usize>> {
    let content = text.trim_start();
    let start = text.len() - content.len();
    let angle = content.strip_prefix('<');
    let (start, content) = angle.map_or((start, content), |inner| (start + 1, inner));
    let mut escaped = false;
    let ends = |c: char| {
        let ends = if angle.is_some() { c == '>' && !escaped } else { c.is_whitespace() };
        escaped = c == '\\' && !escaped;
        ends
    };
    let end = match content.find(ends) {
        Some(end) => end,
        None if angle.is_none() => content.len(),
        None => return None,
    };
    (end > 0).then_some(start..start + end)
}

/// Returns a destination without its escapes. `&amp;` is the only character reference that is decoded, because it
/// is the only one that URLs need.
fn unescape(source: &str) -> Cow<'_, str> {
    if !source.contains(['\\', '&']) {
        return Cow::Borrowed(source);
    }
    let mut out = String::with_capacity(source.len());
    let mut chars = source.chars().peekable();
    while let Some(c) = chars.next() {
        let escaped = if c == '\\' { chars.next_if(char::is_ascii_punctuation) } else { None };
        out.push(escaped.unwrap_or(c));
    }
    Cow::Owned(out.replace("&amp;", "&"))
}
