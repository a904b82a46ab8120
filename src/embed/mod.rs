//! Embedding: texts become unit vectors.
//!
//! The rest of chunkmill sees a model only through [`Embedder`], which does not mention any tensor library. It is
//! implemented by [`cpu`], the built-in encoder for the most common networks; by candle (feature `candle`), for other
//! networks and for GPUs; by `table`, for static models; and by a fake for tests and dry runs. `pair` combines two
//! embedders. [`Reranker`]s score pairs of texts.
//!
//! `head` turns the vectors of a text's tokens into one; [`late`] reads a document once for all its chunks. [`hub`]
//! finds a model's files, `package` the default model's in a Python environment; `folder` reads and checks files,
//! `modules` lists the modules that a text passes through, and [`model`] interprets them all. `tokenizer` and `words`
//! turn texts into token ids, and `growth` refuses tokenizers that would make too much of a text. [`batch`] decides which
//! texts are computed together, and [`cache`] stores the vectors.

// Hidden: the evaluation harness calls it directly.
#[doc(hidden)]
pub mod batch;
// Hidden, except for `Cache`: the tests use its internals.
#[doc(hidden)]
pub mod cache;
#[cfg(feature = "candle")]
mod candle;
// Hidden: the tests run each kernel separately.
#[doc(hidden)]
pub mod cpu;
mod fake;
mod fields;
pub(crate) mod folder;
mod growth;
mod head;
pub mod hub;
// Hidden: the command line prints it.
#[doc(hidden)]
pub mod known;
// Hidden: see `batch`.
#[doc(hidden)]
pub mod late;
// Hidden: the tests read a model's settings and the pinned hashes.
#[doc(hidden)]
pub mod model;
mod modules;
// Hidden: the Python module says where its packages are.
#[doc(hidden)]
pub mod package;
mod pair;
mod representation;
pub(crate) mod rerank;
mod table;
mod tensors;
mod tokenizer;
mod words;

use std::collections::BTreeMap;
use std::fmt;
use std::str::FromStr;

use serde::{Deserialize, Serialize};

use crate::error::{Error, Result};
use crate::tokens::TokenCounter;
use crate::value::{Value, named, unknown, value};

#[doc(hidden)]
pub use batch::{Batcher, Embedded};
pub use cache::Cache;
pub use cpu::kernel::{Isa, Precision};
use folder::Folder;
#[doc(hidden)]
pub use late::{Passage, Reading, Token, TokenEmbedder, Window};
use modules::Module;
pub use representation::{EmbeddingType, Representation};
pub use rerank::Reranker;

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
pub struct Encoded {
    /// Token ids including special tokens, at most [`ModelInfo::max_tokens`]. Empty only if the vocabulary of a static
    /// model covers none of the text.
    pub ids: Vec<u32>,
    /// Number of tokens before truncation.
    pub n_tokens: usize,
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
    fn encode(&self, text: &str, role: Role) -> Result<Encoded>;

    /// Embeds a batch: one vector of [`ModelInfo::dim`] values per text, row-major.
    ///
    /// # Errors
    /// [`Error::Embed`] if the tensor library fails or a value is not finite.
    fn embed(&self, batch: &[&[u32]]) -> Result<Vec<f32>>;

    /// Returns the embedder for queries, if it is a different one.
    fn queries(&self) -> Option<&dyn Embedder> {
        None
    }

    /// Counts the model's own tokens.
    fn counter(&self) -> &dyn TokenCounter;

    /// Returns how texts should be passed to [`Embedder::embed`].
    fn batching(&self) -> Batching;

    /// Returns the same model token by token, if its vectors are means over tokens.
    fn by_token(&self) -> Option<&dyn TokenEmbedder> {
        None
    }
}

/// How an embedder expects its texts.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Batching {
    /// Default number of tokens per batch.
    pub tokens: usize,
    /// Whether texts of different lengths may share a batch: only if that changes no vector.
    pub mixed: bool,
    /// Whether several threads should embed at once: yes on a CPU, no on a GPU.
    pub concurrent: bool,
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
    /// Returns whether both models produce the same vectors, to the last bit.
    #[must_use]
    pub fn computes_as(&self, other: &Self) -> bool {
        self.fingerprint == other.fingerprint && self.arithmetic == other.arithmetic
    }
}

