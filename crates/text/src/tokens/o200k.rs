//! Exact `o200k_base` token counts by toktok-rs; [`cl100k`](super::cl100k) explains the choice of that crate.

use std::sync::OnceLock;

use chunkmill_base::error::Result;
use toktok::Tokenizer;

use super::breaks::Breaks;
use super::counter::TokenCounter;
use super::ends::Ends;
use super::runs::token_lengths;

pub(super) struct O200k(Tokenizer);

/// Returns the shared instance.
pub(super) fn o200k() -> &'static O200k {
    static INSTANCE: OnceLock<O200k> = OnceLock::new();
    INSTANCE.get_or_init(|| {
        #[expect(clippy::expect_used, reason = "the vocabulary is embedded; nothing can be missing")]
        let tokenizer = Tokenizer::builtin("o200k_base").expect("embedded vocabulary");
        O200k(tokenizer)
    })
}

impl O200k {
    /// Returns the number of bytes of each token of a text.
    fn lengths(&self, text: &str) -> Vec<u32> {
        let encode = |text: &[u8], lengths: &mut Vec<u32>| {
            let tokens = self.0.encode(text);
            lengths.extend(tokens.into_iter().map(|token| self.0.vocab().token_len(token)));
        };
        let mut lengths = Vec::new();
        token_lengths(text.as_bytes(), encode, &mut lengths);
        lengths
    }
}

impl TokenCounter for O200k {
    fn count(&self, text: &str) -> Result<usize> {
        Ok(self.lengths(text).len())
    }

    fn ends(&self, text: &str) -> Result<Ends> {
        Ok(Ends::of_lengths(text.len(), self.lengths(text)))
    }

    fn breaks(&self) -> Breaks {
        Breaks::Words
    }
}
