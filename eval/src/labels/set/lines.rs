//! The lines of `queries.jsonl`: how a question is written, and which lines are none.

use std::collections::BTreeSet;

use chunkmill::error::{Error, Result};
use chunkmill::value::count;
use serde::de::{Deserializer, Error as _};
use serde::{Deserialize, Serialize};
use serde_json::Value;

use super::question::{FoundBy, Place, Query, Quote, Reference};

/// Help for a reference that cannot be used.
pub(crate) const REFERENCE: &str = r#"a reference is {"doc_id", "start", "end", "text"}, in bytes; {"doc_id", "text"} is enough for a text that its document has once, {"doc_id", "page", "text"} for one that the page has once, and {"doc_id"} alone judges the whole document"#;

/// Writes questions as the text of a `queries.jsonl`. The same questions produce the same bytes.
///
/// # Errors
/// [`Error::Setting`] naming a question that [`LabelSet::read`](super::LabelSet::read) would reject.
pub fn to_jsonl(queries: &[Query]) -> Result<String> {
    let mut text = String::new();
    for query in queries {
        let wrong = |problem: String| {
            Error::setting(format!("question `{}`", query.id), problem, "it cannot be written as a label")
        };
        Query::try_from(WireQuery::from(query)).map_err(wrong)?;
        text += &serde_json::to_string(&WireQuery::from(query)).map_err(|e| wrong(e.to_string()))?;
        text.push('\n');
    }
    Ok(text)
}

/// Parses an id, which some files write as a number.
pub(crate) fn id<'de, D: Deserializer<'de>>(from: D) -> Result<String, D::Error> {
    optional_id(from)?.ok_or_else(|| D::Error::custom("an id is missing or empty"))
}

/// Parses an id that may be null.
pub(crate) fn optional_id<'de, D: Deserializer<'de>>(from: D) -> Result<Option<String>, D::Error> {
    match Value::deserialize(from)? {
        Value::String(id) if !id.is_empty() => Ok(Some(id)),
        Value::Number(id) => Ok(Some(id.to_string())),
        Value::Null => Ok(None),
        _ => Err(D::Error::custom("an id is missing or empty")),
    }
}

/// A line of `queries.jsonl`.
#[derive(Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct WireQuery {
    #[serde(deserialize_with = "id")]
    query_id: String,
    query: String,
    #[serde(default)]
    references: Option<Vec<WireReference>>,
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    unanswered: bool,
    #[serde(skip_serializing_if = "Option::is_none")]
    grade: Option<f64>,
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    tags: Vec<String>,
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    by: Vec<String>,
}

/// Parses how a person came to a reference: names joined by `+`. Older sets have `true` for passages that search
/// proposed.
fn found_by<'de, D: Deserializer<'de>>(from: D) -> Result<Option<String>, D::Error> {
    match Value::deserialize(from)? {
        Value::Bool(proposed) => Ok(proposed.then(|| FoundBy::Search.to_string())),
        Value::String(names) => Ok(Some(names)),
        Value::Null => Ok(None),
        _ => Err(D::Error::custom("`proposed` is not a way such as \"vector+keyword\"")),
    }
}

/// A reference: one place, or alternatives.
#[derive(Default, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct WireReference {
    #[serde(default, skip_serializing_if = "Option::is_none", deserialize_with = "optional_id")]
    doc_id: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    start: Option<usize>,
    #[serde(skip_serializing_if = "Option::is_none")]
    end: Option<usize>,
    #[serde(skip_serializing_if = "Option::is_none")]
    text: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    page: Option<u32>,
    #[serde(skip_serializing_if = "Option::is_none")]
    any: Option<Vec<WireReference>>,
    #[serde(skip_serializing_if = "Option::is_none")]
    all: Option<Vec<WireReference>>,
    #[serde(skip_serializing_if = "Option::is_none")]
    grade: Option<f64>,
    #[serde(default, skip_serializing_if = "Option::is_none", deserialize_with = "found_by")]
    proposed: Option<String>,
}

impl Query {
    /// Parses a question from a line of `queries.jsonl`.
    ///
    /// # Errors
    /// A description of what is wrong with the line.
    pub fn parse(line: &str) -> Result<Self, String> {
        serde_json::from_str::<WireQuery>(line).map_err(|error| error.to_string())?.try_into()
    }
}

impl From<&Query> for WireQuery {
    fn from(query: &Query) -> Self {
        let references = query.references.iter().map(|Reference { any, grade, found_by }| {
            let mut any: Vec<WireReference> = any.iter().map(|places| WireReference::from(places.as_slice())).collect();
            let wire = if any.len() == 1 && any[0].all.is_none() {
                any.remove(0)
            } else {
                WireReference { any: Some(any), ..WireReference::default() }
            };
            let names: Vec<&str> = found_by.iter().map(|way| way.name()).collect();
            let proposed = (!names.is_empty()).then(|| names.join("+"));
            WireReference { grade: *grade, proposed, ..wire }
        });
        Self {
            query_id: query.id.clone(),
            query: query.text.clone(),
            references: Some(references.collect()),
            unanswered: query.is_unanswered(),
            grade: Some(query.grade).filter(|grade| grade.to_bits() != 1f64.to_bits()),
            tags: query.tags.clone(),
            by: query.by.clone(),
        }
    }
}

