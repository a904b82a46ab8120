//! A request to `ENDPOINT/chat/completions`, and what can go wrong with it. No message contains the key, or
//! credentials in the endpoint's URL.

use std::fmt;
use std::io::Read;
use std::time::{Duration, Instant};

use chunkmill_base::error::{Error, Result};
use chunkmill_embed::http::{self, ApiKey, Endpoint, Pauses, Retry, without_credentials};
use chunkmill_text::document::on_one_line;
use reqwest::blocking::{self, Response};
use reqwest::redirect;
use serde::Deserialize;
use serde_json::{Value, json};
use url::Url;

use super::exchange::{Reply, Settings};

/// Number of attempts if the service is busy or cannot be reached, and the pause after the first one.
const ATTEMPTS: u32 = 3;
const FIRST_PAUSE: Duration = Duration::from_millis(500);

/// Largest number of bytes that are read from a response.
const MOST_BYTES: u64 = 16 << 20;

/// Largest number of characters that are shown of an endpoint's message.
const MOST_SHOWN: usize = 400;

/// A client for one endpoint.
#[derive(Debug)]
pub struct Client {
    http: blocking::Client,
    endpoint: Endpoint,
    model: String,
    max_tokens: usize,
    key: Option<ApiKey>,
    timeout: Duration,
}

/// A request without an answer, and whether another one may have one.
struct Failure {
    error: Error,
    retry: Retry,
}

impl From<Error> for Failure {
    fn from(error: Error) -> Self {
        Self { error, retry: Retry::Never }
    }
}

impl fmt::Display for Failure {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.error.fmt(f)
    }
}

#[derive(Deserialize)]
struct Completion {
    choices: Vec<Choice>,
    model: Option<String>,
    usage: Option<Value>,
}

#[derive(Deserialize)]
struct Choice {
    message: Message,
    finish_reason: Option<String>,
}

#[derive(Deserialize)]
struct Message {
    content: Option<String>,
}

impl Client {
    /// Creates a client. Nothing is sent yet.
    ///
    /// # Errors
    /// [`Error::Setting`] if no endpoint or no model was configured, [`Error::Answer`] if the system's
    /// certificates cannot be read.
    pub fn new(settings: &Settings, key: Option<ApiKey>) -> Result<Self> {
        let missing = |origin: &str, problem: &str, help: &str| Error::setting(origin, problem, help);
        let endpoint = settings.endpoint.clone().ok_or_else(|| {
            let help = "name an OpenAI-compatible one: --endpoint http://localhost:11434/v1, or `endpoint` in [answer]; \
                        `chunkmill context` shows the passages without calling a model";
            missing("endpoint", "none is configured", help)
        })?;
        let model = settings.model.clone().filter(|model| !model.trim().is_empty()).ok_or_else(|| {
            missing("answer-model", "no model is named", "name one that the endpoint has: --answer-model NAME")
        })?;
        let http = http::client()
            // Passages and key are sent to the configured endpoint or nowhere.
            .redirect(redirect::Policy::none())
            .build();
        let http = http.map_err(|error| Error::Answer {
            endpoint: endpoint.to_string(),
            problem: format!("cannot create the client: {}", http::reason(error)),
            help: "check the system's certificates".to_owned(),
        })?;
        Ok(Self { http, endpoint, model, max_tokens: settings.max_tokens, key, timeout: settings.timeout })
    }

    /// Sends messages and reads the answer. A request that fails for now is repeated while there is time.
    pub(super) fn complete(&self, messages: &Value) -> Result<Reply> {
        let body = json!({
            "model": self.model,
            "messages": messages,
            "temperature": 0,
            "max_tokens": self.max_tokens,
            "stream": false,
        });
        let body = body.to_string();
        let until = Instant::now() + self.timeout;
        let pauses = Pauses::new(FIRST_PAUSE, 3, ATTEMPTS - 1).until(until);
        http::again(pauses, |failure: &Failure| failure.retry, || self.attempt(&body, until))
            .map_err(|failure| failure.error)
    }

