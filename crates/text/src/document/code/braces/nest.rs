//! The open brackets of a statement, even if they do not match.

use crate::document::code::lex::Token;

struct Bracket {
    kind: u8,
    /// Whether its line is not indented.
    margin: bool,
}

#[derive(Default)]
pub(super) struct Nest {
    open: Vec<Bracket>,
    /// Number of braces among them.
    braces: usize,
}

impl Nest {
    pub(super) fn len(&self) -> usize {
        self.open.len()
    }

    pub(super) fn is_empty(&self) -> bool {
        self.open.is_empty()
    }

    pub(super) fn push(&mut self, kind: u8, margin: bool) {
        self.open.push(Bracket { kind, margin });
        self.braces += usize::from(kind == b'{');
    }

    fn pop(&mut self) -> Option<Bracket> {
        let bracket = self.open.pop()?;
        self.braces -= usize::from(bracket.kind == b'{');
        Some(bracket)
    }

    /// Forgets all but the first `len` brackets.
    pub(super) fn truncate(&mut self, len: usize) {
        while self.len() > len {
            self.pop();
        }
    }

    /// Closes a bracket. Returns whether the bracket that it closes is on a line without indentation. A bracket
    /// that does not match is ignored, except that a brace also closes what was left open inside it.
    pub(super) fn close(&mut self, bracket: u8) -> bool {
        let opening = opening(bracket);
        if self.open.last().is_some_and(|last| last.kind == opening) {
            return self.pop().is_some_and(|bracket| bracket.margin);
        }
        while bracket == b'}' && self.braces > 0 {
            match self.pop() {
                Some(open) if open.kind != b'{' => {}
                open => return open.is_some_and(|open| open.margin),
            }
        }
        true
    }
}

fn opening(bracket: u8) -> u8 {
    match bracket {
        b')' => b'(',
        b']' => b'[',
        _ => b'{',
    }
}

/// Returns whether a token is the first of its line and not indented.
pub(super) fn at_margin(text: &str, token: Token) -> bool {
    token.first && (token.start == 0 || matches!(text.as_bytes()[token.start - 1], b'\n' | b'\r'))
}
