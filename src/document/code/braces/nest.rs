//! The brackets that are open in a statement, also where they do not fit each other.

use crate::document::code::lex::Token;

struct Bracket {
    kind: u8,
    /// Whether the line it stands on is not indented.
    margin: bool,
}

#[derive(Default)]
pub(super) struct Nest {
    open: Vec<Bracket>,
    /// How many of them are braces.
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

    /// Forgets what was opened after the first `len` brackets.
    pub(super) fn truncate(&mut self, len: usize) {
        while self.len() > len {
            self.pop();
        }
    }

    /// A bracket closes; gives whether the one that it closes stands on a line without indentation.
    /// One that does not fit is passed over, unless a brace closes what was left open.
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

/// Whether a token is the first of its line and not indented.
pub(super) fn at_margin(text: &str, token: Token) -> bool {
    token.first && (token.start == 0 || text.as_bytes()[token.start - 1] == b'\n')
}
