//! Common code for all requests to an object store. They run in their own threads, are retried after failures that
//! may pass, and report errors as [`io::Error`]s.

use std::io;
use std::sync::OnceLock;
use std::time::Duration;

use chunkmill_embed::http::{Pauses, Retry};
use tokio::runtime::{Builder, Runtime};

/// Number of attempts after failures that may pass, and the pause after the first one; each is twice as long as the one
/// before.
const ATTEMPTS: u32 = 5;
const FIRST_PAUSE: Duration = Duration::from_millis(200);

/// Converts an object store's error into the system's.
pub(super) fn refused(error: object_store::Error) -> io::Error {
    use io::ErrorKind;
    let kind = match &error {
        object_store::Error::NotFound { .. } => ErrorKind::NotFound,
        object_store::Error::AlreadyExists { .. } | object_store::Error::Precondition { .. } => {
            ErrorKind::AlreadyExists
        }
        object_store::Error::PermissionDenied { .. } | object_store::Error::Unauthenticated { .. } => {
            ErrorKind::PermissionDenied
        }
        _ => ErrorKind::Other,
    };
    // The cloud's own machines ask this address for credentials; elsewhere nothing answers.
    if error.to_string().contains("169.254.169.254") {
        let problem =
            format!("no credentials in the environment (AWS_…, GOOGLE_…, AZURE_…), and none from the machine: {error}");
        return io::Error::new(ErrorKind::PermissionDenied, problem);
    }
    io::Error::new(kind, error)
}

/// Repeats an idempotent operation until it succeeds, fails permanently, or has failed too often.
pub(super) async fn again<T, F: Future<Output = io::Result<T>>>(operation: impl Fn() -> F) -> io::Result<T> {
    let mut pauses = Pauses::new(FIRST_PAUSE, 2, ATTEMPTS - 1);
    loop {
        let error = match operation().await {
            Ok(done) => return Ok(done),
            Err(error) => error,
        };
        let retry = if error.kind() == io::ErrorKind::Other { Retry::After(Duration::ZERO) } else { Retry::Never };
        let Some(pause) = pauses.after(retry) else { return Err(error) };
        tracing::debug!("request to an object store failed, trying again in {} ms: {error}", pause.as_millis());
        tokio::time::sleep(pause).await;
    }
}

/// Blocks on a future in the runtime for object stores.
pub(super) fn wait<T>(future: impl Future<Output = io::Result<T>>) -> io::Result<T> {
    static RUNTIME: OnceLock<Runtime> = OnceLock::new();
    let runtime = if let Some(runtime) = RUNTIME.get() {
        runtime
    } else {
        let started = Builder::new_multi_thread().worker_threads(2).enable_all().build()?;
        RUNTIME.get_or_init(|| started)
    };
    runtime.block_on(future)
}
