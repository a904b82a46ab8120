//! `gc` removes what no manifest names, and nothing else.

use std::fs;
use std::path::Path;
use std::process::Stdio;
use std::time::Duration;

use serde_json::Value;
use tempfile::TempDir;

use crate::common::{finish, folder, program, run, tree, write};

const ORPHAN: &str = "data/chunks/train-00000-of-00008-0123456789abcdef.parquet";

fn corpus() -> TempDir {
    let home = folder(&[]);
    crate::common::tiny_model(&home.path().join("tiny"));
    for number in 0..60 {
        let text: String =
            (0..40).map(|i| format!("# s{i}\n\n{} word{i} page{number}\n\n", "the cat sat . ".repeat(9))).collect();
        write(home.path(), &format!("docs/{number}.md"), text.as_bytes());
    }
    home
}

fn index(home: &Path) -> std::process::Command {
    let mut command = program(home);
    command.args(["index", "docs", "-o", "out", "--model", "tiny", "--files", "6", "--progress", "never", "--json"]);
    command.args(["--min", "1", "--max", "200", "--overlap", "0"]).stdout(Stdio::piped()).stderr(Stdio::piped());
    command
}

/// Runs the job until it has finished two parts, and kills it.
fn kill(home: &Path) {
    let mut child = index(home).spawn().unwrap();
    while staged(home) < 2 {
        std::thread::sleep(Duration::from_millis(1));
        assert!(child.try_wait().unwrap().is_none(), "it was too fast to be killed");
    }
    child.kill().unwrap();
    child.wait().unwrap();
}

fn staged(home: &Path) -> usize {
    let entries = fs::read_dir(home.join("out/.staging")).into_iter().flatten().flatten();
    entries.filter(|entry| entry.file_name().to_string_lossy().starts_with("part-")).count()
}

fn gc(home: &Path, args: &[&str]) -> Value {
    let (code, out, err) = run(home, &[&["gc", "out", "--json"], args].concat());
    assert_eq!(code, 0, "{err}");
    serde_json::from_str(&out).unwrap()
}

fn kinds(items: &Value) -> Vec<&str> {
    items.as_array().unwrap().iter().map(|item| item["kind"].as_str().unwrap()).collect()
}

#[test]
fn files_that_no_manifest_names_go_and_the_dataset_stays() {
    let home = folder(&[("docs/a.md", "# A\n\ntext\n")]);
    assert_eq!(run(home.path(), &["index", "docs", "-o", "out", "--embedder", "fake"]).0, 0);
    let out = home.path().join("out");
    let whole = tree(&out);
    assert_eq!(run(home.path(), &["gc", "out"]), (0, "removed 0 bytes, kept 0 bytes\n".to_owned(), String::new()));
    write(&out, ORPHAN, &[0; 123_456]);
    write(&out, ".staging/unfinished-3", b"1234");
    write(&out, "data/chunks/notes.txt", b"not ours");
    let spoilt = tree(&out);
    let dry = gc(home.path(), &["--dry-run"]);
    assert_eq!((kinds(&dry["removed"]), &dry["removed_bytes"]), (vec!["orphan", "unfinished"], &123_460.into()));
    assert_eq!(dry["removed"][0]["path"], ORPHAN);
    assert!(tree(&out) == spoilt, "a dry run changes nothing");
    let (_, said, _) = run(home.path(), &["gc", "out"]);
    assert!(
        said.starts_with(&format!("removed {ORPHAN}: 123456 bytes, a data file that the manifest does not name\n"))
    );
    assert!(said.ends_with("removed 0.1 MB, kept 0 bytes\n"), "{said}");
    fs::remove_file(out.join("data/chunks/notes.txt")).unwrap();
    assert!(tree(&out) == whole && !out.join(".staging").exists());
}

#[cfg(unix)]
#[test]
fn finished_parts_are_kept_for_the_next_run_unless_that_is_asked_for() {
    let home = corpus();
    kill(home.path());
    let parts = staged(home.path());
    let swept = gc(home.path(), &[]);
    assert_eq!((kinds(&swept["removed"]), kinds(&swept["kept"])), (vec![], vec!["staged"]));
    assert!(swept["kept_bytes"].as_u64().unwrap() > 10_000, "{swept}");
    assert_eq!(staged(home.path()), parts);
    let (_, said, _) = run(home.path(), &["gc", "out"]);
    assert!(said.contains("which the next `chunkmill index` resumes"), "{said}");
    assert!(said.contains("\n  help: chunkmill gc out --staging removes that too\n"), "{said}");
    let (code, report, err) = finish(index(home.path()).output().unwrap());
    assert_eq!(code, 0, "{err}");
    let report: Value = serde_json::from_str(&report).unwrap();
    assert!(report["chunks_reused"].as_u64().unwrap() > 0, "the parts were reused: {report}");

    // With `--staging` they are removed, and the snapshot stays.
    let whole = tree(&home.path().join("out"));
    for number in 0..60 {
        write(
            home.path(),
            &format!("docs/{number}.md"),
            "# other\n\nthe dog ran on a mat .\n".repeat(40 + number).as_bytes(),
        );
    }
    kill(home.path());
    let swept = gc(home.path(), &["--staging"]);
    assert_eq!((kinds(&swept["removed"]), kinds(&swept["kept"])), (vec!["staged"], vec![]));
    assert!(tree(&home.path().join("out")) == whole);
}

