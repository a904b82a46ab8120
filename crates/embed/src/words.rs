//! Token ids of a text, word by word. The tokenizer's ids for a word are remembered, so most of a text costs a table
//! lookup instead of a pass through the tokenizer's stages.
//!
//! The ids are the tokenizer's own, because it is called for each new word. This is correct only if no word affects the
//! ids of the next one, which [`Words::new`] determines from the tokenizer's stages: text is split at white space and,
//! with BERT's stages, also at ASCII punctuation. A text with something that may cross a split (an added token like
//! `[MASK]`, a combining mark after a space) is tokenized as a whole.

use std::sync::{Mutex, PoisonError};

use chunkmill_base::error::{Result, caught};
use regex::Regex;
use tokenizers::pre_tokenizers::metaspace::PrependScheme;
use tokenizers::{EncodeInput, NormalizerWrapper, PreTokenizerWrapper, Tokenizer};
use unicode_segmentation::UnicodeSegmentation;

use crate::embedder::failed;

/// Maximum length in bytes of a remembered word.
const LONGEST: usize = 23;

/// Maximum number of ids of a remembered word.
const MOST: usize = 9;

/// Number of word pairs that a thread remembers; they take 2 MiB.
const SETS: usize = 1 << 14;

/// Splits texts where the tokenizer treats both sides independently, and remembers the ids of the words.
pub(super) struct Words {
    /// The class of each byte.
    classes: Box<[Class; 256]>,
    /// Whether the normaliser reads whole graphemes; a space may be part of the grapheme of the text after it.
    by_grapheme: bool,
    /// Added tokens, which are matched before anything else.
    added: Option<Regex>,
    /// Memories that no thread is using; each thread at work has taken one.
    idle: Mutex<Vec<Memory>>,
}

/// The class of a byte for splitting.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Class {
    /// Part of a word.
    Word,
    /// Between words.
    Space,
    /// A word by itself.
    Mark,
}

impl Words {
    /// Returns `None` unless the tokenizer's stages are known to treat words independently.
    pub(super) fn new(tokenizer: &Tokenizer) -> Option<Self> {
        use {NormalizerWrapper as N, PreTokenizerWrapper as P};
        let (marks, by_grapheme) = match (tokenizer.get_normalizer(), tokenizer.get_pre_tokenizer()?) {
            (None | Some(N::BertNormalizer(_)), P::BertPreTokenizer(_)) => (true, false),
            (normalizer, P::Sequence(stages)) => {
                let [P::WhitespaceSplit(_), P::Metaspace(meta)] = stages.as_ref() else { return None };
                if meta.get_prepend_scheme() == PrependScheme::First || !normalizer.is_none_or(is_local) {
                    return None;
                }
                (false, normalizer.is_some())
            }
            _ => return None,
        };
        if by_grapheme && !keeps_space(tokenizer) {
            return None;
        }
        let added = tokenizer.get_added_tokens_decoder();
        // Tokens that are matched after normalisation may be hidden in any text.
        if added.values().any(|token| token.normalized) {
            return None;
        }
        let added: Vec<String> = added.values().map(|token| regex::escape(&token.content)).collect();
        let added = if added.is_empty() { None } else { Some(Regex::new(&added.join("|")).ok()?) };
        let mut classes = Box::new([Class::Word; 256]);
        for space in b" \t\n\r" {
            classes[usize::from(*space)] = Class::Space;
        }
        for (byte, class) in (0_u8..).zip(classes.iter_mut()) {
            if marks && byte.is_ascii_punctuation() {
                *class = Class::Mark;
            }
        }
        Some(Self { classes, by_grapheme, added, idle: Mutex::default() })
    }

    /// Returns the ids of a text without special tokens, or `None` if the text must be tokenized as a whole.
    ///
    /// # Errors
    /// [`Error::Embed`](chunkmill_base::error::Error::Embed) if the tokenizer fails.
    pub(super) fn ids(&self, tokenizer: &Tokenizer, text: &str) -> Result<Option<Vec<u32>>> {
        if self.added.as_ref().is_some_and(|added| added.is_match(text)) {
            return Ok(None);
        }
        let idle = || self.idle.lock().unwrap_or_else(PoisonError::into_inner);
        let mut memory = idle().pop().unwrap_or_default();
        let ids = self.read(tokenizer, text, &mut memory);
        idle().push(memory);
        ids
    }

    fn read(&self, tokenizer: &Tokenizer, text: &str, memory: &mut Memory) -> Result<Option<Vec<u32>>> {
        let bytes = text.as_bytes();
        let class = |at: usize| bytes.get(at).map(|&byte| self.classes[usize::from(byte)]);
        let mut ids = Vec::with_capacity(bytes.len() / 4 + 1);
        let mut at = 0;
        while let Some(first) = class(at) {
            let start = at;
            at += 1;
            if first == Class::Space {
                continue;
            }
            while first == Class::Word && class(at) == Some(Class::Word) {
                at += 1;
            }
            let Some(key) = Key::new(bytes, start..at) else {
                match self.ask(tokenizer, text, start..at)? {
                    Some(found) => ids.extend(found),
                    None => return Ok(None),
                }
                continue;
            };
            let [first, second] = &mut memory.sets[key.set()];
            if first.key != key {
                // The last used word comes first; a new word replaces the other one.
                std::mem::swap(first, second);
            }
            if first.key != key {
                let Some(found) = self.ask(tokenizer, text, start..at)? else { return Ok(None) };
                if found.len() > MOST {
                    ids.extend(found);
                    continue;
                }
                first.fill(key, &found);
            }
            ids.extend_from_slice(&first.ids[..first.count as usize]);
        }
        Ok(Some(ids))
    }

