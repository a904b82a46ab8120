//! Exact `cl100k_base` token counts.
//!
//! The counter is the crate toktok-rs; tiktoken-rs is the reference in the tests. Why this one, from one
//! alternating run of all on 33 MB of markdown (3,112 files) on one thread, as ratios to toktok:
//!
//! | crate | files counted wrong | speed, first pass / later | start | memory after the start | 10 MB of `a` |
//! | --- | --- | --- | --- | --- | --- |
//! | toktok-rs 0.3 | 0 | 1 / 1 | 1 | 1 | 1 |
//! | bpe-openai 0.3 | 0 | 0.2 / 0.15 | 0.1 | 0.7 | 2 |
//! | fastokens 0.3 | 0 | 2.2 / 3 | 4 | 2.5 | 200 |
//! | tiktoken-rs 0.12 | 0 | 0.1 / 0.07 | 0.3 | 0.1 | – |
//!
//! - *Exact*: equal to tiktoken on every file of two corpora, 59 MB and 33 MB, and on random strings.
//! - *Linear*, at 3 to 10 ms a megabyte of one character repeated: what a crawler finds costs no more than
//!   prose. fastokens, the fastest on prose, takes a second for a megabyte of one letter, of spaces or of
//!   line feeds, where no limit of ours would stop it.
//! - *Kept well*: no dependency and 4,300 lines, with its vocabulary embedded. fastokens has 30,000 lines
//!   and wants its vocabulary brought along.
//! - *Start*: its tables take some 0.14 s of processor time, on a thread of their own with [`load_cl100k`].
//!
//! A counter of our own before it was tried: it found the pieces of ASCII text 63 bytes at a time with bit
//! masks, remembered the tokens of pieces under 64 bytes, and left the rest to toktok. It was exact, and
//! 1.1 to 1.5 times as fast. 350 lines and 5 MB a thread were too much for that: a document is counted
//! once, which takes little longer than to parse it.

use std::sync::OnceLock;
use std::thread;

use super::{Breaks, TokenCounter};
use crate::error::Result;

/// The `cl100k_base` encoding, loaded once for the process.
pub struct Cl100k(toktok::Tokenizer);

/// The one instance.
///
/// # Panics
/// Never in practice: the vocabulary is part of the program.
pub fn cl100k() -> &'static Cl100k {
    static INSTANCE: OnceLock<Cl100k> = OnceLock::new();
    INSTANCE.get_or_init(|| {
        #[expect(clippy::expect_used, reason = "the vocabulary is embedded; nothing can be missing")]
        let tokenizer = toktok::Tokenizer::builtin("cl100k_base").expect("embedded vocabulary");
        Cl100k(tokenizer)
    })
}

/// Starts to load [`cl100k`] on a thread of its own, so that it is there, or nearly, when it is needed.
pub fn load_cl100k() {
    // Without the thread it is loaded when it is needed.
    let _ = thread::Builder::new().name("cl100k".to_owned()).spawn(cl100k);
}

impl Cl100k {
    /// Token ids of a text, as tiktoken's `encode_ordinary` gives them.
    #[must_use]
    pub fn encode(&self, text: &str) -> Vec<u32> {
        self.0.encode(text.as_bytes())
    }
}

impl TokenCounter for Cl100k {
    fn count(&self, text: &str) -> Result<usize> {
        // What is left of a range is often one mark at its end.
        Ok(if text.len() == 1 { 1 } else { self.0.count(text.as_bytes()) })
    }

    fn ends(&self, text: &str) -> Result<Vec<u32>> {
        // Each token becomes its end in place.
        let mut ends = self.encode(text);
        let mut end = 0;
        for token in &mut ends {
            end += self.0.vocab().token_len(*token);
            *token = end;
        }
        Ok(ends)
    }

    fn breaks(&self) -> Breaks {
        Breaks::Punctuation
    }
}
