//! A stand-in for a model: words hashed into a small vector.
//!
//! It is fast and deterministic on every machine, and texts that share words are near each other. That is enough to
//! test a whole job and a search without a model. The vectors have no other meaning.

use std::collections::BTreeMap;

use chunkmill_base::error::Result;
use chunkmill_text::tokens::{Breaks, Ends, TokenCounter, word_ends};

use crate::backend::Engine;
use crate::embedder::{Batching, Embedder, EncodedText, ModelInfo, ModelInput, Parallel, Reads, Role, normalize};
use crate::kernel::Precision;
use crate::late;
use crate::late::{Token, TokenEmbedder, Window};

const DIM: usize = 64;
const MAX_TOKENS: usize = 256;

/// Identifies the fake: no real model has a fingerprint of this form.
const FINGERPRINT: &str = "fake-words-64-v1";

pub(super) struct Fake {
    info: ModelInfo,
}

impl Fake {
    pub(super) fn new() -> Self {
        Self {
            info: ModelInfo {
                id: "fake".to_owned(),
                revision: None,
                files: BTreeMap::new(),
                dim: DIM,
                max_tokens: MAX_TOKENS,
                pooling: "mean".to_owned(),
                normalize: true,
                engine: Engine::Fake,
                precision: Precision::F32,
                fingerprint: FINGERPRINT.to_owned(),
                // A few sums of small numbers are the same everywhere.
                arithmetic: String::new(),
                query: None,
                sparse: None,
                service: None,
            },
        }
    }
}

impl Embedder for Fake {
    fn info(&self) -> &ModelInfo {
        &self.info
    }

    fn encode(&self, text: &str, _role: Role) -> Result<EncodedText> {
        // The empty word stands for the special tokens of a real model, so every text has ids.
        let words = text.split(|c: char| !c.is_alphanumeric()).filter(|word| !word.is_empty());
        let mut ids: Vec<u32> = [""].into_iter().chain(words).map(id).collect();
        let n_tokens = ids.len();
        ids.truncate(MAX_TOKENS);
        Ok(EncodedText { ids, n_tokens, cut: None })
    }

    fn embed(&self, batch: &[ModelInput<'_>]) -> Result<Vec<f32>> {
        let batch: Vec<&[u32]> = batch.iter().map(|input| input.ids).collect();
        let mut vectors = vec![0.0; batch.len() * DIM];
        for (vector, ids) in vectors.chunks_mut(DIM).zip(batch) {
            for &id in ids {
                add(id, vector);
            }
            // A fraction, which no sum of whole numbers can cancel, keeps every vector from being zero.
            vector[0] += 0.5;
            normalize(vector);
        }
        Ok(vectors)
    }

    fn counter(&self) -> &dyn TokenCounter {
        &WordCounter
    }

    fn batching(&self) -> Batching {
        Batching {
            reads: Reads::Ids,
            tokens: 2048,
            texts: usize::MAX,
            mixed: true,
            padded: false,
            parallel: Parallel::Cores,
            remember: true,
        }
    }

    fn by_token(&self) -> Option<&dyn TokenEmbedder> {
        Some(self)
    }
}

impl TokenEmbedder for Fake {
    fn tokens(&self, text: &str) -> Result<Vec<Token>> {
        let mut at = 0;
        let words = text.split_inclusive(|c: char| !c.is_alphanumeric()).filter_map(|piece| {
            let start = at;
            at += piece.len();
            let word = piece.trim_end_matches(|c: char| !c.is_alphanumeric());
            (!word.is_empty()).then(|| Token::new(id(word), start..start + word.len()))
        });
        Ok(words.collect())
    }

    fn frame(&self, name: Option<&str>) -> Result<[Vec<u32>; 2]> {
        Ok([self.encode(name.unwrap_or_default(), Role::Document)?.ids, Vec::new()])
    }

    fn sums(&self, windows: &[&Window]) -> Result<Vec<f32>> {
        let mut sums = Vec::new();
        for Window { ids, ranges } in windows {
            let mut states = vec![0.0; ids.len() * DIM];
            for (state, &id) in states.chunks_mut(DIM).zip(ids) {
                add(id, state);
                state[0] += 0.5;
            }
            late::sum(&states, DIM, DIM, ranges, &mut sums);
        }
        Ok(sums)
    }

    fn width(&self) -> usize {
        DIM
    }

    fn finish(&self, mut mean: Vec<f32>) -> Vec<f32> {
        normalize(&mut mean);
        mean
    }
}

fn add(id: u32, vector: &mut [f32]) {
    vector[id as usize % DIM] += if id & 1 << 16 == 0 { 1.0 } else { -1.0 };
}

/// Returns the FNV-1a hash of the word in lower case.
fn id(word: &str) -> u32 {
    let lower = word.to_lowercase();
    lower.bytes().fold(0x811c_9dc5, |hash, byte| (hash ^ u32::from(byte)).wrapping_mul(0x0100_0193))
}

/// Counts words separated by white space.
pub(super) struct WordCounter;

impl TokenCounter for WordCounter {
    fn count(&self, text: &str) -> Result<usize> {
        Ok(text.split_whitespace().count())
    }

    fn ends(&self, text: &str) -> Result<Ends> {
        Ok(Ends::new(text.len(), word_ends(text)))
    }

    fn breaks(&self) -> Breaks {
        Breaks::WhiteSpace
    }
}
