//! Questions that a language model writes: what is sent, which replies are kept, and that nothing is sent by default. The
//! service is a local server.

use std::fs;
use std::io::{BufRead, BufReader, Read, Write};
use std::net::{TcpListener, TcpStream};
use std::process::Command;
use std::sync::{Arc, Mutex};
use std::thread;

use chunkmill_eval::labels::set::LabelSet;
use serde_json::{Value, json};
use tempfile::TempDir;

use crate::common::{arg, eval, folder};

/// A service that answers with what a function says about the text, and its requests.
struct Service {
    endpoint: String,
    requests: Arc<Mutex<Vec<(String, Value)>>>,
}

impl Service {
    fn new(reply: impl Fn(usize, &str) -> Result<String, u16> + Send + 'static) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let endpoint = format!("http://{}/v1", listener.local_addr().unwrap());
        let requests = Arc::new(Mutex::new(Vec::new()));
        let seen = Arc::clone(&requests);
        thread::spawn(move || {
            for stream in listener.incoming().flatten() {
                let _ = serve(stream, &reply, &seen);
            }
        });
        Self { endpoint, requests }
    }

    fn requests(&self) -> Vec<(String, Value)> {
        self.requests.lock().unwrap().clone()
    }
}

fn serve(
    mut stream: TcpStream,
    reply: &dyn Fn(usize, &str) -> Result<String, u16>,
    seen: &Mutex<Vec<(String, Value)>>,
) -> std::io::Result<()> {
    let mut reader = BufReader::new(stream.try_clone()?);
    let mut head = String::new();
    while !head.ends_with("\r\n\r\n") {
        if reader.read_line(&mut head)? == 0 {
            return Ok(());
        }
    }
    let length = head.lines().find_map(|line| line.to_lowercase().strip_prefix("content-length: ")?.parse().ok());
    let mut body = vec![0; length.unwrap_or(0)];
    reader.read_exact(&mut body)?;
    let body: Value = serde_json::from_slice(&body).unwrap_or(Value::Null);
    let text = body["messages"][1]["content"].as_str().unwrap_or_default().to_owned();
    let number = {
        let mut seen = seen.lock().unwrap();
        seen.push((head, body));
        seen.len() - 1
    };
    let (status, body) = match reply(number, &text) {
        Ok(text) => {
            let message = json!({"message": {"content": text}, "finish_reason": "stop"});
            (200, json!({"model": "parrot-1", "choices": [message]}).to_string())
        }
        Err(status) => (status, "no".to_owned()),
    };
    stream.write_all(
        format!("HTTP/1.1 {status} X\r\nContent-Length: {}\r\nConnection: close\r\n\r\n{body}", body.len()).as_bytes(),
    )
}

/// Thirty pages, each with a passage about a colour of its own.
fn pages() -> TempDir {
    let pages: Vec<(String, String)> = (0..30)
        .map(|at| {
            let text = format!(
                "# Page {at}\n\nThe gate number{at} of the yard was painted in colour{at} by the crew. Everybody who came by liked \
                 it{at} very much and said so.\n"
            );
            (format!("docs/page-{at:02}.md"), text)
        })
        .collect();
    let pages: Vec<(&str, &str)> = pages.iter().map(|(path, text)| (path.as_str(), text.as_str())).collect();
    folder(&pages)
}

fn synth(home: &TempDir, more: &[&str]) -> (i32, String, String) {
    let (docs, set) = (home.path().join("docs"), home.path().join("set"));
    let fake = ["--embedder", "fake", "--embedding-cache", "off"];
    eval(&[&["synth", arg(&docs), "-o", arg(&set)][..], &fake, more].concat())
}

/// Returns the number of the page that a request is about.
fn page(text: &str) -> usize {
    let at = text.find("Page ").unwrap() + 5;
    text[at..].split_whitespace().next().unwrap().parse().unwrap()
}

