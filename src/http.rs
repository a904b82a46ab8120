//! How a web service is asked: one client, with one kind of TLS, for the hub, object stores and language models.

#[cfg(any(feature = "answer", feature = "hub"))]
use std::error::Error;

/// Says which cryptography TLS uses. Whoever opens a connection calls it first; once is enough.
pub(crate) fn prepare() {
    // Somebody else in this process may have chosen another one, which will do.
    let _ = rustls::crypto::ring::default_provider().install_default();
}

/// A client that is still to be told of time limits and redirects.
#[cfg(any(feature = "answer", feature = "hub"))]
pub(crate) fn client() -> reqwest::blocking::ClientBuilder {
    prepare();
    reqwest::blocking::Client::builder().user_agent(concat!("chunkmill/", env!("CARGO_PKG_VERSION")))
}

/// Every cause of a failure, without the URL, which may hold credentials.
#[cfg(any(feature = "answer", feature = "hub"))]
pub(crate) fn reason(error: reqwest::Error) -> String {
    let error = error.without_url();
    let mut reason = error.to_string();
    let mut cause = error.source();
    while let Some(inner) = cause {
        reason = format!("{reason}: {inner}");
        cause = inner.source();
    }
    reason
}