/// The device that runs a model. Written `cpu`, `cuda:N` or `metal`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(try_from = "String", into = "String")]
pub enum Device {
    /// All CPU cores.
    #[default]
    Cpu,
    /// The NVIDIA GPU with this index; needs the `cuda` feature.
    Cuda(usize),
    /// The Apple GPU; needs the `metal` feature.
    Metal,
}

impl fmt::Display for Device {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Cpu => f.write_str("cpu"),
            Self::Cuda(ordinal) => write!(f, "cuda:{ordinal}"),
            Self::Metal => f.write_str("metal"),
        }
    }
}

impl TryFrom<String> for Device {
    type Error = String;

    fn try_from(s: String) -> Result<Self, String> {
        s.parse()
    }
}

impl From<Device> for String {
    fn from(device: Device) -> Self {
        device.to_string()
    }
}

value! {
    Device: {"type": "string", "pattern": "^(cpu|metal|cuda(:[0-9]+)?)$"}
}

impl FromStr for Device {
    type Err = String;

    fn from_str(s: &str) -> Result<Self, String> {
        match s {
            "cpu" => Ok(Self::Cpu),
            "metal" => Ok(Self::Metal),
            "cuda" => Ok(Self::Cuda(0)),
            _ => s
                .strip_prefix("cuda:")
                .and_then(|ordinal| ordinal.parse().ok())
                .map(Self::Cuda)
                .ok_or_else(|| unknown(s, "a device", &["cpu", "cuda:N", "metal"])),
        }
    }
}

/// Which implementation of [`Embedder`] to use.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Engine {
    /// [`Engine::Cpu`] if it can run the model on the chosen device, otherwise [`Engine::Candle`].
    #[default]
    Auto,
    /// The built-in encoder, on the CPU.
    Cpu,
    /// Candle.
    Candle,
    /// Hashed words, without a model or meaning, for tests and dry runs.
    Fake,
}

impl Engine {
    /// Every engine.
    pub const ALL: [Self; 4] = [Self::Auto, Self::Cpu, Self::Candle, Self::Fake];

    /// Returns the name used in settings.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Self::Auto => "auto",
            Self::Cpu => "cpu",
            Self::Candle => "candle",
            Self::Fake => "fake",
        }
    }
}

named!(Engine, "an embedder");

/// The precision to compute a model in. Written `auto` or as the [`Precision`].
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum PrecisionSetting {
    /// The fastest precision whose vectors are practically those of f32; see [`cpu`].
    #[default]
    Auto,
    /// A fixed precision.
    Fixed(Precision),
}

impl Value for PrecisionSetting {
    fn read(text: &str) -> Result<Self, String> {
        text.parse()
    }

    fn schema() -> serde_json::Value {
        serde_json::json!({"enum": Self::names()})
    }
}

impl PrecisionSetting {
    const AUTO: &str = "auto";

    /// Returns the precision that the built-in encoder uses with this instruction set.
    pub(crate) fn on(self, isa: Isa) -> Precision {
        match self {
            Self::Fixed(precision) => precision,
            Self::Auto if isa.multiplies_bf16() => Precision::Bf16,
            Self::Auto => Precision::F32,
        }
    }

    fn names() -> Vec<&'static str> {
        [&[Self::AUTO], &Precision::ALL.map(Precision::name)[..]].concat()
    }
}

impl FromStr for PrecisionSetting {
    type Err = String;

    fn from_str(s: &str) -> Result<Self, String> {
        if s == Self::AUTO {
            return Ok(Self::Auto);
        }
        s.parse().map(Self::Fixed).map_err(|_: String| unknown(s, "a precision", &Self::names()))
    }
}

impl<'de> Deserialize<'de> for PrecisionSetting {
    fn deserialize<D: serde::Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        String::deserialize(deserializer)?.parse().map_err(serde::de::Error::custom)
    }
}

impl fmt::Display for PrecisionSetting {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Auto => f.write_str("auto"),
            Self::Fixed(precision) => precision.fmt(f),
        }
    }
}

impl Serialize for PrecisionSetting {
    fn serialize<S: serde::Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_str(self)
    }
}

