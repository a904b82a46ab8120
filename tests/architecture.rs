//! The map in `src/lib.rs` is the truth: it lists every module in the order of the data, and a
//! module uses only modules above it. Every file says at its top why it exists.

use std::collections::BTreeSet;
use std::fs;
use std::path::{Path, PathBuf};

fn source(krate: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join(krate).join("src")
}

/// Modules in the order of the map's table.
fn map(lib: &str) -> Vec<String> {
    let rows = lib.lines().filter_map(|line| line.strip_prefix("//! | "));
    let name = |row: &str| row.split('|').next().unwrap_or_default().trim().trim_matches(['[', ']', '`']).to_owned();
    rows.map(name).filter(|name| name != "module" && !name.starts_with("---")).collect()
}

/// Every Rust file below a folder.
fn files(folder: &Path) -> Vec<PathBuf> {
    let mut found = Vec::new();
    for entry in fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path()) {
        if entry.is_dir() {
            found.extend(files(&entry));
        } else if entry.extension().is_some_and(|e| e == "rs") {
            found.push(entry);
        }
    }
    found
}

/// The module of the map that a file belongs to; `None` for `lib.rs` and `main.rs`.
fn module_of(file: &Path, root: &Path) -> Option<String> {
    let first = file.strip_prefix(root).unwrap().iter().next().unwrap().to_str().unwrap();
    let name = first.trim_end_matches(".rs");
    (!matches!(name, "lib" | "main")).then(|| name.to_owned())
}

/// Names that follow `crate::` in a file.
fn uses(text: &str) -> BTreeSet<&str> {
    let word = |rest: &'_ str| rest.find(|c: char| !(c.is_alphanumeric() || c == '_')).unwrap_or(rest.len());
    text.split("crate::").skip(1).map(|rest| &rest[..word(rest)]).collect()
}

fn check(krate: &str) {
    let root = source(krate);
    let lib = fs::read_to_string(root.join("lib.rs")).unwrap();
    let map = map(&lib);
    let declared: Vec<&str> = lib
        .lines()
        .filter_map(|line| line.trim_start_matches("pub ").strip_prefix("mod ")?.strip_suffix(';'))
        .collect();
    assert_eq!(map, declared, "the map of {krate}/src/lib.rs lists its modules in their order");
    let present: BTreeSet<String> = files(&root).iter().filter_map(|file| module_of(file, &root)).collect();
    assert_eq!(present, map.iter().cloned().collect(), "every file of {krate}/src is in the map");
    for file in files(&root) {
        let text = fs::read_to_string(&file).unwrap();
        assert!(text.starts_with("//! "), "{} says at its top why it exists", file.display());
        let Some(own) = module_of(&file, &root) else { continue };
        let rank = |name: &str| map.iter().position(|module| module == name);
        for used in uses(&text) {
            let Some(other) = rank(used) else { continue };
            assert!(Some(other) <= rank(&own), "{} uses `{used}`, which is below `{own}` in the map", file.display());
        }
    }
}

#[test]
fn the_map_of_the_library_is_true() {
    check(".");
}

#[test]
fn the_map_of_the_harness_is_true() {
    check("eval");
}

#[test]
fn only_the_embedder_knows_candle_and_only_the_command_line_knows_clap() {
    let root = source(".");
    for file in files(&root) {
        let text = fs::read_to_string(&file).unwrap();
        let own = module_of(&file, &root);
        if text.contains("candle_core::") || text.contains("candle_nn::") {
            assert!(file.starts_with(root.join("embed/candle")) || file == root.join("embed/candle.rs"));
        }
        if text.contains("clap::") {
            assert_eq!(own.as_deref(), Some("cli"), "{}", file.display());
        }
    }
}

/// What comes from outside is made harmless where it leaves, so nothing may leave elsewhere.
#[test]
fn text_leaves_by_one_door() {
    let door = source(".").join("cli/output.rs");
    for file in [source("."), source("eval")].iter().flat_map(|root| files(root)).filter(|file| *file != door) {
        let text = fs::read_to_string(&file).unwrap();
        for way in ["println!", "print!(", "dbg!", "io::stdout", "io::stderr", "stdout()", "stderr()"] {
            assert!(!text.contains(way), "{}: {way} goes past `cli::output`", file.display());
        }
    }
}

#[test]
fn a_dataset_is_written_through_the_seam_alone() {
    // The lock is the system's own; the cache and the models are no part of a dataset.
    let others = ["storage/file_system.rs", "storage/objects.rs", "store/lock.rs", "embed/cache.rs", "embed/hub.rs"];
    let root = source(".");
    for file in files(&root) {
        if others.iter().any(|other| file == root.join(other)) {
            continue;
        }
        let text = fs::read_to_string(&file).unwrap();
        for call in [
            "fs::write",
            "fs::create_dir",
            "fs::remove_",
            "fs::rename",
            "fs::copy",
            "fs::hard_link",
            "fs::set_permissions",
            "File::create",
            "File::options",
            "OpenOptions",
            "set_len(",
            "tempfile",
        ] {
            assert!(!text.contains(call), "{}: {call} goes past `storage::Storage`", file.display());
        }
    }
}
