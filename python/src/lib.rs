//! The Python module of chunkmill: the library as it is, in Python's terms.
//!
//! What people import is the package in `python/chunkmill`, which adds types and words; it imports this module as
//! `chunkmill._chunkmill`.
//!
//! | file | question it answers |
//! | --- | --- |
//! | `error` | Which exception is an error? |
//! | `log` | Where do warnings go? |
//! | `settings` | What do keyword arguments say? |
//! | `work` | On which threads is it done, and how does Ctrl-C end it? |
//! | `arrow` | How do tables come in and go out? |
//! | `chunk` | Which chunks has a text, a file, a table? |
//! | `encoder` | What vectors have texts? |
//! | `job` | What comes of a job? |
//! | `dataset` | What is in a dataset, and what of it answers a question? |
//!
//! Results that are few and large in fields (reports, hits, contexts) go over as JSON, from which the package makes its own
//! types. Chunks, tables and vectors, of which there are many, do not.

#![expect(clippy::needless_pass_by_value, reason = "PyO3 hands arguments over by value")]

use pyo3::prelude::*;

mod error;
mod log;

mod settings;

mod work;

mod arrow;

mod chunk;

mod encoder;

mod job;

mod dataset;

/// What the package is made of.
#[pymodule]
mod _chunkmill {
    use super::{Bound, PyModule, PyModuleMethods, PyResult};

    #[pymodule_export]
    use super::arrow::Table;
    #[pymodule_export]
    use super::chunk::{Chunk, Chunker, count};
    #[pymodule_export]
    use super::dataset::{Dataset, Searcher};
    #[pymodule_export]
    use super::encoder::Encoder;
    #[pymodule_export]
    use super::job::index;
    #[pymodule_export]
    use super::settings::settings;

    #[pymodule_init]
    fn init(module: &Bound<'_, PyModule>) -> PyResult<()> {
        super::log::to_python();
        module.add("__version__", env!("CARGO_PKG_VERSION"))
    }
}