/// How a model is run: engine, precision and device.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Backend {
    /// Engine that runs it.
    pub engine: Engine,
    /// Precision it is computed in.
    pub precision: PrecisionSetting,
    /// Device it runs on.
    pub device: Device,
    /// CPU instruction set for the built-in encoder; `None` selects the best available.
    pub isa: Option<Isa>,
    /// Number of leading values of each vector to keep; `None` keeps all.
    pub dimensions: Option<Dimensions>,
}

/// The first values of each vector. Models trained for this (Kusupati et al. 2022, "Matryoshka") lose little quality.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Dimensions {
    /// Number of values; above 0.
    pub count: usize,
    /// Whether to accept a number that the model does not declare.
    pub forced: bool,
}

impl From<Engine> for Backend {
    fn from(engine: Engine) -> Self {
        Self { engine, ..Self::default() }
    }
}

/// Loads a model and checks every file before anything is computed.
///
/// # Errors
/// [`Error::Model`] if it cannot be found, does not match its hash, or is of an unknown kind;
/// [`Error::Setting`] if the backend cannot run here.
pub fn load(backend: impl Into<Backend>, model: &hub::ModelRef) -> Result<Box<dyn Embedder>> {
    let backend = backend.into();
    if backend.engine == Engine::Fake {
        return Ok(Box::new(fake::Fake::new()));
    }
    let mut folder = hub::locate(model)?;
    let routes = folder.routes()?;
    let queries = routes.query.map(|modules| load_route(folder.clone(), &modules, backend)).transpose()?;
    let documents = load_route(folder, &routes.document, backend)?;
    match queries {
        None => Ok(documents),
        Some(queries) => Ok(Box::new(pair::Pair::new(documents, queries, false)?)),
    }
}

/// Loads one model for documents and another for queries, whose vectors share a space.
///
/// # Errors
/// The errors of [`load`] for both; [`Error::Setting`] if their vectors differ in length.
pub fn load_pair(
    backend: Backend,
    model: &hub::ModelRef,
    query: Backend,
    query_model: &hub::ModelRef,
) -> Result<Box<dyn Embedder>> {
    let (documents, queries) = (load(backend, model)?, load(query, query_model)?);
    Ok(Box::new(pair::Pair::new(documents, queries, true)?))
}

/// The implementation that runs a model.
enum Choice {
    /// A table of vectors.
    Table,
    /// The built-in encoder.
    Ours(Box<cpu::Plan>),
    /// Candle, with the reason.
    Candle(String),
}

impl Choice {
    fn new(folder: &Folder, settings: &model::Settings, backend: Backend) -> Result<Self> {
        if settings.is_static() {
            return Ok(Self::Table);
        }
        if backend.engine == Engine::Candle {
            return Ok(Self::Candle("it was requested".to_owned()));
        }
        match cpu::Plan::new(&settings.config, settings.tokenizer.max_tokens(), backend) {
            Ok(plan) => Ok(Self::Ours(Box::new(plan))),
            Err(problem) if backend.engine == Engine::Cpu => {
                Err(folder.error(format!("the `cpu` encoder cannot run it: {problem}"), "use --embedder candle"))
            }
            Err(problem) => Ok(Self::Candle(format!("the `cpu` encoder cannot run it, because {problem}"))),
        }
    }
}

/// Loads the model that these modules describe.
fn load_route(mut folder: Folder, modules: &[Module], backend: Backend) -> Result<Box<dyn Embedder>> {
    let settings = model::Settings::of(&mut folder, modules)?;
    match Choice::new(&folder, &settings, backend)? {
        Choice::Table => Ok(Box::new(table::Table::load(folder, settings, backend)?)),
        Choice::Ours(plan) => Ok(Box::new(cpu::Cpu::load(folder, settings, *plan, backend.dimensions)?)),
        Choice::Candle(why) => {
            if backend.device == Device::Cpu && backend.engine == Engine::Auto {
                tracing::warn!("{} runs through candle, which is slower: {why}", folder.id);
            }
            through_candle(folder, settings, backend)
        }
    }
}

