//! Arguments shared by several subcommands that are not settings.

use std::path::PathBuf;

use clap::Args;
use tracing_subscriber::filter::LevelFilter;

use super::flags::CorpusFlags;
use super::output::log;
use crate::config::{Config, Options};
use crate::corpus::Root;

/// How much a program says on standard error.
#[derive(Debug, Clone, Copy, Args)]
pub struct Verbosity {
    /// Print more on standard error; twice for still more. With --version: print how the program was built
    #[arg(short, long, global = true, action = clap::ArgAction::Count)]
    verbose: u8,
    /// Print only errors on standard error
    #[arg(short, long, global = true, conflicts_with = "verbose")]
    quiet: bool,
}

impl Verbosity {
    /// Makes it apply to the whole process.
    pub fn start(self) {
        log(match (self.quiet, self.verbose) {
            (true, _) => LevelFilter::ERROR,
            (false, 0) => LevelFilter::WARN,
            (false, 1) => LevelFilter::INFO,
            (false, _) => LevelFilter::DEBUG,
        });
    }

    /// Whether more is wanted than usual.
    pub fn is_verbose(self) -> bool {
        self.verbose > 0
    }

    /// Whether only errors are wanted.
    pub fn is_quiet(self) -> bool {
        self.quiet
    }
}

/// The documents to index.
#[derive(Args)]
pub(super) struct CorpusArgs {
    /// Folders and files to index, or URLs such as `s3://BUCKET/PREFIX`; NAME=PATH also names the collection
    #[arg(required = true, value_name = "PATH")]
    pub(super) corpus: Vec<String>,
    #[command(flatten)]
    pub(super) flags: CorpusFlags,
}

impl CorpusArgs {
    pub(super) fn roots(&self) -> crate::error::Result<Vec<Root>> {
        self.corpus.iter().map(|root| root.parse()).collect()
    }
}

/// The settings file to use.
#[derive(Args)]
pub(super) struct ConfigArgs {
    /// Settings file to use [default: chunkmill.toml in this folder or a parent]
    #[arg(long, value_name = "FILE", help_heading = "Running")]
    config: Option<PathBuf>,
}

impl ConfigArgs {
    /// Merges flags, environment variables and settings files, in this order of precedence.
    pub(super) fn merge(&self, flags: Options) -> crate::error::Result<Options> {
        flags.or(Options::from_env()?).with_files(self.config.as_deref())
    }

    /// Merges all settings like [`Self::merge`] and checks them.
    pub(super) fn resolve(&self, flags: Options) -> crate::error::Result<Config> {
        self.merge(flags)?.resolve()
    }
}
