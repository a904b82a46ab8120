//! What is said when something was asked for that is not there: once, with what to do, and with what was meant.

use chunkmill::chunk::{Preset, Spec, Strategy};
use chunkmill::value::nearest;

use crate::common::{finish, folder, json_lines, program, run, write};

#[test]
fn a_name_that_is_none_is_answered_with_all_and_the_nearest() {
    for (written, meant) in
        [("ragdoc", "ragdocs"), ("heading", "heading-tokens"), ("Docs", "docs"), ("strcuture", "structure")]
    {
        let said = written.parse::<Preset>().unwrap_err();
        assert!(said.starts_with(&format!("`{written}` is not a preset; one of: ragdocs, ")), "{said}");
        assert!(said.ends_with(&format!("; did you mean `{meant}`?")), "{said}");
    }
    let said = "sideways".parse::<Strategy>().unwrap_err();
    assert!(said.ends_with("none") && !said.contains("did you mean"), "{said}");
    let names = ["max", "min", "max-file-size", "mode"];
    for (written, meant) in
        [("mx", Some("max")), ("max-f", Some("max-file-size")), ("mxa", Some("max")), ("m", None), ("zzz", None)]
    {
        assert_eq!(nearest(written, names), meant, "{written}");
    }
}

/// Whatever enumeration a flag takes, a slip of a letter is answered with the name.
#[test]
fn every_enumeration_suggests() {
    let home = folder(&[("doc.md", "x\n")]);
    for (args, meant) in [
        (&["chunk", "doc.md", "--preset", "ragdosc"][..], "ragdocs"),
        (&["chunk", "doc.md", "--strategy", "windws"], "windows"),
        (&["chunk", "doc.md", "--unit", "token"], "tokens"),
        (&["chunk", "doc.md", "--token-estimator", "byte"], "bytes"),
        (&["chunk", "doc.md", "--security", "strikt"], "strict"),
        (&["chunk", "doc.md", "--device", "cpus"], "cpu"),
        (&["chunk", "doc.md", "--embedder", "candel"], "candle"),
        (&["chunk", "doc.md", "--precision", "f23"], "f32"),
        (&["chunk", "doc.md", "--precision", "auot"], "auto"),
        (&["chunk", "doc.md", "--cpu-isa", "avx"], "avx2"),
        (&["search", "out", "q", "--mode", "keywords"], "keyword"),
        (&["search", "out", "q", "--show", "document"], "documents"),
        (&["schema", "--embedding-type", "f61"], "f16"),
        (&["index", "doc.md", "-o", "out", "--float-encoding", "plan"], "plain"),
        (&["index", "doc.md", "-o", "out", "--progress", "jsn"], "json"),
        (&["explain", "doc.md", "--compare=ragdoc"], "ragdocs"),
        (&["explain", "doc.md", "--compare=header maxx=3"], "max"),
    ] {
        let (code, _, err) = run(home.path(), args);
        assert!(code == 2 && err.contains(&format!("did you mean `{meant}`?")), "{args:?}: {err}");
    }
}

#[test]
fn a_mistyped_flag_suggests_the_nearest_and_not_the_longest() {
    let home = folder(&[("doc.md", "x\n")]);
    for (written, meant) in [
        ("--mx", "--max"),
        ("--maxx", "--max"),
        ("--presett", "--preset"),
        ("--max-file", "--max-file-size"),
        ("--quite", "--quiet"),
    ] {
        let (code, _, err) = run(home.path(), &["chunk", "doc.md", written, "3"]);
        assert_eq!(code, 2);
        assert!(err.contains(&format!("'{meant}'")), "{written}: {err}");
        let flags = ["--max-file-size", "--max'", "--preset", "--quiet"].into_iter().filter(|flag| err.contains(flag));
        assert_eq!(flags.count(), 1, "{written}: {err}");
        assert!(err.contains("Usage: chunkmill chunk [OPTIONS] <PATH>..."), "{err}");
    }
}

