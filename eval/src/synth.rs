//! Questions made up from a corpus, without labels and without a language model, so that who has
//! only documents gets a first answer.
//!
//! | kind | the question | its evidence |
//! | --- | --- | --- |
//! | `heading` | a heading, after those above it if it says little alone | the section's own text without the heading |
//! | `sentence` | the words of a sentence that say most, in order | the paragraph without that sentence |
//! | `title` | a document's title and a term that no other document has | the paragraph that introduces the term |
//!
//! # What makes a question usable
//!
//! - It says enough: the bits of its words (inverse document frequency, the documents being
//!   paragraphs) tell one passage from all others. A question that two candidates share is dropped.
//! - Its evidence stands in one place: a passage of which half, in runs of four words, stands elsewhere
//!   as well is ambiguous and dropped.
//! - Its evidence is of the size of an answer, [`SIZE`] characters, so that whether it is found depends
//!   on where chunks are cut more than on how large they may be.
//! - It is alone: no two questions share evidence.
//!
//! # What is chosen
//!
//! Kinds take turns. Each takes its next question from the document that has fewest so far, so that a
//! long document has no more say than a short one. Which of several documents, and which of a
//! document's questions, is decided by a hash of the seed, the document's id and the place: the same
//! corpus and seed give the same bytes, in whatever order files are found.
//!
//! # Bias
//!
//! These questions compare settings on one corpus; as absolute figures they mean little.
//!
//! - Questions share words with the text, as those of people often do not. Keyword search looks better
//!   than it is, and all figures are higher than with real questions.
//! - Heading questions favour settings that keep or repeat headings, and know only documents that
//!   have some.
//! - Sentence questions need chunks that hold a sentence with its neighbours, so they favour chunks
//!   that keep paragraphs whole, and know only paragraphs of three sentences.
//! - Title questions favour chunks that carry their document's title.
//! - Code and tables are hardly asked for, short and very long sections not at all; nothing needs two
//!   places at once.
//!
//! That is why every question has the tag [`SYNTHETIC`], and why questions
//! that people have asked, even fifty of them, should take their place.

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
use chunkmill::value::unknown;

use crate::import::{self, Documents, Imported};
use crate::labels::{LabelSet, QUERIES, Query, Quote, Reference, SYNTHETIC};
use texts::Texts;
pub(crate) use words::sentences;

/// Characters of the evidence of a question, all of it together.
pub const SIZE: RangeInclusive<usize> = 80..=1500;

/// How a question is made.
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
    /// Every kind, in the order in which they take turns.
    pub const ALL: [Self; 3] = [Self::Heading, Self::Sentence, Self::Title];

    /// The name used in settings, and the tag of its questions.
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

/// What is wanted.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Settings {
    /// Most questions.
    pub queries: usize,
    /// Decides which questions are chosen.
    pub seed: u64,
    /// How they are made; which is first says nothing.
    pub kinds: Vec<Kind>,
}

/// What was made of a corpus.
#[derive(Debug, Default)]
pub struct Synthesis {
    /// The documents, byte for byte, and the questions, in order of their evidence.
    pub set: Imported,
    /// Documents that could not be read, and so are not in the set.
    pub unreadable: Vec<Quarantined>,
    /// How many questions of each kind were chosen, by its name.
    pub kinds: BTreeMap<&'static str, usize>,
    /// How many documents are asked for.
    pub asked: usize,
}

/// A question that could be asked.
#[derive(Debug, Clone, PartialEq, Eq)]
struct Candidate {
    kind: Kind,
    /// Position of its document.
    document: usize,
    text: String,
    /// Bytes of the document, ascending. At least one range.
    evidence: Vec<Range<usize>>,
}

/// Makes questions from the documents below `roots`. A document of a named root `NAME=PATH` stands
/// below `NAME/` in the set. All documents are in memory at once.
///
/// # Errors
/// [`Error::Setting`] if no question can be made, no kind is wanted, or two documents would have one
/// path in the set; [`Error::Corpus`] for a root that cannot be used; [`Error::Io`] if a document
/// vanishes while it is read.
pub fn synth(roots: &[Root], filter: &Filter, settings: &Settings) -> Result<Synthesis> {
    let Documents { bytes, read, unreadable } = import::documents(roots, filter)?;
    let set = Imported { documents: bytes, ..Imported::default() };
    let mut made = Synthesis { set, unreadable, ..Synthesis::default() };
    let documents = read.into_iter().map(|(source, content)| Document::parse(source, content)).collect();
    let texts = Texts::new(documents);
    let chosen = chosen(&texts, candidates(&texts, &settings.kinds), settings);
    if chosen.is_empty() {
        let problem = format!("no question can be made from {} documents", texts.documents.len());
        let help = "it takes headings with some lines of text below them, or paragraphs of three sentences; \
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

/// Refuses to replace questions that people have asked: what lies at `set` must be nothing, or
/// synthetic.
///
/// # Errors
/// [`Error::Setting`] if a question of the set there is not; those of [`LabelSet::read`].
pub fn refuse_real_labels(set: &Path) -> Result<()> {
    if !set.join(QUERIES).is_file() || LabelSet::read(set)?.queries.iter().all(Query::is_synthetic) {
        return Ok(());
    }
    Err(Error::Setting {
        origin: set.display().to_string(),
        problem: "holds questions that were not made by synth, and would be replaced".to_owned(),
        help: "name a new folder with -o".to_owned(),
    })
}

fn wrong(problem: String, help: &str) -> Error {
    Error::Setting { origin: "synth".to_owned(), problem, help: help.to_owned() }
}

/// All questions of these kinds that no other candidate asks as well.
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

/// The candidates that are asked, by document and place.
fn chosen(texts: &Texts, candidates: Vec<Candidate>, settings: &Settings) -> Vec<Candidate> {
    let turn = |document: usize| order(settings.seed, &texts.documents[document].document.source.doc_id, "");
    // By kind and document, the next one last.
    let mut waiting: BTreeMap<Kind, BTreeMap<usize, Vec<Candidate>>> = BTreeMap::new();
    for candidate in candidates {
        waiting.entry(candidate.kind).or_default().entry(candidate.document).or_default().push(candidate);
    }
    for open in waiting.values_mut().flat_map(BTreeMap::values_mut) {
        open.sort_by_cached_key(|candidate| order(settings.seed, &candidate.id(texts), candidate.kind.name()));
    }
    // Documents with the number of their questions, those with fewest first.
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
        |candidate: &Candidate| (texts.documents[candidate.document].document.source.doc_id.clone(), candidate.start());
    chosen.sort_by_cached_key(place);
    chosen
}

/// The next candidate of a document whose evidence no other question has.
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

/// A place in an order that the seed decides, and nothing else about the run.
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

    /// The same for the same place, whatever else is in the corpus or chosen.
    fn id(&self, texts: &Texts) -> String {
        format!("{}@{}", texts.documents[self.document].document.source.doc_id, self.start())
    }

    fn shares_evidence(&self, other: &Self) -> bool {
        let overlap = |a: &Range<usize>| other.evidence.iter().any(|b| a.start < b.end && b.start < a.end);
        self.document == other.document && self.evidence.iter().any(overlap)
    }

    fn query(self, texts: &Texts) -> Query {
        let document = &texts.documents[self.document].document;
        let references = self.evidence.iter().map(|range| {
            let quote = Quote { range: range.clone(), text: document.text[range.clone()].to_owned() };
            Reference::to(document.source.doc_id.to_string(), Some(quote))
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