    /// Tokenizes a word; returns `None` if the text next to it may affect the result.
    fn ask(&self, tokenizer: &Tokenizer, text: &str, word: std::ops::Range<usize>) -> Result<Option<Vec<u32>>> {
        let word = &text[word];
        if self.by_grapheme && !word.is_ascii() && !stands_alone(word) {
            return Ok(None);
        }
        encode(tokenizer, word).map(Some)
    }
}

/// Returns the ids of a text, without special tokens.
///
/// # Errors
/// [`Error::Embed`](chunkmill_base::error::Error::Embed) if the tokenizer fails.
pub(super) fn encode(tokenizer: &Tokenizer, text: &str) -> Result<Vec<u32>> {
    let input: EncodeInput<'_> = text.into();
    let encoding = tokenized(|| tokenizer.encode_fast(input, false))?;
    Ok(encoding.get_ids().to_vec())
}

/// Runs the tokenizer, which comes with the model: whatever it stumbles over is an error.
///
/// # Errors
/// [`Error::Embed`](chunkmill_base::error::Error::Embed) if the tokenizer fails.
pub(super) fn tokenized<T>(work: impl FnOnce() -> tokenizers::Result<T>) -> Result<T> {
    let problem = failed("tokenizing");
    caught(work).map_err(|panic| problem(&panic))?.map_err(|error| problem(&error))
}

/// Returns whether normalising a text is the same as normalising its words and keeping the white space between them.
fn is_local(normalizer: &NormalizerWrapper) -> bool {
    use NormalizerWrapper as N;
    match normalizer {
        N::Precompiled(_) | N::NFC(_) | N::NFKC(_) | N::Lowercase(_) => true,
        N::Sequence(stages) => stages.as_ref().iter().all(is_local),
        _ => false,
    }
}

/// Returns whether the normaliser keeps white space between words.
fn keeps_space(tokenizer: &Tokenizer) -> bool {
    let ids = |text| encode(tokenizer, text).ok();
    let apart = ids("a b");
    ["a\tb", "a\nb", "a\rb", "a\r\nb"].into_iter().all(|text| ids(text) == apart)
}

/// Returns whether a space before or after the word stays a separate grapheme.
fn stands_alone(word: &str) -> bool {
    let spaced = format!(" {word} ");
    let mut graphemes = spaced.graphemes(true);
    graphemes.next() == Some(" ") && graphemes.next_back() == Some(" ")
}

/// A short word padded with zeros, and its length.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
struct Key([u64; 3]);

impl Key {
    /// Returns the key of a word in a text, if it is short enough.
    fn new(text: &[u8], word: std::ops::Range<usize>) -> Option<Self> {
        let len = word.len();
        if len > LONGEST {
            return None;
        }
        let mut bytes = [0; LONGEST + 1];
        // Usually more text follows, and a copy of fixed size is faster.
        if let Some(whole) = text.get(word.start..word.start + bytes.len()) {
            bytes.copy_from_slice(whole);
        } else {
            bytes[..len].copy_from_slice(&text[word]);
        }
        let (words, _) = bytes.as_chunks::<8>();
        let mut key = [0; 3];
        for (at, (to, from)) in key.iter_mut().zip(words).enumerate() {
            let kept = len.saturating_sub(8 * at).min(8);
            let mask = if kept == 8 { u64::MAX } else { (1 << (8 * kept)) - 1 };
            *to = u64::from_le_bytes(*from) & mask;
        }
        key[2] |= (len as u64) << 56;
        Some(Self(key))
    }

    /// Returns the index of the key's set.
    fn set(self) -> usize {
        // The 64-bit multiplier of Knuth's multiplicative hashing; the upper bits are the best mixed.
        const MULTIPLIER: u64 = 0x9E37_79B9_7F4A_7C15;
        let [a, b, c] = self.0;
        let mixed = (a ^ b.rotate_left(23) ^ c.rotate_left(47)).wrapping_mul(MULTIPLIER);
        let mixed = (mixed ^ (mixed >> 32)).wrapping_mul(MULTIPLIER);
        #[expect(clippy::cast_possible_truncation, reason = "below SETS")]
        let set = (mixed >> (u64::BITS - SETS.trailing_zeros())) as usize;
        set
    }
}

/// The words that a thread remembers, each in one of the two slots of its set.
struct Memory {
    sets: Vec<[Slot; 2]>,
}

impl Default for Memory {
    fn default() -> Self {
        Self { sets: vec![[Slot::default(); 2]; SETS] }
    }
}

/// A word and its ids, in one cache line.
#[derive(Debug, Clone, Copy, Default)]
#[repr(align(64))]
struct Slot {
    key: Key,
    ids: [u32; MOST],
    count: u32,
}

impl Slot {
    fn fill(&mut self, key: Key, ids: &[u32]) {
        self.key = key;
        self.count = 0;
        for (to, &id) in self.ids.iter_mut().zip(ids) {
            *to = id;
            self.count += 1;
        }
    }
}