    /// Sends one request, which ends at this time at the latest.
    fn attempt(&self, body: &str, until: Instant) -> std::result::Result<Reply, Failure> {
        // The timeout of a client limits each read; that of a request, all of it.
        let request = self
            .http
            .post(self.url())
            .timeout(until.saturating_duration_since(Instant::now()))
            .header("content-type", "application/json")
            .body(body.to_owned());
        let request = match &self.key {
            Some(key) => request.bearer_auth(key.text()),
            None => request,
        };
        let response = request.send().map_err(|error| {
            let retry = if error.is_timeout() { Retry::Never } else { Retry::After(Duration::ZERO) };
            Failure { error: self.unreachable(error), retry }
        })?;
        let status = response.status();
        let retry = http::passes(status, response.headers());
        let body = self.body(response)?;
        if !status.is_success() {
            let help = match status.as_u16() {
                401 | 403 => "set CHUNKMILL_ANSWER_API_KEY to a key that the endpoint accepts",
                404 => "check the endpoint's path, often /v1, and the name of the model",
                429 => "wait, or ask for less: --budget",
                300..=399 => "name the address that it redirects to; redirects are not followed",
                _ => "see what the endpoint says",
            };
            let error = self.error(format!("answers {status}: {}", self.shown(&message(&body))), help);
            // Waiting does not fill an account.
            let retry = if body.contains("insufficient_quota") { Retry::Never } else { retry };
            return Err(Failure { error, retry });
        }
        Ok(self.read(&body)?)
    }

    /// Returns the endpoint's URL with `chat/completions` appended to its path. A key takes precedence over
    /// credentials in the URL.
    fn url(&self) -> Url {
        let mut url = self.endpoint.url().clone();
        if self.key.is_some() {
            url = without_credentials(url);
        }
        url.set_fragment(None);
        let path = format!("{}/chat/completions", url.path().trim_end_matches('/'));
        url.set_path(&path);
        url
    }

    fn body(&self, response: Response) -> Result<String> {
        let mut bytes = Vec::new();
        let read = response.take(MOST_BYTES + 1).read_to_end(&mut bytes);
        read.map_err(|error| {
            let timeout = error
                .get_ref()
                .and_then(|e| e.downcast_ref::<reqwest::Error>())
                .is_some_and(reqwest::Error::is_timeout);
            if timeout { self.too_slow() } else { self.error(format!("its answer ended early: {error}"), "try again") }
        })?;
        if bytes.len() as u64 > MOST_BYTES {
            return Err(
                self.error(format!("its answer is over {MOST_BYTES} bytes"), "check that it is OpenAI-compatible")
            );
        }
        Ok(String::from_utf8_lossy(&bytes).into_owned())
    }

    fn read(&self, body: &str) -> Result<Reply> {
        let help = "it must answer like OpenAI's chat completions; check the endpoint's path, often /v1";
        let malformed = |problem: &str| self.error(format!("{problem}: {}", self.shown(body)), help);
        let completion: Completion = serde_json::from_str(body)
            .map_err(|error| malformed(&format!("its answer is not understood ({error})")))?;
        let Completion { choices, model, usage } = completion;
        let choice = choices.into_iter().next().ok_or_else(|| malformed("its answer contains no choice"))?;
        let text = choice.message.content.filter(|text| !text.trim().is_empty());
        let text = text.ok_or_else(|| malformed("its answer contains no text"))?;
        Ok(Reply { text, cut: choice.finish_reason.as_deref() == Some("length"), model, usage })
    }

    fn unreachable(&self, error: reqwest::Error) -> Error {
        if error.is_timeout() {
            return self.too_slow();
        }
        self.error(
            format!("cannot be reached: {}", http::reason(error)),
            "check that the endpoint is up, and its address",
        )
    }

    fn too_slow(&self) -> Error {
        self.error(
            "no answer in time".to_owned(),
            "raise --answer-timeout, or ask for less: --budget, --answer-max-tokens",
        )
    }

    fn error(&self, problem: String, help: &str) -> Error {
        Error::Answer { endpoint: self.endpoint.to_string(), problem, help: help.to_owned() }
    }

    /// Shortens an endpoint's message to one line, without the key: some repeat the key that they refuse.
    fn shown(&self, text: &str) -> String {
        let text = self.key.as_ref().map_or_else(|| text.to_owned(), |key| text.replace(key.text(), "…"));
        let line = on_one_line(&text);
        line.chars().take(MOST_SHOWN).collect()
    }
}

/// Returns the message in `{"error": {"message"}}` or `{"error"}`, or the whole body.
fn message(body: &str) -> String {
    let parsed: Option<Value> = serde_json::from_str(body).ok();
    let error = parsed.as_ref().and_then(|value| value.get("error"));
    let said = error.and_then(|error| error.get("message").unwrap_or(error).as_str());
    said.unwrap_or(body).to_owned()
}
