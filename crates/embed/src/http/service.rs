//! Requests to one web service. No message contains its key, or credentials in its address.

use std::fmt;
use std::io::Read;
use std::time::{Duration, Instant};

use chunkmill_base::error::{Error, Result};
use reqwest::blocking::{self, RequestBuilder, Response};
use reqwest::redirect;
use serde_json::Value;
use url::Url;

use super::client::{client, reason};
use super::endpoint::{ApiKey, Endpoint, without_credentials};
use super::retry::{Retry, passes};

/// Largest number of characters that are shown of a service's message.
const MOST_SHOWN: usize = 400;

/// The longest pause that a service may ask for.
const LONGEST_PAUSE: Duration = Duration::from_mins(10);

/// Advice for the users of a service if it fails.
#[derive(Debug, Clone, Copy)]
pub struct Advice {
    /// If it refuses the key.
    pub key: &'static str,
    /// If it has too much to do.
    pub busy: &'static str,
    /// If there was no answer in time.
    pub slow: &'static str,
    /// If the answer is not of the expected form.
    pub form: &'static str,
}

/// The header that carries the key.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum KeyHeader {
    /// `Authorization: Bearer KEY`.
    Bearer,
    /// A header of this name.
    Named(&'static str),
}

/// A client of one service.
#[derive(Debug)]
pub struct Service {
    http: blocking::Client,
    endpoint: Endpoint,
    key: Option<ApiKey>,
    header: KeyHeader,
    advice: Advice,
}

/// An answer of success.
#[derive(Debug)]
pub struct Answered {
    /// Its body.
    pub body: String,
}

/// A request without an answer.
#[derive(Debug)]
pub struct RequestFailure {
    /// The failure, in words.
    pub error: Box<Error>,
    /// Whether another request may have an answer.
    pub retry: Retry,
    /// HTTP status of a refusal.
    pub status: Option<u16>,
    /// The service's own words, on one line, without the key.
    pub said: String,
    /// Whether the service may have done the work, although its answer did not come whole.
    pub may_cost: bool,
}

impl From<Error> for RequestFailure {
    fn from(error: Error) -> Self {
        Self { error: Box::new(error), retry: Retry::Never, status: None, said: String::new(), may_cost: true }
    }
}

impl fmt::Display for RequestFailure {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.error.fmt(f)
    }
}

impl Service {
    /// Creates a client. Nothing is sent yet.
    ///
    /// # Errors
    /// [`Error::Service`] if the system's certificates cannot be read.
    pub fn new(endpoint: Endpoint, key: Option<ApiKey>, header: KeyHeader, advice: Advice) -> Result<Self> {
        // Texts and key are sent to the configured endpoint or nowhere.
        let http = client().redirect(redirect::Policy::none()).build().map_err(|error| Error::Service {
            endpoint: endpoint.to_string(),
            problem: format!("cannot create the client: {}", reason(error)),
            help: "check the system's certificates".to_owned(),
        })?;
        Ok(Self { http, endpoint, key, header, advice })
    }

    /// Returns the address of the service.
    pub fn endpoint(&self) -> &Endpoint {
        &self.endpoint
    }

    /// Sends a JSON document to a path below the endpoint and reads at most `most` bytes of the answer. The request ends
    /// at `until`.
    ///
    /// # Errors
    /// [`RequestFailure`] if there is no answer in time, or a refusal.
    pub fn post(&self, path: &str, body: String, until: Instant, most: u64) -> Result<Answered, RequestFailure> {
        self.send_as("application/json", path, body, until, most)
    }

    /// Sends a text of another type, like [`post`](Self::post).
    ///
    /// # Errors
    /// Those of [`post`](Self::post).
    pub fn send_as(
        &self,
        content_type: &str,
        path: &str,
        body: String,
        until: Instant,
        most: u64,
    ) -> Result<Answered, RequestFailure> {
        self.send(self.http.post(self.url(path)).header("content-type", content_type).body(body), until, most)
    }

    /// Asks for a path below the endpoint, like [`post`](Self::post).
    ///
    /// # Errors
    /// Those of [`post`](Self::post).
    pub fn get(&self, path: &str, until: Instant, most: u64) -> Result<Answered, RequestFailure> {
        self.send(self.http.get(self.url(path)), until, most)
    }

