//! Exact token counts of the encodings that split text like GPT-2, by tiktoken-rs.
//!
//! Its regular expression keeps every way to match a run of white space before a visible character, and gives up at
//! a million characters. Long runs are therefore cut off first: all but the last character is one piece, as the
//! pattern's `\s+(?!\S)` says, and the last character starts the next text.

use std::collections::HashSet;
use std::sync::OnceLock;

use chunkmill_base::error::{Error, Result};
use tiktoken_rs::{CoreBPE, Rank, p50k_base, r50k_base};

use super::breaks::Breaks;
use super::counter::TokenCounter;
use super::ends::Ends;

/// Number of bytes above which white space is cut off; any number far below a million works.
const LONG: usize = 4096;

pub(super) struct Gpt2 {
    bpe: CoreBPE,
    /// Number of bytes of each token.
    bytes: Vec<u32>,
}

/// Returns the shared instance for `p50k_base`.
pub(super) fn p50k() -> &'static Gpt2 {
    static INSTANCE: OnceLock<Gpt2> = OnceLock::new();
    INSTANCE.get_or_init(|| Gpt2::new(p50k_base()))
}

/// Returns the shared instance for `r50k_base`.
pub(super) fn r50k() -> &'static Gpt2 {
    static INSTANCE: OnceLock<Gpt2> = OnceLock::new();
    INSTANCE.get_or_init(|| Gpt2::new(r50k_base()))
}

impl Gpt2 {
    #[expect(clippy::expect_used, reason = "the vocabulary is embedded; nothing can be missing")]
    fn new<E: std::fmt::Debug>(bpe: std::result::Result<CoreBPE, E>) -> Self {
        let bpe = bpe.expect("embedded vocabulary");
        // Every number up to the last is the id of a token, including the special one.
        let token = |id: Rank| bpe.decode_bytes(&[id]).ok();
        let bytes = (0..).map_while(token).map(|token| u32::try_from(token.len()).unwrap_or(u32::MAX)).collect();
        Self { bpe, bytes }
    }

    /// Returns the number of bytes of each token of a text.
    fn lengths(&self, text: &str) -> Result<Vec<u32>> {
        let mut lengths = Vec::new();
        let mut from = 0;
        for to in cuts(text).chain([text.len()]) {
            let encoded = self.bpe.encode(&text[from..to], &HashSet::new());
            let (tokens, _) =
                encoded.map_err(|error| Error::Embed { doing: "counting tokens", problem: error.to_string() })?;
            lengths.extend(tokens.into_iter().map(|token| self.bytes[token as usize]));
            from = to;
        }
        Ok(lengths)
    }
}

/// Returns where each long run of white space before a visible character starts, and where its last character
/// starts.
fn cuts(text: &str) -> impl Iterator<Item = usize> {
    let mut after = 0;
    let visible = text.char_indices().filter(|(_, c)| !c.is_whitespace());
    let long = visible.filter_map(move |(at, c)| {
        let start = std::mem::replace(&mut after, at + c.len_utf8());
        (at - start > LONG).then(|| [start, text.floor_char_boundary(at - 1)])
    });
    long.flatten()
}

impl TokenCounter for Gpt2 {
    fn count(&self, text: &str) -> Result<usize> {
        Ok(self.lengths(text)?.len())
    }

    fn ends(&self, text: &str) -> Result<Ends> {
        Ok(Ends::of_lengths(text.len(), self.lengths(text)?))
    }

    fn breaks(&self) -> Breaks {
        Breaks::Words
    }
}
