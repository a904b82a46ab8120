//! Passages that fit a reader's token budget, each with its location.
//!
//! Chunks are added one by one while they fit. A chunk that does not fit is left out; a later, smaller one may
//! still fit. By rank, the next chunk is the best of the remaining ones. By evidence, it is the one with the most
//! expected evidence per token: e^(2.5 s), where s is its score in standard deviations, over its own tokens and
//! those of a label, unless it joins a passage in the context.
//!
//! Chunks of one document that touch or follow each other become one passage, in document order. A chunk's prefix
//! (repeated headings, overlap) is left out, so no byte of a document appears twice. A text that several documents
//! share appears only once. The heading path of a passage is in the line above it. Documents are in the order of
//! their best chunks, and the passages of a document are in document order. The budget covers the whole text that
//! the reader gets, including labels, in tokens of the dataset's encoding.

use std::borrow::Cow;
use std::collections::{HashMap, HashSet};

use chunkmill_base::error::Result;
use chunkmill_text::document::{line, without_data_urls};
use chunkmill_text::tokens::TokenCounter;
use rayon::prelude::*;
use serde::Serialize;

use super::hit::{Place, citation, joined_place};
use super::query::Packing;
use super::searcher::{Searcher, Text};
use crate::ranking::FoundChunk;

/// Passages that fit a budget.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Context {
    /// Largest number of tokens allowed.
    pub budget: usize,
    /// Exact number of tokens in `text`, in the dataset's encoding.
    pub tokens: usize,
    /// Number of hits that did not fit or have the same text as a hit in another document.
    pub left_out: usize,
    /// All passages with their labels, as the reader gets them.
    pub text: String,
    /// The passages: documents in the order of their best hits, the passages of each in document order.
    pub passages: Vec<Passage>,
}

/// A passage of one document.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Passage {
    /// Number in the text, from 1.
    pub number: usize,
    /// `path:start_line-end_line` or, of a document that is not text, its path and place: `guide.html#install`.
    pub citation: String,
    /// Id of the document.
    pub doc_id: String,
    /// Path of the document below its root.
    pub path: String,
    /// First line, from 1.
    pub start_line: u32,
    /// Last line.
    pub end_line: u32,
    /// Heading path of its first line.
    pub header_path: String,
    /// Best rank of a hit in it, from 1.
    pub rank: usize,
    /// Score of that hit.
    pub score: f64,
    /// Byte ranges of the document that the passage contains, ascending. Between two ranges are only bytes that
    /// are in no chunk: blank ones, and those that the chunk settings leave out.
    pub ranges: Vec<[u64; 2]>,
    /// Whether its end was cut off because nothing would have fit otherwise.
    pub cut: bool,
    /// Its text.
    pub content: String,
}

/// Default number of best chunks that are considered for a context.
pub const CANDIDATES: usize = 100;

/// How fast the expected evidence of a chunk grows with its score in standard deviations, as an exponent of e.
/// Chosen on the four labelled sets of `eval/records`: a smaller value favours short chunks too much in a large
/// budget, a larger one approaches the order by rank.
const STEEPNESS: f64 = 2.5;

/// A hit with the part of its text that is the document's own.
#[derive(Clone)]
struct Piece<'s> {
    rank: usize,
    score: f64,
    place: Place<'s>,
    text: Cow<'s, Text>,
}

impl<'s> Piece<'s> {
    /// Returns the document id and the position in the document.
    fn key(&self) -> (&'s str, u32) {
        (&self.place.document.doc_id, self.place.chunk_index)
    }
}

impl Text {
    fn new(place: &Place<'_>, content: &str, counter: &dyn TokenCounter) -> Result<Self> {
        let own = place.source(content).to_owned();
        let label = format!("[0] {}  {}\n", place.citation(), place.header_path);
        let tokens = [counter.count(&without_data_urls(&own))?, counter.count(&label)?];
        Ok(Self { hash: blake3::hash(own.as_bytes()), own, tokens })
    }
}

impl Searcher {
    /// Packs the hits of a query into at most `budget` tokens. If not even the best hit fits, as many of its first
    /// lines as fit are used.
    ///
    /// # Errors
    /// [`Error::Dataset`](chunkmill_base::error::Error::Dataset) if a file is damaged or missing.
    pub fn context(&self, found: &[FoundChunk], budget: usize, packing: Packing) -> Result<Context> {
        let mut contexts = self.contexts(found, &[budget], packing)?;
        Ok(contexts.remove(0))
    }

