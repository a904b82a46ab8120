//! Bad rows of published sets: they are left out or mended, counted and named, and cost nothing else. A set that is
//! killed while it is replaced is the old one or the new one.

use std::collections::BTreeSet;
use std::fs;
use std::path::Path;
use std::process::{Command, Stdio};
use std::time::Duration;

use chunkmill_eval::labels::set::LabelSet;
use serde_json::json;
use tempfile::TempDir;

use crate::common::{arg, dice, eval, folder, tree};
use crate::import::{ended, left, refused, text};

const CORPUS: &str = "{\"_id\": \"d1\", \"title\": \"\", \"text\": \"one pear\"}\n{\"_id\": \"d2\", \"title\": \"\", \"text\": \"two plums\"}\n";
const QUERIES: &str = "{\"_id\": \"q1\", \"text\": \"pear\"}\n{\"_id\": \"q2\", \"text\": \"plum\"}\n";
const QRELS: &str = "query-id\tcorpus-id\tscore\nq1\td1\t1\n";

fn beir(corpus: &[u8], queries: &[u8], qrels: &[u8]) -> TempDir {
    let home = folder(&[]);
    for (name, bytes) in [("corpus.jsonl", corpus), ("queries.jsonl", queries), ("qrels/test.tsv", qrels)] {
        crate::common::write(home.path(), name, bytes);
    }
    home
}

/// The good row of each case is kept, whatever the other one is.
#[test]
fn one_bad_row_costs_only_itself() {
    let add = |text: &str, more: &[u8]| [text.as_bytes(), more].concat();
    for (corpus, queries, qrels, problem) in [
        // A judgement.
        (&b""[..], &b""[..], &b"q9\td1\t1\n"[..], "test.tsv:3: there is no question `q9`"),
        (b"", b"", b"q1\td1\n", "test.tsv:3: 2 fields, not 3"),
        (b"", b"", b"q2\td1\tyes\n", "test.tsv:3: `yes` is not a grade"),
        (b"", b"", b"q1\td1\t2\n", "test.tsv:3: document `d1` was judged 1 before"),
        (b"", b"", b"q2\t\xff\t1\n", "test.tsv:3: is not UTF-8"),
        // A question.
        (b"", b"{\"_id\": \"q3\", \"text\": \"\"}\n", b"", "queries.jsonl:3: the text of question `q3` is empty"),
        (b"", b"{\"_id\": \"q3\", \"text\": null}\n", b"", "queries.jsonl:3: text is missing or not text"),
        (b"", b"{\"_id\": \"q1\", \"text\": \"again\"}\n", b"", "queries.jsonl:3: question `q1` was there before"),
        (b"", b"{\"_id\": \"q3\", \"te\n", b"", "queries.jsonl:3: EOF while parsing"),
        (b"", b"{\"_id\": \"q3\", \"text\": \"\xff\"}\n", b"", "queries.jsonl:3: is not UTF-8"),
        (b"", b"[1]\n", b"", "queries.jsonl:3: invalid type"),
        // A document.
        (b"{\"_id\": \"d3\"}\n", b"", b"", "corpus.jsonl:3: text is missing or not text"),
        (b"{\"text\": \"x\"}\n", b"", b"", "corpus.jsonl:3: _id is missing or empty"),
        (b"{\"_id\": \"d3\", \"text\": 7}\n", b"", b"", "corpus.jsonl:3: text is missing or not text"),
        (b"{\"_id\": \"d1\", \"text\": \"again\"}\n", b"", b"", "corpus.jsonl:3: _id `d1` was used before"),
    ] {
        let data = beir(&add(CORPUS, corpus), &add(QUERIES, queries), &add(QRELS, qrels));
        // A judgement of a question that nobody asks is named too, but the set is whole without it.
        let code = if problem.contains("there is no question") { 0 } else { 3 };
        let (set, _, err, files) = ended(code, &["beir", arg(data.path())]);
        assert!(err.contains(problem) && err.lines().count() == 1, "{problem}: {err}");
        assert_eq!(text(&files, "corpus/d1.txt"), "one pear", "{problem}");
        let line = "{\"query_id\":\"q1\",\"query\":\"pear\",\"references\":[{\"doc_id\":\"d1.txt\"}]}\n";
        assert_eq!(text(&files, "queries.jsonl"), line, "{problem}");
        assert_eq!(eval(&["verify", arg(&set.path().join("new/set"))]).0, 0);
    }
}

