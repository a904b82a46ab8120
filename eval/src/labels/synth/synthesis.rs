//! Chooses questions among all candidates, and makes a set of them.

use std::collections::{BTreeMap, BTreeSet, HashMap, HashSet};
use std::path::Path;

use chunkmill::answer::WrittenText;
use chunkmill::corpus::{Filter, QuarantinedDocument, Root};
use chunkmill::document::Document;
use chunkmill::error::{Error, Result};
use chunkmill::value::count;

use super::candidate::{Candidate, Kind};
use super::texts::Texts;
use super::{heading, sentence, title, words, written};
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
    /// Number of questions that a language model wrote and that are not usable, by reason.
    pub dropped: BTreeMap<&'static str, usize>,
    /// The error after which no further questions were written.
    pub stopped: Option<Error>,
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

/// Has a language model write questions about passages of the documents below `roots`: as many requests as there are
/// questions to make. `write` is given a passage with its headings, and returns the reply of the model.
///
/// # Errors
/// Those of [`synth`], and that of the first request. An error of a later request is in [`Synthesis::stopped`], and what was
/// written before is kept.
pub fn synth_by_model(
    roots: &[Root],
    filter: &Filter,
    settings: &SynthSettings,
    write: &mut dyn FnMut(&str) -> Result<WrittenText>,
) -> Result<Synthesis> {
    let Documents { bytes, read, unreadable } = import::documents(roots, filter)?;
    let mut made = Synthesis { set: ImportedSet::of(bytes), unreadable, ..Synthesis::default() };
    let documents = read.into_iter().map(|(source, content)| Document::parse(source, content)).collect();
    let texts = Texts::new(documents);
    let mut asked = BTreeSet::new();
    let mut known: HashSet<String> = HashSet::new();
    for candidate in chosen(&texts, written::passages(&texts), settings) {
        let document = &texts.documents[candidate.document].document;
        let passage = &document.text[candidate.evidence[0].clone()];
        let WrittenText { text: reply, model, .. } = match write(&written::shown(document, &candidate.evidence[0])) {
            Ok(written) => written,
            Err(error) if asked.is_empty() && made.dropped.is_empty() => return Err(error),
            Err(error) => {
                made.stopped = Some(error);
                break;
            }
        };
        let question = written::question(&reply, passage);
        match question.and_then(|text| if known.insert(normal(&text)) { Ok(text) } else { Err(written::REPEATS) }) {
            Ok(text) => {
                asked.insert(candidate.document);
                let mut query = Candidate { text, ..candidate }.query(&texts);
                query.tags.extend(model);
                made.set.queries.push(query);
            }
            Err(reason) => *made.dropped.entry(reason).or_default() += 1,
        }
    }
    if made.set.queries.is_empty() {
        let problem = format!("no question could be written about {}", count(texts.documents.len(), "document"));
        let reasons: Vec<String> = made.dropped.iter().map(|(reason, count)| format!("{count} {reason}")).collect();
        let help = if reasons.is_empty() {
            "questions need paragraphs of 80 to 1,500 characters".to_owned()
        } else {
            format!("the model's questions were dropped: {}; try another model", reasons.join(", "))
        };
        return Err(Error::setting("synth", problem, help));
    }
    made.asked = asked.len();
    made.kinds.insert(Kind::Model.name(), made.set.queries.len());
    Ok(made)
}

/// Returns the words of a question, by which repeats are seen.
fn normal(text: &str) -> String {
    words::words_of(text).join(" ")
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
            Kind::Model => Vec::new(),
        });
    }
    let normal = |candidate: &Candidate| normal(&candidate.text);
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
