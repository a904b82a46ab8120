//! `completions`: a completion script for a shell. Shared by both programs.

use clap::CommandFactory;
use clap_complete::Shell;

use crate::cli::output::print;
use crate::error::exit;

/// The shell to complete for.
#[derive(clap::Args)]
pub struct CompletionArgs {
    /// The shell
    shell: Shell,
}

/// Prints the completion script of the program `P`.
///
/// # Errors
/// Standard output cannot be written.
pub fn completions<P: CommandFactory>(args: &CompletionArgs) -> anyhow::Result<u8> {
    let mut command = P::command();
    let name = command.get_name().to_owned();
    let mut script = Vec::new();
    clap_complete::generate(args.shell, &mut command, name, &mut script);
    print(String::from_utf8_lossy(&script).trim_end())?;
    Ok(exit::DONE)
}
