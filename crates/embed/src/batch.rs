//! Batching: each text is computed once, and texts are sorted by length and split by a token budget.
//!
//! Equal texts are tokenized once. Texts that the model reads as equal, for example after truncation to its limit, are
//! computed once: across all calls, within a memory bound, and with a [`Cache`] across all runs.
//!
//! A batch never changes a vector: a text has the same vector whether its chunk was indexed alone, after an edit, or
//! in a corpus of millions, and on any number of threads. An embedder that computes text by text gets texts of mixed
//! lengths, sorted by length so all threads finish at about the same time. Any other embedder on the CPU gets texts of
//! exactly one length at a time, so no padding is needed.
//!
//! A GPU needs large batches, and few texts have exactly the same length. There each text is padded to the width of its
//! bucket, which is a function of its own length. A batch has texts of one bucket, so the shape of the computation
//! depends on the other texts only in the number of rows. Libraries for GPUs may choose another order of additions for
//! another number of rows, so on a GPU the last bits of a vector can depend on its batch.

use std::borrow::Cow;
use std::collections::{BTreeMap, HashMap, HashSet};
use std::ops::Range;
use std::panic::resume_unwind;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::thread;

use blake3::Hash;
use chunkmill_base::error::{Error, Result};
use rayon::prelude::*;

use crate::cache::{Cache, Space};
use crate::embedder::{Batching, Embedder, EncodedText, ModelInfo, ModelInput, Parallel, Reads, Role, finite};
use crate::late::{Reading, WantedChunk, WindowPart};
use crate::sparse::SparseVector;
use crate::split::{Most, bucket, pack, split};

/// Bytes of vectors remembered across calls, to avoid computing a repeated text again.
const MEMORY: usize = 256 << 20;

/// The same limit if there is a cache, which stores all vectors.
const MEMORY_WITH_CACHE: usize = 8 << 20;

/// Approximate bytes of a map entry, without its vector.
const ENTRY_BYTES: usize = 160;

/// Maximum number of texts whose tokenization is remembered.
const TOKENIZED: usize = 1 << 14;

/// Number of tokens that a sparse model reads at once.
const BATCH_TOKENS: usize = 384;

/// Number of texts that a thread processes at once when vectors are not remembered.
const TOGETHER: usize = 64;

/// Embeds texts in batches and remembers vectors, within a memory bound.
pub struct Batcher<'a> {
    embedder: &'a dyn Embedder,
    batch_tokens: usize,
    /// Tokenization results by hash of the text.
    tokenized: HashMap<Hash, TokenizedText>,
    /// Vectors by hash of the ids that the model read.
    remembered: HashMap<Hash, Box<[f32]>>,
    capacity: usize,
    /// The cache shared with other runs, and the key space of this embedder.
    cache: Option<(&'a Cache, Space)>,
}

#[derive(Clone, Copy)]
struct TokenizedText {
    /// Hash of the token ids, or of the text if the embedder reads that.
    hash: Hash,
    n_tokens: usize,
}

/// A text whose vector is not known.
struct UnknownText<'t> {
    hash: Hash,
    text: &'t str,
    ids: Vec<u32>,
    /// Number of tokens that the model reads.
    tokens: usize,
}

/// The hash of a text, and its vector or the reason why the embedder refuses it.
type ComputedText = (Hash, Result<Vec<f32>, String>);

/// The vectors of a list of texts.
#[derive(Debug, Default)]
pub struct EmbeddingResult {
    /// One vector per text in the order of the texts, row-major.
    pub vectors: Vec<f32>,
    /// Number of tokens of each text before truncation.
    pub n_tokens: Vec<usize>,
    /// Number of distinct texts that were computed.
    pub computed: usize,
    /// Number of distinct texts whose vectors were in the cache.
    pub cached: usize,
    /// Number of tokens the model read for the computed texts.
    pub tokens_read: usize,
    /// Maximum number of tokens read per text; longer texts were truncated.
    pub max_tokens: usize,
    /// Why the embedder refused a text, by the position of the text. Its vector is all zeros.
    pub refused: BTreeMap<usize, String>,
}

