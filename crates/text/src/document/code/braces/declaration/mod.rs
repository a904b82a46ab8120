//! Recognizes what a statement declares from its first tokens alone.

mod c;
mod header;
mod name;
mod prefix;

pub(super) use header::{Declaration, Header};
pub(super) use prefix::prefix;

use crate::document::code::lex::{Token, TokenKind};
use crate::document::format::Language;
use prefix::angles;

impl Header<'_> {
    /// Returns what is declared if a brace opens here.
    pub(super) fn before_brace(&self, inside: bool) -> Declaration {
        match self.language {
            Language::Rust => self.rust(true),
            Language::Go => self.go(inside, true),
            Language::Java => self.java(inside),
            Language::JavaScript | Language::TypeScript => self.script(inside, true),
            _ => self.c(inside, true),
        }
    }

    /// Returns what is declared if the statement ends here.
    pub(super) fn without_brace(&self, inside: bool, fields: bool) -> Declaration {
        match self.language {
            Language::Rust | Language::Java if fields => Declaration::Other,
            Language::Rust => self.rust(false),
            Language::Go => self.go(inside, false),
            Language::Java => self.java(inside),
            Language::JavaScript | Language::TypeScript => self.script(inside, false),
            _ => self.c(inside, false),
        }
    }

    /// Returns whether the statement ends with the brace that opens here.
    pub(super) fn ends_with_brace(&self) -> bool {
        let first = self.bare.first().map_or("", |first| self.text(first));
        let open = matches!(first, "use" | "let" | "const" | "var" | "type" | "typedef" | "import");
        // In C, these words can start a function's return type: `const char *name(void) {`.
        let typed = matches!(self.language, Language::C | Language::Cpp) && self.callable().is_some();
        let fixed = self.language == Language::Rust && first == "static";
        let line = self.language == Language::Go && first != "func";
        (typed || !open) && !fixed && !line && self.assignment().is_none()
    }

    /// Returns whether a brace that opens here belongs to a type or a value, with the body still to come.
    pub(super) fn brace_is_no_body(&self) -> bool {
        let Some(last) = self.tokens.last() else { return false };
        match self.language {
            Language::Cpp => self.initializes(),
            Language::Go => self.word(0) == "func" && matches!(self.text(last), "struct" | "interface"),
            Language::TypeScript => matches!(last.kind, TokenKind::Mark(b':' | b'|' | b'&')) || self.angle_is_open(),
            Language::Rust => self.angle_is_open(),
            _ => false,
        }
    }

    /// Returns whether a comment above documents this statement although it is not an item.
    pub(super) fn declares(&self) -> bool {
        let first = self.bare.first().map_or("", |first| self.text(first));
        let names = match self.language {
            Language::Go => matches!(first, "package" | "const" | "var" | "type"),
            _ => true,
        };
        names && first != "using"
    }

    fn item(&self, at: usize) -> Declaration {
        match self.word(at) {
            "" => Declaration::Other,
            name => Declaration::Item(name.to_owned()),
        }
    }

    fn rust(&self, brace: bool) -> Declaration {
        let name = self.word(1);
        match self.word(0) {
            "static" | "const" if matches!(name, "mut" | "ref") => self.item(2),
            "macro_rules" => self.item(2),
            "struct" | "union" | "enum" if brace && !name.is_empty() => {
                Declaration::Container { title: name.to_owned(), fields: true }
            }
            "trait" | "mod" if brace && !name.is_empty() => {
                Declaration::Container { title: name.to_owned(), fields: false }
            }
            "fn" | "type" | "static" | "const" | "struct" | "trait" => self.item(1),
            "impl" if brace => Declaration::Container { title: self.implementation(), fields: false },
            "" if brace && self.tokens.iter().any(|token| self.text(token) == "extern") => Declaration::Transparent,
            // The argument of a macro mostly consists of items: `cfg_if!`, `thread_local!`, `bitflags!`.
            _ if brace && self.bare.len() > 2 && self.bare[self.bare.len() - 2].is(b'!') => Declaration::Transparent,
            _ => Declaration::Other,
        }
    }

    /// Returns the text between `impl<…>` and `where`.
    fn implementation(&self) -> String {
        let rest = &self.bare[1..];
        let rest = &rest[angles(rest)..];
        let end = rest.iter().position(|token| self.text(token) == "where" || token.kind == TokenKind::Open(b'{'));
        let named = &rest[..end.unwrap_or(rest.len())];
        let (Some(first), Some(last)) = (named.first(), named.last()) else { return "impl".to_owned() };
        // An opening bracket represents everything up to the next token: `for [u8; 3]`.
        let group = end.filter(|_| matches!(last.kind, TokenKind::Open(_))).map_or(last.end, |end| rest[end].start);
        let title = self.text[first.start..group].trim_end();
        // The type alone, which makes a member `Type > member`. A trait implementation is named with trait and
        // type.
        let inherent = !named.iter().any(|token| self.text(token) == "for");
        let bare = title.split('<').next().filter(|bare| inherent && !bare.is_empty());
        bare.unwrap_or(title).to_owned()
    }

    fn go(&self, inside: bool, brace: bool) -> Declaration {
        match (self.word(0), self.bare.get(1).map(|token| token.kind)) {
            ("func", Some(TokenKind::Open(b'('))) if !self.word(2).is_empty() => {
                // The receiver's type is the last name in the parentheses.
                let receiver = &self.text[self.bare[1].start..self.bare[2].start];
                let receiver = receiver.split('[').next().unwrap_or(receiver).trim_end_matches([')', ' ', '\t']);
                let start = receiver.rfind(|c: char| !(c.is_alphanumeric() || c == '_')).map_or(0, |at| at + 1);
                // The character found there is one ASCII byte.
                let class = receiver.get(start..).unwrap_or_default();
                Declaration::Item(format!("{class}.{}", self.word(2)))
            }
            ("type", Some(TokenKind::Word))
                if brace && self.tokens.iter().any(|token| matches!(self.text(token), "struct" | "interface")) =>
            {
                Declaration::Container { title: self.word(1).to_owned(), fields: false }
            }
            ("func" | "type" | "const" | "var", Some(TokenKind::Word)) => self.item(1),
            (name, Some(TokenKind::Open(b'('))) if inside && !matches!(name, "" | "func") => self.item(0),
            _ => Declaration::Other,
        }
    }

    /// Returns what is declared in a group of Go's types, where the word `type` is before the group.
    pub(super) fn grouped(&self, brace: bool) -> Declaration {
        let composed = self.tokens.iter().any(|token| matches!(self.text(token), "struct" | "interface"));
        match self.word(0) {
            name if brace && composed && !name.is_empty() => {
                Declaration::Container { title: name.to_owned(), fields: false }
            }
            _ => self.item(0),
        }
    }

    fn java(&self, inside: bool) -> Declaration {
        let callable = self.callable();
        let limit = callable.as_ref().map_or(self.tokens.len(), |(_, at)| *at);
        let keyword = |token: &Token| matches!(self.text(token), "class" | "interface" | "enum" | "record");
        if let Some(at) = self.tokens[..limit].iter().position(keyword)
            && let Some(name) = self.tokens.get(at + 1).filter(|token| token.kind == TokenKind::Word)
        {
            let fields = self.text(&self.tokens[at]) == "enum";
            return Declaration::Container { title: self.text(name).to_owned(), fields };
        }
        match callable {
            Some((title, _)) if inside => Declaration::Item(title),
            _ => Declaration::Other,
        }
    }

    fn script(&self, inside: bool, brace: bool) -> Declaration {
        let named = |at: usize| if self.word(at).is_empty() { "default".to_owned() } else { self.word(at).to_owned() };
        let next = self.word(1);
        match self.word(0) {
            "function" => {
                let star = self.bare.get(1).is_some_and(|token| token.is(b'*'));
                return Declaration::Item(named(if star { 2 } else { 1 }));
            }
            "class" if brace => {
                let title = if next == "extends" { "default".to_owned() } else { named(1) };
                return Declaration::Container { title, fields: false };
            }
            "interface" | "enum" if brace && !next.is_empty() => {
                return Declaration::Container { title: next.to_owned(), fields: true };
            }
            "const" if next == "enum" && brace => {
                return Declaration::Container { title: self.word(2).to_owned(), fields: true };
            }
            "namespace" | "module" if brace && self.bare.len() > 1 && self.assignment().is_none() => {
                let title =
                    self.text[self.bare[1].start..self.bare[self.bare.len() - 2].end.max(self.bare[1].end)].to_owned();
                return Declaration::Container { title: title.trim_matches(['"', '\'']).to_owned(), fields: false };
            }
            "type" if self.assignment().is_some() => return self.item(1),
            "const" | "let" | "var" if !inside => {
                return if self.makes_function() { self.item(1) } else { Declaration::Other };
            }
            _ => {}
        }
        if !inside {
            return self.exported(brace);
        }
        match (self.property(), self.callable()) {
            (Some(title), _) | (None, Some((title, _))) => Declaration::Item(title),
            (None, None) if self.makes_function() => self.item(0),
            _ => Declaration::Other,
        }
    }

    /// Returns what a statement of a `CommonJS` module exports.
    fn exported(&self, brace: bool) -> Declaration {
        const MODULE: &str = "module.exports";
        let Some(at) = self.assignment() else { return Declaration::Other };
        let path: String = self.tokens[..at].iter().map(|token| self.text(token)).collect();
        let Some(name) = path.strip_prefix(MODULE).or_else(|| path.strip_prefix("exports")) else {
            return Declaration::Other;
        };
        let value = &self.tokens[at + 1..];
        match name.strip_prefix('.') {
            Some(name) if self.makes_function() && !name.is_empty() => Declaration::Item(name.to_owned()),
            None if name.is_empty() && self.makes_function() => {
                let words = value.iter().take_while(|token| token.kind == TokenKind::Word || token.is(b'*'));
                let mut words = words.filter(|token| token.kind == TokenKind::Word).map(|token| self.text(token));
                let own = words.find(|word| !matches!(*word, "async" | "function" | "class" | "extends"));
                Declaration::Item(own.filter(|_| !Self::is_arrow(value)).unwrap_or(MODULE).to_owned())
            }
            None if name.is_empty() && brace && matches!(value, [only] if only.kind == TokenKind::Open(b'{')) => {
                Declaration::Container { title: MODULE.to_owned(), fields: true }
            }
            _ => Declaration::Other,
        }
    }

    /// Returns the name of a property of an object that is a function: `name: function () {`. In TypeScript, an arrow
    /// may be a type.
    fn property(&self) -> Option<String> {
        let [name, colon, value @ ..] = self.tokens else { return None };
        let function = matches!(value.first().map_or("", |token| self.text(token)), "function" | "class" | "async")
            || self.language == Language::JavaScript && Self::is_arrow(value);
        let named = matches!(name.kind, TokenKind::Word | TokenKind::Text) && colon.is(b':') && function;
        named.then(|| self.text(name).trim_matches(['"', '\'']).to_owned())
    }

    /// Returns whether a value is an arrow function. The arrow of `b(c => d)` is in brackets; those of `c => d` and
    /// `async (c) => d` are not.
    fn is_arrow(value: &[Token]) -> bool {
        let arrow = value.windows(2).position(|pair| pair[0].is(b'=') && pair[1].is(b'>'));
        arrow.is_some_and(|arrow| arrow <= 8)
    }

    /// Returns whether a function or a class is assigned.
    fn makes_function(&self) -> bool {
        let Some(at) = self.assignment() else { return false };
        let value = &self.tokens[at + 1..];
        let first = value.first().map_or("", |token| self.text(token));
        matches!(first, "function" | "class" | "async") || Self::is_arrow(value)
    }
}
