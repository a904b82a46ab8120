//! Settings: which source goes before which, and errors that name the place.

use chunkmill::config::Options;

use crate::common::{folder, json_lines, program, run, write};

#[test]
fn a_wrong_settings_file_is_reported_with_file_and_line() {
    for (text, line, problem) in [
        ("[chunking]\nmax = 10\nmaxx = 3\n", 3, "there is no setting `maxx` here"),
        ("[chunking]\nunit = \"inches\"\n", 2, "not a unit"),
        ("threads = \"two\"\n", 1, "invalid type"),
        ("\n\n[chunking\n", 3, ""),
        ("[embedding]\n\ndevice = \"gpu\"\n", 3, "not a device"),
    ] {
        let error = Options::parse(text, "chunkmill.toml").unwrap_err();
        let message = error.to_string();
        assert!(message.starts_with(&format!("chunkmill.toml:{line}: ")) && message.contains(problem), "{message}");
        assert_eq!(error.exit_code(), 2);
    }
}

fn chunk_count(command: &mut std::process::Command) -> usize {
    let output = command.output().unwrap();
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    json_lines(&String::from_utf8(output.stdout).unwrap()).len()
}

#[test]
fn flags_go_over_environment_over_project_over_user_over_defaults() {
    let text: String = (0..64).map(|i| format!("line {i}\n\n")).collect();
    let home = folder(&[("doc.md", &text)]);
    let chunk = || {
        let mut command = program(home.path());
        command.args(["chunk", "doc.md", "--unit", "lines", "--overlap", "0", "--min", "1"]);
        command
    };
    assert_eq!(chunk_count(&mut chunk()), 1, "default: 1500 lines");
    write(home.path(), ".config/chunkmill/config.toml", b"[chunking]\nmax = 63\n");
    assert_eq!(chunk_count(&mut chunk()), 2, "user file: 32 lines of text in 63");
    write(home.path(), "chunkmill.toml", b"[chunking]\nmax = 15\n");
    let project = chunk_count(&mut chunk());
    assert_eq!(project, 8, "project file: 8 lines of text in 15");
    assert_eq!(chunk_count(chunk().env("CHUNKMILL_MAX", "7")), 16, "environment");
    assert_eq!(chunk_count(chunk().env("CHUNKMILL_MAX", "7").args(["--max", "3"])), 32, "flag");
}

#[test]
fn a_preset_named_in_a_flag_is_not_mixed_with_sizes_from_a_file() {
    let home = folder(&[("doc.md", "# a\n\nx\n"), ("chunkmill.toml", "[chunking]\nstrategy = \"none\"\n")]);
    let (_, out, _) = run(home.path(), &["chunk", "doc.md"]);
    assert_eq!(json_lines(&out)[0]["kind"], "document");
    let (_, out, _) = run(home.path(), &["chunk", "doc.md", "--preset", "heading-tokens"]);
    assert_eq!(json_lines(&out)[0]["chunk_id"], "doc.md#0");
}

#[test]
fn a_preset_does_not_switch_redaction_off() {
    let home =
        folder(&[("doc.md", "<https://x.org/a?key=secret>\n"), ("chunkmill.toml", "[chunking]\nredact_urls = true\n")]);
    for args in [&["chunk", "doc.md"][..], &["chunk", "doc.md", "--preset", "sections"]] {
        let (_, out, _) = run(home.path(), args);
        assert_eq!(json_lines(&out)[0]["normalized_content"], "<https://x.org/a>", "{args:?}");
    }
}

#[test]
fn globs_may_hold_commas_in_braces() {
    let home = folder(&[("d/a.md", "x"), ("d/b.py", "x"), ("d/c.rs", "x")]);
    let chunk = || {
        let mut command = program(home.path());
        command.args(["chunk", "d"]);
        command
    };
    assert_eq!(chunk_count(chunk().args(["--include", "*.{md,py}"])), 2);
    assert_eq!(chunk_count(chunk().args(["--include", "*.{md,py},*.rs"])), 3);
    assert_eq!(chunk_count(chunk().env("CHUNKMILL_INCLUDE", "*.{md,py},*.rs")), 3);
}

#[test]
fn a_preset_in_a_flag_is_not_mixed_with_the_environment_either() {
    let home = folder(&[("doc.md", "# a\n\nx\n")]);
    let explain = |variable: (&str, &str), args: &[&str]| {
        let output =
            program(home.path()).args(["explain", "doc.md"]).args(args).env(variable.0, variable.1).output().unwrap();
        crate::common::finish(output)
    };
    let (_, out, _) = explain(("CHUNKMILL_STRATEGY", "none"), &["--preset", "heading-tokens"]);
    assert!(out.contains("with heading unit=tokens max=512 overlap=50"), "{out}");
    let (_, out, _) = explain(("CHUNKMILL_MAX", "100"), &["--preset", "heading-tokens"]);
    assert!(out.contains("max=512"), "{out}");
    let (_, out, _) = explain(("CHUNKMILL_MAX", "100"), &[]);
    assert!(out.contains("max=100"), "{out}");
    assert_eq!(explain(("CHUNKMILL_PRESET", ""), &[]).0, 0, "an empty variable is ignored");
    assert_eq!(explain(("CHUNKMILL_DENY_TRUNCATION", "1"), &[]).0, 0);
    let (code, _, err) = explain(("CHUNKMILL_UNIT", "inches"), &[]);
    assert_eq!(code, 2);
    assert!(err.contains("environment variable CHUNKMILL_UNIT: `inches` is not a unit; one of: "), "{err}");
}

#[test]
fn a_switch_in_a_file_can_be_turned_off_by_a_flag() {
    let home = folder(&[
        ("docs/a.md", &"word ".repeat(270)),
        ("chunkmill.toml", "[chunking]\npreset = 'ragdocs'\n[embedding]\ndeny_truncation = true\n"),
    ]);
    let index =
        |flag: &[&str]| run(home.path(), &[&["index", "docs", "-o", "out", "--embedder", "fake"], flag].concat()).0;
    assert_eq!(index(&[]), 5);
    assert_eq!(index(&["--deny-truncation=false"]), 0);
}

#[test]
fn wrong_flags_are_usage_errors() {
    let home = folder(&[("doc.md", "x")]);
    for args in [
        &["chunk", "doc.md", "--unit", "inches"][..],
        &["chunk", "doc.md", "--min", "9", "--max", "3"],
        &["chunk"],
        &["chunk", "missing.md"],
        &["chunk", "doc.md", "--include", "a["],
        &["index", "doc.md"],
        &["index", "doc.md", "-o", "out", "--device", "gpu"],
        &["index", "doc.md", "-o", "out", "--files", "0", "--embedder", "fake"],
        &["nonsense"],
    ] {
        let (code, out, err) = run(home.path(), args);
        assert_eq!(code, 2, "{args:?}: {err}");
        assert!(out.is_empty() && err.contains("error"), "{args:?}: {err}");
    }
    assert!(!home.path().join("out").exists(), "nothing was written");
}
