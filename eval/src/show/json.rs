//! `report.json` and its JSON Schema, on which readers can rely.

use std::io;

use serde_json::Value;

use crate::data::report::Report;

/// Serializes the report on one line, for [`Report::read`]. A number that is not finite becomes `null`.
///
/// # Errors
/// No report can cause an error; the signature is that of the serialiser.
pub fn json(report: &Report) -> io::Result<String> {
    Ok(serde_json::to_string(report)? + "\n")
}

/// Returns the JSON Schema (draft 2020-12) of `report.json`, generated from the type itself. Readers must ignore
/// unknown keys: new keys do not increase [`crate::data::report::FORMAT_VERSION`].
pub fn schema() -> Value {
    schemars::schema_for!(Report).to_value()
}
