//! Code that the formats share: lines with numbers, names for documents and questions, places in assembled
//! documents, judgements.

use std::collections::{BTreeMap, HashMap};
use std::ops::Range;
use std::path::{Path, PathBuf};

use chunkmill::error::{Error, Result};
use chunkmill::value::count;
use percent_encoding::{AsciiSet, NON_ALPHANUMERIC, utf8_percent_encode};
use serde_json::Value;

use super::flaws::Flaws;
use super::imported::ImportedSet;
use crate::data::files::{NOT_UTF8, TextFile};
use crate::labels::set::{Finder, Place, Query, Quote, Reference, beginning};

/// Help for a file that cannot be read.
const FILES: &str = "name existing files; the help of the command lists the formats";

/// A text file, read whole.
pub(super) struct Source {
    path: PathBuf,
    text: String,
    /// Lines that are not UTF-8.
    broken: Vec<usize>,
}

impl Source {
    /// Reads a file without its byte order mark. Some of its lines may be broken.
    pub(super) fn read(path: &Path) -> Result<Self> {
        let TextFile { text, broken } = TextFile::read(path, FILES)?;
        Ok(Self { path: path.to_owned(), text, broken })
    }

    /// Reads a file of one value, in which nothing may be broken.
    pub(super) fn whole(path: &Path) -> Result<Self> {
        Ok(Self { path: path.to_owned(), text: TextFile::whole(path, FILES)?, broken: Vec::new() })
    }

    /// Reads a document with its byte order mark, which counts in offsets.
    pub(super) fn exact(path: &Path) -> Result<Self> {
        let text = TextFile::with_mark(path, FILES)?.unbroken(path)?;
        Ok(Self { path: path.to_owned(), text, broken: Vec::new() })
    }

    pub(super) fn text(&self) -> &str {
        &self.text
    }

    /// Returns the lines that are not blank, with their numbers from 1, or the problem of a line that is not UTF-8.
    pub(super) fn numbered(&self) -> impl Iterator<Item = (usize, Result<&str, String>)> {
        let lines = self.text.lines().enumerate().map(|(index, line)| (index + 1, line));
        lines.filter(|(_, line)| !line.trim().is_empty()).map(|(line, text)| {
            (line, if self.is_broken(line..line + 1) { Err(NOT_UTF8.to_owned()) } else { Ok(text) })
        })
    }

    /// Visits the lines that are not blank. A line with a problem is left out.
    pub(super) fn lines(
        &self,
        help: &'static str,
        left_out: &mut Flaws,
        mut visit: impl FnMut(usize, &str) -> Result<(), String>,
    ) {
        for (line, text) in self.numbered() {
            if let Err(problem) = text.and_then(|text| visit(line, text)) {
                left_out.add(&self.at(line), problem, help);
            }
        }
    }

    /// Returns whether one of these lines is not UTF-8.
    pub(super) fn is_broken(&self, lines: Range<usize>) -> bool {
        self.broken.iter().any(|line| lines.contains(line))
    }

    /// Names a line.
    pub(super) fn at(&self, line: impl std::fmt::Display) -> String {
        format!("{}:{line}", self.path.display())
    }

    /// Creates an error for this line.
    pub(super) fn wrong(&self, line: impl std::fmt::Display, problem: impl Into<String>, help: &str) -> Error {
        Error::setting(self.at(line), problem, help)
    }
}

/// Longest name of a file, in bytes, that file systems accept.
const LONGEST: usize = 255;

/// Bytes that are kept of a name that is too long.
const KEPT: usize = 200;

/// Returns a file name for the document with this id. Letters, digits, `-`, `_` and `.` are kept, everything else
/// is percent-encoded. An id can therefore neither leave the folder, nor be a hidden file, nor collide with
/// another. The name of a long id is its beginning and its hash.
pub(super) fn file_name(id: &str, extension: &str) -> String {
    const PLAIN: &AsciiSet = &NON_ALPHANUMERIC.remove(b'-').remove(b'_').remove(b'.');
    let name = utf8_percent_encode(id, PLAIN).to_string();
    let mut name = name.strip_prefix('.').map(|rest| format!("%2E{rest}")).unwrap_or(name);
    if name.len() + 1 + extension.len() > LONGEST {
        name.truncate(KEPT);
        // An encoded byte is not cut.
        if let Some(at) = name.rfind('%').filter(|at| at + 3 > name.len()) {
            name.truncate(at);
        }
        name = format!("{name}-{}", &blake3::hash(id.as_bytes()).to_hex()[..16]);
    }
    format!("{name}.{extension}")
}

