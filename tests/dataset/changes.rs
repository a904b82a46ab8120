//! What a copy of a dataset has to write and to delete. That the changes since any snapshot lead to the current one is a
//! test of `snapshots`, over random histories.

use std::fs;
use std::path::Path;

use arrow::array::AsArray;
use arrow::ipc::reader::StreamReader;
use serde_json::Value;
use tempfile::TempDir;

use crate::common::{folder, json_lines, program, run, tree, write};

const PAGE: &str = "# A\n\nintro\n\n## One\n\nfirst\n\n## Two\n\nsecond\n";

fn index(home: &Path, out: &str) {
    let args = ["index", "docs", "-o", out, "--embedder", "fake", "--files", "2", "--preset", "heading-tokens"];
    let (code, _, err) = run(home, &args);
    assert_eq!(code, 0, "{err}");
}

fn snapshot(home: &Path, out: &str) -> String {
    let (_, stats, _) = run(home, &["stats", out, "--json"]);
    json_lines(&stats)[0]["snapshot"].as_str().unwrap().to_owned()
}

/// Returns the changes since a snapshot: what became of each chunk, its id, and where it was.
fn changes(home: &Path, since: &str) -> Vec<[String; 3]> {
    let (code, lines, err) = run(home, &["changes", "out", "--since", since, "--json"]);
    assert_eq!(code, 0, "{err}");
    let text = |row: &Value, key: &str| row[key].as_str().unwrap_or_default().to_owned();
    let lines = json_lines(&lines);
    assert_eq!(lines[0]["snapshot"], snapshot(home, "out"));
    lines[1..].iter().map(|row| ["change", "chunk_id", "moved_from"].map(|key| text(row, key))).collect()
}

/// A dataset with a history: a section was put in, a document renamed, another one added. Returns the first snapshot.
fn edited() -> (TempDir, String) {
    let home = folder(&[("docs/a.md", PAGE), ("docs/b.md", "# B\n\nbee\n")]);
    index(home.path(), "out");
    let first = snapshot(home.path(), "out");
    fs::rename(home.path().join("out"), home.path().join("copy")).unwrap();
    for (name, bytes) in tree(&home.path().join("copy")) {
        write(home.path(), &format!("out/{name}"), &bytes);
    }
    write(home.path(), "docs/a.md", PAGE.replace("## One", "## Zero\n\nnew\n\n## One").as_bytes());
    fs::rename(home.path().join("docs/b.md"), home.path().join("docs/c.md")).unwrap();
    write(home.path(), "docs/d.md", b"# D\n\ndee\n");
    index(home.path(), "out");
    (home, first)
}

#[test]
fn chunks_are_added_changed_moved_and_removed() {
    let (home, first) = edited();
    let expected = [
        ["changed", "a.md#1", ""],
        ["moved", "a.md#2", "a.md#1"],
        ["moved", "a.md#3", "a.md#2"],
        ["removed", "b.md#0", ""],
        ["moved", "c.md#0", "b.md#0"],
        ["added", "d.md#0", ""],
    ];
    // By its id, by the beginning of it, and by a copy.
    for since in [&*first, &first[..8], "copy"] {
        assert_eq!(changes(home.path(), since), expected, "since {since}");
    }
    let second = snapshot(home.path(), "out");
    assert_eq!(changes(home.path(), &second), [[""; 3]; 0]);
    // A promotion changes rows of all chunks of the document; so does the next deletion.
    assert_eq!(run(home.path(), &["promote", "out", "c.md", "high"]).0, 0);
    assert_eq!(changes(home.path(), &second), [["changed", "c.md#0", ""]]);
    assert_eq!(run(home.path(), &["delete", "out", "d.md"]).0, 0);
    assert_eq!(changes(home.path(), &second), [["changed", "c.md#0", ""], ["removed", "d.md#0", ""]]);
    assert_eq!(changes(home.path(), &first)[..5], expected[..5]);
    // A touched document has the same rows.
    let third = snapshot(home.path(), "out");
    fs::remove_file(home.path().join("docs/d.md")).unwrap();
    index(home.path(), "out");
    assert_eq!(changes(home.path(), &third).len(), 0);
}