/// The sparse vectors of texts, in the order of the texts.
#[derive(Debug, Default)]
pub struct SparseResult {
    /// A vector for each text.
    pub vectors: Vec<SparseVector>,
    /// For each text, whether the model read only its beginning.
    pub truncated: Vec<bool>,
    /// Number of distinct texts that were computed.
    pub computed: usize,
    /// Number of tokens the model read for the computed texts.
    pub tokens_read: usize,
}

/// Returns how many vectors fit in this many bytes.
fn capacity(embedder: &dyn Embedder, bytes: usize) -> usize {
    bytes / (embedder.info().dim * size_of::<f32>() + ENTRY_BYTES)
}

impl<'a> Batcher<'a> {
    /// Creates an empty batcher. Without a token budget, it uses the embedder's own.
    #[must_use]
    pub fn new(embedder: &'a dyn Embedder, batch_tokens: Option<usize>) -> Self {
        let capacity = capacity(embedder, MEMORY);
        let batch_tokens = batch_tokens.unwrap_or(embedder.batching().tokens);
        Self { embedder, batch_tokens, tokenized: HashMap::new(), remembered: HashMap::new(), capacity, cache: None }
    }

    /// Adds a cache, if there is one.
    #[must_use]
    pub fn with_cache(self, cache: Option<&'a Cache>) -> Self {
        let capacity = if cache.is_some() { capacity(self.embedder, MEMORY_WITH_CACHE) } else { self.capacity };
        Self { cache: cache.map(|cache| (cache, Space::of(self.embedder))), capacity, ..self }
    }

    /// Returns the model's record.
    pub fn info(&self) -> &ModelInfo {
        self.embedder.info()
    }

    /// Embeds texts. `progress` is called from any thread with the number of texts and tokens of each finished batch.
    /// Vectors from the cache are reported as a batch with 0 tokens.
    ///
    /// # Errors
    /// [`Error::Embed`] from the embedder, also if it refuses a text; [`Error::Interrupted`] soon after `stop` is set.
    pub fn embed(
        &mut self,
        texts: &[String],
        role: Role,
        stop: &AtomicBool,
        progress: &(dyn Fn(usize, usize) + Sync),
    ) -> Result<EmbeddingResult> {
        let result = self.embed_some(texts, role, stop, progress)?;
        match result.refused.first_key_value() {
            None => Ok(result),
            Some((_, said)) => {
                Err(Error::Embed { doing: "asking the service", problem: format!("it refuses a text: {said}") })
            }
        }
    }

