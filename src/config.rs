//! Settings, from the highest precedence to the lowest: flags, environment variables, the project's file, the
//! user's file, defaults.
//!
//! Each source is first read into [`Options`], plain data in which every value is optional and already has its
//! type, so a wrong value is reported where it was written. Values are resolved only after all sources are merged,
//! and no work starts before that.

use std::fmt::Display;
use std::fs;
use std::num::NonZeroUsize;
use std::path::{Path, PathBuf};
use std::str::FromStr;
use std::sync::Arc;
use std::time::Duration;

use serde::{Deserialize, Serialize};

use crate::answer::{self, ApiKey, Endpoint};
use crate::chunk::{Settings, Spec};
use crate::corpus::{DEFAULT_MAX_BYTES, Filter, InnerDocuments, Root, RowColumns};
use crate::dataset::{FloatEncoding, MAX_FILES, Manifest, Output};
use crate::document::{Admission, HtmlPart, ReadSettings, SecurityProfile};
use crate::duplicates::DropRule;
use crate::embed::model_ref::ModelRef;
use crate::embed::{
    self, Backend, Cache, Device, Dialect, Dimensions, Embedder, EmbeddingTypes, Engine, Isa, ModelInfo, Money,
    PrecisionSetting, QueryModel, Reranker, ServiceSettings, SparseEmbedder, cache,
};
use crate::error::{Error, Result};
use crate::job::Job;
use crate::search::{
    FieldWeights, FillRule, Fusion, LanguageSetting, Mode, Packing, Query, QuestionVectors, Ranking, Rerank, Share,
    Weight,
};
use crate::setting::DefaultValue::{Hidden, Is, Words};
use crate::setting::{Setting, Table, settings};
use crate::tokens::TokenCounter;
use crate::value::{Globs, count, did_you_mean, elsewhere, meant, misread, nearest, one_of, value};

/// Name of the project's settings file, which is looked up in the working folder and the folders above it.
pub const FILE: &str = "chunkmill.toml";

/// Help for a settings file that cannot be read or parsed.
const TABLES: &str = "it is a TOML file with the tables [corpus], [chunking], [embedding], [service], [output], [search], \
                      [answer];                       `chunkmill schema --settings` describes every key";

/// Default number of files per table.
pub(crate) const DEFAULT_FILES: usize = 8;

/// Default number of chunks that a reranker reads.
const RERANK_DEPTH: usize = 20;

/// Default weight of the ranking's score next to the reranker's.
const RERANK_WEIGHT: Weight = Weight::TWO;

/// Default number of requests to a service at a time.
const DEFAULT_REQUESTS: usize = 4;

/// Default time for an answer of a service, in seconds.
const DEFAULT_REQUEST_TIMEOUT: usize = 60;

/// Largest number of worker threads: each takes memory, even if it never works.
const MAX_THREADS: usize = 1024;

/// The name for running without a reranker or a sparse model, used where they are compared with none.
pub const NO_MODEL: &str = "none";

/// One source of settings.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(from = "File", into = "File")]
pub struct Options {
    /// Which files are documents.
    pub corpus: CorpusOptions,
    /// How documents are chunked.
    pub chunking: Settings,
    /// How chunks are embedded.
    pub embedding: EmbeddingOptions,
    /// Which web service has the model.
    pub service: ServiceOptions,
    /// How the dataset is laid out.
    pub output: OutputOptions,
    /// How the dataset is searched.
    pub search: SearchOptions,
    /// Which language model answers questions. It is never written into the plan of a job.
    pub answer: AnswerOptions,
    /// How a run uses the machine.
    pub run: RunOptions,
}

/// A settings file.
#[derive(Default, Serialize, Deserialize)]
#[serde(deny_unknown_fields, default)]
struct File {
    #[serde(skip_serializing_if = "Option::is_none")]
    threads: Option<NonZeroUsize>,
    #[serde(skip_serializing_if = "Option::is_none")]
    memory: Option<u64>,
    corpus: CorpusOptions,
    chunking: Settings,
    embedding: EmbeddingOptions,
    service: ServiceOptions,
    output: OutputOptions,
    search: SearchOptions,
    #[serde(skip_serializing)]
    answer: AnswerOptions,
}

impl From<File> for Options {
    fn from(file: File) -> Self {
        let File { threads, memory, corpus, chunking, embedding, service, output, search, answer } = file;
        Self { corpus, chunking, embedding, service, output, search, answer, run: RunOptions { threads, memory } }
    }
}

impl From<Options> for File {
    fn from(options: Options) -> Self {
        let Options { corpus, chunking, embedding, service, output, search, answer, run } = options;
        let RunOptions { threads, memory } = run;
        Self { threads, memory, corpus, chunking, embedding, service, output, search, answer }
    }
}

settings! {
    /// The `[corpus]` table.
    pub struct CorpusOptions in "corpus" under "Corpus" {
        /// Index the files that match one of these globs, instead of the documents that `chunkmill formats` lists. Globs are read as in `.gitignore`:
        /// `*.py` matches in every folder, `/*.py` only at the top, `api/` everything in that folder.
        pub include: Globs = "GLOB,…", Words("all documents"), Documents;
        /// Skip the files that match one of these globs.
        pub exclude: Globs = "GLOB,…", Hidden, Documents;
        /// Make each row of a table a document, whose text is in this column: tables in Parquet, JSON lines, CSV and TSV. The other columns are
        /// its metadata.
        pub text_column: String = "NAME", Words("none: a table is one document, or none"), Documents;
        /// The column that names the rows of a table. Without one, they have numbers.
        pub id_column: String = "NAME", Words("none"), Documents;
        /// Make each file that is attached to a mail a document too, named `mail.eml#report.pdf`.
        pub attachments: bool = "BOOL", Is("false"), Documents;
        /// Index hidden files and folders too. Folders of version control systems, like `.git`, are always skipped.
        pub hidden: bool = "BOOL", Is("true"), Documents;
        /// Quarantine files larger than this.
        pub max_file_size: u64 = "BYTES", Is("268435456"), Documents;
        /// Which security risks quarantine a document.
        pub security: SecurityProfile = "PROFILE", Is("moderate"), Documents;
        /// Index blocked documents anyway, with the flag `document_blocked`.
        pub allow_blocked: bool = "BOOL", Is("false"), Documents;
        /// Leave out duplicates: `exact`, documents with the same bytes as another, or `near=0.9`, those that share this part of all runs of five
        /// words with another. The first by id stays; the others are quarantined.
        pub drop_duplicates: DropRule = "RULE", Is("none"), Documents;
        /// Leave paragraphs that stand in at least this many documents out of what is embedded. `content` keeps them.
        pub skip_boilerplate: u64 = "N", Words("none"), Vectors unless "only of documents with one of these paragraphs";
        /// Which part of an HTML page to read: `main`, without menus and banners, or `whole`.
        pub html: HtmlPart = "PART", Is("main"), Chunks;
        /// Read the outputs of a notebook's cells too.
        pub notebook_outputs: bool = "BOOL", Is("false"), Chunks;
        /// Quarantine documents whose text would be more than this many times as long as the file.
        pub text_growth: u64 = "N", Is("8"), Documents;
        /// Quarantine documents that would need more memory than this.
        pub document_memory: u64 = "BYTES", Words("16 bytes per byte of the document, plus 50000000"), Documents;
    }
}

