//! Pieces of documents and sets of them.

use std::ops::Range;

/// A piece of one document: the units `start..end`, half-open. Units are bytes or characters; the caller decides
/// and must be consistent. A span whose end is not after its start is empty.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Span {
    /// Number that identifies the document.
    pub doc: usize,
    /// First unit.
    pub start: usize,
    /// One past the last unit.
    pub end: usize,
}

impl Span {
    /// Creates a span from a range of a document.
    #[must_use]
    pub fn new(doc: usize, range: Range<usize>) -> Self {
        Self { doc, start: range.start, end: range.end }
    }

    /// Returns its length in units.
    pub fn size(&self) -> usize {
        self.end.saturating_sub(self.start)
    }

    /// Returns the part that it shares with another span; `None` if they share no unit.
    #[must_use]
    pub fn shared(&self, other: &Self) -> Option<Self> {
        let shared = Self { doc: self.doc, start: self.start.max(other.start), end: self.end.min(other.end) };
        (self.doc == other.doc && shared.size() > 0).then_some(shared)
    }
}

/// A set of units, stored as the fewest spans that contain it: sorted, none empty, none touching another.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Cover(Vec<Span>);

impl Cover {
    /// Returns the spans, sorted.
    pub fn spans(&self) -> &[Span] {
        &self.0
    }

    /// Returns the number of units in the set. A unit that was added twice counts once.
    pub fn size(&self) -> usize {
        self.0.iter().map(Span::size).sum()
    }

    /// Returns the number of its units that are in a span.
    pub fn within(&self, span: &Span) -> usize {
        self.0[self.reach(span)].iter().filter_map(|own| own.shared(span)).map(|shared| shared.size()).sum()
    }

    /// Returns the number of units that it shares with another set.
    pub fn common(&self, other: &Self) -> usize {
        self.0.iter().map(|span| other.within(span)).sum()
    }

    /// Removes the units of a span from the set.
    pub fn remove(&mut self, span: &Span) {
        let reach = self.reach(span);
        let rest: Vec<Span> = self.0[reach.clone()]
            .iter()
            .flat_map(|own| {
                [Span { end: own.end.min(span.start), ..*own }, Span { start: own.start.max(span.end), ..*own }]
            })
            .filter(|rest| rest.size() > 0)
            .collect();
        self.0.splice(reach, rest);
    }

    /// Returns the positions of the spans that share a unit with this span.
    fn reach(&self, span: &Span) -> Range<usize> {
        let first = self.0.partition_point(|own| (own.doc, own.end) <= (span.doc, span.start));
        let end = self.0.partition_point(|own| (own.doc, own.start) < (span.doc, span.end));
        if span.size() == 0 { first..first } else { first..end.max(first) }
    }
}

impl FromIterator<Span> for Cover {
    fn from_iter<I: IntoIterator<Item = Span>>(spans: I) -> Self {
        let mut sorted: Vec<Span> = spans.into_iter().filter(|span| span.size() > 0).collect();
        sorted.sort_unstable();
        let mut merged: Vec<Span> = Vec::with_capacity(sorted.len());
        for span in sorted {
            match merged.last_mut() {
                Some(last) if last.doc == span.doc && span.start <= last.end => last.end = last.end.max(span.end),
                _ => merged.push(span),
            }
        }
        Self(merged)
    }
}

/// Returns the parts of a text's byte range that are not white space. Chunkers trim their chunks, and a label may
/// end in a line break, so white space should not decide whether evidence was retrieved. A range outside the text
/// has no parts.
pub fn solid(text: &str, range: Range<usize>) -> Vec<Range<usize>> {
    let Some(part) = text.get(range.clone()) else { return Vec::new() };
    let mut words = Vec::new();
    let mut open = None;
    for (at, c) in part.char_indices().map(|(at, c)| (range.start + at, c)) {
        match (open, c.is_whitespace()) {
            (None, false) => open = Some(at),
            (Some(start), true) => {
                words.push(start..at);
                open = None;
            }
            _ => {}
        }
    }
    words.extend(open.map(|start| start..range.end));
    words
}
