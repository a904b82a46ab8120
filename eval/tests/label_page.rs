//! The page on which questions are labelled: who may ask for it, and what a person does in a real browser.

use std::env;
use std::fs;
use std::io::{BufRead, BufReader, Read, Write};
use std::net::TcpStream;
use std::path::PathBuf;
use std::process::{Child, Command, Stdio};

use chunkmill_eval::labels::set::{FoundBy, LabelSet, Query};
use serde_json::Value;
use tempfile::TempDir;

use crate::browser::{axe, browser, script};
use crate::common::{arg, folder};

const DOCUMENTS: [(&str, &str); 3] = [
    (
        "docs/keep.md",
        "# Backups\n\nÄ – we make a backup each night. Backups are kept\nfor thirty days.\n\n## Deleting\n\nNobody deletes one.\n",
    ),
    ("docs/vault.md", "# Vaults <script>\n\nThe vault is löcked 🔒. Only the owner of a vault may delete it.\r\n"),
    (
        "docs/a-name-that-is-longer-than-a-column-of-the-page-and-has-no-place-to-break_a-name-that-is-longer-than-a-column-of-the-page.md",
        "# Vaults again\n\nThe owner pays. Only the owner of a vault may delete it.\n",
    ),
];

/// A running session.
struct Session {
    child: Child,
    /// `127.0.0.1:PORT`, and the token.
    host: String,
    token: String,
    home: TempDir,
}

impl Drop for Session {
    /// Ends the program of a test that failed.
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

impl Session {
    fn start(questions: &str) -> Self {
        let home = folder(&DOCUMENTS);
        fs::write(home.path().join("questions.txt"), questions).unwrap();
        let path = |name: &str| home.path().join(name);
        let (docs, file, set) = (path("docs"), path("questions.txt"), path("set"));
        let mut child = Command::new(env!("CARGO_BIN_EXE_chunkmill-eval"))
            .args(["label", arg(&docs), "--questions", arg(&file), "-o", arg(&set), "--web"])
            .args(["--embedder", "fake", "--embedding-cache", "off"])
            .stdin(Stdio::null())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .spawn()
            .unwrap();
        let mut lines = BufReader::new(child.stderr.take().unwrap()).lines().map(|line| line.unwrap());
        let line = lines.find(|line| line.starts_with("open http://")).expect("an address is printed");
        // The rest must be read, or the program would wait.
        std::thread::spawn(move || lines.for_each(drop));
        let address = line.split_whitespace().nth(1).unwrap().strip_prefix("http://").unwrap().to_owned();
        let (host, token) = address.split_once('/').unwrap();
        Self { host: host.to_owned(), token: token.trim_end_matches('/').to_owned(), child, home }
    }

    /// Sends bytes and returns the status and the whole answer.
    fn send(&self, bytes: &[u8]) -> (u16, String) {
        let mut stream = TcpStream::connect(&self.host).unwrap();
        let _ = stream.write_all(bytes);
        let _ = stream.shutdown(std::net::Shutdown::Write);
        let mut answer = Vec::new();
        let _ = stream.read_to_end(&mut answer);
        let answer = String::from_utf8_lossy(&answer).into_owned();
        (answer.split(' ').nth(1).and_then(|status| status.parse().ok()).unwrap_or_default(), answer)
    }

    fn get(&self, path: &str, headers: &str) -> (u16, String) {
        self.send(format!("GET {path} HTTP/1.1\r\n{headers}\r\n").as_bytes())
    }

    fn own(&self, path: &str) -> (u16, String) {
        self.get(&format!("/{}{path}", self.token), &format!("Host: {}\r\n", self.host))
    }

    fn act(&self, body: &str) -> (u16, String) {
        let Self { host, token, .. } = self;
        let head = format!(
            "POST /{token}/act HTTP/1.1\r\nHost: {host}\r\nOrigin: http://{host}\r\nContent-Type: application/json"
        );
        self.send(format!("{head}\r\nContent-Length: {}\r\n\r\n{body}", body.len()).as_bytes())
    }

