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
mod counter;
mod encoding;
mod ends;
mod gpt2;
mod o200k;
mod ruler;
mod runs;
mod sizer;
mod unit;
mod words;

pub use breaks::Breaks;
pub use cl100k::{Cl100k, cl100k};
pub use counter::TokenCounter;
pub use encoding::Encoding;
pub use ends::Ends;
pub use ruler::Ruler;
pub use sizer::Sizer;
pub use unit::Unit;
pub use words::word_ends;
