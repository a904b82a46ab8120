//! What may be sent, and when: requests and tokens per minute, a pause that a service asked for, and the most that a run
//! may spend. All threads share these limits. After a failure that does not pass, nothing more is sent.

use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::thread;
use std::time::{Duration, Instant};

use chunkmill_base::error::{Error, Result};
use chunkmill_base::value::count;

use super::settings::{Money, ServiceSettings};

/// How often a thread that waits looks whether it should stop.
const LOOK: Duration = Duration::from_millis(50);

/// Time after a failure for which nothing is sent: long enough to end a run, and over when somebody asks again.
const CLOSED: Duration = Duration::from_secs(5);

/// The limits of one service.
#[derive(Debug)]
pub(super) struct Limits {
    /// Time between two requests, and for a token.
    request: Duration,
    token: Duration,
    most_tokens: Option<u64>,
    price: Option<Money>,
    max_cost: Option<Money>,
    state: Mutex<State>,
}

#[derive(Debug)]
struct State {
    /// When the next request may start, by requests and by tokens, and after the last pause.
    by_requests: Instant,
    by_tokens: Instant,
    after_pause: Instant,
    /// Tokens that were sent or are being sent.
    tokens: u64,
    /// The service, the failure after which nothing is sent to it for some time, and what to do.
    closed: Option<(Instant, [String; 3])>,
}

/// A request that may be sent.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Permit {
    tokens: u64,
}

impl Limits {
    pub(super) fn new(settings: &ServiceSettings) -> Self {
        let each = |per_minute: Option<usize>| {
            let most = per_minute.map(|most| u64::try_from(most.max(1)).unwrap_or(u64::MAX));
            most.map_or(Duration::ZERO, |most| Duration::from_nanos(60_000_000_000 / most))
        };
        let buys = settings.max_cost.zip(settings.price).and_then(|(cost, price)| cost.buys(price));
        let now = Instant::now();
        Self {
            request: each(settings.requests_per_minute),
            token: each(settings.tokens_per_minute),
            most_tokens: settings.max_tokens.into_iter().chain(buys).min(),
            price: settings.price,
            max_cost: settings.max_cost,
            state: Mutex::new(State { by_requests: now, by_tokens: now, after_pause: now, tokens: 0, closed: None }),
        }
    }

    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Waits until a request of so many tokens may be sent.
    ///
    /// # Errors
    /// [`Error::Spent`] if it would pass the most that may be spent, [`Error::Interrupted`] soon after `stop` is set, and an
    /// error if the service failed for another request in the meantime.
    pub(super) fn enter(&self, tokens: u64, stop: &AtomicBool) -> Result<Permit> {
        let mut state = self.state();
        if let Some(most) = self.most_tokens.filter(|most| state.tokens + tokens > *most) {
            return Err(self.spent(state.tokens, most));
        }
        state.tokens += tokens;
        drop(state);
        let permit = Permit { tokens };
        loop {
            let start = self.reserve(tokens);
            if let Err(error) = self.wait(start, stop) {
                self.give_back(&permit);
                return Err(error);
            }
            // After a pause that began in the meantime, requests are spread again.
            if self.state().after_pause <= start {
                return Ok(permit);
            }
        }
    }

    /// Returns when a request of so many tokens may start, if it is the next one.
    fn reserve(&self, tokens: u64) -> Instant {
        let mut state = self.state();
        let start = state.by_requests.max(state.by_tokens).max(state.after_pause).max(Instant::now());
        state.by_requests = start + self.request;
        state.by_tokens = start + self.token.saturating_mul(u32::try_from(tokens).unwrap_or(u32::MAX));
        start
    }

    /// Returns the largest number of tokens that a request may have, if there is a limit.
    pub(super) fn most_at_once(&self) -> Option<usize> {
        let per_minute =
            (self.token > Duration::ZERO).then(|| Duration::from_mins(1).as_nanos() / self.token.as_nanos());
        let per_minute = per_minute.and_then(|most| usize::try_from(most).ok());
        let in_all = self.most_tokens.and_then(|most| usize::try_from(most).ok());
        per_minute.into_iter().chain(in_all).min().map(|most| most.max(1))
    }

