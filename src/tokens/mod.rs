//! Sizes: how long a range of a document is in each unit, exactly and fast.
//!
//! A chunker asks for the size of very many overlapping ranges, so a document is counted once and
//! a [`Ruler`] answers from what was stored. For token units this is exact, not an estimate: a
//! range's tokens are those that the tokenizer would make of that substring alone. They differ
//! from the document's own tokens only near the range's ends, up to the next place where every
//! tokenization must break; so only those ends are counted again and the rest is a difference of
//! two stored positions.

mod cl100k;

use std::ops::Range;

pub use cl100k::{Cl100k, cl100k};

use crate::document::{BlockKind, Document, Positions};
use crate::error::{Error, Result};
use crate::named::named;

/// Characters of code that seed 3 takes for a token.
const CHARS_PER_TOKEN: usize = 4;

/// What sizes are measured in.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Unit {
    /// Unicode scalar values.
    Chars,
    /// Tokens of the `cl100k_base` encoding, special tokens taken as ordinary text.
    Tokens,
    /// 1.3 times the number of words between white space, rounded down: an estimate of tokens.
    Words,
    /// Seed 3's estimate of tokens: 1.3 times the number of words outside code blocks, rounded down,
    /// and a quarter of the number of characters inside them, rounded down.
    Estimate,
    /// Tokens of the embedding model's own tokenizer, without the special ones it adds.
    Model,
    /// Lines, a last one without a line feed included.
    Lines,
}

impl Unit {
    /// Every unit.
    pub const ALL: [Self; 6] = [Self::Chars, Self::Tokens, Self::Words, Self::Estimate, Self::Model, Self::Lines];

    /// The name used in settings and datasets.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Self::Chars => "chars",
            Self::Tokens => "tokens",
            Self::Words => "words",
            Self::Estimate => "estimate",
            Self::Model => "model",
            Self::Lines => "lines",
        }
    }
}

named!(Unit, "a unit");

/// A tokenizer, as far as sizes need one.
pub trait TokenCounter: Send + Sync {
    /// Number of tokens of a text.
    ///
    /// # Errors
    /// [`Error::Embed`] if the tokenizer fails on it.
    fn count(&self, text: &str) -> Result<usize>;

    /// Byte offset just after each token of a text, ascending. The last is the text's length; an
    /// offset may lie inside a character.
    ///
    /// # Errors
    /// [`Error::Embed`] if the tokenizer fails on it.
    fn ends(&self, text: &str) -> Result<Vec<u32>>;

    /// Whether every tokenization breaks where a word ends before white space and where a line
    /// starts with something else than white space. Sizes of ranges are then found from stored
    /// positions; otherwise each range is tokenized.
    fn breaks_between_words(&self) -> bool;
}

/// Measures in one unit.
#[derive(Clone, Copy)]
pub enum Sizer<'a> {
    /// See [`Unit::Chars`].
    Chars,
    /// See [`Unit::Tokens`].
    Tokens,
    /// See [`Unit::Words`].
    Words,
    /// See [`Unit::Estimate`].
    Estimate,
    /// See [`Unit::Model`].
    Model(&'a dyn TokenCounter),
    /// See [`Unit::Lines`].
    Lines,
}

impl<'a> Sizer<'a> {
    /// The sizer of a unit. `model` is needed for [`Unit::Model`] alone.
    ///
    /// # Errors
    /// [`Error::Setting`] if the unit is `model` and there is none.
    pub fn new(unit: Unit, model: Option<&'a dyn TokenCounter>) -> Result<Self> {
        Ok(match unit {
            Unit::Chars => Self::Chars,
            Unit::Tokens => Self::Tokens,
            Unit::Words => Self::Words,
            Unit::Estimate => Self::Estimate,
            Unit::Lines => Self::Lines,
            Unit::Model => Self::Model(model.ok_or_else(|| Error::Setting {
                origin: "unit".to_owned(),
                problem: "`model` counts an embedding model's tokens, and no model is set".to_owned(),
                help: "add --model FOLDER|HUB_ID".to_owned(),
            })?),
        })
    }