#[test]
fn an_arrow_stream_has_the_rows_themselves() {
    let (home, first) = edited();
    let output = program(home.path()).args(["changes", "out", "--since", &first, "--arrow"]).output().unwrap();
    assert!(output.status.success());
    let batches: Vec<_> = StreamReader::try_new(&output.stdout[..], None).unwrap().map(Result::unwrap).collect();
    let mut rows = Vec::new();
    for batch in &batches {
        let text = |name: &str| batch.column_by_name(name).unwrap().as_string::<i32>().clone();
        let vectors = batch.column_by_name("embedding").unwrap();
        for row in 0..batch.num_rows() {
            let change = text("change").value(row).to_owned();
            let content = text("content");
            assert_eq!(arrow::array::Array::is_null(vectors, row), change == "removed");
            assert_eq!(arrow::array::Array::is_null(&content, row), change == "removed");
            rows.push((change, text("chunk_id").value(row).to_owned()));
        }
    }
    rows.sort();
    let mut expected: Vec<_> = changes(home.path(), &first).into_iter().map(|[change, id, _]| (change, id)).collect();
    expected.sort();
    assert_eq!(rows, expected);
}

#[test]
fn a_snapshot_of_which_nothing_is_known_is_refused() {
    let (home, first) = edited();
    let since = |since: &str| {
        let (code, out, err) = run(home.path(), &["changes", "out", "--since", since]);
        assert_eq!((code, out.as_str()), (if since == "nowhere" { 5 } else { 2 }, ""), "{err}");
        err
    };
    let err = since("0123456789abcdef");
    assert!(err.contains("it is not known what changed") && err.contains(&first), "{err}");
    assert!(since("nowhere").contains("does not exist"));
    // What is written down leads from one snapshot to another: without it, a copy is needed.
    let file = fs::read_dir(home.path().join("out/.changes")).unwrap().next().unwrap().unwrap().path();
    let bytes = fs::read(&file).unwrap();
    let mut damaged = bytes.clone();
    *damaged.last_mut().unwrap() ^= 1;
    fs::write(&file, damaged).unwrap();
    let (code, _, err) = run(home.path(), &["changes", "out", "--since", &first]);
    assert!(code == 5 && err.contains("cannot be read"), "{code} {err}");
    fs::remove_dir_all(home.path().join("out/.changes")).unwrap();
    assert!(since(&first).contains("compare with a copy"));
    assert_eq!(changes(home.path(), "copy").len(), 6);
}

#[test]
fn what_does_not_lead_to_the_dataset_is_cleaned_up() {
    let (home, first) = edited();
    let stray = home.path().join(format!("out/.changes/{first}-{}.jsonl.zst", "0".repeat(32)));
    fs::write(&stray, b"of a commit that failed").unwrap();
    let (_, out, _) = run(home.path(), &["gc", "out", "--dry-run"]);
    assert!(out.contains("what changed with a commit long ago, or with one that failed"), "{out}");
    assert_eq!(run(home.path(), &["gc", "out"]).0, 0);
    assert!(!stray.exists());
    assert_eq!(changes(home.path(), &first).len(), 6, "what leads to it stays");
    assert_eq!(run(home.path(), &["verify", "out"]).0, 0);
}

#[test]
fn a_dataset_without_a_history_is_a_dataset() {
    let (home, _) = edited();
    let changes = home.path().join("out/.changes");
    for is_link in [false, true] {
        let _ = fs::remove_dir_all(&changes);
        if is_link {
            #[cfg(unix)]
            {
                let _ = fs::remove_file(&changes);
                let name = format!("{}-{}.jsonl.zst", "0".repeat(32), "1".repeat(32));
                write(home.path(), &format!("elsewhere/{name}"), b"somebody else's");
                std::os::unix::fs::symlink(home.path().join("elsewhere"), &changes).unwrap();
            }
        } else {
            fs::write(&changes, b"a file").unwrap();
        }
        write(home.path(), "docs/e.md", format!("# E\n\n{is_link}\n").as_bytes());
        index(home.path(), "out");
        assert_eq!(run(home.path(), &["gc", "out"]).0, 0);
        assert_eq!(run(home.path(), &["verify", "out"]).0, 0);
    }
    #[cfg(unix)]
    assert_eq!(fs::read_dir(home.path().join("elsewhere")).unwrap().count(), 1, "nothing is removed through a link");
}