    /// Embeds texts like [`embed`](Self::embed), except for those that the embedder refuses.
    ///
    /// # Errors
    /// The other errors of [`embed`](Self::embed).
    pub fn embed_some(
        &mut self,
        texts: &[String],
        role: Role,
        stop: &AtomicBool,
        progress: &(dyn Fn(usize, usize) + Sync),
    ) -> Result<EmbeddingResult> {
        let embedder = self.embedder;
        if !embedder.batching().remember {
            return self.embed_all(texts, role, stop, progress);
        }
        let reads = embedder.batching().reads;
        let dim = embedder.info().dim;
        let hashes: Vec<Hash> = texts.par_iter().map(|text| hash_text(text, role)).collect();
        let mut seen: HashSet<Hash> = HashSet::new();
        let mut new: Vec<(Hash, &str)> = Vec::new();
        for (&hash, text) in hashes.iter().zip(texts) {
            let known = |hash| self.tokenized.get(hash).is_some_and(|of| self.remembered.contains_key(&of.hash));
            if !known(&hash) && seen.insert(hash) {
                new.push((hash, text));
            }
        }
        let encode = |&(hash, text)| {
            if stop.load(Ordering::Relaxed) {
                return Err(Error::Interrupted);
            }
            let encoded = embedder.encode(text, role)?;
            let text = encoded.part(text);
            let of_input = match reads {
                Reads::Ids => hash_ids(&encoded.ids),
                Reads::Text => hash_text(text, role),
            };
            let tokenized = TokenizedText { hash: of_input, n_tokens: encoded.n_tokens };
            let tokens = reads.tokens(&encoded, embedder.info().max_tokens);
            Ok((hash, tokenized, UnknownText { hash: of_input, text, ids: encoded.ids, tokens }))
        };
        let encoded = new.par_iter().map(encode).collect::<Result<Vec<_>>>()?;

        // Texts with equal ids have equal vectors, so only the first of them is computed.
        let mut unique: Vec<UnknownText<'_>> = Vec::new();
        seen.clear();
        for (hash, tokenized, unknown) in encoded {
            self.tokenized.insert(hash, tokenized);
            if !self.remembered.contains_key(&tokenized.hash) && seen.insert(tokenized.hash) {
                unique.push(unknown);
            }
        }
        let mut place: HashMap<Hash, Cow<'_, [f32]>> = HashMap::new();
        if let Some((cache, space)) = &self.cache {
            let wanted: Vec<Hash> = unique.iter().map(|unknown| unknown.hash).collect();
            let found = wanted.iter().zip(cache.get(space, &wanted));
            place.extend(found.filter_map(|(&hash, vector)| Some((hash, vector?.into()))));
            unique.retain(|unknown| !place.contains_key(&unknown.hash));
        }
        let cached = place.len();
        if cached > 0 {
            progress(cached, 0);
        }
        unique.sort_by(|a, b| b.tokens.cmp(&a.tokens).then_with(|| (&a.ids, a.text).cmp(&(&b.ids, b.text))));
        let tokens = |unknown: &UnknownText<'_>| unknown.tokens;
        let computed = self.compute(&unique, role, stop, progress)?;
        let mut refused_texts: HashMap<Hash, String> = HashMap::new();
        for (hash, vector) in computed {
            let vector = vector.unwrap_or_else(|said| {
                refused_texts.insert(hash, said);
                vec![0.0; dim]
            });
            place.insert(hash, vector.into());
        }

        let mut result = EmbeddingResult {
            vectors: Vec::with_capacity(texts.len() * dim),
            n_tokens: Vec::with_capacity(texts.len()),
            computed: unique.len() - refused_texts.len(),
            cached,
            tokens_read: unique.iter().filter(|unknown| !refused_texts.contains_key(&unknown.hash)).map(tokens).sum(),
            max_tokens: embedder.info().max_tokens,
            refused: BTreeMap::new(),
        };
        for (at, hash) in hashes.iter().enumerate() {
            let TokenizedText { hash, n_tokens } = self.tokenized[hash];
            if let Some(said) = refused_texts.get(&hash) {
                result.refused.insert(at, said.clone());
            }
            let vector = match place.get(&hash) {
                Some(vector) => &**vector,
                None => &*self.remembered[&hash],
            };
            result.vectors.extend_from_slice(vector);
            result.n_tokens.push(n_tokens);
        }
        for hash in &hashes {
            let hash = self.tokenized[hash].hash;
            if self.remembered.len() < self.capacity
                && !refused_texts.contains_key(&hash)
                && let Some(vector) = place.remove(&hash)
            {
                self.remembered.insert(hash, vector.into());
            }
        }
        if self.tokenized.len() > TOKENIZED {
            self.tokenized.clear();
        }
        Ok(result)
    }

