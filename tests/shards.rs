//! The job in pieces: a plan, shards in processes of their own, one commit, and the bytes of a single run.

use std::fs;
use std::path::Path;
use std::process::{Child, Stdio};
use std::time::{Duration, Instant};

use serde_json::Value;
use tempfile::TempDir;

use crate::common::{finish, folder, program, run, tiny_model, tree, write};
use crate::jobs::{page, put};

const FAKE: &[&str] = &["--embedder", "fake", "--min", "50", "--max", "400"];

fn corpus(pages: usize) -> TempDir {
    let home = folder(&[]);
    for number in 0..pages {
        put(home.path(), &format!("docs/{number}.md"), &page(number, 0));
    }
    write(home.path(), "docs/odd.md", b"\xc3\x28 no text \xff");
    home
}

fn ok(home: &Path, args: &[&str]) -> String {
    let (code, stdout, err) = run(home, args);
    assert!(code == 0 || code == 3, "{args:?}: {code}: {err}");
    stdout
}

fn plan(home: &Path, shards: usize, settings: &[&str]) -> Value {
    let shards = shards.to_string();
    let text = ok(home, &[&["plan", "docs", "-o", "out", "--shards", &shards], settings].concat());
    fs::write(home.join("plan.json"), &text).unwrap();
    serde_json::from_str(&text).unwrap()
}

fn shard(which: &str) -> [&str; 7] {
    ["run", "--plan", "plan.json", "--shard", which, "-o", "out"]
}

fn receipt(home: &Path, which: &str) -> Value {
    serde_json::from_str(&ok(home, &shard(which))).unwrap()
}

const COMMIT: [&str; 5] = ["commit", "--plan", "plan.json", "-o", "out"];

fn assert_single(home: &Path, settings: &[&str]) {
    ok(home, &[&["index", "docs", "-o", "single", "--fresh"], settings].concat());
    assert_eq!(tree(&home.join("out")), tree(&home.join("single")));
}

#[test]
fn four_shards_killed_and_run_twice_make_the_dataset_of_a_single_run() {
    let home = folder(&[]);
    tiny_model(&home.path().join("tiny"));
    for number in 0..48 {
        let text: String =
            (0..40).map(|i| format!("# s{i}\n\n{} word{i} page{number}\n\n", "the cat sat . ".repeat(9))).collect();
        write(home.path(), &format!("docs/{number}.md"), text.as_bytes());
    }
    let settings = ["--model", "tiny", "--files", "12", "--min", "1", "--max", "200", "--overlap", "0"];
    let planned = plan(home.path(), 4, &settings);
    let parts = planned["parts"].as_array().unwrap();
    assert!((1..=4).all(|shard| parts.iter().filter(|part| part["shard"] == shard).count() == 3), "{parts:?}");
    let spawn = |which: &str| -> Child {
        let mut command = program(home.path());
        command.args(shard(which)).stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap()
    };
    let end = |child: Child| {
        let (code, line, err) = finish(child.wait_with_output().unwrap());
        assert_eq!(code, 0, "{err}");
        assert_eq!(line.lines().count(), 1, "one line for the scheduler: {line}");
        serde_json::from_str::<Value>(&line).unwrap()
    };
    // All at once; the third twice at once; the second is killed twice on its way.
    let started = Instant::now();
    let others = ["1/4", "3/4", "3/4", "4/4"].map(spawn);
    let mut kills = 0;
    for wait in [Duration::from_millis(30), Duration::from_millis(60)] {
        let mut child = spawn("2/4");
        while !home.path().join(format!("out/.shards-{}", planned["id"].as_str().unwrap())).exists() {
            assert!(started.elapsed() < Duration::from_secs(60), "no shard began");
            std::thread::sleep(Duration::from_millis(1));
        }
        std::thread::sleep(wait);
        child.kill().unwrap();
        kills += usize::from(!child.wait().unwrap().success());
    }
    let receipts = others.map(end);
    assert!(kills > 0, "a shard was at work when it was killed");
    for (receipt, shard) in receipts.iter().zip([1, 3, 3, 4]) {
        assert_eq!(
            (&receipt["plan"], &receipt["shard"], &receipt["parts"]),
            (&planned["id"], &shard.into(), &3.into())
        );
    }
    assert_eq!(receipts[1]["chunks"], receipts[2]["chunks"]);
    // One shard is missing: nothing is published.
    let (code, _, err) = run(home.path(), &COMMIT);
    assert_eq!(code, 5, "{err}");
    assert!(err.contains("these shards of the plan make: 2/4\n") && err.contains("--shard 2/4"), "{err}");
    assert!(!home.path().join("out/manifest.json").exists());
    end(spawn("2/4"));
    let again = end(spawn("2/4"));
    assert_eq!((&again["parts_made"], &again["texts_embedded"]), (&0.into(), &0.into()), "it is there");
    ok(home.path(), &COMMIT);
    assert_single(home.path(), &settings);
    // Whoever comes late finds nothing to do, and changes nothing.
    let late = end(spawn("2/4"));
    assert_eq!((&late["committed"], &late["chunks"]), (&true.into(), &again["chunks"]));
    let report: Value = serde_json::from_str(&ok(home.path(), &[&COMMIT[..], &["--json"]].concat())).unwrap();
    assert_eq!(report["documents"], 48);
    assert_single(home.path(), &settings);
}

