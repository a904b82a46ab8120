//! Answers the requests of the page, until the person is done.

use std::collections::BTreeSet;
use std::hash::{BuildHasher, RandomState};
use std::net::{Ipv4Addr, TcpListener, TcpStream};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::mpsc::{Receiver, Sender, channel};
use std::sync::{Arc, Mutex, PoisonError};
use std::thread;

use chunkmill::error::{Error, Result};
use chunkmill::search::Marker;
use serde_json::json;

use super::exchange::{Act, AskedQuestion, Overview, Shown, references};
use super::http::{HttpReply, HttpRequest};
use crate::labels::ask::answers::Answers;
use crate::labels::ask::propose::{Proposal, Proposer};

const HTML: &str = include_str!("page.html");
const CSS: &str = include_str!("page.css");
const JS: &str = include_str!("page.js");

/// Largest number of requests that are answered at the same time. A browser sends six.
const MOST: usize = 32;

/// A page that waits to be opened.
pub struct Page {
    listener: TcpListener,
    port: u16,
    token: String,
    done: (Sender<()>, Receiver<()>),
}

/// The state that all requests share.
struct Shared {
    proposer: Proposer,
    /// The answers, until the session ends.
    answers: Mutex<Option<Answers>>,
    port: u16,
    token: String,
    done: Sender<()>,
    open: AtomicUsize,
}

impl Page {
    /// Starts to listen on a port of this machine, 0 for any that is free.
    ///
    /// # Errors
    /// [`Error::Setting`] if the port cannot be used.
    pub fn new(port: u16) -> Result<Self> {
        let wrong = |error: std::io::Error| {
            let problem = format!("cannot be used: {error}");
            Error::setting(format!("port {port}"), problem, "choose another one with --port, or leave it out")
        };
        let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, port)).map_err(wrong)?;
        let port = listener.local_addr().map_err(wrong)?.port();
        Ok(Self { listener, port, token: token(), done: channel() })
    }

    /// Returns the address of the page.
    pub fn address(&self) -> String {
        format!("http://127.0.0.1:{}/{}/", self.port, self.token)
    }

    /// Returns a function that ends the session.
    pub fn stopper(&self) -> impl Fn() + Send + 'static {
        let done = self.done.0.clone();
        move || {
            // If nobody waits any more, the session has ended.
            let _ = done.send(());
        }
    }

    /// Answers requests until the person is done, or the [stopper](Self::stopper) is called. Returns the answers.
    ///
    /// # Errors
    /// [`Error::Setting`] if the session was ended twice.
    pub fn run(self, proposer: Proposer, answers: Answers) -> Result<Answers> {
        let Self { listener, port, token, done: (done, ended) } = self;
        let answers = Mutex::new(Some(answers));
        let shared = Arc::new(Shared { proposer, answers, port, token, done, open: AtomicUsize::new(0) });
        let own = Arc::clone(&shared);
        thread::spawn(move || {
            for stream in listener.incoming().flatten() {
                let shared = Arc::clone(&own);
                thread::spawn(move || shared.serve(&stream));
            }
        });
        // The sender is in `shared`, so this waits for a message.
        let _ = ended.recv();
        let mut answers = shared.answers.lock().unwrap_or_else(PoisonError::into_inner);
        answers.take().ok_or_else(|| Error::setting("the session", "has ended", "run the same command to go on"))
    }
}

/// Returns 32 hexadecimal digits that nobody can guess. The keys of a [`RandomState`] come from the operating system's
/// source of randomness, and its function does not reveal them.
fn token() -> String {
    let random = RandomState::new();
    format!("{:016x}{:016x}", random.hash_one(0_u8), random.hash_one(1_u8))
}

impl Shared {
    /// Answers the request on a connection.
    fn serve(&self, stream: &TcpStream) {
        if self.open.fetch_add(1, Ordering::Relaxed) < MOST {
            let mut ends = false;
            match HttpRequest::read(stream) {
                Ok(None) => {}
                Ok(Some(request)) => {
                    let (reply, is_last) = self.answer(&request);
                    reply.send(stream);
                    ends = is_last;
                }
                Err(refusal) => refusal.send(stream),
            }
            if ends {
                let _ = self.done.send(());
            }
        }
        self.open.fetch_sub(1, Ordering::Relaxed);
    }

