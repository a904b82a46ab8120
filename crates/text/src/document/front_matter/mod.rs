//! Front matter: YAML between `---` lines or TOML between `+++` lines, only at the very start of a document. Title,
//! tags, aliases, language and dates are read as they were written. Front matter that breaks the rules of its syntax
//! is read line by line.
//!
//! It is found here rather than by the markdown parser, because that parser also accepts metadata blocks in the
//! middle of a document.

mod lines;
mod simple;
mod yaml;

use std::collections::BTreeMap;
use std::ops::Range;

use serde_json::{Map, Value};

use super::line;
use super::white_space::is_blank;

/// Flag of a document whose front matter breaks the rules of its syntax and was read line by line. If it does not
/// look like keys with values at all, or exceeds the limits, it stays in the body as text, so nothing is lost.
pub const MALFORMED_FRONT_MATTER: &str = "malformed_front_matter";

/// Maximum size of front matter in bytes; longer front matter is kept as text. Every chunk repeats it.
const MAX_BYTES: usize = 64 << 10;

/// Keys, in lower case, whose scalars are kept as they were written.
const WRITTEN: [&str; 15] = [
    "title",
    "tags",
    "tag",
    "aliases",
    "alias",
    "lang",
    "language",
    "locale",
    "promotion_level",
    "created",
    "updated",
    "modified",
    "lastmod",
    "published",
    "expires",
];

/// A delimited block at the start of a document.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct DelimitedBlock {
    /// The bytes between the delimiters.
    pub(super) inner: Range<usize>,
    /// The offset just after the closing delimiter's line.
    pub(super) end: usize,
    syntax: Syntax,
}

/// The contents of front matter.
#[derive(Debug, Default)]
pub(super) struct FrontMatter {
    pub(super) title: Option<String>,
    pub(super) tags: Vec<String>,
    pub(super) aliases: Vec<String>,
    pub(super) metadata: Map<String, Value>,
}

impl FrontMatter {
    /// Returns whether it says in words what the page is about.
    pub(super) fn speaks(&self) -> bool {
        let described = |key: &String| key.eq_ignore_ascii_case("description") || key.eq_ignore_ascii_case("summary");
        self.title.is_some() || self.metadata.keys().any(described)
    }

    /// Adds values that were found elsewhere. Where both have one, its own stays.
    pub(super) fn add(&mut self, values: Map<String, Value>) {
        let Self { title, tags, aliases, metadata } = Self::from(values);
        self.title = self.title.take().or(title);
        self.tags.extend(tags);
        self.aliases.extend(aliases);
        for (key, value) in metadata {
            self.metadata.entry(key).or_insert(value);
        }
    }

    /// Takes a text or a number out of the metadata.
    pub(super) fn take(&mut self, key: &str) -> Option<String> {
        take(&mut self.metadata, key)
    }
}

impl From<Map<String, Value>> for FrontMatter {
    fn from(mut map: Map<String, Value>) -> Self {
        let title = take(&mut map, "title");
        let mut names = |names: [&str; 2]| -> Vec<String> {
            let values = names.iter().flat_map(|name| take_all(&mut map, name));
            values.flat_map(|value| list(&value)).collect()
        };
        let tags = names(["tags", "tag"]).iter().map(|tag| tag.trim_start_matches('#').to_owned()).collect();
        let aliases = names(["aliases", "alias"]);
        Self { title, tags, aliases, metadata: map }
    }
}

/// Takes a text or a number out of a map. The key may be in upper or lower case.
fn take(map: &mut Map<String, Value>, name: &str) -> Option<String> {
    let key = keys(map, name).into_iter().find(|key| matches!(map[key], Value::String(_) | Value::Number(_)))?;
    map.remove(&key).map(|value| scalar(&value))
}

/// Takes all values out of a map whose key is this name in upper or lower case.
fn take_all(map: &mut Map<String, Value>, name: &str) -> Vec<Value> {
    keys(map, name).iter().filter_map(|key| map.remove(key)).collect()
}

/// Returns the keys that are this name in upper or lower case, the name itself first.
fn keys(map: &Map<String, Value>, name: &str) -> Vec<String> {
    let mut keys: Vec<String> = map.keys().filter(|key| key.eq_ignore_ascii_case(name)).cloned().collect();
    keys.sort_by_key(|key| key != name);
    keys
}

/// Finds a delimited block that starts at `start`. As in `CommonMark` metadata blocks, a blank line must not
/// follow the opening line, and there must be a closing line.
pub(super) fn find(text: &str, start: usize) -> Option<DelimitedBlock> {
    let mut at = start;
    let mut lines = line::split(&text[start..]).map(|line| {
        let range = at..at + line.len();
        at = range.end;
        (range, line.trim_end())
    });
    let (opening, delimiter) = lines.next()?;
    let syntax = match delimiter {
        "---" => Syntax::Yaml,
        "+++" => Syntax::Toml,
        _ => return None,
    };
    for (range, line) in lines {
        if line == delimiter || (syntax == Syntax::Yaml && line == "...") {
            return Some(DelimitedBlock { inner: opening.end..range.start, end: range.end, syntax });
        }
        if line.is_empty() && range.start == opening.end {
            return None;
        }
    }
    None
}

