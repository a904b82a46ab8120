//! Settings: flags over environment over the project's file over the user's file over defaults.
//!
//! Each source is first read into [`Options`], plain data in which every value is optional and
//! already of its type, so that a wrong one is reported where it was written. Only when all are
//! merged is anything resolved, and nothing real happens before that.

use std::fmt::Display;
use std::fs;
use std::num::NonZeroUsize;
use std::path::{Path, PathBuf};
use std::str::FromStr;

use serde::Deserialize;

use crate::chunk::{Settings, Spec};
use crate::corpus::{DEFAULT_MAX_BYTES, Filter};
use crate::embed::batch::DEFAULT_BATCH_TOKENS;
use crate::embed::hub::ModelRef;
use crate::embed::{Device, Engine};
use crate::error::{Error, Result};
use crate::store::{EmbeddingType, FloatEncoding, Output};

/// Name of the project's settings file, looked for in the working folder and above it.
pub const FILE: &str = "chunkmill.toml";

/// Files per table when nothing else is said.
pub const DEFAULT_FILES: usize = 8;

/// One source of settings.
#[derive(Debug, Clone, Default, PartialEq, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct Options {
    /// Which files are documents.
    pub corpus: CorpusOptions,
    /// How they are chunked.
    pub chunking: Settings,
    /// How chunks are embedded.
    pub embedding: EmbeddingOptions,
    /// How the dataset is laid out.
    pub output: OutputOptions,
    /// Worker threads.
    pub threads: Option<NonZeroUsize>,
}

/// The `[corpus]` table.
#[derive(Debug, Clone, Default, PartialEq, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct CorpusOptions {
    /// Globs of files that are documents.
    pub include: Option<Vec<String>>,
    /// Globs of files that are not.
    pub exclude: Option<Vec<String>>,
    /// Whether hidden files count.
    pub hidden: Option<bool>,
    /// Largest file in bytes.
    pub max_file_size: Option<u64>,
}

/// The `[embedding]` table.
#[derive(Debug, Clone, Default, PartialEq, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct EmbeddingOptions {
    /// Folder or hub id.
    pub model: Option<String>,
    /// Where the model runs.
    pub device: Option<Device>,
    /// What runs it.
    pub embedder: Option<Engine>,
    /// Most tokens in a batch.
    pub batch_tokens: Option<NonZeroUsize>,
    /// Whether a chunk that the model would cut is an error.
    pub deny_truncation: Option<bool>,
}

/// The `[output]` table.
#[derive(Debug, Clone, Default, PartialEq, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct OutputOptions {
    /// Files per table.
    pub files: Option<NonZeroUsize>,
    /// How vectors are stored.
    pub embedding_type: Option<EmbeddingType>,
    /// How their values are encoded.
    pub float_encoding: Option<FloatEncoding>,
}

/// Settings, merged and checked.
#[derive(Debug, Clone)]
pub struct Config {
    /// Which files are documents.
    pub filter: Filter,
    /// How they are chunked.
    pub spec: Spec,
    /// Names of chunk settings that were written and have no effect.
    pub unused: Vec<&'static str>,
    /// The model, if one was named.
    pub model: Option<ModelRef>,
    /// Where it runs.
    pub device: Device,
    /// What runs it.
    pub engine: Engine,
    /// Most tokens in a batch.
    pub batch_tokens: usize,
    /// Whether a chunk that the model would cut is an error.
    pub deny_truncation: bool,
    /// How the dataset is laid out.
    pub output: Output,
    /// Worker threads; `None` means one per core.
    pub threads: Option<usize>,
}

