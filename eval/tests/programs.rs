//! The program as a whole: its help, its pages, its version, and the example that runs a sweep from code.

use std::process::Command;

use chunkmill_eval::cli::Cli;

use crate::built::example;
use crate::common::{arg, eval, folder};
use crate::pages;

#[test]
fn every_command_and_flag_has_help_a_page_and_completions() {
    pages::check::<Cli>(eval);
}

#[test]
fn the_book_has_every_command_and_flag() {
    pages::keep("reference/chunkmill-eval.md", "commands", &pages::commands::<Cli>());
}

#[test]
fn the_version_is_one_line_and_more_of_them_with_verbose() {
    let first = format!("chunkmill-eval {}\n", env!("CARGO_PKG_VERSION"));
    assert_eq!(eval(&["--version"]), (0, first.clone(), String::new()));
    let (code, out, _) = eval(&["--version", "--verbose"]);
    assert!(code == 0 && out.starts_with(&first), "{out}");
    for row in ["commit", "target", "features", "encoder", "threads", "model"] {
        assert!(out.contains(&format!("\n  {row} ")), "{row}: {out}");
    }
}

#[test]
fn quiet_leaves_only_results_and_errors_and_verbose_says_more() {
    let home = folder(&[
        ("set/corpus/a.md", "# Cats\n\nCats sleep on mats at night.\n"),
        ("sweep.toml", "[[grid]]\nmode = 'keyword'\n"),
        ("docs/bad.md", ""),
    ]);
    std::fs::write(home.path().join("docs/bad.md"), b"\xff\xff").unwrap();
    let page = concat!(env!("CARGO_MANIFEST_DIR"), "/../datasets/larder/corpus/guide/restore-files.md");
    std::fs::copy(page, home.path().join("docs/good.md")).unwrap();
    let question = r#"{"query_id":"q","query":"where do cats sleep?","references":[{"doc_id":"a.md","text":"Cats sleep on mats"}]}"#;
    std::fs::write(home.path().join("set/queries.jsonl"), format!("{question}\n")).unwrap();
    let [set, file, docs] = ["set", "sweep.toml", "docs"].map(|name| arg(&home.path().join(name)).to_owned());
    let sweep = |run: &str, flags: &[&str]| {
        let run = arg(&home.path().join(run)).to_owned();
        let all = ["sweep", "--labels", &set, "--sweep", &file, "-o", &run, "--embedder", "fake"];
        eval(&[flags, &all].concat())
    };
    let (code, out, err) = sweep("usual", &[]);
    assert!(code == 0 && out.contains("report.html") && err.contains("[1/1]") && !err.contains("snapshot"), "{err}");
    let (code, quiet, err) = sweep("quiet", &["-q"]);
    assert_eq!((code, err.as_str()), (0, ""));
    assert_eq!(quiet.lines().count(), out.lines().count(), "{quiet}");
    let (code, _, err) = sweep("verbose", &["-v"]);
    assert!(code == 0 && err.contains("[1/1]") && err.contains("snapshot") && err.contains("model "), "{err}");
    // Remarks are silenced, errors are not, wherever the flag stands.
    let made = arg(&home.path().join("made")).to_owned();
    let (code, _, err) = eval(&["synth", &docs, "-o", &made]);
    assert!(code == 0 && err.contains("WARN bad.md"), "{err}");
    assert_eq!(eval(&["synth", &docs, "-o", &made, "--quiet"]).2, "");
    let (code, _, err) = eval(&["-q", "verify", "nowhere"]);
    assert!(code != 0 && err.starts_with("error: "), "{err}");
    let (code, _, err) = eval(&["-q", "-v", "schema"]);
    assert!(code == 2 && err.contains("cannot be used with"), "{err}");
}

#[test]
fn the_example_sweeps_from_code() {
    let home = folder(&[]);
    let run = home.path().join("run");
    let labels = concat!(env!("CARGO_MANIFEST_DIR"), "/../datasets/larder");
    let mut command = Command::new(example("sweep"));
    command.env("CHUNKMILL_EMBEDDER", "fake").env("CHUNKMILL_EMBEDDING_CACHE", "off");
    let output = command.args([labels, arg(&run)]).output().unwrap();
    let [out, err] = [output.stdout, output.stderr].map(|bytes| String::from_utf8(bytes).unwrap());
    assert!(output.status.success(), "{out}{err}");
    let cells: Vec<(&str, f64)> = out
        .lines()
        .filter_map(|line| line.rsplit_once(": "))
        .filter_map(|(cell, value)| Some((cell, value.parse().ok()?)))
        .collect();
    let [(first, one), (second, other)] = cells[..] else { panic!("{out}") };
    assert!(first.contains("recursive") && second.contains("structure"), "{out}");
    // The corpus contains words of the questions, but not every question finds its answer.
    assert!([one, other].iter().all(|value| (0.3..1.0).contains(value)), "{out}");
    assert!(out.lines().count() > cells.len(), "there is no verdict: {out}");
    assert!(run.join("run.json").is_file());
}
