//! Makes up questions from a corpus, without labels and without a language model, for a first answer when there
//! are only documents.
//!
//! | kind | the question | its evidence |
//! | --- | --- | --- |
//! | `heading` | a heading, after those above it if it says little alone | the section's own text without the heading |
//! | `sentence` | the most informative words of a sentence, in order | the paragraph without that sentence |
//! | `title` | a document's title and a term that no other document has | the paragraph that introduces the term |
//!
//! # What makes a question usable
//!
//! - It is specific enough: its words carry enough bits (inverse document frequency, with paragraphs as documents)
//!   to tell one passage from all others. A question that two candidates share is dropped.
//! - Its evidence is in one place: a passage is ambiguous and dropped if half of it, in runs of four words, also
//!   appears elsewhere.
//! - Its evidence has the size of an answer, [`SIZE`] characters, so whether it is found depends more on where
//!   chunks are cut than on how large they may be.
//! - No two questions share evidence.
//!
//! # What is chosen
//!
//! Kinds take turns. Each takes its next question from the document that has the fewest so far, so a long document
//! has no more weight than a short one. Ties between documents, and the order of a document's questions, are
//! decided by a hash of the seed, the document's id and the place. The same corpus and seed produce the same
//! bytes, in whatever order files are found.
//!
//! # Bias
//!
//! These questions compare settings on one corpus; as absolute figures they mean little.
//!
//! - Questions share words with the text, which people's questions often do not. Keyword search looks better than
//!   it is, and all figures are higher than with real questions.
//! - Heading questions favour settings that keep or repeat headings, and cover only documents that have some.
//! - Sentence questions need chunks that contain a sentence's neighbours, so they favour chunks that keep
//!   paragraphs whole, and cover only paragraphs of at least three sentences.
//! - Title questions favour chunks that carry their document's title.
//! - Questions about code and tables are rare, and there are none about short and very long sections. None needs
//!   two places at once.
//!
//! That is why every question has the tag [`SYNTHETIC`], and why questions that people have asked, even fifty of
//! them, should replace these.

mod heading;
mod sentence;
mod texts;
mod title;
mod words;

use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::ops::{Range, RangeInclusive};
use std::path::Path;
use std::str::FromStr;

use chunkmill::corpus::{Filter, Quarantined, Root};
use chunkmill::document::Document;
use chunkmill::error::{Error, Result};
use chunkmill::value::{count, unknown};

use crate::labels::import::{self, Documents, Imported};
use crate::labels::set::{LabelSet, Query, Quote, Reference, SYNTHETIC, queries_of};
use texts::Texts;
pub(crate) use words::sentences;

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
}

impl Kind {
    /// All kinds, in the order in which they take turns.
    pub const ALL: [Self; 3] = [Self::Heading, Self::Sentence, Self::Title];

    /// Returns the name used in settings and as the tag of its questions.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Self::Heading => "heading",
            Self::Sentence => "sentence",
            Self::Title => "title",
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

/// The settings of a synthesis.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Settings {
    /// Largest number of questions.
    pub queries: usize,
    /// Seed that decides which questions are chosen.
    pub seed: u64,
    /// Kinds of questions, in any order.
    pub kinds: Vec<Kind>,
}

/// The questions made from a corpus.
#[derive(Debug, Default)]
pub struct Synthesis {
    /// The documents, byte for byte, and the questions, in order of their evidence.
    pub set: Imported,
    /// Documents that could not be read and are therefore not in the set.
    pub unreadable: Vec<Quarantined>,
    /// Number of chosen questions of each kind, by its name.
    pub kinds: BTreeMap<&'static str, usize>,
    /// Number of documents with questions.
    pub asked: usize,
}

/// A question that may be chosen.
#[derive(Debug, Clone, PartialEq, Eq)]
struct Candidate {
    kind: Kind,
    /// Position of its document.
    document: usize,
    text: String,
    /// Byte ranges of the document, ascending. At least one.
    evidence: Vec<Range<usize>>,
}

/// Makes questions from the documents below `roots`. Documents of a named root `NAME=PATH` are below `NAME/` in
/// the set. All documents are in memory at once.
///
/// # Errors
/// [`Error::Setting`] if no question can be made, no kind is wanted, or two documents would have the same path in
/// the set; [`Error::Corpus`] for a root that cannot be used; [`Error::Io`] if a document vanishes while it is
/// read.
pub fn synth(roots: &[Root], filter: &Filter, settings: &Settings) -> Result<Synthesis> {
    let Documents { bytes, read, unreadable } = import::documents(roots, filter)?;
    let set = Imported::of(bytes);
    let mut made = Synthesis { set, unreadable, ..Synthesis::default() };
    let documents = read.into_iter().map(|(source, content)| Document::parse(source, content)).collect();
    let texts = Texts::new(documents);
    let chosen = chosen(&texts, candidates(&texts, &settings.kinds), settings);
    if chosen.is_empty() {
        let problem = format!("no question can be made from {}", count(texts.documents.len(), "document"));
        let help = "questions need headings with some lines of text below them, or paragraphs of three sentences; \
                    write questions by hand, or add documents";
        return Err(wrong(problem, help));
    }
    made.asked = chosen.iter().map(|chosen| chosen.document).collect::<BTreeSet<_>>().len();
    for candidate in &chosen {
        *made.kinds.entry(candidate.kind.name()).or_default() += 1;
    }
    made.set.queries = chosen.into_iter().map(|candidate| candidate.query(&texts)).collect();
    Ok(made)
}

