//! Sizes: the length of a document's ranges in each unit, exact and fast.
//!
//! A chunker asks for the sizes of very many overlapping ranges, so a document is counted once and a [`Ruler`]
//! answers from the stored counts. For token units this is exact, not an estimate: a range's tokens are those that
//! the tokenizer would produce for that substring alone. They differ from the document's own tokens only near the
//! range's ends, up to the next place where every tokenization must break. Only those ends are counted again; the
//! rest is the difference of two stored counts.

mod breaks;
mod cl100k;
mod code;
mod encoding;
mod ends;
mod gpt2;
mod o200k;
mod ruler;
mod runs;
mod words;

pub use cl100k::{Cl100k, cl100k};
pub use encoding::Encoding;
pub use ends::Ends;
pub use ruler::Ruler;

use chunkmill_base::error::{Error, Result};
use chunkmill_base::value::named;

use crate::document::{Document, around_data_urls, line};

/// Number of characters of code that seed 3 counts as one token.
const CHARS_PER_TOKEN: usize = 4;

/// A unit that sizes are measured in.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Unit {
    /// Unicode scalar values.
    Chars,
    /// Tokens of an [`Encoding`]; special tokens are treated as ordinary text.
    Tokens,
    /// 1.3 times the number of words, rounded down: an estimate of tokens. Words are separated by white space; a
    /// character of a script like Chinese is a word too, and a run of more than 32 other characters is several.
    Words,
    /// Seed 3's estimate of tokens: 1.3 times the number of these words outside code blocks, rounded down,
    /// and a quarter of the number of characters inside them, rounded down.
    Estimate,
    /// Tokens of the embedding model's own tokenizer, without the special ones it adds.
    Model,
    /// Lines, including a last line without a line feed.
    Lines,
}

impl Unit {
    /// All units.
    pub const ALL: [Self; 6] = [Self::Chars, Self::Tokens, Self::Words, Self::Estimate, Self::Model, Self::Lines];

    /// Returns the name used in settings and datasets.
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

/// The part of a tokenizer that sizes need.
pub trait TokenCounter: Send + Sync {
    /// Returns the number of tokens of a text.
    ///
    /// # Errors
    /// [`Error::Embed`] if the tokenizer fails on it.
    fn count(&self, text: &str) -> Result<usize>;

    /// Returns the byte offset just after each token of a text, in ascending order. The last is the text's length;
    /// an offset may be inside a character.
    ///
    /// # Errors
    /// [`Error::Embed`] if the tokenizer fails on it.
    fn ends(&self, text: &str) -> Result<Ends>;

    /// Returns where every tokenization breaks, regardless of the surrounding text. Sizes of ranges are computed
    /// from counts stored for these places; without any, each range is tokenized.
    fn breaks(&self) -> Breaks;
}

/// The places where a tokenizer is known to break.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Breaks {
    /// No known places.
    Unknown,
    /// Between the end of a word and white space.
    Words,
    /// Those of `Words`, and the start of each line that is not blank.
    WhiteSpace,
    /// Those of `WhiteSpace`, and between a letter or digit and a punctuation mark after it.
    Punctuation,
}

/// A way to measure texts in one unit.
#[derive(Clone, Copy)]
pub struct Sizer<'a> {
    measure: Measure<'a>,
    encoding: Encoding,
}

/// A unit with everything needed to measure in it.
#[derive(Clone, Copy)]
enum Measure<'a> {
    Chars,
    Tokens,
    Words,
    Estimate,
    Model(&'a dyn TokenCounter),
    Lines,
}

impl<'a> Sizer<'a> {
    /// Creates the sizer of a unit. Tokens, including those of [`Ruler::tokens_between`], are those of the
    /// encoding. `model` is only needed for [`Unit::Model`].
    ///
    /// # Errors
    /// [`Error::Setting`] if the unit is `model` and no model is given.
    pub fn new(unit: Unit, encoding: Encoding, model: Option<&'a dyn TokenCounter>) -> Result<Self> {
        let measure = match unit {
            Unit::Chars => Measure::Chars,
            Unit::Tokens => Measure::Tokens,
            Unit::Words => Measure::Words,
            Unit::Estimate => Measure::Estimate,
            Unit::Lines => Measure::Lines,
            Unit::Model => Measure::Model(model.ok_or_else(|| Error::Setting {
                origin: "unit".to_owned(),
                problem: "`model` counts an embedding model's tokens, but no model is set".to_owned(),
                help: "add --model FOLDER|HUB_ID".to_owned(),
            })?),
        };
        Ok(Self { measure, encoding })
    }

