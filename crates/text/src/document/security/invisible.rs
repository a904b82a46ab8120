//! Invisible characters: direction controls, characters without width, Unicode tags.
//!
//! Scripts and emoji need some of them. These are therefore not signals: a joiner between Arabic, Indic and
//! similar letters, a break in Thai or Khmer, a joiner between emoji, and the tags of a flag.

use std::ops::Range;

use super::signal::{SignalKind, Signals};

const BOM: char = '\u{feff}';

/// Number of tags in the longest flag, including the one that ends it.
const MAX_FLAG_TAGS: usize = 7;

fn is_zero_width(c: char) -> bool {
    matches!(c, '\u{200b}'..='\u{200d}' | '\u{2060}' | BOM)
}

fn is_tag(c: char) -> bool {
    matches!(c, '\u{e0000}'..='\u{e007f}')
}

fn is_selector(c: char) -> bool {
    matches!(c, '\u{fe00}'..='\u{fe0f}' | '\u{e0100}'..='\u{e01ef}')
}

fn is_override(c: char) -> bool {
    matches!(c, '\u{202d}' | '\u{202e}')
}

fn is_direction(c: char) -> bool {
    matches!(c, '\u{202a}'..='\u{202c}' | '\u{2066}'..='\u{2069}')
}

/// Adds the signals of a text.
pub(super) fn scan(text: &str, found: &mut Signals) {
    let mut done = if text.starts_with(BOM) { BOM.len_utf8() } else { 0 };
    // These bytes can start one of the characters.
    for at in memchr::memchr3_iter(0xe2, 0xef, 0xf3, text.as_bytes()) {
        if at < done {
            continue;
        }
        let Some(first) = text[at..].chars().next() else { continue };
        let same: fn(char) -> bool = if is_zero_width(first) {
            is_zero_width
        } else if is_tag(first) {
            is_tag
        } else if is_selector(first) {
            is_selector
        } else if is_override(first) {
            is_override
        } else if is_direction(first) {
            is_direction
        } else {
            continue;
        };
        let len = text[at..].find(|c: char| !same(c)).unwrap_or(text.len() - at);
        let run = at..at + len;
        done = run.end;
        if let Some(kind) = judge(text, &run, first) {
            found.add(kind, run);
        }
    }
}

/// Returns the signal for a run of characters of one class, or `None` if they belong there.
fn judge(text: &str, run: &Range<usize>, first: char) -> Option<SignalKind> {
    let before = text[..run.start].chars().next_back();
    let after = text[run.end..].chars().next();
    let alone = run.len() == first.len_utf8();
    if is_override(first) {
        return Some(SignalKind::BidiOverride);
    }
    if is_direction(first) {
        return Some(SignalKind::BidiControl);
    }
    if is_selector(first) {
        let selectors = text[run.clone()].chars();
        let count = selectors.clone().count();
        // One from the supplement selects the form of a Chinese character. Two of the others after an emoji are an
        // editor's mistake.
        let supplement = selectors.into_iter().any(|c| c >= '\u{e0100}');
        let needed = if supplement { alone && before.is_some_and(is_han) } else { count < 3 };
        return (!needed).then_some(SignalKind::InvisibleText);
    }
    if is_tag(first) {
        return (before != Some('\u{1f3f4}') || !is_flag(&text[run.clone()])).then_some(SignalKind::InvisibleText);
    }
    let near = |test: fn(char) -> bool| before.is_some_and(test) || after.is_some_and(test);
    let needed = alone
        && match first {
            '\u{200c}' => near(has_joiners),
            '\u{200d}' => near(has_joiners) || before.is_some_and(is_emoji) && after.is_some_and(is_emoji),
            '\u{200b}' | '\u{2060}' => near(has_no_spaces),
            _ => false,
        };
    (!needed).then_some(SignalKind::ZeroWidth)
}

/// Returns whether tags spell a region, as those of the flags of England and Texas do.
fn is_flag(tags: &str) -> bool {
    let count = tags.chars().count();
    let letter = |c| matches!(c, '\u{e0030}'..='\u{e0039}' | '\u{e0061}'..='\u{e007a}');
    (4..=MAX_FLAG_TAGS).contains(&count) && tags.ends_with('\u{e007f}') && tags.chars().take(count - 1).all(letter)
}

/// Returns whether a character's script uses joiners: Arabic and related scripts, those of India and its
/// neighbours, Mongolian.
fn has_joiners(c: char) -> bool {
    matches!(c, '\u{0600}'..='\u{08ff}' | '\u{0900}'..='\u{0dff}' | '\u{1000}'..='\u{109f}' | '\u{1780}'..='\u{18af}'
        | '\u{1a20}'..='\u{1cff}' | '\u{a800}'..='\u{abff}' | '\u{fb50}'..='\u{fdff}' | '\u{fe70}'..='\u{fefc}'
        | '\u{10a00}'..='\u{11fff}' | '\u{1e900}'..='\u{1e95f}')
}

/// Returns whether a character's script uses these characters to mark where a line may and may not break.
fn has_no_spaces(c: char) -> bool {
    matches!(c, '\u{0e00}'..='\u{0fff}' | '\u{1000}'..='\u{109f}' | '\u{1780}'..='\u{17ff}' | '\u{1950}'..='\u{1aaf}'
        | '\u{3040}'..='\u{30ff}' | '\u{4e00}'..='\u{9fff}')
}

fn is_han(c: char) -> bool {
    matches!(c, '\u{3005}'..='\u{3007}' | '\u{3400}'..='\u{9fff}' | '\u{f900}'..='\u{faff}' | '\u{20000}'..='\u{3ffff}')
}

fn is_emoji(c: char) -> bool {
    matches!(c, '\u{fe0f}' | '\u{2190}'..='\u{2bff}' | '\u{1f000}'..='\u{1faff}' | '\u{20e3}' | '\u{e007f}')
}