#[test]
fn an_attempt_that_ends_after_the_commit_changes_nothing() {
    let home = folder(&[]);
    tiny_model(&home.path().join("tiny"));
    for number in 0..30 {
        let text: String =
            (0..60).map(|i| format!("# s{i}\n\n{} word{i} {number}\n\n", "the mat . ".repeat(9))).collect();
        write(home.path(), &format!("docs/{number}.md"), text.as_bytes());
    }
    let settings = ["--model", "tiny", "--files", "2", "--min", "1", "--max", "200", "--overlap", "0"];
    plan(home.path(), 2, &settings);
    receipt(home.path(), "2/2");
    let mut command = program(home.path());
    let late = command.args(shard("1/2")).stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
    // An ordinary run is faster than the late attempt, or slower: the dataset is the same.
    ok(home.path(), &[&["index", "docs", "-o", "out"], &settings[..]].concat());
    ok(home.path(), &COMMIT);
    let (code, line, err) = finish(late.wait_with_output().unwrap());
    assert_eq!(code, 0, "{err}");
    assert_eq!(serde_json::from_str::<Value>(&line).unwrap()["shard"], 1);
    let (code, _, err) = run(home.path(), &["gc", "out", "--staging"]);
    assert_eq!(code, 0, "{err}");
    assert_single(home.path(), &settings);
}

#[test]
fn a_plan_over_a_dataset_shares_out_only_what_changed() {
    let home = corpus(40);
    let index = |settings: &[&str]| ok(home.path(), &[&["index", "docs", "-o", "out"], settings].concat());
    index(FAKE);
    put(home.path(), "docs/7.md", &page(7, 1));
    put(home.path(), "docs/new.md", &page(3, 2));
    fs::remove_file(home.path().join("docs/9.md")).unwrap();
    let before = tree(&home.path().join("out"));
    let said = ok(home.path(), &[&["plan", "docs", "-o", "out"], FAKE].concat());
    // What could not be read before counts as new when its part is made again.
    let (one, two) = ("41 documents: 1 new, 1 changed, 39 unchanged", "41 documents: 2 new, 1 changed, 38 unchanged");
    assert!([one, two].iter().any(|begin| said.starts_with(begin)) && said.contains("; 1 deleted since\n"), "{said}");
    let planned = plan(home.path(), 2, FAKE);
    let estimate = &planned["estimate"];
    assert!([2, 3].map(Value::from).contains(&estimate["documents"]), "{estimate}");
    assert!(estimate["chunks"].as_u64().unwrap() > 1 && estimate["model_tokens"].as_u64().unwrap() > 20, "{estimate}");
    assert_eq!(tree(&home.path().join("out")), before, "a plan writes nothing");
    let to_make = planned["parts"].as_array().unwrap().iter().filter(|part| !part["shard"].is_null()).count();
    assert!((1..=3).contains(&to_make), "{planned}");
    let receipts = ["1/2", "2/2"].map(|which| receipt(home.path(), which));
    let texts: u64 = receipts.iter().map(|receipt| receipt["texts_embedded"].as_u64().unwrap()).sum();
    assert!((2..=8).contains(&texts), "only new texts are embedded: {receipts:?}");
    ok(home.path(), &COMMIT);
    assert_single(home.path(), FAKE);
}