    /// Size of a text that is not part of a document. What in it is code is not known, so an estimate
    /// is the larger of that as prose and that as code.
    ///
    /// # Errors
    /// Those of [`TokenCounter::count`].
    pub fn size(&self, text: &str) -> Result<usize> {
        Ok(match self {
            Self::Chars => text.chars().count(),
            Self::Tokens => cl100k().count(text)?,
            Self::Words => words_to_size(text.split_whitespace().count()),
            Self::Estimate => {
                let words = words_to_size(text.split_whitespace().count());
                words.max(text.chars().count() / CHARS_PER_TOKEN)
            }
            Self::Model(counter) => counter.count(text)?,
            Self::Lines => text.split_inclusive('\n').count(),
        })
    }

    /// The end of a text: as many of its last atoms (characters, tokens, words, lines) as make
    /// `size`. It starts at a character boundary, the nearest one if a token starts inside a
    /// character.
    ///
    /// # Errors
    /// Those of [`TokenCounter::ends`].
    pub fn suffix<'t>(&self, text: &'t str, size: usize) -> Result<&'t str> {
        let Some(last) = size.checked_sub(1) else { return Ok("") };
        let tokens = |counter: &dyn TokenCounter| -> Result<usize> {
            let ends = counter.ends(text)?;
            let start = ends.len().checked_sub(size + 1).map_or(0, |before| ends[before] as usize);
            Ok(nearest_boundary(text, start))
        };
        let start = match *self {
            Self::Chars => text.char_indices().rev().nth(last).map_or(0, |(at, _)| at),
            Self::Lines => text.split_inclusive('\n').rev().nth(last).map_or(0, |line| offset_in(text, line)),
            Self::Estimate => {
                let prose = Self::Words.suffix(text, size)?;
                let code = Self::Chars.suffix(text, size.saturating_mul(CHARS_PER_TOKEN))?;
                text.len() - prose.len().min(code.len())
            }
            Self::Words => match words_in(size).checked_sub(1) {
                Some(last) => text.split_whitespace().rev().nth(last).map_or(0, |word| offset_in(text, word)),
                None => text.len(),
            },
            Self::Tokens => tokens(cl100k())?,
            Self::Model(counter) => tokens(counter)?,
        };
        Ok(&text[start..])
    }

    /// Counts a document once, to answer for its ranges.
    ///
    /// # Errors
    /// Those of [`TokenCounter::ends`].
    pub fn measure<'d>(&self, document: &'d Document) -> Result<Ruler<'d>>
    where
        'a: 'd,
    {
        let tokens = |counter: &'d dyn TokenCounter| -> Result<Index<'d>> {
            let ends = if counter.breaks_between_words() { counter.ends(&document.text)? } else { Vec::new() };
            Ok(Index::Tokens { counter, ends })
        };
        let index = match *self {
            Self::Chars => Index::Chars,
            Self::Lines => Index::Lines,
            Self::Words => Index::Words { ends: word_ends(&document.text), code: Code::default() },
            Self::Estimate => {
                let code = Code::of(document);
                let outside = |end: &u32| !code.holds(*end as usize - 1);
                Index::Words { ends: word_ends(&document.text).into_iter().filter(outside).collect(), code }
            }
            Self::Tokens => tokens(cl100k())?,
            Self::Model(counter) => tokens(counter)?,
        };
        Ok(Ruler { document, sizer: *self, index })
    }
}

/// Answers for the ranges of one document in one unit.
pub struct Ruler<'d> {
    document: &'d Document,
    sizer: Sizer<'d>,
    index: Index<'d>,
}

enum Index<'d> {
    Chars,
    Lines,
    /// Where words outside of `code` end, and the code blocks whose characters are counted instead.
    Words {
        ends: Vec<u32>,
        code: Code,
    },
    Tokens {
        counter: &'d dyn TokenCounter,
        ends: Vec<u32>,
    },
}

