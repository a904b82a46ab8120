//! What a setting is. Each is defined once, in the table it belongs to, with its type, its words, its default, and what
//! a change of it makes again. From that definition come the flag with its help, the variable, the key in a settings file, the
//! JSON Schema of such a file, and the reference of the manual.

use serde_json::Value as Json;

use crate::value::Form;

/// What is known of a setting beside its type.
#[derive(Debug)]
pub struct Setting {
    /// Its name: with dashes that of the flag, in capitals after `CHUNKMILL_` that of the variable.
    pub name: &'static str,
    /// Its key in the table of a settings file.
    pub key: &'static str,
    /// What it does: lines of documentation.
    about: &'static [&'static str],
    /// What stands for its value in help.
    pub value: &'static str,
    /// What holds if nothing is said.
    pub default: DefaultValue,
    /// What a change makes again.
    pub again: Again,
    /// The same where it is not the whole truth; empty if it is.
    pub unless: &'static str,
    /// How it is written.
    pub form: Form,
    /// What a value looks like in JSON.
    pub schema: fn() -> Json,
}

/// What holds if nothing is said.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum DefaultValue {
    /// This value.
    Is(&'static str),
    /// No single value.
    Words(&'static str),
    /// Nothing that would have to be said.
    Unsaid,
}

/// What has to be made again when a setting of a dataset changes. `tests/invalidation.rs` holds each to it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Again {
    /// No file changes.
    Nothing,
    /// What comes in is embedded. Files that hold none of the documents that come or go stay as they are.
    Documents,
    /// All files are written again with the vectors that are there.
    Files,
    /// Documents are chunked again, and new texts embedded.
    Chunks,
    /// Every text is embedded again.
    Vectors,
}

impl Again {
    /// Its name in the manual's table.
    #[must_use]
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
    /// The flag, without the dashes before it.
    #[must_use]
    pub fn flag(&self) -> String {
        self.name.replace('_', "-")
    }

    /// The environment variable.
    #[must_use]
    pub fn variable(&self) -> String {
        format!("CHUNKMILL_{}", self.name.to_uppercase())
    }

    /// What it does, in a sentence or two without a full stop at the end, with its default.
    #[must_use]
    pub fn help(&self) -> String {
        let about: Vec<&str> = self.about.iter().map(|line| line.trim()).collect();
        let about = about.join(" ");
        let about = about.strip_suffix('.').unwrap_or(&about);
        match self.default {
            DefaultValue::Is(value) | DefaultValue::Words(value) => format!("{about} [default: {value}]"),
            DefaultValue::Unsaid => about.to_owned(),
        }
    }

    /// What a value looks like in JSON, and what it does.
    #[must_use]
    pub fn described(&self) -> Json {
        let mut schema = (self.schema)();
        schema["description"] = self.help().into();
        schema
    }

    /// Whether a flag needs no value: it has two, and is not on anyway.
    #[must_use]
    pub fn is_switch(&self) -> bool {
        self.form == Form::Switch && self.default != DefaultValue::Is("true")
    }
}

/// A table of settings: one source of them, in which everything is optional.
pub trait Table: Default + Clone + Send + Sync + 'static {
    /// Its name in a settings file; empty for what stands before the tables.
    const NAME: &'static str;

    /// What its flags stand under in help.
    const HEADING: &'static str;

    /// Its settings, in order.
    const SETTINGS: &'static [Setting];

    /// Fills what is open here from a table that yields to this one.
    #[must_use]
    fn or(self, lower: Self) -> Self;

    /// Reads the value of one setting from text.
    ///
    /// # Errors
    /// What is wrong with the value, or that there is no such setting.
    fn set(&mut self, name: &str, value: &str) -> Result<(), String>;
}

/// The names of a table's settings.
pub(crate) fn names<T: Table>() -> impl Iterator<Item = &'static str> {
    T::SETTINGS.iter().map(|setting| setting.name)
}

/// Declares a table. Of each setting: documentation, which is its help too; its name, and its key in files where that is
/// another; its type; what stands for its value; its default; what a change makes again, and when not.
macro_rules! settings {
    (@key $name:ident) => { stringify!($name) };
    (@key $name:ident $key:literal) => { $key };
    ($(#[$doc:meta])* pub struct $table:ident in $in:literal under $heading:literal {
        $($(#[doc = $about:literal])+ pub $name:ident $(in files $key:literal)?: $type:ident = $value:literal, $default:expr, $again:ident $(unless $unless:literal)?;)*
    }) => {
        $(#[$doc])*
        #[derive(Debug, Clone, Default, PartialEq, Eq, serde::Serialize, serde::Deserialize)]
        #[serde(deny_unknown_fields, default)]
        pub struct $table {
            $($(#[doc = $about])+ #[serde($(rename = $key,)? skip_serializing_if = "Option::is_none")] pub $name: Option<$type>,)*
        }

        impl crate::settings::Table for $table {
            const NAME: &'static str = $in;
            const HEADING: &'static str = $heading;
            const SETTINGS: &'static [crate::settings::Setting] = &[$(crate::settings::Setting::new(
                stringify!($name),
                crate::settings::settings!(@key $name $($key)?),
                &[$($about),+],
                ($value, $default),
                (crate::settings::Again::$again, concat!("" $(, $unless)?)),
                <$type as crate::value::Value>::FORM,
                <$type as crate::value::Value>::schema,
            )),*];

            fn or(self, lower: Self) -> Self {
                Self { $($name: self.$name.or(lower.$name)),* }
            }

            fn set(&mut self, name: &str, value: &str) -> Result<(), String> {
                match name {
                    $(stringify!($name) => self.$name = Some(<$type as crate::value::Value>::read(value)?),)*
                    _ => {
                        let names: Vec<&str> = crate::settings::names::<Self>().collect();
                        return Err(crate::value::unknown(name, "a setting", &names));
                    }
                }
                Ok(())
            }
        }
    };
}

pub(crate) use settings;

impl Setting {
    /// One with all that is known of it; for [`settings!`].
    #[must_use]
    pub(crate) const fn new(
        name: &'static str,
        key: &'static str,
        about: &'static [&'static str],
        (value, default): (&'static str, DefaultValue),
        (again, unless): (Again, &'static str),
        form: Form,
        schema: fn() -> Json,
    ) -> Self {
        Self { name, key, about, value, default, again, unless, form, schema }
    }
}
