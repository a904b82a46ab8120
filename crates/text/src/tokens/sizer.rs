//! Sizes of texts in one unit.

use chunkmill_base::error::{Error, Result};

use super::counter::TokenCounter;
use super::encoding::Encoding;
use super::unit::Unit;
use super::words;
use crate::document::{around_data_urls, line};

/// Number of characters of code that the unit `estimate` counts as one token.
pub(super) const CHARS_PER_TOKEN: usize = 4;

/// A way to measure texts in one unit.
#[derive(Clone, Copy)]
pub struct Sizer<'a> {
    pub(super) measure: Measure<'a>,
    pub(super) encoding: Encoding,
}

/// A unit with everything needed to measure in it.
#[derive(Clone, Copy)]
pub(super) enum Measure<'a> {
    Chars,
    Tokens,
    Words,
    Estimate,
    Model(&'a dyn TokenCounter),
    Lines,
}

impl<'a> Sizer<'a> {
    /// Creates the sizer of a unit. Tokens, including those of [`Ruler::tokens_between`](super::Ruler::tokens_between), are those of the
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
            Unit::Model => Measure::Model(model.ok_or_else(|| {
                Error::setting(
                    "unit",
                    "`model` counts an embedding model's tokens, but no model is set",
                    "add --model FOLDER|HUB_ID",
                )
            })?),
        };
        Ok(Self { measure, encoding })
    }

    /// Returns the same sizer with another measure.
    pub(super) fn by(self, measure: Measure<'a>) -> Self {
        Self { measure, ..self }
    }

    /// Returns the size of a text that is not part of a document. Its code blocks are not known, so an estimate is
    /// the larger of its sizes as prose and as code. Inline `data:` URLs count as nothing, except in lines.
    pub fn size(&self, text: &str) -> Result<usize> {
        match self.measure {
            Measure::Lines => Ok(line::split(text).count()),
            _ => around_data_urls(text).into_iter().map(|part| self.size_of(part)).sum(),
        }
    }

    /// Returns the size of a text without inline URLs.
    pub(super) fn size_of(&self, text: &str) -> Result<usize> {
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
}

/// Returns `int(1.3 × words)`, computed in integers.
pub(super) fn words_to_size(words: usize) -> usize {
    words.saturating_mul(13) / 10
}

/// Returns the largest number of words whose size is at most `size`.
pub(super) fn words_in(size: usize) -> usize {
    size.saturating_mul(10).saturating_add(9) / 13
}

/// Returns the character boundary nearest to a byte offset; ties go to the earlier one.
pub(super) fn nearest_boundary(text: &str, at: usize) -> usize {
    let down = text.floor_char_boundary(at);
    let up = text.ceil_char_boundary(at);
    if at - down <= up - at { down } else { up }
}
