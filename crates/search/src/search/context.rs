//! Passages that fit a reader's token budget, each with its location.
//!
//! Chunks are added one by one while they fit. A chunk that does not fit is left out; a later, smaller one may
//! still fit. By rank, the next chunk is the best of the remaining ones. By evidence, it is the one with the most
//! expected evidence per token: e^(2.5 s), where s is its score in standard deviations, over its own tokens and
//! those of a label, unless it joins a passage in the context. Weak chunks, which are short as often as not and so
//! cheap, come after all others. The room that is left in the end is filled with a part of one more chunk, cut at a
//! line or a sentence. A chunk that is unlikely to hold evidence stays out, even if there is room.
//!
//! Exact packing (a dynamic programme over the chunks in the order of their documents) was tried. It hands over no
//! more evidence than this order: what a chunk is expected to have is known far less exactly than its tokens.
//!
//! Chunks of one document that touch or follow each other become one passage, in document order. A chunk's prefix
//! (repeated headings, overlap) is left out, so no byte of a document appears twice. A text that several documents
//! have, in the same or nearly the same words, appears only once. The heading path of a passage is in the line above it, without the heading that the
//! passage starts with. Documents are in the order of their best chunks, and the passages of a document are in
//! document order. The budget covers the whole text that the reader gets, including labels, in tokens of the
//! dataset's encoding.

use std::borrow::Cow;
use std::collections::{HashMap, HashSet};

use chunkmill_base::error::Result;
use chunkmill_text::chunk::sentence_starts;
use chunkmill_text::document::{line, without_data_urls};
use chunkmill_text::similarity::Shingles;
use chunkmill_text::tokens::TokenCounter;
use rayon::prelude::*;
use serde::Serialize;

use super::hit::{Place, citation, joined_place};
use super::query::{FillRule, Packing};
use super::searcher::{Searcher, Text};
use crate::ranking::FoundChunk;

/// Passages that fit a budget.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Context {
    /// Largest number of tokens allowed.
    pub budget: usize,
    /// Exact number of tokens in `text`, in the dataset's encoding.
    pub tokens: usize,
    /// Number of hits that did not fit, are unlikely to hold evidence, or have nearly the same text as a hit in another document.
    pub left_out: usize,
    /// Largest chance of a hit that it holds evidence, if the scores are weighted sums.
    pub chance: Option<f64>,
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
    /// Largest chance of a hit in it that it holds evidence, if the scores are weighted sums.
    pub chance: Option<f64>,
    /// Byte ranges of the document that the passage contains, ascending. Between two ranges are only bytes that
    /// are in no chunk: blank ones, and those that the chunk settings leave out.
    pub ranges: Vec<[u64; 2]>,
    /// Whether it starts or ends inside of a chunk, of which only a part fits the budget.
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

/// Score in standard deviations below which a chunk is weak. Chosen on the same sets: none loses evidence at any budget.
const WEAK: f64 = 1.5;

/// Fewest tokens of a chunk that are worth its label, if other chunks are in the context. Chosen on the same sets.
const PART: usize = 16;

/// Number of chunks of which a part is tried, if none of the first ones has an end that fits.
const PARTS: usize = 3;

/// A hit with the part of its text that is the document's own.
#[derive(Clone)]
struct Piece<'s> {
    rank: usize,
    score: f64,
    chance: Option<f64>,
    place: Place<'s>,
    text: Cow<'s, Text>,
    /// The side of the chunk where text is missing.
    cut: Option<Side>,
}

/// A side of a chunk.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Side {
    Start,
    End,
}

impl<'s> Piece<'s> {
    /// Returns the document id and the position in the document.
    fn key(&self) -> (&'s str, u32) {
        (&self.place.document.doc_id, self.place.chunk_index)
    }