    /// Packs one context for each of several budgets, faster than one by one.
    pub fn contexts(&self, found: &[FoundChunk], budgets: &[usize], packing: Packing) -> Result<Vec<Context>> {
        let pieces = self.pieces(found)?;
        let counter = self.dataset().manifest().spec.encoding().counter();
        let left = RestPieces::new(&pieces, packing);
        let context = |&budget: &usize| {
            let room = Room { tokens: budget, counter };
            let mut filling = Filling { left: left.clone(), taken: Vec::new(), packed: None, expected: 0, room };
            while let Some((at, cost)) = filling.next()? {
                filling.try_out(at, cost)?;
            }
            let mut taken = filling.taken.len();
            let mut packed = filling.counted()?;
            if taken == 0
                && let Some(best) = pieces.first()
                && let Some(start) = first_lines(best, room)?
            {
                (packed, taken) = (start, 1);
            }
            let PackedPassages { passages, text, tokens } = packed;
            Ok(Context { budget, tokens, left_out: found.len() - taken, text, passages })
        };
        budgets.iter().map(context).collect()
    }

    /// Reads the texts of all chunks and counts their tokens once, for callers that pack many contexts. The texts
    /// stay in memory.
    ///
    /// # Errors
    /// [`Error::Dataset`](chunkmill_base::error::Error::Dataset) if a file is damaged or missing.
    pub fn prepare_contexts(&self) -> Result<()> {
        if self.texts.get().is_none() {
            let rows: Vec<u32> = (0..).take(self.len()).collect();
            // If another thread was faster, its texts are the same.
            let _ = self.texts.set(self.read_texts(&rows)?);
        }
        Ok(())
    }

    fn read_texts(&self, rows: &[u32]) -> Result<Vec<Text>> {
        let counter = self.dataset().manifest().spec.encoding().counter();
        let contents = self.rows().fetch(self.dataset(), rows, ["content"])?;
        let texts = rows.par_iter().zip(contents);
        texts.map(|(&row, [content])| Text::new(&self.place(row), &content, counter)).collect()
    }

    /// Joins hits into passages: chunks that touch or follow each other become one.
    ///
    /// # Errors
    /// [`Error::Dataset`](chunkmill_base::error::Error::Dataset) if a file is damaged or missing.
    pub fn spans(&self, found: &[FoundChunk]) -> Result<Vec<Passage>> {
        Ok(passages(&self.pieces(found)?.iter().collect::<Vec<_>>()))
    }

    /// Returns the hits with their texts, without blank texts and texts that an earlier hit has in another
    /// document.
    fn pieces(&self, found: &[FoundChunk]) -> Result<Vec<Piece<'_>>> {
        let rows: Vec<u32> = found.iter().map(|found| found.row).collect();
        let texts: Vec<Cow<'_, Text>> = match self.texts.get() {
            Some(texts) => rows.iter().map(|&row| Cow::Borrowed(&texts[row as usize])).collect(),
            None => self.read_texts(&rows)?.into_iter().map(Cow::Owned).collect(),
        };
        let mut pieces = Vec::new();
        let mut known = HashMap::new();
        for (rank, (found, text)) in (1..).zip(found.iter().zip(texts)) {
            let place = self.place(found.row);
            // A text that is repeated within one document is kept; one that repeats another document is left out.
            let first = known.entry(text.hash).or_insert(&place.document.doc_id);
            if !text.own.trim().is_empty() && **first == place.document.doc_id {
                pieces.push(Piece { rank, score: found.score, place, text });
            }
        }
        Ok(pieces)
    }
}

/// Number of tokens by which the sum over the parts of a text may exceed the count of the whole.
const SLACK: usize = 8;

/// Number of tokens per piece by which the expected size of a text may be wrong: far more than it ever is.
const MARGIN: usize = 8;

/// The pieces that have not been tried yet.
#[derive(Clone)]
struct RestPieces<'p, 's> {
    /// The pieces with their expected evidence.
    pieces: Vec<(&'p Piece<'s>, f64)>,
    /// Keys of the pieces that are in the context.
    taken: HashSet<(&'s str, u32)>,
    packing: Packing,
}

impl<'p, 's> RestPieces<'p, 's> {
    fn new(pieces: &'p [Piece<'s>], packing: Packing) -> Self {
        let best = pieces.first().map_or(0.0, |piece| piece.score);
        let expected = |piece: &'p Piece<'s>| (piece, (STEEPNESS * (piece.score - best)).exp());
        Self { pieces: pieces.iter().map(expected).collect(), taken: HashSet::new(), packing }
    }