    fn send(&self, request: RequestBuilder, until: Instant, most: u64) -> Result<Answered, RequestFailure> {
        // The timeout of a client limits each read; that of a request, all of it.
        let request = request.timeout(until.saturating_duration_since(Instant::now()));
        let request = match (&self.key, self.header) {
            (Some(key), KeyHeader::Bearer) => request.bearer_auth(key.text()),
            (Some(key), KeyHeader::Named(name)) => request.header(name, key.text()),
            (None, _) => request,
        };
        let response = request.send().map_err(|error| self.unreachable(error))?;
        let status = response.status();
        let retry = passes(status, response.headers(), LONGEST_PAUSE);
        let body = self.body(response, most)?;
        if status.is_success() {
            return Ok(Answered { body });
        }
        let help = match status.as_u16() {
            401 | 403 => self.advice.key,
            404 => "check the endpoint's path, often /v1, and the name of the model",
            429 => self.advice.busy,
            300..=399 => "name the address that it redirects to; redirects are not followed",
            _ => "see what the endpoint says",
        };
        let said = self.shown(&message(&body));
        let error = self.error(format!("answers {status}: {said}"), help);
        let retry = match (retry, asked_pause(&body)) {
            // Waiting does not fill an account.
            (Retry::After(_), asked) if asked > LONGEST_PAUSE || body.contains("insufficient_quota") => Retry::Never,
            (Retry::After(least), asked) => Retry::After(least.max(asked)),
            (Retry::Never, _) => Retry::Never,
        };
        Err(RequestFailure { error: Box::new(error), retry, status: Some(status.as_u16()), said, may_cost: false })
    }

    /// Returns the endpoint's URL with more of a path. A key takes precedence over credentials in the URL.
    fn url(&self, path: &str) -> Url {
        let mut url = self.endpoint.url().clone();
        if self.key.is_some() {
            url = without_credentials(url);
        }
        url.set_fragment(None);
        let (path, query) = path.split_once('?').map_or((path, None), |(path, query)| (path, Some(query)));
        let path = format!("{}/{path}", url.path().trim_end_matches('/'));
        url.set_path(&path);
        if query.is_some() {
            url.set_query(query);
        }
        url
    }

    fn body(&self, response: Response, most: u64) -> Result<String, RequestFailure> {
        let mut bytes = Vec::new();
        let read = response.take(most + 1).read_to_end(&mut bytes);
        read.map_err(|error| {
            let timeout = error
                .get_ref()
                .and_then(|e| e.downcast_ref::<reqwest::Error>())
                .is_some_and(reqwest::Error::is_timeout);
            if timeout {
                return self.too_slow();
            }
            let error = self.error(format!("its answer ended early: {error}"), "try again");
            RequestFailure { retry: Retry::After(Duration::ZERO), ..error.into() }
        })?;
        if bytes.len() as u64 > most {
            return Err(self.error(format!("its answer is over {most} bytes"), self.advice.form).into());
        }
        Ok(String::from_utf8_lossy(&bytes).into_owned())
    }

    fn unreachable(&self, error: reqwest::Error) -> RequestFailure {
        if error.is_timeout() {
            return self.too_slow();
        }
        let help = "check that the endpoint is up, and its address";
        let may_cost = !error.is_connect();
        let error = self.error(format!("cannot be reached: {}", reason(error)), help);
        RequestFailure { retry: Retry::After(Duration::ZERO), may_cost, ..error.into() }
    }

    fn too_slow(&self) -> RequestFailure {
        let error = self.error("no answer in time".to_owned(), self.advice.slow);
        RequestFailure { retry: Retry::After(Duration::ZERO), ..error.into() }
    }

    /// Returns the error for an answer that is not of the expected form.
    pub fn malformed(&self, problem: &str, body: &str) -> Error {
        self.error(format!("{problem}: {}", self.shown(body)), self.advice.form)
    }

    /// Returns an error about this service.
    pub fn error(&self, problem: String, help: &str) -> Error {
        Error::Service { endpoint: self.endpoint.to_string(), problem, help: help.to_owned() }
    }

    /// Shortens a service's message to one line, without the key: some repeat the key that they refuse.
    pub fn shown(&self, text: &str) -> String {
        let text = self.key.as_ref().map_or_else(|| text.to_owned(), |key| text.replace(key.text(), "…"));
        let line = chunkmill_text::document::on_one_line(&text);
        line.chars().take(MOST_SHOWN).collect()
    }
}

/// Returns the message in `{"error": {"message"}}`, `{"error"}`, `{"message"}` or `{"detail"}`, or the whole body.
fn message(body: &str) -> String {
    let parsed: Option<Value> = serde_json::from_str(body).ok();
    let said = parsed.as_ref().and_then(|value| {
        let error = ["error", "message", "detail"].into_iter().find_map(|name| value.get(name))?;
        error.get("message").unwrap_or(error).as_str()
    });
    said.unwrap_or(body).to_owned()
}

/// Returns the pause that a body asks for, as Google's services do: `{"retryDelay": "34s"}` anywhere in its details.
fn asked_pause(body: &str) -> Duration {
    let parsed: Option<Value> = serde_json::from_str(body).ok();
    let details = parsed.as_ref().and_then(|value| value.pointer("/error/details")?.as_array());
    let delays = details.into_iter().flatten().filter_map(|detail| detail.get("retryDelay")?.as_str());
    let seconds = delays.filter_map(|delay| delay.strip_suffix('s')?.parse().ok());
    seconds.filter_map(|seconds| Duration::try_from_secs_f64(seconds).ok()).max().unwrap_or_default()
}
