//! Questions that people ask already: from logs, pages and issues to a file that is labelled.

use std::fs;

use chunkmill_eval::labels::ask::QuestionFile;
use tempfile::TempDir;

use crate::common::{arg, eval, folder};

/// Collects from these files and returns the exit code, what was printed, and the questions with their counts.
fn collected(files: &[(&str, &[u8])], more: &[&str]) -> (i32, String, Vec<(String, u64)>) {
    let home = TempDir::new().unwrap();
    let out = home.path().join("questions.jsonl");
    let mut args = vec!["questions".to_owned()];
    for (name, bytes) in files {
        crate::common::write(home.path(), name, bytes);
        args.push(arg(&home.path().join(name)).to_owned());
    }
    args.extend(["-o".to_owned(), arg(&out).to_owned()]);
    args.extend(more.iter().map(|&arg| arg.to_owned()));
    let args: Vec<&str> = args.iter().map(String::as_str).collect();
    let (code, said, problems) = eval(&args);
    let lines = fs::read_to_string(&out).unwrap_or_default();
    if !lines.is_empty() {
        let file = QuestionFile::read(&out).unwrap();
        assert_eq!(file.plain.len(), lines.lines().count(), "every line is a question for `label`");
    }
    let question = |line: &str| {
        let line: serde_json::Value = serde_json::from_str(line).unwrap();
        (line["query"].as_str().unwrap().to_owned(), line["count"].as_u64().unwrap())
    };
    (code, said + &problems, lines.lines().map(question).collect())
}

fn texts(found: &[(String, u64)]) -> Vec<(&str, u64)> {
    found.iter().map(|(text, count)| (text.as_str(), *count)).collect()
}

#[test]
fn a_search_log_becomes_questions_the_most_frequent_first() {
    let log = "date,search_term,searches\n1,restore a file,3\n2,\"Restore  a file?\",4\n3,How do I restore files?,2\n\
               4,backup window,\"1,200\"\n5,,4\n6,12345,1\n7,delete vault,x\n8,only two\n9,never shown,0\n";
    let (code, said, found) = collected(&[("log.csv", log.as_bytes())], &[]);
    assert_eq!(code, 3, "{said}");
    assert_eq!(texts(&found), [("backup window", 1200), ("Restore a file?", 9)], "{said}");
    for text in [
        "2 questions of 4 in 1 file",
        "left out: 1 repeat\n",
        "1 repeat in other words\n  `How do I restore files?` asks the same as `Restore a file?`",
        "left out: 4 unusable rows",
        "log.csv:6: has no question",
        "log.csv:7: has no word",
        "log.csv:8: `x` is not a count",
        "log.csv:9: 2 columns, not 3",
    ] {
        assert!(said.contains(text), "{text}: {said}");
    }
    let (code, said, found) = collected(&[("log.csv", log.as_bytes())], &["--min-count", "100"]);
    assert!(code == 3 && found.len() == 1 && said.contains("1 question asked fewer than 100 times"), "{said}");
}

#[test]
fn columns_can_be_named_in_any_form_of_table() {
    let tsv = b"id\twords\ttimes\n1\twhere is the key\t7\n";
    let more = ["--column", "words", "--count-column", "times"];
    assert_eq!(texts(&collected(&[("a.tsv", tsv)], &more).2), [("where is the key", 7)]);
    let lines = b"{\"query\": \"where is the key\", \"n\": 2}\nnot json\n{\"query\": 3}\n{\"query\": \"why\"}\n";
    let (code, said, found) = collected(&[("a.jsonl", lines)], &[]);
    assert_eq!((code, texts(&found)), (3, vec![("where is the key", 2), ("why", 1)]), "{said}");
    let (code, said, _) = collected(&[("a.tsv", tsv)], &[]);
    assert!(code == 2 && said.contains("no column that is named like a question") && said.contains("words"), "{said}");
    let (code, said, _) = collected(&[("a.tsv", tsv)], &["--column", "word"]);
    assert!(code == 2 && said.contains("has no column `word`"), "{said}");
    let (code, said, found) = collected(&[("one.csv", b"Anything\nwhere is the key\n")], &[]);
    assert_eq!((code, texts(&found)), (0, vec![("where is the key", 1)]), "a single column needs no name: {said}");
}

#[test]
fn a_page_of_frequent_questions_becomes_questions() {
    let page = "# FAQ\n\n## How do I *restore* a file?\n\nLike this. Is that all?\n\n## Prices\n\n**Q: What does it cost?**\n\n\
                - **Can I stop?**\n  Yes.\n\n<details><summary>Where is the <b>key</b>?</summary>There.</details>\n\n\
                <dl><dt>Who pays?</dt><dd>You.</dd></dl>\n\n3. not a heading?\n\n### 4. Why `now`?\n\n```md\n# In code?\n```\n";
    let (code, said, found) = collected(&[("faq.md", page.as_bytes())], &[]);
    assert_eq!(code, 0, "{said}");
    let found: Vec<&str> = found.iter().map(|(text, _)| text.as_str()).collect();
    let wanted =
        ["How do I restore a file?", "What does it cost?", "Can I stop?", "Where is the key?", "Who pays?", "Why now?"];
    assert_eq!(found, wanted);
}

#[test]
fn issues_and_plain_lines_are_joined_and_their_files_are_named() {
    let issues =
        br#"[{"title": "[Bug] Restore fails with E-3011"}, {"title": "How do I restore a file?"}, {"number": 3}]"#;
    let home = folder(&[("plain.txt", "how do I restore a file\nwhy?\n\n")]);
    fs::write(home.path().join("issues.json"), issues).unwrap();
    let path = |name: &str| arg(&home.path().join(name)).to_owned();
    let (plain, issues, out) = (path("plain.txt"), path("issues.json"), path("questions.jsonl"));
    let (code, said, problems) = eval(&["questions", &plain, &issues, "-o", &out]);
    assert!(code == 3 && problems.contains("issues.json:row 3: has no column with a question"), "{said}{problems}");
    let lines: Vec<String> = fs::read_to_string(&out).unwrap().lines().map(str::to_owned).collect();
    assert_eq!(
        lines,
        [
            r#"{"count":2,"from":"plain.txt","query":"how do I restore a file","query_id":"q001"}"#,
            r#"{"count":1,"from":"plain.txt","query":"why?","query_id":"q002"}"#,
            r#"{"count":1,"from":"issues.json","query":"Restore fails with E-3011","query_id":"q003"}"#,
        ]
    );
    // Nothing is overwritten, and a file of plain lines has plain lines.
    let (code, _, problems) = eval(&["questions", &plain, "-o", &out]);
    assert!(code == 2 && problems.contains("exists"), "{problems}");
    let text = path("questions.txt");
    assert_eq!(eval(&["questions", &plain, "-o", &text]).0, 0);
    assert_eq!(fs::read_to_string(&text).unwrap(), "how do I restore a file\nwhy?\n");
    for (name, bytes) in
        [("empty.txt", &b"\n\n"[..]), ("bad.txt", b"\xff\xfe\xfd\n"), ("bad.json", b"{"), ("empty.md", b"# A\n")]
    {
        fs::write(home.path().join(name), bytes).unwrap();
        let (code, said, problems) = eval(&["questions", &path(name), "-o", &path("never.txt")]);
        assert!(code == 2 && problems.contains(name), "{name}: {said}{problems}");
        assert!(!home.path().join("never.txt").exists());
    }
    assert_eq!(eval(&["questions", &path("gone.csv"), "-o", &path("never.txt")]).0, 2);
}
