//! The answers of several people to the same questions, each in a file of the set, and whether they agree.
//!
//! ```text
//! set/
//!   people/NAME.jsonl   the answers of a person, written like queries.jsonl
//!   queries.jsonl       the answers of all: each person's evidence is an alternative
//! ```
//!
//! Evidence counts more than its absence: if one person found it and another did not, the question has an answer,
//! because everybody can check it.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::{Path, PathBuf};

use chunkmill::error::{Error, Result};
use chunkmill::value::count;
use serde::Serialize;

use crate::data::files::TextFile;
use crate::data::spans::{Cover, Span};
use crate::labels::set::{Place, Query, Reference};

/// The folder of people's answers, in a set.
const PEOPLE: &str = "people";

/// Largest number of alternatives that a person's answer becomes.
const MOST: usize = 16;

/// Returns whether a text can be a person's name: a file is named after them.
pub fn is_name(name: &str) -> bool {
    let is_plain = |c: char| c.is_alphanumeric() || "-_.".contains(c);
    (1..=40).contains(&name.chars().count()) && name.chars().all(is_plain) && !name.starts_with(['.', '-'])
}

/// Returns the file of a person's answers.
pub(super) fn file_of(set: &Path, name: &str) -> PathBuf {
    set.join(PEOPLE).join(format!("{name}.jsonl"))
}

/// Reads the answers of everybody who gave their name, in the order of the names.
pub(super) fn everybody(set: &Path) -> Result<Vec<(String, Vec<Query>)>> {
    let folder = set.join(PEOPLE);
    let Ok(entries) = fs::read_dir(&folder) else { return Ok(Vec::new()) };
    let mut names: Vec<String> = entries
        .flatten()
        .filter_map(|entry| Some(entry.file_name().to_str()?.strip_suffix(".jsonl")?.to_owned()))
        .filter(|name| is_name(name))
        .collect();
    names.sort();
    let read = |name: String| Ok((name.clone(), answers(&file_of(set, &name))?));
    names.into_iter().map(read).collect()
}

/// Reads the answers of a person, none if there are none yet.
pub(super) fn answers(path: &Path) -> Result<Vec<Query>> {
    if path.is_file() { read_labels(path) } else { Ok(Vec::new()) }
}

/// Reads a file of labels without its documents.
///
/// # Errors
/// [`Error::Named`] if it cannot be read, [`Error::Setting`] with the file and line for anything that is not a label.
pub fn read_labels(path: &Path) -> Result<Vec<Query>> {
    let text = TextFile::whole(path, "name a file of labels")?;
    let lines = text.lines().enumerate().filter(|(_, line)| !line.trim().is_empty());
    let parse = |(at, line): (usize, &str)| {
        let wrong = |problem| {
            let place = format!("{}:{}", path.display(), at + 1);
            Error::setting(place, problem, "remove the line, or write it like a line of queries.jsonl")
        };
        Query::parse(line).map_err(wrong)
    };
    lines.map(parse).collect()
}

/// Returns the questions of a set with the answers of everybody. A question without a name stays as it is.
pub(super) fn merged(nameless: Vec<Query>, people: &[(String, Vec<Query>)]) -> Vec<Query> {
    let mut by_text: BTreeMap<&str, Vec<&Query>> = BTreeMap::new();
    let mut names: BTreeMap<&str, Vec<String>> = BTreeMap::new();
    for (name, answers) in people {
        for query in answers {
            by_text.entry(&query.text).or_default().push(query);
            names.entry(&query.text).or_default().push(name.clone());
        }
    }
    let mut all: BTreeMap<String, Query> = BTreeMap::new();
    for (text, answers) in by_text.into_iter().filter(|(text, _)| !nameless.iter().any(|query| query.text == *text)) {
        let found: Vec<&Query> = answers.iter().copied().filter(|query| !query.is_unanswered()).collect();
        let references = match found.as_slice() {
            [] => Vec::new(),
            [first, rest @ ..] if rest.iter().all(|query| is_same(query, first)) => first.references.clone(),
            several => vec![either(several)],
        };
        let first = answers[0];
        let by = names.remove(text).unwrap_or_default();
        all.insert(first.id.clone(), Query { references, by, ..first.clone() });
    }
    all.extend(nameless.into_iter().map(|query| (query.id.clone(), query)));
    all.into_values().collect()
}

/// Returns whether two answers name the same places, whatever led to them.
fn is_same(one: &Query, other: &Query) -> bool {
    let places = |query: &Query| query.references.iter().map(|reference| reference.any.clone()).collect::<Vec<_>>();
    places(one) == places(other)
}

