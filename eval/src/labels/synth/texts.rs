//! The documents, prepared for making questions: their units, how rare every word is, and which text appears in
//! more than one place.

use std::collections::{BTreeSet, HashMap};
use std::ops::Range;

use chunkmill::document::{Block, BlockKind, Document};

use super::words::{folded, sentences, words};

/// Largest number of characters in a unit of prose.
const LONGEST: usize = 800;

/// Number of words in the runs by which passages are compared.
const RUN: usize = 4;

/// A run of words, as their numbers; shorter runs end in [`NONE`].
type Words = [u32; RUN];

const NONE: u32 = u32::MAX;

/// A block's own text: all of it, or the part before the first block inside it. Long prose, for example if only
/// line ends separate paragraphs, is split into several units of whole sentences.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Unit {
    pub(super) kind: BlockKind,
    pub(super) range: Range<usize>,
}

impl Unit {
    /// Returns whether it is written in sentences, rather than being code, a table or a heading.
    pub(super) fn is_prose(&self) -> bool {
        matches!(self.kind, BlockKind::Paragraph | BlockKind::ListItem | BlockKind::Comment)
    }
}

/// How often a word appears.
#[derive(Debug, Clone, Copy, Default)]
struct Count {
    /// Number of units that contain it.
    units: usize,
    /// Number of documents that contain it.
    documents: usize,
}

/// A document and its units, in their order.
#[derive(Debug)]
pub(super) struct DocumentUnits {
    pub(super) document: Document,
    pub(super) units: Vec<Unit>,
}

/// A corpus, parsed and counted.
#[derive(Debug, Default)]
pub(super) struct Texts {
    pub(super) documents: Vec<DocumentUnits>,
    numbers: HashMap<String, u32>,
    counts: Vec<Count>,
    units: usize,
    /// Runs of words that appear more than once, sorted.
    repeated: Vec<Words>,
}

impl Texts {
    /// Counts the words of a corpus. The order of its documents does not affect the possible questions.
    pub(super) fn new(documents: Vec<Document>) -> Self {
        let mut texts = Self::default();
        let mut all: Vec<Words> = Vec::new();
        for document in documents {
            let mut in_document = BTreeSet::new();
            let units = units(&document);
            for unit in &units {
                let written = words(&document, &unit.range);
                let numbers: Vec<u32> = written.into_iter().map(|word| texts.enter(&document.text[word])).collect();
                all.extend(runs(&numbers));
                let distinct: BTreeSet<u32> = numbers.into_iter().collect();
                for &word in &distinct {
                    texts.counts[word as usize].units += 1;
                }
                in_document.extend(distinct);
                texts.units += 1;
            }
            for word in in_document {
                texts.counts[word as usize].documents += 1;
            }
            texts.documents.push(DocumentUnits { document, units });
        }
        all.sort_unstable();
        texts.repeated = all.windows(2).filter(|pair| pair[0] == pair[1]).map(|pair| pair[0]).collect();
        texts.repeated.dedup();
        texts
    }

    fn enter(&mut self, word: &str) -> u32 {
        let next = u32::try_from(self.counts.len()).unwrap_or(NONE);
        let number = *self.numbers.entry(folded(word)).or_insert(next);
        if number == next {
            self.counts.push(Count::default());
        }
        number
    }

    fn count(&self, folded: &str) -> Count {
        self.numbers.get(folded).map_or_else(Count::default, |&number| self.counts[number as usize])
    }

    /// Returns the number of units that contain a word.
    pub(super) fn units_with(&self, folded: &str) -> usize {
        self.count(folded).units
    }

    /// Returns the number of documents that contain a word.
    pub(super) fn documents_with(&self, folded: &str) -> usize {
        self.count(folded).documents
    }

    /// Returns how much a word says about its place, in bits: the binary logarithm of the inverse of the share of
    /// units that contain it (inverse document frequency, Spärck Jones 1972). A word that is not in the text says
    /// nothing about a place in it.
    pub(super) fn bits(&self, folded: &str) -> f64 {
        let holding = self.count(folded).units;
        if holding == 0 { 0.0 } else { float(self.units).log2() - float(holding).log2() }
    }

    /// Returns the number of bits that tell one unit from all others. If words were independent, fewer than one
    /// unit would be expected to contain by chance all words of a question with this many bits.
    pub(super) fn enough(&self) -> f64 {
        float(self.units).log2()
    }

    /// Returns the bits of the words of a text, counting each word once.
    pub(super) fn bits_of(&self, folded: impl IntoIterator<Item = String>) -> f64 {
        let distinct: BTreeSet<String> = folded.into_iter().collect();
        distinct.iter().map(|word| self.bits(word)).sum()
    }

    /// Returns whether a passage also appears elsewhere, word for word or nearly: half of its runs of four words
    /// do.
    pub(super) fn repeats(&self, document: &Document, range: &Range<usize>) -> bool {
        let number = |word| self.numbers.get(&folded(&document.text[word])).copied().unwrap_or(NONE);
        let numbers: Vec<u32> = words(document, range).into_iter().map(number).collect();
        let runs = runs(&numbers);
        let elsewhere = runs.iter().filter(|run| self.repeated.binary_search(run).is_ok()).count();
        2 * elsewhere >= runs.len()
    }
}

fn units(document: &Document) -> Vec<Unit> {
    let mut units = Vec::new();
    for (index, Block { kind, range, next }) in document.blocks.iter().enumerate() {
        let inner = document.blocks[index + 1..*next].first();
        let unit = Unit { kind: *kind, range: range.start..inner.map_or(range.end, |inner| inner.range.start) };
        if unit.is_prose() && unit.range.len() > LONGEST {
            let parts = runs_of_sentences(document, &unit.range);
            units.extend(parts.into_iter().map(|range| Unit { kind: *kind, range }));
        } else if !unit.range.is_empty() {
            units.push(unit);
        }
    }
    units
}

/// Groups sentences into runs of at most [`LONGEST`] characters; a longer sentence is a run of its own.
fn runs_of_sentences(document: &Document, range: &Range<usize>) -> Vec<Range<usize>> {
    let mut runs: Vec<(usize, Range<usize>)> = Vec::new();
    for sentence in sentences(&document.text, range) {
        let size = document.text[sentence.clone()].chars().count();
        match runs.last_mut() {
            Some((sum, run)) if *sum + size <= LONGEST => {
                *sum += size;
                run.end = sentence.end;
            }
            _ => runs.push((size, sentence)),
        }
    }
    runs.into_iter().map(|(_, run)| run).collect()
}

/// Returns every run of [`RUN`] words, or one run of all words if there are fewer.
fn runs(numbers: &[u32]) -> Vec<Words> {
    if numbers.is_empty() || numbers.len() >= RUN {
        return numbers.array_windows().copied().collect();
    }
    let mut run = [NONE; RUN];
    run[..numbers.len()].copy_from_slice(numbers);
    vec![run]
}

#[expect(clippy::cast_precision_loss, reason = "numbers of units are far below 2^52")]
fn float(count: usize) -> f64 {
    count as f64
}
