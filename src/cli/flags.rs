//! Flags of settings, made from their definitions. Their values only become a table of settings; what they mean is decided
//! in [`config`](crate::config).

use clap::{Arg, ArgAction, ArgMatches, Command};

use crate::chunk::Settings;
use crate::config::{AnswerOptions, CorpusOptions, EmbeddingOptions, OutputOptions, RunOptions, SearchOptions};
use crate::settings::{Setting, Table};
use crate::value::Form;

/// Declares the flags of a table's settings, of all or of those that are named.
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
    /// Which documents.
    pub(super) struct CorpusFlags of CorpusOptions;
    /// Which of them are let in.
    pub(super) struct AdmissionFlags of CorpusOptions["security", "allow_blocked", "document_memory"];
    /// How they are chunked.
    pub(super) struct ChunkFlags of Settings;
    /// With which model.
    pub(super) struct ModelFlags of EmbeddingOptions[
        "model", "query_model", "device", "embedder", "precision", "dimensions", "force_dimensions", "cpu_isa"
    ];
    /// With which model, and how it is put to work. None of it but the model changes a vector.
    pub struct EmbeddingFlags of EmbeddingOptions[
        "model", "query_model", "device", "embedder", "precision", "dimensions", "force_dimensions", "cpu_isa",
        "batch_tokens", "embedding_cache", "embedding_cache_size"
    ];
    /// The same, and whether a text may be longer than the model reads.
    pub(super) struct JobEmbeddingFlags of EmbeddingOptions;
    /// How the dataset is laid out.
    pub(super) struct OutputFlags of OutputOptions;
    /// How it is searched.
    pub(super) struct SearchFlags of SearchOptions;
    /// Who answers.
    pub(super) struct AnswerFlags of AnswerOptions;
    /// On how many threads.
    pub struct ThreadFlags of RunOptions["threads"];
    /// How the machine is used.
    pub(super) struct RunFlags of RunOptions;
}

/// What `-h` lists, since most people ask for no more; `--help` lists all.
const COMMON: [&str; 14] = [
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
];

fn augment<T: Table>(command: Command, takes: fn(&Setting) -> bool) -> Command {
    T::SETTINGS
        .iter()
        .filter(|setting| takes(setting))
        .fold(command, |command, setting| command.arg(flag::<T>(setting)))
}

fn flag<T: Table>(setting: &'static Setting) -> Arg {
    // Read twice: here, so that a wrong value is told as one of this flag.
    let check = |text: &str| T::default().set(setting.name, text).map(|()| text.to_owned());
    let flag = Arg::new(setting.name)
        .long(setting.flag())
        .value_name(setting.value)
        .help(setting.help())
        .help_heading(T::HEADING)
        .hide_short_help(!COMMON.contains(&setting.name))
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
