//! Proposes passages that may answer a question: those that several ways to search find, and some at random.
//!
//! Each way to search ranks chunks, and in each chunk it ranks whole passages. The lists are merged in turn, and every
//! sixth proposal is random: the passages in the order of a hash of the question and their place. The same question and
//! documents always give the same list, so a session that goes on shows what it showed before.

use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::ops::Range;
use std::path::Path;
use std::sync::atomic::AtomicBool;

use chunkmill::config::Config;
use chunkmill::corpus::Root;
use chunkmill::dataset::Dataset;
use chunkmill::embed::{self, Embedder, ModelInput, Parallel, Role};
use chunkmill::error::Result;
use chunkmill::job::{self, Watcher};
use chunkmill::search::{Marker, Mode, Query as Search, Searcher};
use rayon::prelude::*;

use super::passages::{Outline, WholePassage};
use crate::data::files::replace;
use crate::labels::set::{Corpus, Finder, FoundBy, LabelSet, Place, Query, Quote, Reference, corpus_of};

/// The dataset that search proposes from, in a set's folder.
const WORK: &str = ".chunkmill-label";

/// The ways to search, in the order in which their proposals alternate.
const WAYS: [(Mode, FoundBy); 3] =
    [(Mode::Hybrid, FoundBy::Hybrid), (Mode::Keyword, FoundBy::Keyword), (Mode::Vector, FoundBy::Vector)];

/// Number of chunks that each way to search finds.
const CHUNKS: usize = 10;

/// Number of passages that each way to search proposes.
const LISTED: usize = 20;

/// A random passage follows after this many that search found.
const BETWEEN: usize = 5;

/// Number of random passages.
const RANDOM: usize = 4;

/// A passage that may answer a question.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Proposal {
    /// Id of the document.
    pub doc_id: String,
    /// Its byte range there.
    pub range: Range<usize>,
    /// How it was found.
    pub found_by: BTreeSet<FoundBy>,
    /// The first row of its table, if it is another row.
    pub head: Option<Range<usize>>,
    /// Whether its lines mean something, as in code.
    pub keeps_lines: bool,
}

impl Proposal {
    fn new(doc_id: &str, passage: &WholePassage, found_by: BTreeSet<FoundBy>) -> Self {
        let WholePassage { range, head, keeps_lines } = passage.clone();
        Self { doc_id: doc_id.to_owned(), range, found_by, head, keeps_lines }
    }

    /// A passage of a document, of which nothing else is known.
    pub(super) fn plain(doc_id: &str, range: Range<usize>, found_by: BTreeSet<FoundBy>) -> Self {
        Self { doc_id: doc_id.to_owned(), range, found_by, head: None, keeps_lines: false }
    }

    fn overlaps(&self, other: &Self) -> bool {
        self.doc_id == other.doc_id && self.range.start < other.range.end && other.range.start < self.range.end
    }
}

/// Proposes evidence from a set's documents.
pub struct Proposer {
    searcher: Searcher,
    embedder: Box<dyn Embedder>,
    corpus: Corpus,
    outlines: BTreeMap<String, Outline>,
}

impl Proposer {
    /// Indexes the documents of a set. A second call indexes only changes. `watch` gets the events of the job.
    ///
    /// # Errors
    /// Those of the job and of the model.
    pub fn new(set: &Path, config: Config, watch: Watcher<'_>) -> anyhow::Result<Self> {
        let corpus = LabelSet { path: set.to_owned(), queries: Vec::new() }.corpus()?;
        let embedder = config.embedder()?;
        let out = set.join(WORK);
        let job = config.job(vec![Root::new(corpus_of(set))], false)?;
        job::run(&job, &out.as_path().into(), embedder.as_ref(), &AtomicBool::new(false), watch)?;
        // Sets are kept in repositories; this dataset can be rebuilt.
        replace(&out.join(".gitignore"), b"*\n")?;
        let searcher = Searcher::open(Dataset::open(&out)?, None)?;
        let outlines = corpus.texts.par_iter().map(|(id, text)| (id.clone(), Outline::new(id, text))).collect();
        Ok(Self { searcher, embedder, corpus, outlines })
    }

    /// Returns the documents.
    pub fn corpus(&self) -> &Corpus {
        &self.corpus
    }