    /// Computes texts, sorted by length, and puts each vector into the cache as soon as it is there.
    fn compute(
        &self,
        unique: &[UnknownText<'_>],
        role: Role,
        stop: &AtomicBool,
        progress: &(dyn Fn(usize, usize) + Sync),
    ) -> Result<Vec<ComputedText>> {
        let embedder = self.embedder;
        let batches = self.cut(unique, |unknown| unknown.tokens);
        let is_paid = matches!(embedder.batching().parallel, Parallel::Requests(_));
        let run = |batch: &&[UnknownText<'_>]| -> Result<Vec<ComputedText>> {
            let inputs = batch.iter().map(|unknown| ModelInput { text: unknown.text, role, ids: &unknown.ids });
            let mut computed = Vec::with_capacity(batch.len());
            embedder.embed_each(&inputs.collect::<Vec<_>>(), stop, &mut |arrived| {
                let arrived = arrived.into_iter().map(|(at, vector)| (batch[at].hash, vector));
                let from = computed.len();
                computed.extend(arrived);
                let vectors = computed[from..].iter();
                let vectors = vectors.filter_map(|(hash, vector)| Some((*hash, vector.as_deref().ok()?)));
                match &self.cache {
                    None => Ok(()),
                    Some((cache, space)) if is_paid => cache.keep(space, vectors),
                    Some((cache, space)) => {
                        cache.put(space, vectors);
                        Ok(())
                    }
                }
            })?;
            progress(batch.len(), batch.iter().map(|unknown| unknown.tokens).sum());
            Ok(computed)
        };
        Ok(self.run(&batches, run)?.into_iter().flatten().collect())
    }

    /// Embeds every text, without looking for known vectors.
    fn embed_all(
        &self,
        texts: &[String],
        role: Role,
        stop: &AtomicBool,
        progress: &(dyn Fn(usize, usize) + Sync),
    ) -> Result<EmbeddingResult> {
        let reads = self.embedder.batching().reads;
        let run = |texts: &[String]| {
            if stop.load(Ordering::Relaxed) {
                return Err(Error::Interrupted);
            }
            let encoded = texts.iter().map(|text| self.embedder.encode(text, role)).collect::<Result<Vec<_>>>()?;
            let inputs = texts.iter().zip(&encoded).map(|(text, of)| ModelInput { text, role, ids: &of.ids });
            let vectors = self.embedder.embed(&inputs.collect::<Vec<_>>())?;
            let tokens_read =
                encoded.iter().map(|encoded| reads.tokens(encoded, self.embedder.info().max_tokens)).sum();
            progress(texts.len(), tokens_read);
            Ok((vectors, encoded.iter().map(|encoded| encoded.n_tokens).collect::<Vec<_>>(), tokens_read))
        };
        let parts = texts.par_chunks(TOGETHER).map(run).collect::<Result<Vec<_>>>()?;
        Ok(EmbeddingResult {
            vectors: parts.iter().map(|(vectors, ..)| vectors.as_slice()).collect::<Vec<_>>().concat(),
            n_tokens: parts.iter().flat_map(|(_, n_tokens, _)| n_tokens).copied().collect(),
            computed: texts.len(),
            cached: 0,
            tokens_read: parts.iter().map(|(.., tokens)| tokens).sum(),
            max_tokens: self.embedder.info().max_tokens,
            refused: BTreeMap::new(),
        })
    }

    /// Embeds chunks of documents that are read as a whole, in the order of the readings. Works like
    /// [`embed`](Self::embed), with chunks instead of texts; nothing is truncated.
    ///
    /// # Errors
    /// [`Error::Setting`] if the model's vectors are not means over tokens; the errors of [`embed`](Self::embed).
    pub fn read(
        &mut self,
        readings: &[Reading],
        stop: &AtomicBool,
        progress: &(dyn Fn(usize, usize) + Sync),
    ) -> Result<EmbeddingResult> {
        let info = self.embedder.info();
        let max_tokens = info.max_tokens;
        let embedder = self.embedder.by_token().ok_or_else(|| {
            Error::setting(
                "pooling",
                format!("{} pools by `{}`: its vectors are not means over tokens", info.id, info.pooling),
                "use --pooling chunk, or a model with mean pooling",
            )
        })?;
        let width = embedder.width();
        let go_on = || if stop.load(Ordering::Relaxed) { Err(Error::Interrupted) } else { Ok(()) };
        let wanted = readings.par_iter().map(|reading| {
            go_on()?;
            reading.wanted(embedder, max_tokens)
        });
        let wanted = wanted.collect::<Result<Vec<Vec<WantedChunk>>>>()?;

        // Each distinct vector once, and its position.
        let mut places: HashMap<Hash, usize> = HashMap::new();
        let mut hashes = Vec::new();
        for of in wanted.iter().flatten() {
            places.entry(of.hash).or_insert_with(|| {
                hashes.push(of.hash);
                hashes.len() - 1
            });
        }
        let mut vectors = match &self.cache {
            Some((cache, space)) => cache.get(space, &hashes),
            None => vec![None; hashes.len()],
        };
        let cached = vectors.iter().flatten().count();
        if cached > 0 {
            progress(cached, 0);
        }

        let mut taken: HashSet<usize> = HashSet::new();
        let missing = wanted.iter().map(|wanted| -> Vec<_> {
            let missing = wanted.iter().map(|of| (places[&of.hash], of.tokens.clone()));
            missing.filter(|&(place, _)| vectors[place].is_none() && taken.insert(place)).collect()
        });
        let missing: Vec<Vec<(usize, Range<usize>)>> = missing.collect();
        let computed = taken.len();
        let parts = readings.par_iter().zip(&missing).map(|(reading, missing)| match missing.as_slice() {
            [] => Ok(Vec::new()),
            missing => reading.parts(missing, embedder, max_tokens),
        });
        let parts: Vec<WindowPart> = parts.collect::<Result<Vec<_>>>()?.into_iter().flatten().collect();
        let mut order: Vec<usize> = (0..parts.len()).collect();
        let len = |&part: &usize| parts[part].window.ids.len();
        order.sort_by_key(|part| std::cmp::Reverse(len(part)));
        let batches = self.cut(&order, len);
        let sums = self.run(&batches, |batch| {
            go_on()?;
            let windows: Vec<_> = batch.iter().map(|&part| &parts[part].window).collect();
            let sums = embedder.sums(&windows)?;
            progress(0, batch.iter().map(len).sum());
            Ok(sums)
        })?;
        let mut of_part: Vec<&[f32]> = vec![&[]; parts.len()];
        for (batch, mut rest) in batches.iter().zip(sums.iter().map(Vec::as_slice)) {
            for &part in *batch {
                (of_part[part], rest) = rest.split_at(parts[part].of.len() * width);
            }
        }
        // Added in the order of the windows, so batches and threads do not affect the last bits.
        let mut counts = vec![0_usize; hashes.len()];
        for (part, sums) in parts.iter().zip(of_part) {
            for ((&place, range), sum) in part.of.iter().zip(&part.window.ranges).zip(sums.chunks_exact(width)) {
                let vector = vectors[place].get_or_insert_with(|| vec![0.0; width]);
                vector.iter_mut().zip(sum).for_each(|(to, &x)| *to += x);
                counts[place] += range.len();
            }
        }
        // A static model may know no word of a document.
        for vector in vectors.iter_mut().filter(|vector| vector.is_none()) {
            *vector = Some(finite(embedder.finish(vec![0.0; width]))?);
        }
        for (vector, &count) in vectors.iter_mut().flatten().zip(&counts).filter(|(_, count)| **count > 0) {
            #[expect(clippy::cast_precision_loss, reason = "a chunk has far fewer than 2^24 tokens")]
            let count = count as f32;
            for x in vector.iter_mut() {
                *x /= count;
            }
            *vector = finite(embedder.finish(std::mem::take(vector)))?;
        }
        if let Some((cache, space)) = &self.cache {
            let new = hashes.iter().zip(&vectors).zip(&counts).filter(|(_, count)| **count > 0);
            cache.put(space, new.filter_map(|((&hash, vector), _)| Some((hash, vector.as_deref()?))));
        }
        progress(computed, 0);
        let all = wanted.iter().flatten();
        let of = |wanted: &WantedChunk| vectors[places[&wanted.hash]].as_deref().unwrap_or_default();
        Ok(EmbeddingResult {
            vectors: all.clone().flat_map(of).copied().collect(),
            n_tokens: all.map(|of| of.tokens.len()).collect(),
            computed,
            cached,
            tokens_read: order.iter().map(len).sum(),
            max_tokens: usize::MAX,
            refused: BTreeMap::new(),
        })
    }

    /// Returns the sparse vectors of texts, in their order, with the number of tokens of each before truncation; `None` if
    /// there is no sparse model. `progress` is called as by [`embed`](Self::embed).
    ///
    /// # Errors
    /// The errors of [`embed`](Self::embed).
    pub fn sparse(
        &self,
        texts: &[String],
        stop: &AtomicBool,
        progress: &(dyn Fn(usize, usize) + Sync),
    ) -> Result<Option<SparseResult>> {
        let Some(model) = self.embedder.sparse() else { return Ok(None) };
        let go_on = || if stop.load(Ordering::Relaxed) { Err(Error::Interrupted) } else { Ok(()) };
        let encode = |text: &String| {
            go_on()?;
            let encoded = model.encode(text)?;
            Ok((hash_ids(&encoded.ids), encoded))
        };
        let encoded = texts.par_iter().map(encode).collect::<Result<Vec<_>>>()?;
        let mut vectors: HashMap<Hash, SparseVector> = HashMap::new();
        let space = self.cache.map(|(cache, _)| (cache, Space::of_sparse(model.info())));
        let mut unknown: Vec<&(Hash, EncodedText)> = encoded.iter().collect();
        unknown.sort_by(|(a, x), (b, y)| y.ids.len().cmp(&x.ids.len()).then_with(|| a.as_bytes().cmp(b.as_bytes())));
        unknown.dedup_by_key(|(hash, _)| *hash);
        if let Some((cache, space)) = &space {
            let hashes: Vec<Hash> = unknown.iter().map(|(hash, _)| *hash).collect();
            let found = hashes.iter().zip(cache.get(space, &hashes));
            vectors.extend(found.filter_map(|(&hash, floats)| Some((hash, SparseVector::from_floats(&floats?)))));
            unknown.retain(|(hash, _)| !vectors.contains_key(hash));
        }
        let most = Most { tokens: BATCH_TOKENS, texts: usize::MAX };
        let batches = split(&unknown, most, true, |(_, encoded)| encoded.ids.len());
        let run = |batch: &&[&(Hash, EncodedText)]| {
            go_on()?;
            let ids: Vec<&[u32]> = batch.iter().map(|(_, encoded)| encoded.ids.as_slice()).collect();
            let vectors = model.embed(&ids)?;
            if let Some((cache, space)) = &space {
                let floats: Vec<Vec<f32>> = vectors.iter().map(SparseVector::to_floats).collect();
                cache.put(space, batch.iter().map(|(hash, _)| *hash).zip(floats.iter().map(Vec::as_slice)));
            }
            progress(0, ids.iter().map(|ids| ids.len()).sum());
            Ok(vectors)
        };
        let computed = batches.par_iter().with_max_len(1).map(run).collect::<Result<Vec<_>>>()?;
        vectors.extend(unknown.iter().map(|(hash, _)| *hash).zip(computed.into_iter().flatten()));
        let most = model.info().max_tokens;
        Ok(Some(SparseResult {
            truncated: encoded.iter().map(|(_, encoded)| encoded.n_tokens > most).collect(),
            computed: unknown.len(),
            tokens_read: unknown.iter().map(|(_, encoded)| encoded.ids.len()).sum(),
            vectors: encoded.iter().map(|(hash, _)| vectors.get(hash).cloned().unwrap_or_default()).collect(),
        }))
    }

    /// Runs each batch and returns the results in order.
    fn run<T: Sync, R: Send>(&self, batches: &[T], run: impl Fn(&T) -> Result<R> + Sync + Send) -> Result<Vec<R>> {
        match self.embedder.batching().parallel {
            // A batch takes long enough to be scheduled on its own. That way no thread finishes long before the others.
            Parallel::Cores => batches.par_iter().with_max_len(1).map(run).collect(),
            Parallel::One => batches.iter().map(run).collect(),
            Parallel::Requests(threads) => on_threads(threads, batches, run),
        }
    }

    /// Splits sorted texts into batches for the embedder.
    fn cut<'u, T>(&self, sorted: &'u [T], len: impl Fn(&T) -> usize) -> Vec<&'u [T]> {
        let Batching { mixed, padded, texts, .. } = self.embedder.batching();
        if padded {
            let most = self.embedder.info().max_tokens;
            pack(sorted, self.batch_tokens, |text| bucket(len(text), most))
        } else {
            split(sorted, Most { tokens: self.batch_tokens, texts }, mixed, len)
        }
    }
}

