//! The `chunkmill-eval` program: everything is in its library's `cli`.

use std::process::ExitCode;

fn main() -> ExitCode {
    ExitCode::from(chunkmill_eval::cli::main())
}
