//! What the rest of chunkmill knows of a model: it encodes texts, and turns them into vectors. No tensor library is
//! mentioned here.

use std::collections::BTreeMap;
use std::fmt;
use std::sync::atomic::{AtomicBool, Ordering};

use blake3::Hash;
use chunkmill_base::error::{Error, Result};
use chunkmill_text::tokens::TokenCounter;
use serde::{Deserialize, Serialize};

use crate::backend::{Dialect, Engine};
use crate::kernel::Precision;
use crate::late::TokenEmbedder;
use crate::representation::EmbeddingTypes;
use crate::sparse::{SparseModel, SparseVector};

/// The role of a text. Some models use different prompts for queries and documents.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Role {
    /// A chunk to be found.
    Document,
    /// A question to find it with.
    Query,
}

/// A text as the model reads it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct EncodedText {
    /// Token ids including special tokens, at most [`ModelInfo::max_tokens`]. Empty if the vocabulary of a static model
    /// covers none of the text, and if the embedder has no tokenizer.
    pub ids: Vec<u32>,
    /// Number of tokens before truncation.
    pub n_tokens: usize,
    /// Number of bytes of the text that are sent to a service, if not all are. Embedders with a tokenizer truncate `ids`
    /// instead.
    pub cut: Option<usize>,
}

impl EncodedText {
    /// Returns the part of its text that the embedder gets.
    pub fn part<'t>(&self, text: &'t str) -> &'t str {
        self.cut.and_then(|end| text.get(..end)).unwrap_or(text)
    }
}

/// Receives vectors of texts, by the position of each text, or the reason why the embedder refuses a text.
pub type Arrived<'a> = &'a mut dyn FnMut(Vec<(usize, Result<Vec<f32>, String>)>) -> Result<()>;

/// A text to embed: as it is, and as the model reads it.
#[derive(Debug, Clone, Copy)]
pub struct ModelInput<'t> {
    /// The text, without the prompt of its role.
    pub text: &'t str,
    /// Its role.
    pub role: Role,
    /// Its token ids, from [`Embedder::encode`].
    pub ids: &'t [u32],
}

/// Turns texts into vectors of length 1 (if the model normalises, as nearly all do), or of zeros: see [`ZERO_VECTOR`].
pub trait Embedder: Send + Sync {
    /// Returns the record that identifies the model. Two embedders with equal fingerprints produce the same vectors,
    /// up to the last bits (see [`ModelInfo::arithmetic`]).
    fn info(&self) -> &ModelInfo;

    /// Tokenizes a text and truncates it to the model's limit. If [`queries`](Self::queries) returns another embedder,
    /// that one must encode queries, as [`query`] does.
    ///
    /// # Errors
    /// [`Error::Embed`] if the tokenizer fails.
    fn encode(&self, text: &str, role: Role) -> Result<EncodedText>;

