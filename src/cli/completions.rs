//! `chunkmill completions`: a completion script for a shell.

use std::io;

use clap::CommandFactory;
use clap_complete::Shell;

use super::Cli;
use crate::error::exit;

#[derive(clap::Args)]
pub(super) struct Args {
    /// The shell
    shell: Shell,
}

pub(super) fn run(args: &Args) -> anyhow::Result<u8> {
    let mut script = Vec::new();
    clap_complete::generate(args.shell, &mut Cli::command(), "chunkmill", &mut script);
    io::Write::write_all(&mut io::stdout().lock(), &script)?;
    Ok(exit::DONE)
}
