//! What is computed together: each text once (as the model reads it), sorted by length, cut by a budget of tokens.
//!
//! A batch never changes a vector: the same text has the same one whether its chunk was indexed alone,
//! after an edit, or in a corpus of millions, and on any number of threads. An embedder that computes
//! text by text gets texts as they come, sorted by length so that all threads end together; any other
//! gets texts of exactly one length at a time, so that there is nothing to pad.

use std::collections::HashMap;
use std::sync::atomic::{AtomicBool, Ordering};

use rayon::prelude::*;

use super::{Embedder, Encoded, Role};
use crate::error::{Error, Result};

/// Bytes of vectors remembered over calls, so that a text met again is not computed again.
const MEMORY: usize = 256 << 20;

/// Embeds texts in batches and remembers vectors, within a bound.
pub struct Batcher<'a> {
    embedder: &'a dyn Embedder,
    batch_tokens: usize,
    remembered: HashMap<blake3::Hash, Box<[f32]>>,
    capacity: usize,
}

/// The vectors of a list of texts.
#[derive(Debug, Default)]
pub struct Embedded {
    /// One vector per text in the order of the texts, row-major.
    pub vectors: Vec<f32>,
    /// Tokens of each text before it was cut to what the model reads.
    pub n_tokens: Vec<usize>,
    /// How many different texts had to be computed.
    pub computed: usize,
    /// How many tokens the model read for them.
    pub tokens_read: usize,
}

impl<'a> Batcher<'a> {
    /// A batcher that remembers nothing yet. Without a budget of tokens, the embedder's own is used.
    #[must_use]
    pub fn new(embedder: &'a dyn Embedder, batch_tokens: Option<usize>) -> Self {
        let capacity = MEMORY / (embedder.info().dim.max(1) * size_of::<f32>());
        let batch_tokens = batch_tokens.unwrap_or(embedder.batching().tokens);
        Self { embedder, batch_tokens, remembered: HashMap::new(), capacity }
    }

    /// Embeds texts. `progress` is called with the texts and tokens of each finished batch, from any
    /// thread.
    ///
    /// # Errors
    /// [`Error::Embed`] from the embedder; [`Error::Interrupted`] soon after `stop` is set.
    pub fn embed(
        &mut self,
        texts: &[String],
        role: Role,
        stop: &AtomicBool,
        progress: &(dyn Fn(usize, usize) + Sync),
    ) -> Result<Embedded> {
        let embedder = self.embedder;
        let dim = embedder.info().dim;
        let encode = |text: &String| {
            if stop.load(Ordering::Relaxed) { Err(Error::Interrupted) } else { embedder.encode(text, role) }
        };
        let encoded = texts.par_iter().map(encode).collect::<Result<Vec<Encoded>>>()?;
        let n_tokens = encoded.iter().map(|text| text.n_tokens).collect();
        let hashes: Vec<blake3::Hash> = encoded.par_iter().map(hash).collect();

        // The first of equal texts stands for all: equal as the model reads them, so their vectors are.
        let mut first: HashMap<blake3::Hash, usize> = HashMap::with_capacity(texts.len());
        let mut unique: Vec<usize> = Vec::new();
        for (index, hash) in hashes.iter().enumerate() {
            if !self.remembered.contains_key(hash) {
                first.entry(*hash).or_insert_with(|| {
                    unique.push(index);
                    index
                });
            }
        }
        unique.sort_by(|&a, &b| {
            let (a, b) = (&encoded[a].ids, &encoded[b].ids);
            b.len().cmp(&a.len()).then_with(|| a.cmp(b))
        });
        let batches = self.cut(&unique, &encoded);
        let run = |batch: &&[usize]| -> Result<Vec<f32>> {
            if stop.load(Ordering::Relaxed) {
                return Err(Error::Interrupted);
            }
            let ids: Vec<&[u32]> = batch.iter().map(|&index| encoded[index].ids.as_slice()).collect();
            let vectors = embedder.embed(&ids)?;
            progress(ids.len(), ids.iter().map(|ids| ids.len()).sum());
            Ok(vectors)
        };
        let computed: Vec<Vec<f32>> = if embedder.batching().concurrent {
            batches.par_iter().map(run).collect::<Result<_>>()?
        } else {
            batches.iter().map(run).collect::<Result<_>>()?
        };

        let mut vectors = vec![0.0; texts.len() * dim];
        let tokens_read = unique.iter().map(|&index| encoded[index].ids.len()).sum();
        for (batch, rows) in batches.iter().zip(&computed) {
            for (&index, row) in batch.iter().zip(rows.chunks(dim)) {
                vectors[index * dim..][..dim].copy_from_slice(row);
            }
        }
        for (index, hash) in hashes.iter().enumerate() {
            if let Some(vector) = self.remembered.get(hash) {
                vectors[index * dim..][..dim].copy_from_slice(vector);
            } else if let Some(&from) = first.get(hash)
                && from != index
            {
                vectors.copy_within(from * dim..from * dim + dim, index * dim);
            }
        }
        for &index in &unique {
            if self.remembered.len() < self.capacity {
                self.remembered.insert(hashes[index], vectors[index * dim..][..dim].into());
            }
        }
        Ok(Embedded { vectors, n_tokens, computed: unique.len(), tokens_read })
    }

    /// Runs of texts, each at most the budget (or one text), and of one length unless the embedder
    /// takes them mixed.
    fn cut<'u>(&self, sorted: &'u [usize], encoded: &[Encoded]) -> Vec<&'u [usize]> {
        let len = |index: usize| encoded[index].ids.len();
        let mixed = self.embedder.batching().mixed;
        let mut tokens = 0;
        let together = |&before: &usize, &next: &usize| {
            if tokens == 0 {
                tokens = len(before);
            }
            tokens += len(next);
            let fits = tokens <= self.batch_tokens && (mixed || len(before) == len(next));
            if !fits {
                tokens = 0;
            }
            fits
        };
        sorted.chunk_by(together).collect()
    }
}

fn hash(text: &Encoded) -> blake3::Hash {
    let mut hasher = blake3::Hasher::new();
    for id in &text.ids {
        hasher.update(&id.to_le_bytes());
    }
    hasher.finalize()
}
