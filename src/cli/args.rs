//! Arguments shared by several subcommands that are not settings.

use std::path::PathBuf;

use clap::Args;

use super::flags::CorpusFlags;
use crate::config::{Config, Options};
use crate::corpus::Root;

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
