//! Arguments that several subcommands share. They only become [`Options`]; what they mean is
//! decided in [`config`](crate::config).

use std::num::NonZeroUsize;
use std::path::PathBuf;

use clap::Args;

use crate::answer::Endpoint;
use crate::chunk::{BaseUrl, Preset, Settings, Strategy, TokenEstimator};
use crate::config::{
    AnswerOptions, CacheFolder, Config, CorpusOptions, EmbeddingOptions, Options, OutputOptions, SearchOptions,
};
use crate::corpus::Root;
use crate::document::SecurityProfile;
use crate::embed::{Device, Engine, Isa, PrecisionSetting};
use crate::options::{Globs, switch};
use crate::search::{Mode, Weight};
use crate::store::{EmbeddingType, FloatEncoding};
use crate::tokens::{Encoding, Unit};

/// Which documents.
#[derive(Args)]
pub(super) struct CorpusArgs {
    /// Folders and files to take documents from, or URLs like `s3://BUCKET/PREFIX`; NAME=PATH names the collection
    #[arg(required = true, value_name = "PATH")]
    pub(super) corpus: Vec<String>,
    /// Take only files that match one of these globs (default: markdown and text)
    #[arg(long, value_name = "GLOB,…", help_heading = "Corpus")]
    include: Vec<Globs>,
    /// Leave out files that match one of these globs
    #[arg(long, value_name = "GLOB,…", help_heading = "Corpus")]
    exclude: Vec<Globs>,
    /// Whether hidden files and folders count [default: true]
    #[arg(long, value_name = "BOOL", value_parser = switch, help_heading = "Corpus")]
    hidden: Option<bool>,
    /// Put files over this size into quarantine [default: 268435456]
    #[arg(long, value_name = "BYTES", help_heading = "Corpus")]
    max_file_size: Option<u64>,
    #[command(flatten)]
    admission: AdmissionArgs,
}

/// Which of them are let in.
#[derive(Args)]
pub(super) struct AdmissionArgs {
    /// Put documents with these risks into quarantine: strict, moderate, permissive [default: moderate]
    #[arg(long, value_name = "PROFILE", help_heading = "Corpus")]
    security: Option<SecurityProfile>,
    /// Index them all the same, flagged `document_blocked` [default: false]
    #[arg(long, value_name = "BOOL", value_parser = switch, num_args = 0..=1, require_equals = true, default_missing_value = "true", help_heading = "Corpus")]
    allow_blocked: Option<bool>,
    /// Put documents that would take more memory into quarantine [default: 16 bytes for each of theirs, and 50000000]
    #[arg(long, value_name = "BYTES", help_heading = "Corpus")]
    document_memory: Option<u64>,
}

impl CorpusArgs {
    pub(super) fn roots(&self) -> crate::error::Result<Vec<Root>> {
        self.corpus.iter().map(|root| root.parse()).collect()
    }

    pub(super) fn options(self) -> CorpusOptions {
        CorpusOptions {
            include: all(self.include),
            exclude: all(self.exclude),
            hidden: self.hidden,
            max_file_size: self.max_file_size,
            ..self.admission.options()
        }
    }
}

impl AdmissionArgs {
    pub(super) fn options(self) -> CorpusOptions {
        CorpusOptions {
            security: self.security,
            allow_blocked: self.allow_blocked,
            document_memory: self.document_memory,
            ..CorpusOptions::default()
        }
    }
}

/// The globs of all uses of a flag, or nothing if it was not used.
fn all(globs: Vec<Globs>) -> Option<Globs> {
    let all: Vec<String> = globs.into_iter().flat_map(|globs| globs.0).collect();
    Some(Globs(all)).filter(|globs| !globs.0.is_empty())
}

