//! `chunkmill man`: the manual page of a command, made from its help.

use anyhow::anyhow;
use clap::CommandFactory;

use super::{Cli, print};
use crate::error::exit;
use crate::value::choices;

#[derive(clap::Args)]
pub(super) struct Args {
    /// The command, for example `index` or `model pull`; the program itself if none is named
    command: Vec<String>,
}

pub(super) fn run(args: &Args) -> anyhow::Result<u8> {
    let mut command = Cli::command();
    command.build();
    for name in &args.command {
        let found = command.find_subcommand(name).cloned();
        command = found.ok_or_else(|| {
            let names: Vec<&str> = command.get_subcommands().map(clap::Command::get_name).collect();
            anyhow!("there is no command `{name}`; one of: {}", choices(name, &names))
        })?;
    }
    let mut page = Vec::new();
    clap_mangen::Man::new(command).render(&mut page)?;
    print(String::from_utf8_lossy(&page).trim_end())?;
    Ok(exit::DONE)
}
