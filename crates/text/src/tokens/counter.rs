//! The part of a tokenizer that sizes need.

use chunkmill_base::error::Result;

use super::breaks::Breaks;
use super::ends::Ends;

/// The part of a tokenizer that sizes need.
pub trait TokenCounter: Send + Sync {
    /// Returns the number of tokens of a text.
    ///
    /// # Errors
    /// [`Error::Embed`](chunkmill_base::error::Error::Embed) if the tokenizer fails on it.
    fn count(&self, text: &str) -> Result<usize>;

    /// Returns the byte offset just after each token of a text, in ascending order. The last is the text's length;
    /// an offset may be inside a character.
    ///
    /// # Errors
    /// [`Error::Embed`](chunkmill_base::error::Error::Embed) if the tokenizer fails on it.
    fn ends(&self, text: &str) -> Result<Ends>;

    /// Returns where every tokenization breaks, regardless of the surrounding text. Sizes of ranges are computed
    /// from counts stored for these places; without any, each range is tokenized.
    fn breaks(&self) -> Breaks;
}
