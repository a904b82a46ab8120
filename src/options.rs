//! Tables of optional settings: each is declared once, as a list of fields with their types, and
//! can then be read from a settings file or, key by key, from text, and laid over another.

use std::str::FromStr;

use serde::{Deserialize, Serialize};

/// Declares a table of settings in which everything is optional. A type is one word that reads
/// itself from text.
macro_rules! options {
    (@parse bool, $value:expr) => { crate::options::switch($value) };
    (@parse $type:ident, $value:expr) => { $value.parse::<$type>().map_err(|error| error.to_string()) };
    ($(#[$doc:meta])* pub struct $name:ident { $($(#[$field_doc:meta])* pub $field:ident: $type:ident,)* }) => {
        $(#[$doc])*
        #[derive(Debug, Clone, Default, PartialEq, Eq, serde::Serialize, serde::Deserialize)]
        #[serde(deny_unknown_fields, default)]
        pub struct $name {
            $($(#[$field_doc])* #[serde(skip_serializing_if = "Option::is_none")] pub $field: Option<$type>,)*
        }

        impl $name {
            /// Names of the settings, as they are written in files.
            pub const KEYS: &'static [&'static str] = &[$(stringify!($field)),*];

            /// Fills what is open here from a table that yields to this one.
            #[must_use]
            pub fn or(self, lower: Self) -> Self {
                Self { $($field: self.$field.or(lower.$field)),* }
            }

            /// Reads the value of one setting from text.
            ///
            /// # Errors
            /// What is wrong with the value, or that there is no such setting.
            pub fn set(&mut self, key: &str, value: &str) -> Result<(), String> {
                match key {
                    $(stringify!($field) => self.$field = Some(crate::options::options!(@parse $type, value)?),)*
                    _ => return Err(crate::named::unknown(key, "a setting", Self::KEYS)),
                }
                Ok(())
            }
        }
    };
}

pub(crate) use options;

/// A switch as people write it: true or false, also 1, yes, on and 0, no, off.
pub(crate) fn switch(text: &str) -> Result<bool, String> {
    match text.to_ascii_lowercase().as_str() {
        "1" | "true" | "yes" | "on" => Ok(true),
        "0" | "false" | "no" | "off" => Ok(false),
        _ => Err("write true or false".to_owned()),
    }
}

/// Globs, in text with commas between them; commas inside `{…}` and `[…]` are part of a glob.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(transparent)]
pub struct Globs(pub Vec<String>);

impl FromStr for Globs {
    type Err = std::convert::Infallible;

    fn from_str(s: &str) -> Result<Self, Self::Err> {
        let mut depth = 0_usize;
        let between = |c: char| {
            match c {
                '{' | '[' => depth += 1,
                '}' | ']' => depth = depth.saturating_sub(1),
                _ => {}
            }
            c == ',' && depth == 0
        };
        Ok(Self(s.split(between).map(str::to_owned).collect()))
    }
}
