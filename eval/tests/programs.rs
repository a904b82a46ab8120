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
    let (code, _, err) = eval(&["--verbose", "schema"]);
    assert!(code == 2 && err.contains("--version"), "{err}");
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