settings! {
    /// The `[embedding]` table.
    pub struct EmbeddingOptions in "embedding" under "Embedding" {
        /// Model folder, or hub id with an optional revision; with `--embedder remote`, the name that the service has for it.
        pub model: String = "FOLDER|HUB_ID[@REVISION]", Words("sentence-transformers/all-MiniLM-L6-v2; to search, the dataset's own"), Vectors unless "files, if it is the same model under another name";
        /// A second model, for queries only. It must have been trained to match the first.
        pub query_model: String = "FOLDER|HUB_ID[@REVISION]", Words("the model; to search, the dataset's own"), Nothing unless "the dataset says which it is";
        /// A sparse model (SPLADE) next to the model. It adds a column of sparse vectors, by which `search` ranks too. It runs on the CPU.
        pub sparse_model: String = "FOLDER|HUB_ID[@REVISION]", Words("none; to search, the dataset's own"), Vectors unless "only the sparse ones, if the cache has the others";
        /// Where the model runs: cpu, cuda:N, metal.
        pub device: Device = "DEVICE", Is("cpu"), Vectors;
        /// What runs the model: `auto` (`cpu` where it can), `cpu` (our own encoder), `candle`, `remote` (a web service, see `--endpoint`), or `fake` (a dry run without a model).
        pub embedder: Engine = "NAME", Is("auto"), Vectors;
        /// Numeric precision of the model.
        pub precision: PrecisionSetting = "PRECISION", Words("auto; to search, the dataset's own"), Vectors;
        /// Keep only the first N values of each vector. The model must declare that N.
        pub dimensions: NonZeroUsize = "N", Words("all; to search, the dataset's own"), Vectors;
        /// Accept a number of dimensions that the model does not declare.
        pub force_dimensions: bool = "BOOL", Is("false"), Nothing;
        /// Instruction set to use, for comparisons.
        pub cpu_isa: Isa = "ISA", Words("the best it has"), Vectors unless "their last bits depend on the instructions";
        /// Largest number of tokens in one batch.
        pub batch_tokens: NonZeroUsize = "N", Words("384 for `cpu`, 2048 for `candle`, 16384 for `remote`"), Nothing;
        /// Fail if the model would truncate a chunk.
        pub deny_truncation: bool = "BOOL", Is("false"), Nothing unless "the run fails if a chunk is cut";
        /// Where to cache vectors between runs: auto (`chunkmill` in `$XDG_CACHE_HOME` or `~/.cache`), off, or a folder.
        pub embedding_cache in files "cache": CacheFolder = "auto|off|FOLDER", Is("auto"), Nothing;
        /// Largest size of that cache on disk. The least recently used entries go first.
        pub embedding_cache_size in files "cache_size": u64 = "BYTES", Is("4294967296"), Nothing;
    }
}

settings! {
    /// The `[service]` table: a web service that has the model. Its key is not a setting: it is read only from the environment.
    pub struct ServiceOptions in "service" under "Embedding service" {
        /// Base URL of the service that computes vectors with `--embedder remote`. It receives every text. Its key comes from
        /// the variable `CHUNKMILL_API_KEY`.
        pub endpoint: Endpoint = "URL", Words("none"), Vectors;
        /// Form of its requests. `auto` knows the hosts of the vendors, asks others whether they are TEI or Ollama, and takes
        /// the rest for compatible with OpenAI.
        pub dialect: Dialect = "NAME", Is("auto"), Nothing unless "vectors, if only one of the dialects tells documents from questions";
        /// Model whose tokenizer counts as the service does.
        pub tokenizer: String = "FOLDER|HUB_ID[@REVISION]", Words("cl100k_base, OpenAI's"), Vectors unless "only of texts that are cut elsewhere, if the cache has the others";
        /// Largest number of tokens that the service reads of a text. A longer one is cut there and flagged.
        pub text_tokens: NonZeroUsize = "N", Words("what the service or its documentation says"), Vectors unless "only of texts that are cut, if the cache has the others";
        /// Text before each chunk, for models that need one.
        pub document_prefix: String = "TEXT", Words("none, or that of the model's documentation"), Vectors;
        /// Text before each question.
        pub query_prefix: String = "TEXT", Words("none, or that of the model's documentation"), Nothing unless "the dataset says which it is";
        /// Largest number of requests at a time.
        pub requests: NonZeroUsize = "N", Is("4"), Nothing;
        /// Largest number of texts in a request.
        pub batch_texts: NonZeroUsize = "N", Words("what the service or its documentation says, or 32"), Nothing;
        /// Largest number of requests in a minute.
        pub requests_per_minute: NonZeroUsize = "N", Words("no limit"), Nothing;
        /// Largest number of tokens in a minute.
        pub tokens_per_minute: NonZeroUsize = "N", Words("no limit"), Nothing;
        /// How long to wait for an answer.
        pub request_timeout: NonZeroUsize = "SECONDS", Is("60"), Nothing;
        /// Price of a million tokens, in any currency, for `plan` and `--max-cost`.
        pub price: Money = "AMOUNT", Words("none"), Nothing;
        /// Stop before this run has sent more tokens.
        pub max_tokens: u64 = "N", Words("no limit"), Nothing;
        /// Stop before this run has cost more, by `--price`.
        pub max_cost: Money = "AMOUNT", Words("no limit"), Nothing;
    }
}

settings! {
    /// The `[output]` table.
    pub struct OutputOptions in "output" under "Output" {
        /// Files per table.
        pub files: NonZeroUsize = "N", Is("8"), Files;
        /// Types in which vectors are stored, each in its column: one of `f32`, `f16` and `list`, and `int8` and `bits`, with or
        /// without it.
        pub embedding_type: EmbeddingTypes = "TYPE,…", Is("f32"), Files unless "from types that have lost digits: vectors, from the cache where it has them";
        /// Parquet encoding of f32 values: byte stream split (`bss`) or `plain`.
        pub float_encoding: FloatEncoding = "ENCODING", Is("bss"), Files;
    }
}

