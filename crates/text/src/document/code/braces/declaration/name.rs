//! Finds the name of a function in a header, and what surrounds it.

use super::header::Header;
use crate::document::code::lex::TokenKind;
use crate::document::format::Language;

/// Words before a parenthesis that do not name a function.
const NO_NAMES: [&str; 30] = [
    "if",
    "for",
    "while",
    "switch",
    "catch",
    "return",
    "throw",
    "new",
    "__attribute__",
    "alignas",
    "decltype",
    "noexcept",
    "sizeof",
    "function",
    "func",
    "await",
    "typeof",
    "import",
    "super",
    "else",
    "do",
    "try",
    "with",
    "synchronized",
    "assert",
    "delete",
    "yield",
    "case",
    "__declspec",
    "static_assert",
];

/// Words that may follow the parameters of a C++ function.
pub(super) const BEHIND: [&str; 10] =
    ["const", "noexcept", "override", "final", "throw", "volatile", "requires", "try", "__attribute__", "mutable"];

impl Header<'_> {
    /// Returns the index of a `=` that assigns, outside `<…>`.
    pub(in crate::document::code::braces) fn assignment(&self) -> Option<usize> {
        let mut depth = 0_usize;
        for (at, token) in self.tokens.iter().enumerate() {
            let before = at.checked_sub(1).map(|before| self.tokens[before]);
            let after = self.tokens.get(at + 1).filter(|next| next.start == token.end);
            match token.kind {
                TokenKind::Word if self.text(token) == "operator" => return None,
                TokenKind::Mark(b'<') => depth += 1,
                TokenKind::Mark(b'>') if !before.is_some_and(|before| before.is(b'-') || before.is(b'=')) => {
                    depth = depth.saturating_sub(1);
                }
                TokenKind::Mark(b'=') if depth == 0 && !after.is_some_and(|next| next.is(b'>') || next.is(b'=')) => {
                    return Some(at);
                }
                _ => {}
            }
        }
        None
    }

    /// Returns whether a `<` is still waiting for its `>`.
    pub(super) fn angle_is_open(&self) -> bool {
        let mut depth = 0_usize;
        for (at, token) in self.tokens.iter().enumerate() {
            let arrow = at > 0 && (self.tokens[at - 1].is(b'-') || self.tokens[at - 1].is(b'='));
            match token.kind {
                TokenKind::Mark(b'<') => depth += 1,
                TokenKind::Mark(b'>') if !arrow => depth = depth.saturating_sub(1),
                _ => {}
            }
        }
        depth > 0
    }

    /// Returns the name before the parameters of a function, and the index of the name's first token.
    pub(super) fn callable(&self) -> Option<(String, usize)> {
        let tokens = self.tokens;
        let c = matches!(self.language, Language::C | Language::Cpp);
        let limit = self.assignment().unwrap_or(tokens.len());
        let mut depth = 0_usize;
        for (at, token) in tokens[..limit].iter().enumerate() {
            let before = at.checked_sub(1).map(|before| &tokens[before]);
            match token.kind {
                TokenKind::Word if c && self.text(token) == "operator" => {
                    let mut groups = tokens[at..].iter().filter(|token| token.kind == TokenKind::Open(b'('));
                    let first = groups.next()?;
                    let end = if first.start == token.end { groups.next().unwrap_or(first).start } else { first.start };
                    return Some((self.text[token.start..end].to_owned(), at));
                }
                TokenKind::Mark(b'<') => depth += 1,
                TokenKind::Mark(b'>') if !before.is_some_and(|before| before.is(b'-') || before.is(b'=')) => {
                    depth = depth.saturating_sub(1);
                }
                TokenKind::Open(b'(') if depth == 0 => {
                    let next = tokens
                        .get(at + 1)
                        .map_or("", |next| if next.kind == TokenKind::Word { self.text(next) } else { "" });
                    if c && !next.is_empty() && !BEHIND.contains(&next) {
                        continue;
                    }
                    let Some(first) = self.name_before(at) else { continue };
                    let title = &self.text[tokens[first].start..token.start];
                    let title = title.split('<').next().unwrap_or(title).trim_end();
                    return Some((title.to_owned(), first));
                }
                _ => {}
            }
        }
        None
    }

    /// Returns the index of the first token of the name that ends before the parenthesis at `at`.
    fn name_before(&self, at: usize) -> Option<usize> {
        let tokens = self.tokens;
        let mut first = at.checked_sub(1)?;
        let scripted = matches!(self.language, Language::JavaScript | Language::TypeScript);
        if tokens[first].is(b'>') {
            // Type parameters: the name is before their `<`.
            let mut depth = 0_usize;
            loop {
                if tokens[first].is(b'>') {
                    depth += 1;
                } else if tokens[first].is(b'<') {
                    depth -= 1;
                    if depth == 0 {
                        break;
                    }
                }
                first = first.checked_sub(1)?;
            }
            first = first.checked_sub(1)?;
        }
        let name = &tokens[first];
        match name.kind {
            TokenKind::Word if NO_NAMES.contains(&self.text(name)) => return None,
            TokenKind::Word => {}
            TokenKind::Text | TokenKind::Open(b'[') if scripted => return Some(first),
            _ => return None,
        }
        let mark = |at: usize, mark: u8| tokens[at].is(mark);
        loop {
            if first >= 1 && (mark(first - 1, b'~') || (scripted && mark(first - 1, b'#'))) {
                first -= 1;
            } else if first >= 3
                && mark(first - 1, b':')
                && mark(first - 2, b':')
                && tokens[first - 3].kind == TokenKind::Word
            {
                first -= 3;
            } else {
                return Some(first);
            }
        }
    }
}
