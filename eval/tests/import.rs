//! Importers: what they write, that it is the same every time, and errors that name the place.

use std::fs;

use chunkmill_eval::labels::set::LabelSet;
use tempfile::TempDir;

use crate::common::{arg, eval, folder, shared, tree};

/// Imports into a new folder twice. Returns the folder, what was printed, and the files of the set.
pub fn imported(args: &[&str]) -> (TempDir, String, Vec<(String, Vec<u8>)>) {
    let (home, out, err, files) = ended(0, args);
    assert_eq!(err, "", "{args:?}");
    (home, out, files)
}

/// Imports what is left of a set with unusable rows. Returns the folder, the warnings, and the files of the set.
pub fn left(args: &[&str]) -> (TempDir, String, Vec<(String, Vec<u8>)>) {
    let (home, out, err, files) = ended(3, args);
    assert!(out.contains("\nleft out: "), "{out}");
    (home, err, files)
}

/// Imports into a new folder twice, with this exit code. Returns the folder, both outputs, and the files of the set.
pub fn ended(expected: i32, args: &[&str]) -> (TempDir, String, String, Vec<(String, Vec<u8>)>) {
    let home = TempDir::new().unwrap();
    let set = home.path().join("new/set");
    let args = [&["import"], args, &["-o", arg(&set)]].concat();
    let (code, out, err) = eval(&args);
    assert_eq!(code, expected, "{args:?}: {out}{err}");
    let first = tree(&set);
    fs::write(set.join("README.md"), "mine").unwrap();
    fs::write(set.join("corpus/stale.md"), "old").unwrap();
    assert_eq!(eval(&args).0, expected);
    assert_eq!(fs::read_to_string(set.join("README.md")).unwrap(), "mine");
    fs::remove_file(set.join("README.md")).unwrap();
    assert_eq!(tree(&set), first, "an import replaces the set it made");
    (home, out, err, first)
}

pub fn text<'f>(files: &'f [(String, Vec<u8>)], name: &str) -> &'f str {
    let file = files.iter().find(|(path, _)| path == name).unwrap_or_else(|| panic!("{name} in {files:?}"));
    std::str::from_utf8(&file.1).unwrap()
}

/// Asserts that an import fails with this text in its message.
pub fn refused(args: &[&str], problem: &str) {
    let home = TempDir::new().unwrap();
    let set = home.path().join("set");
    let (code, _, err) = eval(&[&["import"], args, &["-o", arg(&set)]].concat());
    assert_eq!(code, 2, "{err}");
    assert!(err.contains(problem) && err.contains("help: "), "{err}");
    assert!(!set.exists(), "nothing is written");
}

const BEIR_CORPUS: &str = concat!(
    r#"{"_id": "10", "title": "Ten", "text": "Text of ten."}"#,
    "\n",
    r#"{"_id": "../a b", "title": "", "text": "Äh."}"#,
    "\n",
    r#"{"_id": ".gitignore", "text": "*"}"#,
    "\n"
);
const BEIR_QUERIES: &str = "{\"_id\": \"q2\", \"text\": \"two?\"}\n{\"_id\": \"q1\", \"text\": \"one?\"}\n{\"_id\": 3, \"text\": \"three?\"}\n";

#[test]
fn beir_becomes_a_set() {
    let qrels = "query-id\tcorpus-id\tscore\nq1\t10\t2\nq1\t.gitignore\t0\nq2\t../a b\t1\nq2\t99\t1\n3\t10\t0\n";
    let data = folder(&[("corpus.jsonl", BEIR_CORPUS), ("queries.jsonl", BEIR_QUERIES), ("qrels/dev.tsv", qrels)]);
    let (home, out, files) = imported(&["beir", arg(data.path()), "--split", "dev"]);
    let names: Vec<&str> = files.iter().map(|(name, _)| name.as_str()).collect();
    assert_eq!(
        names,
        ["corpus/%2E%2E%2Fa%20b.txt", "corpus/%2Egitignore.txt", "corpus/10.txt", "queries.jsonl"]
            .map(|name| name.replace("%2E%2E%2F", "%2E.%2F"))
    );
    assert_eq!(text(&files, "corpus/10.txt"), "Ten\n\nText of ten.");
    assert_eq!(text(&files, "corpus/%2E.%2Fa%20b.txt"), "Äh.");
    let expected = concat!(
        r#"{"query_id":"q2","query":"two?","references":[{"doc_id":"%2E.%2Fa%20b.txt"},{"doc_id":"99.txt"}]}"#,
        "\n",
        r#"{"query_id":"q1","query":"one?","references":[{"doc_id":"10.txt","grade":2.0}]}"#,
        "\n"
    );
    assert_eq!(text(&files, "queries.jsonl"), expected);
    assert!(out.contains(": 2 questions, 3 references, 3 documents\nleft out: 1 question without evidence"), "{out}");
    assert!(out.contains("references to missing documents: 1"), "{out}");
    let (code, out, _) = eval(&["verify", arg(&home.path().join("new/set"))]);
    assert_eq!(code, 1);
    assert!(out.starts_with("no_document q2: 99.txt: no such document\n"), "{out}");
}