settings! {
    /// The `[search]` table.
    pub struct SearchOptions in "search" under "Search" {
        /// How to search.
        pub mode: Mode = "MODE", Is("hybrid"), Nothing;
        /// How `hybrid` and `graph` combine scores: a weighted sum of scores (`linear`) or of reciprocal ranks (`rrf`).
        pub fusion: Fusion = "NAME", Is("linear"), Nothing;
        /// Share of the vector score in `linear`. Keywords get the rest.
        pub vector_share: Share = "A", Is("0.6"), Nothing;
        /// Share of the sparse score in `linear`, if the dataset has sparse vectors. Vectors and keywords get the rest.
        pub sparse_share: Share = "A", Is("0.1"), Nothing;
        /// Weight of the whole document's keyword score in the scores of its chunks.
        pub document_weight: Weight = "W", Is("1"), Nothing;
        /// Weight of the vectors of the previous and the next chunk, in `linear`.
        pub neighbour_weight: Weight = "W", Is("0.2"), Nothing;
        /// Language for stemming: auto (detected for each document), a code such as `en`, or none.
        pub language: LanguageSetting = "CODE", Is("auto"), Nothing;
        /// The constant k of `rrf`.
        pub rrf_k: Weight = "K", Is("60"), Nothing;
        /// Weight of the vector list in `rrf`.
        pub vector_weight: Weight = "W", Is("1"), Nothing;
        /// Weight of the keyword list in `rrf`.
        pub keyword_weight: Weight = "W", Is("1"), Nothing;
        /// Weight of the sparse list in `rrf`, if the dataset has sparse vectors.
        pub sparse_weight: Weight = "W", Is("1"), Nothing;
        /// Weight of the modification time. Newer documents rank higher.
        pub recency_weight: Weight = "W", Is("0"), Nothing;
        /// Weight of chunks linked to the best hits, in `graph`.
        pub graph_weight: Weight = "W", Is("0.5"), Nothing;
        /// How many entries of each list `rrf` reads.
        pub depth: NonZeroUsize = "N", Is("100"), Nothing;
        /// How many of the best hits `graph` follows links from.
        pub graph_seeds: NonZeroUsize = "N", Is("10"), Nothing;
        /// Weight of a keyword found in the content.
        pub content_weight: Weight = "W", Is("1"), Nothing;
        /// Weight of a keyword found in the headings above or inside a chunk.
        pub headings_weight: Weight = "W", Is("0.25"), Nothing;
        /// Weight of a keyword found in the tags.
        pub tags_weight: Weight = "W", Is("1"), Nothing;
        /// Weight of a keyword found in the aliases.
        pub aliases_weight: Weight = "W", Is("1"), Nothing;
        /// Weight of a keyword found in the document's title.
        pub title_weight: Weight = "W", Is("0.5"), Nothing;
        /// Weight of a keyword found in the document's path.
        pub path_weight: Weight = "W", Is("2"), Nothing;
        /// Reranker (cross-encoder) that reorders the best chunks.
        pub rerank: String = "FOLDER|HUB_ID[@REVISION]", Words("none"), Nothing;
        /// How many chunks the reranker reads. The others follow in their order.
        pub rerank_depth: NonZeroUsize = "N", Is("20"), Nothing;
        /// Weight of the ranking's score next to the reranker's. With 0, the reranker's replaces it.
        pub rerank_weight: Weight = "W", Is("2"), Nothing;
        /// Milliseconds for the reranker: it reads only as many chunks as there is time for, but at least 8.
        pub rerank_ms: NonZeroUsize = "MS", Words("no limit"), Nothing;
        /// Order in which a context is filled: `evidence` (expected evidence per token, needs `linear` fusion) or `rank`.
        pub packing: Packing = "ORDER", Is("evidence"), Nothing;
        /// Lowest chance of a passage in a context, from 0 to 1, that it holds evidence. Needs `linear` fusion.
        pub least: Share = "P", Is("0.005"), Nothing;
        /// Where to cache rows, vectors and keyword indexes for searches: auto (`chunkmill` in `$XDG_CACHE_HOME` or `~/.cache`), off, or a folder.
        pub search_cache: CacheFolder = "auto|off|FOLDER", Is("auto"), Nothing;
    }
}

settings! {
    /// The `[answer]` table. The API key is not a setting: it is read only from the environment.
    pub struct AnswerOptions in "answer" under "Answering" {
        /// Base URL of an OpenAI-compatible service that answers. It receives the question and the passages. Its key comes from the
        /// variable `CHUNKMILL_ANSWER_API_KEY`.
        pub answer_endpoint in files "endpoint": Endpoint = "URL", Words("none"), Nothing;
        /// Name of the language model at that service.
        pub answer_model in files "model": String = "NAME", Words("none"), Nothing;
        /// Largest number of tokens in an answer.
        pub answer_max_tokens in files "max_tokens": NonZeroUsize = "N", Is("1024"), Nothing;
        /// How long to wait for an answer.
        pub answer_timeout in files "timeout": NonZeroUsize = "SECONDS", Is("120"), Nothing;
    }
}

settings! {
    /// Settings before the first table: how a run uses the machine.
    pub struct RunOptions in "" under "Running" {
        /// Worker threads.
        pub threads: NonZeroUsize = "N", Words("one per core"), Nothing;
        /// Memory limit. Fewer documents are processed at once; a document that needs more than half of it is quarantined.
        pub memory: u64 = "BYTES", Words("no limit"), Nothing unless "documents, where it leaves one too little room";
    }
}

/// Rewords a parser's message about a settings file for the people who write one.
fn in_words(problem: &str) -> String {
    let unknown = || {
        let (name, names) = problem.strip_prefix("unknown field `")?.split_once("`, expected one of ")?;
        let names: Vec<&str> = names.split(", ").map(|name| name.trim_matches('`')).collect();
        let of_key = |key: &str| settings().into_iter().find(|(_, setting)| setting.key == key).map(|(table, _)| table);
        let theirs = || elsewhere(name).find_map(|ours| Some((of_key(ours)?, ours)));
        let in_other_table = of_key(name).map(|table| (table, name)).or_else(theirs);
        Some(match in_other_table.filter(|_| meant(name, &names).is_none()) {
            Some(("", key)) => format!("`{key}` belongs before the first table"),
            Some((table, key)) if key == name => format!("`{key}` belongs in the table [{table}]"),
            Some((table, key)) => format!("there is no setting `{name}`; did you mean `{key}` in the table [{table}]?"),
            None => format!("there is no setting `{name}` here; {}", one_of(name, &names)),
        })
    };
    let number = || {
        let (found, wanted) = problem.rsplit_once(", expected ")?;
        let words = match wanted.trim_start_matches("a ") {
            "nonzero usize" => "a whole number of 1 or more",
            "usize" | "u64" => "a whole number",
            _ => return None,
        };
        Some(format!("{found}, expected {words}"))
    };
    unknown().or_else(number).unwrap_or_else(|| problem.to_owned())
}

