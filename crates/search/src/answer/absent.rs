//! Replaces `client` in a program without the feature `answer`: there is no client, so no request is ever sent.

use chunkmill_base::error::{Error, Result};
use serde_json::Value;

use super::exchange::{Reply, Settings};
use chunkmill_embed::http::ApiKey;

/// A client that does not exist.
#[derive(Debug)]
pub enum Client {}

impl Client {
    /// Fails, because this program cannot send requests.
    ///
    /// # Errors
    /// [`Error::Setting`], always.
    pub fn new(_: &Settings, _: Option<ApiKey>) -> Result<Self> {
        Err(Error::without("answer", "answer"))
    }

    pub(super) fn complete(&self, _: &Value) -> Result<Reply> {
        match *self {}
    }
}
