//! A service of vectors, as a local server that speaks the dialect of each vendor, fails as real ones do, and counts what it
//! would bill: each text whose vector it has sent in full.

use std::collections::{BTreeMap, VecDeque};
use std::io::{BufRead, BufReader, Read, Write};
use std::net::{TcpListener, TcpStream};
use std::sync::{Arc, Mutex, MutexGuard};
use std::thread;
use std::time::Duration;

use base64::Engine as _;
use chunkmill::embed::Dialect;
use chunkmill::tokens::{TokenCounter, cl100k};
use serde_json::{Value, json};

/// The key that the service accepts.
pub const KEY: &str = "sk-never-to-be-seen-0451";

/// Number of values of a vector.
pub const DIM: usize = 24;

/// A text with this word is refused, and every request that has one.
pub const POISON: &str = "arsenic";

/// A text with this word gets no vector.
pub const VOID: &str = "voidness";

/// What goes wrong with one request.
#[derive(Debug, Clone, PartialEq)]
pub enum Fault {
    /// A status, with headers and a body.
    Status(u16, &'static str, &'static str),
    /// The connection ends before an answer, or in the middle of one.
    Drop,
    Half,
    /// Entries in another order, one too few, or a vector that is too short.
    Shuffled,
    Short,
    WrongLength,
    /// One vector is null, or not a number, or zero.
    Null,
    NaN,
    Zero,
    /// An answer after some time, or none.
    Slow(u64),
    Never,
    /// Numbers where base64 was asked for.
    Floats,
    /// Another model.
    Renamed,
}

#[derive(Default)]
struct State {
    faults: VecDeque<Fault>,
    /// How often each text was sent back with a good vector, by role and text.
    billed: BTreeMap<String, usize>,
    requests: Vec<Value>,
    refused: usize,
    most_at_once: usize,
    at_once: usize,
    /// Contents of files, and batches, which name one each.
    files: Vec<String>,
    batches: Vec<Batch>,
    /// The answer to the next request for a batch is lost.
    loses_batch: bool,
    /// Number of requests about the service that it has no time for.
    busy: usize,
}

/// A batch: its file, its status, and the files with its answers.
struct Batch {
    input: String,
    status: &'static str,
    answers: [Option<String>; 2],
}

impl Batch {
    fn about(&self, number: usize) -> Value {
        let [output, errors] = &self.answers;
        let said = (self.status == "failed").then(|| json!({"data": [{"message": "too many tokens are enqueued"}]}));
        json!({
            "id": format!("batch-{number}"), "object": "batch", "status": self.status, "input_file_id": self.input,
            "output_file_id": output, "error_file_id": errors, "errors": said,
        })
    }
}

pub struct Vendor {
    pub endpoint: String,
    pub dialect: Dialect,
    state: Arc<Mutex<State>>,
    /// Number of tokens of a text that it reads, in silence.
    pub reads: Arc<Mutex<usize>>,
}