/// Where a cache is kept between runs. Written as `auto`, `off` or a folder.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(from = "String", into = "String")]
pub enum CacheFolder {
    /// The user's cache folder, if there is one.
    #[default]
    Auto,
    /// Nowhere.
    Off,
    /// This folder.
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

value! {
    CacheFolder: {"type": "string"}
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

/// Merged and checked settings.
#[derive(Debug, Clone)]
pub struct Config {
    /// Which files are documents.
    pub filter: Filter,
    /// Which documents are admitted.
    pub admission: Admission,
    /// How documents are chunked.
    pub spec: Spec,
    /// Names of chunk settings that were set but have no effect.
    pub unused: Vec<&'static str>,
    /// Remarks on sizes that were not set and differ from the preset's, because another one was set.
    pub adjusted: Vec<String>,
    /// The model, if one was named that is not at a service.
    pub model: Option<ModelRef>,
    /// A different model for queries, if one was named.
    pub query_model: Option<ModelRef>,
    /// A sparse model next to it, if one was named.
    pub sparse_model: Option<ModelRef>,
    /// Which duplicates are left out.
    pub drop_duplicates: DropRule,
    /// Number of documents from which a paragraph that stands in them is not embedded; `None` if all are.
    pub skip_boilerplate: Option<u64>,
    /// The engine that runs the model, with its device and precision.
    pub backend: Backend,
    /// The service that has the model, if one was named.
    pub service: Option<ServiceSettings>,
    /// Name of a different model at the service for queries, if one was named.
    pub service_query_model: Option<String>,
    /// Largest number of tokens in a batch; `None` means the embedder's own default.
    pub batch_tokens: Option<usize>,
    /// Whether a chunk that the model would truncate is an error.
    pub deny_truncation: bool,
    /// Folder of the embedding cache, if there is one.
    pub cache: Option<PathBuf>,
    /// Largest size of that cache on disk, in bytes.
    pub cache_size: u64,
    /// How the dataset is laid out.
    pub output: Output,
    /// How to search.
    pub mode: Mode,
    /// How chunks are ranked.
    pub ranking: Ranking,
    /// The reranker for the best chunks, if one was named.
    pub rerank: Option<ModelRef>,
    /// How many chunks the reranker reads.
    pub rerank_depth: usize,
    /// Weight of the ranking's score next to the reranker's.
    pub rerank_weight: Weight,
    /// Time for the reranker, if it is limited.
    pub rerank_time: Option<Duration>,
    /// How a context is filled.
    pub fill: FillRule,
    /// Folder of the cache for searches, if there is one.
    pub search_cache: Option<PathBuf>,
    /// Which language model answers questions.
    pub answer: answer::Settings,
    /// Worker threads; `None` means one per core.
    pub threads: Option<usize>,
}

/// Returns every setting with the name of its table, in order. Settings outside the tables come last.
#[doc(hidden)] // The tests compare it with other descriptions of the settings.
pub fn settings() -> Vec<(&'static str, &'static Setting)> {
    fn of<T: Table>() -> impl Iterator<Item = (&'static str, &'static Setting)> {
        T::SETTINGS.iter().map(|setting| (T::NAME, setting))
    }
    let dataset = of::<CorpusOptions>().chain(of::<Settings>()).chain(of::<EmbeddingOptions>());
    let dataset = dataset.chain(of::<ServiceOptions>()).chain(of::<OutputOptions>());
    dataset.chain(of::<SearchOptions>()).chain(of::<AnswerOptions>()).chain(of::<RunOptions>()).collect()
}

/// Returns the JSON Schema of a settings file, with which an editor completes and checks it.
pub fn schema() -> serde_json::Value {
    let table = || serde_json::json!({"type": "object", "additionalProperties": false, "properties": {}});
    let mut schema = table();
    for (name, setting) in settings() {
        let mut properties = &mut schema["properties"];
        if !name.is_empty() {
            if properties[name].is_null() {
                properties[name] = table();
            }
            properties = &mut properties[name]["properties"];
        }
        properties[setting.key] = setting.described();
    }
    schema["$schema"] = "https://json-schema.org/draft/2020-12/schema".into();
    schema["title"] = FILE.into();
    schema
}

impl Options {
    /// Fills the settings that are missing here from a source of lower precedence.
    ///
    /// If this source names a preset or a strategy, the lower one contributes no strategy, unit or sizes.
    #[must_use]
    pub fn or(self, lower: Self) -> Self {
        let named = self.chunking.preset.is_some() || self.chunking.strategy.is_some();
        let chunking = self.chunking.or(if named { lower.chunking.switches() } else { lower.chunking });
        Self {
            corpus: self.corpus.or(lower.corpus),
            chunking,
            embedding: self.embedding.or(lower.embedding),
            service: self.service.or(lower.service),
            output: self.output.or(lower.output),
            search: self.search.or(lower.search),
            answer: self.answer.or(lower.answer),
            run: self.run.or(lower.run),
        }
    }

    /// Reads one settings file.
    ///
    /// # Errors
    /// [`Error::Setting`] with file and line for a syntax error, an unknown key or a wrong value.
    pub fn read(path: &Path) -> Result<Self> {
        let text = fs::read_to_string(path).map_err(|error| {
            let is_missing = error.kind() == std::io::ErrorKind::NotFound;
            Error::named(path, if is_missing { "name a settings file that exists" } else { TABLES })(error)
        })?;
        let mut options = Self::parse(&text, &path.display().to_string())?;
        // The path of a model folder is relative to the settings file, wherever the program runs.
        let Options { embedding, service, search, .. } = &mut options;
        let EmbeddingOptions { model, query_model, sparse_model, .. } = embedding;
        for model in [model, query_model, sparse_model, &mut service.tokenizer, &mut search.rerank] {
            if let (Some(model), Some(here)) = (model, path.parent())
                && here.join(&*model).is_dir()
            {
                *model = here.join(&*model).display().to_string();
            }
        }
        for cache in [&mut options.embedding.embedding_cache, &mut options.search.search_cache] {
            if let (Some(CacheFolder::Folder(cache)), Some(here)) = (cache, path.parent()) {
                *cache = here.join(&*cache);
            }
        }
        Ok(options)
    }

    /// Reads the environment variables: `CHUNKMILL_` and the name of the flag. An empty variable counts as unset.
    ///
    /// # Errors
    /// [`Error::Setting`] that names the variable, for a wrong value.
    pub fn from_env() -> Result<Self> {
        Ok(Self {
            corpus: read_variables()?,
            chunking: read_variables()?,
            embedding: read_variables()?,
            service: read_variables()?,
            output: read_variables()?,
            search: read_variables()?,
            answer: read_variables()?,
            run: read_variables()?,
        })
    }

    /// Parses the text of a settings file. Errors call the file `name`.
    pub fn parse(text: &str, name: &str) -> Result<Self> {
        toml::from_str(text).map_err(|error: toml::de::Error| {
            let line = error.span().map_or(1, |span| 1 + text[..span.start].matches('\n').count());
            Error::setting(format!("{name}:{line}"), in_words(error.message()), TABLES)
        })
    }

    /// Adds the project's and the user's settings files below this source. A file that is named here or in the
    /// variable `CHUNKMILL_CONFIG` replaces the project's file.
    ///
    /// A project must not decide where texts, questions and passages are sent, and with which key: its file may have come
    /// with somebody else's documents. An endpoint in it is therefore ignored. Nor may it name a cache: the maker of
    /// that cache chose the vectors or the keyword scores in it. A file that the user names is trusted.
    ///
    /// # Errors
    /// Those of [`Options::read`]; [`Error::Setting`] if the project's file names a cache.
    pub fn with_files(mut self, named: Option<&Path>) -> Result<Self> {
        let named = named.map_or_else(|| variable("CONFIG"), |file| Ok(Some(file.to_owned())))?;
        if let Some(file) = named {
            self = self.or(Self::read(&file)?);
        } else if let Some(file) = project_file() {
            let mut project = Self::read(&file)?;
            tracing::info!("settings come from {}", file.display());
            project.refuse_caches(&file)?;
            let endpoints = [
                (&mut project.service.endpoint, self.service.endpoint.is_none(), "ENDPOINT"),
                (&mut project.answer.answer_endpoint, self.answer.answer_endpoint.is_none(), "ANSWER_ENDPOINT"),
            ];
            for (endpoint, is_needed, name) in endpoints {
                if endpoint.take().is_some() && is_needed {
                    let (file, flag) = (file.display(), name.to_lowercase().replace('_', "-"));
                    tracing::warn!(
                        "ignoring the endpoint in {file}; set it with --{flag}, CHUNKMILL_{name} or in your own settings"
                    );
                }
            }
            self = self.or(project);
        }
        match user_file() {
            Some(file) => Ok(self.or(Self::read(&file)?)),
            None => Ok(self),
        }
    }

    /// Fails if this project's file names a cache, or limits the user's own.
    fn refuse_caches(&self, file: &Path) -> Result<()> {
        let names = |cache: &Option<CacheFolder>| matches!(cache, Some(CacheFolder::Folder(_)));
        let key = if names(&self.embedding.embedding_cache) {
            "cache"
        } else if names(&self.search.search_cache) {
            "search_cache"
        } else if self.embedding.embedding_cache_size.is_some() {
            "cache_size"
        } else {
            return Ok(());
        };
        let text = fs::read_to_string(file).unwrap_or_default();
        let line = text.lines().position(|line| line.split('=').next().is_some_and(|name| name.trim() == key));
        let flag = if key == "search_cache" { "search-cache" } else { &format!("embedding-{}", key.replace('_', "-")) };
        Err(Error::setting(
            format!("{}{}", file.display(), line.map(|line| format!(":{}", line + 1)).unwrap_or_default()),
            format!(
                "`{key}` is not allowed in a project's file: the one who fills a cache chooses what is read from it"
            ),
            format!("write it in your own settings file, or use --{flag} or its variable; `off` is allowed here"),
        ))
    }

    /// Checks all settings and fills in the defaults.
    ///
    /// # Errors
    /// [`Error::Setting`] for values that are out of range or contradict each other.
    pub fn resolve(self) -> Result<Config> {
        let spec = Spec::resolve(&self.chunking)?;
        let files = self.output.files.map_or(DEFAULT_FILES, NonZeroUsize::get);
        if files > MAX_FILES {
            return Err(Error::setting(
                "files",
                format!("{files} files are more than the file names allow"),
                format!("use at most {MAX_FILES}"),
            ));
        }
        if let Some(threads) = self.run.threads.filter(|threads| threads.get() > MAX_THREADS) {
            return Err(Error::setting(
                "threads",
                format!("{threads} threads are more than any machine can use"),
                format!("use at most {MAX_THREADS}, or leave it out: one per core"),
            ));
        }
        let cache_size = self.embedding.embedding_cache_size.unwrap_or(cache::DEFAULT_LIMIT);
        if cache_size < cache::MIN_LIMIT {
            return Err(Error::setting(
                "embedding-cache-size",
                format!("{} would leave no room for vectors", count(cache_size, "byte")),
                format!("use at least {}, or --embedding-cache off", cache::MIN_LIMIT),
            ));
        }
        let model = |name: Option<String>, origin: &str| {
            let wrong = |problem| Error::setting(origin, problem, "name a folder that exists, or a hub id");
            name.map(|name| name.parse::<ModelRef>().map_err(wrong)).transpose()
        };
        let rows = self.corpus.rows()?;
        let engine = self.embedding.embedder.unwrap_or_default();
        let is_remote = engine == Engine::Remote;
        let dimensions = self.embedding.dimensions.map(NonZeroUsize::get);
        let service = self.service.resolve(is_remote, self.embedding.model.as_deref(), dimensions)?;
        let here = |name: Option<String>| name.filter(|_| !is_remote);
        let service_query_model = self.embedding.query_model.clone().filter(|_| is_remote);
        Ok(Config {
            filter: Filter::new(
                &self.corpus.include.unwrap_or_default().0,
                &self.corpus.exclude.unwrap_or_default().0,
                self.corpus.hidden.unwrap_or(true),
                self.corpus.max_file_size.unwrap_or(DEFAULT_MAX_BYTES),
            )?
            .with_inner(InnerDocuments { rows, attachments: self.corpus.attachments.unwrap_or(false) })?,
            admission: Admission {
                profile: self.corpus.security.unwrap_or_default(),
                allow_blocked: self.corpus.allow_blocked.unwrap_or(false),
                document_memory: self.corpus.document_memory,
                read: ReadSettings {
                    html: self.corpus.html.unwrap_or_default(),
                    notebook_outputs: self.corpus.notebook_outputs.unwrap_or(false),
                    growth: self.corpus.text_growth.unwrap_or(ReadSettings::default().growth),
                },
                memory: self.run.memory,
            },
            drop_duplicates: self.corpus.drop_duplicates.unwrap_or_default(),
            skip_boilerplate: self.corpus.skip_boilerplate.map(several_documents).transpose()?,
            unused: spec.unused(&self.chunking),
            adjusted: adjusted(&spec, &self.chunking),
            spec,
            model: model(here(self.embedding.model), "model")?,
            query_model: model(here(self.embedding.query_model), "query-model")?,
            sparse_model: model(self.embedding.sparse_model.filter(|name| name != NO_MODEL), "sparse-model")?,
            backend: Backend {
                engine,
                precision: self.embedding.precision.unwrap_or_default(),
                device: self.embedding.device.unwrap_or_default(),
                isa: self.embedding.cpu_isa,
                dimensions: self.embedding.dimensions.map(|count| Dimensions {
                    count: count.get(),
                    forced: self.embedding.force_dimensions.unwrap_or(false),
                }),
            },
            service,
            service_query_model,
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
            rerank: model(self.search.rerank.clone().filter(|name| name != NO_MODEL), "rerank")?,
            rerank_depth: self.search.rerank_depth.map_or(RERANK_DEPTH, NonZeroUsize::get),
            rerank_weight: self.search.rerank_weight.unwrap_or(RERANK_WEIGHT),
            rerank_time: self.search.rerank_ms.map(|ms| Duration::from_millis(ms.get() as u64)),
            fill: FillRule {
                order: self.search.packing.unwrap_or_default(),
                least: self.search.least.unwrap_or(FillRule::default().least),
            },
            search_cache: self.search.search_cache.unwrap_or_default().folder(),
            answer: self.answer.settings(),
            threads: self.run.threads.map(NonZeroUsize::get),
        })
    }
}

/// Rejects a number of documents with which a paragraph of a single document would not be embedded.
fn several_documents(least: u64) -> Result<u64> {
    if least < 2 {
        let problem = format!("{least} would leave out paragraphs of a single document");
        return Err(Error::setting("skip-boilerplate", problem, "set at least 2, or leave it out"));
    }
    Ok(least)
}

/// Returns remarks on the sizes that were not set and differ from what they would be without the sizes that were.
fn adjusted(spec: &Spec, written: &Settings) -> Vec<String> {
    let Settings { min, target, max, overlap, .. } = *written;
    let without = Settings { min: None, target: None, max: None, overlap: None, ..written.clone() };
    let Ok(preset) = Spec::resolve(&without) else { return Vec::new() };
    let sizes = |spec: &Spec| [spec.min(), spec.target(), spec.max(), spec.overlap()];
    let names = ["min", "target", "max", "overlap"];
    let set = [min, target, max, overlap];
    let because = |at: usize| {
        let why = names.iter().zip(set).enumerate().filter(|(other, (_, set))| *other != at && set.is_some());
        why.map(|(_, (name, set))| format!("`{name}` is {}", set.unwrap_or_default())).collect::<Vec<_>>().join(" and ")
    };
    let differs = |at: &usize| set[*at].is_none() && sizes(spec)[*at] != sizes(&preset)[*at];
    // A target that is the maximum is not a size of its own.
    let own = |at: &usize| names[*at] != "target" || sizes(spec)[1] != sizes(spec)[2];
    let remark = |at: usize| {
        let (name, now, before) = (names[at], sizes(spec)[at], sizes(&preset)[at]);
        format!("`{name}` is {now} instead of {before}, because {}", because(at))
    };
    (0..names.len()).filter(differs).filter(own).map(remark).collect()
}

impl Config {
    /// Loads the model, or the default one if none was named, or connects to the service that has it.
    pub fn embedder(&self) -> Result<Box<dyn Embedder>> {
        let model = self.model.clone().unwrap_or_default();
        let embedder = match (self.remote(), &self.query_model) {
            (Some(service), _) => self.connect(service, None)?,
            (None, None) => embed::load(self.backend, &model)?,
            (None, Some(query_model)) => embed::load_pair(self.backend, &model, self.backend, query_model)?,
        };
        Ok(match &self.sparse_model {
            None => embedder,
            Some(sparse) => embed::with_sparse(embedder, embed::load_sparse(self.backend, sparse)?),
        })
    }

    /// Returns the service that has the model, if it is not here.
    fn remote(&self) -> Option<&ServiceSettings> {
        self.service.as_ref().filter(|_| self.backend.engine == Engine::Remote)
    }

    /// Connects to a service: for a new dataset, or for one with this record.
    fn connect(&self, service: &ServiceSettings, known: Option<&ModelInfo>) -> Result<Box<dyn Embedder>> {
        let (folder, key) = (self.cache.as_deref(), api_key("API_KEY")?);
        let documents = embed::load_service(service.clone(), key.clone(), folder, known)?;
        let recorded = known.and_then(|known| known.query.as_ref()?.id.as_ref());
        let Some(model) = self.service_query_model.as_ref().or(recorded) else { return Ok(documents) };
        let mut queries = ServiceSettings { model: model.clone(), ..service.clone() };
        // Questions are asked as they were when the dataset was made.
        if let Some(recorded) = known.and_then(|known| known.service.as_ref()) {
            queries.dimensions = recorded.dimensions;
            queries.document_prefix = Some(recorded.document_prefix.clone());
            queries.query_prefix = Some(recorded.query_prefix.clone());
        }
        embed::pair(documents, embed::load_service(queries, key, folder, None)?)
    }

    /// Loads what counts the model's own tokens.
    #[doc(hidden)] // The harness and the Python module count too.
    pub fn counter(&self) -> Result<Box<dyn TokenCounter>> {
        match self.remote() {
            Some(service) => embed::load_service_counter(service),
            None => embed::load_counter(self.backend.engine, &self.model.clone().unwrap_or_default()),
        }
    }

    /// Computes the vectors of a question that this search needs. `embedder` loads the model for queries.
    ///
    /// # Errors
    /// Those of `embedder`, of [`embed::query`] and of [`embed::load_sparse_queries`].
    #[doc(hidden)] // The Python module asks too.
    pub fn question<E: AsRef<dyn Embedder>>(
        &self,
        text: &str,
        embedder: impl FnOnce() -> Result<E>,
        sparse: impl FnOnce() -> Result<Option<Arc<dyn SparseEmbedder>>>,
    ) -> Result<QuestionVectors> {
        let vector = self.mode.needs_vector().then(|| embed::query(embedder()?.as_ref(), text)).transpose()?;
        let sparse = if self.ranking.needs_sparse(self.mode) { sparse()? } else { None };
        Ok(QuestionVectors { vector, sparse: sparse.map(|sparse| sparse.query(text)).transpose()? })
    }

    /// Loads the sparse model of a dataset for questions, if it has one: the configured one if `named`, otherwise the one that the
    /// dataset records, or the configured one if the recorded one cannot be named.
    ///
    /// # Errors
    /// Those of [`embed::load_sparse_queries`], for another model too; [`Error::Model`] if the dataset does not record which
    /// one it was.
    pub fn sparse_of(&self, manifest: &Manifest, named: bool) -> Result<Option<Arc<dyn SparseEmbedder>>> {
        let Some(recorded) = &manifest.model.sparse else { return Ok(None) };
        let found = recorded_as(&recorded.id, recorded.revision.as_deref(), Engine::Cpu, "sparse-model");
        let model = match self.sparse_model.clone() {
            Some(model) if named => model,
            configured => found.or_else(|error| configured.ok_or(error))?,
        };
        Ok(Some(Arc::from(embed::load_sparse_queries(self.backend, &model, recorded)?)))
    }

    /// Loads the model that made a dataset's vectors: the configured one if `named`, otherwise the one that the
    /// dataset records, or the configured one if the recorded one cannot be named.
    ///
    /// # Errors
    /// Those of [`embed::load`]; [`Error::Model`] if it is a different model, or if the dataset does not record
    /// which one it was.
    pub fn embedder_of(&self, manifest: &Manifest, named: bool) -> Result<Box<dyn Embedder>> {
        // Engine, precision and dimensions come from the dataset: only the same ones make vectors that match its
        // own.
        let ModelInfo { dim, ref query, .. } = manifest.model;
        if let Some(recorded) = &manifest.model.service {
            let service = self.service_of(&manifest.model, &recorded.endpoint)?;
            return checked(self.connect(&service, Some(&manifest.model))?, manifest);
        }
        let backend = |engine, precision| Backend {
            engine,
            precision: PrecisionSetting::Fixed(precision),
            dimensions: Some(Dimensions { count: dim, forced: true }),
            ..self.backend
        };
        let documents = backend(manifest.model.engine, manifest.model.precision);
        let model = match self.model.clone() {
            Some(model) if named => model,
            configured => recorded(&manifest.model).or_else(|error| configured.ok_or(error))?,
        };
        let apart = query.as_ref().and_then(|query| Some((query, query.id.as_ref()?)));
        let embedder = match (apart, &self.query_model) {
            (None, None) => embed::load(documents, &model)?,
            (None, Some(query_model)) => embed::load_pair(documents, &model, documents, query_model)?,
            (Some((query, id)), configured) => {
                let found = recorded_as(id, query.revision.as_deref(), query.engine, "query-model");
                let query_model = configured.clone().map_or(found, Ok)?;
                embed::load_pair(documents, &model, backend(query.engine, query.precision), &query_model)?
            }
        };
        checked(embedder, manifest)
    }

    /// Returns how to call the service that made a dataset's vectors. The dataset does not decide where questions and the key
    /// are sent: it may have come from somebody else.
    fn service_of(&self, model: &ModelInfo, recorded: &str) -> Result<ServiceSettings> {
        let named = self.service.clone().ok_or_else(|| Error::Model {
            model: model.id.clone(),
            problem: format!("is at the service {recorded}, which must be named"),
            help: format!("--endpoint {recorded}, or search with --mode keyword"),
        })?;
        Ok(ServiceSettings { model: model.id.clone(), ..named })
    }

    /// Returns a query for `k` chunks, without its vector and filters. Lists are read at least `k` deep unless a
    /// depth other than the default was set: a query for many chunks needs long lists.
    pub fn query<'q>(&self, text: &'q str, k: usize) -> Query<'q> {
        let default = Ranking::default().depth;
        let depth = if self.ranking.depth == default { default.max(k) } else { self.ranking.depth };
        let ranking = Ranking { depth, ..self.ranking };
        Query { mode: self.mode, text, k, ranking, fill: self.fill, ..Query::default() }
    }

