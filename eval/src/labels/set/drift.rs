//! Finds a labelled text in the current version of its document.

use std::collections::HashMap;
use std::ops::Range;

use super::label_set::LabelSet;
use super::question::{Place, Query, Quote};

/// The current state of a labelled text. The first rule that applies decides:
///
/// 1. its document is missing: [`NoDocument`](Self::NoDocument);
/// 2. its text is where it was labelled: [`Valid`](Self::Valid);
/// 3. its text is elsewhere, once: [`Moved`](Self::Moved); more than once: [`Ambiguous`](Self::Ambiguous), because
///    no one knows which place was meant;
/// 4. pieces of it, each of at least 16 bytes, are in the document in their order and make up at least half of its
///    bytes that are not white space: [`Split`](Self::Split). The longest piece is found first; if it appears in a
///    second place, the reference is ambiguous. The other pieces are before and after it, no further away than
///    four times the length of the text;
/// 5. otherwise it is [`Gone`](Self::Gone). This includes an edited text that repeats the same words more than 32
///    times.
///
/// If rule 1, 4 or 5 applies, the text may have left its document. It is then looked for in the others:
/// [`Elsewhere`](Self::Elsewhere).
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum PlaceState {
    /// It is as it was labelled.
    Valid,
    /// Its text is now at these bytes, and nowhere else.
    Moved(Range<usize>),
    /// Its text is now in this other document, at these bytes.
    Elsewhere(String, Range<usize>),
    /// It was edited; most of it is at these bytes, in order.
    Split(Vec<Range<usize>>),
    /// Its text, or the rest of it, is in several places, some of which start at these bytes.
    Ambiguous(Vec<usize>),
    /// Most of its text is not in the document.
    Gone,
    /// The document does not exist or cannot be read.
    NoDocument,
}

impl PlaceState {
    /// Returns a short stable word for machines.
    pub fn name(&self) -> &'static str {
        match self {
            Self::Valid => "valid",
            Self::Moved(_) | Self::Elsewhere(..) => "moved",
            Self::Split(_) => "split",
            Self::Ambiguous(_) => "ambiguous",
            Self::Gone => "gone",
            Self::NoDocument => "no_document",
        }
    }

    /// Returns whether it must be labelled again before it can be scored.
    pub fn has_drifted(&self) -> bool {
        !matches!(self, Self::Valid | Self::Moved(_) | Self::Elsewhere(..))
    }

    /// Describes the state in words.
    pub fn describe(&self) -> String {
        match self {
            Self::Valid => "as labelled".to_owned(),
            Self::Moved(to) => format!("the text is at {}..{} now", to.start, to.end),
            Self::Elsewhere(doc_id, to) => format!("the text is in `{doc_id}` at {}..{} now", to.start, to.end),
            Self::Split(pieces) => {
                let pieces: Vec<String> =
                    pieces.iter().map(|piece| format!("{}..{}", piece.start, piece.end)).collect();
                format!("the text was edited; most of it is at {}", pieces.join(", "))
            }
            Self::Ambiguous(starts) => {
                let starts: Vec<String> = starts.iter().map(ToString::to_string).collect();
                format!("this place has other text, and the labelled text is in several: at {}", starts.join(", "))
            }
            Self::Gone => "this place has other text, and the labelled text is not in the document".to_owned(),
            Self::NoDocument => "no such document".to_owned(),
        }
    }
}

/// Shortest length of a piece in bytes. Shorter pieces match by chance.
const SHORTEST: usize = 16;

/// Length of a seed in bytes. Any run of [`SHORTEST`] bytes contains a seed that starts at a multiple of this
/// length.
const SEED: usize = SHORTEST / 2;

/// A seed that appears in the text more often than this, as in a ruler of dashes, says nothing about where the
/// text is. Looking for it would cost the square of its length, so it is ignored.
const REPEATS: usize = 32;

/// How far from the longest piece the others are searched for, in lengths of the text.
const REACH: usize = 4;

/// Returns the current state of a quote in its document.
pub(super) fn state(quote: &Quote, document: &str) -> PlaceState {
    if document.get(quote.range.clone()) == Some(&quote.text) {
        return PlaceState::Valid;
    }
    let mut places = occurrences(&quote.text, document);
    match (places.next(), places.next()) {
        (Some(start), None) => PlaceState::Moved(start..start + quote.text.len()),
        (Some(first), Some(second)) => PlaceState::Ambiguous(vec![first, second]),
        (None, _) => pieces(&quote.text, document),
    }
}

/// Returns where a text starts in a document, including overlapping occurrences.
fn occurrences<'a>(text: &'a str, document: &'a str) -> impl Iterator<Item = usize> + 'a {
    let mut from = 0;
    std::iter::from_fn(move || {
        let start = from + document.get(from..)?.find(text)?;
        from = start + document[start..].chars().next().map_or(1, char::len_utf8);
        Some(start)
    })
}

/// A run of bytes that a text and its document have in common.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Piece {
    /// Start in the text.
    from: usize,
    /// Start in the document.
    at: usize,
    size: usize,
}

