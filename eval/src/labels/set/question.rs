//! A question and its evidence.

use std::collections::BTreeSet;
use std::ops::Range;

use chunkmill::value::{count, named};

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
    /// The places of the answer. None if the documents do not answer the question.
    pub references: Vec<Reference>,
    /// Weight of the evidence if a reference has no grade of its own; 1 by default.
    pub grade: f64,
    /// Free words for grouping questions.
    pub tags: Vec<String>,
    /// The people who answered it, if they gave their names.
    pub by: Vec<String>,
}

named! {
    /// How a person came to a piece of evidence.
    #[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
    pub enum FoundBy: "a way to find evidence" {
        /// Vector search proposed it.
        Vector = "vector",
        /// Keyword search proposed it.
        Keyword = "keyword",
        /// Hybrid search proposed it.
        Hybrid = "hybrid",
        /// Search proposed it. Older sets do not say which.
        Search = "search",
        /// It was among the passages that are proposed at random.
        Random = "random",
        /// The person typed its text or its lines.
        Typed = "typed",
        /// The person selected it in the document.
        Selected = "selected",
    }
}

impl FoundBy {
    /// Returns whether search proposed it. Evidence of this kind favours settings that find the same.
    pub fn favours_search(self) -> bool {
        matches!(self, Self::Vector | Self::Keyword | Self::Hybrid | Self::Search)
    }
}

/// A piece of evidence, which may be in several places.
#[derive(Debug, Clone, PartialEq)]
pub struct Reference {
    /// At least one alternative, each with at least one place. An alternative is found when all its places are;
    /// the reference is found when one alternative is.
    pub any: Vec<Vec<Place>>,
    /// Its weight, if different from the question's.
    pub grade: Option<f64>,
    /// How a person came to it; empty if that is not known, as for labels of other projects.
    pub found_by: BTreeSet<FoundBy>,
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
    /// The page or slide that it begins on, from 1, if the label says it.
    pub page: Option<u32>,
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
        Self { any, grade: None, found_by: BTreeSet::new() }
    }

    /// Returns all its places, one alternative after the other.
    pub fn places(&self) -> impl Iterator<Item = &Place> + Clone {
        self.any.iter().flatten()
    }
}

impl Query {
    /// Creates a question with the grade 1 and without tags.
    #[must_use]
    pub fn new(id: String, text: String, references: Vec<Reference>) -> Self {
        Self { id, text, references, grade: 1.0, tags: Vec::new(), by: Vec::new() }
    }

    /// Returns whether the documents do not answer it.
    pub fn is_unanswered(&self) -> bool {
        self.references.is_empty()
    }

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
            let everywhere = Finder::new(document).all(&quote.text);
            let page_of = |range: &Range<usize>| corpus.page_at(doc_id, range.start);
            let is_there = |range: &&Range<usize>| quote.page.is_none() || page_of(range) == quote.page;
            let found: Vec<_> = everywhere.iter().filter(is_there).collect();
            let &[range] = found.as_slice() else {
                let page = quote.page.map(|page| format!(" on page {page}")).unwrap_or_default();
                let problem = match found.len() {
                    0 => {
                        let other = everywhere.first().and_then(page_of).map(|page| format!(", but on page {page}"));
                        let other = other.unwrap_or_default();
                        format!("`{doc_id}` does not contain the text of its reference{page}{other}")
                    }
                    several => {
                        let places = count(several, "place");
                        format!(
                            "`{doc_id}` has the text of its reference{page} in {places}: add start and end, or more text"
                        )
                    }
                };
                located = located.and(Err(problem));
                continue;
            };
            *quote = Quote { range: range.clone(), text: document[range.clone()].to_owned(), page: quote.page };
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
        let is_proposed = |reference: &Reference| reference.found_by.iter().any(|way| way.favours_search());
        !self.is_unanswered() && self.references.iter().all(is_proposed)
    }

    /// Returns the grade of one of its references, above 0.
    pub fn grade_of(&self, reference: &Reference) -> f64 {
        reference.grade.unwrap_or(self.grade)
    }
}