    /// Loads the reranker, if one was named.
    pub fn reranker(&self) -> Result<Option<Box<dyn Reranker>>> {
        self.rerank.as_ref().map(|model| embed::load_reranker(self.backend, model)).transpose()
    }

    /// Combines a loaded reranker with how it is used.
    pub fn rerank<'q>(&self, reranker: Option<&'q dyn Reranker>) -> Option<Rerank<'q>> {
        let (depth, weight, time) = (self.rerank_depth, self.rerank_weight, self.rerank_time);
        reranker.map(|reranker| Rerank { reranker, depth, weight, time })
    }

    /// Opens the embedding cache, if there is one. Without it, or if it cannot be opened, everything is slower but still
    /// correct.
    ///
    /// # Errors
    /// [`Error::Io`] if it cannot be opened and vectors are paid for.
    #[doc(hidden)] // The Python module embeds without a job.
    pub fn open_cache(&self) -> Result<Option<Arc<Cache>>> {
        let Some(folder) = self.cache.as_deref() else { return Ok(None) };
        match Cache::open(folder, self.cache_size) {
            Ok(cache) => Ok(Some(Arc::new(cache))),
            // Vectors of a service would be lost with the run; `--embedding-cache off` allows that.
            Err(error) if self.remote().is_some() => Err(error),
            Err(error) => {
                tracing::warn!("{error}; this run continues without the embedding cache");
                Ok(None)
            }
        }
    }

    /// Returns the job for these roots, and opens the embedding cache.
    ///
    /// # Errors
    /// Those of [`open_cache`](Self::open_cache).
    pub fn job(self, roots: Vec<Root>, fresh: bool) -> Result<Job> {
        Ok(Job {
            cache: self.open_cache()?,
            roots,
            filter: self.filter,
            admission: self.admission,
            drop_duplicates: self.drop_duplicates,
            skip_boilerplate: self.skip_boilerplate,
            spec: self.spec,
            output: self.output,
            batch_tokens: self.batch_tokens,
            deny_truncation: self.deny_truncation,
            fresh,
            allow_shrink: false,
        })
    }
}

