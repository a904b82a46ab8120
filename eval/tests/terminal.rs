//! No text of a label, a document, a run or a setting acts as a command on the terminal or on the reader of a
//! report.

use std::collections::BTreeSet;
use std::fs;
use std::io::Write;
use std::process::{Command, Stdio};

use clap::CommandFactory;
use serde_json::{Value, json};
use tempfile::TempDir;

use crate::common::arg;
use crate::hostile::{HOSTILE, Tried, assert_tame, commands, page, quoted};

const WORDS: &[&str] = &["x\\x1b]0;owned\\x07\\x1b[2J\\u{9b}31m\\x7f\\x08\\u{202e}\\u{2066}\\u{2028}"];
const JSON: &[&str] = &[r"x\u001b]0;owned\u0007\u001b[2J\u009b31m\u007f\b\u202e\u2066\u2028"];
const NEITHER: &[&str] = &[];

struct Stage {
    home: TempDir,
    all: BTreeSet<String>,
    tried: Tried,
}

impl Stage {
    fn new() -> Self {
        let all = commands(&chunkmill_eval::cli::Cli::command());
        Self { home: TempDir::new().unwrap(), all, tried: Tried::default() }
    }

    /// Writes a file below the stage's folder. Its name may be hostile too.
    fn write(&self, name: &str, bytes: impl AsRef<[u8]>) {
        let file = self.home.path().join(name);
        fs::create_dir_all(file.parent().unwrap()).unwrap();
        fs::write(file, bytes).unwrap();
    }

    fn run(&mut self, args: &[&str], input: &str, shows: &[&str]) -> (i32, String) {
        self.tried.add(args, &self.all);
        let mut command = Command::new(env!("CARGO_BIN_EXE_chunkmill-eval"));
        command.current_dir(self.home.path()).args(args).env("CHUNKMILL_EMBEDDING_CACHE", "off");
        let mut child = command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
        let _ = child.stdin.take().unwrap().write_all(input.as_bytes());
        let output = child.wait_with_output().unwrap();
        let [out, err] = [output.stdout, output.stderr].map(|bytes| String::from_utf8(bytes).unwrap());
        assert_tame(&format!("stdout of {args:?}"), &out);
        assert_tame(&format!("stderr of {args:?}"), &err);
        for text in shows {
            assert!(out.contains(text) || err.contains(text), "{args:?} does not show {text}: {out}{err}");
        }
        (output.status.code().unwrap(), out + &err)
    }
}

