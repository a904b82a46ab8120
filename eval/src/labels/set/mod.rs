//! Labelled questions: the native format, and the current places of the answers in the corpus.
//!
//! ```text
//! set/
//!   corpus/**        the documents
//!   queries.jsonl    one question per line
//! ```
//!
//! A question names its evidence as byte ranges with the text that was there when it was labelled, or as whole
//! documents. The text shows whether a range still means the same. If not, the text is searched for in the current
//! document, and then in the others ([`State`]). Evidence that has only moved is scored at its new place. Evidence that has drifted is
//! reported and not scored: it is not a miss. A text without a range, as people write it, is accepted if it is in
//! its document once.
//!
//! If an answer is in several places and any of them will do, its reference is a list of alternatives. It is found
//! when one of them is.

mod drift;
mod elsewhere;
mod find;
mod folder;

use std::collections::{BTreeMap, HashSet};
use std::fs;
use std::ops::Range;
use std::path::{Path, PathBuf};

use chunkmill::corpus::{self, Filter, Root};
use chunkmill::document::MAX_BYTES;
use chunkmill::error::{Error, Result};
use chunkmill::value::{count, did_you_mean, nearest};
use serde::de::{Deserializer, Error as _};
use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::data::files::Text;

pub use drift::State;
pub(crate) use elsewhere::DUPLICATE;
pub(crate) use find::{Finder, beginning, words};
pub(crate) use folder::{commit, settle, stage, was_interrupted};
pub use folder::{corpus_of, is_set, queries_of};

/// The documents, in a set's folder.
pub const CORPUS: &str = "corpus";

/// The questions, in a set's folder.
pub const QUERIES: &str = "queries.jsonl";

/// Help for a path that is not a set.
pub(crate) const SET: &str =
    "name a set of labels, a folder with corpus/ and queries.jsonl; `chunkmill-eval import` and `synth` create one";

/// Help for a reference that cannot be used.
pub(crate) const REFERENCE: &str = r#"a reference is {"doc_id", "start", "end", "text"}, in bytes; {"doc_id", "text"} is enough for a text that its document has once, and {"doc_id"} alone judges the whole document"#;

/// The tag of every question that `synth` made up. Results measured with these questions must say so.
pub const SYNTHETIC: &str = "synthetic";

/// A question and its evidence.
#[derive(Debug, Clone, PartialEq)]
pub struct Query {
    /// Id, unique in the set.
    pub id: String,
    /// The question, as a user would ask it.
    pub text: String,
    /// The places of the answer, at least one.
    pub references: Vec<Reference>,
    /// Weight of the evidence if a reference has no grade of its own; 1 by default.
    pub grade: f64,
    /// Free words for grouping questions.
    pub tags: Vec<String>,
}

/// A piece of evidence, which may be in several places.
#[derive(Debug, Clone, PartialEq)]
pub struct Reference {
    /// At least one alternative, each with at least one place. An alternative is found when all its places are;
    /// the reference is found when one alternative is.
    pub any: Vec<Vec<Place>>,
    /// Its weight, if different from the question's.
    pub grade: Option<f64>,
    /// Whether a person chose it from passages that search proposed. This favours what search finds.
    pub proposed: bool,
}

/// A place where evidence is.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Place {
    /// Id of the document: its path below `corpus/`.
    pub doc_id: String,
    /// The place in the document; `None` if the document was judged as a whole.
    pub quote: Option<Quote>,
}

/// A place in a document with the text that was there when it was labelled.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Quote {
    /// Its byte range; empty until [`Query::locate`] if only the text was written.
    pub range: Range<usize>,
    /// The text.
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

/// The readable documents of a set.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Corpus {
    /// Number of documents, including those that cannot be read.
    pub documents: usize,
    /// Their texts by id.
    pub texts: BTreeMap<String, String>,
}

/// The current state of one place of a reference.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Checked {
    /// Position of its question in the set.
    pub query: usize,
    /// Position among the question's references.
    pub reference: usize,
    /// Position among the reference's alternatives.
    pub alternative: usize,
    /// Position among the alternative's places.
    pub place: usize,
    /// Whether it still fits, and where it is.
    pub state: State,
}

/// A reference that can be scored.
#[derive(Debug, Clone, PartialEq)]
pub struct Scored<'a> {
    /// The alternatives that still fit the corpus, at least one.
    pub any: Vec<Vec<ScoredPlace<'a>>>,
    /// Its grade, above 0.
    pub grade: f64,
}

/// The current place of a reference.
#[derive(Debug, Clone, PartialEq)]
pub struct ScoredPlace<'a> {
    /// Id of the document.
    pub doc_id: &'a str,
    /// Its byte range; `None` if the document was judged as a whole.
    pub range: Option<Range<usize>>,
}

