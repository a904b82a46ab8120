//! Source code: finds its items and the comments that document them.
//!
//! This does not use a grammar. A scanner tells strings, comments and brackets apart, and a declaration is
//! recognized by how it begins. Text that is not recognized stays code, so every byte is in a block. A real parser
//! was tried: tree-sitter takes seconds on some inputs of a few kilobytes and has no way to bound that, so it
//! cannot keep the promise that parsing is linear.

mod braces;
mod lex;
mod outline;
mod python;

use std::ops::Range;

use super::block::{Block, BlockKind};
use super::format::Language;
use super::parsed::{Heading, ParsedBody};
use super::room::{self, Room};
use super::text;
use super::white_space::{is_blank, trim};
use outline::{BlockStart, TextKind, Title};

pub(super) fn parse(text: &str, body: Range<usize>, language: Language, room: &mut Room) -> ParsedBody {
    let cuts = match language {
        Language::Python => python::cuts(text, body.clone(), room),
        _ => braces::cuts(text, body.clone(), language, room),
    };
    blocks(text, &body, cuts, room)
}

/// Returns the strings of a source file, in order.
pub(super) fn strings(text: &str, language: Language) -> Vec<Range<usize>> {
    let tokens = lex::Lexer::new(text, 0..text.len(), language);
    tokens.filter(|token| token.kind == lex::TokenKind::Text).map(|token| token.start..token.end).collect()
}

/// Makes blocks from one cut to the next, covering the body.
fn blocks(text: &str, body: &Range<usize>, cuts: Vec<BlockStart>, room: &mut Room) -> ParsedBody {
    let mut parsed = ParsedBody::default();
    // The block being built: its start and its kind.
    let mut open = (body.start, TextKind::Code);
    let mut heading = None;
    let end = BlockStart { at: body.end, part: TextKind::Code, heading: None };
    for cut in cuts.into_iter().chain([end]) {
        let at = if cut.at == body.end { cut.at } else { line_start(text, open.0, cut.at) };
        if at < open.0 {
            continue;
        }
        let last = cut.at == body.end;
        if !is_blank(&text[open.0..at]) {
            if !last && cut.heading.is_none() && cut.part == open.1 {
                continue;
            }
            push(&mut parsed, text, open.0..at, open.1, heading.take(), room);
        }
        open = (at, cut.part);
        heading = cut.heading.or(heading);
    }
    parsed
}

fn push(
    parsed: &mut ParsedBody,
    text: &str,
    range: Range<usize>,
    part: TextKind,
    heading: Option<Title>,
    room: &mut Room,
) {
    if !room.take(room::BLOCK + heading.as_ref().map_or(0, |_| room::HEADING)) {
        return;
    }
    let range = trim(text, range);
    if let Some(Title { level, text: title, continues }) = heading {
        parsed.headings.push(Heading { level, title, anchor: String::new(), start: range.start, continues });
    }
    let index = parsed.blocks.len();
    let kind = if part == TextKind::Comment { BlockKind::Comment } else { BlockKind::Code };
    parsed.blocks.push(Block { kind, range: range.clone(), next: index + 1 });
    let parts = text::parse(text, range, room).blocks;
    if parts.len() > 1 {
        parsed.blocks.extend((index + 1..).zip(parts).map(|(at, part)| Block { kind, next: at + 1, ..part }));
        parsed.blocks[index].next = parsed.blocks.len();
    }
}

/// Returns the start of the line that contains `at` if only white space precedes `at` on it, otherwise `at`.
fn line_start(text: &str, from: usize, at: usize) -> usize {
    let Some(before) = text.get(from..at) else { return at };
    let bare = before.trim_end_matches([' ', '\t']).len();
    if bare == 0 && !from_line_start(text, from) || bare > 0 && !before[..bare].ends_with(['\n', '\r']) {
        return at;
    }
    from + bare
}

fn from_line_start(text: &str, from: usize) -> bool {
    text[..from].chars().next_back().is_none_or(|c| matches!(c, '\n' | '\r' | '\u{feff}'))
}