    /// Returns the same sizer with another measure.
    fn by(self, measure: Measure<'a>) -> Self {
        Self { measure, ..self }
    }

    /// Returns the size of a text that is not part of a document. Its code blocks are not known, so an estimate is
    /// the larger of its sizes as prose and as code. Inline `data:` URLs count as nothing, except in lines.
    ///
    /// # Errors
    /// Those of [`TokenCounter::count`].
    pub fn size(&self, text: &str) -> Result<usize> {
        match self.measure {
            Measure::Lines => Ok(line::split(text).count()),
            _ => around_data_urls(text).into_iter().map(|part| self.size_of(part)).sum(),
        }
    }

    /// Returns the size of a text without inline URLs.
    fn size_of(&self, text: &str) -> Result<usize> {
        Ok(match self.measure {
            Measure::Chars => text.chars().count(),
            Measure::Tokens => self.encoding.counter().count(text)?,
            Measure::Words => words_to_size(words::ends(text).count()),
            Measure::Estimate => {
                let words = words_to_size(words::ends(text).count());
                words.max(text.chars().count() / CHARS_PER_TOKEN)
            }
            Measure::Model(counter) => counter.count(text)?,
            Measure::Lines => line::split(text).count(),
        })
    }

    /// Returns the end of a text: as many of its last atoms (characters, tokens, words, lines) as fit in `size`. It
    /// starts at a character boundary, the nearest one if a token starts inside a character, and, except in lines,
    /// after the last inline `data:` URL.
    ///
    /// # Errors
    /// Those of [`TokenCounter::ends`].
    pub fn suffix<'t>(&self, text: &'t str, size: usize) -> Result<&'t str> {
        let Some(last) = size.checked_sub(1) else { return Ok("") };
        let is_lines = matches!(self.measure, Measure::Lines);
        let text = if is_lines { text } else { around_data_urls(text).pop().unwrap_or_default() };
        let tokens = |counter: &dyn TokenCounter| -> Result<usize> {
            let ends = counter.ends(text)?;
            let before = ends.len().checked_sub(size + 1);
            let start = before.and_then(|before| ends.iter().nth(before)).unwrap_or(0);
            Ok(nearest_boundary(text, start))
        };
        let start = match self.measure {
            Measure::Chars => text.char_indices().rev().nth(last).map_or(0, |(at, _)| at),
            Measure::Lines => (0..=last).fold(text.len(), |start, _| line::last(&text[..start])),
            Measure::Estimate => {
                let prose = self.by(Measure::Words).suffix(text, size)?;
                let code = self.by(Measure::Chars).suffix(text, size.saturating_mul(CHARS_PER_TOKEN))?;
                text.len() - prose.len().min(code.len())
            }
            Measure::Words => words::start_of_last(text, words_in(size)),
            Measure::Tokens => tokens(self.encoding.counter())?,
            Measure::Model(counter) => tokens(counter)?,
        };
        Ok(&text[start..])
    }

    /// Counts a document once and returns a ruler for its ranges.
    ///
    /// # Errors
    /// Those of [`TokenCounter::ends`].
    pub fn measure<'d>(&self, document: &'d Document) -> Result<Ruler<'d>>
    where
        'a: 'd,
    {
        Ruler::new(document, *self)
    }
}

/// Returns `int(1.3 × words)`, computed in integers.
fn words_to_size(words: usize) -> usize {
    words.saturating_mul(13) / 10
}

/// Returns the largest number of words whose size is at most `size`.
fn words_in(size: usize) -> usize {
    size.saturating_mul(10).saturating_add(9) / 13
}

/// Returns where `part`, a slice of `text`, starts in it.
fn offset_in(text: &str, part: &str) -> usize {
    part.as_ptr() as usize - text.as_ptr() as usize
}

/// Returns the byte offset just after each word, where only white space separates words.
pub fn word_ends(text: &str) -> impl Iterator<Item = u32> {
    text.split_whitespace().map(|word| u32::try_from(offset_in(text, word) + word.len()).unwrap_or(u32::MAX))
}

/// Returns the character boundary nearest to a byte offset; ties go to the earlier one.
fn nearest_boundary(text: &str, at: usize) -> usize {
    let down = text.floor_char_boundary(at);
    let up = text.ceil_char_boundary(at);
    if at - down <= up - at { down } else { up }
}