    /// Returns the passages that may answer a question, the most promising ones first, without overlaps. `words` are
    /// searched for: the question itself, or other words.
    ///
    /// # Errors
    /// Those of the search and of the model.
    pub fn propose(&self, words: &str) -> Result<Vec<Proposal>> {
        let question = embed::query(self.embedder.as_ref(), words)?;
        let sparse = embed::sparse_query(self.embedder.as_ref(), words)?;
        let sparse = sparse.as_ref();
        let mut similar = Similarities { embedder: self.embedder.as_ref(), question: &question, known: HashMap::new() };
        let marker = Marker::new(words);
        let mut lists = Vec::new();
        for (mode, way) in WAYS {
            let query = Search { mode, text: words, vector: Some(&question), sparse, k: CHUNKS, ..Search::default() };
            let mut found = Vec::new();
            for chunk in self.searcher.search(&query)? {
                let place = self.searcher.place(chunk.row);
                let (Ok(start), Ok(end)) = (usize::try_from(place.start_byte), usize::try_from(place.end_byte)) else {
                    continue;
                };
                let Some((id, outline)) = self.outlines.get_key_value(&place.document.doc_id) else { continue };
                let text = &self.corpus.texts[id];
                found.push((
                    id.as_str(),
                    Self::ranked(&marker, text, outline.within(&(start..end)), way, &mut similar)?,
                ));
            }
            lists.push((way, by_turns(&found)));
        }
        Ok(self.merged(words, &lists))
    }

