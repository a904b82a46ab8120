//! The `chunkmill` program: everything is in the library's `cli`.

use std::process::ExitCode;

fn main() -> ExitCode {
    ExitCode::from(chunkmill::cli::main())
}
