//! The units that sizes are measured in.

use chunkmill_base::value::named;

named! {
    /// A unit that sizes are measured in.
    #[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
    pub enum Unit: "a unit" {
        /// Unicode scalar values.
        Chars = "chars",
        /// Tokens of an [`Encoding`](super::Encoding); special tokens are treated as ordinary text.
        Tokens = "tokens",
        /// 1.3 times the number of words, rounded down: an estimate of tokens. Words are separated by white space; a
        /// character of a script like Chinese is a word too, and a run of more than 32 other characters is several.
        Words = "words",
        /// The estimate of tokens of the preset `docs`: 1.3 times the number of these words outside code blocks, rounded down,
        /// and a quarter of the number of characters inside them, rounded down.
        Estimate = "estimate",
        /// Tokens of the embedding model's own tokenizer, without the special ones it adds.
        Model = "model",
        /// Lines, including a last line without a line feed.
        Lines = "lines",
    }
}