impl Vendor {
    pub fn start(dialect: Dialect) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let base = match dialect {
            Dialect::Tei | Dialect::Ollama => "",
            Dialect::Gemini => "/v1beta",
            Dialect::Cohere => "/v2",
            _ => "/v1",
        };
        let endpoint = format!("http://{}{base}", listener.local_addr().unwrap());
        let state: Arc<Mutex<State>> = Arc::default();
        let reads = Arc::new(Mutex::new(usize::MAX));
        let (of_server, limit) = (Arc::clone(&state), Arc::clone(&reads));
        thread::spawn(move || {
            for stream in listener.incoming().flatten() {
                let (state, limit) = (Arc::clone(&of_server), Arc::clone(&limit));
                thread::spawn(move || {
                    let _ = serve(stream, dialect, &state, &limit);
                });
            }
        });
        Self { endpoint, dialect, state, reads }
    }

    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap()
    }

    /// Lets the next requests for vectors go wrong like this.
    pub fn fail(&self, faults: impl IntoIterator<Item = Fault>) {
        self.state().faults.extend(faults);
    }

    /// Forgets the faults to come.
    pub fn heal(&self) {
        self.state().faults.clear();
    }

    /// Returns how often each text was billed, and forgets it.
    pub fn take_billed(&self) -> BTreeMap<String, usize> {
        std::mem::take(&mut self.state().billed)
    }

    /// Returns the requests for vectors so far, and forgets them.
    pub fn take_requests(&self) -> Vec<Value> {
        std::mem::take(&mut self.state().requests)
    }

    /// Loses its answer to the next request for a batch, which it makes.
    pub fn lose_batch(&self) {
        self.state().loses_batch = true;
    }

    /// Has no time for so many requests about itself.
    pub fn busy(&self, requests: usize) {
        self.state().busy = requests;
    }

    /// Returns the number of batches so far.
    pub fn batches(&self) -> usize {
        self.state().batches.len()
    }

    /// Ends all open batches with this status, after so many texts of each.
    pub fn end_batches(&self, status: &'static str, most: usize) {
        let mut state = self.state();
        let State { files, batches, billed, .. } = &mut *state;
        for batch in batches.iter_mut().filter(|batch| batch.status == "in_progress") {
            batch.status = status;
            let input = files[number(&batch.input)].clone();
            let [mut output, mut errors] = [String::new(), String::new()];
            // In another order than they were asked for.
            for (at, line) in input.lines().rev().enumerate() {
                let line: Value = serde_json::from_str(line).unwrap();
                let text = line["body"]["input"][0].as_str().unwrap();
                let answered = |status: u16, body: Value| {
                    let response = json!({"status_code": status, "body": body});
                    json!({"custom_id": line["custom_id"], "response": response, "error": null}).to_string() + "\n"
                };
                if text.contains(POISON) {
                    errors += &answered(400, json!({"error": {"message": "a text is not allowed"}}));
                } else if at >= most {
                    let error = json!({"code": "batch_expired"});
                    errors +=
                        &(json!({"custom_id": line["custom_id"], "response": null, "error": error}).to_string() + "\n");
                } else {
                    *billed.entry(format!(" {text}")).or_default() += 1;
                    output += &answered(200, answer(Dialect::OpenAi, vec![(0, json!(vector(text, "")))], 1, "tiny"));
                }
            }
            batch.answers = [output, errors].map(|text| {
                files.push(text.clone());
                (!text.is_empty()).then(|| format!("file-{}", files.len() - 1))
            });
        }
    }

    /// Returns the largest number of requests at a time so far.
    pub fn most_at_once(&self) -> usize {
        self.state().most_at_once
    }
}

/// Returns the vector of a text: its words, hashed. It is not of length 1.
pub fn vector(text: &str, role: &str) -> Vec<f32> {
    let mut vector = vec![0.0; DIM];
    vector[0] = 0.5;
    for word in [role].into_iter().chain(text.split_whitespace()) {
        let hash = blake3::hash(word.as_bytes());
        let [place, sign, ..] = *hash.as_bytes();
        vector[usize::from(place) % DIM] += if sign < 128 { 3.0 } else { -3.0 };
    }
    vector
}

/// A request: its first line with the method and the path, its headers, and its body, also as JSON.
#[derive(Debug, Clone)]
pub struct Request {
    pub line: String,
    method: String,
    path: String,
    pub headers: Vec<String>,
    pub body: Value,
    text: String,
}

/// Returns the number at the end of an id.
fn number(id: &str) -> usize {
    id.rsplit('-').next().and_then(|number| number.parse().ok()).unwrap_or(usize::MAX)
}

