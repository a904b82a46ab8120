//! Files that are attached to mails, as documents of their own.

use std::fs;
use std::path::Path;
use std::process::Command;

use serde_json::Value;

use crate::common::{finish, folder, json_lines, program, run, tree, write};

/// A mail with files of these names and texts.
fn mail(files: &[(&str, &str)]) -> String {
    let mut mail = String::from(
        "From: a@example.org\nSubject: Mill\nContent-Type: multipart/mixed; boundary=b\n\n--b\nContent-Type: text/plain\n\nOf wheat.\n\n",
    );
    for (name, text) in files {
        mail += &format!(
            "--b\nContent-Type: application/octet-stream\nContent-Disposition: attachment; filename=\"{name}\"\n\n{text}\n"
        );
    }
    mail + "--b--\n"
}

const FILES: [(&str, &str); 6] = [
    ("notes.txt", "Stones are dressed."),
    ("notes.txt", "Again, of stones."),
    ("notes (2).txt", "A third of them."),
    ("../a/page.html", "<main><p>Of rye on a page.</main>"),
    ("x.png", "no text"),
    ("broken.pdf", "no PDF"),
];

fn ids(home: &Path, args: &[&str]) -> Vec<String> {
    let (_, lines, _) = run(home, &[&["chunk", "docs"], args].concat());
    json_lines(&lines).iter().map(|chunk| chunk["doc_id"].as_str().unwrap().to_owned()).collect()
}

fn index(home: &Path, out: &str) -> Value {
    let args = ["index", "docs", "-o", out, "--embedder", "fake", "--files", "2", "--json", "--attachments", "true"];
    let (code, report, err) = run(home, &args);
    assert_eq!(code, 3, "{err}");
    serde_json::from_str(&report).unwrap()
}

#[test]
fn attachments_are_documents_on_request() {
    let home = folder(&[("docs/m.eml", &mail(&FILES))]);
    assert_eq!(ids(home.path(), &[]), ["m.eml"]);
    let found = ids(home.path(), &["--attachments", "true"]);
    let expected =
        ["m.eml", "m.eml#.._a_page.html", "m.eml#notes (2) (2).txt", "m.eml#notes (2).txt", "m.eml#notes.txt"];
    let mut sorted = found.clone();
    sorted.sort();
    assert_eq!(sorted, expected);
    let chosen = ids(home.path(), &["--attachments", "true", "--exclude", "*#notes*"]);
    assert_eq!(chosen, ["m.eml", "m.eml#.._a_page.html"]);
}

#[test]
fn attachments_of_a_mailbox_have_the_numbers_of_their_messages() {
    let mailbox = format!("From a\n{}\nFrom b\n{}", mail(&FILES[..1]), mail(&FILES[..1]));
    let home = folder(&[("docs/m.mbox", &mailbox)]);
    let mut found = ids(home.path(), &["--attachments", "true"]);
    found.dedup();
    assert_eq!(found, ["m.mbox", "m.mbox#1/notes.txt", "m.mbox#2/notes.txt"]);
}

#[cfg(unix)]
#[test]
fn any_number_of_mails_may_have_attachments() {
    let home = folder(&[]);
    for at in 0..150 {
        write(home.path(), &format!("docs/{at}.eml"), mail(&FILES[..1]).as_bytes());
    }
    let program = program(home.path());
    let mut shell = Command::new("sh");
    shell.args(["-c", r#"ulimit -n 100; exec "$0" "$@""#]).arg(program.get_program());
    shell.args(["chunk", "docs", "--attachments", "true"]).current_dir(home.path());
    for (name, value) in program.get_envs() {
        match value {
            Some(value) => shell.env(name, value),
            None => shell.env_remove(name),
        };
    }
    let (code, lines, err) = finish(shell.output().unwrap());
    assert_eq!((code, json_lines(&lines).len()), (0, 300), "{err}");
}

#[test]
fn the_dataset_of_attachments_is_verified_and_kept_up_to_date() {
    let home = folder(&[("docs/m.eml", &mail(&FILES)), ("docs/a.md", "# A\n\nText.\n")]);
    let first = index(home.path(), "out");
    // The mail, three notes, the page and `a.md`; the file that is no PDF; the picture.
    assert_eq!((&first["documents"], &first["quarantined"]), (&6.into(), &1.into()), "{first:#}");
    assert_eq!(first["other_files"]["types"]["png"], 1, "{first:#}");
    assert_eq!(index(home.path(), "out")["texts_embedded"], 0);
    let (code, said, err) = run(home.path(), &["verify", "out", "--corpus", "docs"]);
    assert_eq!(code, 0, "{said}{err}");

    fs::write(home.path().join("docs/m.eml"), mail(&FILES).replace("Again", "Once more")).unwrap();
    let changes = &index(home.path(), "out")["changes"];
    // The bytes of the mail are others, too. The file that is no PDF is unchanged.
    assert_eq!((&changes["changed"]["count"], &changes["unchanged"]), (&2.into(), &5.into()), "{changes}");
    index(home.path(), "fresh");
    assert_eq!(tree(&home.path().join("out")), tree(&home.path().join("fresh")));
    let (code, said, err) = run(home.path(), &["explain", "docs/m.eml#notes.txt", "--attachments", "true"]);
    assert!(code == 0 && said.contains("Stones are dressed."), "{said}{err}");
}
