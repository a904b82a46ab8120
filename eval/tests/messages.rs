//! Messages about things that do not exist: printed once, with what to do, and exit code 2.

use crate::common::{METRIC, arg, eval, folder, report_of};

#[test]
fn a_file_that_is_not_there_is_said_once_with_what_to_do() {
    let report = report_of(&[("a", vec![Some(1.0)])]);
    let home = folder(&[
        ("run/report.json", &serde_json::to_string(&report).unwrap()),
        ("set/queries.jsonl", ""),
        ("docs/a.md", "# a\n"),
        ("sweep.toml", "[[grid]]\npreset = 'none'\n"),
        ("bytes", "x"),
    ]);
    std::fs::write(home.path().join("bytes"), b"\xff").unwrap();
    let at = |name: &str| home.path().join(name);
    let (nope, run, set, docs, sweep, bytes) =
        (at("nope"), at("run"), at("set"), at("docs"), at("sweep.toml"), at("bytes"));
    let [nope, run, set, docs, sweep, bytes] = [&nope, &run, &set, &docs, &sweep, &bytes].map(|path| arg(path));
    let out = at("new");
    let out = arg(&out);
    for args in [
        &["sweep", "--labels", set, "--sweep", nope, "-o", out][..],
        &["sweep", "--labels", nope, "--sweep", sweep, "-o", out],
        &["verify", nope],
        &["report", nope],
        &["report", run, "--baseline", nope],
        &["gate", nope, "--baseline", run],
        &["gate", run, "--baseline", nope],
        &["gate", run, "--baseline", run, "--thresholds", nope],
        &["diff", run, nope],
        &["agree", nope, run],
        &["baseline", nope, "-o", out],
        &["import", "squad", nope, "-o", out],
        &["import", "beir", nope, "-o", out],
        &["import", "qasper", nope, "-o", out],
        &["import", "narrativeqa", nope, "-o", out],
        &["import", "conteb", nope, "-o", out],
        &["import", "hicbench", nope, "-o", out],
        &["import", "legalbench-rag", nope, "-o", out],
        &["import", "miracl", nope, "--language", "sw", "-o", out],
        &["import", "trec", "--qrels", nope, "--queries", nope, "--corpus", docs, "-o", out],
        &["import", "chroma", "--corpora", docs, "--questions", nope, "-o", out],
        &["synth", nope, "-o", out],
    ] {
        let (code, said, err) = eval(args);
        assert_eq!((code, said.as_str()), (2, ""), "{args:?}: {err}");
        assert_eq!(err.matches("No such file").count(), 1, "{args:?}: {err}");
        assert!(err.contains("nope") && err.contains("\n  help: "), "{args:?}: {err}");
    }
    for args in [&["import", "squad", bytes, "-o", out][..], &["report", bytes], &["gate", run, "--baseline", bytes]] {
        let (code, _, err) = eval(args);
        assert!(code == 2 && err.contains(bytes) && err.matches("help: ").count() == 1, "{args:?}: {err}");
    }
}

#[test]
fn a_flag_that_is_not_a_number_says_what_it_should_be() {
    for (args, wanted) in [
        (&["recommend", "docs", "-o", "new", "--minutes", "ten"][..], "`ten` is not a whole number of 0 or more"),
        (&["synth", "docs", "-o", "new", "--queries", "0"], "`0` is not a whole number of 1 or more"),
        (&["synth", "docs", "-o", "new", "--seed", "x"], "`x` is not a whole number of 0 or more"),
        (&["gate", "run", "--baseline", "run", "--max-slower", "twice"], "`twice` is not a number"),
        (&["gate", "run", "--baseline", "run", "--max-larger", "1,5"], "`1,5` is not a number"),
    ] {
        let (code, said, err) = eval(args);
        assert_eq!((code, said.as_str()), (2, ""), "{args:?}: {err}");
        assert!(err.contains(wanted), "{args:?}: {err}");
    }
}