/// Returns the embedder if it is that of a dataset.
fn checked(embedder: Box<dyn Embedder>, manifest: &Manifest) -> Result<Box<dyn Embedder>> {
    let (info, query) = (embedder.info(), &manifest.model.query);
    let at = |model: &ModelInfo| model.service.as_ref().map(|service| format!("at {}", service.endpoint));
    let problem = if info.fingerprint != manifest.model.fingerprint {
        let [here, there] = [at(info).map(|at| at + " "), at(&manifest.model).map(|at| format!(" {at}"))];
        let [here, there] = [here, there].map(Option::unwrap_or_default);
        format!(
            "{here}is not the model of the dataset ({}{there}, fingerprint {}); its own fingerprint is {}",
            manifest.model.id, manifest.model.fingerprint, info.fingerprint
        )
    } else if info.query != *query {
        let name = |query: &Option<QueryModel>| match query {
            None => "itself".to_owned(),
            Some(query) => format!("{} ({})", query.id.as_ref().unwrap_or(&info.id), query.fingerprint),
        };
        format!("its queries would be read by {}, but the dataset expects {}", name(&info.query), name(query))
    } else {
        return Ok(embedder);
    };
    Err(Error::Model {
        model: info.id.clone(),
        problem,
        help: "use the same model, search with --mode keyword, or index again".to_owned(),
    })
}

