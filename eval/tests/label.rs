//! Labelling: questions that people asked, and the passages that answer them.

use std::fs;
use std::io::Write;
use std::path::Path;
use std::process::{Command, Stdio};

use chunkmill_eval::data::left_out::Reason;
use chunkmill_eval::labels::set::LabelSet;
use tempfile::TempDir;

use crate::common::{arg, eval, folder};
use crate::tiny::Tiny;

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
    let labelled = texts(&set);
    assert_eq!(labelled.len(), 1);
    let paragraph = &labelled[0].1[0][0];
    assert_eq!(paragraph, "We make a backup each night. Backups are kept\nfor thirty days.");
    assert!(said.contains("saved: keep.md:3 \"We make a backup each night. "), "{said}");
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
    assert_eq!(of("why"), Vec::<Vec<String>>::new());
    let written = fs::read_to_string(set.join("queries.jsonl")).unwrap();
    assert!(written.contains(r#"{"query_id":"q003","query":"why","references":[],"unanswered":true}"#), "{written}");
    let (code, out, said) = eval(&["verify", arg(&set)]);
    assert!(code == 0 && out.contains("1 query that the documents do not answer"), "{out}{said}");
    let (_, out, said) = label(&home, "");
    assert!(out.contains("0 left") && !said.contains("[1/"), "{out} {said}");
    // A run without an answer writes nothing.
    assert_eq!(fs::read_to_string(set.join("queries.jsonl")).unwrap(), written);
    // Evidence that an edit removed is asked for again, and its old label is kept until then.
    let page = "# Backups\n\nThirty days is how long a backup stays.\n";
    fs::write(set.join("corpus/keep.md"), page).unwrap();
    let (code, out, said) = label(&home, "s\ne\nkeep.md:3\n");
    assert!(code == 0 && said.contains("2 questions lost their evidence"), "{said}");
    assert!(
        said.contains("[1/2] ") && out.contains("2 questions with evidence, 1 without an answer, 1 left"),
        "{out} {said}"
    );
    let now = texts(&set);
    assert_eq!(now.len(), 4, "{now:?}");
    let kept = now.iter().filter(|(_, references)| references.concat().concat().contains("each night")).count();
    let new = now.iter().filter(|(_, references)| references.concat().concat().contains("Thirty days is")).count();
    assert_eq!((kept, new), (1, 1), "{now:?}");
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
    // The set remembers how they were found; what a person typed is their own.
    let set = LabelSet::read(&home.path().join("set")).unwrap();
    assert!(set.queries[0].is_proposed());
    let written = fs::read_to_string(home.path().join("set/queries.jsonl")).unwrap();
    assert_eq!(written.matches("\"proposed\":\"").count(), 2, "{written}");
    let ways = |name: &str| written.contains(&format!("{name}+")) || written.contains(&format!("{name}\""));
    assert!(["vector", "keyword", "hybrid"].iter().any(|name| ways(name)), "{written}");
    fs::remove_file(home.path().join("set/queries.jsonl")).unwrap();
    assert_eq!(label(&home, "e\nOnly the owner of a vault\n").0, 0);
    assert!(!LabelSet::read(&home.path().join("set")).unwrap().queries[0].is_proposed());
    assert!(fs::read_to_string(home.path().join("set/queries.jsonl")).unwrap().contains("\"proposed\":\"typed\""));
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

/// Copies some pages of larder to `docs`.
fn copy_guide(home: &TempDir) {
    let corpus = Path::new(env!("CARGO_MANIFEST_DIR")).join("../datasets/larder/corpus/guide");
    fs::create_dir(home.path().join("docs")).unwrap();
    for entry in fs::read_dir(corpus).unwrap().map(|entry| entry.unwrap()) {
        fs::copy(entry.path(), home.path().join("docs").join(entry.file_name())).unwrap();
    }
}

#[test]
fn advice_says_whether_a_reranker_pays() {
    let home = TempDir::new().unwrap();
    copy_guide(&home);
    let model = home.path().join("tiny");
    Tiny { layers: 1, ..Tiny::new("bert", 48, 3) }.write_cross_encoder(&model);
    let (code, out, said) = recommend(&home, &["--minutes", "0", "--rerank", arg(&model)]);
    assert_eq!(code, 0, "{said}");
    assert!(out.starts_with("Keep the default, `structure, hybrid, k=5`"), "{out}");
    // It is made up, so it pays at most by chance.
    assert!(out.contains("note  The reranker tiny "), "{out}");
    assert!(!fs::read_to_string(home.path().join("advice/chunkmill.toml")).unwrap().contains("rerank ="), "{out}");
}

#[test]
fn from_documents_to_advice() {
    let home = TempDir::new().unwrap();
    copy_guide(&home);
    // Without any time, the first setting is still tried.
    let (code, out, said) = recommend(&home, &["--minutes", "0"]);
    assert_eq!(code, 0, "{said}");
    let lines: Vec<&str> = out.lines().collect();
    assert!(lines[0].starts_with("Keep the default, `structure, hybrid, k=5`: of 2 settings "), "{out}");
    let line = |name: &str| lines.iter().find(|line| line.starts_with(&format!("{name}  "))).unwrap();
    assert!(line("gain").contains("the reader gets") && line("cost").contains("Indexing "), "{out}");
    assert!(
        line("next").contains("made up from the documents") && line("next").contains("the time was up before"),
        "{out}"
    );
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
    assert!(found["advice"]["headline"].is_string() && found["cells"].as_u64().unwrap() > 20, "{out}");
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

/// Returns the texts of the proposals in what the program said, and the lines above them.
fn proposals(said: &str) -> Vec<(String, String)> {
    let mut found: Vec<(String, String)> = Vec::new();
    // The answers are not shown, so a line may follow a prompt.
    for line in said.lines().map(|line| line.trim_start_matches("> ")) {
        let number = line.trim_start().split("  ").next().unwrap_or_default();
        if line.starts_with(' ') && !line.starts_with("     ") && number.parse::<usize>().is_ok() {
            found.push((line.trim().to_owned(), String::new()));
        } else if let (Some(text), Some((_, found))) = (line.strip_prefix("     "), found.last_mut()) {
            let between = if found.is_empty() { "" } else { "\n" };
            *found += &format!("{between}{text}");
        }
    }
    found
}

/// Asks one question about these documents, shows everything that is proposed for it, and returns what was said.
fn proposed(documents: &[(&str, &str)], question: &str) -> String {
    let home = folder(documents);
    fs::write(home.path().join("questions.txt"), question).unwrap();
    let (code, _, said) = label(&home, "m\nm\nm\nm\nm\nm\nm\nm\nm\nq\n");
    assert_eq!(code, 0, "{said}");
    said
}

/// In Markdown, a line of a paragraph often begins with a link, code, emphasis, a bracket or a number.
#[test]
fn every_proposal_is_a_whole_passage() {
    let paragraph = "To limit the depth of\n[a tree](https://tree.example) or of\n`Value` types, the depth is\n(at most)\n\
                *always*\n128 of\n\"depth\" since\n2024. It was set by Dr.\nAmes and e.g. San Marino.";
    let item = "- The depth of an item\n  `goes` on.\n\n  It has a second paragraph.";
    let long = format!("- The depth of a long item is long. {}\n", "It is described in many sentences. ".repeat(60));
    let page = format!(
        "# Depth\n\n{paragraph}\n\n{item}\n- The depth ends.\n\n1. The depth is first.\n2. The depth is second\n   2024.\n\n\
         > The depth of a quote\n> goes on.\nLazily so.\n\n## Code\n\n```sh\ndepth --set 3\n\ndepth --get\n```\n\n\
         | depth | meaning |\n| --- | --- |\n| 1 | shallow |\n| 2 | deep |\n\nTo see the depth,\nrun `depth`:\n\n```sh\ndepth --show\n```\n\n{long}"
    );
    let said = proposed(&[("docs/page.md", &page)], "what is the depth\n");
    let found = proposals(&said);
    let words = |text: &str| text.split_whitespace().collect::<Vec<_>>().join(" ");
    let wanted = [
        (words(paragraph), "page.md:3  Depth"),
        (words(item), "page.md:13  Depth"),
        ("- The depth ends.".to_owned(), "page.md:17  Depth"),
        ("1. The depth is first.".to_owned(), "page.md:19  Depth"),
        ("2. The depth is second 2024.".to_owned(), "page.md:20  Depth"),
        ("> The depth of a quote > goes on. Lazily so.".to_owned(), "page.md:23  Depth"),
        ("```sh\ndepth --set 3\n\ndepth --get\n```".to_owned(), "page.md:29  Depth > Code"),
        ("| depth | meaning |\n| 1 | shallow |".to_owned(), "page.md:37  Depth > Code"),
        ("| depth | meaning |\n| 2 | deep |".to_owned(), "page.md:38  Depth > Code"),
        ("To see the depth,\nrun `depth`:\n\n```sh\ndepth --show\n```".to_owned(), "page.md:40  Depth > Code"),
    ];
    for (text, place) in &wanted {
        let own = found.iter().find(|(_, shown)| shown == text);
        assert!(own.is_some_and(|(line, _)| line.contains(place)), "{place} {text}\n{found:#?}");
    }
    // The long item is divided between sentences.
    let parts: Vec<&str> =
        found[..].iter().map(|(_, text)| text.as_str()).filter(|text| text.contains("many sentences")).collect();
    assert!(parts.len() > 1 && parts.iter().all(|part| part.ends_with('.') && part.len() < 900), "{parts:?}");
    assert_eq!(found.len(), wanted.len() + parts.len(), "{found:#?}");
    assert!(said.contains("there are no more"), "{said}");
}

#[test]
fn proposals_come_from_every_way_to_search_and_some_are_random() {
    let mut pages: Vec<(String, String)> = Vec::new();
    for at in 0..40 {
        pages.push((format!("docs/page-{at}.md"), format!("# Page {at}\n\nNothing of this is about number {at}.\n")));
    }
    pages.push(("docs/vault.md".to_owned(), "# Vaults\n\nThe vault is locked with a key.\n".to_owned()));
    let documents: Vec<(&str, &str)> = pages.iter().map(|(path, text)| (path.as_str(), text.as_str())).collect();
    let said = proposed(&documents, "where is the key of the vault\n");
    let found = proposals(&said);
    let ways = |(line, _): &(String, String)| line.rsplit("  ").next().unwrap().to_owned();
    let key = found.iter().find(|(_, text)| text.contains("locked with a key")).unwrap();
    assert!(ways(key).contains("keyword"), "{key:?}");
    assert!(
        found.iter().any(|one| ways(one) == "random") && found.iter().any(|one| ways(one).contains("vector")),
        "{said}"
    );
    assert_eq!(said, proposed(&documents, "where is the key of the vault\n"), "the same question, the same proposals");
    // Evidence from a random passage does not favour search.
    let home = folder(&documents);
    fs::write(home.path().join("questions.txt"), "where is the key of the vault\n").unwrap();
    let number = found.iter().position(|one| ways(one) == "random").unwrap() + 1;
    let (code, _, said) = label(&home, &format!("m\nm\nm\nm\nm\n{number}\n"));
    assert_eq!(code, 0, "{said}");
    let query = LabelSet::read(&home.path().join("set")).unwrap().queries.remove(0);
    assert!(!query.is_proposed() && !query.is_unanswered(), "{query:?}");
}

#[test]
fn more_other_words_a_look_around_and_neighbours() {
    let home = folder(&DOCUMENTS);
    fs::write(home.path().join("questions.txt"), "how long are backups kept\n").unwrap();
    let (code, _, said) = label(&home, "?\n/who pays the owner\nv 9\nv 1\n+1\n1+\n1\n");
    assert_eq!(code, 0, "{said}");
    assert!(said.contains("look around proposal 2"), "{said}");
    assert!(said.contains("`v 9` is not one of"), "{said}");
    let query = LabelSet::read(&home.path().join("set")).unwrap().queries.remove(0);
    let place = query.references[0].places().next().unwrap().clone();
    let lines: Vec<&str> = said.lines().filter(|line| line.starts_with('>') && line.contains("    ")).collect();
    assert!(!lines.is_empty(), "the passage is marked among its neighbours: {said}");
    // The proposal was made longer before it was chosen, as far as its document goes.
    let text = fs::read_to_string(home.path().join("docs").join(&place.doc_id)).unwrap();
    let quote = place.quote.unwrap();
    assert_eq!(text[quote.range.clone()], quote.text);
    let several = place.doc_id == "keep.md";
    assert_eq!(quote.text.contains("## Deleting"), several, "{quote:?}");
    assert!(said.contains("no other passage there"), "{said}");
}

#[test]
fn on_a_terminal_the_words_of_the_question_stand_out() {
    let home = folder(&DOCUMENTS);
    let file = home.path().join("questions.txt");
    fs::write(&file, "how long are backups kept\n").unwrap();
    let (docs, set) = (home.path().join("docs"), home.path().join("set"));
    for (name, colored) in [("CLICOLOR_FORCE", true), ("NO_COLOR", false)] {
        let mut child = Command::new(env!("CARGO_BIN_EXE_chunkmill-eval"))
            .args(["label", arg(&docs), "--questions", arg(&file), "-o", arg(&set), "--embedder", "fake"])
            .args(["--embedding-cache", "off"])
            .env(name, "1")
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .spawn()
            .unwrap();
        child.stdin.take().unwrap().write_all(b"q\n").unwrap();
        let said = String::from_utf8(child.wait_with_output().unwrap().stderr).unwrap();
        assert_eq!(said.contains("\u{1b}[33mBackups\u{1b}[0m are \u{1b}[1m\u{1b}[33mkept"), colored, "{said:?}");
        assert_eq!(said.contains('\u{1b}'), colored, "{said:?}");
    }
}

#[test]
fn questions_of_an_older_file_without_an_answer_become_part_of_the_set() {
    let home = folder(&DOCUMENTS);
    fs::write(home.path().join("questions.txt"), "why\nhow long are backups kept\n").unwrap();
    crate::common::write(home.path(), "set/unanswered.txt", b"why\nwho else\n");
    crate::common::write(home.path(), "set/corpus/keep.md", DOCUMENTS[0].1.as_bytes());
    let (code, out, said) = label(&home, "q\n");
    assert!(code == 0 && out.contains("0 questions with evidence, 2 without an answer, 1 left"), "{out}{said}");
    assert!(!home.path().join("set/unanswered.txt").exists());
    let queries = LabelSet::read(&home.path().join("set")).unwrap().queries;
    let ids: Vec<(&str, &str)> = queries.iter().map(|query| (query.id.as_str(), query.text.as_str())).collect();
    assert_eq!(ids, [("q001", "why"), ("unanswered-002", "who else")]);
    assert!(queries.iter().all(chunkmill_eval::labels::set::Query::is_unanswered));
}

#[test]
fn older_labels_that_search_proposed_are_still_read() {
    use chunkmill_eval::labels::set::{FoundBy, Query, to_jsonl};
    let line = |proposed: &str| {
        format!(r#"{{"query_id":"q","query":"a","references":[{{"doc_id":"a.md","proposed":{proposed}}}]}}"#)
    };
    let read = |proposed: &str| Query::parse(&line(proposed));
    assert_eq!(read("true").unwrap().references[0].found_by, [FoundBy::Search].into());
    assert!(read("true").unwrap().is_proposed() && !read("false").unwrap().is_proposed());
    let mixed = read("\"keyword+random\"").unwrap();
    assert!(mixed.is_proposed());
    assert_eq!(to_jsonl(&[mixed]).unwrap().trim_end(), line("\"keyword+random\""));
    assert!(!read("\"random\"").unwrap().is_proposed() && !read("\"selected\"").unwrap().is_proposed());
    assert!(read("\"magic\"").unwrap_err().contains("magic"));
    assert!(read("3").is_err());
    let both = r#"{"query_id":"q","query":"a","unanswered":true,"references":[{"doc_id":"a.md"}]}"#;
    assert!(Query::parse(both).unwrap_err().contains("remove one of the two"));
    assert!(Query::parse(r#"{"query_id":"q","query":"a","unanswered":true}"#).unwrap().is_unanswered());
    assert!(!Query::parse(r#"{"query_id":"q","query":"a","unanswered":true}"#).unwrap().is_proposed());
}

#[test]
fn several_people_answer_the_same_questions_without_seeing_each_other() {
    let home = folder(&DOCUMENTS);
    fs::write(home.path().join("questions.txt"), "how long are backups kept\nwhy\nwho may delete a vault\n").unwrap();
    let path = |name: &str| home.path().join(name);
    let (docs, file, set) = (path("docs"), path("questions.txt"), path("set"));
    let by = |name: &str, input: &str| {
        let args = ["label", arg(&docs), "--questions", arg(&file), "-o", arg(&set), "--embedder", "fake"];
        typed(&[&args[..], &["--embedding-cache", "off", "--by", name]].concat(), input)
    };
    let (code, out, said) = by("ann", "e\nkeep.md:3-4\nn\ne\nvault.md:3\n");
    assert!(code == 0 && out.contains("2 questions with evidence, 1 without an answer, 0 left"), "{out}{said}");
    let (code, out, said) = by("bob", "e\nkeep.md:4\nn\nn\n");
    assert!(code == 0 && said.contains("[1/3] how long"), "{said}");
    assert!(out.contains("1 question with evidence, 2 without an answer, 0 left"), "{out}");
    let agreed = "bob and ann: 3 questions answered by both; on 2 they agree whether the documents answer the question; of 1 \
                  with evidence by both, it has text in common in 1 (26 % of the text)";
    assert!(out.contains(agreed), "{out}");
    // Each person's evidence will do, and evidence counts more than its absence.
    let queries = LabelSet::read(&set).unwrap().queries;
    let of = |text: &str| queries.iter().find(|query| query.text.contains(text)).unwrap();
    assert_eq!(of("how long").references[0].any.len(), 2);
    assert_eq!(of("how long").by, ["ann", "bob"]);
    assert!(of("why").is_unanswered() && !of("delete").is_unanswered());
    assert_eq!(eval(&["verify", arg(&set)]).0, 0);
    // A person's file is a file of labels, and their answers can be undone alone.
    let (one, other) = (set.join("people/ann.jsonl"), set.join("people/bob.jsonl"));
    let (code, out, said) = eval(&["agree", arg(&one), arg(&other)]);
    assert!(code == 0 && out.contains("3 questions answered by both"), "{out}{said}");
    let (code, out, _) = eval(&["agree", arg(&one), arg(&other), "--json"]);
    assert!(code == 0 && out.contains("\"alike\":2"), "{out}");
    for name in ["../x", "", "-a", "a/b"] {
        assert_eq!(by(name, "").0, 2, "{name}");
    }
    // Without a name, only questions that the set does not have are asked.
    let (_, out, said) = label(&home, "");
    assert!(
        out.contains("2 questions with evidence, 1 without an answer, 0 left") && !said.contains("[1/"),
        "{out}{said}"
    );
}
