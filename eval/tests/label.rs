//! Labelling: questions that people asked, and the passages that answer them.

use std::fs;
use std::io::Write;
use std::path::Path;
use std::process::{Command, Stdio};

use chunkmill_eval::data::left_out::Reason;
use chunkmill_eval::labels::set::LabelSet;
use tempfile::TempDir;

use crate::common::{arg, eval, folder};

const DOCUMENTS: [(&str, &str); 3] = [
    (
        "docs/keep.md",
        "# Backups\n\nWe make a backup each night. Backups are kept\nfor thirty days.\n\n## Deleting\n\nNobody deletes one.\n",
    ),
    ("docs/vault.md", "# Vaults\n\nThe vault is locked. Only the owner of a vault may delete it.\n"),
    ("docs/copy.md", "# Vaults again\n\nThe owner pays. Only the owner of a vault may delete it.\n"),
];

/// Runs the program with this input on standard input, as if a person typed it.
fn typed(args: &[&str], input: &str) -> (i32, String, String) {
    let mut child = Command::new(env!("CARGO_BIN_EXE_chunkmill-eval"))
        .args(args)
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    child.stdin.take().unwrap().write_all(input.as_bytes()).unwrap();
    let output = child.wait_with_output().unwrap();
    let text = |bytes| String::from_utf8(bytes).unwrap();
    (output.status.code().unwrap(), text(output.stdout), text(output.stderr))
}

fn label(home: &TempDir, input: &str) -> (i32, String, String) {
    let path = |name: &str| home.path().join(name);
    let (docs, file, set) = (path("docs"), path("questions.txt"), path("set"));
    let args = ["label", arg(&docs), "--questions", arg(&file), "-o", arg(&set), "--embedder", "fake"];
    typed(&[&args[..], &["--embedding-cache", "off"]].concat(), input)
}

fn texts(set: &Path) -> Vec<(String, Vec<Vec<String>>)> {
    let of = |query: &chunkmill_eval::labels::set::Query| {
        let reference = |reference: &chunkmill_eval::labels::set::Reference| {
            reference.places().map(|place| place.quote.as_ref().unwrap().text.clone()).collect()
        };
        (query.text.clone(), query.references.iter().map(reference).collect())
    };
    LabelSet::read(set).unwrap().queries.iter().map(of).collect()
}

#[test]
fn what_a_person_accepts_becomes_a_label_and_a_session_goes_on_where_it_was() {
    let home = folder(&DOCUMENTS);
    fs::write(home.path().join("questions.txt"), "how long are backups kept\n\nwho may delete a vault\nwhy\nwhen\n")
        .unwrap();
    let set = home.path().join("set");
    // The second answer is invalid, and no document contains the text of the third. Both are asked again.
    let (code, out, said) = label(&home, "y\nperhaps\ne\nonly the owner\nq\n");
    assert_eq!(code, 0, "{said}");
    assert!(
        said.contains("[1/4] how long are backups kept") && said.contains("[2/4] who may delete a vault"),
        "{said}"
    );
    assert!(said.contains("`perhaps` is not one of"), "{said}");
    assert!(
        out.contains("1 question with evidence, 0 without an answer, 3 left; run the same command to go on"),
        "{out}"
    );
    assert!(said.contains("saved: keep.md:3 \"Backups are kept for thirty days.\"\n"), "{said}");
    let labelled = texts(&set);
    assert_eq!(labelled.len(), 1);
    let sentence = &labelled[0].1[0][0];
    assert!(sentence.contains("Backups are kept\nfor thirty days."), "whole sentences: {sentence}");
    assert_eq!(eval(&["verify", arg(&set)]).0, 0);
    // Only open questions are asked.
    let (code, out, said) = label(&home, "e\nOnly the owner of a vault\nn\ne\nkeep.md:3-4\n");
    assert_eq!(code, 0, "{said}");
    assert!(said.contains("[1/3] who may delete a vault"), "{said}");
    assert!(out.contains("3 questions with evidence, 1 without an answer, 0 left"), "{out}");
    assert!(said.contains("saved: copy.md:3 \"Only the owner of a vault\", or vault.md:3 \"Only "), "{said}");
    assert!(said.contains("saved: keep.md:3 \"We make a backup each night. "), "{said}");
    let labelled = texts(&set);
    let of = |question: &str| labelled.iter().find(|(text, _)| text == question).unwrap().1.clone();
    assert_eq!(
        of("who may delete a vault"),
        [["Only the owner of a vault", "Only the owner of a vault"]],
        "either will do"
    );
    assert_eq!(of("when"), [["We make a backup each night. Backups are kept\nfor thirty days."]]);
    assert_eq!(fs::read_to_string(set.join("unanswered.txt")).unwrap(), "why\n");
    let (_, out, said) = label(&home, "");
    assert!(out.contains("0 left") && !said.contains("[1/"), "{out} {said}");
}

