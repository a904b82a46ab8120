//! A question that may be chosen, and the kinds of questions.

use std::ops::{Range, RangeInclusive};
use std::str::FromStr;

use chunkmill::error::Result;
use chunkmill::value::unknown;

use super::texts::Texts;
use crate::labels::set::{Query, Quote, Reference, SYNTHETIC};

/// Number of characters in the evidence of a question, all of it together.
pub const SIZE: RangeInclusive<usize> = 80..=1500;

/// The source from which a question is made.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Kind {
    /// From a heading.
    Heading,
    /// From a sentence.
    Sentence,
    /// From a title and a term.
    Title,
    /// By a language model, from a passage.
    Model,
}

impl Kind {
    /// All kinds that need no language model, in the order in which they take turns.
    pub const ALL: [Self; 3] = [Self::Heading, Self::Sentence, Self::Title];

    /// Returns the name used in settings and as the tag of its questions.
    pub fn name(self) -> &'static str {
        match self {
            Self::Heading => "heading",
            Self::Sentence => "sentence",
            Self::Title => "title",
            Self::Model => "model",
        }
    }
}

impl FromStr for Kind {
    type Err = String;

    fn from_str(s: &str) -> Result<Self, String> {
        let kind = Self::ALL.into_iter().find(|kind| kind.name() == s);
        kind.ok_or_else(|| unknown(s, "a kind of question", &Self::ALL.map(Self::name)))
    }
}

/// A question that may be chosen.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Candidate {
    pub(super) kind: Kind,
    /// Position of its document.
    pub(super) document: usize,
    pub(super) text: String,
    /// Byte ranges of the document, ascending. At least one.
    pub(super) evidence: Vec<Range<usize>>,
}

impl Candidate {
    pub(super) fn start(&self) -> usize {
        self.evidence.first().map_or(0, |range| range.start)
    }

    /// Returns an id that depends only on the place, not on the rest of the corpus or the other questions.
    pub(super) fn id(&self, texts: &Texts) -> String {
        format!("{}@{}", texts.documents[self.document].document.origin.doc_id, self.start())
    }

    pub(super) fn shares_evidence(&self, other: &Self) -> bool {
        let overlap = |a: &Range<usize>| other.evidence.iter().any(|b| a.start < b.end && b.start < a.end);
        self.document == other.document && self.evidence.iter().any(overlap)
    }

    pub(super) fn query(self, texts: &Texts) -> Query {
        let document = &texts.documents[self.document].document;
        let references = self.evidence.iter().map(|range| {
            let quote = Quote { range: range.clone(), text: document.text[range.clone()].to_owned(), page: None };
            Reference::to(document.origin.doc_id.to_string(), Some(quote))
        });
        let hash = blake3::hash(self.id(texts).as_bytes()).to_hex();
        let id = format!("{SYNTHETIC}-{}-{}", self.kind.name(), &hash[..12]);
        let tags = vec![SYNTHETIC.to_owned(), self.kind.name().to_owned()];
        Query { tags, ..Query::new(id, self.text.clone(), references.collect()) }
    }
}
