//! Exact `cl100k_base` token counts.
//!
//! Pieces of ASCII, Latin and Cyrillic text are found with masks (`pieces`), others one character at a time
//! (`pattern`). The token ends of pieces seen before are cached (`memo`). New pieces are tokenized here (`ranks`), and
//! those of kilobytes by the crate toktok-rs; tiktoken-rs is the reference in the tests. These measurements led to toktok-rs. They are ratios
//! to toktok from one alternating run of all crates on 33 MB of markdown (3,112 files) on one thread:
//!
//! | crate | files counted wrong | speed, first pass / later | start | memory after the start | 10 MB of `a` |
//! | --- | --- | --- | --- | --- | --- |
//! | toktok-rs 0.3 | 0 | 1 / 1 | 1 | 1 | 1 |
//! | bpe-openai 0.3 | 0 | 0.2 / 0.15 | 0.1 | 0.7 | 2 |
//! | fastokens 0.3 | 0 | 2.2 / 3 | 4 | 2.5 | 200 |
//! | tiktoken-rs 0.12 | 0 | 0.1 / 0.07 | 0.3 | 0.1 | – |
//!
//! - *Exact*: equal to tiktoken on every file of two corpora, 59 MB and 33 MB, and on random strings.
//! - *Linear*: 3 to 10 ms for a megabyte of one repeated character, so anything that a crawler finds costs no more
//!   than prose. fastokens, the fastest on prose, takes a second for a megabyte of one letter, of spaces or of line
//!   feeds, and no limit in chunkmill would prevent that.
//! - *Maintainable*: no dependencies, 4,300 lines and an embedded vocabulary. fastokens has 30,000 lines and needs
//!   its vocabulary to be supplied.
//! - *Start*: its tables take about 0.14 s of processor time, as long as cutting five megabytes. So it is loaded when
//!   the first piece of more than 2 kB comes, and shorter new pieces are tokenized by `ranks`, which starts at once.
//!
//! The masks and the cache in front make it 1.5 times as fast, for 2 MB per thread: a text costs one look-up
//! for each of its pieces, and the token ends are produced as the bits that [`Ends`] stores.

mod layout;
mod memo;
mod pattern;
mod pieces;
mod ranks;

use std::cell::RefCell;
use std::sync::{Mutex, OnceLock};

use chunkmill_base::error::Result;

use super::breaks::Breaks;
use super::counter::TokenCounter;
use super::ends::Ends;
use super::runs::token_lengths;
use crate::document::padded;
use memo::Memo;
use pattern::Pattern;
use pieces::{WINDOW, WindowPieces};
use ranks::Parts;

/// The `cl100k_base` encoding, loaded once per process.
pub struct Cl100k {
    /// For long pieces, loaded by the first one.
    tokenizer: OnceLock<toktok::Tokenizer>,
    pattern: Pattern,
}

/// Returns the shared instance.
pub fn cl100k() -> &'static Cl100k {
    static INSTANCE: OnceLock<Cl100k> = OnceLock::new();
    INSTANCE.get_or_init(|| Cl100k { tokenizer: OnceLock::new(), pattern: Pattern::new() })
}

/// The cache and buffers of a thread.
struct Local {
    memo: Memo,
    /// A buffer for the ends of pieces.
    pieces: Vec<u32>,
    parts: Parts,
}

impl Local {
    fn new() -> Self {
        Self { memo: Memo::new(), pieces: Vec::new(), parts: Parts::default() }
    }

    /// Runs `work` with the cache of this thread. A new thread takes over the cache of a thread that has ended, if
    /// any.
    fn with<T>(work: impl FnOnce(&mut Self) -> T) -> T {
        LOCAL.with_borrow_mut(|Lent(local)| {
            let lend = || POOL.lock().ok().and_then(|mut pool| pool.pop()).unwrap_or_else(Self::new);
            work(local.get_or_insert_with(lend))
        })
    }
}

thread_local! {
    static LOCAL: RefCell<Lent> = const { RefCell::new(Lent(None)) };
}

/// Caches of threads that have ended.
static POOL: Mutex<Vec<Local>> = Mutex::new(Vec::new());

/// A thread's cache, which is returned to the pool when the thread ends.
struct Lent(Option<Local>);

impl Drop for Lent {
    fn drop(&mut self) {
        if let (Some(local), Ok(mut pool)) = (self.0.take(), POOL.lock()) {
            pool.push(local);
        }
    }
}

/// Number of words of bits that are converted to offsets at once.
const BATCH: usize = 64;

impl Cl100k {
    /// Returns a bit for every byte of a text: whether a token ends after it.
    fn end_bits(&self, text: &str) -> Vec<u64> {
        let mut bits = vec![0; text.len().div_ceil(64)];
        self.find_pieces(text, &mut bits);
        Local::with(|local| self.cut_pieces(text.as_bytes(), &mut bits, local));
        bits
    }

    /// Returns the number of tokens of a text that is no longer than the longest cached piece, if the masks support
    /// all of it.
    fn count_short(text: &[u8]) -> Option<usize> {
        if text.len() > Memo::LONGEST {
            return None;
        }
        let padded = padded(text);
        let WindowPieces { starts, len } = WindowPieces::of(&padded, text.len());
        (len == text.len()).then(|| {
            Local::with(|Local { memo, parts, .. }| {
                let (mut start, mut tokens) = (0, 0);
                let mut ends = starts | 1 << len;
                while ends != 0 {
                    let end = ends.trailing_zeros() as usize;
                    ends &= ends - 1;
                    let inner = memo.get(&padded, start, end - start, |piece| inner_ends(piece, parts));
                    tokens += 1 + inner.count_ones() as usize;
                    start = end;
                }
                tokens
            })
        })
    }

