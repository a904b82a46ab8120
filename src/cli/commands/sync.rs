//! `chunkmill sync`: runs `chunkmill-sync`, which is in the Python package, because databases have their clients there.

use std::env;
use std::ffi::OsString;
use std::io::ErrorKind;
use std::path::PathBuf;
use std::process::Command;

use crate::error::{Error, exit};

/// Name of the program.
const PROGRAM: &str = "chunkmill-sync";

#[derive(clap::Args)]
#[command(disable_help_flag = true)]
pub(crate) struct Args {
    /// What `chunkmill-sync` takes: OUT TARGET, and flags
    #[arg(trailing_var_arg = true, allow_hyphen_values = true, value_name = "ARGUMENT")]
    arguments: Vec<OsString>,
}

pub(crate) fn run(args: &Args) -> anyhow::Result<u8> {
    // The package puts it next to this program.
    let here = env::current_exe().ok().and_then(|program| Some(program.parent()?.join(PROGRAM)));
    let program = here.filter(|program| program.is_file()).unwrap_or_else(|| PathBuf::from(PROGRAM));
    match Command::new(&program).args(&args.arguments).status() {
        Ok(status) => Ok(status.code().and_then(|code| u8::try_from(code).ok()).unwrap_or(exit::INTERRUPTED)),
        Err(error) if error.kind() == ErrorKind::NotFound => Err(Error::setting(
            "sync",
            format!("the program `{PROGRAM}` is not installed"),
            "it is in the Python package, with an extra for each database: pip install 'chunkmill[sync-postgresql]'",
        )
        .into()),
        Err(error) => Err(Error::io("run", program)(error).into()),
    }
}
