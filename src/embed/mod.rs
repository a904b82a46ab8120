//! Embedding: texts become unit vectors.
//!
//! [`Embedder`] is all that the rest of chunkmill knows of a model; it names no tensor library.
//! Behind it stand candle, for real models, and a fake for tests and dry runs. [`model`] reads and
//! checks a model's folder, [`hub`] finds that folder, [`batch`] decides what is computed together.

pub mod batch;
mod candle;
mod fake;
pub mod hub;
pub mod model;

use std::collections::BTreeMap;
use std::fmt;
use std::str::FromStr;

use serde::{Deserialize, Serialize};

use crate::error::{Error, Result};
use crate::named::named;
use crate::tokens::TokenCounter;

pub use batch::Batcher;

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
    /// Token ids with the special ones, at most [`ModelInfo::max_tokens`]. Never empty.
    pub ids: Vec<u32>,
    /// How many there were before the text was cut to fit.
    pub n_tokens: usize,
}

/// Turns texts into vectors of length 1 (if the model normalises, as nearly all do).
pub trait Embedder: Send + Sync {
    /// What identifies the model. Two embedders with equal fingerprints give the same vectors.
    fn info(&self) -> &ModelInfo;

    /// Tokenizes a text and cuts it to what the model reads.
    ///
    /// # Errors
    /// [`Error::Embed`] if the tokenizer fails.
    fn encode(&self, text: &str, role: Role) -> Result<Encoded>;

    /// Embeds a batch: one vector of [`ModelInfo::dim`] values per text, row-major.
    ///
    /// # Errors
    /// [`Error::Embed`] if the tensor library fails or a value is not finite.
    fn embed(&self, batch: &[&[u32]]) -> Result<Vec<f32>>;

    /// Counts the model's own tokens.
    fn counter(&self) -> &dyn TokenCounter;

    /// Whether several threads should call [`Embedder::embed`] at once: yes on a CPU, no on a GPU.
    fn concurrent(&self) -> bool;
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
    /// How token vectors become one: `mean`, `cls`, `max`, `mean_sqrt_len` or `last`.
    pub pooling: String,
    /// Whether vectors are scaled to length 1.
    pub normalize: bool,
    /// Identifies the files and everything else that decides the vectors: 16 hexadecimal digits.
    pub fingerprint: String,
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
                .ok_or_else(|| format!("`{s}` is not a device; use cpu, cuda:N or metal")),
        }
    }
}

/// Which implementation of [`Embedder`] to use.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Engine {
    /// The model itself, through candle.
    #[default]
    Candle,
    /// Hashed words: no model, no meaning, for tests and dry runs.
    Fake,
}

impl Engine {
    /// Every engine.
    pub const ALL: [Self; 2] = [Self::Candle, Self::Fake];

    /// The name used in settings.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Self::Candle => "candle",
            Self::Fake => "fake",
        }
    }
}

named!(Engine, "an embedder");

/// Loads a model, every file checked before anything is computed.
///
/// # Errors
/// [`Error::Model`] if it cannot be found, is not what its hash says, or is of an unknown kind.
pub fn load(engine: Engine, model: &hub::ModelRef, device: Device) -> Result<Box<dyn Embedder>> {
    match engine {
        Engine::Fake => Ok(Box::new(fake::Fake::new())),
        Engine::Candle => {
            let mut folder = hub::locate(model)?;
            let settings = model::Settings::read(&mut folder)?;
            Ok(Box::new(candle::Candle::load(folder, settings, device)?))
        }
    }
}

impl ModelInfo {
    /// The engine that made the vectors.
    #[must_use]
    pub fn engine(&self) -> Engine {
        if self.fingerprint == fake::FINGERPRINT { Engine::Fake } else { Engine::Candle }
    }
}

/// Loads only a model's tokenizer, to count in unit `model`.
///
/// # Errors
/// Those of [`load`].
pub fn load_counter(engine: Engine, model: &hub::ModelRef) -> Result<Box<dyn TokenCounter>> {
    match engine {
        Engine::Fake => Ok(Box::new(fake::Words)),
        Engine::Candle => Ok(Box::new(model::Settings::read(&mut hub::locate(model)?)?.tokenizer)),
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

fn failed(doing: &'static str) -> impl Fn(&dyn fmt::Display) -> Error {
    move |problem| Error::Embed { doing, problem: problem.to_string() }
}
