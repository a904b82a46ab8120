//! One client, with one kind of TLS.

#[cfg(feature = "client")]
use std::error::Error;

/// Sets the cryptography that TLS uses. Call it before opening a connection; once is enough.
pub fn prepare() {
    // Other code in this process may have set a different one, which is fine.
    let _ = rustls::crypto::ring::default_provider().install_default();
}

/// Returns a client builder that still needs time limits and a redirect policy.
#[cfg(feature = "client")]
pub fn client() -> reqwest::blocking::ClientBuilder {
    prepare();
    reqwest::blocking::Client::builder().user_agent(concat!("chunkmill/", env!("CARGO_PKG_VERSION")))
}

/// Returns every cause of a failure, without the URL, which may contain credentials.
#[cfg(feature = "client")]
pub fn reason(error: reqwest::Error) -> String {
    let error = error.without_url();
    let mut reason = error.to_string();
    let mut cause = error.source();
    while let Some(inner) = cause {
        reason = format!("{reason}: {inner}");
        cause = inner.source();
    }
    reason
}
