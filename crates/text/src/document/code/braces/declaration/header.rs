//! The tokens of a statement up to its brace or end, and what they can declare.

use super::prefix::prefix;
use crate::document::code::lex::{Token, TokenKind};
use crate::document::format::Language;

/// Words that may precede what is declared.
const MODIFIERS: [&str; 22] = [
    "pub",
    "async",
    "unsafe",
    "default",
    "crate",
    "export",
    "declare",
    "abstract",
    "public",
    "private",
    "protected",
    "static",
    "readonly",
    "override",
    "get",
    "set",
    "accessor",
    "inline",
    "final",
    "sealed",
    "strictfp",
    "non",
];

pub(in crate::document::code::braces) enum Declaration {
    /// A type or module with members between its braces.
    Container {
        title: String,
        /// Whether commas separate the members.
        fields: bool,
    },
    /// Braces that only group: `extern "C" {`.
    Transparent,
    /// A function, or another item without members.
    Item(String),
    /// Anything else.
    Other,
}

pub(in crate::document::code::braces) struct Header<'t> {
    pub(super) text: &'t str,
    pub(super) language: Language,
    pub(super) tokens: &'t [Token],
    /// The same tokens without modifiers.
    pub(super) bare: &'t [Token],
}

impl<'t> Header<'t> {
    pub(in crate::document::code::braces) fn new(text: &'t str, language: Language, tokens: &'t [Token]) -> Self {
        let tokens = &tokens[prefix(text, language, tokens)..];
        let mut header = Self { text, language, tokens, bare: tokens };
        while let [first, rest @ ..] = header.bare {
            let word = header.text(first);
            let rust = language == Language::Rust;
            let next = rest.first().map_or("", |next| header.text(next));
            let skip = match first.kind {
                // A word that names a method is not a modifier.
                TokenKind::Word
                    if rest
                        .first()
                        .is_some_and(|next| !rust && (next.kind == TokenKind::Open(b'(') || next.is(b'='))) =>
                {
                    false
                }
                TokenKind::Word if word == "const" => rust && matches!(next, "fn" | "unsafe" | "async" | "extern"),
                TokenKind::Word if word == "extern" => {
                    rust && matches!(rest.first(), Some(next) if next.kind == TokenKind::Text || header.text(next) == "fn")
                }
                TokenKind::Word => MODIFIERS.contains(&word),
                TokenKind::Open(b'(') | TokenKind::Text => rust,
                TokenKind::Mark(b'*') => matches!(language, Language::JavaScript | Language::TypeScript),
                _ => false,
            };
            if !skip {
                break;
            }
            header.bare = rest;
        }
        header
    }

    pub(super) fn text(&self, token: &Token) -> &'t str {
        &self.text[token.start..token.end]
    }

    /// Returns the word at index `at` of the bare header.
    pub(super) fn word(&self, at: usize) -> &'t str {
        self.bare.get(at).filter(|token| token.kind == TokenKind::Word).map_or("", |token| self.text(token))
    }
}