#[test]
fn a_cause_is_said_once_with_what_to_do() {
    let home = folder(&[("doc.md", "x\n")]);
    for args in [
        &["chunk", "nope"][..],
        &["chunk", "doc.md", "--config", "nope.toml"],
        &["run", "--plan", "nope", "--shard", "1/1", "-o", "out"],
        &["commit", "--plan", "nope", "-o", "out"],
    ] {
        let (code, _, err) = run(home.path(), args);
        assert_eq!(code, 2, "{args:?}: {err}");
        assert_eq!(err.matches("No such file").count(), 1, "{args:?}: {err}");
        assert!(err.contains("nope") && err.contains("\n  help: "), "{args:?}: {err}");
    }
}

#[test]
fn a_maximum_with_room_for_a_word_is_legal_and_told() {
    let home = folder(&[("doc.md", "Some words of one document.\n")]);
    let said = |args: &[&str]| {
        let (code, out, err) = run(home.path(), &[&["chunk", "doc.md", "--overlap", "0", "--min", "1"], args].concat());
        assert_eq!(code, 0, "{err}");
        assert!(!json_lines(&out).is_empty());
        err
    };
    for small in [
        &["--max", "1"][..],
        &["--max", "1", "--unit", "tokens"],
        &["--max", "2", "--unit", "words"],
        &["--max", "9", "--unit", "chars"],
    ] {
        let err = said(small);
        assert!(err.contains("room for a word or two") && err.contains("--max"), "{small:?}: {err}");
        assert_eq!(run(home.path(), &[&["-q", "chunk", "doc.md", "--min", "1"], small].concat()).2, "");
    }
    for fine in [&["--max", "40"][..], &["--max", "1", "--unit", "lines"], &["--max", "8", "--unit", "tokens"]] {
        assert_eq!(said(fine), "", "{fine:?}");
    }
    // What has no maximum has none that is small.
    assert!(!"none".parse::<Spec>().unwrap().is_tiny());
}

#[test]
fn a_settings_file_that_is_named_stands_for_the_projects() {
    let home = folder(&[
        ("work/doc.md", "# a\n\nx\n"),
        ("work/chunkmill.toml", "[chunking]\nmax = 100\n[corpus]\nexclude = [\"*.rst\"]\n"),
        ("one.toml", "[chunking]\nmax = 200\n"),
        ("two.toml", "[chunking]\nmax = 300\n"),
        ("wrong.toml", "[chunking]\n\nmx = 1\n"),
        (".config/chunkmill/config.toml", "[chunking]\nmin = 7\n"),
    ]);
    let explain = |variable: &str, args: &[&str]| {
        let mut command = program(home.path());
        command.current_dir(home.path().join("work")).args(["explain", "doc.md"]).args(args);
        finish(command.env("CHUNKMILL_CONFIG", variable).output().unwrap())
    };
    for (variable, args, max) in [
        ("", &[][..], "max=100"),
        ("../one.toml", &[], "max=200"),
        ("../one.toml", &["--config", "../two.toml"], "max=300"),
        ("missing.toml", &["--config", "../two.toml"], "max=300"),
        ("../one.toml", &["--max", "50"], "max=50"),
    ] {
        let (code, out, err) = explain(variable, args);
        assert_eq!(code, 0, "{err}");
        assert!(out.contains(max) && out.contains("min=7"), "the user's own still counts: {out}");
    }
    for (variable, args, problem) in [
        ("missing.toml", &[][..], "cannot read missing.toml: "),
        ("", &["--config", "missing.toml"], "cannot read missing.toml: "),
        ("", &["--config", ".."], "cannot read ..: "),
        ("", &["--config", "../wrong.toml"], "../wrong.toml:3: unknown field `mx`"),
    ] {
        let (code, out, err) = explain(variable, args);
        assert_eq!((code, out.as_str()), (2, ""), "{err}");
        assert!(err.contains(problem) && err.contains("help: "), "{err}");
    }
    // A model's folder, and who answers, as the one who names the file has chosen them.
    write(home.path(), "answer.toml", b"[answer]\nendpoint = \"http://127.0.0.1:9/v1\"\nmodel = \"m\"\n");
    assert_eq!(run(home.path(), &["index", "work", "-o", "out", "--embedder", "fake"]).0, 0);
    let ask = ["answer", "out", "a", "--mode", "keyword", "--config"];
    let (code, _, err) = run(home.path(), &[&ask[..], &["answer.toml"]].concat());
    assert!(code == 5 && err.contains("127.0.0.1:9"), "{code} {err}");
}