    /// Waits for the end and returns the exit code, standard output and the answers.
    fn end(mut self) -> (i32, String, Vec<Query>) {
        let mut out = String::new();
        self.child.stdout.take().unwrap().read_to_string(&mut out).unwrap();
        let code = self.child.wait().unwrap().code().unwrap_or(-1);
        let set = self.home.path().join("set");
        let queries =
            if set.join("queries.jsonl").exists() { LabelSet::read(&set).unwrap().queries } else { Vec::new() };
        for quote in queries.iter().flat_map(|query| &query.references).flat_map(|reference| reference.places()) {
            let text = fs::read(set.join("corpus").join(&quote.doc_id)).unwrap();
            let quote = quote.quote.as_ref().unwrap();
            assert_eq!(&text[quote.range.clone()], quote.text.as_bytes(), "the bytes of the file are the evidence");
        }
        (code, out, queries)
    }
}

#[test]
fn only_the_person_with_the_address_is_answered() {
    let session = Session::start("how long are backups kept\n");
    let Session { host, token, .. } = &session;
    assert!(host.starts_with("127.0.0.1:") && token.len() == 32, "{host} {token}");
    let (status, answer) = session.own("/");
    assert!(status == 200 && answer.contains("<!doctype html>"), "{answer}");
    for header in ["Content-Security-Policy: default-src 'none'", "Referrer-Policy: no-referrer", "nosniff", "no-store"]
    {
        assert!(answer.contains(header), "{header}: {answer}");
    }
    let own_host = format!("Host: {host}\r\n");
    let port = host.split(':').nth(1).unwrap();
    let page = format!("/{token}/overview");
    for (path, headers) in [
        ("/".to_owned(), own_host.clone()),
        ("/overview".to_owned(), own_host.clone()),
        (format!("/{}/overview", "0".repeat(32)), own_host.clone()),
        (format!("/{}/overview", &token[..31]), own_host.clone()),
        (page.clone(), String::new()),
        (page.clone(), "Host: evil.example\r\n".to_owned()),
        (page.clone(), format!("Host: evil.example:{port}\r\n")),
        (page.clone(), format!("{own_host}{own_host}")),
        (page.clone(), format!("{own_host}Origin: http://evil.example\r\n")),
        (page.clone(), format!("{own_host}Origin: null\r\n")),
        (page.clone(), format!("{own_host}Sec-Fetch-Site: cross-site\r\n")),
    ] {
        let (status, answer) = session.get(&path, &headers);
        assert!(status == 403 && !answer.contains("backups"), "{path} {headers}: {answer}");
    }
    assert_eq!(session.get(&page, &format!("Host: localhost:{port}\r\nOrigin: http://localhost:{port}\r\n")).0, 200);
    assert_eq!(session.act(r#"{"act":"done"}"#).0, 200);
    let (code, out, queries) = session.end();
    assert!(code == 0 && queries.is_empty(), "{out}");
    assert!(out.contains("0 questions with evidence, 0 without an answer, 1 left; run the same command"), "{out}");
}

#[test]
fn no_request_ends_the_session_or_writes_a_label_that_is_none() {
    let session = Session::start("how long are backups kept\n");
    let Session { host, token, .. } = &session;
    let own = format!("Host: {host}\r\n");
    let head = |more: &str| format!("POST /{token}/act HTTP/1.1\r\n{own}Content-Type: application/json\r\n{more}\r\n");
    let long = format!("GET /{token}/ HTTP/1.1\r\n{own}X: {}\r\n\r\n", "x".repeat(40_000));
    let endless = "x".repeat(100_000);
    for bytes in [
        &b""[..],
        b"\r\n\r\n",
        b"\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03",
        b"GET / HTTP/1.1\r\n",
        b"GET / HTTP/1.1\r\n\xff\xfe: x\r\n\r\n",
        b"PRI * HTTP/2.0\r\n\r\n",
        long.as_bytes(),
        endless.as_bytes(),
        head("Content-Length: 99999999999\r\n").as_bytes(),
        head("Content-Length: -1\r\n").as_bytes(),
        head("Content-Length: 50\r\n").as_bytes(),
        head("Transfer-Encoding: chunked\r\n").as_bytes(),
        format!("BREW /{token}/ HTTP/1.1\r\n{own}\r\n").as_bytes(),
    ] {
        let (status, answer) = session.send(bytes);
        assert!(status == 0 || status >= 400, "{}: {answer}", String::from_utf8_lossy(&bytes[..bytes.len().min(80)]));
    }
    let place = |start: &str, end: &str, found_by: &str| {
        format!(
            r#"{{"act":"answer","question":0,"references":[[{{"doc_id":"keep.md","start":{start},"end":{end},"found_by":[{found_by}]}}]]}}"#
        )
    };
    for body in [
        "",
        "[]",
        "{}",
        r#"{"act":"explode"}"#,
        r#"{"act":"unanswered","question":7}"#,
        r#"{"act":"later","question":-1}"#,
        r#"{"act":"answer","question":0,"references":[]}"#,
        r#"{"act":"answer","question":0,"references":[[]]}"#,
        r#"{"act":"answer","question":0,"references":[[{"doc_id":"../x","start":0,"end":3,"found_by":[]}]]}"#,
        &place("0", "99999", ""),
        &place("5", "5", ""),
        &place("9", "5", ""),
        &place("12", "20", ""),
        &place("0", "3", "\"magic\""),
        &place("10", "11", ""),
    ] {
        let (status, answer) = session.act(body);
        assert_eq!(status, 400, "{body}: {answer}");
    }
    for path in [
        "/nothing",
        "/question",
        "/question?at=9",
        "/question?at=x",
        "/document",
        "/document?id=../x",
        "/extended?id=x",
    ] {
        assert_eq!(session.own(path).0, 404, "{path}");
    }
    assert_eq!(session.own("/extended?id=keep.md&start=12&end=99999").0, 200, "no passage is there");
    // The session still works.
    assert_eq!(session.act(&place("0", "9", "\"typed\"")).0, 200);
    let (status, answer) = session.own("/question?at=0&words=%F0%9F%94%92");
    assert!(status == 200 && answer.contains("\"start\":0,\"end\":9"), "{answer}");
    // Ctrl-C ends it like the button.
    let interrupted = Command::new("kill").args(["-INT", &session.child.id().to_string()]).status().unwrap();
    assert!(interrupted.success());
    let (code, out, queries) = session.end();
    assert!(code == 0 && out.contains("1 question with evidence, 0 without an answer, 0 left"), "{code} {out}");
    assert_eq!(queries[0].references[0].found_by, [FoundBy::Typed].into());
}

#[test]
fn a_person_labels_questions_in_chromium() {
    let Some(browser) = browser() else { return };
    let session = Session::start("how long are backups kept\nwho may delete a vault\nwhy <b>?</b>\nwhen\n");
    let folder = TempDir::new().unwrap();
    let shots = env::var_os("CHUNKMILL_SCREENSHOTS").map_or_else(|| folder.path().to_owned(), PathBuf::from);
    fs::create_dir_all(&shots).unwrap();
    let profile = TempDir::new().unwrap();
    let address = format!("http://{}/{}/", session.host, session.token);
    let mut command = script("label.mjs");
    command.args([browser.program.as_path(), profile.path()]).arg(&address).args([&shots, &axe().unwrap_or_default()]);
    if let Some(own) = &browser.own {
        command.env("LD_LIBRARY_PATH", own.join("lib")).env("FONTCONFIG_FILE", own.join("fonts.conf"));
    }
    let output = command.output().unwrap();
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    let seen: Value = serde_json::from_slice(&output.stdout).unwrap();
    let (code, out, queries) = session.end();
    assert!(code == 0 && out.contains("3 questions with evidence, 1 without an answer, 0 left"), "{code} {out}");

    let nothing = Value::Array(Vec::new());
    assert_eq!(seen["problems"], nothing, "nothing fails or is refused");
    assert_eq!(seen["elsewhere"], nothing, "nothing is fetched from elsewhere");
    assert_eq!(seen["stored"], "0", "the browser keeps nothing");
    assert_eq!(seen["axe"], nothing);
    for (width, wide) in seen["wide"].as_object().unwrap() {
        assert!(wide.as_u64() <= width.parse().ok(), "{width}: {wide} wide");
    }
    let marks: Vec<&str> = seen["marks"].as_array().unwrap().iter().map(|mark| mark.as_str().unwrap()).collect();
    assert!(marks.contains(&"backups") && marks.contains(&"kept"), "{marks:?}");
    let ways = seen["ways"].to_string();
    assert!(ways.contains("keyword") && ways.contains("vector"), "{ways}");
    let steps = seen["steps"].to_string();
    let wanted = r#"[["keyboard","0 of 4 answered"],["mouse","1 of 4 answered"],["none","3 of 4 answered"],["undo","2 of 4 answered"],["all","4 of 4 answered"]]"#;
    let counted =
        |steps: &str| steps.replace("\"keyboard\",\"1", "\"keyboard\",\"0").replace("\"mouse\",\"2", "\"mouse\",\"1");
    assert_eq!(counted(&steps), wanted, "the first two may be seen before the page shows them");
    assert_eq!(seen["summary"], "4 of 4 answered");
    assert_eq!(seen["use"], "Use line 3 as evidence a");
    assert_eq!(seen["before"][0], "keep.md:3–4", "an answer is shown again");

    let of = |text: &str| queries.iter().find(|query| query.text == text).unwrap();
    let places = |text: &str| -> Vec<Vec<String>> {
        let texts = |reference: &chunkmill_eval::labels::set::Reference| {
            reference.places().map(|place| place.quote.as_ref().unwrap().text.clone()).collect()
        };
        of(text).references.iter().map(texts).collect()
    };
    let kept = "Ä – we make a backup each night. Backups are kept\nfor thirty days.";
    assert_eq!(places("how long are backups kept"), [[kept]]);
    assert!(of("how long are backups kept").is_proposed());
    assert_eq!(places("who may delete a vault"), [["Only the owner"]]);
    assert_eq!(of("who may delete a vault").references[0].found_by, [FoundBy::Selected].into());
    assert_eq!(of("who may delete a vault").references[0].any[0][0].doc_id, "vault.md");
    assert!(of("why <b>?</b>").is_unanswered());
    let when = places("when");
    assert!(when.len() == 1 && when[0].len() == 2, "either is enough: {when:?}");
}
