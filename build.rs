//! Tells the program at build time what only cargo knows: the target, and the files of the corpus that
//! `chunkmill demo` contains. Variables that are set here are also in the environment of tests, so their names must not be those of settings.

use std::fmt::Write;
use std::path::{Path, PathBuf};
use std::{env, fs, io};

/// The corpus, with its labels.
const LARDER: &str = "datasets/larder";

fn main() -> io::Result<()> {
    println!("cargo:rerun-if-changed=build.rs");
    println!("cargo:rerun-if-changed={LARDER}");
    let variable = |name| env::var(name).unwrap_or_default();
    println!("cargo:rustc-env=TARGET_TRIPLE={}", variable("TARGET"));
    let root = Path::new(&variable("CARGO_MANIFEST_DIR")).join(LARDER);
    let mut files = Vec::new();
    list(&root, &mut files)?;
    files.sort();
    let mut text = String::from("&[\n");
    for file in files {
        let name: Vec<_> =
            file.strip_prefix(&root).unwrap_or(&file).iter().map(|part| part.to_string_lossy()).collect();
        let (name, file) = (name.join("/"), file.to_string_lossy());
        let _ = writeln!(text, "({name:?}, include_bytes!({file:?})),");
    }
    text.push(']');
    let out = PathBuf::from(variable("OUT_DIR"));
    fs::write(out.join("larder.rs"), text)
}

/// Collects every file below a folder.
fn list(folder: &Path, files: &mut Vec<PathBuf>) -> io::Result<()> {
    for entry in fs::read_dir(folder)? {
        let path = entry?.path();
        if path.is_dir() { list(&path, files)? } else { files.push(path) }
    }
    Ok(())
}