/// How they are chunked.
#[derive(Args)]
#[command(next_help_heading = "Chunking")]
pub(super) struct ChunkArgs {
    #[arg(long, value_name = "NAME", help = format!("Named settings: {} [default: {}]", Preset::ALL.map(Preset::name).join(", "), Preset::DEFAULT))]
    preset: Option<Preset>,
    #[arg(long, value_name = "NAME", help = format!("Where documents may be cut: {}", Strategy::ALL.map(Strategy::name).join(", ")))]
    strategy: Option<Strategy>,
    #[arg(long, value_name = "UNIT", help = format!("What sizes count: {}", Unit::ALL.map(Unit::name).join(", ")))]
    unit: Option<Unit>,
    #[arg(long, value_name = "NAME", help = format!("Which tokens are counted, as a unit and in `n_tokens`: {} [default: {}]", Encoding::ALL.map(Encoding::name).join(", "), Encoding::default()))]
    encoding: Option<Encoding>,
    /// The same in other words: bytes (estimate), chars, tiktoken (tokens)
    #[arg(long, value_name = "NAME")]
    token_estimator: Option<TokenEstimator>,
    /// Smallest size aimed at; with `lines`, the largest document that is not cut
    #[arg(long, value_name = "N")]
    min: Option<usize>,
    /// Size aimed at
    #[arg(long, value_name = "N")]
    target: Option<usize>,
    /// Largest size of a chunk
    #[arg(long, value_name = "N")]
    max: Option<usize>,
    /// How much of a chunk is repeated at the start of the next
    #[arg(long, value_name = "N")]
    overlap: Option<usize>,
    /// Put the headings above a chunk before its text
    #[arg(long, value_name = "BOOL", value_parser = switch, num_args = 0..=1, require_equals = true, default_missing_value = "true")]
    parent_headers: Option<bool>,
    /// Show the model the heading path before the content
    #[arg(long, value_name = "BOOL", value_parser = switch, num_args = 0..=1, require_equals = true, default_missing_value = "true")]
    heading_context: Option<bool>,
    /// Let no chunk hold parts of several sections (`semantic`, `code_aware`, `fixed`)
    #[arg(long, value_name = "BOOL", value_parser = switch, num_args = 0..=1, require_equals = true, default_missing_value = "true")]
    respect_boundaries: Option<bool>,
    /// Keep code blocks (`semantic`, `code_aware`, `fixed`)
    #[arg(long, value_name = "BOOL", value_parser = switch, num_args = 0..=1, require_equals = true, default_missing_value = "true")]
    include_code: Option<bool>,
    /// Keep tables (`semantic`, `code_aware`, `fixed`)
    #[arg(long, value_name = "BOOL", value_parser = switch, num_args = 0..=1, require_equals = true, default_missing_value = "true")]
    include_tables: Option<bool>,
    /// Cut what is over the maximum between rows, lines, sentences or words; tables keep their header and code its fence
    /// (`header`, `section`, `semantic`, `code_aware`, `lines`, `structure`)
    #[arg(long, value_name = "BOOL", value_parser = switch, num_args = 0..=1, require_equals = true, default_missing_value = "true")]
    cut_oversized: Option<bool>,
    /// Overlap by whole sentences, at most half a chunk (`header`, `section`, `semantic`, `code_aware`, `lines`, `structure`)
    #[arg(long, value_name = "BOOL", value_parser = switch, num_args = 0..=1, require_equals = true, default_missing_value = "true")]
    sentence_overlap: Option<bool>,
    /// Show the model a text with its white space tidied
    #[arg(long, value_name = "BOOL", value_parser = switch, num_args = 0..=1, require_equals = true, default_missing_value = "true")]
    normalize_whitespace: Option<bool>,
    /// Show the model a text in Unicode's composed form
    #[arg(long, value_name = "BOOL", value_parser = switch, num_args = 0..=1, require_equals = true, default_missing_value = "true")]
    normalize_unicode: Option<bool>,
    /// Show the model URLs without query and credentials
    #[arg(long, value_name = "BOOL", value_parser = switch, num_args = 0..=1, require_equals = true, default_missing_value = "true")]
    redact_urls: Option<bool>,
    /// URL of the corpus root: relative links become absolute in what the model sees
    #[arg(long, value_name = "URL")]
    base_url: Option<BaseUrl>,
}

