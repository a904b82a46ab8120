//! An embedder that asks a web service. A service is paid by the token and fails now and then, so four things hold: no text
//! is sent twice after its vector has come, no wrong vector is returned, a text that the service refuses is reported with
//! its words, and a service that fails is not pressed.
//!
//! The caller keeps each vector as soon as it comes, see [`Embedder::embed_each`].
//!
//! | file | question it answers |
//! | --- | --- |
//! | `settings` | Which service is called, how, and how much may be sent? |
//! | `dialect` | What does each service call things? |
//! | `answer` | Which vectors are in an answer, and what is wrong with the others? |
//! | `limits` | When may the next request be sent? |
//! | `kept` | What is remembered between runs? |
//! | `counter` | How many tokens does the service read of a text? |
//! | `embedder` | How do requests become an embedder? Without the feature `remote`, `absent` replaces it |
//! | `batches` | Which texts does the service compute later? |

mod settings;

#[cfg(feature = "remote")]
mod answer;
#[cfg(feature = "remote")]
mod batches;
#[cfg(feature = "remote")]
mod counter;
#[cfg(feature = "remote")]
mod dialect;
#[cfg_attr(not(feature = "remote"), path = "absent.rs")]
mod embedder;
#[cfg(feature = "remote")]
mod kept;
#[cfg(feature = "remote")]
mod limits;

pub(crate) use embedder::{load, load_counter};
pub use settings::{Money, ServiceSettings};

#[cfg(test)]
pub(crate) mod tests {
    use std::time::Duration;

    use super::ServiceSettings;
    use crate::backend::Dialect;
    use crate::http::Endpoint;

    /// Settings of a service that nobody calls.
    #[allow(clippy::unwrap_used, reason = "for tests")]
    pub(crate) fn settings() -> ServiceSettings {
        ServiceSettings {
            endpoint: "http://localhost:1/v1".parse::<Endpoint>().unwrap(),
            model: "m".to_owned(),
            dialect: Dialect::OpenAi,
            tokenizer: None,
            text_tokens: None,
            query_prefix: None,
            document_prefix: None,
            dimensions: None,
            requests: 1,
            batch_texts: None,
            requests_per_minute: None,
            tokens_per_minute: None,
            timeout: Duration::from_secs(1),
            price: None,
            max_tokens: None,
            max_cost: None,
        }
    }
}
