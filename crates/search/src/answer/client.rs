//! A request to `ENDPOINT/chat/completions`, and what can go wrong with it. No message contains the key, or
//! credentials in the endpoint's URL.

use std::time::{Duration, Instant};

use chunkmill_base::error::{Error, Result};
use chunkmill_embed::http::{self, Advice, ApiKey, KeyHeader, Pauses, RequestFailure, Service};
use serde::Deserialize;
use serde_json::{Value, json};

use super::exchange::{Reply, Settings};

/// Number of attempts if the service is busy or cannot be reached, and the pause after the first one.
const ATTEMPTS: u32 = 3;
const FIRST_PAUSE: Duration = Duration::from_millis(500);

/// Largest number of bytes that are read from a response.
const MOST_BYTES: u64 = 16 << 20;

/// Advice if the endpoint fails.
const ADVICE: Advice = Advice {
    key: "set CHUNKMILL_ANSWER_API_KEY to a key that the endpoint accepts",
    busy: "wait, or ask for less: --budget",
    slow: "raise --answer-timeout, or ask for less: --budget, --answer-max-tokens",
    form: "it must answer like OpenAI's chat completions; check the endpoint's path, often /v1",
};

/// A client for one endpoint.
#[derive(Debug)]
pub struct Client {
    service: Service,
    model: String,
    max_tokens: usize,
    timeout: Duration,
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
    /// [`Error::Setting`] if no endpoint or no model was configured, [`Error::Service`] if the system's
    /// certificates cannot be read.
    pub fn new(settings: &Settings, key: Option<ApiKey>) -> Result<Self> {
        let missing = |origin: &str, problem: &str, help: &str| Error::setting(origin, problem, help);
        let endpoint = settings.endpoint.clone().ok_or_else(|| {
            let help = "name an OpenAI-compatible one: --answer-endpoint http://localhost:11434/v1, or `endpoint` in [answer]; \
                        `chunkmill context` shows the passages without calling a model";
            missing("answer-endpoint", "none is configured", help)
        })?;
        let model = settings.model.clone().filter(|model| !model.trim().is_empty()).ok_or_else(|| {
            missing("answer-model", "no model is named", "name one that the endpoint has: --answer-model NAME")
        })?;
        let service = Service::new(endpoint, key, KeyHeader::Bearer, ADVICE)?;
        Ok(Self { service, model, max_tokens: settings.max_tokens, timeout: settings.timeout })
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
        let attempt = || {
            let answered = self.service.post("chat/completions", body.clone(), until, MOST_BYTES)?;
            Ok(self.read(&answered.body)?)
        };
        http::again(pauses, |failure: &RequestFailure| failure.retry, attempt).map_err(|failure| *failure.error)
    }

    fn read(&self, body: &str) -> Result<Reply> {
        let malformed = |problem: &str| self.service.malformed(problem, body);
        let completion: Completion = serde_json::from_str(body)
            .map_err(|error| malformed(&format!("its answer is not understood ({error})")))?;
        let Completion { choices, model, usage } = completion;
        let choice = choices.into_iter().next().ok_or_else(|| malformed("its answer contains no choice"))?;
        let text = choice.message.content.filter(|text| !text.trim().is_empty());
        let text = text.ok_or_else(|| malformed("its answer contains no text"))?;
        Ok(Reply { text, cut: choice.finish_reason.as_deref() == Some("length"), model, usage })
    }
}