/// Returns the model that a dataset records as its own.
fn recorded(model: &ModelInfo) -> Result<ModelRef> {
    recorded_as(&model.id, model.revision.as_deref(), model.engine, "model")
}

/// Returns a model that a dataset records. Errors advise to name it with `flag`.
fn recorded_as(id: &str, revision: Option<&str>, engine: Engine, flag: &str) -> Result<ModelRef> {
    let wrong =
        |problem: String| Error::Model { model: id.to_owned(), problem, help: format!("name it: --{flag} FOLDER") };
    if engine == Engine::Fake {
        return Ok(ModelRef::default());
    }
    let Some(revision) = revision else {
        return Err(wrong("was a local folder when the dataset was made".to_owned()));
    };
    format!("{id}@{revision}").parse().map_err(wrong)
}

/// Returns the key of a service, which is in the variable `CHUNKMILL_<name>`, if it is set.
pub(crate) fn api_key(name: &str) -> Result<Option<ApiKey>> {
    Ok(variable::<String>(name)?.and_then(|key| ApiKey::new(&key)))
}

impl CorpusOptions {
    /// Returns the columns of tables whose rows are documents, if there are any.
    fn rows(&self) -> Result<Option<RowColumns>> {
        match (self.text_column.clone(), self.id_column.clone()) {
            (None, Some(id)) => Err(Error::setting(
                "id-column",
                format!("`{id}` names rows only with --text-column"),
                "name the column with the texts: --text-column NAME",
            )),
            (text, id) => Ok(text.map(|text| RowColumns { text, id })),
        }
    }
}