#[test]
fn the_first_bad_rows_are_named_and_all_are_counted() {
    let bad = "q2\td1\n".repeat(12);
    let data = beir(CORPUS.as_bytes(), QUERIES.as_bytes(), format!("{QRELS}{bad}").as_bytes());
    let (_set, out, err, _) = ended(3, &["beir", arg(data.path())]);
    assert!(out.contains("\nleft out: 12 unusable rows"), "{out}");
    assert_eq!(err.lines().count(), 6, "{err}");
    assert!(err.contains("test.tsv:7: ") && !err.contains("test.tsv:8: ") && err.contains("left out: 7 more"), "{err}");
}

/// A row that can be read in only one way is mended, and nothing is left out.
#[test]
fn a_row_that_can_be_mended_is() {
    let null = b"{\"_id\": \"d3\", \"title\": \"T\", \"text\": null}\n";
    let data = beir(&[CORPUS.as_bytes(), null].concat(), QUERIES.as_bytes(), QRELS.as_bytes());
    let (_set, out, err, files) = ended(0, &["beir", arg(data.path())]);
    assert!(
        out.contains("\nmended: 1 row") && err.contains("corpus.jsonl:3: the text of document `d3` is null"),
        "{err}"
    );
    assert_eq!(text(&files, "corpus/d3.txt"), "T");

    // The answer's text is once in its paragraph, in a paragraph of its own, and white space may differ.
    let squad = |context: &str, answer: &str, start: usize| {
        let question = |id: &str, answer: &str, start: usize| json!({"id": id, "question": "when?", "answers": [{"text": answer, "answer_start": start}]});
        let paragraphs = json!([{"context": "nine of nine", "qas": []}, {"context": context, "qas": [question("a", answer, start), question("b", "shop", 4)]}]);
        folder(&[("dev.json", &json!({"data": [{"title": "T", "paragraphs": paragraphs}]}).to_string())])
    };
    for (answer, start, found) in [("nine", 20, "nine"), ("at nine in", 90, "at\nnine in"), ("Straße", 0, "Straße")] {
        let data = squad("The shop closes at\nnine in the Straße.", answer, start);
        let (set, _, err, _) = ended(0, &["squad", arg(&data.path().join("dev.json"))]);
        assert!(err.contains("question a: characters ") && err.contains(", which is at "), "{err}");
        let labels = LabelSet::read(&set.path().join("new/set")).unwrap();
        assert_eq!(labels.queries[0].references[0].any[0][0].quote.as_ref().unwrap().text, found);
        assert_eq!(eval(&["verify", arg(&set.path().join("new/set"))]).0, 0);
    }
    // The offset is missing, or is no number.
    for start in [json!(null), json!(-1), json!("20"), json!(1.5), json!(u64::MAX)] {
        let good = json!({"id": "a", "question": "when?", "answers": [{"text": "nine", "answer_start": start}]});
        let data = json!({"data": [{"title": "T", "paragraphs": [{"context": "It closes at nine.", "qas": [good]}]}]});
        let data = folder(&[("dev.json", &data.to_string())]);
        let (_, _, err, files) = ended(0, &["squad", arg(&data.path().join("dev.json"))]);
        assert!(err.contains("mended: ") && text(&files, "queries.jsonl").contains("\"start\":13"), "{err}");
    }
    // Twice, or never: left out, and the other question stays.
    for (answer, problem) in [("e", "has this text in 6 places"), ("ten", "does not have this text")] {
        let data = squad("The shop closes at nine in the evening.", answer, 1);
        let (_, err, files) = left(&["squad", arg(&data.path().join("dev.json"))]);
        assert!(err.contains(problem), "{err}");
        assert_eq!(text(&files, "queries.jsonl").lines().count(), 1);
    }
}

