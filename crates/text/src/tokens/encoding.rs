//! The encodings that tokens can be counted in. The right one depends on the model that reads the chunks.
//!
//! `cl100k_base` is the one that nearly everybody compares with, and the default. It has its own counter, optimized
//! for the many short ranges of chunking; libraries count the tokens of the other encodings.

use std::thread;

use chunkmill_base::value::named;

use super::counter::TokenCounter;
use super::{cl100k, gpt2, o200k};

named! {
    /// An encoding, which defines tokens. All encodings treat special tokens as ordinary text.
    #[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default)]
    pub enum Encoding: "an encoding" {
        /// Encoding of GPT-4, GPT-3.5 and the `text-embedding-3` models.
        #[default]
        Cl100kBase = "cl100k_base",
        /// Encoding of GPT-4o, GPT-4.1, GPT-5 and the o models.
        O200kBase = "o200k_base",
        /// Encoding of gpt-oss. It differs from `o200k_base` only in its special tokens, so it counts the same.
        O200kHarmony = "o200k_harmony",
        /// Encoding of Codex and the `text-davinci-002` and `-003` models.
        P50kBase = "p50k_base",
        /// Encoding of GPT-2 and GPT-3.
        R50kBase = "r50k_base",
    }
}

impl Encoding {
    /// Returns the counter of its tokens, which is loaded once per process.
    pub fn counter(self) -> &'static dyn TokenCounter {
        match self {
            Self::Cl100kBase => cl100k(),
            Self::O200kBase | Self::O200kHarmony => o200k::o200k(),
            Self::P50kBase => gpt2::p50k(),
            Self::R50kBase => gpt2::r50k(),
        }
    }

    /// Starts loading [`counter`](Self::counter) on a separate thread, so it is ready, or nearly ready, when it is
    /// needed.
    pub fn load(self) {
        // If the thread cannot be started, the counter is loaded when it is needed.
        let _ = thread::Builder::new().name(self.name().to_owned()).spawn(move || self.counter());
    }
}