/// The texts that a batcher would have to compute, counted without computing any.
pub struct Survey<'a> {
    embedder: &'a dyn Embedder,
    batch_tokens: usize,
    cache: Option<(&'a Cache, Space)>,
    seen: HashSet<Hash>,
    /// Number of distinct texts that are not in the cache.
    pub texts: u64,
    /// Number of tokens that the model reads of them.
    pub tokens: u64,
    /// Number of distinct texts that are in the cache.
    pub cached: u64,
    /// Number of batches, if texts are added as they are embedded.
    pub batches: u64,
}

impl<'a> Survey<'a> {
    /// Creates a survey without texts, with the settings of a batcher.
    #[must_use]
    pub fn new(embedder: &'a dyn Embedder, batch_tokens: Option<usize>, cache: Option<&'a Cache>) -> Self {
        let batch_tokens = batch_tokens.unwrap_or(embedder.batching().tokens);
        let cache = cache.map(|cache| (cache, Space::of(embedder)));
        Self { embedder, batch_tokens, cache, seen: HashSet::new(), texts: 0, tokens: 0, cached: 0, batches: 0 }
    }

    /// Adds texts of documents. Returns what the embedder reads of those that it would have to compute, with their hashes.
    ///
    /// # Errors
    /// [`Error::Embed`] from the tokenizer.
    pub fn add<'t>(&mut self, texts: &[&'t str]) -> Result<Vec<(Hash, &'t str)>> {
        let Batching { reads, mixed, texts: most_texts, .. } = self.embedder.batching();
        let encode = |&text: &&'t str| {
            let encoded = self.embedder.encode(text, Role::Document)?;
            let hash = match reads {
                Reads::Ids => hash_ids(&encoded.ids),
                Reads::Text => hash_text(encoded.part(text), Role::Document),
            };
            Ok((hash, encoded.part(text), reads.tokens(&encoded, self.embedder.info().max_tokens)))
        };
        let mut new = texts.par_iter().map(encode).collect::<Result<Vec<_>>>()?;
        new.retain(|(hash, ..)| self.seen.insert(*hash));
        if let Some((cache, space)) = &self.cache {
            let hashes: Vec<Hash> = new.iter().map(|(hash, ..)| *hash).collect();
            let mut is_known = cache.get(space, &hashes).into_iter().map(|vector| vector.is_some());
            let all = new.len();
            new.retain(|_| !is_known.next().unwrap_or(false));
            self.cached += (all - new.len()) as u64;
        }
        new.sort_by_key(|(.., tokens)| std::cmp::Reverse(*tokens));
        let most = Most { tokens: self.batch_tokens, texts: most_texts };
        self.batches += split(&new, most, mixed, |(.., tokens)| *tokens).len() as u64;
        self.texts += new.len() as u64;
        self.tokens += new.iter().map(|(.., tokens)| *tokens as u64).sum::<u64>();
        Ok(new.into_iter().map(|(hash, text, _)| (hash, text)).collect())
    }
}

