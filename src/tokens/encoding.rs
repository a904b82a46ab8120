//! The encodings that tokens can be counted in: whose model reads the chunks decides.
//!
//! `cl100k_base` is what nearly everybody compares with, and the default. It has a counter of its own, made for the
//! many short ranges of chunking; the others are counted by the libraries that know them.

use std::thread;

use super::{TokenCounter, cl100k, gpt2, o200k};
use crate::value::named;

/// Which tokens. Special tokens are taken as ordinary text in all of them.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default)]
pub enum Encoding {
    /// That of GPT-4, GPT-3.5 and the `text-embedding-3` models.
    #[default]
    Cl100kBase,
    /// That of GPT-4o, GPT-4.1, GPT-5 and the o models.
    O200kBase,
    /// That of gpt-oss. It differs from `o200k_base` in its special tokens alone, so it counts the same.
    O200kHarmony,
    /// That of Codex and the `text-davinci-002` and `-003` models.
    P50kBase,
    /// That of GPT-2 and GPT-3.
    R50kBase,
}

impl Encoding {
    /// Every encoding.
    pub const ALL: [Self; 5] = [Self::Cl100kBase, Self::O200kBase, Self::O200kHarmony, Self::P50kBase, Self::R50kBase];

    /// The name used in settings and datasets, which is `OpenAI`'s.
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

    /// What counts its tokens, loaded once for the process.
    #[must_use]
    pub fn counter(self) -> &'static dyn TokenCounter {
        match self {
            Self::Cl100kBase => cl100k(),
            Self::O200kBase | Self::O200kHarmony => o200k::o200k(),
            Self::P50kBase => gpt2::p50k(),
            Self::R50kBase => gpt2::r50k(),
        }
    }

    /// Starts to load [`counter`](Self::counter) on a thread of its own, so that it is there, or nearly, when it is
    /// needed.
    pub fn load(self) {
        // Without the thread it is loaded when it is needed.
        let _ = thread::Builder::new().name(self.name().to_owned()).spawn(move || self.counter());
    }
}

named!(Encoding, "an encoding");
