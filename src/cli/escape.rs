//! Texts that are safe to display.
//!
//! Documents, paths, settings and services may contain control sequences that clear the screen, rename the window,
//! or reverse the direction of a line. In a message, readers cannot tell them from the program's own text.

use std::borrow::Cow;

/// Makes a text safe to display: escapes control characters, and characters that change the direction of a line or
/// end it, like `\x1b` and `\u{202e}`. Keeps line feeds and tabs; removes a carriage return before a line feed.
pub fn visible(text: &str) -> Cow<'_, str> {
    let candidate = |byte: u8| byte < b' ' || matches!(byte, 0x7f | 0xc2 | 0xe2);
    let shown = spelled(
        text.as_bytes(),
        |bytes| bytes.iter().position(|&byte| candidate(byte)),
        |c, rest| match c {
            '\r' if rest.first() == Some(&b'\n') => String::new(),
            '\r' => "\\r".to_owned(),
            c if c.is_ascii() => format!("\\x{:02x}", u32::from(c)),
            c => format!("\\u{{{:x}}}", u32::from(c)),
        },
    );
    match shown {
        Cow::Borrowed(_) => text.into(),
        Cow::Owned(bytes) => String::from_utf8_lossy(&bytes).into_owned().into(),
    }
}

/// Escapes the characters in JSON that a terminal would interpret, without changing the value. JSON has already
/// escaped the characters below the space; the others occur only in strings, where an escape means the same.
pub(super) fn visible_json(json: &[u8]) -> Cow<'_, [u8]> {
    spelled(json, |bytes| memchr::memchr3(0x7f, 0xc2, 0xe2, bytes), |c, _| format!("\\u{:04x}", u32::from(c)))
}

/// Escapes hidden characters. `next` finds a byte that may begin one; `spell` gets the character and the text after
/// it.
fn spelled(text: &[u8], next: impl Fn(&[u8]) -> Option<usize>, spell: impl Fn(char, &[u8]) -> String) -> Cow<'_, [u8]> {
    let mut out = Vec::new();
    let (mut done, mut at) = (0, 0);
    while let Some(step) = next(&text[at..]) {
        at += step;
        let Some((c, len)) = hidden(&text[at..]) else {
            at += 1;
            continue;
        };
        out.extend_from_slice(&text[done..at]);
        at += len;
        done = at;
        out.extend_from_slice(spell(c, &text[at..]).as_bytes());
    }
    if done == 0 {
        return text.into();
    }
    out.extend_from_slice(&text[done..]);
    out.into()
}

/// Returns the first character and its length if terminals must not get it: C0 except line feed and tab, DEL, C1,
/// the line and paragraph separators, and the characters that embed, override or isolate a direction. Joiners and
/// plain direction marks are allowed: scripts need them, and they are harmless.
fn hidden(text: &[u8]) -> Option<(char, usize)> {
    let from = |first: u32, byte: u8, least: u8| char::from_u32(first + u32::from(byte - least));
    match *text {
        [b'\n' | b'\t', ..] => None,
        [byte @ (0..=0x1f | 0x7f), ..] => Some((byte.into(), 1)),
        [0xc2, byte @ 0x80..=0x9f, ..] => Some((byte.into(), 2)),
        [0xe2, 0x80, byte @ 0xa8..=0xae, ..] => Some((from(0x2028, byte, 0xa8)?, 3)),
        [0xe2, 0x81, byte @ 0xa6..=0xa9, ..] => Some((from(0x2066, byte, 0xa6)?, 3)),
        _ => None,
    }
}