    /// Waits until a time, and until no service asks for a pause.
    fn wait(&self, until: Instant, stop: &AtomicBool) -> Result<()> {
        loop {
            let state = self.state();
            let until = until.max(state.after_pause);
            let is_recent = |closed: &&(Instant, [String; 3])| closed.0.elapsed() < CLOSED;
            let closed = state.closed.as_ref().filter(is_recent).map(|(_, failure)| failure.clone());
            drop(state);
            if stop.load(Ordering::Relaxed) {
                return Err(Error::Interrupted);
            }
            if let Some([endpoint, problem, help]) = closed {
                return Err(Error::Service { endpoint, problem, help });
            }
            match until.saturating_duration_since(Instant::now()) {
                Duration::ZERO => return Ok(()),
                left => thread::sleep(left.min(LOOK)),
            }
        }
    }

    /// Waits for some time, while other requests go on.
    pub(super) fn rest(&self, pause: Duration, stop: &AtomicBool) -> Result<()> {
        self.wait(Instant::now() + pause, stop)
    }

    /// Makes all requests wait.
    pub(super) fn pause(&self, pause: Duration) {
        let mut state = self.state();
        state.after_pause = state.after_pause.max(Instant::now() + pause);
    }

    /// Sends nothing more, because of this failure of the service.
    pub(super) fn close(&self, failure: &Error) {
        if let Error::Service { endpoint, problem, help } = failure {
            let closed = [endpoint, problem, help].map(Clone::clone);
            self.state().closed = Some((Instant::now(), closed));
        }
    }

    /// Corrects the number of tokens of a request to what the service counted.
    pub(super) fn counted(&self, permit: &Permit, used: u64) {
        let mut state = self.state();
        state.tokens = (state.tokens + used).saturating_sub(permit.tokens);
    }

    /// Takes back a request that was not answered.
    pub(super) fn give_back(&self, permit: &Permit) {
        self.counted(permit, 0);
    }

    fn spent(&self, tokens: u64, most: u64) -> Error {
        let cost = |tokens| self.price.map(|price| format!(", for {}", price.of_tokens(tokens))).unwrap_or_default();
        let limit = match (self.max_cost, self.price) {
            (Some(max), Some(price)) if max.buys(price) == Some(most) => format!("--max-cost {max}"),
            _ => format!("--max-tokens {most}"),
        };
        Error::Spent { limit, spent: format!("{} were sent{}", count(tokens, "token"), cost(tokens)) }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::remote::tests::settings;

    fn entered(limits: &Limits, tokens: u64) -> Result<Permit> {
        limits.enter(tokens, &AtomicBool::new(false))
    }

    #[test]
    fn nothing_is_sent_that_would_pass_the_limit_and_what_failed_does_not_count() {
        let price = Money::try_from(2.0).ok();
        let max_cost = Money::try_from(0.0002).ok();
        let limits = Limits::new(&ServiceSettings { price, max_cost, ..settings() });
        let first = entered(&limits, 60);
        assert_eq!(first.as_ref().ok(), Some(&Permit { tokens: 60 }));
        let refused = entered(&limits, 60).err().map(|error| error.to_string()).unwrap_or_default();
        assert!(
            refused.contains("--max-cost 0.0002") && refused.contains("60 tokens were sent, for 0.0001"),
            "{refused}"
        );
        assert!(entered(&limits, 40).is_ok(), "100 tokens are the limit");
        limits.counted(&Permit { tokens: 60 }, 10);
        assert!(entered(&limits, 50).is_ok(), "the service counted fewer");
        limits.give_back(&Permit { tokens: 50 });
        assert!(entered(&limits, 50).is_ok());
        assert!(entered(&limits, 1).is_err());
    }

    #[test]
    fn requests_and_tokens_are_spread_over_a_minute() {
        let limited = |requests_per_minute, tokens_per_minute| {
            let limits = Limits::new(&ServiceSettings { requests_per_minute, tokens_per_minute, ..settings() });
            let started = Instant::now();
            assert!((0..5).all(|_| entered(&limits, 100).is_ok()));
            started.elapsed()
        };
        // Four pauses of 20 ms each.
        let least = Duration::from_millis(80);
        assert!(limited(Some(3000), None) >= least);
        assert!(limited(None, Some(300_000)) >= least);
        assert!(limited(Some(3000), Some(300_000)) >= least);
    }

    #[test]
    fn whoever_waits_stops_at_once() {
        let limits = Limits::new(&settings());
        limits.pause(Duration::from_mins(10));
        let stopped = limits.enter(1, &AtomicBool::new(true));
        assert!(matches!(stopped, Err(Error::Interrupted)));
        let [endpoint, problem, help] = ["here", "it is gone", "wait"].map(str::to_owned);
        limits.close(&Error::Service { endpoint, problem, help });
        let closed = entered(&limits, 1).err().map(|error| error.to_string()).unwrap_or_default();
        assert!(closed.contains("it is gone"), "{closed}");
    }
}
