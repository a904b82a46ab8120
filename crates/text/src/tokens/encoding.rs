//! The encodings that tokens can be counted in. The right one depends on the model that reads the chunks.
//!
//! `cl100k_base` is the one that nearly everybody compares with, and the default. It has its own counter, optimized
//! for the many short ranges of chunking; libraries count the tokens of the other encodings.

use std::thread;

use chunkmill_base::value::named;

use super::counter::TokenCounter;
use super::{cl100k, gpt2, o200k};

/// An encoding, which defines tokens. All encodings treat special tokens as ordinary text.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default)]
pub enum Encoding {
    /// Encoding of GPT-4, GPT-3.5 and the `text-embedding-3` models.
    #[default]
    Cl100kBase,
    /// Encoding of GPT-4o, GPT-4.1, GPT-5 and the o models.
    O200kBase,
    /// Encoding of gpt-oss. It differs from `o200k_base` only in its special tokens, so it counts the same.
    O200kHarmony,
    /// Encoding of Codex and the `text-davinci-002` and `-003` models.
    P50kBase,
    /// Encoding of GPT-2 and GPT-3.
    R50kBase,
}

impl Encoding {
    /// All encodings.
    pub const ALL: [Self; 5] = [Self::Cl100kBase, Self::O200kBase, Self::O200kHarmony, Self::P50kBase, Self::R50kBase];

    /// Returns the name used in settings and datasets, which is `OpenAI`'s.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Self::Cl100kBase => "cl100k_base",
            Self::O200kBase => "o200k_base",
            Self::O200kHarmony => "o200k_harmony",
            Self::P50kBase => "p50k_base",
            Self::R50kBase => "r50k_base",
        }
    }

    /// Returns the counter of its tokens, which is loaded once per process.
    #[must_use]
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

named!(Encoding, "an encoding");