    /// Embeds a batch: one vector of [`ModelInfo::dim`] values per text, row-major.
    ///
    /// # Errors
    /// [`Error::Embed`] if the tensor library fails or a value is not finite.
    fn embed(&self, batch: &[ModelInput<'_>]) -> Result<Vec<f32>>;

    /// Embeds a batch and hands over each vector as soon as it is there. An embedder that refuses a text says why, and
    /// embeds the others.
    ///
    /// # Errors
    /// Those of [`embed`](Self::embed) and of `arrived`; [`Error::Interrupted`] soon after `stop` is set.
    fn embed_each(&self, batch: &[ModelInput<'_>], stop: &AtomicBool, arrived: Arrived<'_>) -> Result<()> {
        if stop.load(Ordering::Relaxed) {
            return Err(Error::Interrupted);
        }
        let vectors = self.embed(batch)?;
        let vectors = vectors.chunks(self.info().dim).map(|vector| Ok(vector.to_vec()));
        arrived(vectors.enumerate().collect())
    }

    /// Embeds token ids, if the embedder has a tokenizer.
    ///
    /// # Errors
    /// Those of [`embed`](Self::embed).
    fn embed_ids(&self, batch: &[&[u32]]) -> Result<Vec<f32>> {
        let inputs = batch.iter().map(|&ids| ModelInput { text: "", role: Role::Document, ids });
        self.embed(&inputs.collect::<Vec<_>>())
    }

    /// Returns the embedder for queries, if it is a different one.
    fn queries(&self) -> Option<&dyn Embedder> {
        None
    }

    /// Returns the sparse model that is used next to this one, if there is one.
    fn sparse(&self) -> Option<&dyn SparseEmbedder> {
        None
    }

    /// Counts the model's own tokens.
    fn counter(&self) -> &dyn TokenCounter;

    /// Returns how texts should be passed to [`Embedder::embed`].
    fn batching(&self) -> Batching;

    /// Returns the part of a service that computes texts later, if it has one.
    fn batch_api(&self) -> Option<&dyn BatchApi> {
        None
    }

    /// Returns the same model token by token, if its vectors are means over tokens.
    fn by_token(&self) -> Option<&dyn TokenEmbedder> {
        None
    }
}

/// Receives vectors with the hashes of their texts.
pub type KeepVectors<'a> = &'a mut dyn FnMut(Vec<(Hash, Vec<f32>)>) -> Result<()>;

/// Texts that a service computes later, at a lower price.
pub trait BatchApi: Send + Sync {
    /// Hands texts over, each with its hash, and returns how many: not those that were refused in a batch before. They
    /// are remembered, whatever ends this process.
    ///
    /// # Errors
    /// [`Error::Service`], and [`Error::Setting`] if the service has no batches, or there is no cache for the vectors.
    fn submit(&self, texts: &[(Hash, String)], stop: &AtomicBool) -> Result<usize>;

    /// Fetches the vectors of all batches that are over. A batch is forgotten once `keep` has its vectors.
    ///
    /// # Errors
    /// [`Error::Service`], and those of `keep`.
    fn collect(&self, keep: KeepVectors<'_>) -> Result<BatchProgress>;
}

/// The state of the texts that were handed over for later.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize)]
pub struct BatchProgress {
    /// Number of texts whose vectors have come now.
    pub received: usize,
    /// Number of texts whose batch is over without their vectors.
    pub failed: usize,
    /// Number of texts that are not computed yet.
    pub waiting: usize,
}

/// Turns texts into sparse vectors.
pub trait SparseEmbedder: Send + Sync {
    /// Returns the record that identifies the model.
    fn info(&self) -> &SparseModel;

    /// Tokenizes a document and truncates it to the model's limit.
    ///
    /// # Errors
    /// [`Error::Embed`] if the tokenizer fails.
    fn encode(&self, text: &str) -> Result<EncodedText>;

    /// Returns a vector for each document of a batch. A vector depends only on its own document.
    ///
    /// # Errors
    /// [`Error::Embed`] if the network fails, or the model was loaded for questions only.
    fn embed(&self, batch: &[&[u32]]) -> Result<Vec<SparseVector>>;

    /// Returns the vector of a question.
    ///
    /// # Errors
    /// [`Error::Embed`] if the tokenizer or the network fails.
    fn query(&self, text: &str) -> Result<SparseVector>;
}

/// The part of a [`ModelInput`] that determines its vector.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Reads {
    /// The token ids.
    Ids,
    /// The text and its role: the embedder has no tokenizer, because a service has it.
    Text,
}

impl Reads {
    /// Returns the number of tokens that a model with this limit reads.
    pub(crate) fn tokens(self, encoded: &EncodedText, most: usize) -> usize {
        match (self, encoded.cut) {
            (Self::Ids, _) => encoded.ids.len(),
            (Self::Text, None) => encoded.n_tokens,
            (Self::Text, Some(_)) => encoded.n_tokens.min(most),
        }
    }
}

/// How many batches an embedder should compute at once.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Parallel {
    /// One: it uses all of a GPU.
    One,
    /// One on each core.
    Cores,
    /// This many: a service computes them, and each is paid for. Its answers are kept at once.
    Requests(usize),
}

/// How an embedder expects its texts.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Batching {
    /// The part of an input that it reads.
    pub reads: Reads,
    /// Default number of tokens per batch.
    pub tokens: usize,
    /// Largest number of texts per batch.
    pub texts: usize,
    /// Whether texts of different lengths may share a batch: only if that changes no vector.
    pub mixed: bool,
    /// Whether a text is padded to the width of its bucket, and shares a batch with texts of the same bucket: on a GPU.
    pub padded: bool,
    /// How many batches should be computed at once.
    pub parallel: Parallel,
    /// Whether vectors are worth remembering: not if computing one is faster than looking it up.
    pub remember: bool,
}

/// A dataset's record of the model that produced its vectors.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ModelInfo {
    /// Hub id, or the folder's name.
    pub id: String,
    /// Commit of the hub repository, if it came from there.
    pub revision: Option<String>,
    /// SHA-256 of every file that was read, by name.
    pub files: BTreeMap<String, String>,
    /// Length of a vector.
    pub dim: usize,
    /// Maximum number of tokens the model reads, including special tokens.
    pub max_tokens: usize,
    /// How token vectors become one: `mean`, `cls`, `max`, `mean_sqrt_len`, `weighted_mean` or `last`, or several of
    /// them joined by `+`, whose vectors are concatenated.
    pub pooling: String,
    /// Whether vectors are scaled to length 1.
    pub normalize: bool,
    /// Engine that ran the model; never [`Engine::Auto`].
    pub engine: Engine,
    /// Precision it was computed in.
    pub precision: Precision,
    /// Identifies the files and everything else that determines the vectors: 16 hexadecimal digits.
    pub fingerprint: String,
    /// Identifies what else affects the last bits of the vectors: the instruction set, the device; `any` if nothing
    /// does.
    pub arithmetic: String,
    /// The model for queries, if it is a different one.
    pub query: Option<QueryModel>,
    /// The sparse model next to it, if there is one.
    pub sparse: Option<SparseModel>,
    /// The service that has the model, if it is not here.
    pub service: Option<ServiceModel>,
}

