//! Breaks: the places where every tokenization must break, so the text on one side does not affect the other.
//!
//! There are four kinds of breaks, the first three next to white space; [`Breaks`] says which of them apply.
//! `cl100k_base` breaks there because of its pattern, which tries its alternatives in this order: a contraction;
//! letters after at most one character that is not a letter, digit or line end; up to three digits; a run of other
//! visible characters after at most one space and before any number of line ends; white space up to the end of the
//! text; white space up to and including its last line end; white space without its last character; white space.
//!
//! 1. *Between a visible character and a space or tab.* No piece contains white space after a visible character,
//!    except for line ends after the run of other visible characters.
//! 2. *Between a letter or digit and a line end.* The exception does not apply here either: that run does not end
//!    with a letter or digit. ASCII letters and digits are recognized without a table.
//! 3. *After a line feed, before a line that is not blank and starts with spaces, tabs or neither.* The line feed
//!    may belong to a run of visible characters, which includes all line ends after it and nothing more. Otherwise it
//!    belongs to white space, which is one piece up to its last line end. This line feed is the last one, because only
//!    spaces and tabs follow it before a visible character. That character must be in the same text: at the very end
//!    of a text, white space is one piece.
//! 4. *Between a letter or digit and a punctuation mark*, if the counter says so. A piece with letters or digits
//!    ends with them, including contractions. ASCII letters and digits are recognized without a table.
//!
//! The text before a break produces the same pieces whether or not it continues: only white space looks ahead, and
//! no white space ends at a break, except for the third kind. There, the piece ends with the line feed because it
//! is the last line end or because the text ends. The text after a break produces the same pieces because no piece
//! looks back. A counter of words breaks at all white space and ignores it.
//!
//! The first two kinds also apply to the other encodings, whose pieces end in the same classes. The third does not:
//! `o200k_base` treats `/` like a line end, and the older encodings leave the last character of white space to the
//! next word. Nor does the fourth: they take a contraction with its word, or one apart.

/// The places where a tokenizer is known to break.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Breaks {
    /// No known places.
    Unknown,
    /// Between the end of a word and white space.
    Words,
    /// Those of `Words`, and the start of each line that is not blank.
    WhiteSpace,
    /// Those of `WhiteSpace`, and between a letter or digit and a punctuation mark after it.
    Punctuation,
}

/// Returns whether every tokenization breaks between two consecutive texts, neither of which is empty.
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

/// Returns the first break inside a text.
pub(super) fn first(known: Breaks, text: &str) -> Option<usize> {
    (1..text.len()).find(|&at| inside(known, text, at))
}

/// Returns the last break inside a text.
pub(super) fn last(known: Breaks, text: &str) -> Option<usize> {
    (1..text.len()).rev().find(|&at| inside(known, text, at))
}

fn inside(known: Breaks, text: &str, at: usize) -> bool {
    let bytes = text.as_bytes();
    // There is a character boundary next to each of these.
    let beside = matches!(bytes[at], b' ' | b'\t' | b'\r' | b'\n')
        || bytes[at - 1] == b'\n'
        || known == Breaks::Punctuation && bytes[at].is_ascii_punctuation();
    beside && between(known, &text[..at], &text[at..])
}

fn is_visible(c: char) -> bool {
    !c.is_whitespace()
}