    /// Returns the next piece to try that costs at most `room` tokens: its index and its cost. The cost is 0 or
    /// less if the piece saves at least as many tokens as it adds.
    fn next(&self, room: usize) -> Option<(usize, isize)> {
        let cost = |(piece, _): &(&Piece<'_>, f64)| {
            let [text, label] = piece.text.tokens;
            let (doc, at) = piece.key();
            let is_taken = |at: Option<u32>| at.is_some_and(|at| self.taken.contains(&(doc, at)));
            let joins = usize::from(is_taken(at.checked_sub(1))) + usize::from(is_taken(at.checked_add(1)));
            // A piece between two passages joins them and saves a label.
            (text + label).cast_signed() - (joins * label).cast_signed()
        };
        let fits = |cost: isize| cost.max(1).cast_unsigned() <= room;
        let costs = self.pieces.iter().map(cost).enumerate().filter(|(_, cost)| fits(*cost));
        match self.packing {
            Packing::Rank => costs.into_iter().next(),
            Packing::Evidence => {
                #[expect(clippy::cast_precision_loss, reason = "tokens are far below 2^52")]
                let worths = costs.map(|(at, cost)| (at, cost, self.pieces[at].1 / cost.max(1) as f64));
                // The better rank breaks ties.
                let best = worths.max_by(|a, b| a.2.total_cmp(&b.2).then(b.0.cmp(&a.0)));
                best.map(|(at, cost, _)| (at, cost))
            }
        }
    }
}

/// A context that is being filled. While there is certainly enough room, its tokens are not counted: the text of a
/// context has several thousand tokens and would be counted once per piece.
struct Filling<'p, 's> {
    left: RestPieces<'p, 's>,
    taken: Vec<&'p Piece<'s>>,
    /// The pieces as text, if their tokens have been counted.
    packed: Option<PackedPassages>,
    /// Expected number of tokens, if they have not been counted.
    expected: usize,
    room: Room,
}

impl Filling<'_, '_> {
    /// Returns the next piece to try: its index and its expected cost.
    fn next(&mut self) -> Result<Option<(usize, isize)>> {
        if self.packed.is_none() {
            // If the best piece that might fit is certain to fit, counting would choose the same piece.
            let margin = SLACK + MARGIN * (self.taken.len() + 1);
            let room = self.room.tokens.saturating_add(margin).saturating_sub(self.expected);
            let next = self.left.next(room.saturating_add(SLACK));
            if next.is_none_or(|(_, cost)| self.expected.saturating_add_signed(cost) + margin <= self.room.tokens) {
                return Ok(next);
            }
            self.packed = Some(self.counted()?);
        }
        let used = self.packed.as_ref().map_or(0, |packed| packed.tokens);
        Ok(self.left.next((self.room.tokens - used).saturating_add(SLACK)))
    }

    /// Adds a piece if there is room, and leaves it out otherwise.
    fn try_out(&mut self, at: usize, cost: isize) -> Result<()> {
        let (piece, _) = self.left.pieces.remove(at);
        self.taken.push(piece);
        if self.packed.is_none() {
            self.expected = self.expected.saturating_add_signed(cost);
        } else if let Some(more) = PackedPassages::new(passages(&self.taken), self.room)? {
            self.packed = Some(more);
        } else {
            self.taken.pop();
            return Ok(());
        }
        self.left.taken.insert(piece.key());
        Ok(())
    }

    /// Returns the pieces that were taken as text, with its tokens counted.
    fn counted(&mut self) -> Result<PackedPassages> {
        if let Some(packed) = self.packed.take() {
            return Ok(packed);
        }
        loop {
            if let Some(packed) = PackedPassages::new(passages(&self.taken), self.room)? {
                return Ok(packed);
            }
            // Never observed: the error was larger than the margin.
            if let Some(piece) = self.taken.pop() {
                self.left.taken.remove(&piece.key());
            }
        }
    }
}

/// The budget that passages must fit.
#[derive(Clone, Copy)]
struct Room {
    tokens: usize,
    counter: &'static dyn TokenCounter,
}

/// Passages that fit the budget.
#[derive(Default)]
struct PackedPassages {
    passages: Vec<Passage>,
    text: String,
    tokens: usize,
}

impl PackedPassages {
    /// Returns `None` if the passages do not fit.
    fn new(passages: Vec<Passage>, room: Room) -> Result<Option<Self>> {
        let mut text = String::new();
        for passage in &passages {
            if !text.is_empty() {
                text.push('\n');
            }
            let label = format!("[{}] {}  {}", passage.number, passage.citation, passage.header_path);
            text.push_str(label.trim_end());
            text.push('\n');
            text.push_str(passage.content.trim_end_matches(['\n', '\r']));
            text.push('\n');
        }
        let tokens = room.counter.count(&text)?;
        Ok((tokens <= room.tokens).then_some(Self { passages, text, tokens }))
    }
}

