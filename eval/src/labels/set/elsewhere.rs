//! Finds labelled texts that have left their document: its file was renamed, or they are on another page now.
//!
//! A text is followed only where its place cannot be chance. Otherwise a deleted answer such as `8080` would be found
//! in the next document that has this number, and its loss would go unnoticed.

use std::collections::{BTreeMap, BTreeSet};
use std::ops::Range;

use aho_corasick::AhoCorasick;

use super::corpus::Corpus;
use super::drift::{self, PlaceCheck, PlaceState};
use super::label_set::LabelSet;
use super::question::Quote;

/// A text of at least this many characters, not counting white space, does not repeat in a corpus by chance.
pub(crate) const DUPLICATE: usize = 40;

/// The texts of a missing document that are at the very same bytes of another one show that it was renamed, if they have
/// at least this many characters together.
const SAME_BYTES: usize = 16;

/// Number of bytes of a text's beginning that are looked for in all documents at once: the tables for long texts take
/// long to build.
const SEED: usize = 64;

/// A text that is not in its document any more.
struct LostText<'a> {
    /// Position among the checked places.
    at: usize,
    quote: &'a Quote,
    /// Where it is now.
    found: Option<(&'a str, Range<usize>)>,
}

impl LostText<'_> {
    /// Number of its characters, not counting white space.
    fn size(&self) -> usize {
        solid(&self.quote.text)
    }
}

fn solid(text: &str) -> usize {
    text.chars().filter(|c| !c.is_whitespace()).count()
}

/// Changes the state of each place whose text is now in another document to [`PlaceState::Elsewhere`]. For the texts of
/// one document, the first rule that applies decides:
///
/// 1. The document is missing, and another one has all of them at the same bytes: it was renamed.
/// 2. A text of at least [`DUPLICATE`] characters is in other documents: it is in the one that has most of these texts.
/// 3. That document has at least half of all these texts: the shorter ones are there too, if they are in it once.
pub(super) fn follow(labels: &LabelSet, corpus: &Corpus, checked: &mut [PlaceCheck]) {
    let mut by_document: BTreeMap<&str, Vec<LostText<'_>>> = BTreeMap::new();
    for (at, place) in checked.iter().enumerate() {
        let (_, of) = place.of(labels);
        let has_left = matches!(place.state, PlaceState::NoDocument | PlaceState::Gone | PlaceState::Split(_));
        if let Some(quote) = of.quote.as_ref().filter(|_| has_left) {
            by_document.entry(&of.doc_id).or_default().push(LostText { at, quote, found: None });
        }
    }
    if by_document.is_empty() {
        return;
    }
    for (doc_id, texts) in &mut by_document {
        if !corpus.texts.contains_key(*doc_id) {
            renamed(texts, corpus);
        }
    }
    moved(&mut by_document, corpus);
    for LostText { at, found, .. } in by_document.into_values().flatten() {
        if let Some((doc_id, range)) = found {
            checked[at].state = PlaceState::Elsewhere(doc_id.to_owned(), range);
        }
    }
}

fn renamed<'a>(texts: &mut [LostText<'a>], corpus: &'a Corpus) {
    let distinct: BTreeSet<&str> = texts.iter().map(|lost| lost.quote.text.as_str()).collect();
    if distinct.into_iter().map(solid).sum::<usize>() < SAME_BYTES {
        return;
    }
    let has_all = |document: &str| {
        texts.iter().all(|lost| document.get(lost.quote.range.clone()) == Some(lost.quote.text.as_str()))
    };
    if let Some((heir, _)) = corpus.texts.iter().find(|(_, document)| has_all(document)) {
        for lost in texts {
            lost.found = Some((heir, lost.quote.range.clone()));
        }
    }
}

fn moved<'a>(by_document: &mut BTreeMap<&str, Vec<LostText<'a>>>, corpus: &'a Corpus) {
    let mut open: Vec<&mut Vec<LostText<'a>>> =
        by_document.values_mut().filter(|texts| texts.iter().any(|lost| lost.found.is_none())).collect();
    let mut patterns: Vec<&[u8]> = Vec::new();
    let mut owners: Vec<(usize, usize)> = Vec::new();
    for (group, texts) in open.iter().enumerate() {
        for (at, lost) in texts.iter().enumerate().filter(|(_, lost)| lost.size() >= DUPLICATE) {
            patterns.push(&lost.quote.text.as_bytes()[..lost.quote.text.len().min(SEED)]);
            owners.push((group, at));
        }
    }
    // This fails only if there are too many texts for the tables; then none is followed.
    let Ok(searcher) = AhoCorasick::new(&patterns) else { return };
    // The first place of each text in each document.
    let mut places: BTreeMap<(usize, usize), BTreeMap<&'a str, Range<usize>>> = BTreeMap::new();
    for (id, document) in &corpus.texts {
        // A beginning may be in the document many times. One search says whether, and where, all of the text is.
        let begun: BTreeSet<usize> =
            searcher.find_overlapping_iter(document).map(|found| found.pattern().as_usize()).collect();
        for owner in begun.into_iter().map(|pattern| owners[pattern]) {
            let text = &open[owner.0][owner.1].quote.text;
            if let Some(start) = document.find(text) {
                places.entry(owner).or_default().insert(id, start..start + text.len());
            }
        }
    }
    for (group, texts) in open.iter_mut().enumerate() {
        let mut sizes: BTreeMap<&str, usize> = BTreeMap::new();
        for (&(_, at), found) in places.range((group, 0)..(group + 1, 0)) {
            for id in found.keys() {
                *sizes.entry(id).or_default() += texts[at].size();
            }
        }
        // The first of several that have equally much.
        let Some((&heir, &size)) = sizes.iter().rev().max_by_key(|(_, size)| **size) else { continue };
        let all: usize = texts.iter().map(LostText::size).sum();
        for (at, lost) in texts.iter_mut().enumerate() {
            let place =
                places.get(&(group, at)).and_then(|found| found.get_key_value(heir).or(found.first_key_value()));
            let in_heir = || match drift::state(lost.quote, corpus.texts.get(heir)?) {
                PlaceState::Valid => Some((heir, lost.quote.range.clone())),
                PlaceState::Moved(range) => Some((heir, range)),
                _ => None,
            };
            lost.found = match place {
                Some((&id, range)) => Some((id, range.clone())),
                None if 2 * size >= all => in_heir(),
                None => None,
            };
        }
    }
}
