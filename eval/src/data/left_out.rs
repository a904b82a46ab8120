//! Settings that were not tried, and why.
//!
//! A file has the reason as a sentence for people. A sentence that is no other reason is kept as it is, so a file is
//! written with the words with which it was read.

use std::fmt::{self, Display, Formatter};

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// The sentence for [`Reason::TimeWasUp`].
const TIME_WAS_UP: &str = "the time was up before it started";

/// The text around the name in the sentence for [`Reason::EqualTo`].
const EQUAL_TO: (&str, &str) = ("is equal to `", "`");

/// A setting that was not tried.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct LeftOut {
    /// Id that its cell would have had.
    pub id: String,
    /// Reason: what is wrong with it, or which cell it is equal to.
    #[schemars(with = "String")]
    pub reason: Reason,
}

/// Why a setting was not tried.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(from = "String", into = "String")]
pub enum Reason {
    /// The time was up before it started.
    TimeWasUp,
    /// It is equal to the setting of this name.
    EqualTo(String),
    /// Another reason: what is wrong with it, or how much worse it was after some questions.
    InWords(String),
}

impl Display for Reason {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        match self {
            Self::TimeWasUp => f.write_str(TIME_WAS_UP),
            Self::EqualTo(name) => write!(f, "{}{name}{}", EQUAL_TO.0, EQUAL_TO.1),
            Self::InWords(words) => f.write_str(words),
        }
    }
}

impl From<Reason> for String {
    fn from(reason: Reason) -> Self {
        reason.to_string()
    }
}

impl From<String> for Reason {
    fn from(words: String) -> Self {
        let name = words.strip_prefix(EQUAL_TO.0).and_then(|rest| rest.strip_suffix(EQUAL_TO.1));
        match name {
            Some(name) => Self::EqualTo(name.to_owned()),
            None if words == TIME_WAS_UP => Self::TimeWasUp,
            None => Self::InWords(words),
        }
    }
}
