//! What may precede a declaration without being part of it: attributes and macros.

use crate::document::code::lex::{Token, TokenKind};
use crate::document::format::Language;

/// Returns the number of tokens before a declaration that do not affect its kind: annotations, `template<…>`,
/// `public:`.
pub(in crate::document::code::braces) fn prefix(text: &str, language: Language, tokens: &[Token]) -> usize {
    let mut at = 0;
    let word = |at: usize| {
        let token = tokens.get(at).filter(|token| token.kind == TokenKind::Word);
        token.map_or("", |token| &text[token.start..token.end])
    };
    let is = |at: usize, mark: u8| tokens.get(at).is_some_and(|token| token.is(mark));
    loop {
        if is(at, b'@') && word(at + 1) != "interface" && !word(at + 1).is_empty() {
            at += 2;
            while is(at, b'.') && !word(at + 1).is_empty() {
                at += 2;
            }
            if tokens.get(at).is_some_and(|token| token.kind == TokenKind::Open(b'(')) {
                at += 1;
            }
        } else if matches!(language, Language::C | Language::Cpp) && word(at) == "template" && is(at + 1, b'<') {
            at += 1 + angles(&tokens[at + 1..]).max(1);
        } else if matches!(language, Language::C | Language::Cpp)
            && matches!(word(at), "public" | "private" | "protected" | "signals" | "slots")
            && is(at + 1, b':')
        {
            at += 2;
        } else {
            return at.min(tokens.len());
        }
    }
}

/// Returns the number of tokens in the `<…>` at the start; 0 if it is not closed.
pub(super) fn angles(tokens: &[Token]) -> usize {
    let mut depth = 0_usize;
    for (at, token) in tokens.iter().enumerate() {
        match token.kind {
            TokenKind::Mark(b'<') => depth += 1,
            TokenKind::Mark(b'>') if at > 0 && !tokens[at - 1].is(b'-') => depth = depth.saturating_sub(1),
            _ => {}
        }
        if depth == 0 {
            return if at == 0 { 0 } else { at + 1 };
        }
    }
    0
}
