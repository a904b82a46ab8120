//! Repeats the fuzzer's findings without the fuzzer: checks every committed input again.

use std::fs;
use std::path::{Path, PathBuf};

#[test]
fn every_committed_input_of_the_fuzzer_keeps_every_promise() {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/fuzz/corpus/chunking");
    let mut inputs: Vec<PathBuf> = fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path()).collect();
    inputs.sort();
    assert!(inputs.len() > 50, "the corpus is there");
    for input in inputs {
        let bytes = fs::read(&input).unwrap();
        let checked = std::panic::catch_unwind(|| crate::promises::check_input(&bytes));
        assert!(checked.is_ok(), "{} breaks a promise; see above", input.display());
    }
}