#[test]
fn lines_are_those_that_an_editor_shows() {
    for ending in ["\n", "\r\n", "\r"] {
        let documents = DOCUMENTS.map(|(path, text)| (path, text.replace('\n', ending)));
        let home = folder(&documents.each_ref().map(|(path, text)| (*path, text.as_str())));
        fs::write(home.path().join("questions.txt"), "when\nwho deletes\n").unwrap();
        let (code, _, said) = label(&home, "e\nkeep.md:3-4\ne\nNobody deletes one.\n");
        assert_eq!(code, 0, "{ending:?} {said}");
        assert!(said.contains("saved: keep.md:3 \"We make a backup each night. "), "{ending:?} {said}");
        assert!(said.contains("saved: keep.md:8 \"Nobody deletes one."), "{ending:?} {said}");
        let sentences = format!("We make a backup each night. Backups are kept{ending}for thirty days.");
        assert_eq!(texts(&home.path().join("set"))[0].1, [[sentences]]);
    }
}

#[test]
fn a_short_text_that_is_in_several_places_is_refused() {
    let home = folder(&DOCUMENTS);
    fs::write(home.path().join("questions.txt"), "who may delete a vault\n").unwrap();
    let (code, _, said) = label(&home, "e\nthe owner\nq\n");
    assert!(code == 0 && said.contains("`the owner` is in 2 places; choose e again"), "{said}");
    assert!(!said.contains("saved: "), "{said}");
    // It is enough if it is in one place.
    let (_, out, said) = label(&home, "e\nowner pays\n");
    assert!(out.contains("1 question with evidence") && said.contains("saved: copy.md:3 \"owner pays\""), "{said}");
}

#[test]
fn the_last_answer_can_be_undone() {
    let home = folder(&DOCUMENTS);
    fs::write(home.path().join("questions.txt"), "how long are backups kept\nwhy\n").unwrap();
    let (code, out, said) = label(&home, "u\ny\nu\nn\nu\nq\n");
    assert_eq!(code, 0, "{said}");
    assert!(said.contains("no answer to undo") && said.matches("[1/2]").count() == 4, "{said}");
    assert!(out.contains("0 questions with evidence, 0 without an answer, 2 left"), "{out}");
    let set = home.path().join("set");
    assert!(!set.join("queries.jsonl").exists() && !set.join("unanswered.txt").exists());
}

#[test]
fn without_any_input_a_terminal_is_asked_for() {
    let home = folder(&DOCUMENTS);
    fs::write(home.path().join("questions.txt"), "how long are backups kept\n").unwrap();
    let (code, out, said) = label(&home, "");
    assert_eq!((code, out.as_str()), (2, ""), "{said}");
    assert!(said.contains("standard input: ended before the first answer"), "{said}");
}

#[test]
fn a_question_with_the_text_of_its_answer_is_a_label() {
    let home = folder(&DOCUMENTS);
    let line = |text: &str| {
        format!(
            r#"{{"query_id": "q", "query": "how long?", "references": [{{"doc_id": "keep.md", "text": "{text}"}}]}}"#
        )
    };
    let file = home.path().join("questions.txt");
    fs::write(&file, line("Backups are kept for thirty days.")).unwrap();
    let (code, _, said) = label(&home, "");
    assert_eq!(code, 0, "{said}");
    let (query, texts) = texts(&home.path().join("set")).remove(0);
    assert_eq!((query.as_str(), texts[0][0].as_str()), ("how long?", "Backups are kept\nfor thirty days."));
    let written = fs::read_to_string(home.path().join("set/queries.jsonl")).unwrap();
    assert!(written.contains("\"start\":") && written.contains("\"end\":"), "{written}");
    fs::remove_dir_all(home.path().join("set")).unwrap();
    fs::write(&file, line("for forty days")).unwrap();
    let (code, _, said) = label(&home, "");
    assert!(code == 2 && said.contains("`keep.md` does not contain the text of its reference"), "{said}");
    fs::write(&file, line("Backups are kept for thirty days.")).unwrap();
    let (code, _, said) = recommend(&home, &["--questions", arg(&file), "--minutes", "0"]);
    assert_eq!(code, 0, "{said}");
}

