//! The settings of a request, and the reply.

use std::time::Duration;

use serde_json::Value;

use chunkmill_embed::http::Endpoint;

/// The endpoint, the model and the limits of an answer.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Settings {
    /// The endpoint to call, if one is configured.
    pub endpoint: Option<Endpoint>,
    /// Name of the model at the endpoint.
    pub model: Option<String>,
    /// Largest number of tokens in the answer, as the endpoint counts them.
    pub max_tokens: usize,
    /// How long to wait for the answer.
    pub timeout: Duration,
}

/// The response of the service.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Reply {
    pub(super) text: String,
    pub(super) cut: bool,
    pub(super) model: Option<String>,
    pub(super) usage: Option<Value>,
}