    /// Returns the part of it before or after a byte of its text, which is a line's or a sentence's end.
    fn part(&self, cut: Side, at: usize) -> Self {
        let whole = &self.text.own;
        let own = if cut == Side::Start { &whole[at..] } else { &whole[..at] };
        let mut place = self.place.clone();
        // Where the part starts, or its last line does.
        let line = line::ends(whole).take_while(|end| *end < at || cut == Side::Start && *end == at).count();
        let line = place.start_line.saturating_add(u32::try_from(line).unwrap_or(u32::MAX));
        match cut {
            Side::Start => (place.start_byte, place.start_line) = (place.start_byte + at as u64, line),
            Side::End => (place.end_byte, place.end_line) = (place.start_byte + at as u64, line),
        }
        let text = Cow::Owned(Text { own: own.to_owned(), ..(*self.text).clone() });
        Self { place, text, cut: Some(cut), ..*self }
    }
}

impl Text {
    fn new(place: &Place<'_>, content: &str, counter: &dyn TokenCounter) -> Result<Self> {
        let own = place.source(content).to_owned();
        let label = format!("[0] {}  {}\n", place.citation(), path_above(place.header_path, &own));
        let tokens = [counter.count(&without_data_urls(&own))?, counter.count(&label)?];
        let (hash, shingles) = (blake3::hash(own.as_bytes()), Shingles::of(&own));
        Ok(Self { own, shingles, hash, tokens })
    }
}

impl Searcher {
    /// Packs the hits of a query into at most `budget` tokens. The last one may be a part of a hit.
    ///
    /// # Errors
    /// [`Error::Dataset`](chunkmill_base::error::Error::Dataset) if a file is damaged or missing.
    pub fn context(&self, found: &[FoundChunk], budget: usize, rule: impl Into<FillRule>) -> Result<Context> {
        let mut contexts = self.contexts(found, &[budget], rule)?;
        Ok(contexts.remove(0))
    }

    /// Packs one context for each of several budgets, faster than one by one.
    pub fn contexts(&self, found: &[FoundChunk], budgets: &[usize], rule: impl Into<FillRule>) -> Result<Vec<Context>> {
        let pieces = self.pieces(found)?;
        let counter = self.dataset().manifest().spec.encoding().counter();
        let left = RestPieces::new(&pieces, rule.into());
        let chance = FoundChunk::highest_chance(found);
        let context = |&budget: &usize| {
            let room = Room { tokens: budget, counter };
            let left = left.clone();
            let mut filling = Filling { left, taken: Vec::new(), packed: None, expected: 0, room };
            while let Some((at, cost)) = filling.next()? {
                filling.try_out(at, cost)?;
            }
            let whole = filling.counted()?;
            let part = filling.with_part(&whole)?;
            let taken = filling.taken.len() + usize::from(part.is_some());
            let PackedPassages { passages, text, tokens } = part.unwrap_or(whole);
            Ok(Context { budget, tokens, left_out: found.len() - taken, chance, text, passages })
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
    /// document, in the same or nearly the same words.
    fn pieces(&self, found: &[FoundChunk]) -> Result<Vec<Piece<'_>>> {
        let rows: Vec<u32> = found.iter().map(|found| found.row).collect();
        let texts: Vec<Cow<'_, Text>> = match self.texts.get() {
            Some(texts) => rows.iter().map(|&row| Cow::Borrowed(&texts[row as usize])).collect(),
            None => self.read_texts(&rows)?.into_iter().map(Cow::Owned).collect(),
        };
        let mut pieces: Vec<Piece<'_>> = Vec::new();
        for (rank, (found, text)) in (1..).zip(found.iter().zip(texts)) {
            let place = self.place(found.row);
            // A text that is repeated within one document is kept; one that repeats another document is left out.
            let mut others = pieces.iter().filter(|piece| piece.place.document.doc_id != place.document.doc_id);
            if !text.own.trim().is_empty()
                && !others.any(|other| is_same((&text, place.header_path), (&other.text, other.place.header_path)))
            {
                pieces.push(Piece { rank, score: found.score, chance: found.chance, place, text, cut: None });
            }
        }
        Ok(pieces)
    }
}

/// Jaccard similarity of runs of words from which texts of two documents may count as one. A text of a hundred words may
/// differ in one.
const ALIKE: f64 = 0.9;