/// Answers requests about files and batches; `None` if it is another request.
fn batches(stream: &TcpStream, state: &Mutex<State>, request: &Request) -> Option<std::io::Result<()>> {
    let mut state = state.lock().unwrap();
    let parts: Vec<&str> = request.path.split(['/', '?']).skip(2).collect();
    let body = match (request.method.as_str(), parts.as_slice()) {
        ("POST", ["files"]) => {
            assert!(request.text.contains("name=\"purpose\"\r\n\r\nbatch\r\n"), "{}", request.text);
            let lines: Vec<&str> = request.text.lines().filter(|line| line.starts_with('{')).collect();
            state.files.push(lines.join("\n"));
            json!({"id": format!("file-{}", state.files.len() - 1), "object": "file"})
        }
        ("GET", ["files", id, "content"]) => return Some(send(stream, 200, "", &state.files[number(id)])),
        ("POST", ["batches"]) => {
            assert_eq!(
                (&request.body["endpoint"], &request.body["completion_window"]),
                (&json!("/v1/embeddings"), &json!("24h"))
            );
            let input = request.body["input_file_id"].as_str()?.to_owned();
            state.batches.push(Batch { input, status: "in_progress", answers: [None, None] });
            if std::mem::take(&mut state.loses_batch) {
                return Some(Ok(()));
            }
            state.batches[state.batches.len() - 1].about(state.batches.len() - 1)
        }
        ("GET", ["batches", id]) if id.starts_with("batch-") => state.batches.get(number(id))?.about(number(id)),
        ("GET", ["batches", ..]) => {
            let all = state.batches.iter().enumerate().map(|(number, batch)| batch.about(number));
            json!({"object": "list", "data": all.collect::<Vec<_>>()})
        }
        _ => return None,
    };
    Some(send(stream, 200, "", &body.to_string()))
}

/// Reads a request.
pub fn read(stream: &TcpStream) -> std::io::Result<Request> {
    let mut reader = BufReader::new(stream);
    let mut line = String::new();
    reader.read_line(&mut line)?;
    let mut parts = line.split(' ');
    let mut part = || parts.next().unwrap_or_default().to_owned();
    let (method, path) = (part(), part());
    let mut headers = Vec::new();
    loop {
        let mut header = String::new();
        if reader.read_line(&mut header)? <= 2 {
            break;
        }
        headers.push(header.trim().to_owned());
    }
    let length = headers.iter().find_map(|header| header.to_lowercase().strip_prefix("content-length: ")?.parse().ok());
    let mut body = vec![0; length.unwrap_or(0)];
    reader.read_exact(&mut body)?;
    let text = String::from_utf8_lossy(&body).into_owned();
    let body = serde_json::from_slice(&body).unwrap_or(Value::Null);
    Ok(Request { line: line.trim().to_owned(), method, path, headers, body, text })
}

fn send(mut stream: &TcpStream, status: u16, headers: &str, body: &str) -> std::io::Result<()> {
    let length = body.len();
    let head = format!("HTTP/1.1 {status} Said\r\nContent-Length: {length}\r\nConnection: close\r\n{headers}\r\n");
    stream.write_all(head.as_bytes())?;
    stream.write_all(body.as_bytes())?;
    stream.flush()
}

/// Returns the texts of a request and their role, if it has the form of the dialect.
fn asked(dialect: Dialect, request: &Request) -> Option<(Vec<String>, String)> {
    let Request { path, body, .. } = request;
    let texts = |value: &Value| -> Option<Vec<String>> {
        value.as_array()?.iter().map(|text| Some(text.as_str()?.to_owned())).collect()
    };
    let role = |key: &str| body[key].as_str().map(str::to_owned);
    let of_model = body["model"] == "tiny";
    match dialect {
        Dialect::Tei => {
            let is_it = path == "/embed" && body["truncate"] == false && body["normalize"] == true;
            Some((texts(&body["inputs"]).filter(|_| is_it)?, String::new()))
        }
        Dialect::Ollama => {
            let is_it = path == "/api/embed" && of_model && body["truncate"] == false;
            Some((texts(&body["input"]).filter(|_| is_it)?, String::new()))
        }
        Dialect::Cohere => {
            let is_it = path == "/v2/embed" && of_model && body["truncate"] == "NONE";
            Some((texts(&body["texts"]).filter(|_| is_it)?, role("input_type")?))
        }
        Dialect::Gemini => {
            let is_it = path == "/v1beta/models/tiny:batchEmbedContents";
            let each = body["requests"].as_array().filter(|_| is_it)?;
            let texts = each.iter().map(|one| Some(one["content"]["parts"][0]["text"].as_str()?.to_owned()));
            Some((texts.collect::<Option<_>>()?, each.first()?["taskType"].as_str()?.to_owned()))
        }
        Dialect::Voyage => {
            let is_it = path == "/v1/embeddings" && of_model && body["truncation"] == false;
            Some((texts(&body["input"]).filter(|_| is_it)?, role("input_type")?))
        }
        Dialect::Jina => {
            let is_it = path == "/v1/embeddings" && of_model && body["truncate"] == false;
            Some((texts(&body["input"]).filter(|_| is_it)?, role("task")?))
        }
        _ => Some((texts(&body["input"]).filter(|_| path == "/v1/embeddings")?, String::new())),
    }
}

