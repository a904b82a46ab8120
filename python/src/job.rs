//! What is the result of a job?

use std::sync::atomic::AtomicBool;

use chunkmill::cli::{Summary, truncated};
use chunkmill::corpus::Root;
use chunkmill::embed::Embedder;
use chunkmill::error::Error;
use chunkmill::job::{Job, Tally};
use chunkmill::storage::Location;
use pyo3::prelude::*;
use pyo3::types::PyDict;

use crate::error::raised;
use crate::settings::{self, JOB};
use crate::work::{interruptibly, pool, threads_of_process};

/// Indexes a corpus, given by its roots as on a command line, and returns the report as JSON. `progress` is called
/// several times a second and once at the end, with the progress of the job as JSON and the share of it that is
/// done.
#[pyfunction]
#[pyo3(signature = (paths, out, fresh, allow_shrink, progress, **settings))]
pub(crate) fn index(
    py: Python<'_>,
    paths: Vec<String>,
    out: &str,
    fresh: bool,
    allow_shrink: bool,
    progress: Option<Bound<'_, PyAny>>,
    settings: Option<&Bound<'_, PyDict>>,
) -> PyResult<String> {
    let tally = Tally::default();
    let tell = |_: Python<'_>| {
        let Some(progress) = &progress else { return Ok(()) };
        let now = tally.now();
        progress.call1((json(&now), now.done)).map(|_| ())
    };
    let run = |job: &Job, out: &Location, embedder: &dyn Embedder, stop: &AtomicBool| {
        chunkmill::job::run(job, out, embedder, stop, &|event| tally.on(event))
    };
    let report = Work { paths, out, fresh, allow_shrink, settings }.done(py, run, tell)?;
    tell(py)?;
    let (summary, quarantined) = (Summary::from(&report), &report.quarantined);
    let left_out = report.other_files.to_string();
    let truncation = truncated(&report.manifest);
    Ok(serde_json::json!({
        "summary": summary, "quarantine": quarantined, "left_out": left_out, "truncation": truncation,
    })
    .to_string())
}

/// Returns what indexing a corpus would do, as JSON. Nothing is written.
#[pyfunction]
#[pyo3(signature = (paths, out, allow_shrink, **settings))]
pub(crate) fn plan(
    py: Python<'_>,
    paths: Vec<String>,
    out: &str,
    allow_shrink: bool,
    settings: Option<&Bound<'_, PyDict>>,
) -> PyResult<String> {
    let plan = |job: &Job, out: &Location, embedder: &dyn Embedder, stop: &AtomicBool| {
        chunkmill::job::plan(job, out, embedder, 1, stop)
    };
    let planned = Work { paths, out, fresh: false, allow_shrink, settings }.done(py, plan, |_| Ok(()))?;
    let (changes, estimate, other_files) = (&planned.documents, &planned.estimate, &planned.other_files);
    let left_out = other_files.to_string();
    Ok(serde_json::json!({"changes": changes, "estimate": estimate, "other_files": other_files, "left_out": left_out})
        .to_string())
}

/// The work that a call asks for.
struct Work<'a, 'py> {
    paths: Vec<String>,
    out: &'a str,
    fresh: bool,
    allow_shrink: bool,
    settings: Option<&'a Bound<'py, PyDict>>,
}

impl Work<'_, '_> {
    /// Does it on the threads and with the model of its settings. `tell` is called meanwhile.
    fn done<T: Send>(
        self,
        py: Python<'_>,
        act: impl FnOnce(&Job, &Location, &dyn Embedder, &AtomicBool) -> Result<T, Error> + Send,
        tell: impl FnMut(Python<'_>) -> PyResult<()>,
    ) -> PyResult<T> {
        let Self { paths, out, fresh, allow_shrink, settings } = self;
        let failed = |error: Error| raised(&error);
        let roots = paths.iter().map(|path| path.parse()).collect::<Result<Vec<Root>, Error>>().map_err(failed)?;
        let out: Location = out.parse().map_err(failed)?;
        let config = settings::resolve(settings::options(settings, JOB)?)?;
        threads_of_process(config.threads)?;
        let pool = pool(config.threads)?;
        interruptibly(
            py,
            |stop| {
                let embedder = config.embedder()?;
                let job = Job { allow_shrink, ..config.job(roots, fresh)? };
                pool.install(|| act(&job, &out, embedder.as_ref(), stop))
            },
            tell,
        )
    }
}

/// Serializes a value as JSON.
pub(crate) fn json(value: &impl serde::Serialize) -> String {
    serde_json::json!(value).to_string()
}