impl Reference {
    /// Creates a reference to one place.
    #[must_use]
    pub fn to(doc_id: String, quote: Option<Quote>) -> Self {
        Self::any(vec![vec![Place { doc_id, quote }]])
    }

    /// Creates a reference to any one of these alternatives.
    #[must_use]
    pub fn any(any: Vec<Vec<Place>>) -> Self {
        Self { any, grade: None, proposed: false }
    }

    /// Returns all its places, one alternative after the other.
    pub fn places(&self) -> impl Iterator<Item = &Place> + Clone {
        self.any.iter().flatten()
    }
}

impl Corpus {
    /// Describes a document that does not exist, and names the one that was probably meant.
    pub(crate) fn missing(&self, doc_id: &str) -> String {
        let ids = || self.texts.keys().map(String::as_str);
        let name = |id: &str| id.rsplit('/').next().map(str::to_owned);
        let same: Vec<&str> = ids().filter(|id| name(id) == name(doc_id)).collect();
        let meant = if let [one] = same[..] { Some(one) } else { nearest(doc_id, ids()) };
        format!("`{doc_id}`, which is not among the documents{}", did_you_mean(meant))
    }
}

impl Checked {
    /// Returns its question and its place in a set of labels.
    #[must_use]
    pub fn of<'l>(&self, labels: &'l LabelSet) -> (&'l Query, &'l Place) {
        let query = &labels.queries[self.query];
        (query, &query.references[self.reference].any[self.alternative][self.place])
    }
}

impl Query {
    /// Parses a question from a line of `queries.jsonl`.
    ///
    /// # Errors
    /// A description of what is wrong with the line.
    pub fn parse(line: &str) -> Result<Self, String> {
        serde_json::from_str::<WireQuery>(line).map_err(|error| error.to_string())?.try_into()
    }

    /// Finds the references that were written without a range, as many as there are.
    ///
    /// # Errors
    /// A description of the first reference whose text is not in its document, or more than once, ignoring differences in
    /// white space.
    pub fn locate(&mut self, corpus: &Corpus) -> Result<(), String> {
        let places = self.references.iter_mut().flat_map(|reference| reference.any.iter_mut().flatten());
        let mut located = Ok(());
        for Place { doc_id, quote } in places {
            let Some(quote) = quote.as_mut().filter(|quote| quote.range.is_empty()) else { continue };
            let Some(document) = corpus.texts.get(doc_id) else {
                located = located.and_then(|()| Err(format!("names {}", corpus.missing(doc_id))));
                continue;
            };
            let found = Finder::new(document).all(&quote.text);
            let [range] = found.as_slice() else {
                let problem = match found.len() {
                    0 => format!("`{doc_id}` does not contain the text of its reference"),
                    several => {
                        let places = count(several, "place");
                        format!("`{doc_id}` has the text of its reference in {places}: add start and end, or more text")
                    }
                };
                located = located.and(Err(problem));
                continue;
            };
            *quote = Quote { range: range.clone(), text: document[range.clone()].to_owned() };
        }
        located
    }

    /// Returns whether every reference has a range or is a whole document.
    fn is_located(&self) -> bool {
        let mut places = self.references.iter().flat_map(Reference::places);
        places.all(|place| place.quote.as_ref().is_none_or(|quote| !quote.range.is_empty()))
    }

    /// Returns whether it was made up from the corpus.
    #[must_use]
    pub fn is_synthetic(&self) -> bool {
        self.tags.iter().any(|tag| tag == SYNTHETIC)
    }

    /// Returns whether all its evidence was chosen from passages that search proposed.
    #[must_use]
    pub fn is_proposed(&self) -> bool {
        self.references.iter().all(|reference| reference.proposed)
    }

    /// Returns the grade of one of its references, above 0.
    #[must_use]
    pub fn grade_of(&self, reference: &Reference) -> f64 {
        reference.grade.unwrap_or(self.grade)
    }
}

impl LabelSet {
    /// Reads the questions of a set.
    ///
    /// # Errors
    /// [`Error::Setting`] with the file and line for anything that is not a well-formed question; [`Error::Named`]
    /// if the file cannot be read.
    pub fn read(path: &Path) -> Result<Self> {
        Self::read_checked(path, true)
    }

    /// Reads the questions of a set whose documents may have changed since it fitted them. A reference without a range
    /// whose text is not in its document has then drifted like any other, and is no mistake in the file.
    ///
    /// # Errors
    /// The other ones of [`read`](Self::read).
    pub fn read_changed(path: &Path) -> Result<Self> {
        Self::read_checked(path, false)
    }