/// The rules that front matter follows.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Syntax {
    Yaml,
    Toml,
}

impl Syntax {
    /// Reads a mapping. Returns `None` if the text is none, or breaks the rules or the limits.
    fn read(self, text: &str) -> Option<Map<String, Value>> {
        match self {
            Self::Yaml => simple::map(text).or_else(|| yaml::map(text)),
            Self::Toml => toml_map(text),
        }
    }

    /// Returns the character between a key and its value.
    fn separator(self) -> char {
        match self {
            Self::Yaml => ':',
            Self::Toml => '=',
        }
    }
}

/// Reads a block, and says whether it breaks the rules of its syntax. Returns `None` if it is not front matter:
/// if it is too long, or if it breaks the rules and does not look like keys with values.
pub(super) fn parse(block: &DelimitedBlock, text: &str) -> Option<(FrontMatter, bool)> {
    let inner = &text[block.inner.clone()];
    if inner.len() > MAX_BYTES {
        return None;
    }
    let (map, breaks) = if is_blank(inner) {
        (Map::new(), false)
    } else if let Some(map) = block.syntax.read(inner) {
        (map, false)
    } else {
        (lines::map(inner, block.syntax)?, true)
    };
    Some((map.into(), breaks))
}

/// Returns whether the scalars of a key are kept as they were written, whatever type the syntax gives them.
fn is_written(key: &str) -> bool {
    let key = key.to_lowercase();
    WRITTEN.contains(&key.as_str()) || key.ends_with("date") || key.ends_with("_at")
}

fn toml_map(text: &str) -> Option<Map<String, Value>> {
    let table: BTreeMap<String, toml::Spanned<toml::Value>> = toml::from_str(text).ok()?;
    let value = |(key, value): (String, toml::Spanned<toml::Value>)| {
        let source = text.get(value.span()).unwrap_or_default();
        let value =
            if is_written(&key) { written(value.into_inner(), source) } else { typed(value.into_inner(), source) };
        (key, value)
    };
    Some(table.into_iter().map(value).collect())
}

/// Returns a TOML value with every scalar as it was written in `source`.
fn written(value: toml::Value, source: &str) -> Value {
    #[derive(serde::Deserialize)]
    struct List {
        list: Vec<toml::Spanned<toml::Value>>,
    }
    match value {
        toml::Value::Integer(_) | toml::Value::Float(_) | toml::Value::Boolean(_) | toml::Value::Datetime(_) => {
            source.into()
        }
        toml::Value::Array(items) => {
            let list = format!("list = {source}");
            match toml::from_str::<List>(&list) {
                Ok(spans) => {
                    let item = |item: &toml::Spanned<_>| list.get(item.span()).unwrap_or_default().to_owned();
                    let sources: Vec<String> = spans.list.iter().map(item).collect();
                    items.into_iter().zip(sources).map(|(item, source)| written(item, &source)).collect()
                }
                Err(_) => json(toml::Value::Array(items)),
            }
        }
        other => json(other),
    }
}

/// Returns a TOML value as JSON; a number that JSON would write otherwise stays text.
fn typed(value: toml::Value, source: &str) -> Value {
    match value {
        toml::Value::Integer(_) | toml::Value::Float(_) => yaml::typed(source.to_owned()),
        other => json(other),
    }
}

fn json(value: toml::Value) -> Value {
    match value {
        toml::Value::String(text) => text.into(),
        toml::Value::Integer(number) => number.into(),
        toml::Value::Float(number) => number.into(),
        toml::Value::Boolean(flag) => flag.into(),
        toml::Value::Datetime(time) => time.to_string().into(),
        toml::Value::Array(items) => items.into_iter().map(json).collect(),
        toml::Value::Table(table) => Value::Object(table.into_iter().map(|(key, value)| (key, json(value))).collect()),
    }
}

/// Returns a list of names: a sequence, or one comma-separated string.
fn list(value: &Value) -> Vec<String> {
    match value {
        Value::Array(items) => items.iter().filter(|item| !item.is_null()).map(scalar).collect(),
        Value::String(text) => text.split(',').map(|name| name.trim().to_owned()).collect(),
        Value::Null => Vec::new(),
        other => vec![scalar(other)],
    }
}

fn scalar(value: &Value) -> String {
    match value {
        Value::String(text) => text.trim().to_owned(),
        other => other.to_string(),
    }
}
