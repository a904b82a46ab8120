//! Reads the front matter that most documents have: lines of `key: value` and lists of words. This takes a small
//! fraction of the time that a YAML parser needs, which for short documents was most of the total. If a block
//! contains anything that could be other than a string in YAML, that parser reads the whole block.

use serde_json::{Map, Value};

/// Maximum number of lines, and of bytes in a key, that are read here; far within the limits of the parser.
const MAX_LINES: usize = 500;
const MAX_KEY: usize = 100;

/// Words, in upper or lower case, that YAML or its readers do not take for strings.
const TYPED: [&str; 14] =
    ["null", "true", "false", "yes", "no", "on", "off", "y", "n", "t", "f", "inf", "infinity", "nan"];

/// Returns the mapping of a text that contains only strings and lists of strings.
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

/// Splits a line into the key in its first column and the text after the colon.
fn entry(line: &str) -> Option<(&str, &str)> {
    let (key, value) = line.split_once(':')?;
    let plain = |byte: u8| byte.is_ascii_alphanumeric() || matches!(byte, b' ' | b'_' | b'.' | b'-');
    let named = key.starts_with(|c: char| c.is_ascii_alphabetic()) && key.bytes().all(plain) && !key.ends_with(' ');
    (named && key.len() <= MAX_KEY && !is_typed(key) && (value.is_empty() || value.starts_with(' ')))
        .then(|| (key, value.trim_start_matches(' ')))
}

/// Returns the indentation of a list item and the text after its hyphen.
fn item(line: &str) -> Option<(usize, &str)> {
    let hyphen = line.trim_start_matches(' ');
    let value = hyphen.strip_prefix("- ")?.trim_start_matches(' ');
    Some((line.len() - hyphen.len(), value))
}

/// Returns an unquoted scalar if it is a string in YAML under any rules for numbers.
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