impl Ruler<'_> {
    /// Size of a range whose ends are character boundaries: exactly that of its text alone.
    ///
    /// # Errors
    /// Those of [`TokenCounter::count`].
    pub fn size(&self, range: Range<usize>) -> Result<usize> {
        let positions = &self.document.positions;
        Ok(match &self.index {
            Index::Chars => positions.char_at(range.end) - positions.char_at(range.start),
            Index::Lines => positions.lines_in(range),
            Index::Words { ends, code } => {
                words_to_size(self.words(ends, code, &range)) + code.chars(positions, &range) / CHARS_PER_TOKEN
            }
            Index::Tokens { counter, ends } => self.tokens(*counter, ends, range)?,
        })
    }

    /// Size of a text, then a range, then another text.
    ///
    /// # Errors
    /// Those of [`TokenCounter::count`].
    pub fn size_between(&self, prefix: &str, range: Range<usize>, suffix: &str) -> Result<usize> {
        if prefix.is_empty() && suffix.is_empty() {
            return self.size(range);
        }
        if matches!(self.sizer, Sizer::Estimate) {
            return Ok(self.sizer.size(prefix)? + self.size(range)? + self.sizer.size(suffix)?);
        }
        self.sizer.size(&format!("{prefix}{}{suffix}", &self.document.text[range]))
    }

    /// Byte offset just after each atom (character, token, word, line) of a range's text; atoms of
    /// an estimate are words outside of code and as many characters as make a token inside. Every
    /// offset is a character boundary, a token that ends inside a character being moved to the
    /// nearer side; the last is the end of the range.
    ///
    /// # Errors
    /// Those of [`TokenCounter::ends`].
    pub fn atoms(&self, range: &Range<usize>) -> Result<Vec<usize>> {
        let text = &self.document.text;
        let slice = &text[range.clone()];
        let mut ends: Vec<usize> = match &self.index {
            Index::Chars => slice.char_indices().skip(1).map(|(at, _)| range.start + at).chain([range.end]).collect(),
            Index::Lines => self.document.positions.line_ends(range.clone()).collect(),
            Index::Words { ends, code } => {
                let first = ends.partition_point(|&end| (end as usize) <= range.start);
                let mut words = ends[first..].iter().map(|&end| end as usize).peekable();
                let mut atoms = Vec::new();
                for block in code.within(range) {
                    atoms.extend(std::iter::from_fn(|| words.next_if(|&end| end <= block.start)));
                    let chars = text[block.clone()].char_indices().map(|(at, _)| block.start + at);
                    atoms.extend(chars.step_by(CHARS_PER_TOKEN).skip(1).chain([block.end]));
                }
                atoms.extend(words.take_while(|&end| end <= range.end));
                atoms
            }
            Index::Tokens { counter, .. } => {
                counter.ends(slice)?.into_iter().map(|end| nearest_boundary(text, range.start + end as usize)).collect()
            }
        };
        match ends.last_mut() {
            Some(last) => *last = range.end,
            None => ends.push(range.end),
        }
        Ok(ends)
    }

    /// How many atoms, whichever they are, make a text of at most `size`.
    #[must_use]
    pub fn atoms_in(&self, size: usize) -> usize {
        match self.index {
            Index::Words { .. } => words_in(size),
            _ => size,
        }
    }

    /// No text of at most `size` has more atoms than this.
    #[must_use]
    pub fn most_atoms_in(&self, size: usize) -> usize {
        match &self.index {
            Index::Words { code, .. } if code.blocks.is_empty() => words_in(size),
            _ => size,
        }
    }

    fn words(&self, ends: &[u32], code: &Code, range: &Range<usize>) -> usize {
        if range.is_empty() {
            return 0;
        }
        let text = &self.document.text;
        let before = |byte: usize| ends.partition_point(|&end| (end as usize) <= byte);
        let complete = before(range.end) - before(range.start);
        let cut = text[..range.end].chars().next_back().is_some_and(|c| !c.is_whitespace())
            && text[range.end..].chars().next().is_some_and(|c| !c.is_whitespace())
            && !code.holds(range.end - 1);
        complete + usize::from(cut)
    }

    fn tokens(&self, counter: &dyn TokenCounter, ends: &[u32], range: Range<usize>) -> Result<usize> {
        let text = &self.document.text;
        if range.is_empty() {
            return Ok(0);
        }
        if range == (0..text.len()) && !ends.is_empty() {
            return Ok(ends.len());
        }
        let inner = !ends.is_empty();
        let first = if inner { (range.start..range.end).find(|&at| breaks_at(text, at)) } else { None };
        let last = first.and_then(|first| (first..range.end).rev().find(|&at| breaks_at(text, at)));
        let (Some(first), Some(last)) = (first, last) else { return counter.count(&text[range]) };
        let before = |byte: usize| ends.partition_point(|&end| (end as usize) <= byte);
        let head = if first == range.start { 0 } else { counter.count(&text[range.start..first])? };
        Ok(head + (before(last) - before(first)) + counter.count(&text[last..range.end])?)
    }
}

