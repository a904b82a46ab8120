//! Repeats the fuzzer's findings without the fuzzer: checks every committed input again, and that the fuzz crate
//! still compiles the same modules as the library.

use std::fs;
use std::path::{Path, PathBuf};

use toml::{Table, Value};

fn root(name: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join(name)
}

fn read(name: &str) -> String {
    fs::read_to_string(root(name)).unwrap()
}

#[test]
fn every_committed_input_of_the_fuzzer_keeps_every_promise() {
    let folder = root("tests/fuzz/corpus/chunking");
    let mut inputs: Vec<PathBuf> = fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path()).collect();
    inputs.sort();
    assert!(inputs.len() > 50, "the corpus is there");
    for input in inputs {
        let bytes = fs::read(&input).unwrap();
        let checked = std::panic::catch_unwind(|| crate::promises::check_input(&bytes));
        assert!(checked.is_ok(), "{} breaks a promise; see above", input.display());
    }
}

/// Returns the names of the modules that a `lib.rs` declares.
fn modules(lib: &str) -> Vec<&str> {
    lib.lines().filter_map(|line| line.trim_start_matches("pub ").strip_prefix("mod ")?.strip_suffix(';')).collect()
}

#[test]
fn the_fuzz_crate_has_the_modules_of_the_library_up_to_chunk() {
    let (library, fuzz) = (read("src/lib.rs"), read("tests/fuzz/src/lib.rs"));
    let all = modules(&library);
    let mut light = all[..=all.iter().position(|module| *module == "chunk").unwrap()].to_vec();
    // This module needs a feature that the fuzz crate does not have.
    light.retain(|module| *module != "http");
    let paths: Vec<&str> =
        fuzz.lines().filter_map(|line| line.strip_prefix("#[path = \"")?.strip_suffix("\"]")).collect();
    let declared = modules(&fuzz);
    assert_eq!(declared, light, "tests/fuzz/src/lib.rs declares what src/lib.rs does up to `chunk`");
    for (module, path) in declared.into_iter().zip(paths) {
        let file = |end: &str| format!("../../../src/{module}{end}");
        assert!(path == file(".rs") || path == file("/mod.rs"), "{module} is at {path}");
    }
}

#[test]
fn the_fuzz_crate_has_the_dependencies_of_those_modules() {
    let library: Table = read("Cargo.toml").parse().unwrap();
    let fuzz: Table = read("tests/fuzz/Cargo.toml").parse().unwrap();
    let (own, all) = (&fuzz["dependencies"], library["workspace"]["dependencies"].as_table().unwrap());
    let mut sources = String::new();
    let mut open: Vec<PathBuf> = modules(&read("tests/fuzz/src/lib.rs"))
        .into_iter()
        .flat_map(|module| [root(&format!("src/{module}.rs")), root(&format!("src/{module}"))])
        .filter(|path| path.exists())
        .collect();
    while let Some(path) = open.pop() {
        // These files need a feature too.
        if path.ends_with("storage/objects") {
            continue;
        }
        if path.is_dir() {
            open.extend(fs::read_dir(&path).unwrap().map(|entry| entry.unwrap().path()));
        } else {
            sources.push_str(&fs::read_to_string(&path).unwrap());
        }
    }
    let version = |dependency: &Value| {
        let table = |key: &str| dependency.get(key).cloned();
        (table("version").unwrap_or_else(|| dependency.clone()), table("features"), table("default-features"))
    };
    let used = |name: &str| {
        let name = format!("{}::", name.replace('-', "_"));
        let part_of_a_name = |c: char| c.is_alphanumeric() || matches!(c, '_' | ':');
        sources.match_indices(&name).any(|(at, _)| !sources[..at].ends_with(part_of_a_name))
    };
    let mut compared = 0;
    for (name, dependency) in all.iter().filter(|(name, _)| *name != "chunkmill" && used(name)) {
        let has = own.get(name).unwrap_or_else(|| panic!("tests/fuzz/Cargo.toml lacks {name}"));
        assert_eq!(version(has), version(dependency), "{name} in tests/fuzz/Cargo.toml");
        compared += 1;
    }
    assert!(compared > 9);
}
