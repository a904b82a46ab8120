//! Values of a JSON text that are known to the byte.
//!
//! `serde_json` gives values without their places, and the places of a parser that builds a tree cost more memory than
//! the file: an output may hold millions of numbers. So a value here is its bytes, and one pass over them finds the
//! values inside when they are needed. The text is valid: `serde_json` has read it before.

use std::ops::Range;

/// A value of a JSON text.
#[derive(Debug, Clone)]
pub(super) struct Value<'t> {
    text: &'t str,
    /// Its bytes.
    pub(super) range: Range<usize>,
}

impl<'t> Value<'t> {
    /// Returns the value of a whole text, which starts at this byte.
    pub(super) fn of(text: &'t str, start: usize) -> Self {
        let start = blank(text, start);
        Self { text, range: start..end(text, start) }
    }

    /// Returns its JSON.
    pub(super) fn json(&self) -> &'t str {
        self.text.get(self.range.clone()).unwrap_or_default()
    }

    pub(super) fn is_object(&self) -> bool {
        self.json().starts_with('{')
    }

    pub(super) fn is_array(&self) -> bool {
        self.json().starts_with('[')
    }

    pub(super) fn is_string(&self) -> bool {
        self.json().starts_with('"')
    }

    /// Returns the elements of an array; those of another value are none.
    pub(super) fn elements(&self) -> impl Iterator<Item = Self> + use<'t> {
        let (text, end) = (self.text, if self.is_array() { self.range.end } else { 0 });
        let mut at = self.range.start + 1;
        std::iter::from_fn(move || next(text, &mut at, end))
    }

    /// Returns the keys of an object with their values; those of another value are none.
    pub(super) fn members(&self) -> impl Iterator<Item = (String, Self)> + use<'t> {
        let (text, end) = (self.text, if self.is_object() { self.range.end } else { 0 });
        let mut at = self.range.start + 1;
        std::iter::from_fn(move || {
            let key = next(text, &mut at, end)?;
            let value = next(text, &mut at, end)?;
            Some((key.string()?, value))
        })
    }

    /// Returns the value of a key of an object. If there are several, the last one counts, as in most readers.
    pub(super) fn get(&self, key: &str) -> Option<Self> {
        self.members().filter(|(name, _)| name == key).last().map(|(_, value)| value)
    }

    /// Returns the text of a string.
    pub(super) fn string(&self) -> Option<String> {
        let mut string = String::new();
        self.is_string().then(|| self.pieces(|piece, _| string.push_str(piece)))?;
        Some(string)
    }

    /// Calls a function with each piece of a string that stands for bytes of its own: the characters between two escapes,
    /// and each escape. Half of a surrogate pair alone is no character, and is replaced.
    pub(super) fn pieces(&self, mut piece: impl FnMut(&str, Range<usize>)) {
        let end = self.range.end.saturating_sub(1);
        let mut at = self.range.start + 1;
        while at < end {
            let Some(rest) = self.text.get(at..end) else { return };
            let plain = rest.find('\\').unwrap_or(rest.len());
            if plain > 0 {
                piece(&rest[..plain], at..at + plain);
                at += plain;
                continue;
            }
            let (c, len) = escape(rest);
            piece(c.encode_utf8(&mut [0; 4]), at..at + len);
            at += len;
        }
    }
}

/// Returns the next value before the end of an array or object, behind a comma or colon.
fn next<'t>(text: &'t str, at: &mut usize, last: usize) -> Option<Value<'t>> {
    *at = blank(text, *at);
    if matches!(text.as_bytes().get(*at), Some(b',' | b':')) {
        *at = blank(text, *at + 1);
    }
    if *at + 1 >= last {
        return None;
    }
    let start = *at;
    *at = end(text, start).max(start + 1);
    Some(Value { text, range: start..(*at).min(last) })
}

/// Returns the first byte from here that is not white space.
fn blank(text: &str, at: usize) -> usize {
    let spaces = |byte: &&u8| matches!(byte, b' ' | b'\t' | b'\n' | b'\r');
    at + text.as_bytes().get(at..).unwrap_or_default().iter().take_while(spaces).count()
}

/// Returns where the value ends that starts here.
fn end(text: &str, start: usize) -> usize {
    let bytes = text.as_bytes();
    let (mut at, mut depth) = (start, 0_usize);
    while let Some(byte) = bytes.get(at) {
        match byte {
            b'"' => at = string_end(bytes, at),
            b'{' | b'[' => {
                depth += 1;
                at += 1;
                continue;
            }
            b'}' | b']' => {
                depth = depth.saturating_sub(1);
                at += 1;
            }
            b',' | b':' | b' ' | b'\t' | b'\n' | b'\r' => {
                at += 1;
                continue;
            }
            _ => {
                let word = |byte: &&u8| !matches!(byte, b',' | b':' | b']' | b'}' | b' ' | b'\t' | b'\n' | b'\r');
                at += bytes[at..].iter().take_while(word).count();
            }
        }
        if depth == 0 {
            break;
        }
    }
    at.min(text.len())
}

/// Returns where the string ends that starts here.
fn string_end(bytes: &[u8], start: usize) -> usize {
    let mut at = start + 1;
    while let Some(byte) = bytes.get(at) {
        match byte {
            b'"' => return at + 1,
            b'\\' => at += 2,
            _ => at += 1,
        }
    }
    bytes.len()
}

/// Returns the character of the escape that a text starts with, and its length.
fn escape(text: &str) -> (char, usize) {
    let c = match text.as_bytes().get(1) {
        Some(b'n') => '\n',
        Some(b't') => '\t',
        Some(b'r') => '\r',
        Some(b'b') => '\u{8}',
        Some(b'f') => '\u{c}',
        Some(b'u') => return unicode(text),
        Some(byte) => char::from(*byte),
        None => return (char::REPLACEMENT_CHARACTER, text.len().max(1)),
    };
    (c, 2)
}

/// Returns the character of the `\u` that a text starts with, and its length.
fn unicode(text: &str) -> (char, usize) {
    let unit = |at: usize| text.get(at..at + 4).and_then(|hex| u32::from_str_radix(hex, 16).ok());
    let first = unit(2).unwrap_or(0xfffd);
    if (0xd800..0xdc00).contains(&first)
        && text.get(6..8) == Some("\\u")
        && let Some(second @ 0xdc00..0xe000) = unit(8)
        && let Some(c) = char::from_u32(0x10000 + ((first - 0xd800) << 10) + (second - 0xdc00))
    {
        return (c, 12);
    }
    (char::from_u32(first).unwrap_or(char::REPLACEMENT_CHARACTER), text.len().min(6))
}
