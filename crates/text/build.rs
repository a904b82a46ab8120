//! Makes the table of tokens, which would cost each run more time than a small corpus.

use std::path::PathBuf;
use std::{env, fs, io};

#[path = "src/tokens/cl100k/layout.rs"]
mod layout;

#[path = "src/tokens/cl100k/table.rs"]
mod table;

fn main() -> io::Result<()> {
    println!("cargo:rerun-if-changed=build.rs");
    println!("cargo:rerun-if-changed=src/tokens/cl100k/layout.rs");
    println!("cargo:rerun-if-changed=src/tokens/cl100k/table.rs");
    let out = PathBuf::from(env::var_os("OUT_DIR").unwrap_or_default());
    fs::write(out.join("cl100k.table"), table::cl100k())
}