impl Options {
    /// Fills what this source leaves open from one that yields to it.
    ///
    /// Chunk settings are one thing: a preset named here is not mixed with sizes from there.
    #[must_use]
    pub fn or(self, lower: Self) -> Self {
        let chunking = if self.chunking.preset.is_some() || self.chunking.strategy.is_some() {
            self.chunking
        } else {
            let (high, low) = (self.chunking, lower.chunking);
            Settings {
                preset: low.preset,
                strategy: low.strategy,
                unit: high.unit.or(low.unit),
                min: high.min.or(low.min),
                target: high.target.or(low.target),
                max: high.max.or(low.max),
                overlap: high.overlap.or(low.overlap),
                parent_headers: high.parent_headers.or(low.parent_headers),
                heading_context: high.heading_context.or(low.heading_context),
            }
        };
        Self {
            corpus: CorpusOptions {
                include: self.corpus.include.or(lower.corpus.include),
                exclude: self.corpus.exclude.or(lower.corpus.exclude),
                hidden: self.corpus.hidden.or(lower.corpus.hidden),
                max_file_size: self.corpus.max_file_size.or(lower.corpus.max_file_size),
            },
            chunking,
            embedding: EmbeddingOptions {
                model: self.embedding.model.or(lower.embedding.model),
                device: self.embedding.device.or(lower.embedding.device),
                embedder: self.embedding.embedder.or(lower.embedding.embedder),
                batch_tokens: self.embedding.batch_tokens.or(lower.embedding.batch_tokens),
                deny_truncation: self.embedding.deny_truncation.or(lower.embedding.deny_truncation),
            },
            output: OutputOptions {
                files: self.output.files.or(lower.output.files),
                embedding_type: self.output.embedding_type.or(lower.output.embedding_type),
                float_encoding: self.output.float_encoding.or(lower.output.float_encoding),
            },
            threads: self.threads.or(lower.threads),
        }
    }

    /// Reads one settings file.
    ///
    /// # Errors
    /// [`Error::Setting`] with file and line for a syntax error, an unknown key or a wrong value.
    pub fn read(path: &Path) -> Result<Self> {
        let text = fs::read_to_string(path).map_err(Error::io("read", path))?;
        let mut options = Self::parse(&text, &path.display().to_string())?;
        // A model's folder is named from where the file is, wherever the program runs.
        if let (Some(model), Some(here)) = (&mut options.embedding.model, path.parent())
            && here.join(&*model).is_dir()
        {
            *model = here.join(&*model).display().to_string();
        }
        Ok(options)
    }

    /// Reads the environment: `CHUNKMILL_` and the name of the flag. An empty variable says nothing.
    ///
    /// # Errors
    /// [`Error::Setting`] that names the variable, for a wrong value.
    pub fn from_env() -> Result<Self> {
        let list = |name| -> Result<Option<Vec<String>>> {
            let value: Option<String> = variable(name)?;
            Ok(value.map(|globs| globs.split(',').map(str::to_owned).collect()))
        };
        let switch = |name| -> Result<Option<bool>> { Ok(variable::<Switch>(name)?.map(|switch| switch.0)) };
        Ok(Self {
            corpus: CorpusOptions {
                include: list("INCLUDE")?,
                exclude: list("EXCLUDE")?,
                hidden: switch("HIDDEN")?,
                max_file_size: variable("MAX_FILE_SIZE")?,
            },
            chunking: Settings {
                preset: variable("PRESET")?,
                strategy: variable("STRATEGY")?,
                unit: variable("UNIT")?,
                min: variable("MIN")?,
                target: variable("TARGET")?,
                max: variable("MAX")?,
                overlap: variable("OVERLAP")?,
                parent_headers: switch("PARENT_HEADERS")?,
                heading_context: switch("HEADING_CONTEXT")?,
            },
            embedding: EmbeddingOptions {
                model: variable("MODEL")?,
                device: variable("DEVICE")?,
                embedder: variable("EMBEDDER")?,
                batch_tokens: variable("BATCH_TOKENS")?,
                deny_truncation: switch("DENY_TRUNCATION")?,
            },
            output: OutputOptions {
                files: variable("FILES")?,
                embedding_type: variable("EMBEDDING_TYPE")?,
                float_encoding: variable("FLOAT_ENCODING")?,
            },
            threads: variable("THREADS")?,
        })
    }

    /// Parses the text of a settings file that is called `name`.
    ///
    /// # Errors
    /// Those of [`Options::read`].
    pub fn parse(text: &str, name: &str) -> Result<Self> {
        toml::from_str(text).map_err(|error: toml::de::Error| {
            let line = error.span().map_or(1, |span| 1 + text[..span.start].matches('\n').count());
            Error::Setting {
                origin: format!("{name}:{line}"),
                problem: error.message().to_owned(),
                help: "the tables are [corpus], [chunking], [embedding], [output]; see the README's settings"
                    .to_owned(),
            }
        })
    }

