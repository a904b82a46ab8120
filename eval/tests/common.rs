//! Helpers for several test modules.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use base64::Engine;
use chunkmill_eval::data::report::Report;
use proptest::prelude::Rng;
use proptest::test_runner::{RngAlgorithm, TestRng};
use serde_json::{Value, json};
use tempfile::TempDir;

/// Creates a folder with these files.
pub fn folder(files: &[(&str, &str)]) -> TempDir {
    let folder = TempDir::new().unwrap();
    for (name, text) in files {
        write(folder.path(), name, text.as_bytes());
    }
    folder
}

/// Writes a file below a folder.
pub fn write(folder: &Path, name: &str, bytes: &[u8]) {
    let path = folder.join(name);
    fs::create_dir_all(path.parent().unwrap()).unwrap();
    fs::write(path, bytes).unwrap();
}

/// Runs the program and returns its exit code, standard output and standard error.
pub fn eval(args: &[&str]) -> (i32, String, String) {
    let output = Command::new(env!("CARGO_BIN_EXE_chunkmill-eval")).args(args).output().unwrap();
    let text = |bytes| String::from_utf8(bytes).unwrap();
    (output.status.code().unwrap(), text(output.stdout), text(output.stderr))
}

/// Returns a path as an argument.
pub fn arg(path: &Path) -> &str {
    path.to_str().unwrap()
}

/// Returns the path and bytes of every file below a folder, sorted by path.
pub fn tree(folder: &Path) -> Vec<(String, Vec<u8>)> {
    let mut files = Vec::new();
    let mut open = vec![folder.to_owned()];
    while let Some(dir) = open.pop() {
        for entry in fs::read_dir(dir).unwrap().map(|entry| entry.unwrap().path()) {
            if entry.is_dir() {
                open.push(entry);
            } else {
                let name = entry.strip_prefix(folder).unwrap().to_str().unwrap().to_owned();
                files.push((name, fs::read(&entry).unwrap()));
            }
        }
    }
    files.sort();
    files
}

/// Prints a text that is visible even if the test passes.
pub fn note(text: &str) {
    let _ = std::io::Write::write_all(&mut std::io::stderr(), format!("{text}\n").as_bytes());
}

/// Returns a file or folder of the data next to the project, or prints why it cannot and returns `None`.
pub fn shared(name: &str) -> Option<PathBuf> {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../shared/data").join(name);
    if path.exists() {
        return Some(path);
    }
    note(&format!("SKIPPED: ../shared/data/{name} is not there"));
    None
}

/// Returns a source of random numbers in 0..1 that are the same on every run.
pub fn dice(seed: u8) -> impl FnMut() -> f64 {
    let mut rng = TestRng::from_seed(RngAlgorithm::ChaCha, &[seed; 32]);
    move || f64::from(rng.next_u32()) / 2f64.powi(32)
}

/// The metric in [`report_of`].
pub const METRIC: &str = "recall_at_k";

/// Returns a report of named cells with a value of one metric per question. The part of a name before ` · ` is the
/// build, the part after it the retrieval. Every cell has a dataset of a million bytes.
pub fn report_of(cells: &[(&str, Vec<Option<f64>>)]) -> Report {
    let questions = cells.first().map_or(0, |(_, values)| values.len());
    let query = |at: usize| json!({"id": format!("q{at}"), "text": format!("Question {at}?"), "tags": []});
    let spread = json!({"p50": 1.0, "p95": 2.0, "p99": 3.0});
    let cell = |(id, values): &(&str, Vec<Option<f64>>)| {
        let (build, retrieval) = id.split_once(" · ").unwrap_or((id, "vector"));
        json!({
            "id": id, "build": build, "spec": {}, "spec_text": build, "model": "m", "engine": "cpu f32",
            "retrieval": retrieval, "k": 5, "snapshot": build, "chunks": 10, "metrics": {}, "values": {METRIC: values},
            "evidence": {"whole": 0, "split": 0, "missed": 0, "unreachable": 0},
            "cost": {
                "documents": 3, "quarantined": 0, "tokens": 900, "bytes": 1_000_000, "vector_bytes": 1, "truncated": 0,
                "texts": 10, "texts_reused": 0, "index": null, "peak_rss": {}, "query_ms": spread, "search_ms": spread,
            },
            "comparison": null, "pareto": [], "toml": format!("# {id}"),
        })
    };
    serde_json::from_value(json!({
        "format_version": 1, "tool_version": "0.1.0", "created": "2026-11-22T00:00:00Z", "command": ["sweep"],
        "environment": {"os": "linux", "arch": "x86_64", "cpu": null, "cores": 2, "memory_bytes": null},
        "labels": {
            "name": "set", "queries_hash": "q", "corpus_hash": "c", "documents": 3, "bytes": 5_000, "tokens": 1_000,
            "queries": questions, "scored": questions, "states": {}, "synthetic": false,
        },
        "scoring": {
            "primary": METRIC, "coverage": "one chunk holds half of it", "budgets": [1_000], "depth": 100,
            "confidence": 0.95, "resamples": 1_000, "permutations": 2_000, "seed": 7,
        },
        "metrics": [{"name": METRIC, "title": "Recall", "meaning": "Share found.", "higher_is_better": true}],
        "queries": (0..questions).map(query).collect::<Vec<_>>(),
        "cells": cells.iter().map(cell).collect::<Vec<_>>(),
        "left_out": [], "verdict": null, "worst": [],
    }))
    .unwrap()
}

/// Returns the data in a report's page.
pub fn data_of(page: &str) -> Value {
    let packed = page.split("id=\"data\">").nth(1).unwrap().split('<').next().unwrap();
    let packed = base64::engine::general_purpose::STANDARD.decode(packed).unwrap();
    serde_json::from_reader(flate2::read::GzDecoder::new(packed.as_slice())).unwrap()
}
