//! Late chunking: a document is read once, and each chunk's vector is the mean of its tokens' states.
//!
//! The model reads windows as long as its limit. Neighbouring windows overlap by a quarter, and a token's state is
//! taken from the window whose edge is farthest from it, so it has seen the text on both sides. The document's name
//! is put before each window. For each window and chunk, the token states are summed while they are in the
//! processor's cache; nothing is kept per token. Windows do not depend on the chunks, so one pass serves several
//! chunkings (Günther et al. 2024, arXiv 2409.04701, with windows as in their section on long documents).

use std::ops::Range;
use std::sync::{Arc, OnceLock};

use blake3::Hash;
use chunkmill_base::error::Result;

/// An embedder whose vectors are means of token states, and which also returns sums of these states.
pub trait TokenEmbedder: Send + Sync {
    /// Tokenizes a document line by line, without special tokens.
    ///
    /// # Errors
    /// [`Error::Embed`](chunkmill_base::error::Error::Embed) if the tokenizer fails.
    fn tokens(&self, text: &str) -> Result<Vec<Token>>;

    /// Returns the ids before and after the tokens of a document with this name: special tokens, the model's prompt
    /// and the name.
    ///
    /// # Errors
    /// [`Error::Embed`](chunkmill_base::error::Error::Embed) if the tokenizer fails.
    fn frame(&self, name: Option<&str>) -> Result<[Vec<u32>; 2]>;

    /// Returns the number of values in a token's state.
    fn width(&self) -> usize;

    /// Returns the sum of the token states for each range of each window in turn: rows of [`width`](Self::width)
    /// values.
    ///
    /// # Errors
    /// [`Error::Embed`](chunkmill_base::error::Error::Embed) if the model fails.
    fn sums(&self, windows: &[&Window]) -> Result<Vec<f32>>;

    /// Turns the mean of a text's token states into the text's vector.
    fn finish(&self, mean: Vec<f32>) -> Vec<f32>;
}

/// A token of a document.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Token {
    /// Token id.
    pub id: u32,
    /// Offset of the first byte.
    pub start: u32,
    /// Offset after the last byte.
    pub end: u32,
}

impl Token {
    /// Creates a token for a byte range.
    #[must_use]
    pub fn new(id: u32, bytes: Range<usize>) -> Self {
        let [start, end] = [bytes.start, bytes.end].map(|byte| u32::try_from(byte).unwrap_or(u32::MAX));
        Self { id, start, end }
    }
}

/// The ids that the model reads at once, and the ranges whose sums are wanted.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Window {
    /// All ids, including special tokens.
    pub ids: Vec<u32>,
    /// Ranges of `ids`; none is empty.
    pub ranges: Vec<Range<usize>>,
}

/// A document that is read in windows.
#[derive(Debug)]
pub struct Passage {
    name: Option<String>,
    text: String,
    tokens: OnceLock<DocumentTokens>,
}

impl Passage {
    /// Creates a document. The name, if any, is put before each of its windows.
    #[must_use]
    pub fn new(name: Option<String>, text: String) -> Self {
        Self { name, text, tokens: OnceLock::new() }
    }

    /// Returns whether the model reads both the same way.
    pub fn is_same(&self, other: &Self) -> bool {
        self.name == other.name && self.text == other.text
    }

    /// Returns the document's text.
    pub fn text(&self) -> &str {
        &self.text
    }
}

/// A document, and its chunks whose vectors are wanted.
#[derive(Debug, Clone)]
pub struct Reading {
    /// The document.
    pub passage: Arc<Passage>,
    /// Byte range of each chunk.
    pub spans: Vec<Range<usize>>,
}

/// A document's tokens and the ids around them.
#[derive(Debug)]
struct DocumentTokens {
    all: Vec<Token>,
    frame: [Vec<u32>; 2],
    /// Hash of all ids, which determine the states.
    hash: Hash,
}

/// The document's name may take at most one in this many tokens of a window.
const NAME_PART: usize = 8;

/// Distance from the start of one window to the next, in quarters of a window.
const QUARTERS: usize = 3;

impl DocumentTokens {
    fn new(passage: &Passage, embedder: &dyn TokenEmbedder, max_tokens: usize) -> Result<Self> {
        let mut frame = embedder.frame(passage.name.as_deref())?;
        let [before, after] = embedder.frame(None)?;
        if frame[0].len() > before.len() + max_tokens / NAME_PART {
            frame = [before, after];
        }
        let all = embedder.tokens(&passage.text)?;
        let mut hasher = blake3::Hasher::new();
        hasher.update(b"late-v1");
        for ids in &frame {
            hasher.update(&(ids.len() as u64).to_le_bytes());
            for id in ids {
                hasher.update(&id.to_le_bytes());
            }
        }
        for token in &all {
            hasher.update(&token.id.to_le_bytes());
        }
        Ok(Self { all, frame, hash: hasher.finalize() })
    }

