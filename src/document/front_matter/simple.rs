//! The front matter that most documents have: lines of `key: value` and lists of words. Reading these
//! here takes a small part of the time that a YAML parser does, which for short documents was the most
//! of it. What could mean anything but a string to YAML is left to that parser, with the whole block.

use serde_json::{Map, Value};

/// Most lines, and bytes of a key, that are read here; far within the limits of the parser.
const MAX_LINES: usize = 500;
const MAX_KEY: usize = 100;

/// Words that YAML, or its readers, take for something else than a string, in any case.
const TYPED: [&str; 14] =
    ["null", "true", "false", "yes", "no", "on", "off", "y", "n", "t", "f", "inf", "infinity", "nan"];

/// The mapping that a text is, if it holds nothing else than strings and lists of strings.
pub(super) fn map(text: &str) -> Option<Map<String, Value>> {
    let mut map = Map::new();
    let mut lines = text.lines().take(MAX_LINES + 1).peekable();
    let mut count = 0;
    while let Some(line) = lines.next() {
        let (key, value) = entry(line)?;
        count += 1;
        let value = if value.is_empty() {
            let (indent, _) = item(lines.peek()?)?;
            let mut items = Vec::new();
            while let Some((_, value)) = lines.peek().and_then(|line| item(line)).filter(|(at, _)| *at == indent) {
                items.push(string(value)?);
                lines.next();
                count += 1;
            }
            Value::Array(items)
        } else {
            string(value)?
        };
        if count > MAX_LINES || map.insert(key.to_owned(), value).is_some() {
            return None;
        }
    }
    Some(map)
}

/// A key in the first column and what follows its colon.
fn entry(line: &str) -> Option<(&str, &str)> {
    let (key, value) = line.split_once(':')?;
    let plain = |byte: u8| byte.is_ascii_alphanumeric() || matches!(byte, b' ' | b'_' | b'.' | b'-');
    let named = key.starts_with(|c: char| c.is_ascii_alphabetic()) && key.bytes().all(plain) && !key.ends_with(' ');
    (named && key.len() <= MAX_KEY && !is_typed(key) && (value.is_empty() || value.starts_with(' ')))
        .then(|| (key, value.trim_start_matches(' ')))
}

/// The indentation of an item of a list, and what follows its hyphen.
fn item(line: &str) -> Option<(usize, &str)> {
    let hyphen = line.trim_start_matches(' ');
    let value = hyphen.strip_prefix("- ")?.trim_start_matches(' ');
    Some((line.len() - hyphen.len(), value))
}

/// A scalar without quotes that is a string to YAML, whatever its rules for numbers are.
fn string(value: &str) -> Option<Value> {
    let bytes = value.as_bytes();
    let plain = |(at, byte): (usize, &u8)| match byte {
        b':' => bytes.get(at + 1).is_some_and(|next| *next != b' '),
        b' ' => at + 1 < bytes.len(),
        _ => byte.is_ascii_alphanumeric() || b"._/,?=&()$+;-'`\"".contains(byte),
    };
    let many = |byte| memchr::memchr_iter(byte, bytes).nth(1).is_some();
    let number = || !(bytes.contains(&b' ') || bytes.contains(&b'/') || many(b'-') || many(b'.'));
    let first = *bytes.first()?;
    let word = first.is_ascii_alphabetic() && !is_typed(value) || first.is_ascii_digit() && !number();
    (word && bytes.iter().enumerate().all(plain)).then(|| value.into())
}

fn is_typed(word: &str) -> bool {
    TYPED.iter().any(|typed| word.eq_ignore_ascii_case(typed))
}
