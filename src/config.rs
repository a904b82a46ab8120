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
use std::sync::Arc;
use std::time::Duration;

use serde::{Deserialize, Serialize};

use crate::answer::{self, Endpoint};
use crate::chunk::{Settings, Spec};
use crate::corpus::{DEFAULT_MAX_BYTES, Filter, Root};
use crate::document::{Admission, SecurityProfile};
use crate::embed::hub::ModelRef;
use crate::embed::{self, Backend, Cache, Device, Embedder, Engine, Isa, PrecisionSetting, cache};
use crate::error::{Error, Result};
use crate::index::Job;
use crate::options::{Globs, options};
use crate::search::{FieldWeights, Mode, Ranking, Weight};
use crate::store::{EmbeddingType, FloatEncoding, MAX_FILES, Output};

/// Name of the project's settings file, looked for in the working folder and above it.
pub const FILE: &str = "chunkmill.toml";

/// What a settings file holds.
const TABLES: &str = "it is a TOML file with the tables [corpus], [chunking], [embedding], [output], [search], [answer]; see the \
                      README's settings";

/// Files per table when nothing else is said.
pub const DEFAULT_FILES: usize = 8;

/// One source of settings.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
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
    /// How it is searched.
    pub search: SearchOptions,
    /// Who answers questions from it. No plan of a job repeats it.
    #[serde(skip_serializing)]
    pub answer: AnswerOptions,
    /// Worker threads.
    pub threads: Option<NonZeroUsize>,
    /// Most bytes of memory that a job may take.
    pub memory: Option<u64>,
}

options! {
    /// The `[corpus]` table.
    pub struct CorpusOptions {
        /// Globs of files that are documents.
        pub include: Globs,
        /// Globs of files that are not.
        pub exclude: Globs,
        /// Whether hidden files count.
        pub hidden: bool,
        /// Largest file in bytes.
        pub max_file_size: u64,
        /// Which signals block a document.
        pub security: SecurityProfile,
        /// Whether a blocked document is let in and flagged.
        pub allow_blocked: bool,
        /// Most bytes of memory that a document may take.
        pub document_memory: u64,
    }
}

options! {
    /// The `[embedding]` table.
    pub struct EmbeddingOptions {
        /// Folder or hub id.
        pub model: String,
        /// Where the model runs.
        pub device: Device,
        /// What runs it.
        pub embedder: Engine,
        /// What it is computed in.
        pub precision: PrecisionSetting,
        /// Which instructions of the CPU are used.
        pub cpu_isa: Isa,
        /// Most tokens in a batch.
        pub batch_tokens: NonZeroUsize,
        /// Whether a chunk that the model would cut is an error.
        pub deny_truncation: bool,
        /// Where vectors are kept for other runs.
        #[serde(rename = "cache")]
        pub embedding_cache: CacheFolder,
        /// Most bytes on disk for them.
        #[serde(rename = "cache_size")]
        pub embedding_cache_size: u64,
    }
}

options! {
    /// The `[output]` table.
    pub struct OutputOptions {
        /// Files per table.
        pub files: NonZeroUsize,
        /// How vectors are stored.
        pub embedding_type: EmbeddingType,
        /// How their values are encoded.
        pub float_encoding: FloatEncoding,
    }
}

options! {
    /// The `[search]` table.
    pub struct SearchOptions {
        /// How to search.
        pub mode: Mode,
        /// The constant of reciprocal rank fusion.
        pub rrf_k: Weight,
        /// Weight of the vector list in it.
        pub vector_weight: Weight,
        /// Weight of the keyword list.
        pub keyword_weight: Weight,
        /// Weight of the list by modification time.
        pub recency_weight: Weight,
        /// Weight of the list of neighbours.
        pub graph_weight: Weight,
        /// How far down the vector and keyword lists are read for it.
        pub depth: NonZeroUsize,
        /// How many hits are asked for their neighbours.
        pub graph_seeds: NonZeroUsize,
        /// How much a keyword counts in the content.
        pub content_weight: Weight,
        /// In the headings above and inside.
        pub headings_weight: Weight,
        /// In the tags.
        pub tags_weight: Weight,
        /// In the aliases.
        pub aliases_weight: Weight,
        /// Where keyword indexes are kept for other searches.
        pub keyword_cache: CacheFolder,
    }
}

options! {
    /// The `[answer]` table. A key is no setting: it is read from the environment alone.
    pub struct AnswerOptions {
        /// Base URL of an OpenAI-compatible service.
        pub endpoint: Endpoint,
        /// Name of the model there.
        #[serde(rename = "model")]
        pub answer_model: String,
        /// Most tokens of an answer.
        #[serde(rename = "max_tokens")]
        pub answer_max_tokens: NonZeroUsize,
        /// How long to wait for one, in seconds.
        #[serde(rename = "timeout")]
        pub answer_timeout: NonZeroUsize,
    }
}

