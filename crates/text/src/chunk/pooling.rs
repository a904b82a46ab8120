//! The text from which the model computes a chunk's vector. Read alone, a passage conveys only what it says
//! itself. Read with the text around it, it also conveys what its pronouns and terse headings mean, and one pass
//! over a document serves any number of chunkings.

use chunkmill_base::value::named;

named! {
    /// The text that the model reads to compute a chunk's vector.
    #[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default)]
    pub enum Pooling: "a kind of pooling" {
        /// The chunk's text alone.
        #[default]
        Chunk = "chunk",
        /// The whole document, in overlapping windows; the vector is the mean over the chunk's tokens. Known as late
        /// chunking (Günther et al. 2024, arXiv 2409.04701).
        Late = "late",
    }
}
