//! The settings of an embedder: which implementation runs the model, where, and in which precision.

use std::fmt;
use std::str::FromStr;

use chunkmill_base::value::{Value, named, unknown, value};
use serde::{Deserialize, Serialize};

use crate::kernel::{Isa, Precision};

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

named! {
    /// Which implementation of [`Embedder`] to use.
    #[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
    pub enum Engine: "an embedder" {
        /// [`Engine::Cpu`] if it can run the model on the chosen device, otherwise [`Engine::Candle`].
        #[default]
        Auto = "auto",
        /// The built-in encoder, on the CPU.
        Cpu = "cpu",
        /// Candle.
        Candle = "candle",
        /// Hashed words, without a model or meaning, for tests and dry runs.
        Fake = "fake",
        /// A web service.
        Remote = "remote",
    }
}

named! {
    /// The form of a service's requests and answers.
    #[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
    pub enum Dialect: "a dialect" {
        /// That of the endpoint's host; a host that is not known is asked whether it is TEI or Ollama, and is else taken
        /// to be compatible with OpenAI.
        #[default]
        Auto = "auto",
        /// OpenAI, and what is compatible with it: vLLM, LM Studio, llama.cpp, LiteLLM, Infinity.
        OpenAi = "openai",
        /// Text Embeddings Inference.
        Tei = "tei",
        /// Ollama.
        Ollama = "ollama",
        /// Cohere, version 2.
        Cohere = "cohere",
        /// Voyage.
        Voyage = "voyage",
        /// Jina.
        Jina = "jina",
        /// Gemini.
        Gemini = "gemini",
        /// Mistral.
        Mistral = "mistral",
    }
}

/// The precision to compute a model in. Written `auto` or as the [`Precision`].
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum PrecisionSetting {
    /// The fastest precision whose vectors are practically those of f32; see `cpu`.
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
    pub fn on(self, isa: Isa) -> Precision {
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