/// Returns what the service says of itself.
fn about(dialect: Dialect, request: &Request) -> Option<Value> {
    match (dialect, request.method.as_str(), request.path.as_str()) {
        (Dialect::Tei, "GET", "/info") => Some(json!({
            "model_id": "tiny", "model_sha": "0451", "max_client_batch_size": 8, "max_input_length": 200,
        })),
        (Dialect::Ollama, "GET", "/api/version") => Some(json!({"version": "0.30.0"})),
        (Dialect::Ollama, "POST", "/api/show") => Some(json!({"model_info": {"bert.context_length": 200}})),
        (Dialect::Ollama, "GET", "/api/tags") => Some(json!({"models": [{"name": "tiny:latest", "digest": "0451"}]})),
        _ => None,
    }
}

/// Returns an answer in the form of a dialect.
fn answer(dialect: Dialect, vectors: Vec<(usize, Value)>, used: usize, model: &str) -> Value {
    let bare = |vectors: Vec<(usize, Value)>| vectors.into_iter().map(|(_, vector)| vector).collect::<Vec<_>>();
    match dialect {
        Dialect::Tei => json!(bare(vectors)),
        Dialect::Ollama => json!({"model": model, "embeddings": bare(vectors), "prompt_eval_count": used}),
        Dialect::Cohere => json!({
            "embeddings": {"float": bare(vectors)}, "meta": {"billed_units": {"input_tokens": used}},
        }),
        Dialect::Gemini => {
            let values: Vec<Value> = bare(vectors).into_iter().map(|vector| json!({"values": vector})).collect();
            json!({"embeddings": values})
        }
        _ => {
            let entries = vectors.into_iter();
            let entries =
                entries.map(|(index, vector)| json!({"object": "embedding", "index": index, "embedding": vector}));
            let usage = json!({"prompt_tokens": used, "total_tokens": used});
            json!({"object": "list", "data": entries.collect::<Vec<_>>(), "model": model, "usage": usage})
        }
    }
}

fn serve(stream: TcpStream, dialect: Dialect, state: &Mutex<State>, reads: &Mutex<usize>) -> std::io::Result<()> {
    let request = read(&stream)?;
    let key = if dialect == Dialect::Gemini {
        format!("x-goog-api-key: {KEY}")
    } else {
        format!("authorization: Bearer {KEY}")
    };
    if !request.headers.contains(&key) {
        let echo = format!(
            "{{\"error\": {{\"message\": \"not allowed: {:?}\"}}}}",
            request.headers.join(" ").replace('"', "")
        );
        return send(&stream, 401, "", &echo);
    }
    if let Some(about) = about(dialect, &request) {
        let mut state = state.lock().unwrap();
        if let Some(left) = state.busy.checked_sub(1) {
            state.busy = left;
            drop(state);
            return send(&stream, 503, "", "{\"error\": \"busy\"}");
        }
        drop(state);
        return send(&stream, 200, "", &about.to_string());
    }
    if let Some(answered) = batches(&stream, state, &request).filter(|_| dialect == Dialect::OpenAi) {
        return answered;
    }
    let Some((texts, role)) = asked(dialect, &request) else {
        return send(&stream, 404, "", "{\"error\": {\"message\": \"there is nothing here\"}}");
    };
    let fault = {
        let mut state = state.lock().unwrap();
        state.requests.push(request.body.clone());
        state.at_once += 1;
        state.most_at_once = state.most_at_once.max(state.at_once);
        state.faults.pop_front()
    };
    let limit = *reads.lock().unwrap();
    let done = respond(&stream, dialect, state, limit, &request, &texts, &role, fault);
    state.lock().unwrap().at_once -= 1;
    done
}

