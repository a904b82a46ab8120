//! Reads front matter that is not valid YAML or TOML, line by line. `title: Get-It: the guide` breaks the rules of
//! YAML, but what it means is plain, and an author does not see that a title, tags and all the rest are lost.
//!
//! The text is split where a line names a key. Each entry is then read by the rules if it follows them by itself;
//! only the others are taken as they are written.

use std::ops::Range;

use serde_json::{Map, Value};

use super::Syntax;
use crate::document::line;

/// Maximum number of words in a key, and of bytes. A longer text before a colon is a sentence.
const MAX_WORDS: usize = 4;
const MAX_KEY: usize = 100;

/// Returns the entries of a text. Returns `None` if it does not look like front matter: if it does not begin with a
/// key, or if more lines belong to no key than there are keys.
pub(super) fn map(text: &str, syntax: Syntax) -> Option<Map<String, Value>> {
    let mut map = Map::new();
    for (key, range) in entries(text, syntax)? {
        let entry = &text[range];
        let read = syntax.read(entry).filter(|read| !read.is_empty());
        for (key, value) in read.unwrap_or_else(|| Map::from_iter([(key, value(entry, syntax))])) {
            match (map.get_mut(&key), value) {
                // A key that is there twice: both lists count.
                (Some(Value::Array(items)), Value::Array(more)) => items.extend(more),
                (_, value) => drop(map.insert(key, value)),
            }
        }
    }
    Some(map)
}

/// Returns the key and the lines of each entry.
fn entries(text: &str, syntax: Syntax) -> Option<Vec<(String, Range<usize>)>> {
    let mut entries: Vec<(String, Range<usize>)> = Vec::new();
    let (mut strays, mut blank, mut margin) = (0, false, None);
    // About the last entry: whether it is a table, whether its key has no value on its line, and its open brackets.
    let (mut table, mut bare, mut open) = (false, false, 0_usize);
    let mut at = 0;
    for line in line::split(text) {
        let (start, end) = (at, at + line.len());
        at = end;
        let words = line.trim();
        if words.is_empty() {
            blank = true;
            continue;
        }
        if words.starts_with('#') && entries.is_empty() {
            continue;
        }
        let indent = line.len() - line.trim_start().len();
        let outside = indent <= *margin.get_or_insert(indent);
        let header = syntax == Syntax::Toml && outside && words.starts_with('[') && open == 0;
        let inside = !outside || table || open > 0 && words.starts_with(['"', '\'']);
        if header {
            (table, bare, open) = (true, false, 0);
            entries.push((words.trim_matches(['[', ']']).trim().to_owned(), start..end));
        } else if let Some((key, value)) = key(words, syntax).filter(|_| !inside) {
            (bare, open) = (value.is_empty(), 0);
            entries.push((key, start..end));
        } else {
            let (_, entry) = entries.last_mut()?;
            entry.end = end;
            let belongs = inside || open > 0 || words.starts_with(['#', ']', '}']) || bare && words.starts_with('-');
            strays += usize::from(!belongs);
            if !belongs && blank {
                return None;
            }
        }
        if !header {
            open = (open + words.matches(['[', '{']).count()).saturating_sub(words.matches([']', '}']).count());
        }
        blank = false;
    }
    (strays <= entries.len() && !entries.is_empty()).then_some(entries)
}

/// Splits a line into its key and the text after it.
fn key(line: &str, syntax: Syntax) -> Option<(String, &str)> {
    let mark = syntax.separator();
    let spaced = line.match_indices(mark).map(|(at, _)| at).find(|at| {
        let after = &line[at + 1..];
        syntax == Syntax::Toml || after.is_empty() || after.starts_with([' ', '\t'])
    });
    // `title:Pears` was meant as a key, `https://…` was not.
    let word = |at: &usize| line[..*at].chars().all(|c| c.is_alphanumeric() || matches!(c, '_' | '-'));
    let at = spaced.or_else(|| line.find(mark).filter(|at| word(at) && !line[at + 1..].starts_with("//")))?;
    let key = unquoted(line[..at].trim());
    let named = key.starts_with(|c: char| c.is_alphanumeric() || c == '_')
        && key.len() <= MAX_KEY
        && key.split_whitespace().count() <= MAX_WORDS
        && !key.contains(['[', ']', '{', '}', '(', ')', '`', ';']);
    named.then(|| (key, line[at + 1..].trim()))
}

/// Returns the value of an entry that follows no rules.
fn value(entry: &str, syntax: Syntax) -> Value {
    let mut lines = line::split(entry).map(str::trim).filter(|line| !line.is_empty());
    let first = lines.next().and_then(|line| key(line, syntax)).map_or("", |(_, value)| value);
    let rest: Vec<&str> = lines.filter(|line| !line.starts_with("# ")).collect();
    if first.is_empty() && rest.first().is_some_and(|line| line.starts_with('-')) {
        let mut items: Vec<String> = Vec::new();
        for line in rest {
            match (line.strip_prefix('-'), items.last_mut()) {
                (None, Some(item)) => *item = format!("{item} {line}"),
                (item, _) => items.push(item.unwrap_or(line).trim().to_owned()),
            }
        }
        return items.iter().map(|item| unquoted(without_comment(item))).filter(|item| !item.is_empty()).collect();
    }
    let first = if matches!(first, "|" | "|-" | "|+" | ">" | ">-" | ">+") { "" } else { first };
    let text = [first].into_iter().chain(rest).filter(|line| !line.is_empty()).collect::<Vec<_>>().join(" ");
    let text = without_comment(&text);
    match text.strip_prefix('[') {
        Some(items) => {
            let items = parts(items.trim_end().trim_end_matches(']'));
            items.into_iter().map(|item| unquoted(item.trim())).filter(|item| !item.is_empty()).collect()
        }
        None if text.is_empty() => Value::Null,
        None => unquoted(text).into(),
    }
}

/// Splits a list at its commas outside quotes.
fn parts(list: &str) -> Vec<&str> {
    let mut parts = Vec::new();
    let (mut start, mut quote) = (0, None);
    for (at, c) in list.char_indices() {
        match (c, quote) {
            (',', None) => {
                parts.push(&list[start..at]);
                start = at + 1;
            }
            // A quote inside a word is an apostrophe.
            ('"' | '\'', None) if list[start..at].trim().is_empty() => quote = Some(c),
            (c, Some(open)) if c == open => quote = None,
            _ => {}
        }
    }
    parts.push(&list[start..]);
    parts
}

/// Removes a comment after a value.
fn without_comment(text: &str) -> &str {
    text.split_once(" # ").map_or(text, |(value, _)| value.trim_end())
}

/// Removes the quotes around a text, or a quote that is never closed.
fn unquoted(text: &str) -> String {
    let Some(quote) = text.chars().next().filter(|c| matches!(c, '"' | '\'')) else { return text.to_owned() };
    let rest = &text[1..];
    match rest.find(quote) {
        None => rest.to_owned(),
        _ if quote == '"' => serde_json::from_str(text).unwrap_or_else(|_| {
            let inner = rest.strip_suffix('"').filter(|inner| !inner.contains('"'));
            inner.unwrap_or(text).to_owned()
        }),
        _ => {
            let inner = rest.strip_suffix('\'').map(|inner| inner.replace("''", "\u{0}"));
            inner.filter(|inner| !inner.contains('\'')).map_or(text.to_owned(), |inner| inner.replace('\u{0}', "'"))
        }
    }
}
