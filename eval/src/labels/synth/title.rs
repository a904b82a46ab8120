//! Questions made from a document's title and a term that only it contains, for the paragraph that introduces the
//! term.

use std::collections::BTreeSet;
use std::ops::Range;

use chunkmill::document::Document;

use super::candidate::{Candidate, Kind, SIZE};
use super::texts::{DocumentUnits, Texts};
use super::words::{folded, has_letter, trimmed, words, words_of};

/// Smallest number of characters in a term.
const SHORTEST: usize = 4;

/// Largest number of units that contain a term. A word used throughout a document does not point to one place.
const MOST: usize = 5;

/// Number of units that must contain an ordinary-looking word for it to be a term.
const COMMON: usize = 3;

/// Returns one question for each paragraph that introduces a term. A term is a word that no other document
/// contains and that its author set apart as code or emphasis, wrote as a name (`latest.json`, `MyISAM`), or used
/// in several places.
pub(super) fn candidates(texts: &Texts) -> Vec<Candidate> {
    let of_document = |(at, text): (usize, &DocumentUnits)| {
        let title = text.document.title.as_ref().filter(|title| has_letter(title));
        title.map(|title| in_document(texts, at, text, title)).unwrap_or_default()
    };
    texts.documents.iter().enumerate().flat_map(of_document).collect()
}

fn in_document(texts: &Texts, at: usize, text: &DocumentUnits, title: &str) -> Vec<Candidate> {
    let DocumentUnits { document, units } = text;
    let mut known: BTreeSet<String> = words_of(title).into_iter().collect();
    let mut found = Vec::new();
    for unit in units {
        let mut terms = Vec::new();
        for word in words(document, &unit.range) {
            let folded = folded(&document.text[word.clone()]);
            // A word is introduced where it first appears, even in a heading or a table.
            if known.insert(folded.clone()) && is_term(texts, document, &word, &folded) {
                terms.push((texts.units_with(&folded), word));
            }
        }
        let passage = trimmed(&document.text, unit.range.clone());
        let size = document.text[passage.clone()].chars().count();
        if !unit.is_prose() || !SIZE.contains(&size) || texts.repeats(document, &passage) {
            continue;
        }
        let rarest = terms.into_iter().min_by_key(|(units, word)| (*units, word.start));
        let question = rarest.map(|(_, word)| format!("{title}: {}", &document.text[word]));
        if let Some(text) = question.filter(|text| texts.bits_of(words_of(text)) >= texts.enough()) {
            found.push(Candidate { kind: Kind::Title, document: at, text, evidence: vec![passage] });
        }
    }
    found
}

fn is_term(texts: &Texts, document: &Document, word: &Range<usize>, folded: &str) -> bool {
    let written = &document.text[word.clone()];
    let units = texts.units_with(folded);
    let rare = texts.documents_with(folded) == 1 && units <= MOST;
    rare && has_letter(folded)
        && !folded.starts_with(|c: char| c.is_numeric())
        && folded.chars().count() >= SHORTEST
        && !written.contains(['\'', '’'])
        && (units >= COMMON || is_name(written) || is_set_apart(&document.text, word))
}

/// Returns whether a word has signs inside it, or mixes capitals with other letters.
fn is_name(word: &str) -> bool {
    let inner = word.chars().skip(1).any(char::is_uppercase) && word.contains(char::is_lowercase);
    inner || word.contains(['_', '.'])
}

/// Returns whether a word begins or ends a passage written as code or emphasised.
fn is_set_apart(text: &str, word: &Range<usize>) -> bool {
    let mark = |c: char| "`*_".contains(c);
    text[..word.start].ends_with(mark) || text[word.end..].starts_with(mark)
}
