//! The job in pieces: a plan, shards in their own processes, one commit, and the bytes of a single run.

use std::fs;
use std::path::Path;
use std::process::{Child, Stdio};
use std::time::{Duration, Instant};

use serde_json::Value;
use tempfile::TempDir;

use crate::common::{finish, folder, program, run, tiny_model, tree, write};
use crate::dataset::jobs::{page, put};

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
    // The second shard is killed twice: when it has begun, and when it has finished a part.
    let attempts = home.path().join(format!("out/.shards-{}", planned["id"].as_str().unwrap()));
    let count = |begin: &str| {
        let below = |folder: &Path| fs::read_dir(folder).into_iter().flatten().flatten().map(|entry| entry.path());
        let files: Vec<_> = below(&attempts).flat_map(|attempt| below(&attempt).collect::<Vec<_>>()).collect();
        files.iter().filter(|path| path.file_name().unwrap().to_string_lossy().starts_with(begin)).count()
    };
    for sign in ["unfinished-", "part-"] {
        let mut child = spawn("2/4");
        let started = Instant::now();
        while count(sign) == 0 {
            assert!(started.elapsed() < Duration::from_secs(60), "no {sign}");
            std::thread::sleep(Duration::from_millis(1));
        }
        child.kill().unwrap();
        assert!(!child.wait().unwrap().success(), "it was at work when it was killed");
    }
    let made_before = count("part-");
    // The other shards run at the same time, the third one in two processes.
    let receipts = ["1/4", "3/4", "3/4", "4/4"].map(spawn).map(end);
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
    assert!(err.contains("the parts of these shards of the plan: 2/4\n") && err.contains("--shard 2/4"), "{err}");
    assert!(!home.path().join("out/manifest.json").exists());
    let third = end(spawn("2/4"));
    assert_eq!(
        third["parts_made"],
        3 - made_before,
        "what an attempt had finished before it was killed is not rebuilt"
    );
    let again = end(spawn("2/4"));
    assert_eq!((&again["parts_made"], &again["texts_embedded"]), (&0.into(), &0.into()), "it is there");
    ok(home.path(), &COMMIT);
    assert_single(home.path(), &settings);
    // A late attempt finds nothing to do and changes nothing.
    let late = end(spawn("2/4"));
    assert_eq!((&late["committed"], &late["chunks"]), (&true.into(), &again["chunks"]));
    let report: Value = serde_json::from_str(&ok(home.path(), &[&COMMIT[..], &["--json"]].concat())).unwrap();
    assert_eq!(report["documents"], 48);
    assert_single(home.path(), &settings);
}

#[cfg(unix)]
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
    let planned = plan(home.path(), 2, &settings);
    let mut command = program(home.path());
    let late = command.args(shard("1/2")).stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
    let attempts = home.path().join(format!("out/.shards-{}", planned["id"].as_str().unwrap()));
    // The attempt's folder exists a moment before it is locked, and until then nobody is working in it.
    let is_at_work = || {
        let folders = fs::read_dir(&attempts).into_iter().flatten().flatten();
        folders
            .filter_map(|folder| fs::File::open(folder.path().join(".lock")).ok())
            .any(|lock| lock.try_lock_shared().is_err())
    };
    while !is_at_work() {
        std::thread::sleep(Duration::from_millis(1));
    }
    let signal = |name: &str| {
        let id = late.id().to_string();
        assert!(std::process::Command::new("kill").args([name, &id]).status().unwrap().success());
    };
    signal("-STOP");
    // gc leaves a running attempt alone, even if it is suspended.
    ok(home.path(), &["gc", "out", "--staging"]);
    assert!(attempts.exists());
    receipt(home.path(), "1/2");
    receipt(home.path(), "2/2");
    ok(home.path(), &COMMIT);
    assert_single(home.path(), &settings);
    signal("-CONT");
    let (code, line, err) = finish(late.wait_with_output().unwrap());
    assert_eq!(code, 0, "{err}");
    let line: Value = serde_json::from_str(&line).unwrap();
    assert_eq!((&line["shard"], &line["committed"]), (&1.into(), &true.into()));
    assert_single(home.path(), &settings);
}

#[test]
fn a_commit_undoes_nothing_that_came_after_the_plan() {
    for change in [&["promote", "out", "3.md", "important"][..], &["delete", "out", "3.md"]] {
        let home = corpus(12);
        ok(home.path(), &[&["index", "docs", "-o", "out"], FAKE].concat());
        put(home.path(), "docs/3.md", &page(3, 6));
        plan(home.path(), 1, FAKE);
        receipt(home.path(), "1/1");
        ok(home.path(), change);
        let before = tree(&home.path().join("out/data"));
        let (code, _, err) = run(home.path(), &COMMIT);
        assert_eq!(code, 5, "{err}");
        assert!(err.contains("is not the one that the plan was made for"), "{err}");
        assert!(tree(&home.path().join("out/data")) == before);
    }
}

