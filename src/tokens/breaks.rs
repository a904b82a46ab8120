//! Breaks: where every tokenization must break, so that what stands on one side does not matter to the other.
//!
//! Four places, the first three next to white space; which of them hold is said by [`Breaks`]. That `cl100k_base`
//! breaks there follows from its pattern,
//! whose pieces are tried in this order: a contraction; letters after at most one character that is
//! no letter, digit or line end; up to three digits; a run of other visible characters after at most
//! one space and before any number of line ends; white space up to the end of the text; white space
//! up to and with its last line end; white space without its last character; white space.
//!
//! 1. *Between a visible character and a space or tab.* No piece holds a visible character and then
//!    white space, except line ends after the run of other visible characters.
//! 2. *Between a letter or digit and a line end.* For the same reason: the exception does not end in
//!    a letter or digit. Those of ASCII are known without a table.
//! 3. *After a line feed, before a line that is not blank and starts with spaces, tabs or neither.*
//!    The line feed is in a run of visible characters with its line ends, which takes line ends as
//!    far as they go and no further than this; or it is in white space, which is one piece up to its
//!    last line end, and that is this one because only spaces and tabs follow before something
//!    visible. It must follow within the same text: at its very end white space is one piece.
//! 4. *Between a letter or digit and a punctuation mark*, where the counter says so. A piece with letters
//!    or digits ends with them, contractions too. Those of ASCII are known without a table.
//!
//! The text before such a place makes the same pieces whether or not the text goes on there: only
//! white space looks ahead, and in all but the third none ends there; in the third the piece ends
//! with the line feed because it is the last line end, or because it is the end of the text. The text
//! after it makes the same pieces because no piece looks back. A counter of words breaks at all white
//! space, and makes nothing of it.
//!
//! The first two hold for the other encodings as well, whose pieces end in the same classes. The third does not:
//! `o200k_base` takes `/` as it takes line ends, and those before it leave the last character of white space to
//! the word after it. Nor does the fourth: they take a contraction with its word, or one apart.

use super::Breaks;

/// Whether every tokenization breaks between two texts that follow each other, neither empty.
pub(super) fn between(known: Breaks, before: &str, after: &str) -> bool {
    match (before.as_bytes().last(), after.as_bytes().first()) {
        (Some(b'\n'), Some(_)) => {
            known >= Breaks::WhiteSpace && after.trim_start_matches([' ', '\t']).starts_with(is_visible)
        }
        (Some(_), Some(b' ' | b'\t')) => before.ends_with(is_visible),
        (Some(last), Some(b'\r' | b'\n')) => last.is_ascii_alphanumeric(),
        (Some(last), Some(mark)) if known == Breaks::Punctuation => {
            last.is_ascii_alphanumeric() && mark.is_ascii_punctuation()
        }
        _ => false,
    }
}

/// The first break inside a text.
pub(super) fn first(known: Breaks, text: &str) -> Option<usize> {
    (1..text.len()).find(|&at| inside(known, text, at))
}

/// The last break inside a text.
pub(super) fn last(known: Breaks, text: &str) -> Option<usize> {
    (1..text.len()).rev().find(|&at| inside(known, text, at))
}

fn inside(known: Breaks, text: &str, at: usize) -> bool {
    let bytes = text.as_bytes();
    // Beside one of these is the boundary of a character.
    let beside = matches!(bytes[at], b' ' | b'\t' | b'\r' | b'\n')
        || bytes[at - 1] == b'\n'
        || known == Breaks::Punctuation && bytes[at].is_ascii_punctuation();
    beside && between(known, &text[..at], &text[at..])
}

fn is_visible(c: char) -> bool {
    !c.is_whitespace()
}
