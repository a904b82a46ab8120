//! Labelled questions: the native format, and whether it still fits its corpus.
//!
//! ```text
//! set/
//!   corpus/**        the documents
//!   queries.jsonl    one question per line
//! ```
//!
//! A question names its evidence as byte ranges with the text that was there when it was labelled.
//! The text is not used to find the evidence again; it tells whether the range still means what it
//! did. A reference that no longer does has drifted: it must be labelled anew, and is not a miss.

use std::collections::{BTreeMap, HashSet};
use std::fs;
use std::ops::Range;
use std::path::{Path, PathBuf};

use chunkmill::corpus::{self, Filter, MAX_BYTES, Root};
use chunkmill::error::{Error, Result};
use serde::Deserialize;

/// A question and its evidence.
#[derive(Debug, Clone, PartialEq)]
pub struct Query {
    /// Unique in the set.
    pub id: String,
    /// The question, as a user would ask it.
    pub text: String,
    /// Where the answer is. At least one.
    pub references: Vec<Reference>,
    /// How much the evidence matters; 1 unless said otherwise.
    pub grade: f64,
    /// Free words to group questions by.
    pub tags: Vec<String>,
}

/// A piece of evidence.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Reference {
    /// Id of the document: its path below `corpus/`.
    pub doc_id: String,
    /// Its bytes in the document.
    pub range: Range<usize>,
    /// What stood there when it was labelled.
    pub text: String,
}

/// A set of labelled questions.
#[derive(Debug, Clone, PartialEq)]
pub struct LabelSet {
    /// The set's folder.
    pub path: PathBuf,
    /// The questions, in the order of the file.
    pub queries: Vec<Query>,
}

/// A line of `queries.jsonl`.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct WireQuery {
    query_id: String,
    query: String,
    references: Vec<WireReference>,
    grade: Option<f64>,
    #[serde(default)]
    tags: Vec<String>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct WireReference {
    doc_id: String,
    start: usize,
    end: usize,
    text: String,
}

/// A reference that no longer fits its document.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Drift {
    /// The question.
    pub query_id: String,
    /// The document it refers to.
    pub doc_id: String,
    /// The range it refers to.
    pub range: Range<usize>,
    /// What is wrong with it.
    pub kind: DriftKind,
}

/// How a reference fails to fit.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum DriftKind {
    /// There is no such document, or it cannot be read.
    NoDocument,
    /// The range goes beyond the document or cuts a character.
    OutOfRange,
    /// Other text stands there now.
    TextDiffers,
}

impl DriftKind {
    /// In words.
    #[must_use]
    pub fn describe(self) -> &'static str {
        match self {
            Self::NoDocument => "no such document",
            Self::OutOfRange => "range is not inside the document",
            Self::TextDiffers => "other text stands there",
        }
    }
}

/// What [`LabelSet::verify`] found.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Verification {
    /// Documents of the corpus.
    pub documents: usize,
    /// References in all.
    pub references: usize,
    /// Those that no longer fit.
    pub drifted: Vec<Drift>,
}

impl LabelSet {
    /// Reads the questions of a set.
    ///
    /// # Errors
    /// [`Error::Setting`] with file and line for anything that is not a well-formed question;
    /// [`Error::Io`] if the file cannot be read.
    pub fn read(path: &Path) -> Result<Self> {
        let file = path.join("queries.jsonl");
        let text = fs::read_to_string(&file).map_err(Error::io("read", &file))?;
        let mut queries = Vec::new();
        let mut ids = HashSet::new();
        for (index, line) in text.lines().enumerate().filter(|(_, line)| !line.trim().is_empty()) {
            let wrong = |problem: String| {
                Error::Setting {
                origin: format!("{}:{}", file.display(), index + 1),
                problem,
                help: r#"a line is {"query_id", "query", "references": [{"doc_id", "start", "end", "text"}], "grade"?, "tags"?}"#
                    .to_owned(),
            }
            };
            let query = serde_json::from_str::<WireQuery>(line).map_err(|e| wrong(e.to_string()))?;
            let query = Query::try_from(query).map_err(wrong)?;
            if !ids.insert(query.id.clone()) {
                return Err(wrong(format!("query_id `{}` was used before", query.id)));
            }
            queries.push(query);
        }
        Ok(Self { path: path.to_owned(), queries })
    }

    /// Compares every reference with the corpus.
    ///
    /// # Errors
    /// [`Error::Corpus`] if the set has no corpus.
    pub fn verify(&self) -> Result<Verification> {
        let filter = Filter::new(&["**".to_owned()], &[], true, MAX_BYTES)?;
        let found = corpus::discover(&[Root::new(self.path.join("corpus"))], &filter, &[])?;
        let documents = found.sources.len();
        let read = found.sources.into_iter().filter_map(|source| corpus::read(source).ok());
        let texts: BTreeMap<String, String> =
            read.map(|(source, content)| (source.doc_id.to_string(), content.text)).collect();
        let mut verification = Verification { documents, ..Verification::default() };
        for query in &self.queries {
            for reference in &query.references {
                verification.references += 1;
                if let Some(kind) = reference.drift(texts.get(&reference.doc_id).map(String::as_str)) {
                    verification.drifted.push(Drift {
                        query_id: query.id.clone(),
                        doc_id: reference.doc_id.clone(),
                        range: reference.range.clone(),
                        kind,
                    });
                }
            }
        }
        Ok(verification)
    }
}

impl Reference {
    fn drift(&self, document: Option<&str>) -> Option<DriftKind> {
        let Some(document) = document else { return Some(DriftKind::NoDocument) };
        match document.get(self.range.clone()) {
            None => Some(DriftKind::OutOfRange),
            Some(text) if text != self.text => Some(DriftKind::TextDiffers),
            Some(_) => None,
        }
    }
}

impl TryFrom<WireQuery> for Query {
    type Error = String;

    fn try_from(wire: WireQuery) -> Result<Self, String> {
        let WireQuery { query_id, query, references, grade, tags } = wire;
        if query_id.is_empty() || query.trim().is_empty() {
            return Err("query_id or query is empty".to_owned());
        }
        if references.is_empty() {
            return Err("references is empty: a question without evidence cannot be scored".to_owned());
        }
        let grade = grade.unwrap_or(1.0);
        if !(grade.is_finite() && grade > 0.0) {
            return Err(format!("grade {grade} is not a number above 0"));
        }
        let references = references.into_iter().map(|reference| {
            let WireReference { doc_id, start, end, text } = reference;
            if start >= end || end - start != text.len() {
                return Err(format!(
                    "reference {start}..{end} to `{doc_id}` is not as long as its text, {} bytes",
                    text.len()
                ));
            }
            Ok(Reference { doc_id, range: start..end, text })
        });
        Ok(Self { id: query_id, text: query, references: references.collect::<Result<_, _>>()?, grade, tags })
    }
}
