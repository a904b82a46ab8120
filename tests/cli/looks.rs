//! What stands out on a terminal is plain in a pipe, and what a result says is not said twice.

use std::path::Path;

use tempfile::TempDir;

use crate::common::{finish, folder, program, run};

const TEXT: &str =
    "# Guide\n\n## In the console\n\nTo restore one file, open the **console**:\n\n```sh\nlarder restore FILE\n```\n";

fn dataset() -> TempDir {
    let home = folder(&[("docs/guide.md", TEXT)]);
    assert_eq!(run(home.path(), &["index", "docs", "-o", "out", "--embedder", "fake"]).0, 0);
    home
}

fn with(home: &Path, variables: &[(&str, &str)], args: &[&str]) -> (i32, String, String) {
    finish(program(home).args(args).envs(variables.iter().copied()).output().unwrap())
}

const SEARCH: [&str; 5] = ["search", "out", "how do I restore files?", "--mode", "keyword"];

#[test]
fn places_and_words_of_the_question_stand_out_where_colours_are_wanted() {
    let home = dataset();
    let (_, plain, _) = with(home.path(), &[], &SEARCH);
    assert!(!plain.contains('\x1b'), "{plain:?}");
    let (_, colored, _) = with(home.path(), &[("CLICOLOR_FORCE", "1")], &SEARCH);
    assert!(colored.contains("\x1b[36mguide.md:"), "{colored:?}");
    for word in ["restore", "file"] {
        assert!(colored.contains(&format!("\x1b[33m{word}\x1b[0m")), "{word}: {colored:?}");
    }
    let mut stripped = String::new();
    for (at, part) in colored.split("\x1b[").enumerate() {
        stripped += if at == 0 { part } else { part.split_once('m').unwrap().1 };
    }
    assert_eq!(stripped, plain, "the same text");
    let (_, refused, _) = with(home.path(), &[("CLICOLOR_FORCE", "1"), ("NO_COLOR", "1")], &SEARCH);
    assert_eq!(refused, plain);
}

#[test]
fn errors_look_like_those_of_the_command_line() {
    let home = dataset();
    let colored = |args: &[&str]| with(home.path(), &[("CLICOLOR_FORCE", "1")], args).2;
    let (ours, theirs) = (colored(&["search", "nowhere", "x"]), colored(&["search", "--no-such-flag"]));
    let start = |text: &str| text.split("error:").next().unwrap().to_owned();
    assert!(ours.starts_with("\x1b[1m\x1b[31merror:\x1b[0m "), "{ours:?}");
    assert_eq!(start(&ours), start(&theirs), "{theirs:?}");
    assert!(ours.contains("\n  \x1b[32mhelp:\x1b[0m "), "{ours:?}");
    let (_, _, plain) = run(home.path(), &["search", "nowhere", "x"]);
    assert!(plain.starts_with("error: ") && plain.contains("help: "), "{plain:?}");
}

#[test]
fn a_snippet_does_not_repeat_its_heading_or_show_fences() {
    let home = dataset();
    let (_, out, _) = run(home.path(), &SEARCH);
    let lines: Vec<&str> = out.lines().collect();
    assert!(lines[0].contains("guide.md:") && lines[0].ends_with("Guide > In the console"), "{out}");
    assert!(out.contains("    To restore one file, open the **console**: larder restore FILE"), "{out}");
    assert!(!out.contains("```") && !out.contains("##"), "{out}");
}

#[test]
fn help_is_at_most_100_columns_wide() {
    for args in [&["index", "--help"][..], &["search", "-h"], &["--help"]] {
        let (code, out, _) = run(Path::new("."), args);
        assert_eq!(code, 0);
        for line in out.lines().filter(|line| !line.trim_start().starts_with("chunkmill")) {
            assert!(line.chars().count() <= 100, "{args:?}: {line}");
        }
    }
}