/// A dataset's record of the service that computed its vectors.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct ServiceModel {
    /// Its address, without credentials.
    pub endpoint: String,
    /// Form of its requests.
    pub dialect: Dialect,
    /// Version of the model, as far as the service tells it.
    pub version: Option<String>,
    /// Tokenizer that counted its texts.
    pub tokenizer: String,
    /// Number of values that it was asked for, if not all.
    pub dimensions: Option<usize>,
    /// Text before each chunk.
    pub document_prefix: String,
    /// Text before each question.
    pub query_prefix: String,
}

/// A dataset's record of the model for queries, if documents use a different one.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct QueryModel {
    /// Hub id, or the folder's name; `None` if it is part of the model for documents.
    pub id: Option<String>,
    /// Commit of the hub repository, if it came from there.
    pub revision: Option<String>,
    /// Engine that ran it.
    pub engine: Engine,
    /// Precision it was computed in.
    pub precision: Precision,
    /// Identifies it, like [`ModelInfo::fingerprint`].
    pub fingerprint: String,
}

impl ModelInfo {
    /// Returns whether both models produce the same vectors of documents, to the last bit, the sparse ones included.
    pub fn computes_as(&self, other: &Self) -> bool {
        self.identity() == other.identity()
    }

    /// Checks that vectors of this model can be stored in these types.
    ///
    /// # Errors
    /// [`Error::Setting`] if a type needs vectors of length 1 and those of the model have any length.
    pub fn check_stored(&self, types: EmbeddingTypes) -> Result<()> {
        match types.iter().find(|kind| kind.needs_unit_length()) {
            Some(kind) if !self.normalize => Err(Error::setting(
                "embedding-type",
                format!("`{kind}` is for vectors of length 1, and those of {} have any length", self.id),
                "use f32 or f16",
            )),
            _ => Ok(()),
        }
    }

    /// Returns everything that identifies the vectors of documents, to the last bit, and where their texts are cut.
    pub fn identity(&self) -> Vec<String> {
        let sparse = self.sparse.iter().flat_map(|sparse| [&sparse.fingerprint, &sparse.arithmetic]);
        // Other models have this in their fingerprints.
        let cut = self.service.iter().map(|service| format!("{} {}", self.max_tokens, service.tokenizer));
        [&self.fingerprint, &self.arithmetic].into_iter().chain(sparse).cloned().chain(cut).collect()
    }
}

/// Returns the vector of a question.
///
/// # Errors
/// [`Error::Embed`] from the embedder.
pub fn query(embedder: &dyn Embedder, question: &str) -> Result<Vec<f32>> {
    let embedder = embedder.queries().unwrap_or(embedder);
    let encoded = embedder.encode(question, Role::Query)?;
    let text = encoded.part(question);
    let vector = embedder.embed(&[ModelInput { text, role: Role::Query, ids: &encoded.ids }])?;
    if is_zero(&vector) {
        tracing::warn!(
            "{} knows no word of the question, so nothing is near it; keywords still count",
            embedder.info().id
        );
    }
    Ok(vector)
}

/// Returns the sparse vector of a question; `None` without a sparse model.
///
/// # Errors
/// [`Error::Embed`] from the sparse model.
pub fn sparse_query(embedder: &dyn Embedder, question: &str) -> Result<Option<SparseVector>> {
    embedder.sparse().map(|sparse| sparse.query(question)).transpose()
}

/// Flag of a chunk whose vector is all zeros.
///
/// A static model knows no word of some texts, and any model may have weights that make a vector zero. No direction
/// would say anything about these texts, and a null does not fit into every column of vectors. So `verify` accepts
/// zeros exactly where this flag is, and a search never ranks by them: the cosine with zeros is undefined.
pub const ZERO_VECTOR: &str = "zero_vector";

/// Largest length of a vector. Longer ones are a sign of damage.
pub const MAX_DIM: usize = 1 << 16;

/// Returns whether a vector is all zeros, see [`ZERO_VECTOR`].
pub fn is_zero(vector: &[f32]) -> bool {
    vector.iter().all(|&x| x == 0.0)
}

/// Scales a vector to length 1. A zero vector is left unchanged.
pub(crate) fn normalize(vector: &mut [f32]) {
    let norm = vector.iter().map(|&x| f64::from(x) * f64::from(x)).sum::<f64>().sqrt();
    if norm > 0.0 {
        for x in vector {
            #[expect(clippy::cast_possible_truncation, reason = "the result is at most 1")]
            let scaled = (f64::from(*x) / norm) as f32;
            *x = scaled;
        }
    }
}

/// Returns the vectors, or an error if a value is not finite.
pub(crate) fn finite(vectors: Vec<f32>) -> Result<Vec<f32>> {
    if vectors.iter().all(|value| value.is_finite()) {
        Ok(vectors)
    } else {
        Err(failed("running the model")(&"a vector is not finite; the weights are damaged"))
    }
}

pub(crate) fn failed(doing: &'static str) -> impl Fn(&dyn fmt::Display) -> Error {
    move |problem| Error::Embed { doing, problem: problem.to_string() }
}
