//! Vectors of a web service: none is wrong, none is paid for twice, the key is nowhere, and what the service refuses is said.

use std::collections::BTreeMap;
use std::fs;
use std::path::Path;
use std::process::{Command, Stdio};
use std::thread;
use std::time::{Duration, UNIX_EPOCH};

use chunkmill::embed::Dialect;
use chunkmill::tokens::{TokenCounter, cl100k};
use serde_json::Value;
use tempfile::TempDir;

use crate::common::{finish, json_lines, program, tree, write};
use crate::vendor::{DIM, Fault, KEY, POISON, VOID, Vendor};

const DIALECTS: [Dialect; 8] = [
    Dialect::OpenAi,
    Dialect::Tei,
    Dialect::Ollama,
    Dialect::Cohere,
    Dialect::Voyage,
    Dialect::Jina,
    Dialect::Gemini,
    Dialect::Mistral,
];

/// Number of texts in a request, and of requests at a time.
const TEXTS: usize = 4;
const REQUESTS: usize = 3;

/// Creates a home with documents that have some texts in common.
fn home(documents: usize) -> TempDir {
    let home = TempDir::new().unwrap();
    for i in 0..documents {
        let own = format!("own words {i} here ").repeat(1 + i % 7);
        let text =
            format!("# Title\n\n{own}\n\n# Shared\n\nThe same everywhere.\n\n# Number\n\nAnd number {}.\n", i % 5);
        put(home.path(), &format!("docs/{i:03}.md"), &text);
    }
    home
}

/// Writes a file that is as old in each home.
fn put(home: &Path, name: &str, text: &str) {
    write(home, name, text.as_bytes());
    let file = fs::File::options().append(true).open(home.join(name)).unwrap();
    file.set_modified(UNIX_EPOCH + Duration::from_secs(1_000_000_000)).unwrap();
}

/// Returns `index docs -o OUT` at a service.
fn index(home: &Path, vendor: &Vendor, out: &str, more: &[&str]) -> Command {
    let mut command = program(home);
    command.args(["index", "docs", "-o", out, "--json", "--preset", "heading-tokens", "--embedder", "remote"]);
    let settings = [
        ("--endpoint", vendor.endpoint.clone()),
        ("--model", "tiny".to_owned()),
        ("--dialect", vendor.dialect.to_string()),
        ("--embedding-cache", "cache".to_owned()),
        ("--batch-texts", TEXTS.to_string()),
        ("--requests", REQUESTS.to_string()),
    ];
    for (flag, value) in settings.iter().filter(|(flag, _)| !more.contains(flag)) {
        command.args([flag, value.as_str()]);
    }
    command.args(more).env("CHUNKMILL_API_KEY", KEY);
    command
}

fn indexed(home: &Path, vendor: &Vendor, out: &str, more: &[&str]) -> (i32, Value, String) {
    let (code, stdout, err) = finish(index(home, vendor, out, more).output().unwrap());
    assert!(!stdout.contains(KEY) && !err.contains(KEY), "{stdout}{err}");
    (code, serde_json::from_str(&stdout).unwrap_or_default(), err)
}

/// Fails if the key is in any file.
fn assert_no_key(folder: &Path) {
    for (name, bytes) in tree(folder) {
        assert!(!bytes.windows(KEY.len()).any(|window| window == KEY.as_bytes()), "{name}");
    }
}

/// Returns the number of texts that were billed more than once, and how often too many.
fn twice(billed: &BTreeMap<String, usize>) -> usize {
    billed.values().map(|times| times - 1).sum()
}

fn tokens(text: &Value) -> usize {
    cl100k().count(text.as_str().unwrap()).unwrap()
}

/// A stream of numbers that look random (SplitMix64).
struct Random(u64);