/// Explains which implementation runs a model's documents, and why.
///
/// # Errors
/// The errors of [`load`], except those about weights.
#[doc(hidden)] // For the command line.
pub fn explain(backend: Backend, model: &hub::ModelRef) -> Result<String> {
    let mut folder = hub::locate(model)?;
    let settings = model::Settings::read(&mut folder)?;
    let kind = &settings.model_type;
    Ok(match Choice::new(&folder, &settings, backend)? {
        Choice::Table => "a table of vectors, without a network".to_owned(),
        Choice::Ours(_) => format!("the `cpu` encoder: it supports networks of type `{kind}`"),
        Choice::Candle(why) => format!("candle: {why}"),
    })
}

#[cfg(feature = "candle")]
fn through_candle(folder: Folder, settings: model::Settings, backend: Backend) -> Result<Box<dyn Embedder>> {
    Ok(Box::new(candle::Candle::load(folder, settings, backend)?))
}

#[cfg(not(feature = "candle"))]
#[expect(clippy::needless_pass_by_value, reason = "same signature as the other, which consumes it")]
fn through_candle(folder: Folder, _: model::Settings, _: Backend) -> Result<Box<dyn Embedder>> {
    Err(Error::without("candle", &format!("model {}", folder.id)))
}

/// Loads a reranker. It runs on the CPU, with the built-in encoder.
///
/// # Errors
/// [`Error::Model`] if it cannot be found or is not a network that scores pairs; [`Error::Setting`] if the backend
/// cannot run here.
pub fn load_reranker(backend: Backend, model: &hub::ModelRef) -> Result<Box<dyn Reranker>> {
    let mut folder = hub::locate_reranker(model)?;
    let settings = rerank::Settings::read(&mut folder)?;
    let backend = Backend { device: Device::Cpu, ..backend };
    let plan = cpu::Plan::new(&settings.config, settings.tokenizer.max_tokens(), backend).map_err(|problem| {
        folder.error(format!("the `cpu` encoder cannot run it: {problem}"), "use another reranker")
    })?;
    Ok(Box::new(cpu::cross::CrossEncoder::load(folder, settings, plan)?))
}

/// Returns the vector of a question.
///
/// # Errors
/// [`Error::Embed`] from the embedder.
pub fn query(embedder: &dyn Embedder, question: &str) -> Result<Vec<f32>> {
    let embedder = embedder.queries().unwrap_or(embedder);
    let encoded = embedder.encode(question, Role::Query)?;
    let vector = embedder.embed(&[&encoded.ids])?;
    if is_zero(&vector) {
        tracing::warn!(
            "{} knows no word of the question, so nothing is near it; keywords still count",
            embedder.info().id
        );
    }
    Ok(vector)
}

/// Loads only a model's tokenizer, to count in the unit `model`.
///
/// # Errors
/// The errors of [`load`].
pub fn load_counter(engine: Engine, model: &hub::ModelRef) -> Result<Box<dyn TokenCounter>> {
    match engine {
        Engine::Fake => Ok(Box::new(fake::Words)),
        Engine::Auto | Engine::Cpu | Engine::Candle => {
            Ok(Box::new(model::Settings::read(&mut hub::locate(model)?)?.tokenizer))
        }
    }
}

/// Flag of a chunk whose vector is all zeros.
///
/// A static model knows no word of some texts, and any model may have weights that make a vector zero. No direction
/// would say anything about these texts, and a null does not fit into every column of vectors. So `verify` accepts
/// zeros exactly where this flag is, and a search never ranks by them: the cosine with zeros is undefined.
pub const ZERO_VECTOR: &str = "zero_vector";

/// Largest length of a vector. Longer ones are a sign of damage.
pub(crate) const MAX_DIM: usize = 1 << 16;

/// Returns whether a vector is all zeros, see [`ZERO_VECTOR`].
#[must_use]
pub(crate) fn is_zero(vector: &[f32]) -> bool {
    vector.iter().all(|&x| x == 0.0)
}

/// Scales a vector to length 1. A zero vector is left unchanged.
fn normalize(vector: &mut [f32]) {
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
fn finite(vectors: Vec<f32>) -> Result<Vec<f32>> {
    if vectors.iter().all(|value| value.is_finite()) {
        Ok(vectors)
    } else {
        Err(failed("running the model")(&"a vector is not finite; the weights are damaged"))
    }
}

fn failed(doing: &'static str) -> impl Fn(&dyn fmt::Display) -> Error {
    move |problem| Error::Embed { doing, problem: problem.to_string() }
}
