//! The state of the evidence of every question, as later runs need it: they see what was lost.

use chunkmill::document::on_one_line;

use crate::data::report::{Drift, LabelledQuestion, LabelledReference};
use crate::labels::set::{Place, PlaceCheck, PlaceState, Query, Reference, beginning};
use crate::run::sweep::Labelled;

/// Number of characters of a lost text that are shown.
const SHOWN: usize = 120;

/// Number of hexadecimal digits of a key. It tells the references of one question apart.
const KEY: usize = 12;

/// Returns all questions of the labels.
pub(super) fn labelled(labelled: &Labelled) -> Vec<LabelledQuestion> {
    let Labelled { labels, checked, .. } = labelled;
    let mut questions: Vec<LabelledQuestion> = Vec::new();
    for of_query in checked.chunk_by(|a, b| a.query == b.query) {
        let Some(query) = of_query.first().map(|first| &labels.queries[first.query]) else { continue };
        let references = of_query.chunk_by(|a, b| a.reference == b.reference);
        let references = references.filter_map(|places| reference(query, places)).collect();
        questions.push(LabelledQuestion { id: query.id.clone(), text: query.text.clone(), references });
    }
    questions
}

/// Describes a reference by the worst place of its best alternative.
fn reference(query: &Query, places: &[PlaceCheck]) -> Option<LabelledReference> {
    let alternatives = places.chunk_by(|a, b| a.alternative == b.alternative);
    let worst = alternatives.filter_map(|places| places.iter().max_by_key(|place| rank(&place.state)));
    let decides = worst.min_by_key(|place| rank(&place.state))?;
    let reference = &query.references[decides.reference];
    let Place { doc_id, quote } = &reference.any[decides.alternative][decides.place];
    let drift = (decides.state != PlaceState::Valid).then(|| Drift {
        doc_id: doc_id.clone(),
        text: quote.as_ref().map_or_else(String::new, |quote| beginning(&quote.text, SHOWN)),
        finding: decides.state.describe(),
    });
    let state = decides.state.name().to_owned();
    Some(LabelledReference { key: key(reference), state, grade: query.grade_of(reference), drift })
}

/// Orders the states from good to bad.
fn rank(state: &PlaceState) -> usize {
    match state {
        PlaceState::Valid => 0,
        PlaceState::Moved(_) | PlaceState::Elsewhere(..) => 1,
        PlaceState::Split(_) => 2,
        PlaceState::Ambiguous(_) => 3,
        PlaceState::Gone => 4,
        PlaceState::NoDocument => 5,
    }
}

fn key(reference: &Reference) -> String {
    let mut hash = blake3::Hasher::new();
    for Place { doc_id, quote } in reference.places() {
        // A label without a range may be written with other white space than its document.
        let (kind, text) = match quote {
            None => (b"d", doc_id.clone()),
            Some(quote) => (b"t", on_one_line(&quote.text)),
        };
        hash.update(kind).update(&(text.len() as u64).to_le_bytes()).update(text.as_bytes());
    }
    hash.finalize().to_hex()[..KEY].to_owned()
}