/// Runs each batch on one of so many threads, which mostly wait, and returns the results in order. After a failure no
/// further batch is begun; those that run end first.
fn on_threads<T: Sync, R: Send>(
    threads: usize,
    batches: &[T],
    run: impl Fn(&T) -> Result<R> + Sync + Send,
) -> Result<Vec<R>> {
    let next = AtomicUsize::new(0);
    let failed = AtomicBool::new(false);
    let work = || {
        let mut done = Vec::new();
        while !failed.load(Ordering::Relaxed) {
            let at = next.fetch_add(1, Ordering::Relaxed);
            let Some(batch) = batches.get(at) else { break };
            let result = run(batch);
            failed.fetch_or(result.is_err(), Ordering::Relaxed);
            done.push((at, result));
        }
        done
    };
    let mut done: Vec<(usize, Result<R>)> = thread::scope(|scope| {
        let threads: Vec<_> = (0..threads.min(batches.len())).map(|_| scope.spawn(work)).collect();
        let joined = threads.into_iter().map(|thread| thread.join().unwrap_or_else(|panic| resume_unwind(panic)));
        joined.flatten().collect()
    });
    done.sort_by_key(|(at, _)| *at);
    done.into_iter().map(|(_, result)| result).collect()
}

/// Hashes a text together with its role.
fn hash_text(text: &str, role: Role) -> Hash {
    let role: &[u8] = match role {
        Role::Document => b"document ",
        Role::Query => b"query ",
    };
    blake3::Hasher::new().update(role).update(text.as_bytes()).finalize()
}

fn hash_ids(ids: &[u32]) -> Hash {
    let mut hasher = blake3::Hasher::new();
    for id in ids {
        hasher.update(&id.to_le_bytes());
    }
    hasher.finalize()
}