    /// Returns the answer to a request, and whether the session ends with it.
    fn answer(&self, request: &HttpRequest) -> (HttpReply, bool) {
        let refuse = |status, problem: &str| (HttpReply::refusal(status, problem), false);
        let hosts = [format!("127.0.0.1:{}", self.port), format!("localhost:{}", self.port)];
        if !hosts.iter().any(|host| request.header("host") == Some(host)) {
            return refuse(403, "the request names another host");
        }
        let is_own = |origin: &str| hosts.iter().any(|host| origin.strip_prefix("http://") == Some(host));
        let from_elsewhere = matches!(request.header("sec-fetch-site"), Some("cross-site" | "same-site"));
        if from_elsewhere || request.header("origin").is_some_and(|origin| !is_own(origin)) {
            return refuse(403, "the request comes from another page");
        }
        let Some(path) = request.path.strip_prefix('/').and_then(|path| path.strip_prefix(self.token.as_str())) else {
            return refuse(403, "open the address that the program printed");
        };
        match (request.method.as_str(), path) {
            ("GET", "/") => (HttpReply::file("text/html; charset=utf-8", HTML), false),
            ("GET", "/page.css") => (HttpReply::file("text/css; charset=utf-8", CSS), false),
            ("GET", "/page.js") => (HttpReply::file("text/javascript; charset=utf-8", JS), false),
            ("GET", path) => match self.look(path, request) {
                Ok(Some(reply)) => (reply, false),
                Ok(None) => refuse(404, "there is no such thing"),
                Err(error) => refuse(500, &format!("{error:#}")),
            },
            ("POST", "/act") => match serde_json::from_slice(&request.body) {
                _ if request.header("content-type") != Some("application/json") => refuse(400, "the body is not JSON"),
                Err(error) => refuse(400, &error.to_string()),
                Ok(act) => self.act(&act),
            },
            ("POST", _) => refuse(404, "there is no such thing"),
            _ => refuse(405, "only GET and POST are answered"),
        }
    }

    /// Answers a request that changes nothing.
    fn look(&self, path: &str, request: &HttpRequest) -> anyhow::Result<Option<HttpReply>> {
        let number = |name: &str| request.parameter(name).and_then(|value| value.parse::<usize>().ok());
        let proposer = &self.proposer;
        match path {
            "/document" => {
                let known = request.parameter("id").and_then(|id| proposer.corpus().texts.get_key_value(id));
                return Ok(known.map(|(id, text)| HttpReply::json(&json!({ "doc_id": id, "text": text }))));
            }
            "/extended" => {
                let (Some(doc_id), Some(start), Some(end)) = (request.parameter("id"), number("start"), number("end"))
                else {
                    return Ok(None);
                };
                let one = Proposal::plain(doc_id, start..end, BTreeSet::new());
                let extended = proposer
                    .place(doc_id, start..end)
                    .and_then(|_| proposer.extended(&one, request.parameter("before").is_some()));
                let marker = Marker::new(request.parameter("words").unwrap_or_default());
                let shown = extended.as_ref().and_then(|proposal| Shown::of(proposer, proposal, &marker));
                return Ok(Some(HttpReply::json(&shown)));
            }
            _ => {}
        }
        let answers = self.answers.lock().unwrap_or_else(PoisonError::into_inner);
        let Some(answers) = answers.as_ref() else { return Ok(None) };
        Ok(match path {
            "/overview" => Some(HttpReply::json(&Overview::of(answers))),
            "/question" => {
                let words = request.parameter("words").unwrap_or_default();
                let Some(at) = number("at") else { return Ok(None) };
                AskedQuestion::of(proposer, answers, at, words)?.map(|asked| HttpReply::json(&asked))
            }
            _ => None,
        })
    }

    /// Does what the person did, and answers with the state after it.
    fn act(&self, act: &Act) -> (HttpReply, bool) {
        let mut answers = self.answers.lock().unwrap_or_else(PoisonError::into_inner);
        let refuse = |status, problem: &str| (HttpReply::refusal(status, problem), false);
        let Some(answers) = answers.as_mut() else { return refuse(404, "the session has ended") };
        let mut undone = None;
        let all = answers.questions().len();
        let done = match act {
            Act::Answer { question, .. } | Act::Unanswered { question } | Act::Later { question }
                if *question >= all =>
            {
                return refuse(400, "there is no such question");
            }
            Act::Answer { question, references: chosen } => match references(&self.proposer, chosen) {
                Ok(references) => answers.give(*question, references),
                Err(problem) => return refuse(400, &problem),
            },
            Act::Unanswered { question } => answers.give(*question, Vec::new()),
            Act::Later { question } => {
                answers.put_off(*question);
                Ok(())
            }
            Act::Undo => answers.undo().map(|question| undone = question),
            Act::Done => Ok(()),
        };
        if let Err(error) = done {
            return refuse(500, &error.to_string());
        }
        let state = json!({ "overview": Overview::of(answers), "undone": undone });
        (HttpReply::json(&state), matches!(act, Act::Done))
    }
}
