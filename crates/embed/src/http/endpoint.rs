//! The endpoint to call, and its key. Neither the key nor credentials in the URL are ever shown.

use std::fmt;
use std::str::FromStr;

use chunkmill_base::value::value;
use serde::{Deserialize, Serialize};
use url::Url;

/// Base URL of an OpenAI-compatible service: `http://localhost:11434/v1`. Shown without credentials,
/// query and fragment.
#[derive(Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(try_from = "String", into = "String")]
pub struct Endpoint(Url);

value! {
    Endpoint: {"type": "string", "format": "uri"}
}

impl Endpoint {
    /// Returns the URL with everything in it, also credentials.
    pub fn url(&self) -> &Url {
        &self.0
    }

    /// Returns the address without this last part of its path, if it has it.
    #[must_use]
    pub fn without(&self, last: &str) -> Self {
        let mut url = self.0.clone();
        let path = url.path().trim_end_matches('/');
        let path = path.strip_suffix(last).filter(|rest| rest.ends_with('/')).unwrap_or(path).to_owned();
        url.set_path(&path);
        Self(url)
    }
}

impl FromStr for Endpoint {
    type Err = String;

    fn from_str(s: &str) -> Result<Self, String> {
        let url = Url::parse(s).map_err(|error| format!("is not a URL: {error}"))?;
        let web = matches!(url.scheme(), "http" | "https") && url.has_host();
        if web { Ok(Self(url)) } else { Err("is not the URL of a web service: http://HOST/v1".to_owned()) }
    }
}

impl TryFrom<String> for Endpoint {
    type Error = String;

    fn try_from(text: String) -> Result<Self, String> {
        text.parse()
    }
}

impl From<Endpoint> for String {
    fn from(endpoint: Endpoint) -> Self {
        endpoint.to_string()
    }
}

impl fmt::Display for Endpoint {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut shown = without_credentials(self.0.clone());
        shown.set_query(None);
        shown.set_fragment(None);
        f.write_str(shown.as_str().trim_end_matches('/'))
    }
}

impl fmt::Debug for Endpoint {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Endpoint({self})")
    }
}

/// The key of an endpoint. It is sent to that endpoint and never shown.
#[derive(Clone)]
pub struct ApiKey(String);

impl ApiKey {
    /// Creates a key; `None` if the text is blank.
    #[must_use]
    pub fn new(text: &str) -> Option<Self> {
        Some(Self(text.trim().to_owned())).filter(|key| !key.0.is_empty())
    }
}

impl ApiKey {
    /// Returns the key, to send it to its endpoint.
    pub fn text(&self) -> &str {
        &self.0
    }
}

impl fmt::Debug for ApiKey {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("ApiKey(…)")
    }
}

/// Returns a URL without a user name and a password.
pub fn without_credentials(mut url: Url) -> Url {
    // Both fail only for URLs without a host, and an endpoint has one.
    let _ = url.set_username("");
    let _ = url.set_password(None);
    url
}