/// Records inside a JSON value are left out alone, at every depth.
#[test]
fn a_bad_record_inside_a_value_costs_only_itself() {
    let good = json!({"id": "good", "question": "what?", "answers": [{"text": "shop", "answer_start": 4}]});
    let context = "The shop closes.";
    let paragraph = |qas: serde_json::Value| json!({"context": context, "qas": qas});
    for (data, problem) in [
        (
            json!([{"title": "T", "paragraphs": [paragraph(json!([good, {"id": "x"}]))]}]),
            "question 2: missing field `question`",
        ),
        (
            json!([{"title": "T", "paragraphs": [paragraph(json!([good, null]))]}]),
            "article 1:question 2: invalid type: null",
        ),
        (
            json!([{"title": "T", "paragraphs": [paragraph(json!([good])), {"context": null, "qas": []}]}]),
            "paragraph 2: invalid type: null",
        ),
        (
            json!([{"title": null, "paragraphs": [paragraph(json!([good]))]}, {"title": "T"}]),
            "article 2: missing field `paragraphs`",
        ),
        (
            json!([{"title": "T", "paragraphs": [paragraph(json!([good, {"id": "x", "question": "?", "answers": [{"answer_start": 4}]}]))]}]),
            "question x:answer 1: missing field `text`",
        ),
        (json!([{"title": "T", "paragraphs": [paragraph(json!([good, good]))]}]), "question `good` was there before"),
        (
            json!([{"title": "T", "paragraphs": [paragraph(json!([good, {"id": "x", "question": " ", "answers": [{"text": "shop", "answer_start": 4}]}]))]}]),
            "the text of question `x` is empty",
        ),
    ] {
        let home = folder(&[("dev.json", &json!({"data": data}).to_string())]);
        let (_, err, files) = left(&["squad", arg(&home.path().join("dev.json"))]);
        assert!(err.contains(problem), "{problem}: {err}");
        let lines = text(&files, "queries.jsonl");
        assert!(lines.starts_with("{\"query_id\":\"good\"") && lines.lines().count() == 1, "{lines}");
    }
    // Broken as a whole, it is an error with its line.
    for (bytes, problem) in
        [(&b"{\"data\":\n [}"[..], "dev.json:2: "), (b"{\n\"data\": [\"\xff\"]}", "dev.json:2: is not UTF-8")]
    {
        let home = folder(&[]);
        crate::common::write(home.path(), "dev.json", bytes);
        refused(&["squad", arg(&home.path().join("dev.json"))], problem);
    }
}

#[test]
fn a_bad_row_of_a_table_of_columns_costs_only_itself() {
    let good = "when?,\"[{\"\"content\"\": \"\"gate\"\", \"\"start_index\"\": 4, \"\"end_index\"\": 8}]\",x\n";
    for (bad, problem) in [
        (&b"who?,x\n"[..], "q.csv:3: 2 columns, not 3"),
        (b"who?,not json,x\n", "q.csv:3: references: "),
        (b"who?,[],y\n", "q.csv:3: there is no corpus `y`"),
        (b"who\xff?,[],x\n", "q.csv:3: is not UTF-8"),
        (
            b"who?,\"[{\"\"content\"\": \"\"door\"\", \"\"start_index\"\": 0, \"\"end_index\"\": 4}]\",x\n",
            "q.csv:3: characters 0..4 are not \"door\"",
        ),
        (b"who?,\"[{\"\"start_index\"\": 4}]\",x\n", "q.csv:3: references: missing field `content`"),
        (b" ,\"[{\"\"content\"\": \"\"gate\"\", \"\"start_index\"\": 4, \"\"end_index\"\": 8}]\",x\n", "is empty"),
    ] {
        let data = folder(&[("corpora/x.md", "The gate opens."), ("corpora/broken.md", "")]);
        let table = [b"question,references,corpus_id\n", good.as_bytes(), bad, good.as_bytes()].concat();
        crate::common::write(data.path(), "q.csv", &table);
        let (corpora, questions) = (data.path().join("corpora"), data.path().join("q.csv"));
        let (_, err, files) = left(&["chroma", "--corpora", arg(&corpora), "--questions", arg(&questions)]);
        assert!(err.contains(problem), "{problem}: {err}");
        assert_eq!(text(&files, "queries.jsonl").lines().count(), 2, "{problem}");
    }
}

#[test]
fn an_id_that_is_too_long_for_a_name_is_shortened() {
    let long = ["L".repeat(260), "ö".repeat(100), format!("{}x", "L".repeat(260))];
    let mut corpus = CORPUS.to_owned();
    let mut qrels = QRELS.to_owned();
    for id in &long {
        corpus += &format!("{}\n", json!({"_id": id, "text": format!("text of {}", id.len())}));
        qrels += &format!("q2\t{id}\t1\n");
    }
    let data = beir(corpus.as_bytes(), QUERIES.as_bytes(), qrels.as_bytes());
    let (set, _, _, files) = ended(0, &["beir", arg(data.path())]);
    let names: BTreeSet<&String> = files.iter().map(|(name, _)| name).filter(|name| name.len() > 150).collect();
    assert_eq!(names.len(), 3, "different ids have different names: {names:?}");
    assert!(names.iter().all(|name| name.len() <= "corpus/".len() + 255), "{names:?}");
    assert_eq!(eval(&["verify", arg(&set.path().join("new/set"))]).0, 0, "judgements name the same files");
}