    /// Adds the project's and the user's settings files below this source.
    ///
    /// # Errors
    /// Those of [`Options::read`].
    pub fn with_files(self) -> Result<Self> {
        [project_file(), user_file()].into_iter().flatten().try_fold(self, |high, file| Ok(high.or(Self::read(&file)?)))
    }

    /// Checks everything and fills in the defaults.
    ///
    /// # Errors
    /// [`Error::Setting`] for values that are out of range or contradict each other.
    pub fn resolve(self) -> Result<Config> {
        let spec = Spec::resolve(&self.chunking)?;
        let files = self.output.files.map_or(DEFAULT_FILES, NonZeroUsize::get);
        if files > 99_999 {
            return Err(Error::Setting {
                origin: "files".to_owned(),
                problem: format!("{files} do not fit the file names"),
                help: "use at most 99999".to_owned(),
            });
        }
        let model = self.embedding.model.map(|model| {
            model.parse().map_err(|problem| Error::Setting {
                origin: "model".to_owned(),
                problem,
                help: "name a folder that exists, or a hub id".to_owned(),
            })
        });
        Ok(Config {
            filter: Filter::new(
                &self.corpus.include.unwrap_or_default(),
                &self.corpus.exclude.unwrap_or_default(),
                self.corpus.hidden.unwrap_or(true),
                self.corpus.max_file_size.unwrap_or(DEFAULT_MAX_BYTES),
            )?,
            unused: spec.unused(&self.chunking),
            spec,
            model: model.transpose()?,
            device: self.embedding.device.unwrap_or_default(),
            engine: self.embedding.embedder.unwrap_or_default(),
            batch_tokens: self.embedding.batch_tokens.map_or(DEFAULT_BATCH_TOKENS, NonZeroUsize::get),
            deny_truncation: self.embedding.deny_truncation.unwrap_or(false),
            output: Output {
                files,
                embedding_type: self.output.embedding_type.unwrap_or_default(),
                float_encoding: self.output.float_encoding.unwrap_or_default(),
            },
            threads: self.threads.map(NonZeroUsize::get),
        })
    }
}

/// Reads the variable `CHUNKMILL_<name>`; one that is empty is as good as absent.
///
/// # Errors
/// [`Error::Setting`] that names the variable, for a wrong value.
pub fn variable<T: FromStr<Err: Display>>(name: &str) -> Result<Option<T>> {
    let name = format!("CHUNKMILL_{name}");
    let Some(value) = std::env::var_os(&name).filter(|value| !value.is_empty()) else { return Ok(None) };
    let value = value.to_string_lossy();
    value.parse().map(Some).map_err(|problem: T::Err| Error::Setting {
        origin: format!("environment variable {name}"),
        problem: format!("`{value}` is not understood: {problem}"),
        help: "it takes what the flag of that name takes; unset it or correct it".to_owned(),
    })
}

/// A switch in the environment.
struct Switch(bool);

impl FromStr for Switch {
    type Err = &'static str;

    fn from_str(s: &str) -> Result<Self, Self::Err> {
        match s.to_ascii_lowercase().as_str() {
            "1" | "true" | "yes" | "on" => Ok(Self(true)),
            "0" | "false" | "no" | "off" => Ok(Self(false)),
            _ => Err("write true or false"),
        }
    }
}

/// `chunkmill.toml` in the working folder or the nearest folder above that has one.
fn project_file() -> Option<PathBuf> {
    let here = std::env::current_dir().ok()?;
    here.ancestors().map(|folder| folder.join(FILE)).find(|file| file.is_file())
}

/// `chunkmill/config.toml` in `XDG_CONFIG_HOME`, or in `~/.config`.
fn user_file() -> Option<PathBuf> {
    let folder = match std::env::var_os("XDG_CONFIG_HOME").filter(|folder| !folder.is_empty()) {
        Some(folder) => PathBuf::from(folder),
        None => std::env::home_dir()?.join(".config"),
    };
    Some(folder.join("chunkmill/config.toml")).filter(|file| file.is_file())
}
