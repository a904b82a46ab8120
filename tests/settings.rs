//! Settings: precedence, errors that name the place, and specs that are valid by construction.

use chunkmill::chunk::{Context, Preset, Settings, Spec, Strategy, Switch};
use chunkmill::config::Options;
use chunkmill::tokens::Unit;

use crate::common::{folder, json_lines, program, run, write};

fn spec(text: &str) -> Result<Spec, String> {
    text.parse::<Spec>().map_err(|error| error.to_string())
}

#[test]
fn every_preset_stands_for_its_seed() {
    for (preset, spec) in [
        (Preset::Ragdocs, "header unit=chars min=200 max=1500 overlap=50"),
        (Preset::Sections, "section unit=chars min=200 target=1500 max=3000 overlap=200"),
        (Preset::Docs, "semantic unit=estimate min=100 target=600 max=1000 overlap=60"),
        (Preset::Code, "code_aware unit=estimate min=100 target=400 max=800 overlap=60"),
        (Preset::Fixed, "fixed unit=estimate min=100 target=500 max=600 overlap=100"),
        (Preset::Pdf, "semantic unit=estimate min=100 target=500 max=1000 overlap=75"),
        (Preset::HeadingTokens, "heading unit=tokens max=512 overlap=50"),
        (Preset::LineThreshold, "lines unit=lines min=500 max=1000 overlap=0"),
        (Preset::None, "none"),
    ] {
        assert_eq!(preset.spec().to_string(), spec);
    }
    for preset in Preset::ALL {
        assert_eq!(spec(&preset.spec().to_string()).unwrap(), preset.spec());
        assert_eq!(Spec::resolve(&preset.spec().settings()).unwrap(), preset.spec());
        assert_eq!(spec(preset.name()).unwrap(), preset.spec());
    }
    assert_eq!(Preset::Structure.spec().to_string(), "structure unit=tokens min=32 max=128 overlap=0");
    assert_eq!(Preset::Structure.spec().context(), Context::Full);
    assert_eq!(Spec::default(), Preset::Structure.spec());
}

#[test]
fn contradictions_are_refused_with_their_numbers() {
    assert!(spec("header min=300 max=200").unwrap_err().contains("min 300 is over max 200"));
    assert!(spec("heading max=50 overlap=50").unwrap_err().contains("overlap 50 is not below max 50"));
    assert!(spec("header max=0").unwrap_err().contains("max is 0"));
    assert!(spec("header unit=furlongs").unwrap_err().contains("one of: chars, tokens, words, estimate, model, lines"));
    assert!(spec("sideways").unwrap_err().contains("one of: header, section, semantic"));
    assert!(spec("header max").unwrap_err().contains("cannot read `max`"));
}

#[test]
fn values_that_were_not_written_give_way() {
    assert_eq!(spec("ragdocs max=100").unwrap().to_string(), "header unit=chars min=100 max=100 overlap=50");
    assert_eq!(spec("heading-tokens max=40").unwrap().overlap(), 20);
    assert_eq!(spec("ragdocs min=5000").unwrap().max(), 5000);
}

#[test]
fn settings_that_a_strategy_does_not_read_make_no_difference() {
    assert_eq!(spec("heading min=9").unwrap(), spec("heading").unwrap());
    assert_eq!(spec("none max=10 unit=lines").unwrap(), spec("none").unwrap());
    assert_eq!(spec("none max=0 overlap=9").unwrap(), spec("none").unwrap());
    assert_eq!(spec("header target=3000").unwrap(), spec("header").unwrap());
    assert_eq!(spec("heading min=5000").unwrap(), spec("heading").unwrap());
    assert_ne!(spec("header min=9").unwrap().fingerprint(), spec("header").unwrap().fingerprint());
    let settings = Settings { strategy: Some(Strategy::Heading), min: Some(9), ..Settings::default() };
    assert_eq!(Spec::resolve(&settings).unwrap().unused(&settings), ["min"]);
    let settings = Settings { include_code: Some(false), respect_boundaries: Some(true), ..Settings::default() };
    assert_eq!(Spec::resolve(&settings).unwrap().unused(&settings), ["respect_boundaries", "include_code"]);
}

#[test]
fn every_switch_of_seed_3_is_a_setting() {
    let docs = Preset::Docs.spec();
    for (switch, on) in [
        (Switch::RespectBoundaries, true),
        (Switch::IncludeCode, true),
        (Switch::IncludeTables, true),
        (Switch::NormalizeWhitespace, true),
        (Switch::NormalizeUnicode, true),
        (Switch::RedactUrls, false),
    ] {
        assert_eq!(docs.is_on(switch), on, "{}", switch.name());
        let other = spec(&format!("docs {}={}", switch.name(), !on)).unwrap();
        assert_eq!(other.is_on(switch), !on);
        assert_ne!(other.fingerprint(), docs.fingerprint());
        assert_eq!(spec(&other.to_string()).unwrap(), other);
    }
    for (estimator, unit) in [("bytes", Unit::Estimate), ("chars", Unit::Chars), ("tiktoken", Unit::Tokens)] {
        assert_eq!(spec(&format!("docs token_estimator={estimator}")).unwrap().unit(), unit);
    }
    let with_base = spec("docs base_url=https://example.org/docs").unwrap();
    assert_eq!(with_base.base_url().unwrap().as_str(), "https://example.org/docs/");
    assert_eq!(spec(&with_base.to_string()).unwrap(), with_base);
    assert!(spec("docs base_url=docs").unwrap_err().contains("is not a URL"));
    assert!(spec("docs base_url=mailto:a@example.org").unwrap_err().contains("is not the URL of a folder"));
    assert!(spec("docs include_code=perhaps").unwrap_err().contains("write true or false"));
}

#[test]
fn any_strategy_runs_with_any_unit() {
    for strategy in Strategy::ALL {
        for unit in Unit::ALL {
            let spec = spec(&format!("{strategy} unit={unit} max=77")).unwrap();
            assert!(strategy == Strategy::None || spec.unit() == unit);
        }
    }
}

#[test]
fn fingerprints_are_stable() {
    // Datasets are compared by these: a change requires a new version of the chunker.
    assert_eq!(Preset::Ragdocs.spec().fingerprint(), "76c79827630ddbe3");
    assert_eq!(
        Preset::HeadingTokens.spec().fingerprint(),
        spec("heading unit=tokens max=512 overlap=50").unwrap().fingerprint()
    );
}

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
    assert!(err.contains("environment variable CHUNKMILL_UNIT: `inches`"), "{err}");
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