/// Refuses to replace questions that people have asked: `set` must not exist, or be synthetic.
///
/// # Errors
/// [`Error::Setting`] if a question of the existing set is not synthetic; those of [`LabelSet::read`].
pub fn refuse_real_labels(set: &Path) -> Result<()> {
    if !queries_of(set).is_file() || LabelSet::read(set)?.queries.iter().all(Query::is_synthetic) {
        return Ok(());
    }
    Err(Error::Setting {
        origin: set.display().to_string(),
        problem: "contains questions that were not made by synth and would be replaced".to_owned(),
        help: "name a new folder with -o".to_owned(),
    })
}

fn wrong(problem: String, help: &str) -> Error {
    Error::Setting { origin: "synth".to_owned(), problem, help: help.to_owned() }
}

/// Returns all questions of these kinds that no other candidate asks too.
fn candidates(texts: &Texts, kinds: &[Kind]) -> Vec<Candidate> {
    let mut all = Vec::new();
    for kind in Kind::ALL.into_iter().filter(|kind| kinds.contains(kind)) {
        all.extend(match kind {
            Kind::Heading => heading::candidates(texts),
            Kind::Sentence => sentence::candidates(texts),
            Kind::Title => title::candidates(texts),
        });
    }
    let normal = |candidate: &Candidate| words::words_of(&candidate.text).join(" ");
    let mut asked: HashMap<String, usize> = HashMap::new();
    for candidate in &all {
        *asked.entry(normal(candidate)).or_default() += 1;
    }
    all.retain(|candidate| asked[&normal(candidate)] == 1);
    all
}

/// Returns the chosen candidates, by document and place.
fn chosen(texts: &Texts, candidates: Vec<Candidate>, settings: &Settings) -> Vec<Candidate> {
    let turn = |document: usize| order(settings.seed, &texts.documents[document].document.origin.doc_id, "");
    // By kind and document, with the next candidate last.
    let mut waiting: BTreeMap<Kind, BTreeMap<usize, Vec<Candidate>>> = BTreeMap::new();
    for candidate in candidates {
        waiting.entry(candidate.kind).or_default().entry(candidate.document).or_default().push(candidate);
    }
    for open in waiting.values_mut().flat_map(BTreeMap::values_mut) {
        open.sort_by_cached_key(|candidate| order(settings.seed, &candidate.id(texts), candidate.kind.name()));
    }
    // Documents with their numbers of questions, those with the fewest first.
    let mut fewest: BTreeSet<(usize, [u8; 32], usize)> =
        (0..texts.documents.len()).map(|document| (0, turn(document), document)).collect();
    let mut chosen: Vec<Candidate> = Vec::new();
    while chosen.len() < settings.queries && !waiting.is_empty() {
        waiting.retain(|_, open| {
            if chosen.len() == settings.queries {
                return true;
            }
            let next = fewest.iter().copied().find_map(|place| Some((place, take(open, place.2, &chosen)?)));
            let Some((place, candidate)) = next else { return false };
            fewest.remove(&place);
            fewest.insert((place.0 + 1, place.1, place.2));
            chosen.push(candidate);
            true
        });
    }
    let place =
        |candidate: &Candidate| (texts.documents[candidate.document].document.origin.doc_id.clone(), candidate.start());
    chosen.sort_by_cached_key(place);
    chosen
}

/// Takes the next candidate of a document that shares no evidence with a chosen one.
fn take(open: &mut BTreeMap<usize, Vec<Candidate>>, document: usize, chosen: &[Candidate]) -> Option<Candidate> {
    let waiting = open.get_mut(&document)?;
    while let Some(candidate) = waiting.pop() {
        if !chosen.iter().any(|other| other.shares_evidence(&candidate)) {
            return Some(candidate);
        }
    }
    open.remove(&document);
    None
}

/// Returns a sort key that depends only on the seed, the id and the kind.
fn order(seed: u64, id: &str, kind: &str) -> [u8; 32] {
    let mut hasher = blake3::Hasher::new();
    hasher.update(&seed.to_le_bytes());
    hasher.update(kind.as_bytes()).update(b"\0").update(id.as_bytes());
    *hasher.finalize().as_bytes()
}

impl Candidate {
    fn start(&self) -> usize {
        self.evidence.first().map_or(0, |range| range.start)
    }

    /// Returns an id that depends only on the place, not on the rest of the corpus or the other questions.
    fn id(&self, texts: &Texts) -> String {
        format!("{}@{}", texts.documents[self.document].document.origin.doc_id, self.start())
    }

    fn shares_evidence(&self, other: &Self) -> bool {
        let overlap = |a: &Range<usize>| other.evidence.iter().any(|b| a.start < b.end && b.start < a.end);
        self.document == other.document && self.evidence.iter().any(overlap)
    }

    fn query(self, texts: &Texts) -> Query {
        let document = &texts.documents[self.document].document;
        let references = self.evidence.iter().map(|range| {
            let quote = Quote { range: range.clone(), text: document.text[range.clone()].to_owned() };
            Reference::to(document.origin.doc_id.to_string(), Some(quote))
        });
        let hash = blake3::hash(self.id(texts).as_bytes()).to_hex();
        Query {
            id: format!("{SYNTHETIC}-{}-{}", self.kind.name(), &hash[..12]),
            text: self.text.clone(),
            references: references.collect(),
            grade: 1.0,
            tags: vec![SYNTHETIC.to_owned(), self.kind.name().to_owned()],
        }
    }
}
