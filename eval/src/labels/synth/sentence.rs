//! Questions made from a sentence, for the paragraph around it, where the sentence itself does not count.

use std::ops::{Range, RangeInclusive};

use chunkmill::document::Document;

use super::candidate::{Candidate, Kind, SIZE};
use super::texts::{DocumentUnits, Texts};
use super::words::{folded, has_letter, sentences, trimmed, words};

/// Number of words in a usable sentence. A shorter one is often not a sentence, a longer one a list.
const SENTENCE: RangeInclusive<usize> = 6..=40;

/// Largest number of words in a question.
const WORDS: usize = 10;

/// Factor by which a question must exceed the information that would be enough. Its words come from one sentence,
/// and so are less independent than the measure assumes.
const MARGIN: f64 = 2.0;

/// Returns one question for each paragraph of at least three sentences, made from its most informative sentence
/// except the first, which tends to announce the others. The evidence is the rest of the paragraph, before and
/// after the sentence: a chunk that contains only the sentence itself is not a hit.
pub(super) fn candidates(texts: &Texts) -> Vec<Candidate> {
    let of_document = |(at, DocumentUnits { document, units }): (usize, &DocumentUnits)| {
        let asked = units.iter().filter(|unit| unit.is_prose()).filter_map(|unit| {
            let (text, sentence) = question(texts, document, &unit.range)?;
            let rest = [unit.range.start..sentence.start, sentence.end..unit.range.end];
            let rest = rest.map(|range| trimmed(&document.text, range));
            let evidence: Vec<Range<usize>> =
                rest.into_iter().filter(|range| words(document, range).len() > 1).collect();
            let size = evidence.iter().map(|range| document.text[range.clone()].chars().count()).sum();
            // Neither the paragraph nor the rest of it before or after the sentence may appear elsewhere.
            let repeats = |range: &Range<usize>| words(document, range).len() >= 4 && texts.repeats(document, range);
            let usable = SIZE.contains(&size) && !repeats(&unit.range) && !evidence.iter().any(repeats);
            usable.then_some(Candidate { kind: Kind::Sentence, document: at, text, evidence })
        });
        asked.collect::<Vec<_>>()
    };
    texts.documents.iter().enumerate().flat_map(of_document).collect()
}

/// Returns the question of a paragraph, and the byte range of its sentence.
fn question(texts: &Texts, document: &Document, paragraph: &Range<usize>) -> Option<(String, Range<usize>)> {
    let sentences = sentences(&document.text, paragraph);
    if sentences.len() < 3 {
        return None;
    }
    let mut best: Option<(f64, String, Range<usize>)> = None;
    for sentence in sentences.into_iter().skip(1) {
        let Some((bits, text)) = shortened(texts, document, &sentence) else { continue };
        // A sentence that appears twice cannot be masked.
        if texts.repeats(document, &sentence) {
            continue;
        }
        if best.as_ref().is_none_or(|(most, ..)| bits > *most) {
            best = Some((bits, text, sentence));
        }
    }
    best.map(|(_, text, sentence)| (text, sentence))
}

/// Returns the most informative consecutive words of a sentence, with their information in bits.
fn shortened(texts: &Texts, document: &Document, sentence: &Range<usize>) -> Option<(f64, String)> {
    let written: Vec<&str> = words(document, sentence).into_iter().map(|word| &document.text[word]).collect();
    let ended = document.text[sentence.clone()].trim_end_matches(|c: char| !c.is_alphanumeric() && !is_end(c));
    if !SENTENCE.contains(&written.len()) || !ended.ends_with(is_end) {
        return None;
    }
    let bits = |words: &[&str]| texts.bits_of(words.iter().map(|word| folded(word)).filter(|word| has_letter(word)));
    let (most, row) = written.windows(WORDS.min(written.len())).fold((0.0, &written[..0]), |(most, best), row| {
        let bits = bits(row);
        if bits > most { (bits, row) } else { (most, best) }
    });
    // Words like `and` at the ends of an excerpt do not belong to a question.
    let says = |word: &&str| 4.0 * bits(&[*word]) >= texts.enough();
    let (first, last) = (row.iter().position(says)?, row.iter().rposition(says)?);
    (most >= MARGIN * texts.enough()).then(|| (most, row[first..=last].join(" ")))
}

fn is_end(c: char) -> bool {
    ".?!。？！．".contains(c)
}