    /// Returns the passages of a chunk, the most promising ones for a way to search first.
    fn ranked<'o>(
        marker: &Marker,
        text: &str,
        passages: &'o [WholePassage],
        way: FoundBy,
        similar: &mut Similarities<'_>,
    ) -> Result<Vec<&'o WholePassage>> {
        let texts: Vec<&str> = passages.iter().filter_map(|passage| text.get(passage.range.clone())).collect();
        let by_vector = if way == FoundBy::Keyword { vec![0.0; texts.len()] } else { similar.of(&texts)? };
        let found = |text: &&str| {
            #[expect(clippy::cast_precision_loss, reason = "words of a question")]
            let number = marker.words(text).len() as f32;
            number
        };
        let by_words: Vec<f32> =
            if way == FoundBy::Vector { vec![0.0; texts.len()] } else { texts.iter().map(found).collect() };
        let most = by_words.iter().copied().fold(1.0, f32::max);
        let mut ranked: Vec<(f32, &WholePassage)> =
            by_vector.iter().zip(by_words).map(|(vector, words)| vector + words / most).zip(passages).collect();
        ranked.sort_by(|(a, _), (b, _)| b.total_cmp(a));
        Ok(ranked.into_iter().map(|(_, passage)| passage).collect())
    }

    /// Merges the lists of the ways to search in turn, with random passages between them.
    fn merged(&self, words: &str, lists: &[(FoundBy, Vec<(&str, &WholePassage)>)]) -> Vec<Proposal> {
        let mut random = self.random(words).into_iter();
        let mut merged: Vec<Proposal> = Vec::new();
        let put = |merged: &mut Vec<Proposal>, next: Proposal| match merged.iter_mut().find(|p| p.overlaps(&next)) {
            Some(known) => known.found_by.extend(next.found_by),
            None => merged.push(next),
        };
        let longest = lists.iter().map(|(_, list)| list.len()).max().unwrap_or_default();
        for at in 0..longest {
            for (way, list) in lists {
                let Some((id, passage)) = list.get(at) else { continue };
                let before = merged.len();
                put(&mut merged, Proposal::new(id, passage, BTreeSet::from([*way])));
                if merged.len() > before && merged.len() % (BETWEEN + 1) == BETWEEN {
                    random.next().into_iter().for_each(|passage| put(&mut merged, passage));
                }
            }
        }
        random.for_each(|passage| put(&mut merged, passage));
        // A passage that search found as well was not found by chance alone.
        for proposal in merged.iter_mut().filter(|proposal| proposal.found_by.len() > 1) {
            proposal.found_by.remove(&FoundBy::Random);
        }
        merged
    }

    /// Returns passages that depend on the words by a hash alone.
    fn random(&self, words: &str) -> Vec<Proposal> {
        let key = |id: &str, passage: &WholePassage| {
            let mut hasher = blake3::Hasher::new();
            hasher.update(words.as_bytes()).update(&[0]).update(id.as_bytes());
            *hasher.update(&passage.range.start.to_le_bytes()).finalize().as_bytes()
        };
        let of = |(id, outline): (&'_ String, &'_ Outline)| {
            let keyed = outline.passages.iter().map(|passage| (key(id, passage), id.clone(), passage.clone()));
            let mut keyed: Vec<_> = keyed.collect();
            keyed.sort_by_key(|(key, ..)| *key);
            keyed.truncate(RANDOM);
            keyed
        };
        let mut all: Vec<_> = self.outlines.par_iter().flat_map_iter(of).collect();
        all.sort_by_key(|(key, ..)| *key);
        let random = |(_, id, passage): ([u8; 32], String, WholePassage)| {
            Proposal::new(&id, &passage, BTreeSet::from([FoundBy::Random]))
        };
        all.into_iter().take(RANDOM).map(random).collect()
    }

    /// Returns whether hybrid search finds some of a question's evidence among the best chunks.
    ///
    /// # Errors
    /// Those of the search and of the model.
    pub fn finds(&self, query: &Query) -> Result<bool> {
        let question = embed::query(self.embedder.as_ref(), &query.text)?;
        let sparse = embed::sparse_query(self.embedder.as_ref(), &query.text)?;
        let (vector, sparse) = (Some(question.as_slice()), sparse.as_ref());
        let search = Search { text: &query.text, vector, sparse, k: CHUNKS, ..Search::default() };
        let found = self.searcher.search(&search)?;
        let meets = |place: &Place| {
            found.iter().map(|chunk| self.searcher.place(chunk.row)).any(|chunk| {
                let Some(quote) = &place.quote else { return chunk.document.doc_id == place.doc_id };
                let (start, end) = (quote.range.start as u64, quote.range.end as u64);
                chunk.document.doc_id == place.doc_id && chunk.start_byte < end && start < chunk.end_byte
            })
        };
        Ok(query.references.iter().flat_map(Reference::places).any(meets))
    }

    /// Returns a proposal with the passage before it, or after it. Returns `None` if its document has no other there.
    pub fn extended(&self, proposal: &Proposal, before: bool) -> Option<Proposal> {
        let neighbour = self.outlines.get(&proposal.doc_id)?.beside(&proposal.range, before)?;
        let (start, end) = (proposal.range.start, proposal.range.end);
        let range = start.min(neighbour.range.start)..end.max(neighbour.range.end);
        let keeps_lines = proposal.keeps_lines || neighbour.keeps_lines;
        // A head above another row would be shown twice.
        let head = proposal.head.clone().filter(|head| head.end <= range.start);
        Some(Proposal { range, head, keeps_lines, ..proposal.clone() })
    }

    /// Returns every place with this text, ignoring differences in white space.
    pub fn places(&self, text: &str) -> Vec<Place> {
        let of = |(doc_id, document): (&String, &String)| {
            let places = Finder::new(document).all(text).into_iter();
            places.filter_map(|range| place_of(doc_id, document, range)).collect::<Vec<_>>()
        };
        self.corpus.texts.iter().flat_map(of).collect()
    }

    /// Returns a range of a document's lines as a place.
    pub fn lines(&self, doc_id: &str, from: usize, to: usize) -> Option<Place> {
        let document = self.corpus.texts.get(doc_id)?;
        let lines = &self.outlines.get(doc_id)?.lines;
        let start = lines.line(from)?.start;
        let end = lines.line(to).map_or(document.len(), |last| last.end);
        let text = document.get(start..end)?;
        place_of(doc_id, document, start..start + text.trim_end().len())
    }

    /// Returns a range of a document's bytes as a place, if it begins and ends between characters.
    pub fn place(&self, doc_id: &str, range: Range<usize>) -> Option<Place> {
        place_of(doc_id, self.corpus.texts.get(doc_id)?, range)
    }

    /// Returns the first and last line of a range, from 1.
    pub fn lines_of(&self, doc_id: &str, range: &Range<usize>) -> (usize, usize) {
        self.outlines.get(doc_id).map_or((1, 1), |outline| outline.lines.lines_of(range))
    }

    /// Returns the lines of a document around a range, each with its number and its text without its end.
    pub fn around(&self, doc_id: &str, range: &Range<usize>, more: usize) -> Vec<(usize, &str)> {
        let (Some(text), Some(outline)) = (self.corpus.texts.get(doc_id), self.outlines.get(doc_id)) else {
            return Vec::new();
        };
        let (first, last) = outline.lines.lines_of(range);
        let numbers = first.saturating_sub(more).max(1)..=last.saturating_add(more);
        let line = |number| Some((number, text.get(outline.lines.line(number)?)?.trim_end_matches(['\n', '\r'])));
        numbers.map_while(line).collect()
    }

    /// Returns the heading path of a proposal, outermost heading first.
    pub fn headings(&self, proposal: &Proposal) -> &[String] {
        self.outlines.get(&proposal.doc_id).map_or(&[], |outline| outline.headings(proposal.range.start))
    }

    /// Returns a text of a proposal's document.
    pub fn text(&self, doc_id: &str, range: &Range<usize>) -> &str {
        self.corpus.texts.get(doc_id).and_then(|text| text.get(range.clone())).unwrap_or_default()
    }

    /// Returns a reference to any one of these proposals.
    pub fn any_of(&self, proposals: &[&Proposal]) -> Option<Reference> {
        let place = |proposal: &&Proposal| Some(vec![self.place(&proposal.doc_id, proposal.range.clone())?]);
        let any = proposals.iter().map(place).collect::<Option<Vec<_>>>()?;
        let found_by = proposals.iter().flat_map(|proposal| proposal.found_by.iter().copied()).collect();
        (!any.is_empty()).then(|| Reference { found_by, ..Reference::any(any) })
    }
}

