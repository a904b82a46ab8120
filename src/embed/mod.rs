//! Embedding: texts become unit vectors.
//!
//! [`Embedder`] is all that the rest of chunkmill knows of a model; it names no tensor library.
//! Behind it stand [`cpu`], an encoder of our own for the networks most models are; candle, for the
//! others and for GPUs, with the feature `candle`; `table`, for static models; and a fake for tests and dry runs. `pair` puts
//! two of them together. [`Reranker`]s judge pairs of texts. `head` makes one vector of those of a text's tokens; [`late`] reads a document once for all its
//! chunks. [`hub`] finds a model's files, `folder` reads and checks them, `modules` lists what a text goes through,
//! [`model`] says what it all means; `tokenizer` and `words` make ids of texts. [`batch`] decides what is computed together,
//! [`cache`] keeps it.

// Hidden: how texts come together in batches and readings, as the harness measures it.
#[doc(hidden)]
pub mod batch;
// Hidden but for `Cache`: the tests look into it.
#[doc(hidden)]
pub mod cache;
#[cfg(feature = "candle")]
mod candle;
// Hidden: the tests try each kernel alone.
#[doc(hidden)]
pub mod cpu;
mod fake;
mod fields;
pub(crate) mod folder;
mod head;
pub mod hub;
// Hidden: the command line shows it.
#[doc(hidden)]
pub mod known;
// Hidden: see `batch`.
#[doc(hidden)]
pub mod late;
// Hidden: the harness checks what it fetches by the same hash, and the tests put models together.
#[doc(hidden)]
pub mod model;
mod modules;
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

/// What a text is to the model: some read queries and documents with different prompts.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Role {
    /// A chunk that is to be found.
    Document,
    /// A question that is to find it.
    Query,
}

/// A text as the model reads it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Encoded {
    /// Token ids with the special ones, at most [`ModelInfo::max_tokens`]. Empty only if a static model
    /// knows none of the text.
    pub ids: Vec<u32>,
    /// How many there were before the text was cut to fit.
    pub n_tokens: usize,
}

/// Turns texts into vectors of length 1 (if the model normalises, as nearly all do).
pub trait Embedder: Send + Sync {
    /// What identifies the model. Two embedders with equal fingerprints give the same vectors.
    fn info(&self) -> &ModelInfo;

    /// Tokenizes a text and cuts it to what the model reads. Where queries have an embedder of their own, that one has to
    /// be asked for them: [`query`] does.
    ///
    /// # Errors
    /// [`Error::Embed`] if the tokenizer fails.
    fn encode(&self, text: &str, role: Role) -> Result<Encoded>;

    /// Embeds a batch: one vector of [`ModelInfo::dim`] values per text, row-major.
    ///
    /// # Errors
    /// [`Error::Embed`] if the tensor library fails or a value is not finite.
    fn embed(&self, batch: &[&[u32]]) -> Result<Vec<f32>>;

    /// What embeds queries, if it is not this one.
    fn queries(&self) -> Option<&dyn Embedder> {
        None
    }

    /// Counts the model's own tokens.
    fn counter(&self) -> &dyn TokenCounter;

    /// How texts should be given to [`Embedder::embed`].
    fn batching(&self) -> Batching;

    /// The same model token by token, if its vectors are means over its tokens.
    fn by_token(&self) -> Option<&dyn TokenEmbedder> {
        None
    }
}

/// How an embedder wants its texts.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Batching {
    /// Tokens in a batch when nothing else is said.
    pub tokens: usize,
    /// Whether texts of several lengths may share a batch: only if that changes no vector.
    pub mixed: bool,
    /// Whether several threads should embed at once: yes on a CPU, no on a GPU.
    pub concurrent: bool,
    /// Whether a vector is worth being remembered: not if it is made faster than it is found.
    pub remember: bool,
}

