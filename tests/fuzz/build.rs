//! Makes the table of tokens, as the library's build script does.

#[path = "../../src/tokens/cl100k/layout.rs"]
mod layout;

#[path = "../../src/tokens/cl100k/table.rs"]
mod table;

fn main() -> std::io::Result<()> {
    let out = std::env::var_os("OUT_DIR").unwrap_or_default();
    std::fs::write(std::path::Path::new(&out).join("cl100k.table"), table::cl100k())
}