#[test]
fn what_is_not_beir_is_refused_with_its_line() {
    for (corpus, queries, qrels, problem) in [
        ("{\"_id\": \"1\"}\n", BEIR_QUERIES, "", "corpus.jsonl:1: text is missing"),
        (
            "{\"_id\": \"1\", \"text\": \"a\"}\n\n{\"_id\": \"1\", \"text\": \"b\"}",
            BEIR_QUERIES,
            "",
            "corpus.jsonl:3: _id `1` was used before",
        ),
        (BEIR_CORPUS, "[]", "", "queries.jsonl:1: "),
        (BEIR_CORPUS, BEIR_QUERIES, "q1\t10\n", "qrels.tsv:1: 2 fields, not 3; nothing is left to import"),
        (
            BEIR_CORPUS,
            BEIR_QUERIES,
            "q9\t10\t1\nq9\t10\t1\n",
            "qrels.tsv:1: there is no question `q9`, and 1 more row ",
        ),
        (BEIR_CORPUS, BEIR_QUERIES, "q1\t10\tyes\n", "qrels.tsv:1: `yes` is not a grade"),
        (BEIR_CORPUS, BEIR_QUERIES, "q1\t10\t0\n", "no question has evidence"),
    ] {
        let data = folder(&[("corpus.jsonl", corpus), ("queries.jsonl", queries), ("qrels.tsv", qrels)]);
        refused(&["beir", arg(data.path())], problem);
    }
}

#[test]
fn scifact_is_imported_whole() {
    let Some(root) = shared("scifact") else { return };
    let (home, out, files) = imported(&["beir", arg(&root)]);
    assert!(out.contains(": 300 questions, 339 references, 5183 documents\n"), "{out}");
    assert_eq!(files.len(), 5184);
    assert_eq!(eval(&["verify", arg(&home.path().join("new/set"))]).0, 0);
}

#[test]
fn trec_becomes_a_set() {
    let data = folder(&[
        ("docs/a/FT-1.txt", "first"),
        ("docs/FT-2.md", "second"),
        ("docs/FT-2.txt", "other"),
        ("topics.tsv", "\u{feff}301\tone thing?\n302\tanother\n"),
        ("qrels.txt", "301 0 a/FT-1 1\n301 Q0 FT-2.md 3\n302 0 FT-2 2\n302 0 FT-2.txt -2\n"),
    ]);
    let at = |name: &str| data.path().join(name);
    let (qrels, queries, docs) = (at("qrels.txt"), at("topics.tsv"), at("docs"));
    let args = ["trec", "--qrels", arg(&qrels), "--queries", arg(&queries), "--corpus", arg(&docs)];
    let (_home, out, files) = imported(&args);
    assert_eq!(text(&files, "corpus/a/FT-1.txt"), "first");
    let expected = concat!(
        r#"{"query_id":"301","query":"one thing?","references":[{"doc_id":"a/FT-1.txt"},{"doc_id":"FT-2.md","grade":3.0}]}"#,
        "\n",
        r#"{"query_id":"302","query":"another","references":[{"doc_id":"FT-2","grade":2.0}]}"#,
        "\n"
    );
    assert_eq!(text(&files, "queries.jsonl"), expected);
    assert!(out.contains("references to missing documents: 1"), "two files are called FT-2: {out}");

    fs::write(&qrels, "301 0 a/FT-1 1\n\n301 a/FT-1 1\n").unwrap();
    let (_home, err, _) = left(&args);
    assert!(err.contains("qrels.txt:3: 3 fields, not 4"), "{err}");
    fs::write(&queries, "301 one\n").unwrap();
    refused(&args, "topics.tsv:1: there is no tab");
}

