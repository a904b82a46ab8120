//! A question and its evidence.

use std::ops::Range;

use chunkmill::value::count;

use super::corpus::Corpus;
use super::find::Finder;

/// The tag of every question that `synth` made up. Results measured with these questions must say so.
pub const SYNTHETIC: &str = "synthetic";

/// A question and its evidence.
#[derive(Debug, Clone, PartialEq)]
pub struct Query {
    /// Id, unique in the set.
    pub id: String,
    /// The question, as a user would ask it.
    pub text: String,
    /// The places of the answer, at least one.
    pub references: Vec<Reference>,
    /// Weight of the evidence if a reference has no grade of its own; 1 by default.
    pub grade: f64,
    /// Free words for grouping questions.
    pub tags: Vec<String>,
}

/// A piece of evidence, which may be in several places.
#[derive(Debug, Clone, PartialEq)]
pub struct Reference {
    /// At least one alternative, each with at least one place. An alternative is found when all its places are;
    /// the reference is found when one alternative is.
    pub any: Vec<Vec<Place>>,
    /// Its weight, if different from the question's.
    pub grade: Option<f64>,
    /// Whether a person chose it from passages that search proposed. This favours what search finds.
    pub proposed: bool,
}

/// A place where evidence is.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Place {
    /// Id of the document: its path below `corpus/`.
    pub doc_id: String,
    /// The place in the document; `None` if the document was judged as a whole.
    pub quote: Option<Quote>,
}

/// A place in a document with the text that was there when it was labelled.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Quote {
    /// Its byte range; empty until [`Query::locate`] if only the text was written.
    pub range: Range<usize>,
    /// The text.
    pub text: String,
}

impl Reference {
    /// Creates a reference to one place.
    #[must_use]
    pub fn to(doc_id: String, quote: Option<Quote>) -> Self {
        Self::any(vec![vec![Place { doc_id, quote }]])
    }

    /// Creates a reference to any one of these alternatives.
    #[must_use]
    pub fn any(any: Vec<Vec<Place>>) -> Self {
        Self { any, grade: None, proposed: false }
    }

    /// Returns all its places, one alternative after the other.
    pub fn places(&self) -> impl Iterator<Item = &Place> + Clone {
        self.any.iter().flatten()
    }
}

impl Query {
    /// Finds the references that were written without a range, as many as there are.
    ///
    /// # Errors
    /// A description of the first reference whose text is not in its document, or more than once, ignoring differences in
    /// white space.
    pub fn locate(&mut self, corpus: &Corpus) -> Result<(), String> {
        let places = self.references.iter_mut().flat_map(|reference| reference.any.iter_mut().flatten());
        let mut located = Ok(());
        for Place { doc_id, quote } in places {
            let Some(quote) = quote.as_mut().filter(|quote| quote.range.is_empty()) else { continue };
            let Some(document) = corpus.texts.get(doc_id) else {
                located = located.and_then(|()| Err(format!("names {}", corpus.missing(doc_id))));
                continue;
            };
            let found = Finder::new(document).all(&quote.text);
            let [range] = found.as_slice() else {
                let problem = match found.len() {
                    0 => format!("`{doc_id}` does not contain the text of its reference"),
                    several => {
                        let places = count(several, "place");
                        format!("`{doc_id}` has the text of its reference in {places}: add start and end, or more text")
                    }
                };
                located = located.and(Err(problem));
                continue;
            };
            *quote = Quote { range: range.clone(), text: document[range.clone()].to_owned() };
        }
        located
    }

    /// Returns whether every reference has a range or is a whole document.
    pub(super) fn is_located(&self) -> bool {
        let mut places = self.references.iter().flat_map(Reference::places);
        places.all(|place| place.quote.as_ref().is_none_or(|quote| !quote.range.is_empty()))
    }

    /// Returns whether it was made up from the corpus.
    pub fn is_synthetic(&self) -> bool {
        self.tags.iter().any(|tag| tag == SYNTHETIC)
    }

    /// Returns whether all its evidence was chosen from passages that search proposed.
    pub fn is_proposed(&self) -> bool {
        self.references.iter().all(|reference| reference.proposed)
    }

    /// Returns the grade of one of its references, above 0.
    pub fn grade_of(&self, reference: &Reference) -> f64 {
        reference.grade.unwrap_or(self.grade)
    }
}