impl Random {
    fn below(&mut self, most: u64) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut x = self.0;
        x = (x ^ (x >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        x = (x ^ (x >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        (x ^ (x >> 31)) % most
    }
}

/// Returns what may go wrong with a request. All of it passes.
fn passing() -> Vec<Fault> {
    vec![
        Fault::Status(429, "retry-after-ms: 20\r\n", "{\"error\": {\"message\": \"slow down\"}}"),
        Fault::Status(429, "Retry-After: 0\r\n", "too many"),
        Fault::Status(500, "", "oh no"),
        Fault::Status(503, "", "{\"error\": \"busy\", \"error_type\": \"overloaded\"}"),
        Fault::Status(408, "", ""),
        Fault::Drop,
        Fault::Half,
        Fault::Shuffled,
        Fault::Short,
        Fault::WrongLength,
        Fault::Null,
        Fault::NaN,
        Fault::Zero,
        Fault::Slow(50),
        Fault::Never,
        Fault::Floats,
    ]
}

/// The number of runs with faults in each dialect: `make crash` has many.
fn runs() -> usize {
    if std::env::var("CHUNKMILL_CRASH").is_ok_and(|value| value == "long") { 200 } else { 3 }
}

#[test]
fn each_dialect_gives_the_dataset_of_a_run_without_faults_and_bills_nothing_twice() {
    thread::scope(|scope| {
        for dialect in DIALECTS {
            scope.spawn(move || faults_in(dialect));
        }
    });
}

fn faults_in(dialect: Dialect) {
    let vendor = Vendor::start(dialect);
    let reference = home(12);
    let (code, summary, err) = indexed(reference.path(), &vendor, "out", &[]);
    assert_eq!(code, 0, "{dialect}: {err}");
    let wanted = tree(&reference.path().join("out"));
    let billed = vendor.take_billed();
    assert_eq!(twice(&billed), 0, "{dialect}");
    // The first request has two texts, which show how long vectors are.
    assert_eq!(billed.len(), 2 + usize::try_from(summary["texts_embedded"].as_u64().unwrap()).unwrap(), "{dialect}");
    assert!(vendor.take_requests().len() > 6 && vendor.most_at_once() <= REQUESTS, "{dialect}");
    let mut random = Random(dialect as u64);
    let mut kills = 0;
    for run in 0..runs() {
        let home = home(12);
        let faults = passing();
        let mut fault = || faults[usize::try_from(random.below(faults.len() as u64)).unwrap()].clone();
        let some: Vec<Fault> = (0..1 + run % 5).map(|_| fault()).collect();
        vendor.fail(some.clone());
        // Some runs are killed, once or more, and begun again.
        let mut killed = 0;
        for _ in 0..random.below(3) {
            let mut child = index(home.path(), &vendor, "out", &["--request-timeout", "1"])
                .stdout(Stdio::null())
                .stderr(Stdio::null())
                .spawn()
                .unwrap();
            thread::sleep(Duration::from_millis(20 + random.below(150)));
            child.kill().unwrap();
            killed += usize::from(!child.wait().unwrap().success());
        }
        // One that meets the same fault too often ends, and is run again.
        let finished = (0..4).any(|_| {
            let (code, _, err) = indexed(home.path(), &vendor, "out", &["--request-timeout", "1"]);
            assert!(code == 0 || code == 5, "{dialect}, run {run}: {err}");
            code == 0
        });
        assert!(finished, "{dialect}, run {run}");
        vendor.heal();
        assert!(tree(&home.path().join("out")) == wanted, "{dialect}, run {run}: another dataset");
        assert_no_key(home.path());
        // What was under way at a kill may be asked for again: so many requests with so many texts.
        let billed = vendor.take_billed();
        assert!(
            twice(&billed) <= killed * REQUESTS * TEXTS,
            "{dialect}, run {run}, killed {killed} times, {some:?}: {billed:?}"
        );
        kills += killed;
    }
    eprintln!("{dialect}: {} runs, {kills} kills", runs());
}

#[test]
fn a_text_that_is_refused_quarantines_its_documents_with_the_words_of_the_service() {
    for dialect in [Dialect::OpenAi, Dialect::Tei, Dialect::Gemini] {
        let vendor = Vendor::start(dialect);
        let home = home(12);
        write(home.path(), "docs/005.md", format!("# Bad\n\nThis has {POISON} in it.\n").as_bytes());
        write(home.path(), "docs/007.md", format!("# Fine\n\nYes.\n\n# Not\n\nA {VOID} comes back.\n").as_bytes());
        let (code, summary, err) = indexed(home.path(), &vendor, "out", &[]);
        assert_eq!((code, &summary["documents"], &summary["quarantined"]), (3, &10.into(), &2.into()), "{err}");
        let list = json_lines(&fs::read_to_string(home.path().join("out/quarantine.jsonl")).unwrap());
        let reasons: Vec<&str> = list.iter().map(|row| row["reason"].as_str().unwrap()).collect();
        assert_eq!(list.iter().map(|row| row["code"].as_str().unwrap()).collect::<Vec<_>>(), ["refused"; 2]);
        assert!(reasons[0].contains("a text is not allowed"), "{reasons:?}");
        assert!(reasons[1].contains("null instead of a vector"), "{reasons:?}");
        assert_eq!(twice(&vendor.take_billed()), 0, "halves of a request are sent once");
        // Nothing is sent for what has not changed.
        vendor.take_requests();
        let (code, _, err) = indexed(home.path(), &vendor, "out", &[]);
        assert_eq!((code, vendor.take_requests().len()), (3, 0), "{err}");
        // A document that is mended comes in, and the dataset is the same as a new one.
        write(home.path(), "docs/005.md", b"# Good\n\nThis has none of it.\n");
        assert_eq!(indexed(home.path(), &vendor, "out", &[]).0, 3);
        assert_eq!(indexed(home.path(), &vendor, "fresh", &[]).0, 3);
        assert!(tree(&home.path().join("out")) == tree(&home.path().join("fresh")));
    }
}

#[test]
fn what_does_not_pass_ends_the_run_at_once_and_is_said() {
    for (fault, says) in [
        (Fault::Status(400, "", "{\"error\": {\"message\": \"no such dimension\"}}"), "no such dimension"),
        (Fault::Status(403, "", "{\"detail\": \"forbidden here\"}"), "CHUNKMILL_API_KEY"),
        (Fault::Status(404, "", "{\"error\": \"no model tiny\"}"), "no model tiny"),
        (Fault::Status(301, "", ""), "redirects are not followed"),
        (
            Fault::Status(429, "", "{\"error\": {\"code\": \"insufficient_quota\", \"message\": \"pay first\"}}"),
            "pay first",
        ),
        (Fault::Status(429, "Retry-After: 100000\r\n", "tomorrow"), "tomorrow"),
    ] {
        let vendor = Vendor::start(Dialect::OpenAi);
        let home = home(3);
        vendor.fail([fault.clone()]);
        let (code, _, err) = indexed(home.path(), &vendor, "out", &[]);
        assert_eq!((code, vendor.take_requests().len()), (5, 1), "{fault:?}: {err}");
        assert!(err.contains(says) && err.contains(&vendor.endpoint) && err.contains("help: "), "{err}");
    }
    // A key that the service does not know, which it repeats.
    let (vendor, home) = (Vendor::start(Dialect::OpenAi), home(3));
    let output = index(home.path(), &vendor, "out", &[]).env("CHUNKMILL_API_KEY", "sk-wrong-9").output().unwrap();
    let (code, stdout, err) = finish(output);
    assert!(code == 5 && !stdout.contains("sk-wrong-9") && !err.contains("sk-wrong-9"), "{err}");
    assert!(err.contains("not allowed") && err.contains("CHUNKMILL_API_KEY"), "{err}");
}

#[test]
fn a_service_that_refuses_every_text_fails_the_run_instead_of_the_documents() {
    let (vendor, home) = (Vendor::start(Dialect::OpenAi), home(6));
    assert_eq!(indexed(home.path(), &vendor, "out", &[]).0, 0);
    fs::remove_dir_all(home.path().join("out")).unwrap();
    fs::remove_file(home.path().join("cache/embeddings-v1.sqlite")).unwrap();
    vendor.take_requests();
    vendor.fail(vec![Fault::Status(400, "", "{\"error\": {\"message\": \"model retired\"}}"); 200]);
    let (code, _, err) = indexed(home.path(), &vendor, "out", &["--requests", "1"]);
    assert!(code == 5 && err.contains("refuses every text now: model retired"), "{err}");
    assert!(vendor.take_requests().len() < 14, "it is not asked for every text");
}

#[test]
fn a_text_that_is_cut_in_silence_ends_the_run_and_its_vector_is_not_kept() {
    let (vendor, home) = (Vendor::start(Dialect::OpenAi), home(6));
    let long = format!("# Long\n\n{}\n", "many words that go on and on ".repeat(20));
    write(home.path(), "docs/long.md", long.as_bytes());
    *vendor.reads.lock().unwrap() = 64;
    // Its tokens are counted as the service does.
    let model = ["--model", "text-embedding-tiny"];
    let (code, _, err) = indexed(home.path(), &vendor, "out", &model);
    assert!(
        code == 5 && err.contains("read only about the first 64 tokens") && err.contains("--text-tokens 64"),
        "{err}"
    );
    let (code, summary, err) = indexed(home.path(), &vendor, "out", &[&model[..], &["--text-tokens", "64"]].concat());
    assert_eq!((code, &summary["truncated"]), (0, &1.into()), "{err}");
    assert_eq!(twice(&vendor.take_billed()), 0);
    // Without the limit of the service, the same settings give the same dataset: we cut the text.
    *vendor.reads.lock().unwrap() = usize::MAX;
    let more = [&model[..], &["--text-tokens", "64", "--fresh", "--embedding-cache", "off"]].concat();
    assert_eq!(indexed(home.path(), &vendor, "whole", &more).0, 0);
    assert!(tree(&home.path().join("out")) == tree(&home.path().join("whole")));
    // One that tells its limit is sent no more than that.
    let vendor = Vendor::start(Dialect::Tei);
    write(home.path(), "docs/long.md", long.repeat(3).replace("# Long\n\n", "").as_bytes());
    let (code, summary, err) = indexed(home.path(), &vendor, "tei", &[]);
    assert_eq!((code, &summary["truncated"]), (0, &1.into()), "{err}");
    let requests = vendor.take_requests();
    let longest = requests.iter().flat_map(|body| body["inputs"].as_array().unwrap());
    let longest = longest.map(|text| text.as_str().unwrap().split_whitespace().count()).max().unwrap();
    assert!((150..=200).contains(&longest), "{longest}");
}

#[test]
fn a_run_stops_before_it_spends_more_than_allowed_and_the_next_one_goes_on() {
    let (vendor, home) = (Vendor::start(Dialect::OpenAi), home(12));
    let spent = |vendor: &Vendor| -> usize {
        let requests = vendor.take_requests();
        let texts = requests.iter().flat_map(|body| body["input"].as_array().unwrap());
        texts.map(tokens).sum()
    };
    let mut runs = 0;
    let max = ["--max-tokens", "150"];
    loop {
        let (code, _, err) = indexed(home.path(), &vendor, "out", &max);
        assert!(spent(&vendor) <= 150);
        runs += 1;
        if code == 0 {
            break;
        }
        assert!(code == 5 && err.contains("stopped before --max-tokens 150 is passed"), "{err}");
        assert!(err.contains("run again") && runs < 20, "{err}");
    }
    assert!(runs > 2, "{runs}");
    assert_eq!(twice(&vendor.take_billed()), 0);
    let (code, _, err) =
        indexed(home.path(), &vendor, "money", &["--max-cost", "0.0001", "--price", "1", "--embedding-cache", "off"]);
    assert!(code == 5 && err.contains("--max-cost 0.0001") && spent(&vendor) <= 100, "{err}");
    let (code, _, err) = indexed(home.path(), &vendor, "money", &["--max-cost", "0.0001"]);
    assert!(code == 2 && err.contains("--price"), "{err}");
}

#[test]
fn a_dataset_is_bound_to_its_service_and_questions_go_there_with_their_role() {
    for dialect in DIALECTS {
        let (vendor, home) = (Vendor::start(dialect), home(6));
        assert_eq!(indexed(home.path(), &vendor, "out", &[]).0, 0, "{dialect}");
        vendor.take_requests();
        let search = |more: &[&str]| {
            let mut command = program(home.path());
            command.args(["search", "out", "own words 3 here", "--mode", "vector", "-k", "1", "--json"]).args(more);
            finish(command.env("CHUNKMILL_API_KEY", KEY).output().unwrap())
        };
        // The dataset does not decide where the question and the key go.
        let (code, _, err) = search(&[]);
        assert!(code == 5 && err.contains(&format!("--endpoint {}", vendor.endpoint)), "{dialect}: {err}");
        assert_eq!(vendor.take_requests().len(), 0, "{dialect}");
        let (code, found, err) = search(&["--endpoint", &vendor.endpoint]);
        assert_eq!(code, 0, "{dialect}: {err}");
        assert_eq!(json_lines(&found)[0]["path"], "003.md", "{dialect}: {found}");
        let requests = vendor.take_requests();
        assert_eq!(requests.len(), 1, "{dialect}: nothing else is asked");
        let body = requests[0].to_string().to_lowercase();
        if matches!(dialect, Dialect::Cohere | Dialect::Voyage | Dialect::Jina | Dialect::Gemini) {
            assert!(body.contains("query") && !body.contains("document") && !body.contains("passage"), "{body}");
        }
        let other = Vendor::start(dialect);
        let (code, _, err) = search(&["--endpoint", &other.endpoint]);
        assert!(
            code == 5 && err.contains("is not the model of the dataset") && err.contains(&vendor.endpoint),
            "{err}"
        );
        assert_eq!(other.take_requests().len(), 0, "{dialect}");
        let manifest: Value =
            serde_json::from_slice(&fs::read(home.path().join("out/manifest.json")).unwrap()).unwrap();
        let (model, service) = (&manifest["model"], &manifest["model"]["service"]);
        assert_eq!((&model["id"], &model["dim"], &model["engine"]), (&"tiny".into(), &DIM.into(), &"remote".into()));
        assert_eq!(service["endpoint"], vendor.endpoint.trim_end_matches('/'), "{dialect}");
        assert_eq!(service["dialect"], dialect.name());
    }
}

#[test]
fn a_host_is_asked_for_its_dialect_and_another_version_of_a_model_is_not_mixed_in() {
    for dialect in [Dialect::Tei, Dialect::Ollama, Dialect::OpenAi] {
        let (vendor, home) = (Vendor::start(dialect), home(3));
        // Given as to a client of OpenAI.
        let endpoint = format!("{}/v1", vendor.endpoint.trim_end_matches("/v1"));
        let (code, _, err) = indexed(home.path(), &vendor, "out", &["--dialect", "auto", "--endpoint", &endpoint]);
        assert_eq!(code, 0, "{dialect}: {err}");
        let manifest = fs::read_to_string(home.path().join("out/manifest.json")).unwrap();
        assert!(manifest.contains(&format!("\"dialect\": \"{dialect}\"")), "{manifest}");
    }
    let (vendor, home) = (Vendor::start(Dialect::OpenAi), home(6));
    assert_eq!(indexed(home.path(), &vendor, "out", &[]).0, 0);
    let before = tree(&home.path().join("out"));
    write(home.path(), "docs/new.md", b"# New\n\nWords that nobody knew.\n");
    vendor.fail([Fault::Renamed]);
    let (code, _, err) = indexed(home.path(), &vendor, "out", &[]);
    assert!(code == 5 && err.contains("`tiny-v2`") && err.contains("`tiny`"), "{err}");
    assert!(tree(&home.path().join("out")) == before, "the dataset is as it was");
}

#[test]
fn limits_of_requests_and_tokens_are_kept() {
    let (vendor, home) = (Vendor::start(Dialect::OpenAi), home(12));
    let started = std::time::Instant::now();
    let (code, _, err) = indexed(home.path(), &vendor, "out", &["--requests-per-minute", "600"]);
    assert_eq!(code, 0, "{err}");
    let requests = u32::try_from(vendor.take_requests().len()).unwrap();
    assert!(started.elapsed() >= Duration::from_millis(100) * (requests - 1), "{requests} requests");
    assert_eq!(
        indexed(home.path(), &vendor, "few", &["--requests", "1", "--embedding-cache", "off", "--batch-tokens", "60"])
            .0,
        0
    );
    for body in vendor.take_requests() {
        let texts = body["input"].as_array().unwrap();
        assert!(texts.len() <= TEXTS);
    }
}

#[test]
fn fewer_dimensions_are_asked_for_and_checked() {
    let (vendor, home) = (Vendor::start(Dialect::OpenAi), home(3));
    let (code, summary, err) = indexed(home.path(), &vendor, "out", &["--dimensions", "8"]);
    assert_eq!(code, 0, "{err} {summary}");
    assert!(vendor.take_requests().iter().all(|body| body["dimensions"] == 8));
    // This one does not know the name of that setting.
    let vendor = Vendor::start(Dialect::Tei);
    let (code, _, err) = indexed(home.path(), &vendor, "tei", &["--dimensions", "8"]);
    assert!(code == 0 || err.contains("where 8 were asked for"), "{err}");
}

#[test]
fn an_endpoint_is_named_by_the_user_alone_and_with_a_reason() {
    let (vendor, home) = (Vendor::start(Dialect::OpenAi), home(3));
    let run =
        |args: &[&str]| finish(program(home.path()).args(["index", "docs", "-o", "out"]).args(args).output().unwrap());
    let endpoint = &["--endpoint", vendor.endpoint.as_str()][..];
    let (code, _, err) = run(&["--max-tokens", "300"]);
    assert!(code == 2 && err.contains("did you mean `max`?"), "{err}");
    let (code, _, err) = run(endpoint);
    assert!(code == 2 && err.contains("--embedder remote"), "{err}");
    let (code, _, err) = run(&["--embedder", "remote", "--model", "tiny"]);
    assert!(code == 2 && err.contains("endpoint: none is named"), "{err}");
    let (code, _, err) = run(&[endpoint, &["--embedder", "remote"]].concat());
    assert!(code == 2 && err.contains("model: none is named"), "{err}");
    let project =
        format!("[embedding]\nembedder = 'remote'\nmodel = 'tiny'\n[service]\nendpoint = '{}'\n", vendor.endpoint);
    write(home.path(), "chunkmill.toml", project.as_bytes());
    let (code, _, err) = run(&[]);
    assert!(code == 2 && err.contains("ignoring the endpoint in") && err.contains("--endpoint"), "{err}");
    assert_eq!(vendor.take_requests().len(), 0);
}

#[test]
fn a_plan_says_what_will_be_sent_and_what_it_costs_and_sends_nothing() {
    let (vendor, home) = (Vendor::start(Dialect::OpenAi), home(12));
    let plan = |more: &[&str]| {
        let mut command = program(home.path());
        command.args(["plan", "docs", "-o", "out", "--preset", "heading-tokens", "--embedder", "remote"]);
        command.args(["--endpoint", &vendor.endpoint, "--model", "tiny", "--dialect", "openai"]);
        command.args(["--batch-texts", "4", "--embedding-cache", "cache", "--price", "2"]).args(more);
        let (code, stdout, err) = finish(command.env("CHUNKMILL_API_KEY", KEY).output().unwrap());
        assert_eq!(code, 0, "{err}");
        stdout
    };
    let read = |text: String| -> Value { serde_json::from_str(&text).unwrap() };
    let planned = read(plan(&["--json"]));
    let first = vendor.take_requests();
    assert_eq!(first.len(), 1, "the first request of all shows how long vectors are");
    let work = &planned["estimate"]["service"];
    let (code, summary, err) = indexed(home.path(), &vendor, "other", &["--max-tokens", &work["tokens"].to_string()]);
    assert_eq!(code, 0, "{err}");
    let requests = vendor.take_requests();
    let texts: Vec<&Value> = requests.iter().flat_map(|body| body["input"].as_array().unwrap()).collect();
    assert_eq!(work["texts"], texts.len());
    assert_eq!((&work["texts"], &work["texts_cached"]), (&summary["texts_embedded"], &0.into()));
    assert_eq!(work["tokens"], texts.iter().map(|text| tokens(text)).sum::<usize>());
    let cost = planned["cost"].as_f64().unwrap();
    assert!((cost - 2e-6 * work["tokens"].as_f64().unwrap()).abs() < 1e-12, "{cost}");
    // With what the cache has, and in words.
    let planned = read(plan(&["--json"]));
    let cached = &planned["estimate"]["service"];
    assert_eq!((&cached["texts"], &cached["texts_cached"]), (&0.into(), &work["texts"]));
    write(home.path(), "docs/new.md", b"# New\n\nWords that nobody knew.\n");
    let words = plan(&["--tokens-per-minute", "60"]);
    for said in ["1 text, 8 tokens in 1 request to http://", "; the cache has", "at least 8 s", "about 0.0000"] {
        assert!(words.contains(said), "{said}: {words}");
    }
    assert_eq!(vendor.take_requests().len(), 0);
}

#[test]
fn a_sample_of_vectors_is_compared_with_what_the_service_gives_now() {
    let (vendor, home) = (Vendor::start(Dialect::Cohere), home(6));
    assert_eq!(indexed(home.path(), &vendor, "out", &[]).0, 0);
    vendor.take_requests();
    let verify = |more: &[&str]| {
        let mut command = program(home.path());
        command.args(["verify", "out", "--sample", "10", "--endpoint", &vendor.endpoint]).args(more);
        finish(command.env("CHUNKMILL_API_KEY", KEY).output().unwrap())
    };
    let (code, said, err) = verify(&[]);
    assert!(code == 0 && said.contains("10 vectors computed again: cosine 1.000000"), "{said}{err}");
    let texts: usize = vendor.take_requests().iter().map(|body| body["texts"].as_array().unwrap().len()).sum();
    assert!((1..=10).contains(&texts), "{texts}");
    // Another model behind the same name.
    *vendor.reads.lock().unwrap() = 3;
    let (code, said, err) = verify(&[]);
    assert!(code == 1 && said.contains("the model is another one now"), "{said}{err}");
    let (code, said, err) = verify(&["--json"]);
    let said: Value = serde_json::from_str(&said).unwrap();
    assert_eq!((code, &said["ok"], &said["sample"]["chunks"]), (1, &false.into(), &10.into()), "{err}");
    assert!(said["sample"]["least"].as_f64().unwrap() < 0.99);
}

#[test]
fn a_batch_is_handed_over_once_and_collected_by_the_same_command() {
    let (vendor, home) = (Vendor::start(Dialect::OpenAi), home(12));
    let (code, _, err) = indexed(home.path(), &vendor, "now", &["--embedding-cache", "other"]);
    assert_eq!(code, 0, "{err}");
    vendor.take_billed();
    vendor.take_requests();
    // The answer to the request is lost, and later the whole process.
    vendor.lose_batch();
    let (code, said, err) = indexed(home.path(), &vendor, "out", &["--batch"]);
    assert_eq!((code, &said["submitted"], &said["waiting"], vendor.batches()), (6, &18.into(), &18.into(), 1), "{err}");
    for more in [&["--batch"][..], &[]] {
        let (code, said, err) = indexed(home.path(), &vendor, "out", more);
        assert_eq!(
            (code, &said["submitted"], &said["waiting"], vendor.batches()),
            (6, &0.into(), &18.into(), 1),
            "{err}"
        );
    }
    assert_eq!(vendor.take_requests().len(), 1, "only the first request, which shows how long vectors are");
    let file =
        |name: &str| tree(&home.path().join("cache")).into_iter().find(|(path, _)| path.starts_with(name)).unwrap();
    let (name, state) = file("batches-");
    let forgotten = String::from_utf8(state).unwrap().replace("\"batch-0\"", "null");
    write(&home.path().join("cache"), &name, forgotten.as_bytes());
    // Some of the texts are not computed in time; they are handed over again.
    vendor.end_batches("expired", 10);
    let (code, said, err) = indexed(home.path(), &vendor, "out", &["--batch"]);
    assert_eq!((code, &said["submitted"], vendor.batches()), (6, &8.into(), 2), "{err}");
    vendor.end_batches("completed", usize::MAX);
    let (code, summary, err) = indexed(home.path(), &vendor, "out", &["--batch"]);
    assert_eq!((code, &summary["texts_embedded"], &summary["texts_cached"]), (0, &0.into(), &18.into()), "{err}");
    assert!(tree(&home.path().join("out")) == tree(&home.path().join("now")), "the dataset of requests one by one");
    let billed = vendor.take_billed();
    assert_eq!((billed.len(), twice(&billed)), (20, 0), "with the two texts of the first request");
    assert_no_key(home.path());
}

#[test]
fn a_batch_that_the_service_refuses_or_a_text_of_it_is_said() {
    let (vendor, home) = (Vendor::start(Dialect::OpenAi), home(6));
    write(home.path(), "docs/003.md", format!("# Bad\n\nThis has {POISON} in it.\n").as_bytes());
    assert_eq!(indexed(home.path(), &vendor, "out", &["--batch"]).0, 6);
    vendor.end_batches("failed", 0);
    let (code, _, err) = indexed(home.path(), &vendor, "out", &["--batch"]);
    assert!(code == 5 && err.contains("too many tokens are enqueued"), "{err}");
    assert_eq!(indexed(home.path(), &vendor, "out", &["--batch"]).0, 6);
    vendor.end_batches("completed", usize::MAX);
    let (code, summary, err) = indexed(home.path(), &vendor, "out", &["--batch"]);
    assert_eq!((code, &summary["quarantined"], vendor.batches()), (3, &1.into(), 2), "{err}");
    assert!(summary["texts_embedded"] == 0 && err.contains("without the vectors of 1 text"), "{summary} {err}");
    let (code, _, err) = indexed(home.path(), &vendor, "off", &["--batch", "--embedding-cache", "off"]);
    assert!(code == 2 && err.contains("--embedding-cache"), "{err}");
    let tei = Vendor::start(Dialect::Tei);
    let (code, _, err) = indexed(home.path(), &tei, "tei", &["--batch"]);
    assert!(code == 2 && err.contains("`tei`"), "{err}");
    let here =
        program(home.path()).args(["index", "docs", "-o", "here", "--embedder", "fake", "--batch"]).output().unwrap();
    let (code, _, err) = finish(here);
    assert!(code == 2 && err.contains("--embedder remote"), "{err}");
}

#[test]
fn shards_and_updates_give_the_dataset_of_one_run_and_send_each_text_once() {
    let (vendor, home) = (Vendor::start(Dialect::Mistral), home(12));
    assert_eq!(indexed(home.path(), &vendor, "whole", &[]).0, 0);
    vendor.take_billed();
    fs::remove_dir_all(home.path().join("cache")).unwrap();
    let at_service = |args: &[&str]| {
        let settings =
            ["--embedder", "remote", "--endpoint", &vendor.endpoint, "--model", "tiny", "--dialect", "mistral"];
        let mut command = program(home.path());
        command.args(args).args(settings).args(["--embedding-cache", "cache"]).env("CHUNKMILL_API_KEY", KEY);
        let (code, said, err) = finish(command.output().unwrap());
        assert_eq!(code, 0, "{args:?}: {err}");
        assert!(!said.contains(KEY) && !err.contains(KEY));
        said
    };
    let plan = at_service(&["plan", "docs", "-o", "out", "--preset", "heading-tokens", "--shards", "3"]);
    write(home.path(), "plan.json", plan.as_bytes());
    for shard in ["1/3", "2/3", "3/3", "2/3"] {
        at_service(&["run", "--plan", "plan.json", "--shard", shard, "-o", "out"]);
    }
    let committed = finish(program(home.path()).args(["commit", "--plan", "plan.json", "-o", "out"]).output().unwrap());
    assert_eq!(committed.0, 0, "{}", committed.2);
    assert!(tree(&home.path().join("out")) == tree(&home.path().join("whole")));
    assert_eq!(twice(&vendor.take_billed()), 0);
    assert_no_key(home.path());
    // An edit, a new document, one that goes, and one that moves.
    put(home.path(), "docs/001.md", "# Title\n\nOther words now.\n");
    put(home.path(), "docs/new.md", "# New\n\nWords that nobody knew.\n");
    fs::remove_file(home.path().join("docs/002.md")).unwrap();
    fs::rename(home.path().join("docs/003.md"), home.path().join("docs/moved.md")).unwrap();
    assert_eq!(indexed(home.path(), &vendor, "out", &["--embedding-cache", "off"]).0, 0);
    let billed = vendor.take_billed();
    let sent: Vec<&str> =
        billed.keys().map(|text| text.trim()).filter(|text| !["chunk", "mill"].contains(text)).collect();
    // A document with another name is a new one, and without a cache its texts are sent again.
    assert!((2..=5).contains(&sent.len()) && twice(&billed) == 0, "{sent:?}");
    assert_eq!(indexed(home.path(), &vendor, "fresh", &["--embedding-cache", "off"]).0, 0);
    assert!(tree(&home.path().join("out")) == tree(&home.path().join("fresh")));
}

#[test]
fn bad_texts_are_told_from_a_service_that_takes_none() {
    let (vendor, home) = (Vendor::start(Dialect::OpenAi), home(6));
    assert_eq!(indexed(home.path(), &vendor, "out", &[]).0, 0);
    // Nothing but bad texts is new.
    for i in 0..9 {
        put(home.path(), &format!("docs/bad{i}.md"), &format!("# Bad {i}\n\nThis has {POISON} in it.\n"));
    }
    let (code, summary, err) = indexed(home.path(), &vendor, "out", &[]);
    assert_eq!((code, &summary["documents"], &summary["quarantined"]), (3, &6.into(), &9.into()), "{err}");
    let before = tree(&home.path().join("out"));
    // The model goes away while there is work.
    for i in 0..9 {
        put(home.path(), &format!("docs/good{i}.md"), &format!("# Good {i}\n\nThis is fine {i}.\n"));
    }
    vendor.fail(vec![Fault::Status(400, "", "{\"error\": {\"message\": \"model retired\"}}"); 200]);
    let (code, _, err) = indexed(home.path(), &vendor, "out", &[]);
    assert!(code == 5 && err.contains("refuses every text now: model retired"), "{err}");
    assert!(tree(&home.path().join("out")) == before, "no document is quarantined for it");
}

#[test]
fn nothing_is_paid_for_if_the_cache_cannot_keep_it() {
    let (vendor, home) = (Vendor::start(Dialect::OpenAi), home(3));
    assert_eq!(indexed(home.path(), &vendor, "first", &[]).0, 0);
    vendor.take_requests();
    let database = home.path().join("cache/embeddings-v1.sqlite");
    fs::remove_file(&database).unwrap();
    fs::create_dir(&database).unwrap();
    let (code, _, err) = indexed(home.path(), &vendor, "out", &[]);
    assert!(code == 5 && err.contains("embeddings-v1.sqlite"), "{err}");
    assert_eq!(vendor.take_requests().len(), 0);
    assert_eq!(indexed(home.path(), &vendor, "out", &["--embedding-cache", "off"]).0, 0);
}

#[test]
fn what_a_service_says_of_itself_is_waited_for() {
    for dialect in [Dialect::Tei, Dialect::Ollama] {
        let (vendor, home) = (Vendor::start(dialect), home(3));
        assert_eq!(indexed(home.path(), &vendor, "out", &[]).0, 0, "{dialect}");
        let before = tree(&home.path().join("out"));
        vendor.take_requests();
        vendor.busy(2);
        let endpoint = vendor.endpoint.clone();
        let (code, _, err) = indexed(home.path(), &vendor, "out", &["--dialect", "auto", "--endpoint", &endpoint]);
        assert_eq!((code, vendor.take_requests().len()), (0, 0), "{dialect}: {err}");
        assert!(tree(&home.path().join("out")) == before, "{dialect}: it is the same model");
    }
}

#[test]
fn another_model_for_questions_is_asked_as_it_was_when_the_dataset_was_made() {
    let (vendor, home) = (Vendor::start(Dialect::OpenAi), home(6));
    let asked =
        ["--query-model", "other", "--dimensions", "8", "--query-prefix", "query: ", "--document-prefix", "text: "];
    let (code, _, err) = indexed(home.path(), &vendor, "out", &asked);
    assert_eq!(code, 0, "{err}");
    vendor.take_requests();
    let mut command = program(home.path());
    command.args(["search", "out", "own words", "--mode", "vector", "--endpoint", &vendor.endpoint, "--json"]);
    let (code, _, err) = finish(command.env("CHUNKMILL_API_KEY", KEY).output().unwrap());
    assert_eq!(code, 0, "{err}");
    let requests = vendor.take_requests();
    let last = requests.last().unwrap();
    assert_eq!(
        (&last["model"], &last["input"][0], &last["dimensions"]),
        (&"other".into(), &"query: own words".into(), &8.into())
    );
}