#[test]
fn what_does_not_fit_the_plan_is_refused() {
    let home = corpus(12);
    let refused = |args: &[&str], code: i32, says: &str| {
        let (got, out, err) = run(home.path(), args);
        assert_eq!(got, code, "{args:?}: {out}{err}");
        assert!(err.contains(says) && err.contains("help: "), "{args:?}: {err}");
    };
    plan(home.path(), 2, FAKE);
    refused(&shard("3/2"), 2, "no shard 3");
    refused(&shard("0"), 2, "no shard 0");
    refused(&shard("1/3"), 2, "the plan has 2 shards");
    refused(&[&shard("1/2")[..], &["--embedder", "candle"]].concat(), 2, "is for the model fake");
    // A document that changes between plan and run.
    receipt(home.path(), "1/2");
    receipt(home.path(), "2/2");
    for number in 0..12 {
        put(home.path(), &format!("docs/{number}.md"), &page(number, 5));
    }
    fs::remove_dir_all(home.path().join("out")).unwrap();
    refused(&shard("1/2"), 2, "other documents than are there now");
    // A dataset that another run has changed.
    ok(home.path(), &[&["index", "docs", "-o", "out"], FAKE].concat());
    put(home.path(), "docs/3.md", &page(3, 6));
    let planned = plan(home.path(), 1, FAKE);
    receipt(home.path(), "1/1");
    let other = planned["parts"].as_array().unwrap().iter().position(|part| part["shard"].is_null()).unwrap();
    for number in 0..12 {
        let name = format!("{number}.md");
        if chunkmill::store::file_of(&name, 8) == other {
            put(home.path(), &format!("docs/{name}"), &page(number, 7));
        }
    }
    ok(home.path(), &[&["index", "docs", "-o", "out"], FAKE].concat());
    refused(&COMMIT, 5, "is not the one that the plan was made for");
    // A plan that was tampered with, and what is none.
    let text = fs::read_to_string(home.path().join("plan.json")).unwrap();
    fs::write(home.path().join("plan.json"), text.replace("\"shards\": 1", "\"shards\": 2")).unwrap();
    refused(&COMMIT, 2, "was changed after it was made");
    fs::write(home.path().join("plan.json"), "{}").unwrap();
    refused(&COMMIT, 2, "is no plan");
}

#[test]
fn attempts_that_disagree_are_told_of() {
    let home = corpus(12);
    plan(home.path(), 1, FAKE);
    receipt(home.path(), "1/1");
    let attempts: Vec<_> = fs::read_dir(home.path().join("out")).unwrap().map(|entry| entry.unwrap().path()).collect();
    let attempts = attempts.iter().find(|path| path.file_name().unwrap().to_string_lossy().starts_with(".shards-"));
    let one = fs::read_dir(attempts.unwrap()).unwrap().next().unwrap().unwrap().path();
    let two = one.with_file_name("other");
    for (name, bytes) in tree(&one) {
        write(&two, &name, &bytes);
    }
    ok(home.path(), &["plan", "docs", "-o", "out", "--embedder", "fake"]);
    // The same part with another file: as if a processor had computed wrongly.
    let receipt = two.join("part-00000.json");
    let text = fs::read_to_string(&receipt).unwrap();
    let at = text.find("\"blake3\":\"").unwrap() + 10;
    fs::write(&receipt, format!("{}{}{}", &text[..at], "0".repeat(64), &text[at + 64..])).unwrap();
    let (code, _, err) = run(home.path(), &COMMIT);
    assert_eq!(code, 5, "{err}");
    assert!(err.contains("another attempt at part 0 gave other bytes"), "{err}");
    fs::remove_dir_all(two).unwrap();
    ok(home.path(), &COMMIT);
    assert_single(home.path(), FAKE);
}