/// Returns a reference for which any one person's evidence will do.
fn either(answers: &[&Query]) -> Reference {
    let mut any: Vec<Vec<Place>> = Vec::new();
    for query in answers {
        // All references of a person are needed, and of each one alternative.
        let mut ways: Vec<Vec<Place>> = vec![Vec::new()];
        for reference in &query.references {
            let next = ways.iter().flat_map(|way| reference.any.iter().map(|places| [&way[..], places].concat()));
            ways = next.take(MOST).collect();
        }
        for way in ways {
            if !any.contains(&way) {
                any.push(way);
            }
        }
    }
    let references = answers.iter().flat_map(|query| &query.references);
    let found_by = references.flat_map(|reference| reference.found_by.iter().copied()).collect();
    Reference { found_by, ..Reference::any(any) }
}

/// How far two people agree on the questions that both answered.
#[derive(Debug, Clone, Default, PartialEq, Serialize)]
pub struct PeopleAgreement {
    /// Number of questions that both answered.
    pub both: usize,
    /// Number of those for which both found evidence, or neither did.
    pub alike: usize,
    /// Number of questions for which both found evidence.
    pub with_evidence: usize,
    /// Number of those in which their evidence has text in common.
    pub in_common: usize,
    /// Mean share of the text of their evidence that both chose, over these questions: intersection over union.
    pub shared_text: Option<f64>,
}

impl PeopleAgreement {
    /// Describes it in words.
    pub fn describe(&self) -> String {
        let Self { both, alike, with_evidence, in_common, shared_text } = self;
        let text = format!(
            "{} answered by both; on {alike} they agree whether the documents answer the question",
            count(*both, "question")
        );
        let Some(shared) = shared_text else { return text };
        format!(
            "{text}; of {with_evidence} with evidence by both, it has text in common in {in_common} ({:.0} % of the text)",
            100.0 * shared
        )
    }
}

/// Compares the answers of two people. Questions are matched by their text.
pub fn compare_people(one: &[Query], other: &[Query]) -> PeopleAgreement {
    let mut agreement = PeopleAgreement::default();
    let mut shares: Vec<f64> = Vec::new();
    for query in one {
        let Some(theirs) = other.iter().find(|other| other.text == query.text) else { continue };
        agreement.both += 1;
        agreement.alike += usize::from(query.is_unanswered() == theirs.is_unanswered());
        if query.is_unanswered() || theirs.is_unanswered() {
            continue;
        }
        agreement.with_evidence += 1;
        let mut ids = Vec::new();
        let (ours, theirs) = (Answered::of(query, &mut ids), Answered::of(theirs, &mut ids));
        let (both, all) = (ours.cover.common(&theirs.cover), ours.cover.size() + theirs.cover.size());
        let is_whole = ours.has_whole() || theirs.has_whole();
        let is_common = both > 0 || (is_whole && !ours.documents.is_disjoint(&theirs.documents));
        agreement.in_common += usize::from(is_common);
        #[expect(clippy::cast_precision_loss, reason = "bytes of evidence are far below 2^52")]
        if all > both {
            shares.push(both as f64 / (all - both) as f64);
        }
    }
    #[expect(clippy::cast_precision_loss, reason = "questions are far below 2^52")]
    if !shares.is_empty() {
        agreement.shared_text = Some(shares.iter().sum::<f64>() / shares.len() as f64);
    }
    agreement
}

/// The evidence that a person named.
struct Answered {
    /// Numbers of the documents.
    documents: BTreeSet<usize>,
    /// Their bytes; none of a document that was judged as a whole.
    cover: Cover,
}

impl Answered {
    /// `ids` numbers the documents.
    fn of<'q>(query: &'q Query, ids: &mut Vec<&'q str>) -> Self {
        let (mut documents, mut spans) = (BTreeSet::new(), Vec::new());
        for place in query.references.iter().flat_map(Reference::places) {
            let known = ids.iter().position(|id| *id == place.doc_id);
            let number = known.unwrap_or_else(|| {
                ids.push(&place.doc_id);
                ids.len() - 1
            });
            documents.insert(number);
            spans.extend(place.quote.as_ref().map(|quote| Span::new(number, quote.range.clone())));
        }
        Self { documents, cover: spans.into_iter().collect() }
    }

    /// Returns whether a document was judged as a whole.
    fn has_whole(&self) -> bool {
        let in_part: BTreeSet<usize> = self.cover.spans().iter().map(|span| span.doc).collect();
        in_part.len() < self.documents.len()
    }
}
