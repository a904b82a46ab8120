//! Label sets on a hub, tested with a local server: download, cache, offline use, and the rejection of wrong bytes.

use std::collections::BTreeMap;
use std::io::{BufRead, BufReader, Write};
use std::net::{TcpListener, TcpStream};
use std::path::Path;
use std::process::Command;
use std::sync::Arc;
use std::thread;

use chunkmill::hub::sha256;
use serde_json::{Value, json};
use tempfile::TempDir;

use crate::common::{arg, tree};

const COMMIT: &str = "0123456789abcdef0123456789abcdef01234567";

/// The files that the server offers: announced hash and bytes by path.
type Files = BTreeMap<String, (String, Vec<u8>)>;

/// Serves files as a set on a hub until the test process ends, and returns the endpoint.
fn hub(files: Files) -> String {
    let files = Arc::new(files);
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let endpoint = format!("http://{}", listener.local_addr().unwrap());
    thread::spawn(move || {
        for stream in listener.incoming().flatten() {
            let files = Arc::clone(&files);
            thread::spawn(move || drop(answer(stream, &files)));
        }
    });
    endpoint
}

fn answer(mut stream: TcpStream, files: &Files) -> std::io::Result<()> {
    let mut reader = BufReader::new(stream.try_clone()?);
    let (mut request, mut header) = (String::new(), String::new());
    reader.read_line(&mut request)?;
    while reader.read_line(&mut header)? > 2 {
        header.clear();
    }
    let mut words = request.split_whitespace();
    let (method, path) = (words.next().unwrap_or_default(), words.next().unwrap_or_default());
    let path = path.split('?').next().unwrap_or_default();
    let name = path.strip_prefix(&format!("/datasets/team/set/resolve/{COMMIT}/")).unwrap_or_default();
    let siblings: Value = files.keys().map(|path| json!({"rfilename": path})).collect();
    let (status, etag, body) = if path == "/api/datasets/team/set/revision/refs%2Fconvert%2Fparquet"
        || path == "/api/datasets/team/set/revision/main"
    {
        ("200 OK", "info", json!({"id": "team/set", "sha": COMMIT, "siblings": siblings}).to_string().into_bytes())
    } else {
        match files.get(name) {
            Some((hash, bytes)) => ("200 OK", hash.as_str(), bytes.clone()),
            None => ("404 Not Found", "none", Vec::new()),
        }
    };
    let head = format!(
        "HTTP/1.1 {status}\r\nContent-Length: {}\r\nContent-Type: application/json\r\nETag: \"{etag}\"\r\n\
         X-Repo-Commit: {COMMIT}\r\nConnection: close\r\n\r\n",
        body.len()
    );
    stream.write_all(head.as_bytes())?;
    if method == "GET" {
        stream.write_all(&body)?;
    }
    stream.flush()
}

/// Imports stories from a hub with a cache below `home`.
fn import(home: &Path, endpoint: &str, offline: bool, name: &str) -> (i32, String) {
    let mut command = Command::new(env!("CARGO_BIN_EXE_chunkmill-eval"));
    command.args(["import", "narrativeqa", name, "-o", arg(&home.join("set"))]);
    command.env("HF_HOME", home.join("hf")).env("HF_ENDPOINT", endpoint).env_remove("HF_HUB_OFFLINE");
    if offline {
        command.env("HF_HUB_OFFLINE", "1");
    }
    let output = command.output().unwrap();
    (output.status.code().unwrap(), String::from_utf8(output.stderr).unwrap())
}

fn story(id: &str) -> Vec<u8> {
    json!({"document": {"id": id, "text": "Long."}, "question": {"text": "Who?"}}).to_string().into_bytes()
}

#[test]
fn a_set_is_fetched_once_and_then_imported_without_the_network() {
    let file = |id: &str| (sha256(&story(id)), story(id));
    let files = [("narrativeqa/test.jsonl", "a"), ("narrativeqa/train.jsonl", "b"), ("other/test.jsonl", "c")];
    let endpoint = hub(files.map(|(path, id)| (path.to_owned(), file(id))).into());
    let home = TempDir::new().unwrap();
    let name = "hf://datasets/team/set@~parquet/narrativeqa";
    let (code, err) = import(home.path(), &endpoint, true, name);
    assert_eq!(code, 2);
    assert!(err.contains("cannot be fetched") && err.contains("HF_HUB_OFFLINE is set"), "{err}");
    let (code, err) = import(home.path(), &endpoint, false, name);
    assert_eq!(code, 0, "{err}");
    assert!(home.path().join("set/corpus/a.txt").is_file());
    let cached = tree(&home.path().join("hf"));
    assert!(!cached.iter().any(|(path, _)| path.ends_with("other/test.jsonl")), "only what was named is fetched");
    let (code, err) = import(home.path(), &endpoint, true, &format!("{name}/train.jsonl"));
    assert_eq!(code, 0, "{err}");
    assert!(home.path().join("set/corpus/b.txt").is_file());
    let (code, err) = import(home.path(), &endpoint, false, "hf://datasets/team/set/none");
    assert_eq!(code, 2);
    assert!(err.contains("`none` is not in the set"), "{err}");
}

#[test]
fn a_flipped_byte_and_a_wrong_name_are_refused() {
    let endpoint = hub([("test.jsonl".to_owned(), (sha256(&story("a")), story("b")))].into());
    let home = TempDir::new().unwrap();
    let (code, err) = import(home.path(), &endpoint, false, "hf://datasets/team/set");
    assert_eq!(code, 2);
    assert!(err.contains("test.jsonl has hash") && err.contains("it was not kept"), "{err}");
    for name in
        ["hf://datasets/team", "hf://datasets/team/set/../x", "hf://datasets/team/set@/x", "hf://datasets/team/s t"]
    {
        let (code, err) = import(home.path(), &endpoint, false, name);
        assert_eq!(code, 2);
        assert!(err.contains("does not name a set on a hub"), "{name}: {err}");
    }
}
