//! Snapshots: what changed is made again and nothing else, a run that was stopped is continued, and in
//! every case the bytes are those of a run from nothing.

use std::collections::BTreeMap;
use std::fs::{self, File};
use std::path::Path;
use std::process::Stdio;
use std::time::{Duration, Instant, UNIX_EPOCH};

use serde_json::Value;
use tempfile::TempDir;

use crate::common::{finish, folder, program, run, tree, write};

/// Times are part of the dataset: this one is fixed, or nothing could be compared.
fn date(path: &Path, seconds: u64) {
    let file = File::options().write(true).open(path).unwrap();
    file.set_modified(UNIX_EPOCH + Duration::from_secs(1_700_000_000 + seconds)).unwrap();
}

fn put(home: &Path, name: &str, text: &str) {
    write(home, name, text.as_bytes());
    date(&home.join(name), 0);
}

fn page(number: usize, version: usize) -> String {
    let filler = format!("Words about topic {number}, in version {version}. ").repeat(8);
    let links = format!("See [next]({}.md#part) and [[{}]].", number + 1, number + 2);
    format!("# Page {number}\n\n{filler}\n\n{links}\n\n## Part\n\n{filler}{number}\n")
}

fn corpus(pages: usize) -> TempDir {
    let home = folder(&[]);
    for number in 0..pages {
        put(home.path(), &format!("docs/{number}.md"), &page(number, 0));
    }
    home
}

fn index(home: &Path, out: &str, extra: &[&str]) -> Value {
    let mut args = vec!["index", "docs", "-o", out, "--embedder", "fake", "--json", "--min", "50", "--max", "400"];
    if !extra.contains(&"--files") {
        args.extend(["--files", "3"]);
    }
    args.extend(extra);
    let (code, stdout, err) = run(home, &args);
    assert!(code == 0 || code == 3, "{code}: {err}");
    serde_json::from_str(&stdout).unwrap()
}

/// Every file of a dataset by name.
fn files(home: &Path, out: &str) -> BTreeMap<String, Vec<u8>> {
    tree(&home.join(out)).into_iter().collect()
}

/// Both datasets have the same files with the same bytes.
fn assert_same(home: &Path, a: &str, b: &str) {
    let (a, b) = (files(home, a), files(home, b));
    assert_eq!(a.keys().collect::<Vec<_>>(), b.keys().collect::<Vec<_>>());
    for (name, bytes) in &a {
        assert!(b[name] == *bytes, "{name} differs");
    }
}

#[test]
fn a_second_run_over_the_same_corpus_makes_nothing_and_changes_nothing() {
    let home = corpus(30);
    let first = index(home.path(), "out", &[]);
    assert_eq!(first["chunks_kept"], 0);
    let before = files(home.path(), "out");
    let second = index(home.path(), "out", &[]);
    assert_eq!((&second["texts_embedded"], &second["chunks_kept"]), (&0.into(), &first["chunks"]));
    assert!(files(home.path(), "out") == before);
    let fresh = index(home.path(), "out", &["--fresh"]);
    assert_eq!((&fresh["texts_embedded"], &fresh["chunks_kept"]), (&first["texts_embedded"], &0.into()));
    assert!(files(home.path(), "out") == before);
}

#[test]
fn an_edit_touches_the_file_of_its_document_and_embeds_only_what_is_new() {
    let home = corpus(40);
    index(home.path(), "out", &[]);
    let before = files(home.path(), "out");
    put(home.path(), "docs/7.md", &page(7, 1));
    let summary = index(home.path(), "out", &[]);
    let embedded = summary["texts_embedded"].as_u64().unwrap();
    assert!((1..=6).contains(&embedded), "{embedded} texts of one page");
    let after = files(home.path(), "out");
    let changed: Vec<&String> = after.keys().filter(|name| !before.contains_key(*name)).collect();
    for table in ["data/chunks/", "data/documents/"] {
        assert_eq!(changed.iter().filter(|name| name.starts_with(table)).count(), 1, "{changed:?}");
    }
    index(home.path(), "fresh", &[]);
    assert_same(home.path(), "out", "fresh");
}

#[test]
fn what_happens_to_a_corpus_leaves_the_bytes_of_a_run_from_nothing() {
    // Numbers of a linear congruential generator (Knuth), so that every run makes the same changes.
    let mut state = 7_u64;
    let mut next = move |below: usize| {
        state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        usize::try_from(state >> 33).unwrap() % below
    };
    let home = corpus(12);
    let docs = home.path().join("docs");
    let mut made = 12;
    let settings: [&[&str]; 4] = [&[], &["--overlap", "20"], &["--strategy", "none"], &["--files", "2"]];
    let mut setting = 0;
    for step in 0..40 {
        for _ in 0..=next(3) {
            let names: Vec<String> = tree(&docs).into_iter().map(|(name, _)| name).collect();
            let name = format!("docs/{}", names[next(names.len())]);
            match next(8) {
                0 | 1 => put(home.path(), &name, &page(next(20), step)),
                2 if names.len() > 2 => fs::remove_file(home.path().join(&name)).unwrap(),
                3 => {
                    made += 1;
                    fs::rename(home.path().join(&name), docs.join(format!("{made}.md"))).unwrap();
                }
                4 => {
                    made += 1;
                    let text = fs::read_to_string(home.path().join(&name)).unwrap_or_default();
                    put(home.path(), &format!("docs/{made}.md"), &text);
                }
                5 => date(&home.path().join(&name), step as u64 + 1),
                6 => write(home.path(), &name, b"\xff\xfe\xfd not text \xc3"),
                _ => setting = next(settings.len()),
            }
        }
        index(home.path(), "out", settings[setting]);
        let fresh = format!("fresh-{step}");
        index(home.path(), &fresh, settings[setting]);
        assert_same(home.path(), "out", &fresh);
        fs::remove_dir_all(home.path().join(fresh)).unwrap();
    }
}