/// Where something is kept for other runs. Written `auto`, `off` or as a folder.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(from = "String", into = "String")]
pub enum CacheFolder {
    /// The user's cache folder, if there is one.
    #[default]
    Auto,
    /// Nowhere.
    Off,
    /// In this folder.
    Folder(PathBuf),
}

impl CacheFolder {
    fn folder(self) -> Option<PathBuf> {
        match self {
            Self::Auto => user_folder("XDG_CACHE_HOME", ".cache"),
            Self::Off => None,
            Self::Folder(folder) => Some(folder),
        }
    }
}

impl FromStr for CacheFolder {
    type Err = std::convert::Infallible;

    fn from_str(s: &str) -> Result<Self, Self::Err> {
        Ok(s.to_owned().into())
    }
}

impl From<String> for CacheFolder {
    fn from(text: String) -> Self {
        match text.as_str() {
            "auto" | "" => Self::Auto,
            "off" => Self::Off,
            _ => Self::Folder(text.into()),
        }
    }
}

impl From<CacheFolder> for String {
    fn from(cache: CacheFolder) -> Self {
        match cache {
            CacheFolder::Auto => "auto".to_owned(),
            CacheFolder::Off => "off".to_owned(),
            CacheFolder::Folder(folder) => folder.to_string_lossy().into_owned(),
        }
    }
}

/// Settings, merged and checked.
#[derive(Debug, Clone)]
pub struct Config {
    /// Which files are documents.
    pub filter: Filter,
    /// Which documents are let in.
    pub admission: Admission,
    /// How they are chunked.
    pub spec: Spec,
    /// Names of chunk settings that were written and have no effect.
    pub unused: Vec<&'static str>,
    /// The model, if one was named.
    pub model: Option<ModelRef>,
    /// What runs it, where, and in what.
    pub backend: Backend,
    /// Most tokens in a batch; `None` is the embedder's own number.
    pub batch_tokens: Option<usize>,
    /// Whether a chunk that the model would cut is an error.
    pub deny_truncation: bool,
    /// Folder of the cache of vectors, if there is to be one.
    pub cache: Option<PathBuf>,
    /// Most bytes it may take on disk.
    pub cache_size: u64,
    /// How the dataset is laid out.
    pub output: Output,
    /// How to search.
    pub mode: Mode,
    /// How the lists of a search become one.
    pub ranking: Ranking,
    /// Folder for keyword indexes, if they are to be kept.
    pub keyword_cache: Option<PathBuf>,
    /// Who answers questions.
    pub answer: answer::Settings,
    /// Worker threads; `None` means one per core.
    pub threads: Option<usize>,
}

impl Options {
    /// Fills what this source leaves open from one that yields to it.
    ///
    /// A preset or strategy named here is not mixed with strategy, unit and sizes from there.
    #[must_use]
    pub fn or(self, lower: Self) -> Self {
        let named = self.chunking.preset.is_some() || self.chunking.strategy.is_some();
        let chunking = self.chunking.or(if named { lower.chunking.switches() } else { lower.chunking });
        Self {
            corpus: self.corpus.or(lower.corpus),
            chunking,
            embedding: self.embedding.or(lower.embedding),
            output: self.output.or(lower.output),
            search: self.search.or(lower.search),
            answer: self.answer.or(lower.answer),
            threads: self.threads.or(lower.threads),
            memory: self.memory.or(lower.memory),
        }
    }

    /// Reads one settings file.
    ///
    /// # Errors
    /// [`Error::Setting`] with file and line for a syntax error, an unknown key or a wrong value.
    pub fn read(path: &Path) -> Result<Self> {
        let text = fs::read_to_string(path).map_err(Error::named(path, TABLES))?;
        let mut options = Self::parse(&text, &path.display().to_string())?;
        // A model's folder is named from where the file is, wherever the program runs.
        if let (Some(model), Some(here)) = (&mut options.embedding.model, path.parent())
            && here.join(&*model).is_dir()
        {
            *model = here.join(&*model).display().to_string();
        }
        for cache in [&mut options.embedding.embedding_cache, &mut options.search.keyword_cache] {
            if let (Some(CacheFolder::Folder(cache)), Some(here)) = (cache, path.parent()) {
                *cache = here.join(&*cache);
            }
        }
        Ok(options)
    }

