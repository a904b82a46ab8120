//! Front matter: YAML between `---` lines or TOML between `+++` lines, only at the very start of a document.
//!
//! It is found here rather than by the markdown parser, because that parser also accepts metadata blocks in the
//! middle of a document.

mod simple;

use std::ops::Range;

use serde_json::{Map, Value};

/// Maximum size of front matter in bytes; longer front matter is kept as text. Every chunk repeats it.
const MAX_BYTES: usize = 64 << 10;

/// A delimited block at the start of a document.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Delimited {
    /// The bytes between the delimiters.
    inner: Range<usize>,
    /// The offset just after the closing delimiter's line.
    pub(super) end: usize,
    toml: bool,
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
    /// Takes a string or number out of the metadata.
    pub(super) fn take(&mut self, key: &str) -> Option<String> {
        take(&mut self.metadata, key)
    }
}

fn take(map: &mut Map<String, Value>, key: &str) -> Option<String> {
    match map.get(key) {
        Some(Value::String(_) | Value::Number(_)) => map.remove(key).map(|value| scalar(&value)),
        _ => None,
    }
}

/// Finds a delimited block that starts at `start`. As in `CommonMark` metadata blocks, a blank line must not
/// follow the opening line, and there must be a closing line.
pub(super) fn find(text: &str, start: usize) -> Option<Delimited> {
    let mut at = start;
    let mut lines = text[start..].split_inclusive('\n').map(|line| {
        let range = at..at + line.len();
        at = range.end;
        (range, line.trim_end())
    });
    let (opening, delimiter) = lines.next()?;
    let toml = match delimiter {
        "---" => false,
        "+++" => true,
        _ => return None,
    };
    for (range, line) in lines {
        if line == delimiter || (!toml && line == "...") {
            return Some(Delimited { inner: opening.end..range.start, end: range.end, toml });
        }
        if line.is_empty() && range.start == opening.end {
            return None;
        }
    }
    None
}

/// Reads a block. Returns `None` if it is not a mapping, breaks its syntax, or exceeds the limits on size, depth
/// and aliases.
pub(super) fn parse(block: &Delimited, text: &str) -> Option<FrontMatter> {
    let inner = &text[block.inner.clone()];
    if inner.len() > MAX_BYTES {
        return None;
    }
    let mut map = if super::is_blank(inner) {
        Map::new()
    } else if block.toml {
        toml_map(inner)?
    } else {
        simple::map(inner).or_else(|| yaml_map(inner))?
    };
    let title = take(&mut map, "title");
    let mut names = |keys: [&str; 2]| -> Vec<String> {
        keys.iter().filter_map(|key| map.remove(*key)).flat_map(|value| list(&value)).collect()
    };
    let tags = names(["tags", "tag"]).iter().map(|tag| tag.trim_start_matches('#').to_owned()).collect();
    let aliases = names(["aliases", "alias"]);
    Some(FrontMatter { title, tags, aliases, metadata: map })
}

fn yaml_map(text: &str) -> Option<Map<String, Value>> {
    let options = serde_saphyr::options! {
        budget: serde_saphyr::budget! {
            max_events: 50_000,
            max_nodes: 25_000,
            max_depth: 64,
            max_aliases: 1_000,
            max_anchors: 1_000,
            max_total_scalar_bytes: MAX_BYTES,
        },
        duplicate_keys: serde_saphyr::DuplicateKeyPolicy::LastWins,
        non_finite_float_policy: serde_saphyr::NonFiniteFloatPolicy::AsString,
    };
    match serde_saphyr::from_str_with_options(text, options) {
        Ok(Value::Object(map)) => Some(map),
        // Only comments.
        Ok(Value::Null) => Some(Map::new()),
        _ => None,
    }
}

fn toml_map(text: &str) -> Option<Map<String, Value>> {
    let table: toml::Table = text.parse().ok()?;
    Some(table.into_iter().map(|(key, value)| (key, json(value))).collect())
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
