//! What every request to an object store has in common: it is made in threads of its own, again if it fails for a reason
//! that may pass, and says what went wrong in the system's words.

use std::io;
use std::sync::OnceLock;
use std::time::Duration;

use tokio::runtime::{Builder, Runtime};

/// How long is waited before something is tried again: twice as long each time, up to the last.
const FIRST_PAUSE: Duration = Duration::from_millis(200);
const LAST_PAUSE: Duration = Duration::from_secs(2);

/// The system's error for what an object store says.
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
    // Where a machine of a service asks for its own; elsewhere there is nobody.
    if error.to_string().contains("169.254.169.254") {
        let problem =
            format!("no credentials in the environment (AWS_…, GOOGLE_…, AZURE_…), and none from the machine: {error}");
        return io::Error::new(ErrorKind::PermissionDenied, problem);
    }
    io::Error::new(kind, error)
}

/// Does what may be done more than once until it succeeds, fails for a reason that stays, or has failed too often.
pub(super) async fn again<T, F: Future<Output = io::Result<T>>>(operation: impl Fn() -> F) -> io::Result<T> {
    let mut pause = FIRST_PAUSE;
    loop {
        match operation().await {
            Err(error) if error.kind() == io::ErrorKind::Other && pause <= LAST_PAUSE => {
                tracing::debug!("an object store, tried again in {} ms: {error}", pause.as_millis());
                tokio::time::sleep(pause).await;
                pause *= 2;
            }
            done => return done,
        }
    }
}

/// Waits for what goes on in the threads that talk to object stores.
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