impl ServiceOptions {
    /// Checks the settings of a service; `None` if none is named. With `is_remote`, one must be.
    fn resolve(
        self,
        is_remote: bool,
        model: Option<&str>,
        dimensions: Option<usize>,
    ) -> Result<Option<ServiceSettings>> {
        let wrong = |origin: &str, problem: &str, help: &str| Error::setting(origin, problem, help);
        let Some(endpoint) = self.endpoint else {
            let help = "name it: --endpoint http://localhost:11434/v1, or `endpoint` in [service] of your own settings";
            let missing = || wrong("endpoint", "none is named for `--embedder remote`", help);
            // Other tools call the size of a chunk so.
            if self.max_tokens.is_some() && !is_remote {
                let problem = "limits the tokens sent to a service, and none is named; did you mean `max`?";
                return Err(wrong("max-tokens", problem, "--max N is the largest size of a chunk"));
            }
            return if is_remote { Err(missing()) } else { Ok(None) };
        };
        let tokenizer = self.tokenizer.map(|name| name.parse::<ModelRef>()).transpose();
        let tokenizer =
            tokenizer.map_err(|problem| wrong("tokenizer", &problem, "name a folder that exists, or a hub id"))?;
        if self.max_cost.is_some() && self.price.is_none() {
            let help = "say what a million tokens cost: --price AMOUNT";
            return Err(wrong("max-cost", "means nothing without a price", help));
        }
        if is_remote && model.is_none_or(str::is_empty) {
            let help = "name one that the service has: --model NAME";
            return Err(wrong("model", "none is named for `--embedder remote`", help));
        }
        let number = |value: Option<NonZeroUsize>| value.map(NonZeroUsize::get);
        Ok(Some(ServiceSettings {
            endpoint,
            model: model.unwrap_or_default().to_owned(),
            dialect: self.dialect.unwrap_or_default(),
            tokenizer,
            text_tokens: number(self.text_tokens),
            query_prefix: self.query_prefix,
            document_prefix: self.document_prefix,
            dimensions,
            requests: self.requests.map_or(DEFAULT_REQUESTS, NonZeroUsize::get),
            batch_texts: number(self.batch_texts),
            requests_per_minute: number(self.requests_per_minute),
            tokens_per_minute: number(self.tokens_per_minute),
            timeout: Duration::from_secs(self.request_timeout.map_or(DEFAULT_REQUEST_TIMEOUT, NonZeroUsize::get) as u64),
            price: self.price,
            max_tokens: self.max_tokens,
            max_cost: self.max_cost,
        }))
    }
}

impl AnswerOptions {
    fn settings(self) -> answer::Settings {
        let seconds = |seconds: NonZeroUsize| Duration::from_secs(seconds.get() as u64);
        answer::Settings {
            endpoint: self.answer_endpoint,
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
            fusion: self.fusion.unwrap_or(default.fusion),
            vector_share: self.vector_share.unwrap_or(default.vector_share),
            sparse_share: self.sparse_share.unwrap_or(default.sparse_share),
            document: self.document_weight.unwrap_or(default.document),
            neighbours: self.neighbour_weight.unwrap_or(default.neighbours),
            language: self.language.unwrap_or(default.language),
            rrf_k: self.rrf_k.unwrap_or(default.rrf_k),
            vector: self.vector_weight.unwrap_or(default.vector),
            keyword: self.keyword_weight.unwrap_or(default.keyword),
            sparse: self.sparse_weight.unwrap_or(default.sparse),
            recency: self.recency_weight.unwrap_or(default.recency),
            graph: self.graph_weight.unwrap_or(default.graph),
            depth: self.depth.map_or(default.depth, NonZeroUsize::get),
            graph_seeds: self.graph_seeds.map_or(default.graph_seeds, NonZeroUsize::get),
            fields: FieldWeights {
                content: self.content_weight.unwrap_or(default.fields.content),
                headings: self.headings_weight.unwrap_or(default.fields.headings),
                tags: self.tags_weight.unwrap_or(default.fields.tags),
                aliases: self.aliases_weight.unwrap_or(default.fields.aliases),
                title: self.title_weight.unwrap_or(default.fields.title),
                path: self.path_weight.unwrap_or(default.fields.path),
            },
        }
    }
}

/// Variables with our prefix that are not settings, without the prefix: for the programs, and for the scripts and tests
/// of the repository.
const OTHER_VARIABLES: [&str; 16] = [
    "ANSWER_API_KEY",
    "API_KEY",
    "COMMIT",
    "CONFIG",
    "CRASH",
    "OUT",
    "PLAN",
    "PROGRESS",
    "PROGRESS_INTERVAL",
    "REQUIRE_ALL",
    "RUN",
    "SCREENSHOTS",
    "SHARDS",
    "TEST_ALONE",
    "TINY",
    "WRITE_REFERENCE",
];

/// Returns a remark on each environment variable that is named like a setting but is none, with the name that was
/// most likely meant.
#[doc(hidden)] // The harness reports them too.
pub fn unknown_variables() -> Vec<String> {
    let known = settings().into_iter().map(|(_, setting)| setting.variable());
    let known: Vec<String> = known.chain(OTHER_VARIABLES.map(|name| format!("CHUNKMILL_{name}"))).collect();
    let mut unknown: Vec<String> = std::env::vars_os()
        .filter_map(|(name, _)| name.into_string().ok())
        .filter(|name| name.starts_with("CHUNKMILL_") && !known.contains(name))
        .collect();
    unknown.sort();
    let remark = |name: String| {
        let own = |name: &'_ str| name.trim_start_matches("CHUNKMILL_").to_owned();
        let names: Vec<String> = known.iter().map(|name| own(name)).collect();
        let meant = nearest(&own(&name), names.iter().map(String::as_str)).map(|name| format!("CHUNKMILL_{name}"));
        let meant = did_you_mean(meant);
        format!("the environment variable {name} is no setting and is ignored{meant}")
    };
    unknown.into_iter().map(remark).collect()
}

/// Reads the variable `CHUNKMILL_<name>`; an empty variable counts as unset.
///
/// # Errors
/// [`Error::Setting`] that names the variable, for a wrong value.
pub(crate) fn variable<T: FromStr<Err: Display>>(name: &str) -> Result<Option<T>> {
    let mut read = None;
    read_variable(&format!("CHUNKMILL_{name}"), |value| {
        read = Some(value.parse().map_err(|problem: T::Err| problem.to_string())?);
        Ok(())
    })?;
    Ok(read)
}

/// Reads the environment variables of a table's settings.
fn read_variables<T: Table>() -> Result<T> {
    let mut table = T::default();
    for setting in T::SETTINGS {
        read_variable(&setting.variable(), |value| table.set(setting.name, value))?;
    }
    Ok(table)
}

/// Passes the value of a variable to `set`, unless the variable is unset or empty.
fn read_variable(name: &str, set: impl FnOnce(&str) -> Result<(), String>) -> Result<()> {
    let Some(value) = std::env::var_os(name).filter(|value| !value.is_empty()) else { return Ok(()) };
    let value = value.to_string_lossy();
    set(&value).map_err(|problem| {
        Error::setting(
            format!("environment variable {name}"),
            misread(&value, &problem),
            "it accepts the same values as the flag of that name; correct it or unset it",
        )
    })
}

/// Returns `chunkmill.toml` in the working folder, or in the nearest folder above that has one.
fn project_file() -> Option<PathBuf> {
    let here = std::env::current_dir().ok()?;
    here.ancestors().map(|folder| folder.join(FILE)).find(|file| file.is_file())
}

/// Returns `chunkmill/config.toml` in `XDG_CONFIG_HOME` or in `~/.config`, if it exists.
fn user_file() -> Option<PathBuf> {
    let folder = user_folder("XDG_CONFIG_HOME", ".config")?;
    Some(folder.join("config.toml")).filter(|file| file.is_file())
}

/// Returns our folder inside the one that `variable` names, or inside `in_home` in the user's home.
fn user_folder(variable: &str, in_home: &str) -> Option<PathBuf> {
    let folder = match std::env::var_os(variable).filter(|folder| !folder.is_empty()) {
        Some(folder) => PathBuf::from(folder),
        None => std::env::home_dir().filter(|home| !home.as_os_str().is_empty())?.join(in_home),
    };
    Some(folder.join("chunkmill"))
}