#[test]
fn several_numbers_are_all_needed_or_any_of_them() {
    let home = folder(&DOCUMENTS);
    fs::write(home.path().join("questions.txt"), "who may delete a vault, and how long are backups kept\n").unwrap();
    let (code, _, said) = label(&home, "1/2,3\n");
    assert_eq!(code, 0, "{said}");
    let references = LabelSet::read(&home.path().join("set")).unwrap().queries[0].references.clone();
    assert_eq!(references.iter().map(|reference| reference.any.len()).collect::<Vec<_>>(), [2, 1]);
    // The set remembers that search proposed them; what a person typed is their own.
    assert!(references.iter().all(|reference| reference.proposed));
    let written = fs::read_to_string(home.path().join("set/queries.jsonl")).unwrap();
    assert_eq!(written.matches("\"proposed\":true").count(), 2, "{written}");
    fs::remove_file(home.path().join("set/queries.jsonl")).unwrap();
    assert_eq!(label(&home, "e\nOnly the owner of a vault\n").0, 0);
    assert!(!LabelSet::read(&home.path().join("set")).unwrap().queries[0].references[0].proposed);
    assert!(!fs::read_to_string(home.path().join("set/queries.jsonl")).unwrap().contains("proposed"));
}

#[test]
fn a_session_that_was_killed_while_it_copied_the_documents_copies_them_again() {
    let home = folder(&DOCUMENTS);
    fs::write(home.path().join("questions.txt"), "who may delete a vault\n").unwrap();
    crate::common::write(home.path(), "set/.chunkmill-import/corpus/keep.md", b"half");
    let (code, out, said) = label(&home, "e\nowner pays\n");
    assert!(code == 0 && out.contains("1 question with evidence"), "{out}{said}");
    assert_eq!(LabelSet::read(&home.path().join("set")).unwrap().corpus().unwrap().documents, 3);
}

#[test]
fn a_file_of_questions_that_is_none_is_refused() {
    let home = folder(&DOCUMENTS);
    for (text, problem) in [
        ("\n\n", "has no question"),
        ("{\"query_id\": \"q\", \"query\": \"a\", \"references\": []}", "references is empty"),
        ("{\"text\": \"a\"}", "missing field `query`"),
        (
            "{\"query_id\": \"a\", \"query\": \"1\"}\n{\"query_id\": \"a\", \"query\": \"2\"}",
            "questions.txt:2: query_id `a` was used before",
        ),
    ] {
        fs::write(home.path().join("questions.txt"), text).unwrap();
        let (code, _, said) = label(&home, "");
        assert!(code == 2 && said.contains(problem), "{text}: {code} {said}");
    }
}

fn recommend(home: &TempDir, more: &[&str]) -> (i32, String, String) {
    let (docs, out) = (home.path().join("docs"), home.path().join("advice"));
    let fake = ["--embedder", "fake", "--embedding-cache", "off"];
    let (docs, out) = (arg(&docs).to_owned(), arg(&out).to_owned());
    eval(&[&["recommend", &docs, "-o", &out][..], &fake, more].concat())
}

#[test]
fn from_documents_to_advice() {
    let corpus = Path::new(env!("CARGO_MANIFEST_DIR")).join("../datasets/larder/corpus/guide");
    let home = TempDir::new().unwrap();
    fs::create_dir(home.path().join("docs")).unwrap();
    for entry in fs::read_dir(corpus).unwrap().map(|entry| entry.unwrap()) {
        fs::copy(entry.path(), home.path().join("docs").join(entry.file_name())).unwrap();
    }
    // Without any time, the first setting is still tried.
    let (code, out, said) = recommend(&home, &["--minutes", "0"]);
    assert_eq!(code, 0, "{said}");
    let lines: Vec<&str> = out.lines().collect();
    assert!(lines[0].starts_with("Cut the documents by `structure`, the default, and search them by "), "{out}");
    assert!(lines[1].contains("made up from the documents") && lines[2].starts_with("Indexing "), "{out}");
    assert!(lines[1].contains("The time was up before "), "{out}");
    assert!(lines.last().unwrap().starts_with("use it  chunkmill index "), "{out}");
    let advice = home.path().join("advice");
    for file in ["chunkmill.toml", "report.html", "labels/queries.jsonl", "sweep.toml", "run/run.json"] {
        assert!(advice.join(file).is_file(), "{file}");
    }
    let toml = fs::read_to_string(advice.join("chunkmill.toml")).unwrap();
    chunkmill::config::Options::parse(&toml, "advice").unwrap().resolve().unwrap();
    assert!(said.contains("made up ") && said.contains("[1/"), "{said}");
    let report = chunkmill_eval::data::report::Report::read(&advice).unwrap();
    assert!(report.left_out.iter().filter(|left| left.reason == Reason::TimeWasUp).count() > 5);
    // A second run with time keeps the existing results.
    let (code, out, said) = recommend(&home, &["--json"]);
    assert_eq!(code, 0, "{said}");
    assert!(said.contains("structure: already done"), "{said}");
    let found: serde_json::Value = serde_json::from_str(&out).unwrap();
    assert!(found["advice"].as_array().unwrap().len() == 3 && found["cells"].as_u64().unwrap() > 20, "{out}");
}

