//! Command-line flags, generated from the definitions of the settings. Their values only fill a table of settings;
//! [`config`](crate::config) interprets it.

use clap::{Arg, ArgAction, ArgMatches, Command};

use crate::chunk::Settings;
use crate::config::{
    AnswerOptions, CorpusOptions, EmbeddingOptions, OutputOptions, RunOptions, SearchOptions, ServiceOptions,
};
use crate::setting::{Setting, Table};
use crate::value::Form;

/// Declares flags for the settings of a table: for all of them, or only for the named ones.
macro_rules! flags {
    ($($(#[$doc:meta])* $visible:vis struct $name:ident of $table:ident $([$($setting:literal),+])?;)*) => {
        $(
            $(#[$doc])*
            #[derive(Debug, Clone, Default)]
            $visible struct $name(pub $table);

            impl $name {
                fn takes(setting: &Setting) -> bool {
                    let named: &[&str] = &[$($($setting),+)?];
                    named.is_empty() || named.contains(&setting.name)
                }
            }

            impl clap::Args for $name {
                fn augment_args(command: Command) -> Command {
                    augment::<$table>(command, Self::takes)
                }

                fn augment_args_for_update(command: Command) -> Command {
                    Self::augment_args(command)
                }
            }

            impl clap::FromArgMatches for $name {
                fn from_arg_matches(matches: &ArgMatches) -> Result<Self, clap::Error> {
                    let mut flags = Self::default();
                    flags.update_from_arg_matches(matches)?;
                    Ok(flags)
                }

                fn update_from_arg_matches(&mut self, matches: &ArgMatches) -> Result<(), clap::Error> {
                    read(&mut self.0, matches, Self::takes)
                }
            }
        )*
    };
}

flags! {
    /// Flags that select documents.
    pub(super) struct CorpusFlags of CorpusOptions;
    /// Flags that decide which documents are admitted.
    pub(super) struct AdmissionFlags of CorpusOptions["security", "allow_blocked", "html", "notebook_outputs", "text_growth", "document_memory"];
    /// Flags that decide how a document is read.
    pub(super) struct ReadFlags of CorpusOptions["text_column", "id_column", "attachments", "html", "notebook_outputs", "text_growth"];
    /// Flags for chunking.
    pub(super) struct ChunkFlags of Settings;
    /// Flags that choose the model.
    pub(super) struct ModelFlags of EmbeddingOptions[
        "model", "query_model", "sparse_model", "device", "embedder", "precision", "dimensions", "force_dimensions", "cpu_isa"
    ];
    /// Flags that choose the model, plus batching and the cache, which never change a vector.
    pub struct EmbeddingFlags of EmbeddingOptions[
        "model", "query_model", "sparse_model", "device", "embedder", "precision", "dimensions", "force_dimensions", "cpu_isa",
        "batch_tokens", "embedding_cache", "embedding_cache_size"
    ];
    /// Flags for the service that has the model.
    pub struct ServiceFlags of ServiceOptions;
    /// Flags for the service that reads a question.
    pub(super) struct QuestionServiceFlags of ServiceOptions["endpoint", "dialect", "request_timeout"];
    /// All embedding flags, including whether a text may be longer than the model reads.
    pub(super) struct JobEmbeddingFlags of EmbeddingOptions;
    /// Flags for the layout of the dataset.
    pub(super) struct OutputFlags of OutputOptions;
    /// Flags for searching.
    pub(super) struct SearchFlags of SearchOptions;
    /// Flags for the language model that answers.
    pub struct AnswerFlags of AnswerOptions;
    /// The number of threads.
    pub struct ThreadFlags of RunOptions["threads"];
    /// Flags for using the machine.
    pub(super) struct RunFlags of RunOptions;
}

/// The settings that `-h` lists because most people need no others; `--help` lists all.
const COMMON: [&str; 15] = [
    "include",
    "exclude",
    "preset",
    "unit",
    "min",
    "max",
    "overlap",
    "model",
    "device",
    "precision",
    "mode",
    "rerank",
    "threads",
    "endpoint",
    "answer_endpoint",
];

fn augment<T: Table>(command: Command, takes: fn(&Setting) -> bool) -> Command {
    T::SETTINGS
        .iter()
        .filter(|setting| takes(setting))
        .fold(command, |command, setting| command.arg(flag::<T>(setting)))
}

fn flag<T: Table>(setting: &'static Setting) -> Arg {
    // The value is parsed twice; this first time, an error names the flag.
    let check = |text: &str| T::default().set(setting.name, text).map(|()| text.to_owned());
    let flag = Arg::new(setting.name)
        .long(setting.flag())
        .value_name(setting.value)
        .help(setting.help())
        .long_help(setting.long_help())
        .help_heading(T::HEADING)
        .hide_short_help(!COMMON.contains(&setting.name))
        // A negative number is a wrong value, not an unknown flag.
        .allow_negative_numbers(setting.is_number())
        .value_parser(check);
    match setting.form {
        Form::List => flag.action(ArgAction::Append),
        _ if setting.is_switch() => flag.num_args(0..=1).require_equals(true).default_missing_value("true"),
        _ => flag,
    }
}

fn read<T: Table>(table: &mut T, matches: &ArgMatches, takes: fn(&Setting) -> bool) -> Result<(), clap::Error> {
    for setting in T::SETTINGS.iter().filter(|setting| takes(setting)) {
        let Some(values) = matches.get_many::<String>(setting.name) else { continue };
        let values: Vec<&str> = values.map(String::as_str).collect();
        let wrong = |problem| clap::Error::raw(clap::error::ErrorKind::ValueValidation, problem);
        table.set(setting.name, &values.join(",")).map_err(wrong)?;
    }
    Ok(())
}