    /// Returns the tokens that overlap a byte range, or the nearest token if none does. Empty only if there are no
    /// tokens.
    fn between(&self, bytes: &Range<usize>) -> Range<usize> {
        let first = self.all.partition_point(|token| token.end as usize <= bytes.start);
        let after = self.all.partition_point(|token| (token.start as usize) < bytes.end);
        let first = first.min(self.all.len().saturating_sub(1));
        first..after.max(first + 1).min(self.all.len())
    }

    /// Returns the windows in order, each with the tokens it contains and the tokens whose states are taken from it.
    fn windows(&self, max_tokens: usize) -> impl Iterator<Item = (Range<usize>, Range<usize>)> {
        let all = self.all.len();
        let room = max_tokens.saturating_sub(self.frame.iter().map(Vec::len).sum()).max(1);
        let step = (room * QUARTERS / 4).max(1);
        let count = 1 + all.saturating_sub(room).div_ceil(step);
        let held = move |index: usize| index * step..(index * step + room).min(all);
        let middle = move |index: usize| usize::midpoint(held(index).start, held(index - 1).end);
        (0..count).map(move |index| {
            let from = if index == 0 { 0 } else { middle(index) };
            let to = if index + 1 == count { all } else { middle(index + 1) };
            (held(index), from..to)
        })
    }
}

/// A chunk whose vector is wanted.
pub(super) struct WantedChunk {
    /// Hash of everything that determines the vector, except the model.
    pub(super) hash: Hash,
    /// Range of its tokens in the document.
    pub(super) tokens: Range<usize>,
}

/// A window, and for each of its ranges the position of the chunk that it belongs to.
pub(super) struct WindowPart {
    pub(super) window: Window,
    pub(super) of: Vec<usize>,
}

impl Reading {
    fn tokens(&self, embedder: &dyn TokenEmbedder, max_tokens: usize) -> Result<&DocumentTokens> {
        if let Some(tokens) = self.passage.tokens.get() {
            return Ok(tokens);
        }
        let tokens = DocumentTokens::new(&self.passage, embedder, max_tokens)?;
        Ok(self.passage.tokens.get_or_init(|| tokens))
    }

    /// Returns the chunks as ranges of the model's tokens.
    pub(super) fn wanted(&self, embedder: &dyn TokenEmbedder, max_tokens: usize) -> Result<Vec<WantedChunk>> {
        let tokens = self.tokens(embedder, max_tokens)?;
        let wanted = |span| {
            let range = tokens.between(span);
            let place = [range.start as u64, range.end as u64].map(u64::to_le_bytes).concat();
            WantedChunk { hash: blake3::keyed_hash(tokens.hash.as_bytes(), &place), tokens: range }
        };
        Ok(self.spans.iter().map(wanted).collect())
    }

    /// Returns the windows that contain some of these chunks, in order. Chunks are given by position and token range.
    pub(super) fn parts(
        &self,
        chunks: &[(usize, Range<usize>)],
        embedder: &dyn TokenEmbedder,
        max_tokens: usize,
    ) -> Result<Vec<WindowPart>> {
        let tokens = self.tokens(embedder, max_tokens)?;
        let [before, after] = &tokens.frame;
        let parts = tokens.windows(max_tokens).filter_map(|(held, own)| {
            let len = before.len() + held.len() + after.len();
            let range = |tokens: &Range<usize>| {
                if tokens.is_empty() {
                    // A document without tokens consists only of the ids around them.
                    return Some(0..len).filter(|range| !range.is_empty());
                }
                let (from, to) = (tokens.start.max(own.start), tokens.end.min(own.end));
                (from < to).then(|| before.len() + from - held.start..before.len() + to - held.start)
            };
            let found: Vec<_> = chunks.iter().filter_map(|(of, tokens)| Some((*of, range(tokens)?))).collect();
            let (of, ranges) = found.into_iter().unzip::<_, _, Vec<_>, Vec<_>>();
            let ids = || {
                let inner = tokens.all[held.clone()].iter().map(|token| token.id);
                before.iter().copied().chain(inner).chain(after.iter().copied()).collect()
            };
            (!of.is_empty()).then(|| WindowPart { window: Window { ids: ids(), ranges }, of })
        });
        Ok(parts.collect())
    }
}

/// Appends the sums of token states over ranges of a window: rows of `dim` values. States are `stride` floats apart.
pub(super) fn sum(states: &[f32], stride: usize, dim: usize, ranges: &[Range<usize>], sums: &mut Vec<f32>) {
    for range in ranges {
        let from = sums.len();
        sums.resize(from + dim, 0.0);
        for token in range.clone() {
            sums[from..].iter_mut().zip(&states[token * stride..]).for_each(|(sum, &x)| *sum += x);
        }
    }
}
