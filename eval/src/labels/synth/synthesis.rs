//! Chooses questions among all candidates, and makes a set of them.

use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::path::Path;

use chunkmill::corpus::{Filter, QuarantinedDocument, Root};
use chunkmill::document::Document;
use chunkmill::error::{Error, Result};
use chunkmill::value::count;

use super::candidate::{Candidate, Kind};
use super::texts::Texts;
use super::{heading, sentence, title, words};
use crate::labels::import::{self, Documents, ImportedSet};
use crate::labels::set::{LabelSet, Query, queries_of};

/// The settings of a synthesis.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SynthSettings {
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
    pub set: ImportedSet,
    /// Documents that could not be read and are therefore not in the set.
    pub unreadable: Vec<QuarantinedDocument>,
    /// Number of chosen questions of each kind, by its name.
    pub kinds: BTreeMap<&'static str, usize>,
    /// Number of documents with questions.
    pub asked: usize,
}

/// Makes questions from the documents below `roots`. Documents of a named root `NAME=PATH` are below `NAME/` in
/// the set. All documents are in memory at once.
///
/// # Errors
/// [`Error::Setting`] if no question can be made, no kind is wanted, or two documents would have the same path in
/// the set; [`Error::Corpus`] for a root that cannot be used; [`Error::Io`] if a document vanishes while it is
/// read.
pub fn synth(roots: &[Root], filter: &Filter, settings: &SynthSettings) -> Result<Synthesis> {
    let Documents { bytes, read, unreadable } = import::documents(roots, filter)?;
    let set = ImportedSet::of(bytes);
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
    Err(Error::setting(
        set.display().to_string(),
        "contains questions that were not made by synth and would be replaced",
        "name a new folder with -o",
    ))
}

fn wrong(problem: String, help: &str) -> Error {
    Error::setting("synth", problem, help)
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
fn chosen(texts: &Texts, candidates: Vec<Candidate>, settings: &SynthSettings) -> Vec<Candidate> {
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
