//! A text's token ids, word by word: what a tokenizer made of a word is remembered, so that most of a text costs a look
//! into a table instead of a run through the tokenizer's stages.
//!
//! The ids are the tokenizer's own, for it is asked for each word that is new. That is right only where no word has a part
//! in what becomes of the next, which [`Words::new`] tells from the tokenizer's stages: text is cut at white space, and
//! with BERT's stages at ASCII punctuation too. What may reach over such a place (an added token like `[MASK]`, a
//! combining mark behind a space) is left to the tokenizer as a whole.

use std::sync::{Mutex, PoisonError};

use regex::Regex;
use tokenizers::pre_tokenizers::metaspace::PrependScheme;
use tokenizers::{EncodeInput, NormalizerWrapper, PreTokenizerWrapper, Tokenizer};
use unicode_segmentation::UnicodeSegmentation;

use super::failed;
use crate::error::Result;

/// Longest word that is remembered, in bytes.
const LONGEST: usize = 23;

/// Most ids of a word that is remembered.
const MOST: usize = 9;

/// Pairs of words that a thread remembers: 2 MiB of them.
const SETS: usize = 1 << 14;

/// Cuts texts at places over which a tokenizer does not look, and remembers what it makes of the words between.
pub(super) struct Words {
    /// What each byte is.
    classes: Box<[Class; 256]>,
    /// Whether a space may belong to the grapheme of what follows it, which the normaliser reads as a whole.
    by_grapheme: bool,
    /// Tokens that are found before anything else is done.
    added: Option<Regex>,
    /// One for each thread that has worked so far, except those at work.
    idle: Mutex<Vec<Memory>>,
}

/// What a byte is to the cutting.
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
    /// `None` if the tokenizer's stages are not known to leave words alone.
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
        // Those that are looked for in normalised text may hide in any other.
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

    /// The ids of a text without special ones; `None` if it has to be read as a whole.
    ///
    /// # Errors
    /// [`Error::Embed`](crate::error::Error::Embed) if the tokenizer fails.
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
                // The one that was met last comes first; a new one takes the other's place.
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

    /// What the tokenizer makes of a word; `None` if what stands beside it has a part in that.
    fn ask(&self, tokenizer: &Tokenizer, text: &str, word: std::ops::Range<usize>) -> Result<Option<Vec<u32>>> {
        let word = &text[word];
        if self.by_grapheme && !word.is_ascii() && !stands_alone(word) {
            return Ok(None);
        }
        encode(tokenizer, word).map(Some)
    }
}

/// The ids of a text without special ones.
///
/// # Errors
/// [`Error::Embed`](crate::error::Error::Embed) if the tokenizer fails.
pub(super) fn encode(tokenizer: &Tokenizer, text: &str) -> Result<Vec<u32>> {
    let input: EncodeInput<'_> = text.into();
    let encoding = tokenizer.encode_fast(input, false).map_err(|error| failed("tokenizing")(&error))?;
    Ok(encoding.get_ids().to_vec())
}

/// Whether a normaliser's result for a text is that for its words, with white space between them.
fn is_local(normalizer: &NormalizerWrapper) -> bool {
    use NormalizerWrapper as N;
    match normalizer {
        N::Precompiled(_) | N::NFC(_) | N::NFKC(_) | N::Lowercase(_) => true,
        N::Sequence(stages) => stages.as_ref().iter().all(is_local),
        _ => false,
    }
}

/// Whether the normaliser leaves white space between words.
fn keeps_space(tokenizer: &Tokenizer) -> bool {
    let ids = |text| encode(tokenizer, text).ok();
    let apart = ids("a b");
    ["a\tb", "a\nb", "a\rb", "a\r\nb"].into_iter().all(|text| ids(text) == apart)
}

/// Whether neither end of a word is in one grapheme with a space beside it.
fn stands_alone(word: &str) -> bool {
    let spaced = format!(" {word} ");
    let mut graphemes = spaced.graphemes(true);
    graphemes.next() == Some(" ") && graphemes.next_back() == Some(" ")
}

/// A short word, zeros behind it, and its length.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
struct Key([u64; 3]);

impl Key {
    /// The key of a part of a text, if it is short enough.
    fn new(text: &[u8], word: std::ops::Range<usize>) -> Option<Self> {
        let len = word.len();
        if len > LONGEST {
            return None;
        }
        let mut bytes = [0; LONGEST + 1];
        // Mostly there is more text behind it, and a copy of fixed size is faster.
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

    /// Where it is remembered.
    fn set(self) -> usize {
        // The multiplier of Knuth's multiplicative hashing in 64 bits; the upper bits are the mixed ones.
        const MULTIPLIER: u64 = 0x9E37_79B9_7F4A_7C15;
        let [a, b, c] = self.0;
        let mixed = (a ^ b.rotate_left(23) ^ c.rotate_left(47)).wrapping_mul(MULTIPLIER);
        let mixed = (mixed ^ (mixed >> 32)).wrapping_mul(MULTIPLIER);
        #[expect(clippy::cast_possible_truncation, reason = "below SETS")]
        let set = (mixed >> (u64::BITS - SETS.trailing_zeros())) as usize;
        set
    }
}

/// The words that a thread remembers, each in one of the two slots that it may have.
struct Memory {
    sets: Vec<[Slot; 2]>,
}

impl Default for Memory {
    fn default() -> Self {
        Self { sets: vec![[Slot::default(); 2]; SETS] }
    }
}

/// A word and its ids: a line of the processor's cache.
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