#[test]
fn questions_about_other_documents_are_refused_before_anything_is_tried() {
    let home = folder(&DOCUMENTS);
    let file = home.path().join("questions.jsonl");
    fs::write(&file, r#"{"query_id": "q1", "query": "how long?", "references": [{"doc_id": "docs/keep.md"}]}"#)
        .unwrap();
    let (code, _, said) = recommend(&home, &["--questions", arg(&file)]);
    assert_eq!(code, 2, "{said}");
    let wanted = "`q1` names `docs/keep.md`, which is not among the documents; did you mean `keep.md`?";
    assert!(said.contains(wanted) && !said.contains("[1/"), "{said}");
}

#[test]
fn questions_without_evidence_are_asked_about_before_anything_is_tried() {
    let home = folder(&DOCUMENTS);
    let file = home.path().join("questions.txt");
    fs::write(&file, "how long are backups kept\nwhy\n").unwrap();
    let with = ["--questions", arg(&file), "--minutes", "0"];
    let (code, _, said) = recommend(&home, &with);
    assert!(code == 2 && said.contains("has 2 questions, but no evidence"), "{said}");
    assert!(said.contains("chunkmill-eval label "), "{said}");
    // Questions that were made up in the meantime make way.
    let made_up =
        r#"{"query_id": "s1", "query": "backups?", "references": [{"doc_id": "a.md"}], "tags": ["synthetic"]}"#;
    fs::write(home.path().join("advice/labels/queries.jsonl"), made_up).unwrap();
    let (code, _, said) = recommend(&home, &with);
    assert!(code == 2 && said.contains("has 2 questions, but no evidence"), "{said}");
    // The labelled questions are enough to continue.
    let (docs, set) = (home.path().join("docs"), home.path().join("advice/labels"));
    let args = ["label", arg(&docs), "--questions", arg(&file), "-o", arg(&set), "--embedder", "fake"];
    assert_eq!(typed(&args, "y\nq\n").0, 0);
    let (code, out, said) = recommend(&home, &with);
    assert_eq!(code, 0, "{said}");
    assert!(out.contains("1 question") && !out.contains("made up"), "{out}");
    assert!(out.contains("The evidence of all questions was chosen from passages that search proposed."), "{out}");
}

/// In Markdown, a line of a paragraph often begins with a link, code, emphasis, a bracket or a number.
#[test]
fn no_passage_is_part_of_a_sentence_because_of_its_lines() {
    let page = "# Depth\n\nTo limit the depth of\n[a tree](https://tree.example) or of\n`Value` types, the depth is\n(at most)\n\
                *always*\n128 of\n\"depth\" since\n2024. It was set by Dr.\nAmes and e.g. San Marino.\n\n- The depth of an item\n  `goes` on.\n\
                - The depth ends.\n\n1. The depth is first.\n2. The depth is second\n   2024.\n\n> The depth of a quote\n> goes on.\n\
                Lazily so.\n";
    let home = folder(&[("docs/page.md", page)]);
    fs::write(home.path().join("questions.txt"), "what is the depth\n").unwrap();
    let (code, _, said) = label(&home, "q\n");
    let passages: Vec<&str> = said.lines().filter_map(|line| line.strip_prefix("     ")).collect();
    assert!(code == 0 && !passages.is_empty(), "{said}");
    for passage in passages {
        assert!(passage.ends_with('.') && !passage.ends_with("Dr.") && !passage.ends_with("g."), "{passage}");
        let first = passage.trim_start_matches(['-', '>', ' ', '.', '1', '2']);
        assert!(
            ["To limit", "It was", "The depth", "Lazily"].iter().any(|start| first.starts_with(start)),
            "{passage}"
        );
    }
}