/// A text that was looked for in a document.
pub(super) struct TextPlace {
    pub(super) range: Range<usize>,
    /// The problem of the given place, if the text is elsewhere.
    pub(super) mended: Option<String>,
}

/// Returns where a text is: in the given characters, or in the only place of the document that has it. White space may
/// differ there.
pub(super) fn placed(document: &str, chars: Option<Range<usize>>, text: &str) -> Result<TextPlace, String> {
    let given = chars.as_ref().and_then(|chars| bytes_of(document, chars));
    if let Some(range) = given.filter(|range| !range.is_empty() && document[range.clone()] == *text) {
        return Ok(TextPlace { range, mended: None });
    }
    let text_shown = beginning(text, SHOWN);
    let wrong = chars.map_or_else(
        || format!("there is no offset for {text_shown:?}"),
        |chars| format!("characters {}..{} are not {text_shown:?}", chars.start, chars.end),
    );
    match &Finder::new(document).all(text)[..] {
        [] => Err(format!("{wrong}, and the document does not have this text")),
        [range] => {
            let mended = format!("{wrong}, which is at {}", document[..range.start].chars().count());
            Ok(TextPlace { range: range.clone(), mended: Some(mended) })
        }
        several => Err(format!("{wrong}, and the document has this text in {}", count(several.len(), "place"))),
    }
}

/// Returns an offset as a file writes it; `None` for anything else, because the text can be found without.
pub(super) fn offset(value: &Value) -> Option<usize> {
    usize::try_from(value.as_u64()?).ok()
}

/// Describes evidence without an offset that its document does not have.
pub(super) fn not_in_document(text: &str) -> String {
    format!("the document does not have the text {:?}", beginning(text, SHOWN))
}

/// Number of characters of a text that a message shows.
const SHOWN: usize = 60;

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
    let quote = Quote { text: document[range.clone()].to_owned(), range, page: None };
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
pub(super) struct JudgedQuestions {
    queries: Vec<(String, String)>,
    position: HashMap<String, usize>,
    grades: HashMap<usize, Vec<(String, f64)>>,
    /// Lines that cannot be used.
    pub(super) left_out: Flaws,
    /// Number of those that judge a document for a question that is not asked.
    not_asked: usize,
}

impl JudgedQuestions {
    /// Adds a question, or returns what is wrong with it.
    pub(super) fn ask(&mut self, id: &str, text: &str) -> Result<(), String> {
        if text.trim().is_empty() {
            return Err(format!("the text of question `{id}` is empty"));
        }
        if self.position.contains_key(id) {
            return Err(format!("question `{id}` was there before"));
        }
        self.position.insert(id.to_owned(), self.queries.len());
        self.queries.push((id.to_owned(), text.to_owned()));
        Ok(())
    }

    /// Adds a judgement as written in its file, or returns what is wrong with it.
    pub(super) fn judge(&mut self, query: &str, document: &str, grade: &str) -> Result<(), String> {
        let Some(&position) = self.position.get(query) else {
            self.not_asked += 1;
            return Err(format!("there is no question `{query}`"));
        };
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
    pub(super) fn into_set(
        mut self,
        documents: BTreeMap<String, Vec<u8>>,
        place: impl Fn(&str) -> Place,
    ) -> ImportedSet {
        let (left_out, not_asked) = (std::mem::take(&mut self.left_out), self.not_asked);
        let mut set = ImportedSet { documents, left_out, not_asked, ..ImportedSet::default() };
        for (position, (id, text)) in self.queries.into_iter().enumerate() {
            let relevant =
                self.grades.remove(&position).unwrap_or_default().into_iter().filter(|(_, grade)| *grade > 0.0);
            let references: Vec<Reference> = relevant
                .map(|(document, grade)| Reference {
                    grade: (grade.to_bits() != 1f64.to_bits()).then_some(grade),
                    ..Reference::any(vec![vec![place(&document)]])
                })
                .collect();
            if references.is_empty() {
                set.without_evidence += 1;
                continue;
            }
            let places = references.iter().flat_map(Reference::places);
            set.without_document += places.filter(|known| !set.documents.contains_key(&known.doc_id)).count();
            set.queries.push(Query::new(id, text, references));
        }
        set
    }
}
