//! White space at the ends and inside of texts.

use std::ops::Range;

use super::line;

/// Maximum number of characters of a heading that become a section's title, for the same reason. The text of the
/// heading itself is never cut.
pub const MAX_TITLE: usize = 300;

/// Returns whether a text contains only Unicode white space.
pub fn is_blank(text: &str) -> bool {
    text.trim_start().is_empty()
}

/// Returns a range without white space at its end and without blank lines at its start. The indentation of its
/// first line stays, because it is significant in markdown.
pub fn trim(text: &str, range: Range<usize>) -> Range<usize> {
    let slice = &text[range.clone()];
    let kept = slice.trim_end();
    let blank = kept.len() - kept.trim_start().len();
    let start = line::start(&kept[..blank]);
    range.start + start..range.start + kept.len()
}

/// Returns a text on one line, with one space for each run of white space.
pub fn on_one_line(text: &str) -> String {
    text.split_whitespace().collect::<Vec<_>>().join(" ")
}

/// Returns how many characters of a text are not white space.
pub fn visible_chars(text: &str) -> u64 {
    text.chars().filter(|c| !c.is_whitespace()).count() as u64
}

/// Returns a title on one line and not too long, because every chunk of its section repeats it.
pub(super) fn one_line(mut text: String) -> String {
    let mut before = b' ';
    let tidy = text.bytes().all(|byte| {
        let spaced = std::mem::replace(&mut before, byte) == b' ';
        byte.is_ascii_graphic() || byte == b' ' && !spaced
    });
    if !tidy || before == b' ' {
        text = on_one_line(&text);
    }
    if let Some((end, _)) = text.char_indices().nth(MAX_TITLE).filter(|_| text.len() > MAX_TITLE) {
        text.truncate(end);
    }
    text
}
