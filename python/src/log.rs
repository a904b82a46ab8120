//! Sends warnings to Python's `logging`, under the name `chunkmill`.

use std::fmt::{self, Write};

use chunkmill::cli::visible;
use pyo3::prelude::*;
use tracing::field::{Field, Visit};
use tracing::{Event, Level, Subscriber};
use tracing_subscriber::filter::LevelFilter;
use tracing_subscriber::layer::{Context, Layer, SubscriberExt};

/// Forwards the library's log events to Python from now on.
pub(crate) fn to_python() {
    let subscriber = tracing_subscriber::registry().with(ToPython.with_filter(LevelFilter::INFO));
    // Fails if a module loaded earlier in this process has set the subscriber, which then forwards the events
    // already.
    let _ = tracing::subscriber::set_global_default(subscriber);
}

struct ToPython;

impl<S: Subscriber> Layer<S> for ToPython {
    fn on_event(&self, event: &Event<'_>, _: Context<'_, S>) {
        let metadata = event.metadata();
        // The library and this module, `_chunkmill`.
        if !metadata.target().trim_start_matches('_').starts_with("chunkmill") {
            return;
        }
        let level = match *metadata.level() {
            Level::ERROR => "error",
            Level::WARN => "warning",
            _ => "info",
        };
        let mut message = Message(String::new());
        event.record(&mut message);
        // Anyone who waits for this thread is detached, so attaching cannot wait forever.
        let logged = Python::try_attach(|py| {
            let logger = py.import("logging")?.call_method1("getLogger", ("chunkmill",))?;
            let words = py.import("chunkmill._words")?.call_method1("in_python", (&*visible(&message.0),))?;
            logger.call_method1(level, ("%s", words)).map(|_| ())
        });
        if let Some(Err(error)) = logged {
            Python::attach(|py| error.write_unraisable(py, None));
        }
    }
}

/// The message of an event.
struct Message(String);

impl Visit for Message {
    fn record_debug(&mut self, field: &Field, value: &dyn fmt::Debug) {
        if field.name() == "message" {
            let _ = write!(self.0, "{value:?}");
        }
    }
}