/// Packs as many of the first lines of a piece as fit.
fn first_lines(piece: &Piece<'_>, room: Room) -> Result<Option<PackedPassages>> {
    let whole = &piece.text.own;
    let ends: Vec<usize> = line::ends(whole).collect();
    let start = |lines: usize| {
        let own = whole[..ends[lines - 1]].to_owned();
        let mut place = piece.place;
        place.end_byte = place.start_byte + own.len() as u64;
        place.end_line = place.start_line + u32::try_from(lines - 1).unwrap_or(u32::MAX);
        let text = Cow::Owned(Text { own, ..*piece.text });
        let mut passages = passages(&[&Piece { place, text, ..*piece }]);
        for passage in &mut passages {
            passage.cut = true;
        }
        PackedPassages::new(passages, room)
    };
    let (mut fits, mut at_most, mut best) = (0, ends.len(), None);
    while fits < at_most {
        let lines = fits + (at_most - fits).div_ceil(2);
        match start(lines)? {
            Some(packed) => (fits, best) = (lines, Some(packed)),
            None => at_most = lines - 1,
        }
    }
    Ok(best)
}

/// Joins pieces that touch or follow each other into passages, without inline `data:` URLs.
fn passages(pieces: &[&Piece<'_>]) -> Vec<Passage> {
    let mut in_order = pieces.to_vec();
    in_order.sort_by(|a, b| key(a).cmp(&key(b)));
    let mut passages: Vec<Passage> = Vec::new();
    // The first and the last place in each passage of a document that is not text.
    let mut places: Vec<Option<[&str; 2]>> = Vec::new();
    let mut last: Option<&Piece<'_>> = None;
    for piece in in_order {
        let Place { document, start_byte, end_byte, .. } = piece.place;
        let before = last.filter(|last| last.place.document.doc_id == document.doc_id);
        last = Some(piece);
        if let (Some(before), Some(open)) = (before, passages.last_mut())
            && let Some(range) = open.ranges.last_mut()
        {
            let covered = range[1];
            let follows = piece.place.chunk_index == before.place.chunk_index + 1;
            if start_byte <= covered || follows {
                if start_byte <= covered {
                    let new = usize::try_from(covered - start_byte).ok().and_then(|known| piece.text.own.get(known..));
                    open.content.push_str(new.unwrap_or_default());
                    range[1] = covered.max(end_byte);
                } else {
                    open.content.push_str(between(open, piece.place.start_line));
                    open.content.push_str(&piece.text.own);
                    open.ranges.push([start_byte, end_byte]);
                }
                open.end_line = open.end_line.max(piece.place.end_line);
                if let (Some(Some(cited)), Some(place)) = (places.last_mut(), piece.place.cited_place) {
                    cited[1] = place;
                }
                if piece.rank < open.rank {
                    (open.rank, open.score) = (piece.rank, piece.score);
                }
                continue;
            }
        }
        places.push(piece.place.cited_place.map(|place| [place; 2]));
        passages.push(Passage {
            number: 0,
            citation: String::new(),
            doc_id: document.doc_id.clone(),
            path: document.path.clone(),
            start_line: piece.place.start_line,
            end_line: piece.place.end_line,
            header_path: piece.place.header_path.to_owned(),
            rank: piece.rank,
            score: piece.score,
            ranges: vec![[start_byte, end_byte]],
            cut: false,
            content: piece.text.own.clone(),
        });
    }
    for (passage, place) in passages.iter_mut().zip(places) {
        let place = place.map(|[first, last]| joined_place(first, last));
        passage.citation = citation(&passage.path, place.as_deref(), [passage.start_line, passage.end_line]);
    }
    let mut best: HashMap<String, usize> = HashMap::new();
    for passage in &passages {
        let best = best.entry(passage.doc_id.clone()).or_insert(passage.rank);
        *best = passage.rank.min(*best);
    }
    // The sort is stable, so the passages of a document stay in document order.
    passages.sort_by_key(|passage| best[&passage.doc_id]);
    for (number, passage) in (1..).zip(&mut passages) {
        passage.number = number;
        passage.content = without_data_urls(&passage.content).into_owned();
    }
    passages
}

/// Returns the text that replaces the bytes between the end of a passage and a later line.
fn between(passage: &Passage, line: u32) -> &'static str {
    let ended = passage.content.ends_with(['\n', '\r']);
    match line.saturating_sub(passage.end_line) {
        0 | 1 if ended => "",
        0 => " ",
        1 => "\n",
        _ if ended => "\n",
        _ => "\n\n",
    }
}

fn key<'p>(piece: &'p Piece<'_>) -> (&'p str, u64, u32) {
    (&piece.place.document.doc_id, piece.place.start_byte, piece.place.chunk_index)
}
