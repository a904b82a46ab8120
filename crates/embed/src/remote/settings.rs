//! The user's settings of a service.

use std::fmt;
use std::str::FromStr;
use std::time::Duration;

use chunkmill_base::value::value;
use serde::{Deserialize, Serialize};

use crate::backend::Dialect;
use crate::http::Endpoint;
use crate::model_ref::ModelRef;

/// An amount of money, in any currency: finite and not negative.
#[derive(Debug, Clone, Copy, PartialEq, PartialOrd, Serialize, Deserialize)]
#[serde(try_from = "f64", into = "f64")]
pub struct Money(f64);

// Never NaN.
impl Eq for Money {}

impl Money {
    /// Returns the amount.
    pub fn get(self) -> f64 {
        self.0
    }

    /// Returns the price of some tokens, if this is the price of a million.
    #[must_use]
    #[expect(clippy::cast_precision_loss, reason = "an amount of money needs few digits")]
    pub fn of_tokens(self, tokens: u64) -> Self {
        Self(self.0 * tokens as f64 / 1e6)
    }

    /// Returns how many tokens this buys at a price for a million; `None` if they are free.
    #[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "saturates")]
    pub fn buys(self, price: Self) -> Option<u64> {
        (price.0 > 0.0).then(|| (self.0 / price.0 * 1e6) as u64)
    }
}

impl TryFrom<f64> for Money {
    type Error = String;

    fn try_from(value: f64) -> Result<Self, String> {
        if (0.0..=1e12).contains(&value) { Ok(Self(value)) } else { Err(format!("{value} is not an amount of money")) }
    }
}

impl From<Money> for f64 {
    fn from(money: Money) -> Self {
        money.0
    }
}

impl FromStr for Money {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        text.parse::<f64>().map_err(|_| format!("`{text}` is not a number"))?.try_into()
    }
}

impl fmt::Display for Money {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let decimals = if self.0 != 0.0 && self.0 < 1.0 { 4 } else { 2 };
        write!(f, "{:.decimals$}", self.0)
    }
}

value! {
    Money: {"type": "number", "minimum": 0}
}

/// How a service is called. Limits that are `None` are those of the dialect, or those that the service tells.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ServiceSettings {
    /// Address of the service.
    pub endpoint: Endpoint,
    /// Name of the model there.
    pub model: String,
    /// Form of the requests.
    pub dialect: Dialect,
    /// Model whose tokenizer counts as the service does; `None` for `cl100k_base`.
    pub tokenizer: Option<ModelRef>,
    /// Largest number of tokens that the service reads of a text.
    pub text_tokens: Option<usize>,
    /// Text before each question.
    pub query_prefix: Option<String>,
    /// Text before each chunk.
    pub document_prefix: Option<String>,
    /// Number of values to ask for; `None` for all.
    pub dimensions: Option<usize>,
    /// Largest number of requests at a time.
    pub requests: usize,
    /// Largest number of texts in a request.
    pub batch_texts: Option<usize>,
    /// Largest number of requests in a minute.
    pub requests_per_minute: Option<usize>,
    /// Largest number of tokens in a minute.
    pub tokens_per_minute: Option<usize>,
    /// Time for an answer.
    pub timeout: Duration,
    /// Price of a million tokens.
    pub price: Option<Money>,
    /// Largest number of tokens to send in this run.
    pub max_tokens: Option<u64>,
    /// Largest amount of money to spend in this run.
    pub max_cost: Option<Money>,
}
