//! Pieces of documents and sets of them.

use std::ops::Range;

/// A piece of one document: the units `start..end`, half-open. What a unit is, bytes or characters,
/// is for the caller to decide, and to keep to. A span whose end is not after its start is empty.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Span {
    /// Which document: any number that stands for it.
    pub doc: usize,
    /// First unit.
    pub start: usize,
    /// One past the last unit.
    pub end: usize,
}

impl Span {
    /// A range of a document.
    #[must_use]
    pub fn new(doc: usize, range: Range<usize>) -> Self {
        Self { doc, start: range.start, end: range.end }
    }

    /// Its length in units.
    #[must_use]
    pub fn size(&self) -> usize {
        self.end.saturating_sub(self.start)
    }

    /// What it has in common with another; `None` if that is not even one unit.
    #[must_use]
    pub fn shared(&self, other: &Self) -> Option<Self> {
        let shared = Self { doc: self.doc, start: self.start.max(other.start), end: self.end.min(other.end) };
        (self.doc == other.doc && shared.size() > 0).then_some(shared)
    }
}

/// A set of units, as the fewest spans that hold it: sorted, none empty, none touching another.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Cover(Vec<Span>);

impl Cover {
    /// The spans, sorted.
    #[must_use]
    pub fn spans(&self) -> &[Span] {
        &self.0
    }

    /// How many units are in it; one that was given twice counts once.
    #[must_use]
    pub fn size(&self) -> usize {
        self.0.iter().map(Span::size).sum()
    }

    /// How many of its units are in a span.
    #[must_use]
    pub fn within(&self, span: &Span) -> usize {
        self.0[self.reach(span)].iter().filter_map(|own| own.shared(span)).map(|shared| shared.size()).sum()
    }

    /// How many units it has in common with another set.
    #[must_use]
    pub fn common(&self, other: &Self) -> usize {
        self.0.iter().map(|span| other.within(span)).sum()
    }

    /// Takes the units of a span out of the set.
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

    /// Which of its spans share a unit with this one.
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

/// The parts of a text's byte range that are not white space. Chunkers trim their chunks, and a
/// label may end in a line break: who asks whether evidence was retrieved wants to leave out what
/// says nothing. A range that is not of the text has no parts.
#[must_use]
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
