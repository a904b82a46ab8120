//! Where the answers of a run are: the places that each question wants, the places that a few settings hand over for
//! it, and the text of both.
//!
//! A place is a range of a document, never a copy of its text, so the settings share the text that they hand over,
//! and any two of them can be laid side by side.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// The answers of a run.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct AnswerPlaces {
    /// Ids of the documents that the places name by position.
    pub documents: Vec<String>,
    /// For each question of the report, its references. A reference can be found in any of its alternatives; an
    /// alternative may need several places.
    pub wanted: Vec<Vec<Vec<Vec<DocumentPlace>>>>,
    /// What a few settings hand over: the recommended one first.
    pub handed_over: Vec<HandedOver>,
    /// The text of places, for the questions that went worst, as far as there is room.
    pub excerpts: Vec<Excerpt>,
}

impl AnswerPlaces {
    /// Checks that there is an entry for each question, and that every document has a name.
    pub(super) fn check(&self, questions: usize) -> Result<(), &'static str> {
        let Self { documents, wanted, handed_over, excerpts } = self;
        let sizes = handed_over.iter().map(|cell| cell.passages.len());
        let is_empty = wanted.is_empty() && handed_over.is_empty();
        if !is_empty && sizes.chain([wanted.len()]).any(|size| size != questions) {
            return Err("its answers are not those of its questions");
        }
        let places = wanted.iter().flatten().flatten().flatten();
        let places = places.chain(handed_over.iter().flat_map(|cell| &cell.passages).flatten());
        let mut named = places.map(|place| place.doc).chain(excerpts.iter().map(|excerpt| excerpt.doc));
        if named.any(|doc| doc >= documents.len()) { Err("a place is in a document without a name") } else { Ok(()) }
    }
}

/// The places that a setting hands over.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct HandedOver {
    /// The setting's id.
    pub cell: String,
    /// For each question of the report: the stretches of the context by which settings are judged, in its order, or the
    /// best hits.
    pub passages: Vec<Vec<DocumentPlace>>,
}

/// A stretch of a document, in JSON as an array of its five numbers.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Hash, Serialize, Deserialize, JsonSchema)]
#[serde(from = "[usize; 5]", into = "[usize; 5]")]
#[schemars(with = "[usize; 5]")]
pub struct DocumentPlace {
    /// Position of the document in [`AnswerPlaces::documents`].
    pub doc: usize,
    /// First byte in the document.
    pub start: usize,
    /// One past the last byte; equal to `start` if the document was judged as a whole.
    pub end: usize,
    /// First line, from 1.
    pub line: usize,
    /// Last line.
    pub last_line: usize,
}

impl From<[usize; 5]> for DocumentPlace {
    fn from([doc, start, end, line, last_line]: [usize; 5]) -> Self {
        Self { doc, start, end, line, last_line }
    }
}

impl From<DocumentPlace> for [usize; 5] {
    fn from(place: DocumentPlace) -> Self {
        [place.doc, place.start, place.end, place.line, place.last_line]
    }
}

/// Whole lines of a document.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Excerpt {
    /// Position of the document in [`AnswerPlaces::documents`].
    pub doc: usize,
    /// First byte in the document.
    pub start: usize,
    /// Number of its first line, from 1.
    pub line: usize,
    /// The lines.
    pub text: String,
}