/// What a dataset records of the model its vectors come from.
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
    /// Most tokens the model reads, special ones included.
    pub max_tokens: usize,
    /// How token vectors become one: `mean`, `cls`, `max`, `mean_sqrt_len`, `weighted_mean` or `last`, or several
    /// of them, joined by `+`, whose vectors are put one behind another.
    pub pooling: String,
    /// Whether vectors are scaled to length 1.
    pub normalize: bool,
    /// What ran the model; never [`Engine::Auto`].
    pub engine: Engine,
    /// What it was computed in.
    pub precision: Precision,
    /// Identifies the files and everything else that decides the vectors: 16 hexadecimal digits.
    pub fingerprint: String,
    /// What decides the last bits of the vectors besides: the instruction set, the device; or `any`.
    pub arithmetic: String,
    /// What reads queries, if it is another model.
    pub query: Option<QueryModel>,
}

/// What a dataset records of the model that reads queries, where another one reads documents.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct QueryModel {
    /// Hub id, or the folder's name; `None` if it is a part of the model that reads documents.
    pub id: Option<String>,
    /// Commit of the hub repository, if it came from there.
    pub revision: Option<String>,
    /// What ran it.
    pub engine: Engine,
    /// What it was computed in.
    pub precision: Precision,
    /// Identifies it, as [`ModelInfo::fingerprint`] does.
    pub fingerprint: String,
}

impl ModelInfo {
    /// Whether this and another one give the same vectors, to the last bit.
    #[must_use]
    pub fn computes_as(&self, other: &Self) -> bool {
        self.fingerprint == other.fingerprint && self.arithmetic == other.arithmetic
    }
}

/// Where a model runs. Written `cpu`, `cuda:N` or `metal`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(try_from = "String", into = "String")]
pub enum Device {
    /// All cores.
    #[default]
    Cpu,
    /// The N-th NVIDIA GPU; needs the `cuda` feature.
    Cuda(usize),
    /// Apple's GPU; needs the `metal` feature.
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
    /// [`Engine::Cpu`] if it can run the model where it is to run, else [`Engine::Candle`].
    #[default]
    Auto,
    /// Our own encoder, on the CPU.
    Cpu,
    /// Candle.
    Candle,
    /// Hashed words: no model, no meaning, for tests and dry runs.
    Fake,
}

impl Engine {
    /// Every engine.
    pub const ALL: [Self; 4] = [Self::Auto, Self::Cpu, Self::Candle, Self::Fake];

    /// The name used in settings.
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

/// What a model is to be computed in. Written `auto` or as the [`Precision`].
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum PrecisionSetting {
    /// The fastest that gives practically the vectors of f32, see [`cpu`].
    #[default]
    Auto,
    /// This one.
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

    /// What our own encoder computes in with these instructions.
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

/// What runs a model, where, and in what.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Backend {
    /// What runs it.
    pub engine: Engine,
    /// What it is computed in.
    pub precision: PrecisionSetting,
    /// Where it runs.
    pub device: Device,
    /// Which instructions of a CPU our own encoder uses; `None` is the best it has.
    pub isa: Option<Isa>,
    /// How many of a vector's first values are kept; `None` is all.
    pub dimensions: Option<Dimensions>,
}

/// Some of a vector's first values. Models that were trained for it (Kusupati et al. 2022, "Matryoshka") lose little by it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Dimensions {
    /// How many; above 0.
    pub count: usize,
    /// Whether the model need not declare this number.
    pub forced: bool,
}

impl From<Engine> for Backend {
    fn from(engine: Engine) -> Self {
        Self { engine, ..Self::default() }
    }
}

/// Loads a model, every file checked before anything is computed.
///
/// # Errors
/// [`Error::Model`] if it cannot be found, is not what its hash says, or is of an unknown kind;
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

/// Loads one model for documents, and another for queries, whose vectors lie in the same space.
///
/// # Errors
/// Those of [`load`] for both; [`Error::Setting`] if their vectors differ in length.
pub fn load_pair(
    backend: Backend,
    model: &hub::ModelRef,
    query: Backend,
    query_model: &hub::ModelRef,
) -> Result<Box<dyn Embedder>> {
    let (documents, queries) = (load(backend, model)?, load(query, query_model)?);
    Ok(Box::new(pair::Pair::new(documents, queries, true)?))
}