#[expect(clippy::too_many_arguments, reason = "for one caller")]
fn respond(
    mut stream: &TcpStream,
    dialect: Dialect,
    state: &Mutex<State>,
    reads: usize,
    request: &Request,
    texts: &[String],
    role: &str,
    fault: Option<Fault>,
) -> std::io::Result<()> {
    match &fault {
        Some(Fault::Status(status, headers, body)) => return send(stream, *status, headers, body),
        Some(Fault::Drop) => return Ok(()),
        Some(Fault::Never) => {
            thread::sleep(Duration::from_secs(5));
            return Ok(());
        }
        Some(Fault::Slow(milliseconds)) => thread::sleep(Duration::from_millis(*milliseconds)),
        _ => {}
    }
    if texts.iter().any(|text| text.contains(POISON)) {
        state.lock().unwrap().refused += 1;
        return send(stream, 400, "", "{\"error\": {\"message\": \"a text is not allowed\"}}");
    }
    if texts.iter().any(String::is_empty) || texts.is_empty() {
        return send(stream, 400, "", "{\"error\": {\"message\": \"a text is empty\"}}");
    }
    let in_base64 = [&request.body["encoding_format"], &request.body["embedding_type"]].contains(&&json!("base64"));
    let in_base64 = in_base64 && fault != Some(Fault::Floats);
    let count = |text: &String| cl100k().count(text).unwrap();
    let mut good: Vec<String> = Vec::new();
    let mut vectors: Vec<(usize, Value)> = Vec::new();
    for (at, text) in texts.iter().enumerate() {
        let is_cut = count(text) > reads;
        let read: String = if is_cut { text.chars().take(20).collect() } else { text.clone() };
        let mut values = vector(&read, role);
        let spoiled = at == texts.len() / 2;
        let dimensions = ["dimensions", "output_dimension"].into_iter().find_map(|key| request.body[key].as_u64());
        values.truncate(dimensions.map_or(DIM, |dimensions| usize::try_from(dimensions).unwrap()));
        let value = match &fault {
            Some(Fault::Null) if spoiled => Value::Null,
            Some(Fault::NaN) if spoiled => json!([null, 1.0]),
            Some(Fault::Zero) if spoiled => json!(vec![0.0; DIM]),
            Some(Fault::WrongLength) if spoiled => json!(values[1..].to_vec()),
            _ if text.contains(VOID) => Value::Null,
            _ => {
                good.extend((!is_cut).then(|| format!("{role} {text}")));
                if in_base64 {
                    let bytes: Vec<u8> = values.iter().flat_map(|value| value.to_le_bytes()).collect();
                    base64::engine::general_purpose::STANDARD.encode(bytes).into()
                } else {
                    json!(values)
                }
            }
        };
        vectors.push((at, value));
    }
    match &fault {
        Some(Fault::Shuffled)
            if !matches!(dialect, Dialect::Tei | Dialect::Ollama | Dialect::Cohere | Dialect::Gemini) =>
        {
            vectors.reverse();
        }
        Some(Fault::Short) => drop(vectors.pop()),
        _ => {}
    }
    if matches!(fault, Some(Fault::Short | Fault::WrongLength | Fault::Half | Fault::Renamed)) {
        good.clear();
    }
    let used = texts.iter().map(|text| count(text).min(reads)).sum();
    let model = request.body["model"].as_str().unwrap_or("tiny");
    let model = if fault == Some(Fault::Renamed) { "tiny-v2" } else { model };
    let body = answer(dialect, vectors, used, model).to_string();
    if fault == Some(Fault::Half) {
        let head = format!("HTTP/1.1 200 OK\r\nContent-Length: {}\r\nConnection: close\r\n\r\n", body.len());
        stream.write_all(head.as_bytes())?;
        return stream.write_all(&body.as_bytes()[..body.len() / 2]);
    }
    // Billed before the last byte is out: a client that has the answer finds it in the bill.
    let mut state = state.lock().unwrap();
    for text in good {
        *state.billed.entry(text).or_default() += 1;
    }
    drop(state);
    send(stream, 200, "", &body)
}
