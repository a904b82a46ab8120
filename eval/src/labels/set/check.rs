//! Does every reference still fit the corpus, and where is it now?

use std::ops::Range;

use super::corpus::Corpus;
use super::drift::{self, PlaceCheck, PlaceState};
use super::elsewhere;
use super::label_set::LabelSet;
use super::question::{Place, Query, Reference};

/// A reference that can be scored.
#[derive(Debug, Clone, PartialEq)]
pub struct ScorableReference<'a> {
    /// The alternatives that still fit the corpus, at least one.
    pub any: Vec<Vec<ScorablePlace<'a>>>,
    /// Its grade, above 0.
    pub grade: f64,
}

/// The current place of a reference.
#[derive(Debug, Clone, PartialEq)]
pub struct ScorablePlace<'a> {
    /// Id of the document.
    pub doc_id: &'a str,
    /// Its byte range; `None` if the document was judged as a whole.
    pub range: Option<Range<usize>>,
}

impl LabelSet {
    /// Compares every place of every reference with the corpus, in the order of the set. A text that is not in its
    /// document any more is followed into the others.
    pub fn check(&self, corpus: &Corpus) -> Vec<PlaceCheck> {
        let mut checked = Vec::new();
        for (query, Query { references, .. }) in self.queries.iter().enumerate() {
            for (reference, Reference { any, .. }) in references.iter().enumerate() {
                for (alternative, places) in any.iter().enumerate() {
                    checked.extend(places.iter().enumerate().map(|(place, Place { doc_id, quote })| {
                        let state = match (corpus.texts.get(doc_id), quote) {
                            (None, _) => PlaceState::NoDocument,
                            (Some(_), None) => PlaceState::Valid,
                            (Some(document), Some(quote)) => drift::state(quote, document),
                        };
                        PlaceCheck { query, reference, alternative, place, state }
                    }));
                }
            }
        }
        elsewhere::follow(self, corpus, &mut checked);
        checked
    }

    /// Returns the scorable references of each question, with their scorable alternatives. A question whose
    /// evidence has all drifted has none, and must be left out of means.
    pub fn scored<'a>(&'a self, checked: &'a [PlaceCheck]) -> Vec<Vec<ScorableReference<'a>>> {
        let mut scored: Vec<Vec<ScorableReference<'a>>> = vec![Vec::new(); self.queries.len()];
        for same in checked.chunk_by(|a, b| (a.query, a.reference) == (b.query, b.reference)) {
            let alternatives = same.chunk_by(|a, b| a.alternative == b.alternative);
            let fit = alternatives.filter(|places| !places.iter().any(|place| place.state.has_drifted()));
            let any: Vec<Vec<ScorablePlace<'a>>> =
                fit.map(|places| places.iter().map(|place| self.now(place)).collect()).collect();
            if let (Some(first), false) = (same.first(), any.is_empty()) {
                let query = &self.queries[first.query];
                let grade = query.grade_of(&query.references[first.reference]);
                scored[first.query].push(ScorableReference { any, grade });
            }
        }
        scored
    }

    /// Returns the current place of a place that has not drifted.
    fn now<'a>(&'a self, checked: &'a PlaceCheck) -> ScorablePlace<'a> {
        let (_, Place { doc_id, quote }) = checked.of(self);
        match &checked.state {
            PlaceState::Elsewhere(doc_id, to) => ScorablePlace { doc_id, range: Some(to.clone()) },
            PlaceState::Moved(to) => ScorablePlace { doc_id, range: Some(to.clone()) },
            _ => ScorablePlace { doc_id, range: quote.as_ref().map(|quote| quote.range.clone()) },
        }
    }
}
