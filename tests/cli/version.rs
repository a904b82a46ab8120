//! A program's description of itself: `--version`, and more with `--verbose`.

use std::collections::BTreeSet;
use std::fs;
use std::path::Path;

use chunkmill::embed::Isa;
use chunkmill::embed::model::{DEFAULT_PINS, DEFAULT_REVISION};

use crate::common::{finish, folder, program, run};

#[test]
fn the_version_alone_is_one_line() {
    let home = folder(&[]);
    for flag in ["--version", "-V"] {
        let expected = format!("chunkmill {}\n", env!("CARGO_PKG_VERSION"));
        assert_eq!(run(home.path(), &[flag]), (0, expected, String::new()), "{flag}");
    }
}

/// Returns a row of the program's description of itself.
fn row(text: &str, name: &str) -> String {
    let line = text.lines().find_map(|line| line.strip_prefix("  ")?.strip_prefix(name));
    line.unwrap_or_else(|| panic!("no row {name}: {text}")).trim().to_owned()
}

#[test]
fn with_verbose_it_says_of_what_the_program_is_made() {
    let home = folder(&[]);
    let said = |args: &[&str]| {
        let (code, out, err) = finish(program(home.path()).env("HF_HOME", home.path()).args(args).output().unwrap());
        assert_eq!((code, err.as_str()), (0, ""), "{args:?}");
        out
    };
    let text = said(&["--version", "--verbose"]);
    for args in [&["-V", "-v"][..], &["-Vv"], &["-vV"], &["-v", "--version"], &["--version", "-vv"]] {
        assert_eq!(said(args), text, "{args:?}");
    }
    assert!(text.starts_with(&format!("chunkmill {}\n", env!("CARGO_PKG_VERSION"))), "{text}");
    assert!(!row(&text, "commit").is_empty() && row(&text, "threads").parse::<usize>().unwrap() > 0, "{text}");
    assert!(row(&text, "target").starts_with(std::env::consts::ARCH), "{text}");
    let encoder = row(&text, "encoder");
    assert!(encoder.starts_with(&format!("instructions {}; fast in f32", Isa::best())), "{encoder}");
    assert!(row(&text, "model").ends_with(&format!("@{DEFAULT_REVISION}")), "{text}");
}

#[test]
fn with_verbose_it_names_every_feature() {
    let home = folder(&[]);
    let manifest = fs::read_to_string(Path::new(env!("CARGO_MANIFEST_DIR")).join("Cargo.toml")).unwrap();
    let manifest: toml::Table = manifest.parse().unwrap();
    let features = manifest["features"].as_table().unwrap();
    let declared: BTreeSet<&str> = features.keys().map(String::as_str).filter(|name| *name != "default").collect();
    let row = row(&run(home.path(), &["--version", "--verbose"]).1, "features");
    let (compiled, left_out) = row.strip_suffix(')').and_then(|row| row.split_once(" (left out: ")).unwrap();
    let names = |list: &'static str| list.split(", ").filter(|name| *name != "none").collect::<BTreeSet<_>>();
    let [compiled, left_out] = [compiled, left_out].map(|list| names(list.to_owned().leak()));
    assert!(compiled.is_disjoint(&left_out), "{row}");
    assert_eq!(&compiled | &left_out, declared, "a feature is missing in src/cli/version.rs");
}

#[test]
fn with_verbose_it_says_where_the_default_model_is_and_fetches_nothing() {
    let home = folder(&[]);
    let said = || {
        let mut command = program(home.path());
        // A request to this hub would fail.
        command.env("HF_HOME", home.path()).env("HF_ENDPOINT", "http://127.0.0.1:9");
        finish(command.args(["--version", "--verbose"]).output().unwrap()).1
    };
    assert!(said().contains("not in the cache") && said().contains("chunkmill model pull"), "{}", said());
    assert_eq!(fs::read_dir(home.path()).unwrap().count(), 0, "it has written something");
    let cache = "hub/models--sentence-transformers--all-MiniLM-L6-v2/snapshots";
    let snapshot = home.path().join(cache).join(DEFAULT_REVISION);
    for (at, (name, _)) in DEFAULT_PINS.iter().enumerate() {
        if at > 0 {
            assert!(said().contains(&format!("{at} of {} files in the cache", DEFAULT_PINS.len())), "{}", said());
        }
        let file = snapshot.join(name);
        fs::create_dir_all(file.parent().unwrap()).unwrap();
        fs::write(file, "").unwrap();
    }
    assert!(said().ends_with(&format!("in the cache, {}\n", snapshot.display())), "{}", said());
    assert!(!said().contains(" of "), "{}", said());
}