#[test]
fn parts_of_documents_that_changed_meanwhile_are_passed_over() {
    let home = corpus(6);
    plan(home.path(), 1, FAKE);
    receipt(home.path(), "1/1");
    // The state after an earlier attempt that read a document while somebody was working on it.
    let plans = fs::read_dir(home.path().join("out")).unwrap().map(|entry| entry.unwrap().path());
    let attempts = plans.into_iter().find(|path| path.to_string_lossy().contains(".shards-")).unwrap();
    let one = fs::read_dir(&attempts).unwrap().next().unwrap().unwrap().path();
    for (name, bytes) in tree(&one) {
        let bytes = if name.starts_with("part-") {
            let mut receipt: Value = serde_json::from_slice(&bytes).unwrap();
            receipt["record"]["inputs"] = "other".into();
            serde_json::to_vec(&receipt).unwrap()
        } else {
            bytes
        };
        write(&attempts, &format!("0/{name}"), &bytes);
    }
    ok(home.path(), &COMMIT);
    assert_single(home.path(), FAKE);
}

#[test]
fn a_shard_that_would_cut_texts_fails_where_that_is_denied() {
    let home = folder(&[("docs/long.md", &format!("# Long\n\n{}\n", "word ".repeat(600)))]);
    let settings = ["--embedder", "fake", "--max", "4000"];
    ok(home.path(), &[&["index", "docs", "-o", "out"], &settings[..]].concat());
    let denied = [&settings[..], &["--deny-truncation"]].concat();
    plan(home.path(), 1, &denied);
    let (code, _, err) = run(home.path(), &shard("1/1"));
    assert!(code == 5 && err.contains("would be truncated to the"), "{code}: {err}");
}

#[test]
fn gc_knows_what_a_commit_that_was_stopped_had_put_in_place() {
    let home = corpus(12);
    plan(home.path(), 2, FAKE);
    // An abandoned first run can be removed.
    receipt(home.path(), "1/2");
    ok(home.path(), &["gc", "out", "--staging"]);
    assert_eq!(tree(&home.path().join("out")).len(), 0);
    for which in ["1/2", "2/2"] {
        receipt(home.path(), which);
    }
    let (name, bytes) =
        tree(&home.path().join("out")).into_iter().find(|(name, _)| name.ends_with(".parquet")).unwrap();
    let place = name.split('/').skip(2).collect::<Vec<_>>().join("/");
    fs::remove_file(home.path().join("out").join(&name)).unwrap();
    write(&home.path().join("out"), &place, &bytes);
    ok(home.path(), &["gc", "out"]);
    ok(home.path(), &COMMIT);
    assert_single(home.path(), FAKE);
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
    // A document that could not be read before counts as new when its part is rebuilt.
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
    tiny_model(&home.path().join("tiny"));
    let other = ["--model", "tiny", "--embedder", "candle"];
    refused(&[&shard("1/2")[..], &other].concat(), 2, "is for the model fake");
    // A document that changes between plan and run.
    receipt(home.path(), "1/2");
    receipt(home.path(), "2/2");
    for number in 0..12 {
        put(home.path(), &format!("docs/{number}.md"), &page(number, 5));
    }
    fs::remove_dir_all(home.path().join("out")).unwrap();
    refused(&shard("1/2"), 2, "was made for other documents");
    // A dataset that another run has changed.
    ok(home.path(), &[&["index", "docs", "-o", "out"], FAKE].concat());
    put(home.path(), "docs/3.md", &page(3, 6));
    plan(home.path(), 1, FAKE);
    receipt(home.path(), "1/1");
    put(home.path(), "docs/4.md", &page(4, 7));
    ok(home.path(), &[&["index", "docs", "-o", "out"], FAKE].concat());
    refused(&COMMIT, 5, "is not the one that the plan was made for");
    refused(&shard("1/1"), 5, "is not the one that the plan was made for");
    // A plan that was tampered with, and a file that is not a plan.
    let text = fs::read_to_string(home.path().join("plan.json")).unwrap();
    fs::write(home.path().join("plan.json"), text.replace("\"shards\": 1", "\"shards\": 2")).unwrap();
    refused(&COMMIT, 2, "was changed after it was made");
    fs::write(home.path().join("plan.json"), "{}").unwrap();
    refused(&COMMIT, 2, "is not a plan");
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
    // The same part with another file, as if a processor had made an error.
    let receipt = two.join("part-00000.json");
    let text = fs::read_to_string(&receipt).unwrap();
    let at = text.find("\"blake3\":\"").unwrap() + 10;
    fs::write(&receipt, format!("{}{}{}", &text[..at], "0".repeat(64), &text[at + 64..])).unwrap();
    let (code, _, err) = run(home.path(), &COMMIT);
    assert_eq!(code, 5, "{err}");
    assert!(err.contains("another attempt at part 0 produced different bytes"), "{err}");
    fs::remove_dir_all(two).unwrap();
    ok(home.path(), &COMMIT);
    assert_single(home.path(), FAKE);
}
