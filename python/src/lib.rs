//! The Python module of chunkmill: the library as it is, in Python's terms.
//!
//! Users import the package in `python/chunkmill`, which adds types and documentation; it imports this module as
//! `chunkmill._chunkmill`.
//!
//! | file | question it answers |
//! | --- | --- |
//! | `child` | How does a process that reads one file start? |
//! | `error` | Which exception does an error become? |
//! | `log` | Where do warnings go? |
//! | `settings` | What do keyword arguments mean? |
//! | `work` | Which threads do the work, and how does Ctrl-C stop it? |
//! | `arrow` | How are tables passed in and out? |
//! | `chunk` | Which chunks does a text, a file or a table have? |
//! | `encoder` | Which vectors do texts have? |
//! | `job` | What is the result of a job? |
//! | `dataset` | What is in a dataset, and which parts of it answer a question? |
//!
//! Results that are few but have many fields (reports, hits, contexts) are passed as JSON, from which the package
//! makes its own types. Chunks, tables and vectors are too many for that.

#![expect(clippy::needless_pass_by_value, reason = "PyO3 hands arguments over by value")]

use pyo3::prelude::*;

mod child;
mod error;
mod log;

mod settings;

mod work;

mod arrow;

mod chunk;

mod encoder;

mod job;

mod dataset;

/// The native part of the package.
#[pymodule]
mod _chunkmill {
    use super::{Bound, PyAnyMethods, PyModule, PyModuleMethods, PyResult};

    #[pymodule_export]
    use super::arrow::Table;
    #[pymodule_export]
    use super::chunk::{Chunk, Chunker, columns, count};
    #[pymodule_export]
    use super::dataset::{Dataset, Searcher};
    #[pymodule_export]
    use super::encoder::Encoder;
    #[pymodule_export]
    use super::job::{index, plan};
    #[pymodule_export]
    use super::settings::{one_of, settings};

    #[pymodule_export]
    use super::child::{isolate, serve};

    #[pymodule_init]
    fn init(module: &Bound<'_, PyModule>) -> PyResult<()> {
        super::log::to_python();
        let packages = module.py().import("sys")?.getattr("path")?.extract().unwrap_or_default();
        chunkmill::embed::package::imported_from(packages);
        module.add("__version__", env!("CARGO_PKG_VERSION"))
    }
}