impl ChunkArgs {
    pub(super) fn options(self) -> Settings {
        let Self {
            preset,
            strategy,
            unit,
            token_estimator,
            min,
            target,
            max,
            overlap,
            parent_headers,
            heading_context,
            respect_boundaries,
            include_code,
            include_tables,
            cut_oversized,
            sentence_overlap,
            normalize_whitespace,
            normalize_unicode,
            redact_urls,
            encoding,
            base_url,
        } = self;
        Settings {
            preset,
            strategy,
            unit,
            token_estimator,
            min,
            target,
            max,
            overlap,
            parent_headers,
            heading_context,
            respect_boundaries,
            include_code,
            include_tables,
            cut_oversized,
            sentence_overlap,
            normalize_whitespace,
            normalize_unicode,
            redact_urls,
            encoding,
            base_url,
        }
    }
}

/// With which model.
#[derive(Args)]
#[command(next_help_heading = "Embedding")]
pub(super) struct ModelArgs {
    /// Model folder, or hub id with an optional revision [default: sentence-transformers/all-MiniLM-L6-v2; to search, the dataset's own]
    #[arg(long, value_name = "FOLDER|HUB_ID[@REVISION]")]
    pub(super) model: Option<String>,
    /// Where the model runs: cpu, cuda:N, metal [default: cpu]
    #[arg(long, value_name = "DEVICE")]
    device: Option<Device>,
    /// What runs it: auto, cpu (our own encoder), candle, or fake for a dry run without a model [default: auto]
    #[arg(long, value_name = "NAME")]
    embedder: Option<Engine>,
    /// What it is computed in: auto, f32, bf16, int8 [default: auto; to search, the dataset's own]
    #[arg(long, value_name = "PRECISION")]
    precision: Option<PrecisionSetting>,
    /// Which instructions of the CPU are used, for comparisons [default: the best it has]
    #[arg(long, value_name = "ISA", hide_short_help = true)]
    cpu_isa: Option<Isa>,
}

impl ModelArgs {
    pub(super) fn options(self) -> EmbeddingOptions {
        EmbeddingOptions {
            model: self.model,
            device: self.device,
            embedder: self.embedder,
            precision: self.precision,
            cpu_isa: self.cpu_isa,
            ..EmbeddingOptions::default()
        }
    }
}

/// How the dataset is laid out.
#[derive(Args)]
#[command(next_help_heading = "Output")]
pub(super) struct OutputArgs {
    /// Files per table [default: 8]
    #[arg(long, value_name = "N")]
    files: Option<NonZeroUsize>,
    /// How vectors are stored: f32, f16, list [default: f32]
    #[arg(long, value_name = "TYPE")]
    embedding_type: Option<EmbeddingType>,
    /// How f32 values are encoded: bss (byte stream split), plain [default: bss]
    #[arg(long, value_name = "ENCODING")]
    float_encoding: Option<FloatEncoding>,
}

impl OutputArgs {
    pub(super) fn options(self) -> OutputOptions {
        let Self { files, embedding_type, float_encoding } = self;
        OutputOptions { files, embedding_type, float_encoding }
    }
}

/// How it is searched.
#[derive(Args)]
#[command(next_help_heading = "Search")]
pub(super) struct SearchArgs {
    #[arg(long, value_name = "MODE", help = format!("How to search: {} [default: {}]", Mode::ALL.map(Mode::name).join(", "), Mode::default()))]
    mode: Option<Mode>,
    /// Constant of the rank fusion of `hybrid` and `graph` [default: 60]
    #[arg(long, value_name = "K")]
    rrf_k: Option<Weight>,
    /// Weight of the vector list in it [default: 1]
    #[arg(long, value_name = "W")]
    vector_weight: Option<Weight>,
    /// Weight of the keyword list [default: 1]
    #[arg(long, value_name = "W")]
    keyword_weight: Option<Weight>,
    /// Weight of the list by modification time, newest first [default: 0]
    #[arg(long, value_name = "W")]
    recency_weight: Option<Weight>,
    /// Weight of what is linked with the best hits, in `graph` [default: 0.5]
    #[arg(long, value_name = "W")]
    graph_weight: Option<Weight>,
    /// How far down the vector and keyword lists are read [default: 100]
    #[arg(long, value_name = "N")]
    depth: Option<NonZeroUsize>,
    /// How many of the best hits are asked for their neighbours [default: 10]
    #[arg(long, value_name = "N")]
    graph_seeds: Option<NonZeroUsize>,
    /// How much a keyword counts in the content [default: 1]
    #[arg(long, value_name = "W")]
    content_weight: Option<Weight>,
    /// How much in the headings above and inside [default: 0.25]
    #[arg(long, value_name = "W")]
    headings_weight: Option<Weight>,
    /// How much in the tags [default: 1]
    #[arg(long, value_name = "W")]
    tags_weight: Option<Weight>,
    /// How much in the aliases [default: 1]
    #[arg(long, value_name = "W")]
    aliases_weight: Option<Weight>,
    /// Where keyword indexes are kept: auto, off, or a folder [default: auto, the user's cache folder]
    #[arg(long, value_name = "FOLDER")]
    keyword_cache: Option<CacheFolder>,
}