/// A damaged file of a foreign format is an error with its name, whatever its parser does.
#[test]
fn damaged_parquet_is_an_error() {
    let home = TempDir::new().unwrap();
    let file = home.path().join("squad.parquet");
    let row = |id: &str| {
        json!({"id": id, "title": "T", "context": "The shop closes at nine.", "question": "when?",
            "answers": {"text": ["nine"], "answer_start": [19]}})
    };
    crate::import_sets::parquet(&file, &[row("a"), row("b"), row("c")]);
    let whole = fs::read(&file).unwrap();
    let mut next = dice(3);
    let mut damage = |bytes: &mut Vec<u8>| {
        for _ in 0..1 + (next() * 4.0) as usize {
            let at = (next() * bytes.len() as f64) as usize;
            bytes[at] = (next() * 256.0) as u8;
        }
    };
    let mut refused = 0;
    for _ in 0..1500 {
        let mut bytes = whole.clone();
        damage(&mut bytes);
        fs::write(&file, bytes).unwrap();
        match chunkmill_eval::labels::import::squad(&file, None, false) {
            Ok(_) => {}
            Err(error) => {
                refused += 1;
                assert!(error.to_string().contains("squad.parquet: cannot be read as Parquet: "), "{error}");
            }
        }
    }
    assert!(refused > 100, "{refused}");
}

fn write_beir(folder: &Path, tag: &str, documents: usize) {
    let lines = |line: &dyn Fn(usize) -> String| (0..documents).map(line).collect::<String>();
    let file = |name: &str, text: String| crate::common::write(folder, name, text.as_bytes());
    file(
        "corpus.jsonl",
        lines(&|at| format!("{}\n", json!({"_id": format!("{tag}{at}"), "text": format!("{tag} {at}")}))),
    );
    file(
        "queries.jsonl",
        lines(&|at| format!("{}\n", json!({"_id": format!("q{at}"), "text": format!("{tag} {at}?")}))),
    );
    file("qrels.tsv", lines(&|at| format!("q{at}\t{tag}{at}\t1\n")));
}

/// Asserts that a set can be read, and returns whether it is the new one. Nothing of the other is in it.
fn is_new(set: &Path) -> bool {
    let (code, out, err) = eval(&["verify", arg(set)]);
    assert_eq!(code, 0, "{out}{err}");
    let labels = LabelSet::read(set).unwrap();
    let new = labels.queries[0].text.starts_with("new");
    let tag = if new { "new" } else { "old" };
    assert!(labels.queries.iter().all(|query| query.text.starts_with(tag)));
    assert!(labels.corpus().unwrap().texts.values().all(|text| text.starts_with(tag)));
    new
}

/// Copies a folder.
fn copied(from: &Path, to: &Path) {
    for (name, bytes) in tree(from) {
        crate::common::write(to, &name, &bytes);
    }
}

#[test]
fn a_set_that_is_replaced_is_the_old_or_the_new_one_after_every_kill() {
    let home = TempDir::new().unwrap();
    let at = |name: &str| home.path().join(name);
    write_beir(&at("A"), "old", 300);
    write_beir(&at("B"), "new", 300);
    let import = |data: &str, set: &Path| {
        let mut command = Command::new(env!("CARGO_BIN_EXE_chunkmill-eval"));
        command.args(["import", "beir", arg(&at(data)), "-o", arg(set)]).stdout(Stdio::null()).stderr(Stdio::null());
        command.spawn().unwrap()
    };
    assert!(import("A", &at("old")).wait().unwrap().success());
    let started = std::time::Instant::now();
    assert!(import("B", &at("new")).wait().unwrap().success());
    let took = started.elapsed();
    let mut next = dice(11);
    let mut kinds = [0, 0];
    for _ in 0..20 {
        let set = at("set");
        let _ = fs::remove_dir_all(&set);
        copied(&at("old"), &set);
        let mut running = import("B", &set);
        std::thread::sleep(Duration::from_secs_f64(took.as_secs_f64() * f64::from(0.2 + next() as f32)));
        running.kill().unwrap();
        running.wait().unwrap();
        kinds[usize::from(is_new(&set))] += 1;
        // The same import again ends in the same files as one that was never killed.
        assert!(import("B", &set).wait().unwrap().success());
        assert_eq!(tree(&set), tree(&at("new")));
    }
    crate::common::note(&format!("20 kills of an import over a set: {} old sets, {} new ones", kinds[0], kinds[1]));
}

