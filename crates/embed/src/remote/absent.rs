//! A program without the feature `remote` calls no service.

use std::path::Path;

use chunkmill_base::error::{Error, Result};
use chunkmill_text::tokens::TokenCounter;

use super::settings::ServiceSettings;
use crate::embedder::{Embedder, ModelInfo};
use crate::http::ApiKey;

pub(crate) fn load(
    _: ServiceSettings,
    _: Option<ApiKey>,
    _: Option<&Path>,
    _: Option<&ModelInfo>,
) -> Result<Box<dyn Embedder>> {
    Err(Error::without("remote", "embedder"))
}

pub(crate) fn load_counter(_: &ServiceSettings) -> Result<Box<dyn TokenCounter>> {
    Err(Error::without("remote", "embedder"))
}