/// Returns whether two texts have the same bytes, or nearly the same words below the same headings. Pages of one template
/// differ in a name above them or in a number, and that is what they say.
fn is_same((a, above_a): (&Text, &str), (b, above_b): (&Text, &str)) -> bool {
    let is_near = || above_a == above_b && a.shingles.jaccard(&b.shingles) >= ALIKE;
    a.hash == b.hash || is_near() && numbers(&a.own).eq(numbers(&b.own))
}

/// Returns the words of a text that have digits.
fn numbers(text: &str) -> impl Iterator<Item = &str> {
    text.split(|c: char| !c.is_alphanumeric()).filter(|word| word.contains(|c: char| c.is_numeric()))
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
    /// Those that were tried and do not fit, with their expected evidence.
    too_long: Vec<(&'p Piece<'s>, f64)>,
    packing: Packing,
}

impl<'p, 's> RestPieces<'p, 's> {
    fn new(pieces: &'p [Piece<'s>], rule: FillRule) -> Self {
        let best = pieces.first().map_or(0.0, |piece| piece.score);
        let expected = |piece: &'p Piece<'s>| (piece, (STEEPNESS * (piece.score - best)).exp());
        let is_likely = |piece: &&Piece<'_>| piece.chance.is_none_or(|chance| chance >= rule.least.get());
        let pieces = pieces.iter().filter(is_likely).map(expected).collect();
        Self { pieces, taken: HashSet::new(), too_long: Vec::new(), packing: rule.order }
    }

    /// Returns whether it is the turn of a piece: those that are not weak come first, even if none of them fits.
    fn is_due(&self) -> impl Fn(&Piece<'_>) -> bool + use<> {
        let is_strong = |piece: &Piece<'_>| piece.score >= WEAK;
        let mut left = self.pieces.iter().chain(&self.too_long);
        let all = self.packing == Packing::Rank || !left.any(|(piece, _)| is_strong(piece));
        move |piece| all || is_strong(piece)
    }

    /// Returns whether the chunks before and after a piece are in the context.
    fn neighbours(&self, piece: &Piece<'_>) -> [bool; 2] {
        let (doc, at) = piece.key();
        [at.checked_sub(1), at.checked_add(1)].map(|at| at.is_some_and(|at| self.taken.contains(&(doc, at))))
    }

    /// Returns the next piece to try that costs at most `room` tokens: its index and its cost. The cost is 0 or
    /// less if the piece saves at least as many tokens as it adds.
    fn next(&self, room: usize) -> Option<(usize, isize)> {
        let cost = |(piece, _): &(&Piece<'_>, f64)| {
            let [text, label] = piece.text.tokens;
            let joins = self.neighbours(piece).into_iter().filter(|is_taken| *is_taken).count();
            // A piece between two passages joins them and saves a label.
            (text + label).cast_signed() - (joins * label).cast_signed()
        };
        let fits = |cost: isize| cost.max(1).cast_unsigned() <= room;
        let is_due = self.is_due();
        let due = self.pieces.iter().enumerate().filter(|(_, (piece, _))| is_due(piece));
        let costs = due.map(|(at, piece)| (at, cost(piece))).filter(|(_, cost)| fits(*cost));
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

impl<'s> Filling<'_, 's> {
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
        let (piece, expected) = self.left.pieces.remove(at);
        self.taken.push(piece);
        if self.packed.is_none() {
            self.expected = self.expected.saturating_add_signed(cost);
        } else if let Some(more) = PackedPassages::new(passages(&self.taken), self.room)? {
            self.packed = Some(more);
        } else {
            self.taken.pop();
            self.left.too_long.push((piece, expected));
            return Ok(());
        }
        self.left.taken.insert(piece.key());
        Ok(())
    }

    /// Returns the pieces as text, with a part of one more: of the one of which most evidence is expected in the room that
    /// is left. `None` if no part fits.
    fn with_part(&self, whole: &PackedPassages) -> Result<Option<PackedPassages>> {
        let room = self.room.tokens - whole.tokens;
        let least = if self.taken.is_empty() { 1 } else { PART };
        let left = self.left.pieces.iter().chain(&self.left.too_long);
        let is_due = self.left.is_due();
        let mut parts: Vec<(&Piece<'s>, f64)> = left
            .filter(|(piece, _)| is_due(piece))
            .filter_map(|(piece, expected)| {
                let [text, label] = piece.text.tokens;
                let joins = self.left.neighbours(piece).contains(&true);
                let part = room.checked_sub(if joins { 0 } else { label }).filter(|part| *part >= least)?;
                #[expect(clippy::cast_precision_loss, reason = "tokens are far below 2^52")]
                let share = (part as f64 / text.max(1) as f64).min(1.0);
                Some((*piece, expected * share))
            })
            .collect();
        match self.left.packing {
            Packing::Rank => parts.sort_by_key(|(piece, _)| piece.rank),
            Packing::Evidence => parts.sort_by(|a, b| b.1.total_cmp(&a.1).then(a.0.rank.cmp(&b.0.rank))),
        }
        for (piece, _) in parts.into_iter().take(PARTS) {
            if let Some(packed) = self.with_part_of(piece, least)? {
                return Ok(Some(packed));
            }
        }
        Ok(None)
    }

    /// Returns the pieces as text, with as many lines or sentences of another piece as fit: the last ones if the chunk that
    /// follows it is in the context, otherwise the first ones. `None` if fewer than `least` tokens of it fit.
    fn with_part_of(&self, piece: &Piece<'s>, least: usize) -> Result<Option<PackedPassages>> {
        let whole = &piece.text.own;
        let cut = if self.left.neighbours(piece) == [false, true] { Side::Start } else { Side::End };
        let mut ends: Vec<usize> = line::ends(whole).chain(sentence_starts(whole)).collect();
        ends.sort_unstable();
        ends.dedup();
        ends.retain(|end| 0 < *end && *end < whole.len());
        if cut == Side::Start {
            ends.reverse();
        }
        let (mut fits, mut at_most, mut best) = (0, ends.len(), None);
        while fits < at_most {
            let count = fits + (at_most - fits).div_ceil(2);
            let part = piece.part(cut, ends[count - 1]);
            let all: Vec<&Piece<'s>> = self.taken.iter().copied().chain([&part]).collect();
            match PackedPassages::new(passages(&all), self.room)? {
                Some(packed) => (fits, best) = (count, Some((packed, part))),
                None => at_most = count - 1,
            }
        }
        let Some((packed, part)) = best else { return Ok(None) };
        let tokens = self.room.counter.count(without_data_urls(&part.text.own).trim())?;
        Ok((tokens >= least).then_some(packed))
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
            let path = path_above(&passage.header_path, &passage.content);
            let label = format!("[{}] {}  {path}", passage.number, passage.citation);
            text.push_str(label.trim_end());
            text.push('\n');
            text.push_str(passage.content.trim_end_matches(['\n', '\r']));
            text.push('\n');
        }
        let tokens = room.counter.count(&text)?;
        Ok((tokens <= room.tokens).then_some(Self { passages, text, tokens }))
    }
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
            let is_whole = before.cut != Some(Side::End) && piece.cut != Some(Side::Start);
            let follows = is_whole && piece.place.chunk_index == before.place.chunk_index + 1;
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
                open.cut |= piece.cut.is_some();
                if let (Some(Some(cited)), Some(place)) = (places.last_mut(), piece.place.cited_place) {
                    cited[1] = place;
                }
                if piece.rank < open.rank {
                    (open.rank, open.score) = (piece.rank, piece.score);
                }
                // `None` is less than any chance.
                open.chance = if piece.chance > open.chance { piece.chance } else { open.chance };
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
            chance: piece.chance,
            ranges: vec![[start_byte, end_byte]],
            cut: piece.cut.is_some(),
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

/// Returns the heading path without the heading that the text below it starts with.
fn path_above<'p>(path: &'p str, content: &str) -> &'p str {
    let (above, title) = path.rsplit_once(" > ").unwrap_or(("", path));
    let first = content.trim_start().lines().next().unwrap_or_default();
    let letters = |text: &'_ str| text.chars().filter(|c| c.is_alphanumeric()).collect::<String>();
    let title = letters(title);
    if !title.is_empty() && title == letters(first) { above } else { path }
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
