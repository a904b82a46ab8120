//! Python: scopes by indentation, documentation in strings.

use std::ops::Range;

use super::lex::{Lexer, Token, TokenKind};
use super::outline::{BlockStart, Outline, Scope};
use crate::document::format::Language;
use crate::document::room::Room;

/// A class or function whose body is being read.
struct OpenScope {
    indent: usize,
    scope: Scope,
    /// Whether it is a function: nothing inside one is an item.
    opaque: bool,
}

pub(super) fn cuts(text: &str, body: Range<usize>, room: &mut Room) -> Vec<BlockStart> {
    let file = Outline::root();
    let mut outline = Outline::new(text, Language::Python);
    let mut tokens = Lexer::new(text, body.clone(), Language::Python).peekable();
    let mut open: Vec<OpenScope> = Vec::new();
    let mut brackets = 0_usize;
    let mut continued = false;
    // Whether the next statement is the first of a body, which may start with a documentation string.
    let mut documented = true;
    let mut feed = body.start;
    while let Some(token) = tokens.next() {
        if outline.is_over(room) {
            break;
        }
        let starts = token.first && brackets == 0 && !continued;
        continued = token.is(b'\\');
        match token.kind {
            TokenKind::Comment => {
                continued = false;
                if starts {
                    outline.comment(token.start, token.end);
                }
                continue;
            }
            TokenKind::Open(_) => brackets += 1,
            TokenKind::Close(_) => brackets = brackets.saturating_sub(1),
            _ => {}
        }
        if !starts {
            continue;
        }
        let indent = indent(text, &mut feed, token.start);
        while open.last().is_some_and(|last| indent <= last.indent) {
            open.pop();
            documented = false;
        }
        if documented && token.kind == TokenKind::Text {
            outline.string(token.start, token.end);
            documented = false;
            continue;
        }
        documented = false;
        if open.last().is_some_and(|last| last.opaque) {
            outline.drop_leads();
            continue;
        }
        let scope = open.last().map_or(&file, |last| &last.scope);
        let mut word = &text[token.start..token.end];
        if token.is(b'@') {
            let end = line_end(&mut tokens, token.end);
            outline.attribute(token.start, end);
            continue;
        }
        if word == "async" && tokens.peek().is_some_and(|next| &text[next.start..next.end] == "def") {
            tokens.next();
            word = "def";
        }
        if matches!(word, "def" | "class")
            && let Some(name) = tokens.next_if(|next| next.kind == TokenKind::Word && !next.first)
        {
            let scope = outline.item(token.start, scope, &text[name.start..name.end]);
            open.push(OpenScope { indent, scope, opaque: word == "def" });
            documented = true;
        } else {
            outline.other(token.start, scope, false);
        }
    }
    outline.finish(open.iter().find(|last| last.opaque).or(open.last()).map_or(&file, |last| &last.scope), room)
}

/// Returns the end of the logical line whose first token ends at `end`.
fn line_end(tokens: &mut std::iter::Peekable<Lexer<'_>>, mut end: usize) -> usize {
    let mut brackets = 0_usize;
    while let Some(next) = tokens.next_if(|next: &Token| !next.first || brackets > 0) {
        match next.kind {
            TokenKind::Open(_) => brackets += 1,
            TokenKind::Close(_) => brackets = brackets.saturating_sub(1),
            _ => {}
        }
        end = next.end;
    }
    end
}

/// Returns the column of the first token of a line. `feed` is where the last search ended.
fn indent(text: &str, feed: &mut usize, at: usize) -> usize {
    let before = &text.as_bytes()[*feed..at];
    let line = memchr::memrchr2(b'\n', b'\r', before).map_or(*feed, |found| *feed + found + 1);
    *feed = line;
    text[line..at].bytes().fold(0, |column, byte| if byte == b'\t' { (column / 8 + 1) * 8 } else { column + 1 })
}