    /// Sets the bits at the ends of pieces.
    fn find_pieces(&self, text: &str, bits: &mut [u64]) {
        let bytes = text.as_bytes();
        let mut at = 0;
        while let Some(left) = bytes.get(at..).filter(|left| !left.is_empty()) {
            let last;
            let window = if let Some(window) = left.first_chunk() {
                window
            } else {
                last = padded(left);
                &last
            };
            let WindowPieces { starts, len } = WindowPieces::of(window, left.len());
            if len == left.len() {
                set(bits, at, (starts | 1 << len) >> 1);
                return;
            }
            set(bits, at, starts >> 1);
            let last = starts.checked_ilog2().unwrap_or(0) as usize;
            at += last;
            if last == 0 || len < WINDOW - 1 {
                at = self.find_others(text, at, bits);
            }
        }
    }

    /// Sets the bits at the ends of the pieces from a byte on that the masks do not support. Returns where the last
    /// one ends.
    #[cold]
    fn find_others(&self, text: &str, mut at: usize, bits: &mut [u64]) -> usize {
        loop {
            at += self.pattern.first(&text[at..]);
            set(bits, at - 1, 1);
            if at == text.len() || pieces::are_known(&text.as_bytes()[at..]) {
                return at;
            }
        }
    }

    /// Sets the bits at the ends of all tokens; those at the ends of pieces must already be set.
    fn cut_pieces(&self, text: &[u8], bits: &mut [u64], local: &mut Local) {
        let Local { memo, pieces, parts } = local;
        let mut start = 0;
        for first in (0..bits.len()).step_by(BATCH) {
            let last = bits.len().min(first + BATCH);
            for &end in offsets(&bits[first..last], pieces) {
                let end = first * 64 + end as usize + 1;
                let len = end - start;
                if len <= Memo::LONGEST {
                    let inner = memo.get(text, start, len, |piece| inner_ends(piece, parts));
                    if inner != 0 {
                        set(bits, start, inner);
                    }
                } else {
                    self.cut_long(&text[start..end], start, bits, parts);
                }
                start = end;
            }
        }
    }

    /// Sets the bits at the ends of the tokens of a long piece that starts at a byte.
    #[cold]
    fn cut_long(&self, piece: &[u8], start: usize, bits: &mut [u64], parts: &mut Parts) {
        let encode = |piece: &[u8], lengths: &mut Vec<u32>| {
            if piece.len() <= ranks::LONGEST {
                let starts = parts.of(piece);
                let ends = starts[1..].iter().copied().chain([u32::try_from(piece.len()).unwrap_or(u32::MAX)]);
                lengths.extend(starts.iter().zip(ends).map(|(start, end)| end - start));
            } else {
                let vocabulary = self.tokenizer().vocab();
                let mut ids = Vec::new();
                vocabulary.encode(piece, &mut ids);
                lengths.extend(ids.iter().map(|&token| vocabulary.token_len(token)));
            }
        };
        let mut lengths = Vec::new();
        token_lengths(piece, encode, &mut lengths);
        let mut end = start;
        for length in lengths {
            end += length as usize;
            set(bits, end - 1, 1);
        }
    }

    fn tokenizer(&self) -> &toktok::Tokenizer {
        self.tokenizer.get_or_init(|| {
            #[expect(clippy::expect_used, reason = "the vocabulary is embedded; nothing can be missing")]
            toktok::Tokenizer::builtin("cl100k_base").expect("embedded vocabulary")
        })
    }
}

/// Returns where the tokens of a short piece end, except the last one.
#[cold]
fn inner_ends(piece: &[u8], parts: &mut Parts) -> u64 {
    parts.of(piece)[1..].iter().fold(0, |ends, start| ends | 1 << (start - 1))
}

impl TokenCounter for Cl100k {
    fn count(&self, text: &str) -> Result<usize> {
        // The rest of a range is often a single mark at its end.
        if text.len() < 2 {
            return Ok(text.len());
        }
        let all = || self.end_bits(text).iter().map(|word| word.count_ones() as usize).sum();
        Ok(Self::count_short(text.as_bytes()).unwrap_or_else(all))
    }

    fn ends(&self, text: &str) -> Result<Ends> {
        Ok(Ends::of_bits(self.end_bits(text)))
    }

    fn breaks(&self) -> Breaks {
        Breaks::Punctuation
    }
}

/// Sets the bits of a mask; its first bit belongs to `byte`.
#[inline]
fn set(bits: &mut [u64], byte: usize, mask: u64) {
    let (word, shift) = (byte / 64, byte % 64);
    bits[word] |= mask << shift;
    let rest = mask >> 1 >> (63 - shift);
    if rest != 0 {
        bits[word + 1] |= rest;
    }
}

/// Returns the indices of the bits that are set.
fn offsets<'s>(bits: &[u64], scratch: &'s mut Vec<u32>) -> &'s [u32] {
    // Most words have fewer pieces than this. For these, a loop of a fixed length is faster than one whose end
    // cannot be predicted.
    const USUAL: usize = 16;
    if scratch.len() < 64 * (bits.len() + 1) {
        scratch.resize(64 * (bits.len() + 1), 0);
    }
    let mut len = 0;
    for (base, &word) in (0..).step_by(64).zip(bits) {
        let mut left = word;
        let mut next = || {
            let offset = base + left.trailing_zeros();
            left &= left.wrapping_sub(1);
            offset
        };
        let count = word.count_ones() as usize;
        let (usual, others) = scratch[len..len + 64].split_at_mut(USUAL);
        for offset in usual {
            *offset = next();
        }
        for offset in others.iter_mut().take(count.saturating_sub(USUAL)) {
            *offset = next();
        }
        len += count;
    }
    &scratch[..len]
}
