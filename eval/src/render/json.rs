//! `report.json`, and what a reader of it may expect: its JSON Schema.

use std::io;

use serde_json::Value;

use crate::report::Report;

/// The report on one line; [`Report::read`] gives it back. A number that is not finite becomes `null`.
///
/// # Errors
/// None that a report can cause; the signature is that of the serialiser.
pub fn json(report: &Report) -> io::Result<String> {
    Ok(serde_json::to_string(report)? + "\n")
}

/// JSON Schema (draft 2020-12) of `report.json`, made from the type itself. Readers must pass over keys that they do
/// not know: new ones do not raise [`crate::report::FORMAT_VERSION`].
#[must_use]
pub fn schema() -> Value {
    schemars::schema_for!(Report).to_value()
}