    /// Reads the environment: `CHUNKMILL_` and the name of the flag. An empty variable says nothing.
    ///
    /// # Errors
    /// [`Error::Setting`] that names the variable, for a wrong value.
    pub fn from_env() -> Result<Self> {
        let mut options = Self { threads: variable("THREADS")?, memory: variable("MEMORY")?, ..Self::default() };
        let Self { corpus, chunking, embedding, output, search, answer, .. } = &mut options;
        read_variables(CorpusOptions::KEYS, |key, value| corpus.set(key, value))?;
        read_variables(Settings::KEYS, |key, value| chunking.set(key, value))?;
        read_variables(EmbeddingOptions::KEYS, |key, value| embedding.set(key, value))?;
        read_variables(OutputOptions::KEYS, |key, value| output.set(key, value))?;
        read_variables(SearchOptions::KEYS, |key, value| search.set(key, value))?;
        read_variables(AnswerOptions::KEYS, |key, value| answer.set(key, value))?;
        Ok(options)
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
                help: TABLES.to_owned(),
            }
        })
    }

    /// Adds the project's and the user's settings files below this source. In place of the project's file stands one that
    /// was named, here or by the variable `CHUNKMILL_CONFIG`.
    ///
    /// Where questions and passages are sent, and with which key, is not for a project to say: its file may have
    /// come with somebody's documents. An endpoint in it does not count. Who names a file has chosen what is in it.
    ///
    /// # Errors
    /// Those of [`Options::read`].
    pub fn with_files(mut self, named: Option<&Path>) -> Result<Self> {
        let named = named.map_or_else(|| variable("CONFIG"), |file| Ok(Some(file.to_owned())))?;
        if let Some(file) = named {
            self = self.or(Self::read(&file)?);
        } else if let Some(file) = project_file() {
            let mut project = Self::read(&file)?;
            if project.answer.endpoint.take().is_some() && self.answer.endpoint.is_none() {
                tracing::warn!(
                    "the endpoint in {} does not count; name it with --endpoint, CHUNKMILL_ENDPOINT or in your own settings",
                    file.display()
                );
            }
            self = self.or(project);
        }
        match user_file() {
            Some(file) => Ok(self.or(Self::read(&file)?)),
            None => Ok(self),
        }
    }

    /// Checks everything and fills in the defaults.
    ///
    /// # Errors
    /// [`Error::Setting`] for values that are out of range or contradict each other.
    pub fn resolve(self) -> Result<Config> {
        let spec = Spec::resolve(&self.chunking)?;
        let files = self.output.files.map_or(DEFAULT_FILES, NonZeroUsize::get);
        if files > MAX_FILES {
            return Err(Error::Setting {
                origin: "files".to_owned(),
                problem: format!("{files} do not fit the file names"),
                help: format!("use at most {MAX_FILES}"),
            });
        }
        let cache_size = self.embedding.embedding_cache_size.unwrap_or(cache::DEFAULT_LIMIT);
        if cache_size < cache::MIN_LIMIT {
            return Err(Error::Setting {
                origin: "embedding-cache-size".to_owned(),
                problem: format!("{cache_size} bytes leave no room for vectors"),
                help: format!("use at least {}, or --embedding-cache off", cache::MIN_LIMIT),
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
                &self.corpus.include.unwrap_or_default().0,
                &self.corpus.exclude.unwrap_or_default().0,
                self.corpus.hidden.unwrap_or(true),
                self.corpus.max_file_size.unwrap_or(DEFAULT_MAX_BYTES),
            )?,
            admission: Admission {
                profile: self.corpus.security.unwrap_or_default(),
                allow_blocked: self.corpus.allow_blocked.unwrap_or(false),
                document_memory: self.corpus.document_memory,
                memory: self.memory,
            },
            unused: spec.unused(&self.chunking),
            spec,
            model: model.transpose()?,
            backend: Backend {
                engine: self.embedding.embedder.unwrap_or_default(),
                precision: self.embedding.precision.unwrap_or_default(),
                device: self.embedding.device.unwrap_or_default(),
                isa: self.embedding.cpu_isa,
            },
            batch_tokens: self.embedding.batch_tokens.map(NonZeroUsize::get),
            deny_truncation: self.embedding.deny_truncation.unwrap_or(false),
            cache: self.embedding.embedding_cache.unwrap_or_default().folder(),
            cache_size,
            output: Output {
                files,
                embedding_type: self.output.embedding_type.unwrap_or_default(),
                float_encoding: self.output.float_encoding.unwrap_or_default(),
            },
            mode: self.search.mode.unwrap_or_default(),
            ranking: self.search.ranking(),
            keyword_cache: self.search.keyword_cache.unwrap_or_default().folder(),
            answer: self.answer.settings(),
            threads: self.threads.map(NonZeroUsize::get),
        })
    }
}

