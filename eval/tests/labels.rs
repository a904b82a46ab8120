//! Labels: reading, errors that say where, and drift.

#![allow(clippy::unwrap_used, reason = "tests fail by panicking")]

use std::fs;
use std::path::Path;
use std::process::Command;

use chunkmill_eval::labels::DriftKind::{NoDocument, OutOfRange, TextDiffers};
use chunkmill_eval::labels::LabelSet;
use tempfile::TempDir;

fn set(document: &str, queries: &str) -> TempDir {
    let folder = TempDir::new().unwrap();
    fs::create_dir(folder.path().join("corpus")).unwrap();
    fs::write(folder.path().join("corpus/a.md"), document).unwrap();
    fs::write(folder.path().join("queries.jsonl"), queries).unwrap();
    folder
}

fn query(id: &str, start: usize, text: &str) -> String {
    let end = start + text.len();
    format!(
        r#"{{"query_id": "{id}", "query": "why?", "references": [{{"doc_id": "a.md", "start": {start}, "end": {end}, "text": "{text}"}}]}}"#
    )
}

fn eval(args: &[&str]) -> (i32, String, String) {
    let output = Command::new(env!("CARGO_BIN_EXE_chunkmill-eval")).args(args).output().unwrap();
    let text = |bytes| String::from_utf8(bytes).unwrap();
    (output.status.code().unwrap(), text(output.stdout), text(output.stderr))
}

#[test]
fn our_own_set_fits_its_corpus() {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../datasets/larder");
    let labels = LabelSet::read(&path).unwrap();
    let found = labels.verify().unwrap();
    assert_eq!(found.drifted, []);
    assert!((30..=60).contains(&found.documents) && labels.queries.len() >= 120);
    assert!(labels.queries.iter().all(|query| !query.references.is_empty()));
}

#[test]
fn a_label_that_no_longer_fits_has_drifted() {
    let lines = [query("ok", 4, "two"), query("moved", 0, "two"), query("far", 90, "two"), query("cut", 9, "x")];
    let gone =
        r#"{"query_id": "gone", "query": "?", "references": [{"doc_id": "b.md", "start": 0, "end": 1, "text": "x"}]}"#;
    let folder = set("one two é", &(lines.join("\n") + "\n" + gone + "\n"));
    let found = LabelSet::read(folder.path()).unwrap().verify().unwrap();
    let kinds: Vec<_> = found.drifted.iter().map(|drift| (drift.query_id.as_str(), drift.kind)).collect();
    assert_eq!(kinds, [("moved", TextDiffers), ("far", OutOfRange), ("cut", OutOfRange), ("gone", NoDocument)]);
    assert_eq!(found.references, 5);

    let (code, out, _) = eval(&["verify", folder.path().to_str().unwrap()]);
    assert_eq!(code, 1);
    assert!(out.contains("drifted moved: a.md 0..3: other text stands there"), "{out}");
    assert!(out.ends_with("5 queries, 5 references to 1 documents, 4 drifted\n"), "{out}");
}

#[test]
fn grades_and_tags_are_read() {
    let line = r#"{"query_id": "q", "query": "?", "references": [{"doc_id": "a.md", "start": 0, "end": 1, "text": "o"}], "grade": 2.5, "tags": ["why"]}"#;
    let labels = LabelSet::read(set("one", line).path()).unwrap();
    assert_eq!((labels.queries[0].grade, labels.queries[0].tags.as_slice()), (2.5, &["why".to_owned()][..]));
}

#[test]
fn a_malformed_line_is_an_error_with_its_number() {
    let good = query("a", 0, "one");
    for (bad, problem) in [
        ("{", "EOF"),
        (&query("a", 0, "one"), "query_id `a` was used before"),
        (r#"{"query_id": "b", "query": "?", "references": []}"#, "references is empty"),
        (
            r#"{"query_id": "b", "query": " ", "references": [{"doc_id": "a", "start": 0, "end": 1, "text": "o"}]}"#,
            "query is empty",
        ),
        (
            r#"{"query_id": "b", "query": "?", "references": [{"doc_id": "a", "start": 0, "end": 9, "text": "o"}]}"#,
            "not as long as its text",
        ),
        (
            r#"{"query_id": "b", "query": "?", "references": [{"doc_id": "a", "start": 0, "end": 1, "text": "o"}], "grade": -1}"#,
            "grade -1",
        ),
        (r#"{"query_id": "b", "query": "?", "answer": 1, "references": []}"#, "unknown field `answer`"),
    ] {
        let folder = set("one", &format!("{good}\n\n{bad}\n"));
        let error = LabelSet::read(folder.path()).unwrap_err();
        assert!(error.to_string().contains("queries.jsonl:3: ") && error.to_string().contains(problem), "{error}");
        assert_eq!(eval(&["verify", folder.path().to_str().unwrap()]).0, 2);
    }
}