fn pieces(text: &str, document: &str) -> PlaceState {
    let search = Search::new(text, document);
    let (Some(longest), rival) = search.longest(0..text.len(), 0..document.len()) else { return PlaceState::Gone };
    if let Some(rival) = rival {
        return PlaceState::Ambiguous(vec![longest.at.min(rival), longest.at.max(rival)]);
    }
    let reach = REACH * text.len();
    let around = longest.at.saturating_sub(reach)..(longest.at + longest.size + reach).min(document.len());
    let mut found = vec![longest];
    let mut open = sides(longest, 0..text.len(), around);
    while let Some((own, theirs)) = open.pop() {
        if let (Some(piece), _) = search.longest(own.clone(), theirs.clone()) {
            found.push(piece);
            open.extend(sides(piece, own, theirs));
        }
    }
    found.sort_by_key(|piece| piece.from);
    let solid = |text: &str| text.split_whitespace().map(str::len).sum::<usize>();
    let kept: usize = found.iter().map(|piece| solid(&text[piece.from..piece.from + piece.size])).sum();
    if 2 * kept < solid(text) {
        return PlaceState::Gone;
    }
    PlaceState::Split(found.iter().map(|piece| piece.at..piece.at + piece.size).collect())
}

/// Returns the ranges before and after a piece, in the text and in the document.
fn sides(piece: Piece, own: Range<usize>, theirs: Range<usize>) -> Vec<(Range<usize>, Range<usize>)> {
    let before = (own.start..piece.from, theirs.start..piece.at);
    let after = (piece.from + piece.size..own.end, piece.at + piece.size..theirs.end);
    [before, after].into_iter().filter(|(own, theirs)| own.len().min(theirs.len()) >= SHORTEST).collect()
}

/// Finds the longest common piece without comparing every byte with every other one.
struct Search<'a> {
    text: &'a str,
    document: &'a [u8],
    /// The positions of each run of [`SEED`] bytes in the text.
    seeds: HashMap<&'a [u8], Vec<usize>>,
}

impl<'a> Search<'a> {
    fn new(text: &'a str, document: &'a str) -> Self {
        let mut seeds: HashMap<&[u8], Vec<usize>> = HashMap::new();
        for (from, seed) in text.as_bytes().windows(SEED).enumerate() {
            seeds.entry(seed).or_default().push(from);
        }
        seeds.retain(|_, places| places.len() <= REPEATS);
        Self { text, document: document.as_bytes(), seeds }
    }

    /// Returns the longest common piece inside these byte ranges of the text and of the document, and another
    /// position of the same piece in the document, if any. The first one wins a tie.
    fn longest(&self, own: Range<usize>, theirs: Range<usize>) -> (Option<Piece>, Option<usize>) {
        let mut best: Option<Piece> = None;
        let mut rival = None;
        // Seeds with the same distance between text and document belong to one piece until it ends.
        let mut done: HashMap<isize, usize> = HashMap::new();
        for at in theirs.clone().step_by(SEED) {
            let Some(seed) = self.document[..theirs.end].get(at..at + SEED) else { break };
            for &from in self.seeds.get(seed).map_or(&[][..], Vec::as_slice) {
                let inside = own.start <= from && from + SEED <= own.end;
                let end = done.entry(at.cast_signed() - from.cast_signed()).or_default();
                if !inside || *end > at {
                    continue;
                }
                let piece = self.grown(Piece { from, at, size: SEED }, &own, &theirs);
                *end = piece.at + piece.size;
                if piece.size < SHORTEST || best.is_some_and(|best| piece.size < best.size) {
                    continue;
                }
                match best {
                    Some(best) if piece.size == best.size => {
                        let other = piece.from == best.from && piece.at != best.at;
                        rival = rival.or(other.then_some(piece.at));
                    }
                    _ => (best, rival) = (Some(piece), None),
                }
            }
        }
        (best, rival)
    }

    /// Extends a piece as far as possible, then trims it to character boundaries.
    fn grown(&self, piece: Piece, own: &Range<usize>, theirs: &Range<usize>) -> Piece {
        let text = self.text.as_bytes();
        let Piece { mut from, mut at, size } = piece;
        let (mut end, mut end_at) = (from + size, at + size);
        while from > own.start && at > theirs.start && text[from - 1] == self.document[at - 1] {
            (from, at) = (from - 1, at - 1);
        }
        while end < own.end && end_at < theirs.end && text[end] == self.document[end_at] {
            (end, end_at) = (end + 1, end_at + 1);
        }
        while !self.text.is_char_boundary(from) {
            (from, at) = (from + 1, at + 1);
        }
        while !self.text.is_char_boundary(end) {
            end -= 1;
        }
        Piece { from, at, size: end.saturating_sub(from) }
    }
}

/// The current state of one place of a reference.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PlaceCheck {
    /// Position of its question in the set.
    pub query: usize,
    /// Position among the question's references.
    pub reference: usize,
    /// Position among the reference's alternatives.
    pub alternative: usize,
    /// Position among the alternative's places.
    pub place: usize,
    /// Whether it still fits, and where it is.
    pub state: PlaceState,
}

impl PlaceCheck {
    /// Returns its question and its place in a set of labels.
    pub fn of<'l>(&self, labels: &'l LabelSet) -> (&'l Query, &'l Place) {
        let query = &labels.queries[self.query];
        (query, &query.references[self.reference].any[self.alternative][self.place])
    }
}