impl SearchArgs {
    pub(super) fn options(self) -> SearchOptions {
        let Self {
            mode,
            rrf_k,
            vector_weight,
            keyword_weight,
            recency_weight,
            graph_weight,
            depth,
            graph_seeds,
            content_weight,
            headings_weight,
            tags_weight,
            aliases_weight,
            keyword_cache,
        } = self;
        SearchOptions {
            mode,
            rrf_k,
            vector_weight,
            keyword_weight,
            recency_weight,
            graph_weight,
            depth,
            graph_seeds,
            content_weight,
            headings_weight,
            tags_weight,
            aliases_weight,
            keyword_cache,
        }
    }
}

/// Who answers.
#[derive(Args)]
#[command(next_help_heading = "Answering")]
pub(super) struct AnswerArgs {
    /// Base URL of an OpenAI-compatible service, which gets the question and the passages; its key is in the variable
    /// `CHUNKMILL_ANSWER_API_KEY` [default: none]
    #[arg(long, value_name = "URL")]
    endpoint: Option<Endpoint>,
    /// Name of the model there [default: none]
    #[arg(long, value_name = "NAME")]
    answer_model: Option<String>,
    /// Most tokens of the answer [default: 1024]
    #[arg(long, value_name = "N")]
    answer_max_tokens: Option<NonZeroUsize>,
    /// How long to wait for it [default: 120]
    #[arg(long, value_name = "SECONDS")]
    answer_timeout: Option<NonZeroUsize>,
}

impl AnswerArgs {
    pub(super) fn options(self) -> AnswerOptions {
        let Self { endpoint, answer_model, answer_max_tokens, answer_timeout } = self;
        AnswerOptions { endpoint, answer_model, answer_max_tokens, answer_timeout }
    }
}

/// Worker threads.
#[derive(Args)]
pub struct ThreadArgs {
    /// Worker threads [default: one per core]
    #[arg(long, value_name = "N", help_heading = "Running")]
    pub threads: Option<NonZeroUsize>,
}

/// How much memory.
#[derive(Args)]
pub(super) struct MemoryArgs {
    /// Take no more memory: fewer documents at once; one that needs more than half of it is put into quarantine [default:
    /// no limit]
    #[arg(long, value_name = "BYTES", help_heading = "Running")]
    pub(super) memory: Option<u64>,
}

/// Which settings file.
#[derive(Args)]
pub(super) struct ConfigArgs {
    /// Settings file to read in place of the project's [default: chunkmill.toml here or above]
    #[arg(long, value_name = "FILE", help_heading = "Running")]
    config: Option<PathBuf>,
}

impl ConfigArgs {
    /// What flags say, over what the environment says, over what the settings files say.
    pub(super) fn merge(&self, flags: Options) -> crate::error::Result<Options> {
        flags.or(Options::from_env()?).with_files(self.config.as_deref())
    }

    /// The same, checked.
    pub(super) fn resolve(&self, flags: Options) -> crate::error::Result<Config> {
        self.merge(flags)?.resolve()
    }
}
