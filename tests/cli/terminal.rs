//! No text of a document, a path, a setting or a service acts as a command on the terminal.

use std::collections::BTreeSet;
use std::fs;
use std::io::Write;
use std::process::{Command, Stdio};

use clap::CommandFactory;
use serde_json::Value;
use tempfile::TempDir;

use crate::cli::filter as table;
use crate::common::{PROGRAM, finish, folder, json_lines, program, tiny_model, write};
use crate::hostile::{HOSTILE, Tried, assert_tame, commands, page, quoted};
use crate::search::answer::Service;

/// A corpus, a dataset and a model whose names are hostile too.
struct Stage {
    home: TempDir,
    all: BTreeSet<String>,
    tried: Tried,
}

impl Stage {
    fn new() -> Self {
        let home = folder(&[]);
        let docs = home.path().join(format!("docs {HOSTILE}"));
        write(&docs, &format!("{HOSTILE}.md"), page().as_bytes());
        write(&docs, "plain.md", b"# Plain\n\nBackups are kept here too.\n");
        write(&docs, &format!("bad {HOSTILE}.md"), b"\xff\xff");
        #[cfg(unix)]
        {
            use std::os::unix::ffi::OsStrExt;
            fs::write(docs.join(std::ffi::OsStr::from_bytes(b"no \xff utf8 \x1b[2J.md")), "x").unwrap();
            std::os::unix::fs::symlink("nowhere", docs.join(format!("link {HOSTILE}.md"))).unwrap();
        }
        tiny_model(&home.path().join(format!("model {HOSTILE}")));
        Self { home, all: commands(&chunkmill::cli::Cli::command()), tried: Tried::default() }
    }

    fn command(&self, args: &[&str]) -> Command {
        let mut command = program(self.home.path());
        // Nothing is requested from the hub.
        command.env("HF_HUB_OFFLINE", "1").env("HF_HOME", self.home.path().join("hub")).env("NO_PROXY", "127.0.0.1");
        command.args(args);
        command
    }

    /// Runs a command, whose output must be harmless, and returns its exit code, standard output and standard error.
    /// The output must contain the texts `shows`, which proves that there was something to see.
    fn run(&mut self, args: &[&str], shows: &[&str]) -> (i32, String, String) {
        self.tried.add(args, &self.all);
        let (code, out, err) = finish(self.command(args).output().unwrap());
        for (stream, text) in [("stdout", &out), ("stderr", &err)] {
            assert_tame(&format!("{stream} of {args:?}"), text);
        }
        for text in shows {
            assert!(out.contains(text) || err.contains(text), "{args:?} does not show {text}: {out}{err}");
        }
        (code, out, err)
    }
}

const WORDS: &[&str] = &["x\\x1b]0;owned\\x07\\x1b[2J\\u{9b}31m\\x7f\\x08\\u{202e}\\u{2066}\\u{2028}"];
const JSON: &[&str] = &[r"x\u001b]0;owned\u0007\u001b[2J\u009b31m\u007f\b\u202e\u2066\u2028"];
const NEITHER: &[&str] = &[];

