//! Requests to web services: one client with one kind of TLS, one kind of address and key, and one rule for when a
//! request is repeated. The hub, object stores and language models use it.
//!
//! | file | question it answers |
//! | --- | --- |
//! | `client` | How is a request sent? |
//! | `endpoint` | Where is it sent, and with which key? |
//! | `service` | What does one service answer, and why not? |
//! | `retry` | Which failures pass, and how long is the pause before the next attempt? |

#[cfg(feature = "http")]
mod client;
mod endpoint;
#[cfg(feature = "http")]
mod retry;
#[cfg(feature = "client")]
mod service;

#[cfg(feature = "http")]
pub use client::prepare;
#[cfg(feature = "client")]
pub use client::{client, reason};
pub use endpoint::{ApiKey, Endpoint, without_credentials};
#[cfg(feature = "http")]
pub use retry::{Pauses, Retry};
#[cfg(feature = "client")]
pub use retry::{again, passes};
#[cfg(feature = "client")]
pub use service::{Advice, Answered, KeyHeader, RequestFailure, Service};