impl Config {
    /// Loads the model, the default one if none was named.
    ///
    /// # Errors
    /// Those of [`embed::load`].
    pub fn embedder(&self) -> Result<Box<dyn Embedder>> {
        embed::load(self.backend, &self.model.clone().unwrap_or_default())
    }

    /// The job over these roots. The cache of vectors is opened; without it, a job is slower and no less right.
    #[must_use]
    pub fn job(self, roots: Vec<Root>, fresh: bool) -> Job {
        let open = |folder: PathBuf| {
            let opened = Cache::open(&folder, self.cache_size).map(Arc::new);
            opened.map_err(|error| tracing::warn!("{error}; this run goes on without a cache of vectors")).ok()
        };
        Job {
            roots,
            filter: self.filter,
            admission: self.admission,
            spec: self.spec,
            output: self.output,
            batch_tokens: self.batch_tokens,
            deny_truncation: self.deny_truncation,
            cache: self.cache.and_then(open),
            fresh,
        }
    }
}

impl AnswerOptions {
    fn settings(self) -> answer::Settings {
        let seconds = |seconds: NonZeroUsize| Duration::from_secs(seconds.get() as u64);
        answer::Settings {
            endpoint: self.endpoint,
            model: self.answer_model,
            max_tokens: self.answer_max_tokens.map_or(answer::DEFAULT_MAX_TOKENS, NonZeroUsize::get),
            timeout: self.answer_timeout.map_or(answer::DEFAULT_TIMEOUT, seconds),
        }
    }
}

impl SearchOptions {
    fn ranking(&self) -> Ranking {
        let default = Ranking::default();
        Ranking {
            rrf_k: self.rrf_k.unwrap_or(default.rrf_k),
            vector: self.vector_weight.unwrap_or(default.vector),
            keyword: self.keyword_weight.unwrap_or(default.keyword),
            recency: self.recency_weight.unwrap_or(default.recency),
            graph: self.graph_weight.unwrap_or(default.graph),
            depth: self.depth.map_or(default.depth, NonZeroUsize::get),
            graph_seeds: self.graph_seeds.map_or(default.graph_seeds, NonZeroUsize::get),
            fields: FieldWeights {
                content: self.content_weight.unwrap_or(default.fields.content),
                headings: self.headings_weight.unwrap_or(default.fields.headings),
                tags: self.tags_weight.unwrap_or(default.fields.tags),
                aliases: self.aliases_weight.unwrap_or(default.fields.aliases),
            },
        }
    }
}

/// Reads the variable `CHUNKMILL_<name>`; one that is empty is as good as absent.
///
/// # Errors
/// [`Error::Setting`] that names the variable, for a wrong value.
pub fn variable<T: FromStr<Err: Display>>(name: &str) -> Result<Option<T>> {
    let mut read = None;
    read_variables(&[name], |_, value| {
        read = Some(value.parse().map_err(|problem: T::Err| problem.to_string())?);
        Ok(())
    })?;
    Ok(read)
}

/// Gives the value of each variable `CHUNKMILL_<KEY>` that is there and not empty to `set`.
fn read_variables(keys: &[&str], mut set: impl FnMut(&str, &str) -> Result<(), String>) -> Result<()> {
    for key in keys {
        let name = format!("CHUNKMILL_{}", key.to_ascii_uppercase());
        let Some(value) = std::env::var_os(&name).filter(|value| !value.is_empty()) else { continue };
        let value = value.to_string_lossy();
        set(key, &value).map_err(|problem| Error::Setting {
            origin: format!("environment variable {name}"),
            problem: format!("`{value}` is not understood: {problem}"),
            help: "it takes what the flag of that name takes; unset it or correct it".to_owned(),
        })?;
    }
    Ok(())
}

/// `chunkmill.toml` in the working folder or the nearest folder above that has one.
fn project_file() -> Option<PathBuf> {
    let here = std::env::current_dir().ok()?;
    here.ancestors().map(|folder| folder.join(FILE)).find(|file| file.is_file())
}

/// `chunkmill/config.toml` in `XDG_CONFIG_HOME`, or in `~/.config`.
fn user_file() -> Option<PathBuf> {
    let folder = user_folder("XDG_CONFIG_HOME", ".config")?;
    Some(folder.join("config.toml")).filter(|file| file.is_file())
}

/// Our folder below the one that a variable names, or below one in the user's home.
fn user_folder(variable: &str, in_home: &str) -> Option<PathBuf> {
    let folder = match std::env::var_os(variable).filter(|folder| !folder.is_empty()) {
        Some(folder) => PathBuf::from(folder),
        None => std::env::home_dir().filter(|home| !home.as_os_str().is_empty())?.join(in_home),
    };
    Some(folder.join("chunkmill"))
}
