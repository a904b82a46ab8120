//! Which vectors do texts have?

use std::sync::{Arc, Mutex, PoisonError};

use chunkmill::config::Config;
use chunkmill::dataset::Manifest;
use chunkmill::embed::{Batcher, Cache, Embedder, Role};
use chunkmill::error::Error;
use chunkmill::storage::Location;
use pyo3::prelude::*;
use pyo3::types::{PyByteArray, PyDict};

use crate::error::raised;
use crate::settings::{self, ENCODING};
use crate::work::{interruptibly, pool};

/// A loaded model.
#[pyclass(frozen, module = "chunkmill")]
pub(crate) struct Encoder {
    embedder: Arc<dyn Embedder>,
    threads: Option<usize>,
    batch_tokens: Option<usize>,
    cache: Option<Arc<Cache>>,
}

impl Encoder {
    /// Loads a model with `load`.
    fn load(
        py: Python<'_>,
        settings: Option<&Bound<'_, PyDict>>,
        load: impl FnOnce(&Config, bool) -> Result<Box<dyn Embedder>, Error> + Send,
    ) -> PyResult<Self> {
        let options = settings::options(settings, ENCODING)?;
        let named = options.embedding.model.is_some();
        let config = settings::resolve(options)?;
        let loaded = py.detach(|| {
            let embedder = load(&config, named)?.into();
            let Config { threads, batch_tokens, .. } = config;
            Ok(Self { embedder, threads, batch_tokens, cache: config.open_cache()? })
        });
        loaded.map_err(|error: Error| raised(&error))
    }
}

#[pymethods]
impl Encoder {
    #[new]
    #[pyo3(signature = (**settings))]
    fn new(py: Python<'_>, settings: Option<&Bound<'_, PyDict>>) -> PyResult<Self> {
        Self::load(py, settings, |config, _| config.embedder())
    }

    /// Loads the model that made the vectors of a dataset.
    #[staticmethod]
    #[pyo3(signature = (out, **settings))]
    fn of_dataset(py: Python<'_>, out: &str, settings: Option<&Bound<'_, PyDict>>) -> PyResult<Self> {
        Self::load(py, settings, |config, named| config.embedder_of(&Manifest::read(&out.parse::<Location>()?)?, named))
    }

    /// Returns the vectors of some texts, one after the other: the bytes of their f32 values.
    fn vectors<'py>(&self, py: Python<'py>, texts: Vec<String>, query: bool) -> PyResult<Bound<'py, PyByteArray>> {
        let role = if query { Role::Query } else { Role::Document };
        let pool = pool(self.threads)?;
        let embedded = interruptibly(
            py,
            |stop| {
                let queries = if query { self.embedder.queries() } else { None };
                let batcher = Batcher::new(queries.unwrap_or(self.embedder.as_ref()), self.batch_tokens);
                let mut batcher = batcher.with_cache(self.cache.as_deref());
                pool.install(|| batcher.embed(&texts, role, stop, &|_, _| ()))
            },
            |_| Ok(()),
        )?;
        bytes_of(py, &embedded.vectors)
    }

    /// Length of a vector.
    #[getter]
    fn dim(&self) -> usize {
        self.embedder.info().dim
    }

    /// Largest number of tokens that the model reads.
    #[getter]
    fn max_tokens(&self) -> usize {
        self.embedder.info().max_tokens
    }

    /// Hub id, or the folder's name.
    #[getter]
    fn model(&self) -> &str {
        &self.embedder.info().id
    }

    /// Identifies the files and everything else that determines the vectors.
    #[getter]
    fn fingerprint(&self) -> &str {
        &self.embedder.info().fingerprint
    }
}

/// A model that is loaded when it is first needed.
pub(crate) struct Lazy<T>(Mutex<Option<T>>);

impl<T> Default for Lazy<T> {
    fn default() -> Self {
        Self(Mutex::default())
    }
}

impl<T: Clone> Lazy<T> {
    /// Returns the model. The first call loads it with `load`.
    pub(crate) fn get<L: Into<T>>(&self, load: impl FnOnce() -> Result<L, Error>) -> Result<T, Error> {
        let mut loaded = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(model) = &*loaded {
            return Ok(model.clone());
        }
        Ok(loaded.insert(load()?.into()).clone())
    }
}

/// Returns values as the bytes of a `NumPy` array, which uses them without a copy.
pub(crate) fn bytes_of<'py>(py: Python<'py>, values: &[f32]) -> PyResult<Bound<'py, PyByteArray>> {
    PyByteArray::new_with(py, size_of_val(values), |place| {
        for (place, value) in place.as_chunks_mut().0.iter_mut().zip(values) {
            *place = value.to_ne_bytes();
        }
        Ok(())
    })
}