/// The states between the steps of a replacement, one by one.
#[test]
fn a_set_is_whole_between_all_steps_of_its_replacement() {
    let home = TempDir::new().unwrap();
    let at = |name: &str| home.path().join(name);
    for (data, tag) in [("A", "old"), ("B", "new")] {
        write_beir(&at(data), tag, 3);
        assert_eq!(eval(&["import", "beir", arg(&at(data)), "-o", arg(&at(tag))]).0, 0);
    }
    let set = at("set");
    copied(&at("old"), &set);
    let check = |expected: bool| {
        assert_eq!(is_new(&set), expected);
        // Whatever state it is in, an import over it ends in the same set.
        let again = at("again");
        let _ = fs::remove_dir_all(&again);
        copied(&set, &again);
        assert_eq!(eval(&["import", "beir", arg(&at("B")), "-o", arg(&again)]).0, 0);
        assert_eq!(tree(&again), tree(&at("new")));
    };
    let [staging, new] = [".chunkmill-import", ".chunkmill-new"].map(|name| set.join(name));
    fs::create_dir_all(staging.join("corpus")).unwrap();
    check(false);
    copied(&at("new"), &staging);
    check(false);
    fs::rename(&staging, &new).unwrap();
    check(true);
    for part in ["corpus", "queries.jsonl"] {
        fs::rename(set.join(part), new.join("old")).unwrap();
        check(true);
        fs::rename(new.join(part), set.join(part)).unwrap();
        check(true);
        let old = new.join("old");
        if old.is_dir() {
            fs::remove_dir_all(&old).unwrap()
        } else {
            fs::remove_file(&old).unwrap()
        }
        check(true);
    }
    fs::remove_dir_all(&new).unwrap();
    check(true);
}

/// What is written into the folder of documents would be read as documents later.
#[test]
fn nothing_is_written_into_the_documents() {
    let home = folder(&[
        (
            "docs/a.md",
            "# A gate\n\nThe gate of the garden opens at six in the morning. It closes at nine in the evening of each day. Nobody waits for it in the rain.\n",
        ),
        ("q.txt", "when?\n"),
        ("topics", "q\twhen?\n"),
        ("qrels", "q 0 a 1\n"),
    ]);
    let at = |name: &str| home.path().join(name).to_str().unwrap().to_owned();
    let (docs, questions, topics, qrels) = (at("docs"), at("q.txt"), at("topics"), at("qrels"));
    let before = tree(&home.path().join("docs"));
    let trec = ["import", "trec", "--qrels", &qrels, "--queries", &topics, "--corpus", &docs];
    let commands: [&[&str]; 5] = [
        &["recommend", &docs, "--embedder", "fake"],
        &["recommend", &docs, "--questions", &questions, "--embedder", "fake"],
        &["synth", &docs],
        &["label", &docs, "--questions", &questions, "--embedder", "fake"],
        &trec,
    ];
    for command in commands {
        for out in ["docs", "docs/inside", "docs/./deep/../inside/more", "docs/../docs/x"] {
            let (code, said, err) = eval(&[command, &["-o", &at(out)]].concat());
            assert_eq!(code, 2, "{command:?} -o {out}: {said}{err}");
            assert!(err.contains("help: "), "{err}");
            assert_eq!(tree(&home.path().join("docs")), before, "{command:?} -o {out}");
        }
    }
    // Above the documents, and in a folder with other things.
    for command in commands {
        let (code, _, err) = eval(&[command, &["-o", arg(home.path())]].concat());
        assert!(code == 2 && err.contains("help: "), "{command:?}: {err}");
    }
    assert_eq!(tree(&home.path().join("docs")), before);
    let (code, _, err) = eval(&["recommend", &at("nope"), "-o", &at("out")]);
    assert!(code == 2 && err.contains("name an existing folder"), "{err}");
    #[cfg(unix)]
    {
        std::os::unix::fs::symlink(&docs, home.path().join("link")).unwrap();
        let (code, _, err) = eval(&["recommend", &docs, "-o", &at("link/x"), "--embedder", "fake"]);
        assert!(code == 2 && err.contains("is inside the documents"), "{err}");
    }
    // The documents of a set are the same.
    assert_eq!(eval(&["synth", &docs, "-o", &at("set")]).0, 0);
    fs::write(
        home.path().join("sweep.toml"),
        "[[grid]]\npreset = 'windows'\n[defaults.embedding]\nembedder = 'fake'\n",
    )
    .unwrap();
    let (code, _, err) =
        eval(&["sweep", "--labels", &at("set"), "--sweep", &at("sweep.toml"), "-o", &at("set/corpus/run")]);
    assert!(code == 2 && err.contains("is inside the documents"), "{err}");
    let (code, _, err) = eval(&["recommend", &at("set"), "-o", &at("set/corpus/advice"), "--embedder", "fake"]);
    assert!(code == 2 && err.contains("is inside the documents"), "{err}");
}
