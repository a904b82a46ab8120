//! Payloads of `data:` URLs: the bytes of an image or a font, written as letters. A page with one picture of 150 kB
//! would otherwise be a thousand chunks that say nothing. A payload stays in the text, but no limit counts it, no
//! chunk ends inside it, and neither the model nor the keyword index reads it.
//!
//! A payload is recognised by its text alone, wherever it is: `![chart](data:…)`, a reference definition, an HTML
//! attribute, a style sheet, a string in JSON (where `/` may be written `\/`).

use std::borrow::Cow;
use std::ops::Range;

use memchr::memmem;

/// Shortest payload, in bytes. A shorter one costs little, and may be a word of an example.
const SHORTEST: usize = 64;

/// Longest media type with its parameters, in bytes.
const LONGEST_TYPE: usize = 200;

/// What readers see instead of a payload.
const OMITTED: &str = "…";

/// Flag of chunks with a payload.
pub(crate) const INLINE_DATA: &str = "inline_data";

/// Returns the payloads in a text, in order: what follows the comma of a `data:` URL that is written in base64, or
/// that is an image in percent-encoding.
pub(crate) fn payloads(text: &str) -> Vec<Range<usize>> {
    let mut found = Vec::new();
    let mut done = 0;
    for at in memmem::find_iter(text.as_bytes(), "data:") {
        let start = at + "data:".len();
        if start < done {
            continue;
        }
        let rest = &text.as_bytes()[start..];
        let head = rest.iter().take(LONGEST_TYPE).take_while(|&&byte| is_type(byte)).count();
        if rest.get(head) != Some(&b',') {
            continue;
        }
        let media = &text[start..start + head];
        let start = start + head + 1;
        let base64 = media.len() >= 7 && media[media.len() - 7..].eq_ignore_ascii_case(";base64");
        let is_image = media.starts_with("image/") || media.starts_with("image\\/");
        let len = match (base64, is_image) {
            (true, _) => {
                run(&text.as_bytes()[start..], |byte| byte.is_ascii_alphanumeric() || b"+/=-_".contains(&byte))
            }
            (false, true) => run(&text.as_bytes()[start..], is_encoded),
            _ => continue,
        };
        if len >= SHORTEST {
            found.push(start..start + len);
            done = start + len;
        }
    }
    found
}

/// Returns the parts of a text around its payloads: one more than there are payloads.
pub(crate) fn around_payloads(text: &str) -> Vec<&str> {
    let found = payloads(text);
    let starts = std::iter::once(0).chain(found.iter().map(|payload| payload.end));
    let ends = found.iter().map(|payload| payload.start).chain([text.len()]);
    starts.zip(ends).map(|(start, end)| &text[start..end]).collect()
}

/// Returns a text with each payload replaced by an ellipsis.
pub(crate) fn without_payloads(text: &str) -> Cow<'_, str> {
    match around_payloads(text).as_slice() {
        [whole] => Cow::Borrowed(whole),
        parts => Cow::Owned(parts.join(OMITTED)),
    }
}

/// Returns a text of the same length with each payload replaced by blanks.
pub(crate) fn blank_payloads(mut text: String) -> String {
    for range in payloads(&text) {
        let blanks = " ".repeat(range.len());
        text.replace_range(range, &blanks);
    }
    text
}

/// Returns whether a byte may be in a media type or its parameters.
fn is_type(byte: u8) -> bool {
    byte.is_ascii_alphanumeric() || b"!#$&^_.+-/\\;=".contains(&byte)
}

/// Returns whether a byte may be in a percent-encoded payload. Parentheses and quotes end one, because they end the
/// link or the attribute that it is in.
fn is_encoded(byte: u8) -> bool {
    byte.is_ascii_alphanumeric() || b"-._~!$&*+,;=:@/?".contains(&byte)
}

/// Returns the length of the longest start of a text that consists of bytes of a kind, percent-encoded bytes and
/// escaped slashes.
fn run(text: &[u8], is_inside: impl Fn(u8) -> bool) -> usize {
    let mut at = 0;
    loop {
        at += match text[at..] {
            [byte, ..] if is_inside(byte) => 1,
            [b'%', high, low, ..] if high.is_ascii_hexdigit() && low.is_ascii_hexdigit() => 3,
            [b'\\', b'/', ..] => 2,
            _ => return at,
        };
    }
}