#[test]
fn no_command_lets_labels_and_documents_speak_to_the_terminal() {
    let mut stage = Stage::new();
    let [docs, set, synthetic, run] = ["docs", "set", "synthetic", "run"].map(|name| format!("{name} {HOSTILE}"));
    let [docs, set, synthetic, run] = [&docs, &set, &synthetic, &run].map(String::as_str);
    let (document, file) = (format!("{HOSTILE}.md"), format!("sweep {HOSTILE}.toml"));
    stage.write(&format!("{docs}/{document}"), page());
    stage.write(&format!("{docs}/bad {HOSTILE}.md"), b"\xff\xff");
    let larder = concat!(env!("CARGO_MANIFEST_DIR"), "/../datasets/larder/corpus/guide/retention.md");
    stage.write(&format!("{docs}/plain.md"), fs::read(larder).unwrap());

    // Label sets made by others, and synthetic ones.
    stage.write("beir/corpus.jsonl", json!({"_id": HOSTILE, "text": page()}).to_string());
    stage.write("beir/queries.jsonl", json!({"_id": HOSTILE, "text": HOSTILE}).to_string());
    stage.write("beir/qrels.tsv", "\u{1b}[2J\tq\t1\n");
    let refused = &["`\\x1b[2J`"][..];
    assert_eq!(stage.run(&["import", "beir", "beir", "-o", set], "", refused).0, 2);
    stage.write("topics", format!("q\t{HOSTILE}\n"));
    stage.write("qrels", "q 0 \u{1b}[2J 1\nq 0 \u{1b}[2J 2\n");
    let trec = ["import", "trec", "--qrels", "qrels", "--queries", "topics", "--corpus", docs, "-o", "trec"];
    assert_eq!(stage.run(&trec, "", refused).0, 3);
    let question = json!({"id": HOSTILE, "question": HOSTILE, "answers": [{"text": "no", "answer_start": 0}]});
    let article = json!({"title": HOSTILE, "paragraphs": [{"context": page(), "qas": [question]}]});
    stage.write("squad", json!({"data": [article]}).to_string());
    assert_eq!(stage.run(&["import", "squad", "squad", "-o", set], "", WORDS).0, 2);
    stage.write("chroma.csv", format!("question,references,corpus_id\nq,[],\"{HOSTILE}\"\n"));
    let chroma = ["import", "chroma", "--corpora", docs, "--questions", "chroma.csv", "-o", set];
    assert_eq!(stage.run(&chroma, "", WORDS).0, 2);
    stage.write("more/documents.jsonl", json!({"chunk_id": "a_0", "chunk": HOSTILE}).to_string());
    stage.write("more/queries.jsonl", json!({"query": HOSTILE, "chunk_id": HOSTILE}).to_string());
    stage.write(
        "more/qas/HiCBench.jsonl",
        json!({"_id": HOSTILE, "input": HOSTILE, "evidences": [HOSTILE]}).to_string(),
    );
    let snippet = json!({"file_path": HOSTILE, "span": [0, 1]});
    stage.write("more/benchmarks/a.json", json!({"tests": [{"query": HOSTILE, "snippets": [snippet]}]}).to_string());
    stage.write("more/miracl-v1.0-sw/topics/topics.miracl-v1.0-sw-dev.tsv", format!("q\t{HOSTILE}\n"));
    stage.write("more/miracl-v1.0-sw/qrels/qrels.miracl-v1.0-sw-dev.tsv", "q 0 \u{1b}[2J 1\nq 0 \u{1b}[2J 2\n");
    stage.write("more/miracl-corpus-v1.0-sw/docs-0.jsonl", json!({"docid": HOSTILE, "text": HOSTILE}).to_string());
    assert_eq!(stage.run(&["import", "miracl", "more", "--language", "sw", "-o", "imported"], "", refused).0, 3);
    let story = |text: &str| json!({"document": {"id": HOSTILE, "text": text}, "question": {"text": HOSTILE}});
    stage.write("stories.json", json!([story("a"), story("b")]).to_string());
    let paper = json!({"id": HOSTILE, "title": HOSTILE, "abstract": HOSTILE, "full_text": [], "qas": []});
    stage.write("papers.json", json!([paper, paper]).to_string());
    for (format, path, code) in [
        ("conteb", "more", 2),
        ("hicbench", "more", 2),
        ("legalbench-rag", "more", 2),
        ("narrativeqa", "stories.json", 3),
        ("qasper", "papers.json", 2),
    ] {
        assert_eq!(stage.run(&["import", format, path, "-o", "imported"], "", WORDS).0, code, "{format}");
    }
    let synth = ["synth", docs, "-o", synthetic, "--queries", "9"];
    assert_eq!(stage.run(&synth, "", WORDS).0, 0);
    stage.write("questions", json!({"query": HOSTILE}).to_string() + "\nhow long are backups kept?\n");
    let asked = ["label", docs, "--questions", "questions", "-o", "labelled", "--embedder", "fake"];
    assert_eq!(stage.run(&asked, "\u{1b}[2J\ns\nq\n", &[WORDS, refused].concat()).0, 0);
    let advice = ["recommend", docs, "-o", "advice", "--embedder", "fake", "--minutes", "0"];
    assert_eq!(stage.run(&advice, "", NEITHER).0, 0);
    stage.write("labels", json!({"query_id": "q", "query": HOSTILE, "references": [{"doc_id": HOSTILE}]}).to_string());
    let gone = ["recommend", docs, "--questions", "labels", "-o", "advice of people", "--embedder", "fake"];
    assert_ne!(stage.run(&gone, "", NEITHER).0, 0);
    stage.write(&format!("{set}/corpus/{document}"), page());
    stage.write(&format!("{set}/corpus/other.md"), "# Other\n\nJars are counted here.\n");
    let at = page().find("thirty").unwrap();
    let reference = json!({"doc_id": document, "start": at, "end": at + 6, "text": "thirty"});
    let gone = json!({"doc_id": document, "start": 0, "end": HOSTILE.len() + 1, "text": format!("{HOSTILE}!")});
    let lines = [
        json!({"query_id": HOSTILE, "query": HOSTILE, "references": [reference], "tags": [HOSTILE]}),
        json!({"query_id": format!("2{HOSTILE}"), "query": "backups?", "references": [reference, gone]}),
    ];
    stage.write(&format!("{set}/queries.jsonl"), lines.map(|line| line.to_string()).join("\n"));
    assert_eq!(stage.run(&["verify", set], "", WORDS).0, 1);
    assert_eq!(stage.run(&["verify", set, "--json"], "", JSON).0, 1);

    // A run with names as hostile as the name of the file that defines them.
    let grid = |name: &str| {
        format!(
            "[defaults.embedding]\nembedder = 'fake'\n[defaults.corpus]\nallow_blocked = true\n[[grid]]\nname = {name}\nstrategy = ['windows', 'header']\nunit = 'chars'\nmax = 100\nmode = ['keyword', 'vector']\n"
        )
    };
    stage.write(&file, grid(&quoted()));
    let sweep = ["sweep", "--labels", set, "--sweep", &file];
    assert_eq!(stage.run(&[&sweep[..], &["--list"]].concat(), "", WORDS).0, 0);
    assert_eq!(stage.run(&[&sweep[..], &["--list", "--json"]].concat(), "", JSON).0, 0);
    assert_eq!(stage.run(&[&sweep[..], &["--verify"]].concat(), "", WORDS).0, 0);
    assert_eq!(stage.run(&[&sweep[..], &["-o", run]].concat(), "", WORDS).0, 0);
    stage.write(&file, grid("'x'").replace("'windows'", &quoted()));
    assert_eq!(stage.run(&[&sweep[..], &["--list"]].concat(), "", WORDS).0, 2);
    let (code, said) = stage.run(&["work"], &json!(HOSTILE).to_string(), NEITHER);
    assert!(code != 0 && !said.is_empty(), "{said}");

    // Reports and comparisons of that run.
    assert_eq!(stage.run(&["report", run], "", WORDS).0, 0);
    assert_eq!(stage.run(&["report", run, "--json"], "", JSON).0, 0);
    let baseline = format!("baseline {HOSTILE}");
    assert_eq!(stage.run(&["baseline", run, "-o", &baseline], "", NEITHER).0, 0);
    assert_eq!(stage.run(&["gate", run, "--baseline", &baseline, "--json"], "", JSON).0, 0);
    // A setting that is no longer measured fails the gate, which prints its name.
    let mut other: Value = serde_json::from_slice(&fs::read(stage.home.path().join(&baseline)).unwrap()).unwrap();
    other["cells"][0]["id"] = format!("{HOSTILE} of old").into();
    stage.write(&baseline, other.to_string());
    assert_eq!(stage.run(&["gate", run, "--baseline", &baseline, "--junit", "gate.xml"], "", WORDS).0, 1);
    for pair in ["diff", "agree"] {
        assert_eq!(stage.run(&[pair, run, run], "", WORDS).0, 0);
        assert_eq!(stage.run(&[pair, run, run, "--json"], "", JSON).0, 0);
        assert_ne!(stage.run(&[pair, run, run, "--metric", HOSTILE], "", WORDS).0, 0);
    }
    stage.write("log.jsonl", format!("{}\n{}\n", json!({"query": HOSTILE}), json!({"query": 3, HOSTILE: 4})));
    let asked = format!("asked {HOSTILE}.jsonl");
    assert_eq!(stage.run(&["questions", "log.jsonl", "-o", &asked], "", WORDS).0, 3);
    assert_eq!(
        stage.run(&["questions", "log.jsonl", "--column", &format!("{HOSTILE}!"), "-o", "x.txt"], "", WORDS).0,
        2
    );
    assert_eq!(stage.run(&["table", run, run, "-o", "tables"], "", NEITHER).0, 0);
    let named = format!("{HOSTILE}={run}/report.json");
    let page = format!("compare {HOSTILE}.html");
    assert_eq!(stage.run(&["compare", run, &named, "-o", &page], "", WORDS).0, 0);
    assert_tame("compare", &fs::read_to_string(stage.home.path().join(page)).unwrap());
    assert_eq!(stage.run(&["schema"], "", NEITHER).0, 0);
    assert_eq!(stage.run(&["completions", "bash"], "", NEITHER).0, 0);
    assert_eq!(stage.run(&["man", HOSTILE], "", WORDS).0, 2);
    stage.tried.assert_are(&stage.all);

    // The files are harmless for their readers too.
    for name in ["report.html", "report.md", "junit.xml"] {
        let text = fs::read_to_string(stage.home.path().join(run).join(name)).unwrap();
        assert_tame(name, &text);
        assert!(text.contains("x1b]0;owned"), "{name}");
    }
    assert_tame("gate.xml", &fs::read_to_string(stage.home.path().join("gate.xml")).unwrap());
}

#[test]
fn no_command_line_speaks_to_the_terminal() {
    let mut stage = Stage::new();
    let flag = format!("--{HOSTILE}");
    for command in stage.all.clone() {
        let words: Vec<&str> = command.split(' ').collect();
        let (code, said) = stage.run(&[&words[..], &[&flag]].concat(), "", WORDS);
        assert!(code == 2, "{command}: {said}");
        let (code, said) = stage.run(&[&words[..], &[HOSTILE; 4]].concat(), "", NEITHER);
        assert!(code == 2, "{command}: {said}");
    }
    let missing = stage.home.path().join(HOSTILE);
    for args in
        [&["report", arg(&missing)][..], &["verify", arg(&missing)], &["gate", arg(&missing), "--baseline", HOSTILE]]
    {
        assert_eq!(stage.run(args, "", WORDS).0, 2);
    }
}
