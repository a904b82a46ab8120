//! Processes that read one file each: this interpreter, with this module alone.

use std::ffi::OsString;
use std::path::PathBuf;

use pyo3::prelude::*;

/// Reads hostile formats in processes that this program starts with these arguments.
#[pyfunction]
pub(crate) fn isolate(program: PathBuf, args: Vec<OsString>) {
    chunkmill::read::isolate(program, args);
}

/// Does the work of one of these processes.
#[pyfunction]
pub(crate) fn serve() -> PyResult<()> {
    Ok(chunkmill::read::serve(std::io::stdin(), std::io::stdout())?)
}
