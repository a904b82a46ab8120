//! Can the gate tell noise from a real regression? Tested with the real model and our own questions.

use std::fs;
use std::path::{Path, PathBuf};
use std::sync::LazyLock;

use chunkmill::embed::model_ref::{self, ModelRef};
use tempfile::TempDir;

use crate::common::{arg, eval, note};

const IN_USE: &str = r#"
[[grid]]
name = "in use"
strategy = "recursive"
unit = "tokens"
max = 400
mode = ["vector", "keyword"]
k = 5
"#;

/// Returns the default model's folder, or prints why there is none and returns `None`.
fn model() -> Option<PathBuf> {
    match model_ref::locate(&ModelRef::default()) {
        Ok(folder) => Some(folder.path),
        Err(error) if std::env::var_os("CHUNKMILL_REQUIRE_ALL").is_some() => panic!("{error}"),
        Err(error) => {
            note(&format!("skipped: {error}; run `make model`"));
            None
        }
    }
}

/// The folder for the runs of these tests. The first run, with the settings in use, is the baseline for all others.
static RUNS: LazyLock<TempDir> = LazyLock::new(|| TempDir::new().unwrap());
static BASELINE: LazyLock<PathBuf> = LazyLock::new(|| {
    let run = sweep("baseline", IN_USE, &[]);
    let file = RUNS.path().join("baseline.json");
    assert_eq!(eval(&["baseline", arg(&run), "-o", arg(&file)]).0, 0);
    assert!(fs::metadata(&file).unwrap().len() < fs::metadata(run.join("report.json")).unwrap().len());
    file
});

fn sweep(name: &str, text: &str, more: &[&str]) -> PathBuf {
    let file = RUNS.path().join(format!("{name}.toml"));
    fs::write(&file, text).unwrap();
    let (out, labels) = (RUNS.path().join(name), Path::new(env!("CARGO_MANIFEST_DIR")).join("../datasets/larder"));
    let args = ["sweep", "--labels", arg(&labels), "--sweep", arg(&file), "-o", arg(&out), "--trec=false"];
    let (code, _, said) = eval(&[&args, more].concat());
    assert_eq!(code, 0, "{said}");
    out
}

fn gate(run: &Path) -> (i32, String) {
    let junit = run.join("gate.xml");
    let (code, said, err) = eval(&["gate", arg(run), "--baseline", arg(&BASELINE), "--junit", arg(&junit)]);
    let failures = fs::read_to_string(&junit).unwrap().matches("<failure").count();
    assert_eq!(failures > 0, code == 1, "{said}{err}");
    (code, said)
}

#[test]
fn another_seed_or_number_of_threads_passes() {
    if model().is_none() {
        return;
    }
    for (name, text, more) in [
        ("seed", format!("{IN_USE}[scoring]\nseed = 77\n"), &[][..]),
        ("threads", IN_USE.to_owned(), &["--threads", "1", "--embedding-cache", "off"]),
    ] {
        let (code, said) = gate(&sweep(name, &text, more));
        assert_eq!(code, 0, "{name}: {said}");
    }
}

#[test]
fn half_the_chunk_size_fails() {
    if model().is_none() {
        return;
    }
    let (code, said) = gate(&sweep("half", &IN_USE.replace("400", "200"), &[]));
    assert_eq!(code, 1, "{said}");
    // It fails for the right reasons: larger, and worse by the metric for which the rank of whole answers counts.
    let fell = |line: &str| line.starts_with("ndcg_at_10 ") && line.ends_with("FAILED");
    assert!(said.starts_with("FAILED: ") && said.lines().any(fell) && said.contains("bytes: "), "{said}");
    let now = said.split_once("now handed over: ").map(|(_, rest)| rest.lines().next().unwrap_or_default());
    let (path, lines) = now.and_then(|now| now.split(", ").next()?.split_once(".md:")).unwrap();
    assert!(!path.is_empty() && lines.contains('-'), "a passage that a reader can look up: {said}");
}

#[test]
fn a_model_that_reads_32_tokens_fails() {
    let Some(model) = model() else { return };
    let folder = TempDir::new().unwrap();
    for file in ["config.json", "model.safetensors", "modules.json", "tokenizer.json", "1_Pooling/config.json"] {
        fs::create_dir_all(folder.path().join(file).parent().unwrap()).unwrap();
        fs::copy(model.join(file), folder.path().join(file)).unwrap();
    }
    fs::write(folder.path().join("sentence_bert_config.json"), r#"{"max_seq_length": 32}"#).unwrap();
    let run = sweep("cut", IN_USE, &["--model", arg(folder.path())]);
    let (code, said) = gate(&run);
    assert_eq!(code, 1, "{said}");
    let failed = |setting: &str| {
        let of = |line: &&str| line.starts_with("evidence_in_context_1000 ") && line.contains(setting);
        said.lines().find(of).unwrap().ends_with("FAILED")
    };
    assert!(failed("in use, vector, k=5") && !failed("in use, keyword, k=5"), "keyword reads no vector: {said}");
}
