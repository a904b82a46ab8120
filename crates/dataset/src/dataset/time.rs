//! Times of files: stored as microseconds, shown as RFC 3339.

use serde::{Deserialize, Deserializer, Serialize, Serializer};

/// A point in time, in microseconds since 1970.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub struct Time(i64);

impl Time {
    /// Creates a time from microseconds since 1970.
    #[must_use]
    pub fn from_micros(micros: i64) -> Self {
        Self(micros)
    }

    /// Returns the microseconds since 1970.
    pub fn micros(self) -> i64 {
        self.0
    }

    /// Returns the time as in RFC 3339, or `None` if it is out of the range of years that can be written.
    pub(super) fn to_text(self) -> Option<String> {
        let time = chrono::DateTime::from_timestamp_micros(self.0)?;
        Some(time.to_rfc3339_opts(chrono::SecondsFormat::Micros, true))
    }
}

impl Serialize for Time {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        self.to_text().serialize(serializer)
    }
}

impl<'de> Deserialize<'de> for Time {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let text = String::deserialize(deserializer)?;
        let time = chrono::DateTime::parse_from_rfc3339(&text).map_err(serde::de::Error::custom)?;
        Ok(Self(time.timestamp_micros()))
    }
}
