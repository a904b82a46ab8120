//! The definition of settings. Each setting is defined once, in its table, with its type, its help, its default,
//! and what must be rebuilt when it changes. This definition produces the flag with its help, the environment
//! variable, the key in a settings file, the JSON Schema of settings files, and the reference pages.

use serde_json::Value as Json;

use crate::value::Form;

/// Everything known about a setting except its type.
#[derive(Debug)]
pub struct Setting {
    /// Its name. The flag is this name with dashes; the variable is `CHUNKMILL_` and this name in capitals.
    pub name: &'static str,
    /// Its key in the table of a settings file.
    pub key: &'static str,
    /// Its documentation, line by line.
    about: &'static [&'static str],
    /// Placeholder for its value in help.
    pub value: &'static str,
    /// Its default.
    pub default: DefaultValue,
    /// The part of a dataset to rebuild after a change.
    pub rebuild: Rebuild,
    /// The exception to `rebuild`, in words; empty if there is none.
    pub unless: &'static str,
    /// The written form of its value.
    pub form: Form,
    /// Returns the JSON Schema of its value.
    pub schema: fn() -> Json,
}

/// The default of a setting.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum DefaultValue {
    /// A single value.
    Is(&'static str),
    /// A default that is described in words.
    Words(&'static str),
    /// A default that help does not mention.
    Hidden,
}

/// The part of a dataset to rebuild when a setting changes. `tests/dataset/invalidation.rs` checks each one.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Rebuild {
    /// No file changes.
    Nothing,
    /// New documents are embedded. Files without an added or removed document stay as they are.
    Documents,
    /// All files are rewritten with the existing vectors.
    Files,
    /// Documents are chunked again, and new texts are embedded.
    Chunks,
    /// Every text is embedded again.
    Vectors,
}

impl Rebuild {
    /// Returns its name in the tables of the reference.
    pub fn name(self) -> &'static str {
        match self {
            Self::Nothing => "nothing",
            Self::Documents => "documents",
            Self::Files => "files",
            Self::Chunks => "chunks",
            Self::Vectors => "vectors",
        }
    }
}

impl Setting {
    /// Returns the flag, without the leading dashes.
    pub fn flag(&self) -> String {
        self.name.replace('_', "-")
    }

    /// Returns the name of the environment variable.
    pub fn variable(&self) -> String {
        format!("CHUNKMILL_{}", self.name.to_uppercase())
    }

    /// Returns its help: a sentence or two without the final full stop, then the default.
    pub fn help(&self) -> String {
        let about: Vec<&str> = self.about.iter().map(|line| line.trim()).collect();
        let about = about.join(" ");
        let about = about.strip_suffix('.').unwrap_or(&about);
        match self.default {
            DefaultValue::Is(value) | DefaultValue::Words(value) => format!("{about} [default: {value}]"),
            DefaultValue::Hidden => about.to_owned(),
        }
    }

    /// Returns the names that its value can have, if there is a fixed list of them.
    pub fn names(&self) -> Vec<String> {
        let schema = (self.schema)();
        let names = schema.get("enum").and_then(Json::as_array).into_iter().flatten();
        names.filter_map(Json::as_str).map(str::to_owned).collect()
    }

    /// Returns its help, followed by the names that its value can have unless the help has them all.
    pub fn long_help(&self) -> String {
        let (help, names) = (self.help(), self.names());
        if names.iter().all(|name| help.contains(name)) {
            return help;
        }
        format!("{help} [one of: {}]", names.join(", "))
    }

    /// Returns the JSON Schema of its value, described by its help.
    pub fn described(&self) -> Json {
        let mut schema = (self.schema)();
        schema["description"] = self.help().into();
        schema
    }

    /// Returns whether it is a switch: the flag alone means true.
    pub fn is_switch(&self) -> bool {
        self.form == Form::Switch
    }

    /// Returns whether its value is a number.
    pub fn is_number(&self) -> bool {
        matches!((self.schema)()["type"].as_str(), Some("integer" | "number"))
    }
}

/// A table of settings from one source, all of them optional.
pub trait Table: Default + Clone + Send + Sync + 'static {
    /// Its name in a settings file; empty for the settings before the first table.
    const NAME: &'static str;

    /// Heading of its flags in help.
    const HEADING: &'static str;

    /// Its settings, in order.
    const SETTINGS: &'static [Setting];

    /// Fills the settings that are missing here from a table of lower precedence.
    #[must_use]
    fn or(self, lower: Self) -> Self;

    /// Parses and sets the value of one setting.
    ///
    /// # Errors
    /// A message that says what is wrong with the value, or that there is no setting of this name.
    fn set(&mut self, name: &str, value: &str) -> Result<(), String>;
}

/// Returns the names of a table's settings.
pub fn names<T: Table>() -> impl Iterator<Item = &'static str> {
    T::SETTINGS.iter().map(|setting| setting.name)
}

/// Declares a table. Each setting has: its documentation, which is also its help; its name, and its key in files
/// if that differs; its type; the placeholder for its value; its default; what must be rebuilt after a change, and
/// the exception.
#[macro_export]
macro_rules! settings {
    (@key $name:ident) => { stringify!($name) };
    (@key $name:ident $key:literal) => { $key };
    ($(#[$doc:meta])* pub struct $table:ident in $in:literal under $heading:literal {
        $($(#[doc = $about:literal])+ pub $name:ident $(in files $key:literal)?: $type:ident = $value:literal, $default:expr, $rebuild:ident $(unless $unless:literal)?;)*
    }) => {
        $(#[$doc])*
        #[derive(Debug, Clone, Default, PartialEq, Eq, serde::Serialize, serde::Deserialize)]
        #[serde(deny_unknown_fields, default)]
        pub struct $table {
            $($(#[doc = $about])+ #[serde($(rename = $key,)? skip_serializing_if = "Option::is_none")] pub $name: Option<$type>,)*
        }

        impl $crate::setting::Table for $table {
            const NAME: &'static str = $in;
            const HEADING: &'static str = $heading;
            const SETTINGS: &'static [$crate::setting::Setting] = &[$($crate::setting::Setting::new(
                stringify!($name),
                $crate::setting::settings!(@key $name $($key)?),
                &[$($about),+],
                ($value, $default),
                ($crate::setting::Rebuild::$rebuild, concat!("" $(, $unless)?)),
                <$type as $crate::value::Value>::FORM,
                <$type as $crate::value::Value>::schema,
            )),*];

            fn or(self, lower: Self) -> Self {
                Self { $($name: self.$name.or(lower.$name)),* }
            }

            fn set(&mut self, name: &str, value: &str) -> Result<(), String> {
                match name {
                    $(stringify!($name) => self.$name = Some(<$type as $crate::value::Value>::read(value)?),)*
                    _ => {
                        let names: Vec<&str> = $crate::setting::names::<Self>().collect();
                        return Err($crate::value::unknown(name, "a setting", &names));
                    }
                }
                Ok(())
            }
        }
    };
}

pub use settings;

impl Setting {
    /// Creates a setting from all its properties; for [`settings!`].
    #[must_use]
    #[doc(hidden)] // For the macro.
    pub const fn new(
        name: &'static str,
        key: &'static str,
        about: &'static [&'static str],
        (value, default): (&'static str, DefaultValue),
        (rebuild, unless): (Rebuild, &'static str),
        form: Form,
        schema: fn() -> Json,
    ) -> Self {
        Self { name, key, about, value, default, rebuild, unless, form, schema }
    }
}
