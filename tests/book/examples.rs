//! The examples do what they say, on our own corpus.

use std::path::Path;

use crate::built::example;
use crate::common::{default_model, finish, folder, other_program};

/// Runs an example and returns what it printed.
fn shown(home: &Path, name: &str, args: &[&str]) -> String {
    let mut command = other_program(home, example(name).to_str().unwrap());
    // Examples look for the model where this process does.
    command.envs(std::env::vars_os().filter(|(name, _)| name == "HF_HOME"));
    let (code, out, err) = finish(command.args(args).output().unwrap());
    assert_eq!((code, err.as_str()), (0, ""), "{name} {args:?}: {out}");
    out
}

#[test]
fn chunk_cuts_a_text_at_its_headings() {
    let home = folder(&[]);
    let out = shown(home.path(), "chunk", &[]);
    assert!(out.starts_with("guide.md#0 bytes 0..20, under Guide\n# Guide\n\nStart here.\n"), "{out}");
    assert!(out.contains(", under Guide > Remove\n") && out.ends_with("Delete its folder.\n\n"), "{out}");
    assert_eq!(out.matches("guide.md#").count(), 3, "{out}");
}

#[test]
fn count_counts_in_every_encoding() {
    let home = folder(&[]);
    let out = shown(home.path(), "count", &["antidisestablishmentarianism"]);
    // The counts for this word in OpenAI's cookbook.
    for (encoding, tokens) in [("r50k_base", 5), ("p50k_base", 5), ("cl100k_base", 6), ("o200k_base", 6)] {
        assert!(out.contains(&format!("{encoding}: {tokens} tokens\n")), "{out}");
    }
    assert_eq!(out.lines().count(), 5, "{out}");
}

#[test]
fn index_makes_a_dataset_that_search_finds_answers_in() {
    if default_model().is_none() {
        return;
    }
    let home = folder(&[]);
    let corpus = Path::new(env!("CARGO_MANIFEST_DIR")).join("datasets/larder/corpus");
    let out = shown(home.path(), "index", &[corpus.to_str().unwrap(), "out"]);
    let chunks = out.lines().last().and_then(|line| line.strip_suffix(" chunks in out")).unwrap();
    assert!(chunks.parse::<usize>().unwrap() > 20, "{out}");
    assert!(home.path().join("out/manifest.json").is_file(), "{out}");
    let out = shown(home.path(), "search", &["out", "the vault is full but df shows plenty of space"]);
    let first = out.lines().next().unwrap();
    assert!(first.starts_with("1. ") && first.contains(" operate/troubleshooting.md:"), "{out}");
}
