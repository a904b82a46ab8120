//! A sentence asks for the paragraph around it, in which it then does not count.

use std::ops::{Range, RangeInclusive};

use chunkmill::document::Document;

use super::texts::{Text, Texts};
use super::words::{folded, has_letter, sentences, trimmed, words};
use super::{Candidate, Kind, SIZE};

/// Words of a sentence that is asked with. A shorter one is often none at all, a longer one a list.
const SENTENCE: RangeInclusive<usize> = 6..=40;

/// Most words of a question.
const WORDS: usize = 10;

/// How many times as much as would do a question must say: its words come from one sentence and so
/// are less independent than the measure takes them for.
const MARGIN: f64 = 2.0;

/// One question for each paragraph of at least three sentences, made from the sentence that says most,
/// but never the first, which tends to announce the others. The evidence is all else of the paragraph,
/// before and after the sentence: a chunk that only has the sentence itself is no hit.
pub(super) fn candidates(texts: &Texts) -> Vec<Candidate> {
    let of_document = |(at, Text { document, units }): (usize, &Text)| {
        let asked = units.iter().filter(|unit| unit.is_prose()).filter_map(|unit| {
            let (text, sentence) = question(texts, document, &unit.range)?;
            let rest = [unit.range.start..sentence.start, sentence.end..unit.range.end];
            let rest = rest.map(|range| trimmed(&document.text, range));
            let evidence: Vec<Range<usize>> =
                rest.into_iter().filter(|range| words(document, range).len() > 1).collect();
            let size = evidence.iter().map(|range| document.text[range.clone()].chars().count()).sum();
            // Neither the paragraph nor what is left of it before or after the sentence may stand elsewhere.
            let repeats = |range: &Range<usize>| words(document, range).len() >= 4 && texts.repeats(document, range);
            let usable = SIZE.contains(&size) && !repeats(&unit.range) && !evidence.iter().any(repeats);
            usable.then_some(Candidate { kind: Kind::Sentence, document: at, text, evidence })
        });
        asked.collect::<Vec<_>>()
    };
    texts.documents.iter().enumerate().flat_map(of_document).collect()
}

/// The question of a paragraph, and the bytes of its sentence.
fn question(texts: &Texts, document: &Document, paragraph: &Range<usize>) -> Option<(String, Range<usize>)> {
    let sentences = sentences(&document.text, paragraph);
    if sentences.len() < 3 {
        return None;
    }
    let mut best: Option<(f64, String, Range<usize>)> = None;
    for sentence in sentences.into_iter().skip(1) {
        let Some((bits, text)) = shortened(texts, document, &sentence) else { continue };
        // What the paragraph says twice cannot be masked.
        if texts.repeats(document, &sentence) {
            continue;
        }
        if best.as_ref().is_none_or(|(most, ..)| bits > *most) {
            best = Some((bits, text, sentence));
        }
    }
    best.map(|(_, text, sentence)| (text, sentence))
}

/// The words in a row of a sentence that say most, and the bits that they say.
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
    // Words like `and` at the ends of a row cut from a sentence are no part of a question.
    let says = |word: &&str| 4.0 * bits(&[*word]) >= texts.enough();
    let (first, last) = (row.iter().position(says)?, row.iter().rposition(says)?);
    (most >= MARGIN * texts.enough()).then(|| (most, row[first..=last].join(" ")))
}

fn is_end(c: char) -> bool {
    ".?!。？！．".contains(c)
}
