//! Keyword arguments: settings by name, like the flags of the program.
//!
//! A call uses only its arguments: no environment variables, and no settings file unless `config` names one. It
//! therefore does the same wherever it runs.

use std::path::PathBuf;

use chunkmill::chunk;
use chunkmill::cli::warn_of_settings;
use chunkmill::config::{
    self, AnswerOptions, Config, CorpusOptions, EmbeddingOptions, Options, OutputOptions, RunOptions, SearchOptions,
    ServiceOptions,
};
use chunkmill::setting::{Setting, Table};
use chunkmill::value::{misread, translated, unknown};
use pyo3::prelude::*;
use pyo3::types::{PyBool, PyDict, PyFloat, PyInt, PyList, PyString, PyTuple};

use crate::error::{raised, setting};

/// Names of the tables whose settings a call accepts.
pub(crate) type Tables = &'static [&'static str];

const CORPUS: &str = CorpusOptions::NAME;
const CHUNKING: &str = chunk::Settings::NAME;
const EMBEDDING: &str = EmbeddingOptions::NAME;
const SERVICE: &str = ServiceOptions::NAME;
const OUTPUT: &str = OutputOptions::NAME;
const SEARCH: &str = SearchOptions::NAME;
const ANSWER: &str = AnswerOptions::NAME;
const RUN: &str = RunOptions::NAME;

/// Settings for cutting.
pub(crate) const CUTTING: Tables = &[CHUNKING, CORPUS, EMBEDDING, SERVICE, OUTPUT, RUN];
/// Settings for a job.
pub(crate) const JOB: Tables = CUTTING;
/// Settings for embedding.
pub(crate) const ENCODING: Tables = &[EMBEDDING, SERVICE, RUN];
/// Settings for opening a dataset for search.
pub(crate) const SEARCHING: Tables = &[SEARCH, EMBEDDING, SERVICE, RUN];
/// Settings for a question.
pub(crate) const ASKING: Tables = &[SEARCH];

/// Reads keyword arguments. An argument that is `None` is ignored.
pub(crate) fn options(given: Option<&Bound<'_, PyDict>>, tables: Tables) -> PyResult<Options> {
    let mut options = Options::default();
    let mut file = None;
    for (name, value) in given.into_iter().flatten() {
        let name: String = name.extract()?;
        if value.is_none() {
        } else if name == "config" {
            let path = value.extract::<PathBuf>();
            file = Some(path.map_err(|_| setting(&name, of_type(&value), "give the path of a settings file"))?);
        } else {
            set(&mut options, tables, &name, &value)?;
        }
    }
    match file {
        Some(file) => Ok(options.or(Options::read(&file).map_err(|error| raised(&error))?)),
        None => Ok(options),
    }
}

/// Checks options, fills in the defaults, and warns about settings that have no effect.
pub(crate) fn resolve(options: Options) -> PyResult<Config> {
    let config = options.resolve().map_err(|error| raised(&error))?;
    warn_of_settings(&config);
    Ok(config)
}

/// Returns the settings of some tables.
fn of(tables: Tables) -> impl Iterator<Item = (&'static str, &'static Setting)> {
    config::settings().into_iter().filter(move |(table, _)| tables.contains(table))
}

fn set(options: &mut Options, tables: Tables, name: &str, value: &Bound<'_, PyAny>) -> PyResult<()> {
    let Some((table, found)) = of(tables).find(|(_, setting)| setting.name == name) else {
        let names: Vec<&str> = of(tables).map(|(_, setting)| setting.name).collect();
        return Err(setting(name, meant(name, &names), "see `chunkmill.settings()`"));
    };
    if found.is_number() && value.is_instance_of::<PyString>() {
        return Err(setting(name, format!("{} is a text", value.repr()?), "give a number"));
    }
    let text = &written(name, value)?;
    let read = match table {
        CHUNKING => options.chunking.set(name, text),
        CORPUS => options.corpus.set(name, text),
        EMBEDDING => options.embedding.set(name, text),
        SERVICE => options.service.set(name, text),
        OUTPUT => options.output.set(name, text),
        SEARCH => options.search.set(name, text),
        _ => options.run.set(name, text),
    };
    read.map_err(|problem| setting(name, misread(text, &problem), &found.help()))
}

/// Arguments of a question that are no settings.
const OF_QUESTIONS: [&str; 3] = ["k", "budget", "path"];

/// Says which setting was probably meant by a name that is none: ours for a name of other tools, or the nearest ones.
fn meant(name: &str, names: &[&str]) -> String {
    if let Some(ours) = translated(name, names) {
        return format!("is not a setting; did you mean `{ours}`?");
    }
    match translated(name, &OF_QUESTIONS).filter(|_| names.contains(&"mode")) {
        Some(ours) => format!("is not a setting; did you mean `{ours}`, an argument of a question?"),
        None => unknown(name, "a setting", names),
    }
}

/// Formats a value as flags and variables write it.
fn written(name: &str, value: &Bound<'_, PyAny>) -> PyResult<String> {
    if value.is_instance_of::<PyBool>() {
        return Ok(value.extract::<bool>()?.to_string());
    }
    if value.is_instance_of::<PyInt>() || value.is_instance_of::<PyFloat>() || value.is_instance_of::<PyString>() {
        return Ok(value.str()?.to_str()?.to_owned());
    }
    if value.is_instance_of::<PyList>() || value.is_instance_of::<PyTuple>() {
        let parts: Vec<String> = value.try_iter()?.map(|part| written(name, &part?)).collect::<PyResult<_>>()?;
        return Ok(parts.join(","));
    }
    if value.hasattr("__fspath__")? {
        return value.call_method0("__fspath__")?.extract();
    }
    Err(setting(name, of_type(value), "give a text, a number, a bool, a path, or a list of them"))
}

/// Says of which type a value is, where another one is wanted.
fn of_type(value: &Bound<'_, PyAny>) -> String {
    value.get_type().qualname().map_or_else(|_| "is of another type".to_owned(), |kind| format!("is of type {kind}"))
}

/// Suggests the nearest of the valid names and lists them, or those that are most alike if there are too many.
#[pyfunction]
pub(crate) fn one_of(written: &str, names: Vec<String>) -> String {
    chunkmill::value::one_of(written, &names.iter().map(String::as_str).collect::<Vec<_>>())
}

/// Returns all settings, each with its name, its table in a settings file, the JSON Schema of its value, and its
/// help.
#[pyfunction]
pub(crate) fn settings() -> String {
    let all = config::settings().into_iter().filter(|(table, _)| *table != ANSWER);
    let all = all.map(|(table, setting)| {
        serde_json::json!({"name": setting.name, "table": table, "schema": (setting.schema)(), "help": setting.help()})
    });
    serde_json::Value::Array(all.collect()).to_string()
}
