//! Which duplicates a run leaves out.

use std::fmt;
use std::str::FromStr;

use chunkmill_base::value::Value;
use serde::{Deserialize, Deserializer, Serialize, Serializer, de::Error as _};
use serde_json::{Value as Json, json};

/// Smallest similarity that signatures find well enough.
pub const LEAST_NEAR: f64 = 0.7;

/// Similarity of `near` alone, in thousandths: that of the table of duplicates.
const DEFAULT: u16 = 800;

/// Which duplicates a run leaves out.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum DropRule {
    /// None.
    #[default]
    None,
    /// Documents with the same bytes as another.
    Exact,
    /// Documents with nearly the words of another: with at least this Jaccard similarity, in thousandths.
    Near(u16),
}

impl DropRule {
    /// Returns the smallest Jaccard similarity of documents that are left out; `None` if only bytes count.
    pub fn near(self) -> Option<f64> {
        match self {
            Self::Near(thousandths) => Some(f64::from(thousandths) / 1000.0),
            Self::None | Self::Exact => None,
        }
    }
}

impl fmt::Display for DropRule {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::None => f.write_str("none"),
            Self::Exact => f.write_str("exact"),
            Self::Near(_) => write!(f, "near={}", self.near().unwrap_or_default()),
        }
    }
}

impl FromStr for DropRule {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let near = |text: &str| {
            let near = text.parse().ok().filter(|near| (LEAST_NEAR..=1.0).contains(near))?;
            (700..=1000).find(|thousandths| (f64::from(*thousandths) - 1000.0 * near).abs() < 1e-6)
        };
        match text {
            "none" => Ok(Self::None),
            "exact" => Ok(Self::Exact),
            "near" => Ok(Self::Near(DEFAULT)),
            _ => text.strip_prefix("near=").and_then(near).map(Self::Near).ok_or_else(|| {
                format!(
                    "`{text}` is not `none`, `exact`, or `near=` and a similarity from {LEAST_NEAR} to 1 with at most three decimals, like near=0.9"
                )
            }),
        }
    }
}

impl Value for DropRule {
    fn read(text: &str) -> Result<Self, String> {
        text.parse()
    }

    fn schema() -> Json {
        json!({"type": "string", "pattern": r"^(none|exact|near(=(0\.[7-9][0-9]{0,2}|1))?)$"})
    }
}

impl Serialize for DropRule {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_str(self)
    }
}

impl<'de> Deserialize<'de> for DropRule {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        String::deserialize(deserializer)?.parse().map_err(D::Error::custom)
    }
}
