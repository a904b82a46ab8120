//! Which language a text is in, and what that says about its words.
//!
//! A stemmer makes `pins` and `pinned` one word, and needs to know the language for it. A document says it in its
//! front matter, or its words do.

use std::fmt;
use std::str::FromStr;

use serde::{Deserialize, Serialize};
use tantivy::tokenizer::Language as Stemming;
use whatlang::{Detector, Lang};

use crate::value::value;

/// A language whose words can be reduced to their stems.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Language(usize);

/// What is known of the language of a text.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Spoken {
    /// It is too short to tell, or leaves a doubt.
    Unknown,
    /// It is one whose words cannot be reduced.
    Other,
    /// It is this one.
    Known(Language),
}

/// Code of ISO 639-1, name in English and in itself, how words are reduced, how it is detected.
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

/// Bytes of a document that are read for its language, and fewer than which say nothing of it.
pub(super) const SAMPLE: usize = 4096;
pub(super) const LEAST: usize = 80;

impl Language {
    /// Every language.
    pub fn all() -> impl Iterator<Item = Self> {
        (0..LANGUAGES.len()).map(Self)
    }

    /// Its code of ISO 639-1.
    #[must_use]
    pub fn code(self) -> &'static str {
        LANGUAGES[self.0].0
    }

    /// How its words are reduced.
    pub(super) fn stemming(self) -> Stemming {
        LANGUAGES[self.0].2
    }

    fn lang(self) -> Lang {
        LANGUAGES[self.0].3
    }

    /// The language that a document says it is in: `en`, `en-GB`, `de_AT`, `English`.
    pub(super) fn named(name: &str) -> Option<Self> {
        let name = name.trim().to_lowercase();
        let code = name.split(['-', '_']).next().unwrap_or_default();
        // The other way to write Norwegian.
        let code = if matches!(code, "nb" | "nn") { "no" } else { code };
        Self::all().find(|language| language.code() == code || LANGUAGES[language.0].1.contains(&name.as_str()))
    }

    /// What the words of a document say of its language.
    pub(super) fn of(text: &str) -> Spoken {
        match whatlang::detect(text).filter(whatlang::Info::is_reliable) {
            None => Spoken::Unknown,
            Some(found) => {
                let known = Self::all().find(|language| language.lang() == found.lang());
                known.map_or(Spoken::Other, Spoken::Known)
            }
        }
    }

    /// Which of some languages a question is in, if its words leave no doubt.
    pub(super) fn of_question(text: &str, among: &[Self]) -> Option<Self> {
        let found = Detector::with_allowlist(among.iter().map(|language| language.lang()).collect()).detect(text)?;
        among.iter().copied().find(|language| found.is_reliable() && language.lang() == found.lang())
    }
}

impl fmt::Display for Language {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.code())
    }
}

/// In which language words are understood. Written `auto`, `none`, or as a code.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default, Serialize, Deserialize)]
#[serde(try_from = "String", into = "String")]
pub enum LanguageSetting {
    /// Each document in its own.
    #[default]
    Auto,
    /// All in this one.
    Fixed(Language),
    /// In none: words are those that were written.
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
                format!("`{s}` is no language that is known; there are: auto, none, {}", codes.join(", "))
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