fn with<'a>(args: &[&'a str], more: &[&'a str]) -> Vec<&'a str> {
    [args, more].concat()
}

#[test]
fn no_command_lets_a_document_speak_to_the_terminal() {
    let mut stage = Stage::new();
    let [docs, out, shards, model, file] =
        ["docs", "out", "shards", "model", "file"].map(|name| format!("{name} {HOSTILE}"));
    let [docs, out, shards, model, file] = [&docs, &out, &shards, &model, &file].map(String::as_str);
    let evil = format!("{docs}/{HOSTILE}.md");
    let id = format!("{HOSTILE}.md");
    let fake = ["--embedder", "fake"];

    // Commands that skip documents report which ones, and why.
    let allowed = ["--preset", "sections", "--allow-blocked"];
    let (code, lines, _) = stage.run(&with(&["-v", "chunk", docs], &allowed), WORDS);
    assert_eq!(code, 3);
    let lines = json_lines(&lines);
    let contents: String = lines.iter().map(|line| line["content"].as_str().unwrap()).collect();
    assert!(contents.contains(HOSTILE), "and the data are exact");
    assert!(lines.iter().any(|line| line["path"] == id.as_str()));
    stage.run(&with(&["chunk", docs], &allowed), JSON);
    let index = ["index", docs, "-o", out, "--progress", "plain", "--progress-interval", "0"];
    stage.run(&with(&index, &fake), WORDS);
    stage.run(
        &with(&index, &["--embedder", "fake", "--allow-blocked", "--preset", "sections", "--json", "-vv"]),
        NEITHER,
    );
    stage.run(&with(&["plan", docs, "-o", out], &fake), NEITHER);
    let (_, plan, _) =
        stage.run(&with(&["plan", docs, "-o", shards, "--shards", "1", "--allow-blocked", "-v"], &fake), JSON);
    write(stage.home.path(), file, plan.as_bytes());
    assert_eq!(
        stage.run(&with(&["run", "--plan", file, "--shard", "1/1", "-o", shards], &["--progress", "json"]), NEITHER).0,
        0
    );
    stage.run(&["formats"], NEITHER);
    stage.run(&["gc", shards, "--dry-run"], WORDS);
    stage.run(&["gc", shards, "--json"], NEITHER);
    assert_eq!(stage.run(&["commit", "--plan", file, "-o", shards], WORDS).0, 3);
    stage.run(&["promote", shards, &id, HOSTILE], &["u{1b}"]);
    stage.run(&with(&["promote", shards, HOSTILE, "draft"], &["--json"]), WORDS);

    // Commands that read a dataset.
    for mode in ["keyword", "vector", "hybrid", "graph"] {
        for show in ["chunks", "documents", "both"] {
            let ask = ["search", out, "backups jars", "--mode", mode, "--show", show];
            assert_eq!(stage.run(&ask, WORDS).0, 0);
            assert_eq!(stage.run(&with(&ask, &["--json"]), JSON).0, 0);
        }
    }
    stage.run(&["search", out, HOSTILE, "--mode", HOSTILE], WORDS);
    assert_eq!(stage.run(&["context", out, "backups", "--mode", "keyword"], WORDS).0, 0);
    let (_, context, _) = stage.run(&["context", out, "backups", "--mode", "keyword", "--json"], JSON);
    assert!(serde_json::from_str::<Value>(&context).unwrap()["text"].as_str().unwrap().contains(HOSTILE));
    let service = Service::saying(&format!("Thirty days [1]. {HOSTILE}"));
    let ask =
        ["answer", out, "backups", "--mode", "keyword", "--answer-model", "m", "--answer-endpoint", &service.endpoint];
    assert_eq!(stage.run(&ask, WORDS).0, 0);
    assert_eq!(stage.run(&with(&ask, &["--json"]), JSON).0, 0);
    let refusal = Service::status("400 Bad Request", HOSTILE);
    let ask = ["answer", out, "backups", "--mode", "keyword", "--answer-model", HOSTILE];
    assert_eq!(stage.run(&with(&ask, &["--answer-endpoint", &refusal.endpoint]), &["\\x1b"]).0, 5);
    stage.run(&["stats", out], NEITHER);
    stage.run(&with(&["stats", out], &["--json"]), NEITHER);
    stage.run(&["explain", &evil], WORDS);
    stage.run(&with(&["explain", &evil], &["--layer"]), WORDS);
    stage.run(&with(&["explain", &evil], &["--json"]), JSON);
    stage.run(&with(&["explain", &evil], &["--compare"]), WORDS);
    stage.run(&with(&["explain", &evil, "--compare=docs,ragdocs"], &["--json"]), NEITHER);
    stage.run(&with(&["explain", &evil], &[&format!("--compare={HOSTILE}")]), WORDS);
    // The demo finds no model, but has printed the name of its folder by then.
    assert_eq!(stage.run(&["demo", &format!("demo {HOSTILE}")], WORDS).0, 5);
    stage.run(&["schema"], NEITHER);
    stage.run(&["schema", "--json"], NEITHER);
    for shell in ["bash", "zsh", "fish", "powershell", "elvish"] {
        stage.run(&["completions", shell], NEITHER);
    }
    stage.run(&["man"], NEITHER);
    stage.run(&["man", HOSTILE], WORDS);
    stage.run(&["schema", "--settings"], NEITHER);
    stage.run(&["model", "check", model], WORDS);
    stage.run(&["model", "pull", model], WORDS);
    stage.run(&["model", "pull", "--from", model], NEITHER);
    stage.run(&["model", "list"], NEITHER);

    // Data that no longer fit together.
    write(stage.home.path(), &evil, b"# Other\n\nAnother text.\n");
    assert_eq!(stage.run(&["verify", out, "--corpus", docs], WORDS).0, 1);
    assert_eq!(stage.run(&["verify", out, "--corpus", docs, "--json"], JSON).0, 1);
    let (_, stats, _) = stage.run(&["stats", out, "--json"], NEITHER);
    let snapshot = json_lines(&stats)[0]["snapshot"].as_str().unwrap().to_owned();
    stage.run(&["delete", out, &id], NEITHER);
    stage.run(&["delete", out, &id], WORDS);
    stage.run(&["changes", out, "--since", &snapshot], WORDS);
    stage.run(&["changes", out, "--since", &snapshot, "--json"], NEITHER);
    stage.run(&["sync", out, HOSTILE], NEITHER);

    // A table in, a table out: the output is not text, but the messages are.
    let rows =
        table::table(&[("doc_id", table::strings(&[HOSTILE, "b.md"])), ("text", table::strings(&[&page(), "# b\n"]))]);
    let mut filter = stage.command(&["filter", "--embedding-type", "f32"]);
    filter.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
    let mut child = filter.spawn().unwrap();
    child.stdin.take().unwrap().write_all(&table::stream(&rows, 1)).unwrap();
    let output = child.wait_with_output().unwrap();
    assert_eq!(output.status.code(), Some(3), "the hostile one is blocked");
    assert_tame("filter", &String::from_utf8(output.stderr).unwrap());
    stage.run(&["filter", "--embedder", HOSTILE], WORDS);

    stage.tried.assert_are(&stage.all);
}

#[test]
fn no_command_line_and_no_setting_speaks_to_the_terminal() {
    let mut stage = Stage::new();
    let flag = format!("--{HOSTILE}");
    let settings = format!("settings {HOSTILE}.toml");
    for text in [format!("[chunking]\npreset = {}\n", quoted()), format!("[chunking]\n{} = 1\n", quoted())] {
        write(stage.home.path(), &settings, text.as_bytes());
        let (code, _, _) = stage.run(&["chunk", ".", "--config", &settings], WORDS);
        assert_eq!(code, 2);
    }
    // The arguments of `sync` are another program's.
    for command in stage.all.clone().into_iter().filter(|command| command != "sync") {
        let words: Vec<&str> = command.split(' ').collect();
        // The messages differ, but there always is one.
        let (code, _, err) = stage.run(&[&words[..], &[&flag]].concat(), WORDS);
        assert!(code == 2 && !err.is_empty(), "{command}: {err}");
        let (code, _, err) = stage.run(&[&words[..], &[HOSTILE; 4]].concat(), NEITHER);
        assert!(code != 0 && !err.is_empty(), "{command}: {err}");
    }
    for (variable, shown) in [("CHUNKMILL_MAX", true), ("CHUNKMILL_CONFIG", true), ("CHUNKMILL_EMBEDDER", true)] {
        let output = stage.command(&["chunk", "."]).env(variable, HOSTILE).output().unwrap();
        let (code, out, err) = finish(output);
        assert_eq!((code, out.as_str()), (2, ""), "{variable}: {err}");
        assert_tame(variable, &err);
        assert_eq!(err.contains(WORDS[0]), shown, "{err}");
    }
    // The name under which the program was called is harmless too.
    #[cfg(unix)]
    {
        let called = stage.home.path().join(HOSTILE);
        std::os::unix::fs::symlink(PROGRAM, &called).unwrap();
        for args in [&["--help"][..], &["chunk"], &["--nonsense"]] {
            let (_, out, err) = finish(Command::new(&called).args(args).output().unwrap());
            assert_tame("help", &(out + &err));
        }
    }
}

/// Returns what a program shows on a terminal of its own.
#[cfg(unix)]
fn on_a_terminal(command: &mut Command, args: &[&str]) -> String {
    let spawn = "import pty, sys; sys.exit(0 if pty.spawn(sys.argv[1:]) >= 0 else 1)";
    let home = command.get_current_dir().unwrap().to_owned();
    let mut python = Command::new("python3");
    for (name, value) in command.get_envs() {
        match value {
            Some(value) => python.env(name, value),
            None => python.env_remove(name),
        };
    }
    python.env_remove("NO_COLOR").env("TERM", "xterm").current_dir(home);
    let output = python.args(["-c", spawn]).args(args).stdin(Stdio::null()).output().unwrap();
    // The terminal has its own line ends.
    String::from_utf8(output.stdout).unwrap().replace("\r\n", "\n")
}

#[cfg(unix)]
#[test]
fn our_own_colours_reach_a_terminal_and_nothing_else() {
    let stage = Stage::new();
    let docs = format!("docs {HOSTILE}");
    let colours = |text: &str| -> String {
        let mut rest = text.to_owned();
        for code in ["0", "1", "2", "3", "4", "31", "32", "33", "1;31", "1;32", "1;33", "1m\u{1b}[31"] {
            rest = rest.replace(&format!("\u{1b}[{code}m"), "");
        }
        rest
    };
    for args in [
        &["chunk", &docs, "--preset", "heading-tokens"][..],
        &["chunk", &docs, "--unit", HOSTILE],
        &["chunk", &format!("--{HOSTILE}")],
    ] {
        let shown = on_a_terminal(&mut stage.command(&[]), &[&[PROGRAM], args].concat());
        assert!(shown.contains("\u{1b}[3") || shown.contains("\u{1b}[1m"), "in colour: {shown:?}");
        assert_tame(&format!("{args:?}"), &colours(&shown));
        assert!(shown.contains(WORDS[0]), "{args:?}: {shown}");
    }
    let rows = table::table(&[("doc_id", table::strings(&["a.md"])), ("text", table::strings(&["# a\n"]))]);
    write(stage.home.path(), "rows", &table::stream(&rows, 1));
    let shown = on_a_terminal(&mut stage.command(&[]), &["sh", "-c", "\"$0\" filter <rows; echo \"code $?\"", PROGRAM]);
    assert!(shown.contains("standard output: is a terminal") && shown.contains("code 2"), "{shown}");
}

#[test]
fn text_for_people_keeps_its_lines_and_joiners() {
    use chunkmill::cli::visible;
    for same in [
        "plain",
        "a\n\tb\n",
        "\u{1f469}\u{200d}\u{1f4bb} \u{5d0}\u{200f}b \u{e9} “quoted” \u{2027}\u{202f}\u{2065}\u{206a} \u{a0}",
        "",
    ] {
        assert_eq!(visible(same), same);
        assert!(matches!(visible(same), std::borrow::Cow::Borrowed(_)));
    }
    assert_eq!(visible("a\r\nb\rc\r"), "a\nb\\rc\\r");
    assert_eq!(visible("\0\u{1b}[m\u{7f}\u{80}\u{9f}\u{a0}"), "\\x00\\x1b[m\\x7f\\u{80}\\u{9f}\u{a0}");
    assert_eq!(visible("é\u{202e}\u{2069}é"), "é\\u{202e}\\u{2069}é");
    for c in (0..=0x10ffff).filter_map(char::from_u32) {
        let text = format!("a{c}b");
        assert_tame(&format!("{c:?}"), &visible(&text));
        assert_eq!(visible(&visible(&text)), visible(&text));
    }
}