fn place_of(doc_id: &str, document: &str, range: Range<usize>) -> Option<Place> {
    let text = document.get(range.clone()).filter(|text| !text.trim().is_empty())?.to_owned();
    Some(Place { doc_id: doc_id.to_owned(), quote: Some(Quote { range, text, page: None }) })
}

/// Returns the best passage of each chunk, then the second best of each, and so on, without repeats.
fn by_turns<'o>(chunks: &[(&'o str, Vec<&'o WholePassage>)]) -> Vec<(&'o str, &'o WholePassage)> {
    let longest = chunks.iter().map(|(_, passages)| passages.len()).max().unwrap_or_default();
    let turns = (0..longest).flat_map(|at| chunks.iter().filter_map(move |(id, found)| Some((*id, *found.get(at)?))));
    let mut listed: Vec<(&str, &WholePassage)> = Vec::new();
    for (id, passage) in turns {
        let is_known = listed.iter().any(|(other, known)| *other == id && known.range == passage.range);
        if !is_known && listed.len() < LISTED {
            listed.push((id, passage));
        }
    }
    listed
}

/// How similar texts are to a question. Chunks that several ways to search find are embedded once.
struct Similarities<'e> {
    embedder: &'e dyn Embedder,
    question: &'e [f32],
    known: HashMap<String, f32>,
}

impl Similarities<'_> {
    fn of(&mut self, texts: &[&str]) -> Result<Vec<f32>> {
        let new: Vec<&str> = texts.iter().copied().filter(|text| !self.known.contains_key(*text)).collect();
        let similarity = |text: &&str| {
            let encoded = self.embedder.encode(text, Role::Document)?;
            let input = ModelInput { text: encoded.part(text), role: Role::Document, ids: &encoded.ids };
            let vector = self.embedder.embed(&[input])?;
            let product = vector.iter().zip(self.question).map(|(a, b)| a * b).sum::<f32>();
            Ok(((*text).to_owned(), product))
        };
        let found: Vec<(String, f32)> = if self.embedder.batching().parallel == Parallel::Cores {
            new.par_iter().map(similarity).collect::<Result<_>>()?
        } else {
            new.iter().map(similarity).collect::<Result<_>>()?
        };
        self.known.extend(found);
        Ok(texts.iter().map(|text| self.known.get(*text).copied().unwrap_or_default()).collect())
    }
}
