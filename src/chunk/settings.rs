//! What can be set about chunking. What it means, [`Spec`](super::Spec) says.

use std::fmt;
use std::str::FromStr;

use serde::{Deserialize, Serialize};
use url::Url;

use super::context::Context;
use super::pooling::Pooling;
use super::strategy::{Preset, Strategy};
use crate::settings::DefaultValue::{self, Is, Unsaid, Words};
use crate::settings::settings;
use crate::tokens::{Encoding, Unit};
use crate::value::{named, value};

settings! {
    /// Settings as written, in flags or in a `[chunking]` table. What is absent comes from the preset.
    pub struct Settings in "chunking" under "Chunking" {
        /// Named settings.
        pub preset: Preset = "NAME", Is("structure"), Chunks unless "nothing, if it stands for the same spec";
        /// Where documents may be cut.
        pub strategy: Strategy = "NAME", PRESETS, Chunks;
        /// What sizes count.
        pub unit: Unit = "UNIT", PRESETS, Chunks;
        /// The same in the words of another design: bytes (estimate), chars, tiktoken (tokens). A unit goes over it.
        pub token_estimator: TokenEstimator = "NAME", Unsaid, Chunks unless "nothing, if it names the unit in use";
        /// Which tokens are counted, as a unit and in `n_tokens`.
        pub encoding: Encoding = "NAME", Is("cl100k_base"), Chunks;
        /// Smallest size aimed at; with `lines`, the largest document that is not cut.
        pub min: usize = "N", PRESETS, Chunks unless "nothing, if the strategy does not read it; so with all that follow";
        /// Size aimed at.
        pub target: usize = "N", PRESETS, Chunks;
        /// Largest size of a chunk.
        pub max: usize = "N", PRESETS, Chunks;
        /// How much of a chunk is repeated at the start of the next.
        pub overlap: usize = "N", PRESETS, Chunks;
        /// Put the headings above a chunk before its text (`header`).
        pub parent_headers: bool = "BOOL", PRESETS, Chunks;
        /// What the model sees before the content: none, the heading path (`headings`), the document's name (`document`), or both
        /// (`full`).
        pub context: Context = "WHAT", PRESETS, Chunks unless "the same chunks; the model sees other texts";
        /// An older way to say `headings` or `none`. A context goes over it.
        pub heading_context: bool = "BOOL", Unsaid, Chunks unless "the same chunks; the model sees other texts";
        /// What the model reads to make a chunk's vector: its text (`chunk`), or its document, once for all its chunks (`late`; for
        /// models that pool by mean).
        pub pooling: Pooling = "WHAT", Is("chunk"), Vectors;
        /// Let no chunk hold parts of several sections (`semantic`, `code_aware`, `fixed`).
        pub respect_boundaries: bool = "BOOL", PRESETS, Chunks;
        /// Keep code blocks (`semantic`, `code_aware`, `fixed`).
        pub include_code: bool = "BOOL", PRESETS, Chunks;
        /// Keep tables (`semantic`, `code_aware`, `fixed`).
        pub include_tables: bool = "BOOL", PRESETS, Chunks;
        /// Cut what is over the maximum between rows, lines, sentences or words; tables keep their header and code its fence
        /// (`header`, `section`, `semantic`, `code_aware`, `lines`, `structure`).
        pub cut_oversized: bool = "BOOL", PRESETS, Chunks;
        /// Overlap by whole sentences, at most half a chunk (`header`, `section`, `semantic`, `code_aware`, `lines`, `structure`).
        pub sentence_overlap: bool = "BOOL", PRESETS, Chunks;
        /// Show the model a text with its white space tidied.
        pub normalize_whitespace: bool = "BOOL", PRESETS, Chunks unless "the same chunks; so with all that follow";
        /// Show the model a text in Unicode's composed form, NFC.
        pub normalize_unicode: bool = "BOOL", PRESETS, Chunks;
        /// Show the model URLs without query and credentials.
        pub redact_urls: bool = "BOOL", PRESETS, Chunks;
        /// URL of the corpus root: relative links become absolute in what the model sees.
        pub base_url: BaseUrl = "URL", Unsaid, Chunks;
    }
}

/// What a preset stands for.
const PRESETS: DefaultValue = Words("the preset's");

/// How seed 3 counts tokens: another way to name the unit.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum TokenEstimator {
    /// [`Unit::Estimate`].
    Bytes,
    /// [`Unit::Chars`].
    Chars,
    /// [`Unit::Tokens`].
    Tiktoken,
}

impl TokenEstimator {
    /// Every estimator.
    pub const ALL: [Self; 3] = [Self::Bytes, Self::Chars, Self::Tiktoken];

    /// The name used in settings.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Self::Bytes => "bytes",
            Self::Chars => "chars",
            Self::Tiktoken => "tiktoken",
        }
    }

    /// The unit that it stands for.
    #[must_use]
    pub fn unit(self) -> Unit {
        match self {
            Self::Bytes => Unit::Estimate,
            Self::Chars => Unit::Chars,
            Self::Tiktoken => Unit::Tokens,
        }
    }
}

named!(TokenEstimator, "a token estimator");

impl Settings {
    /// The same without what a preset stands for: strategy, unit and sizes.
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

/// The URL of a folder, always with `/` at its end, so that relative links lead below it.
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