#[test]
fn squad_becomes_a_set() {
    let answers =
        r#"[{"text": "blau", "answer_start": 6}, {"text": "ö", "answer_start": 0}, {"text": "ö", "answer_start": 0}]"#;
    let data = format!(
        r#"{{"version": "v2.0", "data": [
          {{"title": "Die_Farbe", "paragraphs": [
            {{"context": "Erster Absatz.", "qas": []}},
            {{"context": "ö ist blau.", "qas": [
              {{"id": "a1", "question": " Was? ", "answers": {answers}}},
              {{"id": "a2", "question": "Nie?", "answers": [], "is_impossible": true}}]}}]}},
          {{"title": "Die_Farbe", "paragraphs": []}}]}}"#
    );
    let home = folder(&[("dev.json", &data)]);
    let file = home.path().join("dev.json");
    let (_home, out, files) = imported(&["squad", arg(&file)]);
    assert_eq!(text(&files, "corpus/Die_Farbe.txt"), "Erster Absatz.\n\nö ist blau.");
    assert_eq!(text(&files, "corpus/Die_Farbe-2.txt"), "");
    assert_eq!(
        text(&files, "queries.jsonl"),
        "{\"query_id\":\"a1\",\"query\":\"Was?\",\"references\":[{\"any\":[\
         {\"doc_id\":\"Die_Farbe.txt\",\"start\":16,\"end\":18,\"text\":\"ö\"},\
         {\"doc_id\":\"Die_Farbe.txt\",\"start\":23,\"end\":27,\"text\":\"blau\"}]}]}\n"
    );
    assert!(out.contains("left out: 1 question without evidence"), "{out}");

    fs::write(&file, data.replace("\"ö\", \"answer_start\": 0", "\"ö\", \"answer_start\": 1")).unwrap();
    let (_home, out, err, mended) = ended(0, &["squad", arg(&file)]);
    assert!(out.contains("\nmended: 2 rows"), "{out}");
    assert!(err.contains("dev.json:article 1:question a1: characters 1..2 are not \"ö\", which is at 0\n"), "{err}");
    assert_eq!(mended, files, "the answer is where it was");
    fs::write(&file, data.replace("\"id\"", "\"key\"")).unwrap();
    refused(&["squad", arg(&file)], "dev.json:article 1:question 1: missing field `id`");
}

#[test]
fn chroma_becomes_a_set() {
    let csv = "question,references,corpus_id\n\
        \"Wo, bitte?\",\"[{\"\"content\"\": \"\"Straße\"\", \"\"start_index\"\": 3, \"\"end_index\"\": 9}]\",stadt\n\
        \"Zwei\nZeilen\",\"[{\"\"content\"\": \"\"Ö\"\", \"\"start_index\"\": 0, \"\"end_index\"\": 1}]\",stadt\n";
    let data = folder(&[("corpora/stadt.md", "Öl Straße"), ("corpora/other.md", "unused"), ("q.csv", csv)]);
    let (corpora, questions) = (data.path().join("corpora"), data.path().join("q.csv"));
    let args = ["chroma", "--corpora", arg(&corpora), "--questions", arg(&questions)];
    let (home, _, files) = imported(&args);
    assert_eq!(files.len(), 2);
    let lines = text(&files, "queries.jsonl");
    let first = r#"{"query_id":"stadt-0001","query":"Wo, bitte?","references":[{"doc_id":"stadt.md","start":4,"end":11,"text":"Straße"}],"tags":["stadt"]}"#;
    assert_eq!(lines.lines().next(), Some(first));
    assert_eq!(eval(&["verify", arg(&home.path().join("new/set"))]).0, 0);

    fs::write(&questions, csv.replace(": 0,", ": 1,")).unwrap();
    let (_home, _, err, mended) = ended(0, &args);
    assert!(err.contains("q.csv:3: characters 1..1 are not \"Ö\", which is at 0\n"), "{err}");
    assert_eq!(mended, files);
    fs::write(&questions, csv.replace(",stadt", ",land")).unwrap();
    refused(&args, "q.csv:2: there is no corpus `land`");
    fs::write(&questions, csv.replace(",stadt", ",../q")).unwrap();
    refused(&args, "q.csv:2: there is no corpus `../q`");
    fs::write(&questions, csv.replace("corpus_id", "corpus")).unwrap();
    refused(&args, "q.csv:2: ");
    fs::write(&questions, csv.replace("[{", "{")).unwrap();
    refused(&args, "q.csv:2: references: ");
}

#[test]
fn a_folder_with_other_things_is_not_overwritten() {
    let data = folder(&[
        ("corpora/a.md", "text"),
        (
            "q.csv",
            "question,references,corpus_id\n?,\"[{\"\"content\"\": \"\"t\"\", \"\"start_index\"\": 0, \"\"end_index\"\": 1}]\",a\n",
        ),
    ]);
    let (corpora, questions) = (data.path().join("corpora"), data.path().join("q.csv"));
    let run =
        |set: &str| eval(&["import", "chroma", "--corpora", arg(&corpora), "--questions", arg(&questions), "-o", set]);
    let other = folder(&[("queries.jsonl", "mine")]);
    let (code, _, err) = run(arg(other.path()));
    assert_eq!(code, 2);
    assert!(err.contains("is not empty and not a set of labels"), "{err}");
    assert_eq!(tree(other.path()).len(), 1);
    let file = other.path().join("queries.jsonl");
    assert_eq!(run(arg(&file)).0, 5, "a file is not a folder");
    // An import replaces what a killed import left behind.
    let broken = folder(&[(".chunkmill-import/corpus/b.md", "half")]);
    assert_eq!(run(arg(broken.path())).0, 0);
    assert_eq!(tree(broken.path()).len(), 2);
    assert!(LabelSet::read(broken.path()).is_ok());
}
