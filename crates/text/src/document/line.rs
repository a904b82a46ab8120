//! Lines of a text. A line ends with a line feed, with a carriage return alone, or with the two together, as in
//! `CommonMark`. All code that counts or reads lines asks here or asks [`Positions`](super::Positions), so there is
//! one definition.

use std::borrow::Cow;

/// Returns the length of the first line of a text, with its end.
pub(crate) fn len(text: &str) -> usize {
    let bytes = text.as_bytes();
    match memchr::memchr2(b'\n', b'\r', bytes) {
        None => bytes.len(),
        Some(at) if bytes[at] == b'\r' && bytes.get(at + 1) == Some(&b'\n') => at + 2,
        Some(at) => at + 1,
    }
}

/// Returns the lines of a text, each with its end.
pub(crate) fn split(text: &str) -> impl Iterator<Item = &str> {
    let mut rest = text;
    std::iter::from_fn(move || {
        let (line, after) = rest.split_at(len(rest));
        rest = after;
        (!line.is_empty()).then_some(line)
    })
}

/// Returns where each line of a text ends, if it has an end.
pub fn ends(text: &str) -> impl Iterator<Item = usize> {
    let mut at = 0;
    split(text).filter_map(move |line| {
        at += line.len();
        line.ends_with(['\n', '\r']).then_some(at)
    })
}

/// Returns the start of the last line of a text.
pub(crate) fn last(text: &str) -> usize {
    start(without_end(text))
}

/// Returns the start of the line in which a text ends; its length if it ends with the end of a line.
pub(crate) fn start(text: &str) -> usize {
    memchr::memrchr2(b'\n', b'\r', text.as_bytes()).map_or(0, |end| end + 1)
}

/// Returns a text without the end of its last line.
pub(crate) fn without_end(text: &str) -> &str {
    let rest = text.strip_suffix('\n').unwrap_or(text);
    if rest.len() == text.len() || rest.ends_with('\r') { rest.strip_suffix('\r').unwrap_or(rest) } else { rest }
}

/// Returns a text in which every line ends with a line feed, for readers that know no other end. Its length is the
/// same: before a line feed, a carriage return stays.
pub(crate) fn with_feeds(text: Cow<'_, str>) -> Cow<'_, str> {
    let bytes = text.as_bytes();
    if memchr::memchr_iter(b'\r', bytes).all(|at| bytes.get(at + 1) == Some(&b'\n')) {
        return text;
    }
    let mut fed = String::with_capacity(text.len());
    for line in split(&text) {
        match line.strip_suffix('\r') {
            Some(line) => fed.extend([line, "\n"]),
            None => fed.push_str(line),
        }
    }
    fed.into()
}