/// A run with a model of real cost, so that there is something to stop.
fn long_job(home: &Path, out: &str) -> std::process::Command {
    let mut command = program(home);
    command.args(["index", "docs", "-o", out, "--model", "tiny", "--files", "6", "--json", "--progress", "never"]);
    command.args(["--min", "1", "--max", "200", "--overlap", "0"]).stdout(Stdio::piped()).stderr(Stdio::piped());
    command
}

fn long_corpus() -> TempDir {
    let home = folder(&[]);
    crate::common::tiny_model(&home.path().join("tiny"));
    for number in 0..60 {
        let text: String =
            (0..40).map(|i| format!("# s{i}\n\n{} word{i} page{number}\n\n", "the cat sat . ".repeat(9))).collect();
        put(home.path(), &format!("docs/{number}.md"), &text);
    }
    home
}

#[cfg(unix)]
#[test]
fn a_run_that_is_killed_is_continued_and_ends_in_the_same_bytes() {
    let home = long_corpus();
    let started = Instant::now();
    let (code, whole, err) = finish(long_job(home.path(), "whole").output().unwrap());
    assert_eq!(code, 0, "{err}");
    let took = started.elapsed();
    let whole: Value = serde_json::from_str(&whole).unwrap();
    let mut kills = 0;
    for tenth in 1..10 {
        let mut child = long_job(home.path(), "out").spawn().unwrap();
        std::thread::sleep(took * tenth / 10);
        child.kill().unwrap();
        kills += usize::from(!child.wait().unwrap().success());
        let staged =
            tree(&home.path().join("out")).iter().filter(|(name, _)| name.starts_with(".staging/part-")).count();
        let (code, report, err) = finish(long_job(home.path(), "out").output().unwrap());
        assert_eq!(code, 0, "{err}");
        let report: Value = serde_json::from_str(&report).unwrap();
        let [all, embedded, kept] =
            [&whole["texts_embedded"], &report["texts_embedded"], &report["chunks_kept"]].map(|n| n.as_u64().unwrap());
        assert!(staged == 0 || kept > 0, "{staged} parts were finished");
        assert!(embedded + kept >= all, "{embedded} + {kept} of {all}");
        assert_same(home.path(), "out", "whole");
        fs::remove_dir_all(home.path().join("out")).unwrap();
    }
    assert!(kills > 3, "only {kills} runs were still at work when they were killed");
}

#[test]
fn vectors_that_other_instructions_computed_are_computed_again() {
    let home = folder(&[("docs/a.md", "# A\n\nthe cat sat on the mat\n"), ("docs/b.md", "# B\n\nthe mat sat\n")]);
    crate::common::tiny_model(&home.path().join("tiny"));
    let index = |out: &str, isa: &str| {
        let args = ["index", "docs", "-o", out, "--model", "tiny", "--files", "1", "--json", "--cpu-isa", isa];
        let (code, report, err) = run(home.path(), &args);
        assert_eq!(code, 0, "{err}");
        serde_json::from_str::<Value>(&report).unwrap()
    };
    let best = index("out", "avx2");
    assert_eq!(index("out", "avx2")["chunks_kept"], best["chunks"]);
    assert_eq!(index("out", "portable")["chunks_kept"], 0);
    index("fresh", "portable");
    assert_same(home.path(), "out", "fresh");
}

#[test]
fn a_second_writer_is_refused_and_told_who_the_first_is() {
    let home = long_corpus();
    let mut first = long_job(home.path(), "out").spawn().unwrap();
    while !home.path().join("out/.staging").exists() {
        std::thread::sleep(Duration::from_millis(2));
    }
    let (code, _, err) = finish(long_job(home.path(), "out").output().unwrap());
    assert_eq!(code, 4, "{err}");
    assert!(err.contains(&format!("process {}", first.id())), "{err}");
    // A holder that dies leaves no lock behind that would have to be broken.
    first.kill().unwrap();
    first.wait().unwrap();
    assert_eq!(finish(long_job(home.path(), "out").output().unwrap()).0, 0);
    let names: Vec<String> = tree(&home.path().join("out")).into_iter().map(|(name, _)| name).collect();
    assert!(!names.iter().any(|name| name.starts_with('.')), "{names:?}");
}