impl From<&[Place]> for WireReference {
    fn from(places: &[Place]) -> Self {
        match places {
            [Place { doc_id, quote }] => {
                let range = quote.as_ref().map(|quote| &quote.range).filter(|range| !range.is_empty());
                Self {
                    doc_id: Some(doc_id.clone()),
                    start: range.map(|range| range.start),
                    end: range.map(|range| range.end),
                    text: quote.as_ref().map(|quote| quote.text.clone()),
                    page: quote.as_ref().and_then(|quote| quote.page),
                    ..Self::default()
                }
            }
            places => {
                let all = places.iter().map(|place| Self::from(std::slice::from_ref(place))).collect();
                Self { all: Some(all), ..Self::default() }
            }
        }
    }
}

impl TryFrom<WireQuery> for Query {
    type Error = String;

    fn try_from(wire: WireQuery) -> Result<Self, String> {
        let WireQuery { query_id, query, references, unanswered, grade, tags, by } = wire;
        if query_id.is_empty() || query.trim().is_empty() {
            return Err("query_id or query is empty".to_owned());
        }
        let references = match (references, unanswered) {
            (None, false) => return Err("missing field `references`".to_owned()),
            (Some(references), false) if references.is_empty() => {
                return Err(
                    "references is empty: if the documents do not answer the question, add \"unanswered\": true"
                        .to_owned(),
                );
            }
            (Some(references), true) if !references.is_empty() => {
                return Err("a question is `unanswered` and has references: remove one of the two".to_owned());
            }
            (references, _) => references.unwrap_or_default(),
        };
        let grade = grade.unwrap_or(1.0);
        checked_grade(grade)?;
        let references = references.into_iter().map(Reference::try_from).collect::<Result<_, _>>()?;
        Ok(Self { id: query_id, text: query, references, grade, tags, by })
    }
}

impl TryFrom<WireReference> for Reference {
    type Error = String;

    fn try_from(mut wire: WireReference) -> Result<Self, String> {
        let (grade, proposed) = (wire.grade.take(), wire.proposed.take());
        grade.map_or(Ok(()), checked_grade)?;
        let ways = proposed.iter().flat_map(|names| names.split('+'));
        let found_by = ways.map(|name| name.trim().parse()).collect::<Result<BTreeSet<_>, _>>()?;
        let any = match wire.any.take() {
            Some(any) if wire.is_empty() => any.into_iter().map(WireReference::places).collect::<Result<_, _>>()?,
            Some(_) => return Err("a reference has `any` and something else: put the alternatives into it".to_owned()),
            None => vec![wire.places()?],
        };
        if any.is_empty() {
            return Err("`any` is empty".to_owned());
        }
        Ok(Self { any, grade, found_by })
    }
}

impl WireReference {
    fn is_empty(&self) -> bool {
        let Self { doc_id, start, end, text, page, any, all, grade, proposed } = self;
        let numbers = [start, end].iter().any(|number| number.is_some()) || page.is_some();
        let nested = any.is_some() || all.is_some() || grade.is_some() || proposed.is_some();
        !numbers && doc_id.is_none() && text.is_none() && !nested
    }

    /// Returns the places of an alternative.
    fn places(mut self) -> Result<Vec<Place>, String> {
        match self.all.take() {
            Some(all) if all.is_empty() => Err("`all` is empty".to_owned()),
            Some(all) if self.is_empty() => all.into_iter().map(Self::place).collect(),
            Some(_) => Err("an alternative has `all` and something else: put its places into it".to_owned()),
            None => Ok(vec![self.place()?]),
        }
    }

    fn place(self) -> Result<Place, String> {
        let Self { doc_id, start, end, text, page, any, all, grade, proposed } = self;
        if any.is_some() || all.is_some() {
            return Err("lists may be nested only as `all` inside `any`".to_owned());
        }
        if grade.is_some() || proposed.is_some() {
            let key = if proposed.is_some() { "`proposed`" } else { "a grade" };
            return Err(format!("{key} belongs to the reference, not to one of its places"));
        }
        let doc_id = doc_id.ok_or("a reference has no doc_id")?;
        let quote = match (start, end, text) {
            (None, None, None) if page.is_some() => {
                return Err(format!("reference to `{doc_id}` has a page and no text: add the text"));
            }
            (None, None, None) => None,
            (None, None, Some(text)) if !text.trim().is_empty() => Some(Quote { range: 0..0, text, page }),
            (Some(start), Some(end), Some(text)) => {
                if start >= end || end - start != text.len() {
                    return Err(format!(
                        "reference {start}..{end} to `{doc_id}` is not as long as its text, {}",
                        count(text.len(), "byte")
                    ));
                }
                Some(Quote { range: start..end, text, page })
            }
            _ => return Err(format!("reference to `{doc_id}` has only some of start, end and text")),
        };
        Ok(Place { doc_id, quote })
    }
}

/// Checks that a grade is above 0 and at most 100. Gains grow as two to the power of a grade, so grades have a
/// limit.
fn checked_grade(grade: f64) -> Result<(), String> {
    if grade > 0.0 && grade <= 100.0 { Ok(()) } else { Err(format!("grade {grade} must be above 0 and at most 100")) }
}