#[test]
fn a_model_writes_questions_and_only_usable_ones_are_kept() {
    let service = Service::new(|_, text| {
        let at = page(text);
        Ok(match at % 6 {
            0 => format!("\"Which colour{at} has gate number{at}?\""),
            1 => "What does this document say about the yard?".to_owned(),
            2 => format!("Who knows that the gate number{at} of the yard was painted in colour{at} by them?"),
            3 => "NONE".to_owned(),
            // About another page, and asked for several of them.
            4 => format!("Who liked it{}?", (at + 7) % 30),
            _ => "Sure! Here is one:\nWhat is it?".to_owned(),
        })
    });
    let home = pages();
    let with = ["--by-model", "--queries", "30", "--answer-endpoint", &service.endpoint, "--answer-model", "parrot"];
    let (code, out, said) = synth(&home, &with);
    assert_eq!(code, 0, "{said}");
    let requests = service.requests();
    assert_eq!(requests.len(), 30, "one request for each question");
    for (head, body) in &requests {
        assert!(head.starts_with("POST /v1/chat/completions "), "{head}");
        let (system, text) =
            (body["messages"][0]["content"].as_str().unwrap(), body["messages"][1]["content"].as_str().unwrap());
        assert!(
            body["model"] == "parrot" && system.contains("Write one question") && system.contains("It is data"),
            "{system}"
        );
        assert!(text.starts_with("<<<") && text.contains("was painted") && text.contains("Page "), "{text}");
    }
    for text in [
        "dropped: 5 questions about passages that answer no question",
        "dropped: 5 questions copied from the passage",
        "dropped: 5 questions not one question",
        "dropped: 5 questions pointing to the document",
    ] {
        assert!(said.contains(text), "{text}: {said}");
    }
    let labels = LabelSet::read(&home.path().join("set")).unwrap();
    assert!(
        out.contains(&format!("{} synthetic questions ({} model)", labels.queries.len(), labels.queries.len())),
        "{out}"
    );
    assert!((5..=10).contains(&labels.queries.len()), "{out}");
    let right = labels.queries.iter().filter(|query| query.text.starts_with("Which colour")).count();
    assert_eq!(right, 5);
    for query in &labels.queries {
        assert!(query.is_synthetic() && query.tags == ["synthetic", "model", "parrot-1"], "{query:?}");
        let place = query.references[0].places().next().unwrap();
        let text = fs::read_to_string(home.path().join("docs").join(&place.doc_id)).unwrap();
        let quote = place.quote.as_ref().unwrap();
        assert_eq!(text[quote.range.clone()], quote.text);
    }
    assert_eq!(eval(&["verify", arg(&home.path().join("set"))]).0, 0);
    // Questions about other passages fail the round trip.
    let others = labels.queries.len() - right;
    let dropped = format!("dropped: {} question", 5 - others);
    assert!(
        others == 5 || said.contains(&dropped) && said.contains("with which search does not find the passage"),
        "{said}"
    );
}

#[test]
fn what_was_written_before_a_failure_is_kept() {
    let service = Service::new(|number, text| {
        let at = page(text);
        if number < 4 { Ok(format!("Which colour{at} has gate number{at}?")) } else { Err(401) }
    });
    let home = pages();
    let with = ["--by-model", "--queries", "20", "--answer-endpoint", &service.endpoint, "--answer-model", "parrot"];
    let (code, out, said) = synth(&home, &with);
    assert!(code == 0 && out.contains("4 synthetic questions"), "{out}{said}");
    assert!(said.contains("no further questions were written") && said.contains("401"), "{said}");
    // If the first request fails, nothing is written.
    let service = Service::new(|_, _| Err(401));
    let home = pages();
    let with = ["--by-model", "--answer-endpoint", &service.endpoint, "--answer-model", "parrot"];
    let (code, _, said) = synth(&home, &with);
    assert!(code != 0 && said.contains("401") && !home.path().join("set").exists(), "{said}");
    // Nor if no reply is usable.
    let service = Service::new(|_, _| Ok("NONE".to_owned()));
    let with = ["--by-model", "--queries", "3", "--answer-endpoint", &service.endpoint, "--answer-model", "parrot"];
    let (code, _, said) = synth(&home, &with);
    assert!(code == 2 && said.contains("3 about passages that answer no question"), "{said}");
    assert!(!home.path().join("set").exists());
}

#[test]
fn nothing_is_sent_unless_the_model_is_asked_for() {
    let service = Service::new(|_, _| Ok("NONE".to_owned()));
    let larder = concat!(env!("CARGO_MANIFEST_DIR"), "/../datasets/larder/corpus/guide");
    let home = TempDir::new().unwrap();
    let set = home.path().join("set");
    let output = Command::new(env!("CARGO_BIN_EXE_chunkmill-eval"))
        .args(["synth", larder, "-o", arg(&set), "--queries", "5"])
        .env("CHUNKMILL_ANSWER_ENDPOINT", &service.endpoint)
        .env("CHUNKMILL_ANSWER_MODEL", "parrot")
        .output()
        .unwrap();
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    assert!(service.requests().is_empty());
    let (code, _, said) = eval(&["synth", larder, "-o", arg(&home.path().join("other")), "--by-model"]);
    assert!(code == 2 && said.contains("endpoint: none is configured"), "{said}");
}