    fn read_checked(path: &Path, must_fit: bool) -> Result<Self> {
        let file = queries_of(path);
        let text = Text::whole(&file, SET)?;
        let mut set = Self { path: path.to_owned(), queries: Vec::new() };
        let mut ids = HashSet::new();
        let mut corpus = None;
        for (index, line) in text.lines().enumerate().filter(|(_, line)| !line.trim().is_empty()) {
            let wrong = |problem: String| Error::Setting {
                origin: format!("{}:{}", file.display(), index + 1),
                problem,
                help: format!(
                    r#"a line is {{"query_id", "query", "references": [{{"doc_id", "start", "end", "text", "grade"?}}], "grade"?, "tags"?}}; {REFERENCE}; a reference may be {{"any": [places], "grade"?}}"#
                ),
            };
            let mut query = Query::parse(line).map_err(wrong)?;
            if !query.is_located() {
                let corpus: &mut Corpus = match &mut corpus {
                    Some(corpus) => corpus,
                    None => corpus.insert(set.corpus()?),
                };
                query.locate(corpus).or_else(|problem| if must_fit { Err(wrong(problem)) } else { Ok(()) })?;
            }
            if !ids.insert(query.id.clone()) {
                return Err(wrong(format!("query_id `{}` was used before", query.id)));
            }
            set.queries.push(query);
        }
        Ok(set)
    }

    /// Reads all documents at once. The memory used is the size of their texts. A folder whose documents were all deleted
    /// is a corpus too: one that lost everything.
    ///
    /// # Errors
    /// [`Error::Corpus`] if the set has no corpus.
    pub fn corpus(&self) -> Result<Corpus> {
        if has_no_files(&self.path.join(CORPUS)) {
            return Ok(Corpus::default());
        }
        let filter = Filter::new(&["**".to_owned()], &[], true, MAX_BYTES)?;
        let found = corpus::discover(&[Root::new(corpus_of(&self.path))], &filter, &[])?;
        let documents = found.sources.len() + found.quarantined.len();
        let read = found.sources.into_iter().filter_map(|source| corpus::read(source).ok());
        let texts = read.map(|(origin, layer)| ((*origin.doc_id).to_owned(), layer.text)).collect();
        Ok(Corpus { documents, texts })
    }

    /// Compares every place of every reference with the corpus, in the order of the set. A text that is not in its
    /// document any more is followed into the others.
    #[must_use]
    pub fn check(&self, corpus: &Corpus) -> Vec<Checked> {
        let mut checked = Vec::new();
        for (query, Query { references, .. }) in self.queries.iter().enumerate() {
            for (reference, Reference { any, .. }) in references.iter().enumerate() {
                for (alternative, places) in any.iter().enumerate() {
                    checked.extend(places.iter().enumerate().map(|(place, Place { doc_id, quote })| {
                        let state = match (corpus.texts.get(doc_id), quote) {
                            (None, _) => State::NoDocument,
                            (Some(_), None) => State::Valid,
                            (Some(document), Some(quote)) => drift::state(quote, document),
                        };
                        Checked { query, reference, alternative, place, state }
                    }));
                }
            }
        }
        elsewhere::follow(self, corpus, &mut checked);
        checked
    }

    /// Returns the scorable references of each question, with their scorable alternatives. A question whose
    /// evidence has all drifted has none, and must be left out of means.
    #[must_use]
    pub fn scored<'a>(&'a self, checked: &'a [Checked]) -> Vec<Vec<Scored<'a>>> {
        let mut scored: Vec<Vec<Scored<'a>>> = vec![Vec::new(); self.queries.len()];
        for same in checked.chunk_by(|a, b| (a.query, a.reference) == (b.query, b.reference)) {
            let alternatives = same.chunk_by(|a, b| a.alternative == b.alternative);
            let fit = alternatives.filter(|places| !places.iter().any(|place| place.state.has_drifted()));
            let any: Vec<Vec<ScoredPlace<'a>>> =
                fit.map(|places| places.iter().map(|place| self.now(place)).collect()).collect();
            if let (Some(first), false) = (same.first(), any.is_empty()) {
                let query = &self.queries[first.query];
                let grade = query.grade_of(&query.references[first.reference]);
                scored[first.query].push(Scored { any, grade });
            }
        }
        scored
    }

    /// Returns the current place of a place that has not drifted.
    fn now<'a>(&'a self, checked: &'a Checked) -> ScoredPlace<'a> {
        let (_, Place { doc_id, quote }) = checked.of(self);
        match &checked.state {
            State::Elsewhere(doc_id, to) => ScoredPlace { doc_id, range: Some(to.clone()) },
            State::Moved(to) => ScoredPlace { doc_id, range: Some(to.clone()) },
            _ => ScoredPlace { doc_id, range: quote.as_ref().map(|quote| quote.range.clone()) },
        }
    }
}