/// What runs a model.
enum Choice {
    /// It is a table of vectors.
    Table,
    /// Our own encoder.
    Ours(Box<cpu::Plan>),
    /// Candle, and why.
    Candle(String),
}

impl Choice {
    fn new(folder: &Folder, settings: &model::Settings, backend: Backend) -> Result<Self> {
        if settings.is_static() {
            return Ok(Self::Table);
        }
        if backend.engine == Engine::Candle {
            return Ok(Self::Candle("it was asked for".to_owned()));
        }
        match cpu::Plan::new(&settings.config, settings.tokenizer.max_tokens(), backend) {
            Ok(plan) => Ok(Self::Ours(Box::new(plan))),
            Err(problem) if backend.engine == Engine::Cpu => {
                Err(folder.error(format!("the encoder `cpu` cannot run it: {problem}"), "use --embedder candle"))
            }
            Err(problem) => Ok(Self::Candle(format!("the encoder `cpu` cannot, since {problem}"))),
        }
    }
}

/// Loads what these modules are.
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

/// What runs a model's documents, and why, in words.
///
/// # Errors
/// Those of [`load`], weights aside.
#[doc(hidden)] // For the command line.
pub fn explain(backend: Backend, model: &hub::ModelRef) -> Result<String> {
    let mut folder = hub::locate(model)?;
    let settings = model::Settings::read(&mut folder)?;
    let kind = &settings.model_type;
    Ok(match Choice::new(&folder, &settings, backend)? {
        Choice::Table => "a table of vectors, which no network reads".to_owned(),
        Choice::Ours(_) => format!("the encoder `cpu`: it computes networks of type `{kind}`"),
        Choice::Candle(why) => format!("candle: {why}"),
    })
}

#[cfg(feature = "candle")]
fn through_candle(folder: Folder, settings: model::Settings, backend: Backend) -> Result<Box<dyn Embedder>> {
    Ok(Box::new(candle::Candle::load(folder, settings, backend)?))
}

#[cfg(not(feature = "candle"))]
#[expect(clippy::needless_pass_by_value, reason = "as the other, which takes it")]
fn through_candle(folder: Folder, _: model::Settings, _: Backend) -> Result<Box<dyn Embedder>> {
    Err(Error::without("candle", &format!("model {}", folder.id)))
}

/// Loads a reranker. It runs on the CPU, by our own encoder.
///
/// # Errors
/// [`Error::Model`] if it cannot be found, or is no network that judges pairs; [`Error::Setting`] if the backend cannot
/// run here.
pub fn load_reranker(backend: Backend, model: &hub::ModelRef) -> Result<Box<dyn Reranker>> {
    let mut folder = hub::locate_network(model)?;
    let settings = rerank::Settings::read(&mut folder)?;
    let backend = Backend { device: Device::Cpu, ..backend };
    let plan = cpu::Plan::new(&settings.config, settings.tokenizer.max_tokens(), backend).map_err(|problem| {
        folder.error(format!("the encoder `cpu` cannot run it: {problem}"), "name another reranker")
    })?;
    Ok(Box::new(cpu::cross::CrossEncoder::load(folder, settings, plan)?))
}

/// The vector of a question.
///
/// # Errors
/// [`Error::Embed`] from the embedder.
pub fn query(embedder: &dyn Embedder, question: &str) -> Result<Vec<f32>> {
    let embedder = embedder.queries().unwrap_or(embedder);
    let encoded = embedder.encode(question, Role::Query)?;
    embedder.embed(&[&encoded.ids])
}

/// Loads only a model's tokenizer, to count in unit `model`.
///
/// # Errors
/// Those of [`load`].
pub fn load_counter(engine: Engine, model: &hub::ModelRef) -> Result<Box<dyn TokenCounter>> {
    match engine {
        Engine::Fake => Ok(Box::new(fake::Words)),
        Engine::Auto | Engine::Cpu | Engine::Candle => {
            Ok(Box::new(model::Settings::read(&mut hub::locate(model)?)?.tokenizer))
        }
    }
}

/// Scales a vector to length 1; one of length 0 stays.
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

/// What the model made, unless a value is not finite.
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
