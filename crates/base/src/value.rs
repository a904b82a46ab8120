//! Values of settings as people write them in flags, variables, settings files, specs and manifests: names,
//! numbers, switches and globs. Also suggests the name that a user most likely meant, and writes numbers with their
//! nouns.

use std::fmt::Display;
use std::num::NonZeroUsize;
use std::str::FromStr;

use serde::{Deserialize, Serialize};
use serde_json::{Value as Json, json};

/// The written form of a setting's value.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Form {
    /// Text.
    Text,
    /// True or false; a flag without a value means true.
    Switch,
    /// Comma-separated values; a flag may be repeated.
    List,
}

/// A type that a setting can have.
pub trait Value: Sized {
    /// The written form of its values.
    const FORM: Form = Form::Text;

    /// Parses a value from text.
    ///
    /// # Errors
    /// A message that says what is wrong with the text.
    fn read(text: &str) -> Result<Self, String>;

    /// Returns the JSON Schema of a value.
    fn schema() -> Json;
}

/// Implements `Value` for types that implement `FromStr`, given their JSON Schema.
#[macro_export]
macro_rules! value {
    ($($type:ty: $schema:tt)*) => {
        $(impl $crate::value::Value for $type {
            fn read(text: &str) -> Result<Self, String> {
                text.parse::<$type>().map_err(|error| error.to_string())
            }

            fn schema() -> serde_json::Value {
                serde_json::json!($schema)
            }
        })*
    };
}

pub use value;

value! {
    String: {"type": "string"}
}

/// Implements `Value` for types of whole numbers, given the smallest number that each accepts.
macro_rules! whole_numbers {
    ($($type:ty: $least:literal)*) => {
        $(impl Value for $type {
            fn read(text: &str) -> Result<Self, String> {
                text.parse().map_err(|_| format!("`{text}` is not a whole number of {} or more", $least))
            }

            fn schema() -> Json {
                json!({"type": "integer", "minimum": $least})
            }
        })*
    };
}

whole_numbers! {
    usize: 0
    u64: 0
    NonZeroUsize: 1
}

impl Value for f64 {
    fn read(text: &str) -> Result<Self, String> {
        text.parse().map_err(|_| format!("`{text}` is not a number"))
    }

    fn schema() -> Json {
        json!({"type": "number"})
    }
}

impl Value for bool {
    const FORM: Form = Form::Switch;

    fn read(text: &str) -> Result<Self, String> {
        match text.to_ascii_lowercase().as_str() {
            "1" | "true" | "yes" | "on" => Ok(true),
            "0" | "false" | "no" | "off" => Ok(false),
            _ => Err("write true or false".to_owned()),
        }
    }

    fn schema() -> Json {
        json!({"type": "boolean"})
    }
}

/// Declares an enum without fields whose values have names, with `ALL`, `name`, `Display`, `FromStr`, [`Value`] and serde by
/// name. After the enum's name comes what error messages call a value.
#[macro_export]
macro_rules! named {
    (
        $(#[$meta:meta])*
        $visible:vis enum $type:ident: $what:literal {
            $($(#[$of_variant:meta])* $variant:ident = $name:literal,)*
        }
    ) => {
        $(#[$meta])*
        $visible enum $type {
            $($(#[$of_variant])* $variant,)*
        }

        impl $type {
            /// All values, in order.
            pub const ALL: [Self; [$($name),*].len()] = [$(Self::$variant),*];

            /// Returns the name used in settings, files and messages.
            pub const fn name(self) -> &'static str {
                match self {
                    $(Self::$variant => $name,)*
                }
            }
        }

        impl std::fmt::Display for $type {
            fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
                f.pad(self.name())
            }
        }

        impl std::str::FromStr for $type {
            type Err = String;

            fn from_str(s: &str) -> Result<Self, String> {
                let found = Self::ALL.into_iter().find(|value| value.name() == s);
                found.ok_or_else(|| $crate::value::unknown(s, $what, &Self::ALL.map(Self::name)))
            }
        }

        impl $crate::value::Value for $type {
            fn read(text: &str) -> Result<Self, String> {
                text.parse()
            }

            fn schema() -> serde_json::Value {
                serde_json::json!({"enum": Self::ALL.map(Self::name)})
            }
        }

        impl serde::Serialize for $type {
            fn serialize<S: serde::Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
                serializer.serialize_str(self.name())
            }
        }

        impl<'de> serde::Deserialize<'de> for $type {
            fn deserialize<D: serde::Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
                let name = <String as serde::Deserialize>::deserialize(deserializer)?;
                name.parse().map_err(serde::de::Error::custom)
            }
        }
    };
}

pub use named;

/// Returns the message for a name that does not exist, with the nearest of the valid names and all of them.
pub fn unknown(written: &str, what: &str, names: &[&str]) -> String {
    format!("`{written}` is not {what}; {}", one_of(written, names))
}

/// Returns the message for a value that cannot be read, which names the value once.
pub fn misread(written: &str, problem: &str) -> String {
    let value = format!("`{written}`");
    if problem.contains(&value) { problem.to_owned() } else { format!("{value} is not understood: {problem}") }
}

/// Largest number of names that a message lists.
const LISTED: usize = 24;

/// Number of names that a message lists if there are too many.
const NEAREST: usize = 5;

/// Names that other tools give to settings and their values, and our names.
const ELSEWHERE: [(&str, &str); 26] = [
    ("k", "k"),
    ("top", "k"),
    ("top-k", "k"),
    ("n", "k"),
    ("limit", "k"),
    ("n-results", "k"),
    ("num-results", "k"),
    ("filter", "path"),
    ("chunk-size", "max"),
    ("chunk-length", "max"),
    ("max-size", "max"),
    ("max-tokens", "max"),
    ("max-tokens", "budget"),
    ("max-characters", "max"),
    ("tokens", "budget"),
    ("chunk-overlap", "overlap"),
    ("embedding-model", "model"),
    ("splitter", "strategy"),
    ("bm25", "keyword"),
    ("sparse", "keyword"),
    ("lexical", "keyword"),
    ("fulltext", "keyword"),
    ("full-text", "keyword"),
    ("dense", "vector"),
    ("semantic", "vector"),
    ("similarity", "vector"),
];

/// Returns our names, with `_` between words, for a name that other tools use.
pub fn elsewhere(name: &str) -> impl Iterator<Item = &'static str> {
    let name = name.replace('_', "-");
    ELSEWHERE.iter().filter(move |(theirs, _)| *theirs == name).map(|(_, ours)| *ours)
}

/// Returns our name, among some, for a name that other tools use.
pub fn translated<'n>(theirs: &str, names: &[&'n str]) -> Option<&'n str> {
    elsewhere(theirs).find_map(|ours| names.iter().copied().find(|name| *name == ours))
}

