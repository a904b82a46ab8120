//! The settings of chunking. [`Spec`](super::Spec) defines their meaning.

use std::fmt;
use std::str::FromStr;

use chunkmill_base::setting::DefaultValue::{self, Hidden, Is, Words};
use chunkmill_base::setting::settings;
use chunkmill_base::value::{named, value};
use serde::{Deserialize, Serialize};
use url::Url;

use super::context::Context;
use super::pooling::Pooling;
use super::strategy::{Preset, Strategy};
use crate::tokens::{Encoding, Unit};

settings! {
    /// Settings as written, in flags or in a `[chunking]` table. Missing settings come from the preset.
    pub struct Settings in "chunking" under "Chunking" {
        /// A named group of chunk settings.
        pub preset: Preset = "NAME", Is("structure"), Chunks unless "nothing, if it stands for the same spec";
        /// Rule that decides where documents may be cut.
        pub strategy: Strategy = "NAME", PRESETS, Chunks;
        /// Unit in which sizes are given.
        pub unit: Unit = "UNIT", PRESETS, Chunks;
        /// Another name for the unit: bytes (estimate), chars, or tiktoken (tokens). `unit` takes precedence.
        pub token_estimator: TokenEstimator = "NAME", Hidden, Chunks unless "nothing, if it names the unit in use";
        /// Token encoding for the unit `tokens` and for the column `n_tokens`.
        pub encoding: Encoding = "NAME", Is("cl100k_base"), Chunks;
        /// Smallest size to aim for. With `lines`: documents up to this size stay whole.
        pub min: usize = "N", PRESETS, Chunks unless "nothing, if the strategy does not read it";
        /// Size to aim for.
        pub target: usize = "N", PRESETS, Chunks unless "nothing, if the strategy does not read it";
        /// Largest size of a chunk.
        pub max: usize = "N", PRESETS, Chunks unless "nothing, if the strategy does not read it";
        /// How much of each chunk to repeat at the start of the next one.
        pub overlap: usize = "N", PRESETS, Chunks unless "nothing, if the strategy does not read it";
        /// Prepend the parent headings to the text of a chunk (`header`).
        pub parent_headers: bool = "BOOL", PRESETS, Chunks unless "nothing, if the strategy does not read it";
        /// What the model sees before the content: nothing (`none`), the heading path (`headings`), the document's name
        /// (`document`), or both (`full`).
        pub context: Context = "WHAT", PRESETS, Chunks unless "the same chunks; the model sees other texts";
        /// What the model reads to embed a chunk: the chunk alone (`chunk`), or the whole document once (`late`, for models
        /// with mean pooling).
        pub pooling: Pooling = "WHAT", Is("chunk"), Vectors;
        /// Never mix several sections in one chunk (`semantic`, `code_aware`, `fixed`).
        pub respect_boundaries: bool = "BOOL", PRESETS, Chunks unless "nothing, if the strategy does not read it";
        /// Keep code blocks (`semantic`, `code_aware`, `fixed`).
        pub include_code: bool = "BOOL", PRESETS, Chunks unless "nothing, if the strategy does not read it";
        /// Keep tables (`semantic`, `code_aware`, `fixed`).
        pub include_tables: bool = "BOOL", PRESETS, Chunks unless "nothing, if the strategy does not read it";
        /// Split blocks that exceed the maximum, between rows, lines, sentences or words. Tables keep their header row and
        /// code keeps its fence (`header`, `section`, `semantic`, `code_aware`, `lines`, `structure`).
        pub cut_oversized: bool = "BOOL", PRESETS, Chunks unless "nothing, if the strategy does not read it";
        /// Overlap by whole sentences, up to half a chunk (`header`, `section`, `semantic`, `code_aware`, `lines`, `structure`).
        pub sentence_overlap: bool = "BOOL", PRESETS, Chunks unless "nothing, if the strategy does not read it";
        /// Collapse white space in the text that the model sees.
        pub normalize_whitespace: bool = "BOOL", PRESETS, Chunks unless "the same chunks; the model sees other texts";
        /// Convert the text that the model sees to Unicode NFC.
        pub normalize_unicode: bool = "BOOL", PRESETS, Chunks unless "the same chunks; the model sees other texts";
        /// Remove queries and credentials from URLs in the text that the model sees.
        pub redact_urls: bool = "BOOL", PRESETS, Chunks unless "the same chunks; the model sees other texts";
        /// URL of the corpus root. Relative links become absolute in the text that the model sees.
        pub base_url: BaseUrl = "URL", Hidden, Chunks unless "the same chunks; the model sees other texts";
    }
}

/// The default of the settings that a preset defines.
const PRESETS: DefaultValue = Words("the preset's");

named! {
    /// A way in which the design of `docs` counts tokens: another name for the unit.
    #[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
    pub enum TokenEstimator: "a token estimator" {
        /// [`Unit::Estimate`].
        Bytes = "bytes",
        /// [`Unit::Chars`].
        Chars = "chars",
        /// [`Unit::Tokens`].
        Tiktoken = "tiktoken",
    }
}

impl TokenEstimator {
    /// Returns the unit that it stands for.
    pub fn unit(self) -> Unit {
        match self {
            Self::Bytes => Unit::Estimate,
            Self::Chars => Unit::Chars,
            Self::Tiktoken => Unit::Tokens,
        }
    }
}

impl Settings {
    /// Returns the settings without those that a preset defines: strategy, unit and sizes.
    #[must_use]
    pub fn switches(self) -> Self {
        Self {
            preset: None,
            strategy: None,
            unit: None,
            token_estimator: None,
            min: None,
            target: None,
            max: None,
            overlap: None,
            ..self
        }
    }
}

/// The URL of a folder. It always ends in `/`, so relative links resolve below it.
#[derive(Debug, Clone, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(try_from = "String", into = "String")]
pub struct BaseUrl(Url);

impl BaseUrl {
    pub(super) fn url(&self) -> &Url {
        &self.0
    }
}

value! {
    BaseUrl: {"type": "string", "format": "uri"}
}

impl FromStr for BaseUrl {
    type Err = String;

    fn from_str(s: &str) -> Result<Self, String> {
        let folder = if s.ends_with('/') { s.to_owned() } else { format!("{s}/") };
        let url = Url::parse(&folder).map_err(|error| format!("`{s}` is not a URL: {error}"))?;
        if url.cannot_be_a_base() || url.query().is_some() || url.fragment().is_some() {
            return Err(format!("`{s}` is not the URL of a folder, such as https://example.org/docs/"));
        }
        Ok(Self(url))
    }
}

impl TryFrom<String> for BaseUrl {
    type Error = String;

    fn try_from(text: String) -> Result<Self, String> {
        text.parse()
    }
}

impl From<BaseUrl> for String {
    fn from(base: BaseUrl) -> Self {
        base.to_string()
    }
}

impl fmt::Display for BaseUrl {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt(f)
    }
}
