//! Declarations in C and C++, where the declared name follows its type and a macro may be anything.

use super::header::{Declaration, Header};
use super::name::BEHIND;
use crate::document::code::lex::{Token, TokenKind};

impl Header<'_> {
    /// Returns whether a brace that opens here is a value in the initializers of a C++ constructor.
    pub(super) fn initializes(&self) -> bool {
        let Some((_, name)) = self.callable() else { return false };
        let word = |token: &Token| token.kind == TokenKind::Word && !BEHIND.contains(&self.text(token));
        let lone = |three: &[Token]| three[1].is(b':') && !three[0].is(b':') && !three[2].is(b':');
        self.tokens.last().is_some_and(word) && self.tokens[name..].windows(3).any(lone)
    }

    pub(super) fn c(&self, inside: bool, brace: bool) -> Declaration {
        let first = self.word(0);
        let callable = self.callable().filter(|(_, at)| inside || *at > 0 || (brace && *at == 0));
        if first == "namespace" && brace {
            let words = self.bare[1..].iter().take_while(|token| token.kind != TokenKind::Open(b'{'));
            let title: String = words.map(|token| self.text(token)).collect();
            return Declaration::Container {
                title: if title.is_empty() { first.to_owned() } else { title },
                fields: false,
            };
        }
        if first == "extern"
            && self.bare.get(1).is_some_and(|token| token.kind == TokenKind::Text)
            && brace
            && callable.is_none()
        {
            return Declaration::Transparent;
        }
        if first == "typedef" && !brace {
            return self.typedef();
        }
        if first == "using" && self.assignment().is_some() {
            return self.item(1);
        }
        if let Some((title, _)) = callable {
            return Declaration::Item(title);
        }
        let keyword = |token: &Token| matches!(self.text(token), "class" | "struct" | "union" | "enum");
        match self.tokens.iter().position(keyword) {
            Some(at) if brace && self.assignment().is_none() => {
                let fields = self.text(&self.tokens[at]) == "enum";
                let rest = &self.tokens[at + 1..];
                let end = rest
                    .iter()
                    .position(|token| token.is(b':') || token.is(b'<') || token.kind == TokenKind::Open(b'{'));
                let mut names =
                    rest[..end.unwrap_or(rest.len())].iter().rev().filter(|token| token.kind == TokenKind::Word);
                let name = names.find(|token| self.text(token) != "final").map(|token| self.text(token));
                let title = name.filter(|name| !matches!(*name, "class" | "struct"));
                Declaration::Container { title: title.unwrap_or(self.text(&self.tokens[at])).to_owned(), fields }
            }
            _ => Declaration::Other,
        }
    }

    fn typedef(&self) -> Declaration {
        let pointer = self.tokens.iter().position(|token| token.kind == TokenKind::Open(b'('));
        let source = pointer.map(|at| self.tokens[at].start);
        if let Some((start, last)) = source.zip(self.tokens.last())
            && let Some(inside) = self.text[start..last.end].strip_prefix('(')
            && let Some(name) = inside.trim_start().strip_prefix('*')
        {
            let name: String = name.trim_start().chars().take_while(|c| c.is_alphanumeric() || *c == '_').collect();
            return if name.is_empty() { Declaration::Other } else { Declaration::Item(name) };
        }
        let end = pointer.unwrap_or(self.tokens.len());
        match self.tokens[..end].iter().rev().find(|token| token.kind == TokenKind::Word) {
            Some(name) => Declaration::Item(self.text(name).to_owned()),
            None => Declaration::Other,
        }
    }
}
