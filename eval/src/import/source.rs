//! Code that the formats share: lines with numbers, names for documents and questions, places in assembled
//! documents, judgements.

use std::collections::{BTreeMap, HashMap};
use std::fs;
use std::ops::Range;
use std::path::{Path, PathBuf};

use chunkmill::error::{Error, Result};
use percent_encoding::{AsciiSet, NON_ALPHANUMERIC, utf8_percent_encode};
use serde_json::{Map, Value};

use super::Imported;
use crate::labels::{Place, Query, Quote, Reference};

/// A text file, read whole.
pub(super) struct Source {
    path: PathBuf,
    text: String,
}

impl Source {
    /// Reads a file without its byte order mark.
    pub(super) fn read(path: &Path) -> Result<Self> {
        let mut source = Self::exact(path)?;
        if let Some(rest) = source.text.strip_prefix('\u{feff}') {
            source.text = rest.to_owned();
        }
        Ok(source)
    }

    /// Reads a file with its byte order mark, which counts in offsets.
    pub(super) fn exact(path: &Path) -> Result<Self> {
        let text = fs::read_to_string(path)
            .map_err(Error::named(path, "name the files that `chunkmill-eval import FORMAT --help` lists"))?;
        Ok(Self { path: path.to_owned(), text })
    }

    pub(super) fn text(&self) -> &str {
        &self.text
    }

    /// Returns the lines that are not blank, with their numbers from 1.
    pub(super) fn lines(&self) -> impl Iterator<Item = (usize, &str)> {
        let lines = self.text.lines().enumerate().map(|(index, line)| (index + 1, line));
        lines.filter(|(_, line)| !line.trim().is_empty())
    }

    /// Creates an error for this line.
    pub(super) fn wrong(&self, line: impl std::fmt::Display, problem: impl Into<String>, help: &str) -> Error {
        Error::Setting {
            origin: format!("{}:{line}", self.path.display()),
            problem: problem.into(),
            help: help.to_owned(),
        }
    }

    /// Parses the JSON object in each line.
    pub(super) fn objects(&self, help: &str) -> Result<Vec<(usize, Map<String, Value>)>> {
        let parse = |(line, text): (usize, &str)| match serde_json::from_str(text) {
            Ok(object) => Ok((line, object)),
            Err(error) => Err(self.wrong(line, error.to_string(), help)),
        };
        self.lines().map(parse).collect()
    }
}

/// Returns a file name for the document with this id. Letters, digits, `-`, `_` and `.` are kept, everything else
/// is percent-encoded. An id can therefore neither leave the folder, nor be a hidden file, nor collide with
/// another.
pub(super) fn file_name(id: &str, extension: &str) -> String {
    const KEPT: &AsciiSet = &NON_ALPHANUMERIC.remove(b'-').remove(b'_').remove(b'.');
    let name = utf8_percent_encode(id, KEPT).to_string();
    let name = name.strip_prefix('.').map(|rest| format!("%2E{rest}")).unwrap_or(name);
    format!("{name}.{extension}")
}

/// Returns [`file_name`], or a problem if it is too long.
pub(super) fn document_name(id: &str, extension: &str) -> Result<String, String> {
    let name = file_name(id, extension);
    if name.len() > 255 { Err(format!("id `{id}` is too long for a file name")) } else { Ok(name) }
}

/// Names for questions without an id: what they belong to and their number there, from 1.
#[derive(Default)]
pub(super) struct Numbers(HashMap<String, usize>);

impl Numbers {
    pub(super) fn next(&mut self, of: &str) -> String {
        let number = self.0.entry(of.to_owned()).or_default();
        *number += 1;
        format!("{of}-{number:04}")
    }
}

/// A document assembled from texts with a blank line between them. Each text keeps its place.
#[derive(Default)]
pub(super) struct Assembly {
    pub(super) text: String,
}

impl Assembly {
    /// Adds a text and returns its range.
    pub(super) fn add(&mut self, text: &str) -> Range<usize> {
        if !self.text.is_empty() {
            self.text += "\n\n";
        }
        let start = self.text.len();
        self.text += text;
        start..self.text.len()
    }
}

