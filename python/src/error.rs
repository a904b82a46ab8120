//! Maps errors to exceptions.

use chunkmill::cli::visible;
use chunkmill::error::Error;
use pyo3::exceptions::PyKeyboardInterrupt;
use pyo3::prelude::*;

/// Returns the exception for an error of the library, with its message.
pub(crate) fn raised(error: &Error) -> PyErr {
    let name = match error {
        Error::Interrupted => return PyKeyboardInterrupt::new_err(error.to_string()),
        Error::Setting { .. } => "SettingError",
        Error::Corpus { .. } | Error::Named { .. } => "CorpusError",
        Error::Io { .. } | Error::NoSpace { .. } => "StorageError",
        Error::Model { .. } | Error::Embed { .. } | Error::Truncated { .. } => "ModelError",
        Error::Service { .. } | Error::Spent { .. } => "ServiceError",
        Error::Dataset { .. } => "DatasetError",
        Error::Locked { .. } | Error::Replaced { .. } => "LockedError",
        _ => "Error",
    };
    exception(name, &error.to_string())
}

/// Returns the exception for a setting.
pub(crate) fn setting(origin: &str, problem: String, help: &str) -> PyErr {
    raised(&Error::setting(origin, problem, help))
}

/// Creates an exception of the package. Names of files in its message must not steer the terminal that shows it.
pub(crate) fn exception(name: &str, message: &str) -> PyErr {
    let message = &*visible(message);
    Python::attach(|py| {
        let made = py.import("chunkmill._errors").and_then(|errors| errors.getattr(name)?.call1((message,)));
        made.map_or_else(|error| error, PyErr::from_value)
    })
}

/// Returns a text for `repr`: without line feeds, and without characters that act on a terminal.
pub(crate) fn on_one_line(text: &str) -> String {
    visible(text).replace('\n', "\\n").replace('\t', "\\t")
}
