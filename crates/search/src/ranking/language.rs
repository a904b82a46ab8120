//! The languages of texts, and the stemmers for their words.
//!
//! A stemmer reduces `pins` and `pinned` to the same word, and must know the language to do so. A document names
//! its language in its front matter; otherwise it is detected from its words.

use std::fmt;
use std::str::FromStr;

use chunkmill_base::value::value;
use serde::{Deserialize, Serialize};
use tantivy::tokenizer::Language as Stemming;
use whatlang::{Detector, Lang};

/// A language with a stemmer.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Language(usize);

/// The language of a text, as far as it is known.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum TextLanguage {
    /// The text is too short to tell, or the detection is not reliable.
    Unknown,
    /// A language without a stemmer.
    Other,
    /// A language with a stemmer.
    Known(Language),
}

/// ISO 639-1 code, names in English and in the language itself, stemmer, and language for detection.
const LANGUAGES: [(&str, [&str; 2], Stemming, Lang); 18] = [
    ("ar", ["arabic", "العربية"], Stemming::Arabic, Lang::Ara),
    ("da", ["danish", "dansk"], Stemming::Danish, Lang::Dan),
    ("de", ["german", "deutsch"], Stemming::German, Lang::Deu),
    ("el", ["greek", "ελληνικά"], Stemming::Greek, Lang::Ell),
    ("en", ["english", "english"], Stemming::English, Lang::Eng),
    ("es", ["spanish", "español"], Stemming::Spanish, Lang::Spa),
    ("fi", ["finnish", "suomi"], Stemming::Finnish, Lang::Fin),
    ("fr", ["french", "français"], Stemming::French, Lang::Fra),
    ("hu", ["hungarian", "magyar"], Stemming::Hungarian, Lang::Hun),
    ("it", ["italian", "italiano"], Stemming::Italian, Lang::Ita),
    ("nl", ["dutch", "nederlands"], Stemming::Dutch, Lang::Nld),
    ("no", ["norwegian", "norsk"], Stemming::Norwegian, Lang::Nob),
    ("pt", ["portuguese", "português"], Stemming::Portuguese, Lang::Por),
    ("ro", ["romanian", "română"], Stemming::Romanian, Lang::Ron),
    ("ru", ["russian", "русский"], Stemming::Russian, Lang::Rus),
    ("sv", ["swedish", "svenska"], Stemming::Swedish, Lang::Swe),
    ("ta", ["tamil", "தமிழ்"], Stemming::Tamil, Lang::Tam),
    ("tr", ["turkish", "türkçe"], Stemming::Turkish, Lang::Tur),
];

/// ISO 639-1 codes of widely written languages without a stemmer. Their texts must not be taken for another language.
const OTHERS: [&str; 46] = [
    "af", "az", "be", "bg", "bn", "bs", "ca", "cs", "cy", "et", "eu", "fa", "fil", "ga", "gl", "he", "hi", "hr", "hy",
    "id", "is", "ja", "ka", "kk", "km", "ko", "lt", "lv", "mk", "mn", "mr", "ms", "my", "ne", "pl", "sk", "sl", "sq",
    "sr", "sw", "te", "th", "uk", "ur", "vi", "zh",
];

/// Number of bytes of a document that are read to detect its language, and the smallest number that is enough.
pub(super) const SAMPLE: usize = 4096;
pub(super) const LEAST: usize = 80;

impl Language {
    /// Returns every language.
    pub fn all() -> impl Iterator<Item = Self> {
        (0..LANGUAGES.len()).map(Self)
    }

    /// Returns the ISO 639-1 code.
    pub fn code(self) -> &'static str {
        LANGUAGES[self.0].0
    }

    /// Returns the stemmer.
    pub(super) fn stemming(self) -> Stemming {
        LANGUAGES[self.0].2
    }

    /// Returns whether it is English.
    pub(super) fn is_english(self) -> bool {
        self.lang() == Lang::Eng
    }

    fn lang(self) -> Lang {
        LANGUAGES[self.0].3
    }

    /// Returns the language of a name: `en`, `eng`, `en-GB`, `de_AT`, `English`.
    pub(super) fn named(name: &str) -> Option<Self> {
        let name = name.trim().to_lowercase();
        let code = code_of(&name);
        // The other codes for Norwegian.
        let code = if matches!(code, "nb" | "nn" | "nor" | "nno") { "no" } else { code };
        let is = |language: &Self| {
            language.code() == code
                || language.lang().code() == code
                || LANGUAGES[language.0].1.contains(&name.as_str())
        };
        Self::all().find(is)
    }

    /// Returns what a document says about its language. A name that is unknown says nothing.
    pub(super) fn said(name: &str) -> TextLanguage {
        match Self::named(name) {
            Some(language) => TextLanguage::Known(language),
            None if OTHERS.contains(&code_of(&name.trim().to_lowercase())) => TextLanguage::Other,
            None => TextLanguage::Unknown,
        }
    }

    /// Detects the language of a document from its words.
    pub(super) fn of(text: &str) -> TextLanguage {
        match whatlang::detect(text).filter(whatlang::Info::is_reliable) {
            None => TextLanguage::Unknown,
            Some(found) => {
                let known = Self::all().find(|language| language.lang() == found.lang());
                known.map_or(TextLanguage::Other, TextLanguage::Known)
            }
        }
    }

    /// Detects which of some languages a question is in. Returns `None` if the result is not reliable.
    pub(super) fn of_question(text: &str, among: &[Self]) -> Option<Self> {
        let found = Detector::with_allowlist(among.iter().map(|language| language.lang()).collect()).detect(text)?;
        among.iter().copied().find(|language| found.is_reliable() && language.lang() == found.lang())
    }
}

/// Returns the code of a language without script and region.
fn code_of(name: &str) -> &str {
    name.split(['-', '_']).next().unwrap_or_default()
}

impl fmt::Display for Language {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.code())
    }
}

/// The language whose stemmer is used. Written as `auto`, `none`, or a language code.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default, Serialize, Deserialize)]
#[serde(try_from = "String", into = "String")]
pub enum LanguageSetting {
    /// The language of each document.
    #[default]
    Auto,
    /// This language for all documents.
    Fixed(Language),
    /// No stemming: words are searched as they were written.
    None,
}

impl fmt::Display for LanguageSetting {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Auto => f.write_str("auto"),
            Self::Fixed(language) => language.fmt(f),
            Self::None => f.write_str("none"),
        }
    }
}

impl From<LanguageSetting> for String {
    fn from(setting: LanguageSetting) -> Self {
        setting.to_string()
    }
}

impl FromStr for LanguageSetting {
    type Err = String;

    fn from_str(s: &str) -> Result<Self, String> {
        match s {
            "auto" => Ok(Self::Auto),
            "none" => Ok(Self::None),
            _ => Language::all().find(|language| language.code() == s).map(Self::Fixed).ok_or_else(|| {
                let codes: Vec<&str> = Language::all().map(Language::code).collect();
                format!("`{s}` is not a known language; one of: auto, none, {}", codes.join(", "))
            }),
        }
    }
}

impl TryFrom<String> for LanguageSetting {
    type Error = String;

    fn try_from(text: String) -> Result<Self, String> {
        text.parse()
    }
}

value! {
    LanguageSetting: {"type": "string"}
}
