//! Takes the place of `client` in a program without the feature `answer`: there is no client, so nobody is asked.

use serde_json::Value;

use super::{ApiKey, Said, Settings};
use crate::error::{Error, Result};

/// A service that can be asked: none.
#[derive(Debug)]
pub enum Client {}

impl Client {
    /// Says that this program asks nobody.
    ///
    /// # Errors
    /// [`Error::Setting`], always.
    pub fn new(_: &Settings, _: Option<ApiKey>) -> Result<Self> {
        Err(Error::without("answer", "answer"))
    }

    pub(super) fn complete(&self, _: &Value) -> Result<Said> {
        match *self {}
    }
}