/// The code blocks of a document, in order, none inside another.
#[derive(Default)]
struct Code {
    blocks: Vec<Range<usize>>,
    /// Characters in all blocks before each.
    chars_before: Vec<usize>,
}

impl Code {
    fn of(document: &Document) -> Self {
        let mut code = Self::default();
        let mut chars = 0;
        for block in document.blocks.iter().filter(|block| block.kind == BlockKind::Code) {
            let start = block.range.start.max(code.blocks.last().map_or(0, |last| last.end));
            if start < block.range.end {
                code.blocks.push(start..block.range.end);
                code.chars_before.push(chars);
                chars += document.positions.char_at(block.range.end) - document.positions.char_at(start);
            }
        }
        code
    }

    /// The last block that starts at or before a byte.
    fn block_before(&self, byte: usize) -> Option<usize> {
        self.blocks.partition_point(|block| block.start <= byte).checked_sub(1)
    }

    fn holds(&self, byte: usize) -> bool {
        self.block_before(byte).is_some_and(|block| byte < self.blocks[block].end)
    }

    /// How many characters of a range are in code.
    fn chars(&self, positions: &Positions, range: &Range<usize>) -> usize {
        let before = |byte: usize| match self.block_before(byte) {
            None => 0,
            Some(at) => {
                let block = &self.blocks[at];
                let end = byte.min(block.end);
                self.chars_before[at] + positions.char_at(end) - positions.char_at(block.start)
            }
        };
        before(range.end) - before(range.start)
    }

    /// What a range holds of each block that it touches.
    fn within(&self, range: &Range<usize>) -> impl Iterator<Item = Range<usize>> {
        let first = self.blocks.partition_point(|block| block.end <= range.start);
        let touched = self.blocks[first..].iter().take_while(|block| block.start < range.end);
        touched.map(|block| block.start.max(range.start)..block.end.min(range.end))
    }
}

/// Whether every tokenization of a text breaks before the byte at `at`, whatever surrounds it.
///
/// Two cases, each a consequence of a pattern in which no piece runs from a non-space into a space
/// other than a line end: a word ends before a space or tab, or a line starts with something else
/// than white space. Both can only be true of a character boundary.
fn breaks_at(text: &str, at: usize) -> bool {
    let bytes = text.as_bytes();
    match (at.checked_sub(1).map(|before| bytes[before]), bytes.get(at)) {
        (Some(_), Some(b' ' | b'\t')) => text[..at].chars().next_back().is_some_and(|c| !c.is_whitespace()),
        (Some(b'\n'), Some(_)) => text[at..].chars().next().is_some_and(|c| !c.is_whitespace()),
        _ => false,
    }
}

/// `int(1.3 × words)`, in integers.
fn words_to_size(words: usize) -> usize {
    words.saturating_mul(13) / 10
}

/// The most words whose size is at most `size`.
fn words_in(size: usize) -> usize {
    size.saturating_mul(10).saturating_add(9) / 13
}

/// Where `part`, a slice of `text`, starts in it.
fn offset_in(text: &str, part: &str) -> usize {
    part.as_ptr() as usize - text.as_ptr() as usize
}

/// Byte offset just after each word between white space.
pub(crate) fn word_ends(text: &str) -> Vec<u32> {
    let end = |word: &str| u32::try_from(offset_in(text, word) + word.len()).unwrap_or(u32::MAX);
    text.split_whitespace().map(end).collect()
}

/// The character boundary nearest to a byte offset, the earlier of two equally near ones.
fn nearest_boundary(text: &str, at: usize) -> usize {
    let down = text.floor_char_boundary(at);
    let up = text.ceil_char_boundary(at);
    if at - down <= up - at { down } else { up }
}
