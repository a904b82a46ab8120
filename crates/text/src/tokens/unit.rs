//! The units that sizes are measured in.

use chunkmill_base::value::named;

/// A unit that sizes are measured in.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Unit {
    /// Unicode scalar values.
    Chars,
    /// Tokens of an [`Encoding`](super::Encoding); special tokens are treated as ordinary text.
    Tokens,
    /// 1.3 times the number of words, rounded down: an estimate of tokens. Words are separated by white space; a
    /// character of a script like Chinese is a word too, and a run of more than 32 other characters is several.
    Words,
    /// The estimate of tokens of the preset `docs`: 1.3 times the number of these words outside code blocks, rounded down,
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