#[cfg(unix)]
#[test]
fn what_a_commit_that_was_stopped_has_put_in_place_is_kept_with_its_parts() {
    let home = corpus();
    kill(home.path());
    // The state after some renames of the commit: files are in place, and their receipts are staged.
    let out = home.path().join("out");
    let moved: Vec<String> = tree(&out.join(".staging"))
        .into_iter()
        .map(|(name, _)| name)
        .filter(|name| name.starts_with("data/"))
        .collect();
    for name in &moved {
        let to = out.join(name);
        fs::create_dir_all(to.parent().unwrap()).unwrap();
        fs::rename(out.join(".staging").join(name), to).unwrap();
    }
    fs::create_dir_all(out.join("data/edges")).unwrap();
    fs::create_dir_all(out.join("state/outlines")).unwrap();
    write(&out, ORPHAN, b"of nobody");
    let swept = gc(home.path(), &[]);
    assert_eq!(kinds(&swept["removed"]), ["orphan"]);
    assert!(kinds(&swept["kept"]).len() > 2 && kinds(&swept["kept"]).iter().all(|kind| *kind == "staged"), "{swept}");
    let (code, report, err) = finish(index(home.path()).output().unwrap());
    assert_eq!(code, 0, "{err}");
    assert!(serde_json::from_str::<Value>(&report).unwrap()["chunks_reused"].as_u64().unwrap() > 0);
}

#[test]
fn the_end_of_a_commit_is_ended_not_removed() {
    let home = folder(&[("docs/a.md", "# A\n\ntext\n")]);
    assert_eq!(run(home.path(), &["index", "docs", "-o", "out", "--embedder", "fake"]).0, 0);
    let out = home.path().join("out");
    let whole = tree(&out);
    // As if the run had been killed after the manifest was renamed.
    let manifest = blake3::hash(&fs::read(out.join("manifest.json")).unwrap()).to_hex();
    let pending = out.join(".staging").join(&manifest[..32]);
    fs::create_dir_all(&pending).unwrap();
    for name in ["README.md", "quarantine.jsonl"] {
        fs::rename(out.join(name), pending.join(name)).unwrap();
    }
    write(&out, ORPHAN, b"of the snapshot before");
    assert_eq!(run(home.path(), &["verify", "out"]).0, 0, "the list is still staged");
    assert_eq!(kinds(&gc(home.path(), &["--dry-run", "--staging"])["removed"]), ["orphan"]);
    gc(home.path(), &["--staging"]);
    assert!(tree(&out) == whole);
}

#[test]
fn an_age_may_be_longer_than_time() {
    let home = folder(&[("docs/a.md", "# A\n\ntext\n")]);
    assert_eq!(run(home.path(), &["index", "docs", "-o", "out", "--embedder", "fake"]).0, 0);
    write(&home.path().join("out"), ORPHAN, b"of another snapshot");
    let swept = gc(home.path(), &["--older-than", &u64::MAX.to_string()]);
    assert_eq!((kinds(&swept["removed"]).len(), kinds(&swept["kept"])), (0, vec!["orphan"]));
}

#[cfg(unix)]
#[test]
fn a_run_at_work_is_left_alone() {
    let home = corpus();
    let child = index(home.path()).spawn().unwrap();
    while staged(home.path()) < 1 {
        std::thread::sleep(Duration::from_millis(1));
    }
    for args in [&["gc", "out"][..], &["gc", "out", "--dry-run"]] {
        let (code, _, err) = run(home.path(), args);
        assert!(code == 4 && err.contains(&format!("process {}", child.id())), "{args:?}: {err}");
    }
    let (code, _, err) = finish(child.wait_with_output().unwrap());
    assert_eq!(code, 0, "{err}");
    assert_eq!(run(home.path(), &["verify", "out"]).0, 0);
}

#[test]
fn a_folder_that_is_no_dataset_is_refused_and_left_alone() {
    let home = folder(&[("thesis/data/chunks/train-1.txt", "mine")]);
    for (name, problem) in [("missing", "does not exist"), ("thesis", "does not exist")] {
        let (code, _, err) = run(home.path(), &["gc", name]);
        assert!(code == 5 && err.contains(problem), "{err}");
    }
    assert!(!home.path().join("missing").exists());
    fs::create_dir(home.path().join("thesis/.staging")).unwrap();
    let (code, _, err) = run(home.path(), &["gc", "thesis", "--dry-run"]);
    assert!(code == 5 && err.contains("is neither empty nor a dataset"), "{err}");
    assert_eq!(run(home.path(), &["gc", "thesis"]).0, 5);
    assert_eq!(tree(&home.path().join("thesis")).len(), 1);
}
