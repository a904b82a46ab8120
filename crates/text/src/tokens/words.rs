//! Words, as an estimate of tokens counts them: 1.3 tokens for each.
//!
//! The published estimate counts what white space separates. That says nothing about text without white space: a
//! page of Chinese is a few words, and so is a long URL. Two kinds of text therefore count as several words.
//!
//! - A character that UTF-8 writes in three bytes or more is a word: Han, kana, Hangul, Thai, Lao, Khmer, Myanmar,
//!   Tibetan, the scripts of India, emoji. Tokenizers read bytes; `cl100k_base` makes 0.8 to 3 tokens of each of
//!   these. Latin and Greek letters, punctuation and symbols of that length are exceptions.
//! - A run of other characters is one word up to [`LONG`] characters, and one more for every [`PIECE`] after that.
//!   `cl100k_base` makes a token of 4 characters of a URL, and of 1.4 of base64.

/// Number of characters up to which a run is one word. Hardly any word of a language is longer.
const LONG: usize = 32;

/// Number of characters that count as a word in the rest of a longer run.
const PIECE: usize = 3;

/// Returns whether a character counts as a word.
fn is_dense(c: char) -> bool {
    // The gap has more Latin and Greek letters, punctuation and symbols.
    matches!(c, '\u{800}'..='\u{1dff}' | '\u{2c00}'..) && !c.is_whitespace()
}

/// Returns whether a character is part of a run.
fn is_run(c: char) -> bool {
    !c.is_whitespace() && !is_dense(c)
}

/// Returns the byte offset just after each word of a text.
pub(super) fn ends(text: &str) -> impl Iterator<Item = usize> {
    let mut chars = text.char_indices().peekable();
    let mut run = 0;
    std::iter::from_fn(move || {
        loop {
            let (at, c) = chars.next()?;
            let end = at + c.len_utf8();
            run = if is_run(c) { run + 1 } else { 0 };
            let mut goes_on = || chars.peek().is_some_and(|&(_, next)| is_run(next));
            let is_full = run >= LONG && (run - LONG).is_multiple_of(PIECE);
            if is_dense(c) || run > 0 && (is_full || !goes_on()) {
                return Some(end);
            }
        }
    })
}

/// Returns the length in bytes of the rest of a run at the start of `text`, if the run begins in `before`.
pub(super) fn rest_of_run(before: &str, text: &str) -> usize {
    if before.chars().next_back().is_some_and(is_run) { text.find(|c| !is_run(c)).unwrap_or(text.len()) } else { 0 }
}

/// Returns where the last `count` words of a text start.
pub(super) fn start_of_last(text: &str, count: usize) -> usize {
    if count == 0 {
        return text.len();
    }
    let ends: Vec<usize> = ends(text).collect();
    let before = ends.len().checked_sub(count + 1).map_or(0, |before| ends[before]);
    let after = &text[before..];
    if before == 0 { 0 } else { text.len() - after.trim_start().len() }
}

/// Returns where `part`, a slice of `text`, starts in it.
pub(super) fn offset_in(text: &str, part: &str) -> usize {
    part.as_ptr() as usize - text.as_ptr() as usize
}

/// Returns the byte offset just after each word, where only white space separates words.
pub fn word_ends(text: &str) -> impl Iterator<Item = u32> {
    text.split_whitespace().map(|word| u32::try_from(offset_in(text, word) + word.len()).unwrap_or(u32::MAX))
}