/// Quotes a range of a document.
pub(super) fn quoted(doc_id: &str, document: &str, range: Range<usize>) -> Place {
    let quote = Quote { text: document[range.clone()].to_owned(), range };
    Place { doc_id: doc_id.to_owned(), quote: Some(quote) }
}

/// Deduplicates alternatives and sorts them by the number of people who gave them, most first.
pub(super) fn by_votes(alternatives: Vec<Vec<Place>>) -> Vec<Vec<Place>> {
    let mut votes: Vec<(Vec<Place>, usize)> = Vec::new();
    for alternative in alternatives {
        match votes.iter_mut().find(|(known, _)| *known == alternative) {
            Some((_, count)) => *count += 1,
            None => votes.push((alternative, 1)),
        }
    }
    votes.sort_by_key(|(_, count)| std::cmp::Reverse(*count));
    votes.into_iter().map(|(alternative, _)| alternative).collect()
}

/// Converts a range of characters to bytes; `None` if the text has fewer characters.
pub(super) fn bytes_of(text: &str, chars: &Range<usize>) -> Option<Range<usize>> {
    let starts = || text.char_indices().map(|(at, _)| at).chain([text.len()]);
    (chars.start <= chars.end).then(|| Some(starts().nth(chars.start)?..starts().nth(chars.end)?))?
}

/// Questions in their order, each with the documents judged for it.
#[derive(Default)]
pub(super) struct Judged {
    queries: Vec<(String, String)>,
    position: HashMap<String, usize>,
    grades: HashMap<usize, Vec<(String, f64)>>,
}

impl Judged {
    /// Adds a question. Returns `false` if its id is taken.
    pub(super) fn ask(&mut self, id: &str, text: &str) -> bool {
        let new = self.position.insert(id.to_owned(), self.queries.len()).is_none();
        self.queries.push((id.to_owned(), text.to_owned()));
        new
    }

    /// Adds a judgement as written in its file, or returns what is wrong with it.
    pub(super) fn judge(&mut self, query: &str, document: &str, grade: &str) -> Result<(), String> {
        let position = *self.position.get(query).ok_or_else(|| format!("there is no question `{query}`"))?;
        let parsed = grade.parse::<f64>().ok().filter(|grade| grade.is_finite() && *grade <= 100.0);
        let grade = parsed.ok_or_else(|| format!("`{grade}` is not a grade up to 100"))?;
        let grades = self.grades.entry(position).or_default();
        match grades.iter().find(|(known, _)| known == document) {
            Some((_, known)) if known.to_bits() != grade.to_bits() => {
                Err(format!("document `{document}` was judged {known} before for question `{query}`, and now {grade}"))
            }
            Some(_) => Ok(()),
            None => {
                grades.push((document.to_owned(), grade));
                Ok(())
            }
        }
    }

    /// Converts the judgements to a set; `place` returns the place of a document. A document judged 0 or less is
    /// not relevant, the same as one without a judgement, so it is left out.
    pub(super) fn into_set(mut self, documents: BTreeMap<String, Vec<u8>>, place: impl Fn(&str) -> Place) -> Imported {
        let mut set = Imported { documents, ..Imported::default() };
        for (position, (id, text)) in self.queries.into_iter().enumerate() {
            let relevant =
                self.grades.remove(&position).unwrap_or_default().into_iter().filter(|(_, grade)| *grade > 0.0);
            let references: Vec<Reference> = relevant
                .map(|(document, grade)| Reference {
                    grade: (grade.to_bits() != 1f64.to_bits()).then_some(grade),
                    any: vec![vec![place(&document)]],
                })
                .collect();
            if references.is_empty() {
                set.without_evidence += 1;
                continue;
            }
            let places = references.iter().flat_map(Reference::places);
            set.without_document += places.filter(|known| !set.documents.contains_key(&known.doc_id)).count();
            set.queries.push(Query { id, text, references, grade: 1.0, tags: Vec::new() });
        }
        set
    }
}
