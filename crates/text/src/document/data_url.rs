//! Inline `data:` URLs: the bytes of an image or a font, written as letters. A page with one picture of 150 kB would
//! otherwise be a thousand chunks that say nothing. This URL stays in the text, but no limit counts it, no chunk
//! ends inside it, and neither the model nor the keyword index reads it.
//!
//! It is recognised by its text alone, wherever it is: `![chart](data:…)`, a reference definition, an HTML attribute,
//! a style sheet, a string in JSON (where `/` may be written `\/`).

use std::borrow::Cow;
use std::ops::Range;

use memchr::memmem;

const SCHEME: &str = "data:";

/// Shortest data, in bytes. A shorter URL costs little, and may be a word of an example.
const SHORTEST: usize = 64;

/// Longest media type with its parameters, in bytes.
const LONGEST_TYPE: usize = 200;

/// Stands for the data where people and models read.
const OMITTED: &str = "…";

/// Flag of chunks with an inline URL.
pub const INLINE_DATA: &str = "inline_data";

/// Returns the inline URLs in a text, in order: those in base64, and images in percent-encoding.
pub(crate) fn data_urls(text: &str) -> Vec<Range<usize>> {
    let mut found: Vec<Range<usize>> = Vec::new();
    for start in memmem::find_iter(text.as_bytes(), SCHEME) {
        if found.last().is_some_and(|last| start < last.end) {
            continue;
        }
        let Some(data) = start_of_data(&text[start..]) else { continue };
        let head = &text[start..start + data];
        let rest = &text.as_bytes()[start + data..];
        let len = if is_base64(head) {
            run(rest, |byte| byte.is_ascii_alphanumeric() || b"+/=-_".contains(&byte))
        } else if is_image(head) {
            run(rest, is_encoded)
        } else {
            continue;
        };
        if len >= SHORTEST {
            found.push(start..start + data + len);
        }
    }
    found
}

/// Returns the parts of a text around its inline URLs: one more than there are URLs.
pub(crate) fn around_data_urls(text: &str) -> Vec<&str> {
    let found = data_urls(text);
    let starts = std::iter::once(0).chain(found.iter().map(|url| url.end));
    let ends = found.iter().map(|url| url.start).chain([text.len()]);
    starts.zip(ends).map(|(start, end)| &text[start..end]).collect()
}

/// Returns a text with an ellipsis for each inline URL.
pub fn without_data_urls(text: &str) -> Cow<'_, str> {
    match around_data_urls(text).as_slice() {
        [whole] => Cow::Borrowed(whole),
        parts => Cow::Owned(parts.join(OMITTED)),
    }
}

/// Returns a text of the same length with blanks for each inline URL.
pub fn blank_data_urls(mut text: String) -> String {
    for range in data_urls(&text) {
        let blanks = " ".repeat(range.len());
        text.replace_range(range, &blanks);
    }
    text
}

/// Returns the target of a link; of an inline URL, its media type and an ellipsis.
pub fn short_target(target: &str) -> String {
    match data_urls(target).first() {
        Some(url) => {
            let data = start_of_data(&target[url.start..]).unwrap_or_default();
            format!("{}{OMITTED}", &target[..url.start + data])
        }
        None => target.to_owned(),
    }
}

/// Returns where the data of a `data:` URL starts: after its media type and the comma.
fn start_of_data(url: &str) -> Option<usize> {
    let rest = url.as_bytes().get(SCHEME.len()..)?;
    let media = rest.iter().take(LONGEST_TYPE).take_while(|&&byte| is_type(byte)).count();
    (rest.get(media) == Some(&b',')).then_some(SCHEME.len() + media + 1)
}

/// Returns whether a byte may be in a media type or its parameters.
fn is_type(byte: u8) -> bool {
    byte.is_ascii_alphanumeric() || b"!#$&^_.+-/\\;=".contains(&byte)
}

fn is_base64(head: &str) -> bool {
    const END: &str = ";base64,";
    head.len() >= END.len() && head[head.len() - END.len()..].eq_ignore_ascii_case(END)
}

fn is_image(head: &str) -> bool {
    head.starts_with("data:image/") || head.starts_with("data:image\\/")
}

/// Returns whether a byte may be in percent-encoded data. Parentheses and quotes end it, because they end the link or
/// the attribute that it is in.
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