/// Returns the name that was most likely meant: ours for a name that other tools use, or else the [`nearest`].
pub fn meant<'n>(written: &str, names: &[&'n str]) -> Option<&'n str> {
    translated(written, names).or_else(|| nearest(written, names.iter().copied()))
}

/// Suggests the name that was most likely [`meant`] and lists the valid names, or those that are most alike if there are
/// too many.
pub fn one_of(written: &str, names: &[&str]) -> String {
    let few = names.len() <= LISTED;
    match meant(written, names) {
        Some(meant) if few => format!("did you mean `{meant}`? One of: {}", names.join(", ")),
        Some(meant) => format!("did you mean `{meant}`?"),
        None if few => format!("one of: {}", names.join(", ")),
        None => {
            let unlike = |name: &&str| 1.0 - strsim::jaro_winkler(&written.to_lowercase(), name);
            let mut alike = names.to_vec();
            alike.sort_by(|a, b| unlike(a).total_cmp(&unlike(b)));
            format!("the nearest of {} are {}", names.len(), alike[..NEAREST].join(", "))
        }
    }
}

/// Returns the end of a message that suggests a name, or nothing if there is no suggestion.
pub fn did_you_mean(meant: Option<impl Display>) -> String {
    meant.map(|meant| format!("; did you mean `{meant}`?")).unwrap_or_default()
}

/// Returns the name that the user most likely meant: the one with the fewest wrong, missing, extra and transposed
/// letters, at most one per three letters of what was written. A name that starts with what was written counts as
/// one letter off. The first one wins a tie.
pub fn nearest<'n>(written: &str, names: impl IntoIterator<Item = &'n str>) -> Option<&'n str> {
    nearest_by(written, names, |name| name)
}

/// Returns the path that the user most likely meant: the nearest one, or the one that ends most nearly in what was
/// written. `ends` separate the parts of a path.
pub fn nearest_path<'n>(written: &str, paths: &[&'n str], ends: &[char]) -> Option<&'n str> {
    let parts = written.split(ends).count();
    let end = |path: &'n str| {
        let cut = path.rmatch_indices(ends).nth(parts - 1);
        cut.map_or(path, |(at, separator)| path[at + separator.len()..].trim_start())
    };
    let all = || paths.iter().copied();
    nearest(written, all()).or_else(|| nearest_by(written, all(), end))
}

fn nearest_by<'n>(
    written: &str,
    names: impl IntoIterator<Item = &'n str>,
    part: impl Fn(&'n str) -> &'n str,
) -> Option<&'n str> {
    let written = written.to_lowercase();
    let most = (written.chars().count() / 3).max(1);
    let distance = |name: &str| {
        let name = name.to_lowercase();
        let is_start = written.len() > 1 && name.starts_with(&written) && name != written;
        if is_start { 1 } else { strsim::osa_distance(&written, &name) }
    };
    let near = names.into_iter().map(|name| (distance(part(name)), name)).filter(|(distance, _)| *distance <= most);
    near.min_by_key(|(distance, _)| *distance).map(|(_, name)| name)
}

/// Returns a number with its noun, which is given in the singular: `1 document`, `2 documents`.
pub fn count<N: Copy + Display + PartialEq + From<u8>>(number: N, singular: &str) -> String {
    format!("{number} {}", noun(number, singular))
}

/// Returns a noun, which is given in the singular, as it follows a number: after 2, `query` becomes `queries`.
pub fn noun<N: Copy + PartialEq + From<u8>>(number: N, singular: &str) -> String {
    if number == N::from(1) {
        return singular.to_owned();
    }
    match singular.strip_suffix('y') {
        Some(start) if !start.ends_with(['a', 'e', 'i', 'o', 'u']) => format!("{start}ies"),
        _ => format!("{singular}s"),
    }
}

/// Globs, separated by commas in text. Commas inside `{…}` and `[…]` belong to a glob.
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

impl Value for Globs {
    const FORM: Form = Form::List;

    fn read(text: &str) -> Result<Self, String> {
        text.parse().map_err(|never: std::convert::Infallible| never.to_string())
    }

    fn schema() -> Json {
        json!({"type": "array", "items": {"type": "string"}})
    }
}
