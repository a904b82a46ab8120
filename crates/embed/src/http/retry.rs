//! Repeating a request: after failures that pass, with pauses that grow.

use std::time::{Duration, Instant, SystemTime, UNIX_EPOCH};

/// Whether another attempt may succeed after a failure.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Retry {
    /// It would fail too.
    Never,
    /// It may succeed, but not before this time has passed.
    After(Duration),
}

/// The pauses between attempts: each is a multiple of the one before, and at most a quarter shorter or longer, so
/// clients that failed together do not come back together.
#[derive(Debug, Clone)]
pub struct Pauses {
    next: Duration,
    factor: u32,
    left: u32,
    until: Option<Instant>,
}

impl Pauses {
    /// Creates the pauses after a first attempt, for `retries` more.
    pub fn new(first: Duration, factor: u32, retries: u32) -> Self {
        Self { next: first, factor, left: retries, until: None }
    }

    /// Allows only pauses that end before this time.
    #[must_use]
    pub fn until(self, until: Instant) -> Self {
        Self { until: Some(until), ..self }
    }

    /// Returns the pause after a failure, or `None` if there is no other attempt.
    pub fn after(&mut self, failure: Retry) -> Option<Duration> {
        let Retry::After(least) = failure else { return None };
        self.left = self.left.checked_sub(1)?;
        let pause = varied(self.next).max(least);
        self.next = self.next.saturating_mul(self.factor);
        self.until.is_none_or(|until| Instant::now() + pause < until).then_some(pause)
    }
}

/// Makes a pause up to a quarter shorter or longer. The clock is random enough for that.
fn varied(pause: Duration) -> Duration {
    let now = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
    pause.mul_f64(0.75 + f64::from(now.subsec_nanos() % 1000) / 2000.0)
}

/// Returns whether a response of this status passes, and after how long. A service may say that itself; longer than
/// `longest` is as good as never.
#[cfg(feature = "client")]
pub fn passes(status: reqwest::StatusCode, headers: &reqwest::header::HeaderMap, longest: Duration) -> Retry {
    let transient = status.is_server_error() || matches!(status.as_u16(), 408 | 429);
    let number = |name: &str| -> Option<f64> { headers.get(name)?.to_str().ok()?.trim().parse().ok() };
    let said = number("retry-after-ms").map(|ms| ms / 1e3).or_else(|| number("retry-after"));
    let after = said.and_then(|seconds| Duration::try_from_secs_f64(seconds).ok()).unwrap_or_default();
    if transient && after <= longest { Retry::After(after) } else { Retry::Never }
}

/// Repeats an operation until it succeeds, fails for good, or has failed too often. Returns the last failure.
///
/// # Errors
/// Those of the operation.
#[cfg(feature = "client")]
pub fn again<T, E: std::fmt::Display>(
    mut pauses: Pauses,
    of: impl Fn(&E) -> Retry,
    mut operation: impl FnMut() -> Result<T, E>,
) -> Result<T, E> {
    loop {
        let error = match operation() {
            Ok(done) => return Ok(done),
            Err(error) => error,
        };
        let Some(pause) = pauses.after(of(&error)) else { return Err(error) };
        tracing::debug!("{error}; trying again in {} ms", pause.as_millis());
        std::thread::sleep(pause);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn pauses_grow_end_and_are_as_long_as_the_service_asks() {
        let mut pauses = Pauses::new(Duration::from_millis(100), 4, 3);
        let soon = Retry::After(Duration::ZERO);
        for expected in [100_u64, 400] {
            let pause = pauses.after(soon).map(|pause| u64::try_from(pause.as_millis()).unwrap_or(u64::MAX));
            assert!(pause.is_some_and(|pause| (expected * 3 / 4..=expected * 5 / 4).contains(&pause)), "{pause:?}");
        }
        assert_eq!(pauses.after(Retry::Never), None);
        assert_eq!(pauses.after(Retry::After(Duration::from_secs(30))), Some(Duration::from_secs(30)));
        assert_eq!(pauses.after(soon), None, "three retries");
    }

    #[test]
    fn no_pause_ends_after_the_deadline() {
        let mut pauses = Pauses::new(Duration::from_millis(1), 1, 9).until(Instant::now() + Duration::from_mins(1));
        assert!(pauses.after(Retry::After(Duration::ZERO)).is_some());
        assert_eq!(pauses.after(Retry::After(Duration::from_mins(2))), None);
    }

    #[cfg(feature = "client")]
    #[test]
    fn some_statuses_pass() {
        use reqwest::StatusCode;
        use reqwest::header::{HeaderMap, HeaderName, HeaderValue};
        let (none, minute) = (HeaderMap::new(), Duration::from_mins(1));
        for status in [408, 429, 500, 502, 503, 504, 529] {
            let status = StatusCode::from_u16(status).unwrap_or_default();
            assert_eq!(passes(status, &none, minute), Retry::After(Duration::ZERO), "{status}");
        }
        for status in [200, 301, 400, 401, 403, 404, 422] {
            let status = StatusCode::from_u16(status).unwrap_or_default();
            assert_eq!(passes(status, &none, minute), Retry::Never, "{status}");
        }
        let after = |name: &'static str, value: &'static str| {
            let headers = HeaderMap::from_iter([(HeaderName::from_static(name), HeaderValue::from_static(value))]);
            passes(StatusCode::TOO_MANY_REQUESTS, &headers, minute)
        };
        assert_eq!(after("retry-after", "7"), Retry::After(Duration::from_secs(7)));
        assert_eq!(after("retry-after-ms", "250"), Retry::After(Duration::from_millis(250)));
        assert_eq!(after("retry-after", "3600"), Retry::Never);
        assert_eq!(after("retry-after", "-1"), Retry::After(Duration::ZERO));
        assert_eq!(after("retry-after", "Wed, 21 Oct 2015 07:28:00 GMT"), Retry::After(Duration::ZERO));
    }
}