/// Returns whether a folder and those in it contain nothing else than folders.
fn has_no_files(folder: &Path) -> bool {
    let is_empty_folder =
        |entry: fs::DirEntry| entry.file_type().is_ok_and(|kind| kind.is_dir()) && has_no_files(&entry.path());
    fs::read_dir(folder).is_ok_and(|mut entries| entries.all(|entry| entry.is_ok_and(is_empty_folder)))
}

/// Writes questions as the text of a `queries.jsonl`. The same questions produce the same bytes.
///
/// # Errors
/// [`Error::Setting`] naming a question that [`LabelSet::read`] would reject.
pub fn to_jsonl(queries: &[Query]) -> Result<String> {
    let mut text = String::new();
    for query in queries {
        let wrong = |problem: String| Error::Setting {
            origin: format!("question `{}`", query.id),
            problem,
            help: "it cannot be written as a label".to_owned(),
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
    references: Vec<WireReference>,
    #[serde(skip_serializing_if = "Option::is_none")]
    grade: Option<f64>,
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    tags: Vec<String>,
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
    any: Option<Vec<WireReference>>,
    #[serde(skip_serializing_if = "Option::is_none")]
    all: Option<Vec<WireReference>>,
    #[serde(skip_serializing_if = "Option::is_none")]
    grade: Option<f64>,
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    proposed: bool,
}

impl From<&Query> for WireQuery {
    fn from(query: &Query) -> Self {
        let references = query.references.iter().map(|Reference { any, grade, proposed }| {
            let mut any: Vec<WireReference> = any.iter().map(|places| WireReference::from(places.as_slice())).collect();
            let wire = if any.len() == 1 && any[0].all.is_none() {
                any.remove(0)
            } else {
                WireReference { any: Some(any), ..WireReference::default() }
            };
            WireReference { grade: *grade, proposed: *proposed, ..wire }
        });
        Self {
            query_id: query.id.clone(),
            query: query.text.clone(),
            references: references.collect(),
            grade: Some(query.grade).filter(|grade| grade.to_bits() != 1f64.to_bits()),
            tags: query.tags.clone(),
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
        let WireQuery { query_id, query, references, grade, tags } = wire;
        if query_id.is_empty() || query.trim().is_empty() {
            return Err("query_id or query is empty".to_owned());
        }
        if references.is_empty() {
            return Err("references is empty: a question without evidence cannot be scored".to_owned());
        }
        let grade = grade.unwrap_or(1.0);
        checked_grade(grade)?;
        let references = references.into_iter().map(Reference::try_from).collect::<Result<_, _>>()?;
        Ok(Self { id: query_id, text: query, references, grade, tags })
    }
}

impl TryFrom<WireReference> for Reference {
    type Error = String;

    fn try_from(mut wire: WireReference) -> Result<Self, String> {
        let (grade, proposed) = (wire.grade.take(), std::mem::take(&mut wire.proposed));
        grade.map_or(Ok(()), checked_grade)?;
        let any = match wire.any.take() {
            Some(any) if wire.is_empty() => any.into_iter().map(WireReference::places).collect::<Result<_, _>>()?,
            Some(_) => return Err("a reference has `any` and something else: put the alternatives into it".to_owned()),
            None => vec![wire.places()?],
        };
        if any.is_empty() {
            return Err("`any` is empty".to_owned());
        }
        Ok(Self { any, grade, proposed })
    }
}

impl WireReference {
    fn is_empty(&self) -> bool {
        let Self { doc_id, start, end, text, any, all, grade, proposed } = self;
        let numbers = [start, end].iter().any(|number| number.is_some());
        let nested = any.is_some() || all.is_some() || grade.is_some() || *proposed;
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
        let Self { doc_id, start, end, text, any, all, grade, proposed } = self;
        if any.is_some() || all.is_some() {
            return Err("lists may be nested only as `all` inside `any`".to_owned());
        }
        if grade.is_some() || proposed {
            let key = if proposed { "`proposed`" } else { "a grade" };
            return Err(format!("{key} belongs to the reference, not to one of its places"));
        }
        let doc_id = doc_id.ok_or("a reference has no doc_id")?;
        let quote = match (start, end, text) {
            (None, None, None) => None,
            (None, None, Some(text)) if !text.trim().is_empty() => Some(Quote { range: 0..0, text }),
            (Some(start), Some(end), Some(text)) => {
                if start >= end || end - start != text.len() {
                    return Err(format!(
                        "reference {start}..{end} to `{doc_id}` is not as long as its text, {}",
                        count(text.len(), "byte")
                    ));
                }
                Some(Quote { range: start..end, text })
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