#[test]
fn a_gate_without_a_baseline_names_the_command_that_makes_one() {
    let report = report_of(&[("a", vec![Some(1.0)])]);
    let home = folder(&[("run/report.json", &serde_json::to_string(&report).unwrap())]);
    let (run, nope) = (home.path().join("run"), home.path().join("nope.json"));
    for args in [&["gate", arg(&run)][..], &["gate", arg(&run), "--baseline", arg(&nope)]] {
        let (code, _, err) = eval(args);
        assert!(code == 2 && err.contains("`chunkmill-eval baseline "), "{args:?}: {err}");
    }
    let kept = home.path().join("kept.json");
    assert_eq!(eval(&["baseline", arg(&run), "-o", arg(&kept), "--metric", METRIC]).0, 0);
    assert!(eval(&["gate", "--help"]).1.contains("--baseline <FILE> <RUN>"));
}

#[test]
fn what_was_meant_is_suggested() {
    let report = report_of(&[("a", vec![Some(1.0)])]);
    let home = folder(&[
        ("run/report.json", &serde_json::to_string(&report).unwrap()),
        ("sweep.toml", "[[grid]]\nmaxx = 3\n"),
        ("preset.toml", "[[grid]]\npreset = 'ragdoc'\n"),
        ("docs/a.md", "# a\n"),
    ]);
    let at = |name: &str| home.path().join(name);
    let (run, sweep, preset, docs, out) = (at("run"), at("sweep.toml"), at("preset.toml"), at("docs"), at("new"));
    let [run, sweep, preset, docs, out] = [&run, &sweep, &preset, &docs, &out].map(|path| arg(path));
    for (args, meant) in [
        (&["diff", run, run, "--metric", "recal_at_k"][..], METRIC),
        (&["gate", run, "--baseline", run, "--max-drop", "recal_at_k=0.1"], METRIC),
        (&["sweep", "--labels", docs, "--sweep", sweep, "--list"], "max"),
        (&["sweep", "--labels", docs, "--sweep", preset, "--list"], "ragdocs"),
        (&["synth", docs, "-o", out, "--kinds", "titles"], "title"),
    ] {
        let (code, _, err) = eval(args);
        assert!(code == 2 && err.contains(&format!("did you mean `{meant}`?")), "{args:?}: {err}");
    }
}

#[test]
fn a_switch_takes_a_value_in_both_forms_and_an_unknown_variable_is_said() {
    let home = folder(&[("sweep.toml", "[[grid]]\npreset = 'none'\n")]);
    let sweep = home.path().join("sweep.toml");
    let list = ["sweep", "--labels", "nowhere", "--sweep", arg(&sweep), "--list"];
    for switch in [
        &["--force-dimensions"][..],
        &["--force-dimensions", "false"],
        &["--force-dimensions", "true"],
        &["--force-dimensions=false"],
    ] {
        for args in [[&list[..], switch].concat(), [&list[..1], switch, &list[1..]].concat()] {
            let (code, said, err) = eval(&args);
            assert!(code == 0 && said.contains("none"), "{args:?}: {err}");
        }
    }
    let (code, _, err) = eval(&[&list[..], &["--force-dimensions=perhaps"]].concat());
    assert!(code == 2 && err.contains("write true or false"), "{err}");
    for (name, remark) in [("CHUNKMILL_DEVIZE", Some("did you mean `CHUNKMILL_DEVICE`?")), ("CHUNKMILL_DEVICE", None)] {
        let mut command = std::process::Command::new(env!("CARGO_BIN_EXE_chunkmill-eval"));
        let output = command.args(list).env(name, "cpu").output().unwrap();
        let err = String::from_utf8(output.stderr).unwrap();
        assert!(output.status.success(), "{err}");
        assert_eq!(remark.is_some(), err.contains("WARN"), "{err}");
        assert!(remark.is_none_or(|remark| err.contains(remark)), "{err}");
    }
}

#[test]
fn an_empty_output_is_a_usage_error() {
    for args in [
        &["sweep", "--labels", "set", "--sweep", "f"][..],
        &["recommend", "docs"],
        &["label", "docs"],
        &["synth", "docs"],
        &["report", "run"],
        &["baseline", "run"],
        &["table", "run"],
        &["import", "squad", "f"],
    ] {
        let (code, _, err) = eval(&[args, &["-o", ""]].concat());
        assert!(code == 2 && err.contains("--output"), "{args:?}: {err}");
    }
}
