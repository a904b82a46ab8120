//! From what the model reads a chunk's vector is made. Read alone, a passage says what stands in it; read with what surrounds
//! it, also what its pronouns and its terse headings mean, and one pass over a document serves any number of chunkings.

use crate::value::named;

/// What the model reads to make the vector of a chunk.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default)]
pub enum Pooling {
    /// Its text, alone.
    #[default]
    Chunk,
    /// Its document, in windows that overlap; the vector is the mean over the chunk's tokens. Known as late chunking
    /// (Günther et al. 2024, arXiv 2409.04701).
    Late,
}

impl Pooling {
    /// Every choice.
    pub const ALL: [Self; 2] = [Self::Chunk, Self::Late];

    /// The name used in settings.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Self::Chunk => "chunk",
            Self::Late => "late",
        }
    }
}

named!(Pooling, "a pooling");
