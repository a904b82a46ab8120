//! `man`: the manual page of a command, generated from its help. Shared by both programs.

use clap::CommandFactory;

use crate::cli::output::print;
use crate::error::{Error, exit};
use crate::value::one_of;

/// The command whose page is printed.
#[derive(clap::Args)]
pub struct ManArgs {
    /// The command and its subcommands [default: the program itself]
    command: Vec<String>,
}

/// Prints the manual page of a command of the program `P`.
///
/// # Errors
/// [`Error::Setting`] if the command does not exist.
pub fn man<P: CommandFactory>(args: &ManArgs) -> anyhow::Result<u8> {
    let mut command = P::command();
    command.build();
    for name in &args.command {
        let found = command.find_subcommand(name).cloned();
        command = found.ok_or_else(|| unknown(name, &command))?;
    }
    let mut page = Vec::new();
    clap_mangen::Man::new(command).render(&mut page)?;
    print(String::from_utf8_lossy(&page).trim_end())?;
    Ok(exit::DONE)
}

fn unknown(name: &str, within: &clap::Command) -> Error {
    let names: Vec<&str> =
        within.get_subcommands().filter(|command| !command.is_hide_set()).map(clap::Command::get_name).collect();
    let help = if names.is_empty() { "leave the name out".to_owned() } else { one_of(name, &names) };
    Error::setting("man", format!("there is no command `{name}`"), help)
}
