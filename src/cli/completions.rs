//! `chunkmill completions`: a completion script for a shell.

use clap::CommandFactory;
use clap_complete::Shell;

use super::{Cli, print};
use crate::error::exit;

#[derive(clap::Args)]
pub(super) struct Args {
    /// The shell
    shell: Shell,
}

pub(super) fn run(args: &Args) -> anyhow::Result<u8> {
    let mut script = Vec::new();
    clap_complete::generate(args.shell, &mut Cli::command(), "chunkmill", &mut script);
    print(String::from_utf8_lossy(&script).trim_end())?;
    Ok(exit::DONE)
}
