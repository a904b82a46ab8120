//! What is in a dataset, and which parts of it answer a question?

use std::sync::{Arc, Mutex, PoisonError};

use arrow::array::RecordBatch;
use chunkmill::config::{Config, Options};
use chunkmill::corpus::Root;
use chunkmill::dataset::{self, Changes, Verification, restored_vectors, verify};
use chunkmill::embed::model_ref::ModelRef;
use chunkmill::embed::{Embedder, Reranker, SparseEmbedder, StoredVectors};
use chunkmill::error::Error;
use chunkmill::search::{self, Filter, PathPattern, Query, QuestionVectors};
use chunkmill::storage::Location;
use pyo3::prelude::*;
use pyo3::types::{PyByteArray, PyDict};

use crate::arrow::{Table, unreadable};
use crate::encoder::{Lazy, bytes_of};
use crate::error::raised;
use crate::job::json;
use crate::settings::{self, ASKING, SEARCHING};
use crate::work::pool;

/// A snapshot of a dataset.
#[pyclass(frozen, module = "chunkmill")]
pub(crate) struct Dataset {
    dataset: Arc<dataset::Dataset>,
}

impl Dataset {
    /// Returns the values that `take` finds in all batches of some columns.
    fn each_batch<T>(&self, columns: &[&str], take: impl Fn(&RecordBatch) -> Option<Vec<T>>) -> Result<Vec<T>, Error> {
        let dataset = &self.dataset;
        let mut all = Vec::new();
        for file in dataset.files(dataset::Table::Chunks) {
            for batch in dataset.read(file, columns, None)? {
                let values = take(&batch?).ok_or_else(|| Error::Dataset {
                    path: dataset.root().join(&file.path),
                    problem: "has a column that is not one of vectors".to_owned(),
                    help: "the dataset is damaged: index the corpus again with --fresh".to_owned(),
                })?;
                all.extend(values);
            }
        }
        Ok(all)
    }
}

#[pymethods]
impl Dataset {
    #[new]
    fn new(py: Python<'_>, out: &str) -> PyResult<Self> {
        let dataset = py.detach(|| dataset::Dataset::open(out.parse::<Location>()?));
        Ok(Self { dataset: Arc::new(dataset.map_err(|error: Error| raised(&error))?) })
    }

    /// Returns one of its tables, or some columns of it.
    #[pyo3(signature = (name, columns=None))]
    fn table(&self, name: &str, columns: Option<Vec<String>>) -> PyResult<Table> {
        let table = dataset::Table::ALL.into_iter().find(|table| table.name() == name);
        let Some(table) = table else {
            let names = dataset::Table::ALL.map(dataset::Table::name);
            let problem = chunkmill::value::unknown(name, "a table", &names);
            return Err(crate::error::setting("table", problem, "name one of them"));
        };
        Table::of(Arc::clone(&self.dataset), table, columns.as_deref())
    }

    /// Returns which chunks are not the same as in a snapshot, which is named by its id, the beginning of it, or the place of
    /// a copy of the dataset.
    fn changes(&self, py: Python<'_>, since: &str) -> PyResult<Table> {
        let changes = py.detach(|| Changes::since(&self.dataset, since)).map_err(|error| raised(&error))?;
        let table = changes.table().map_err(|error| unreadable(&error))?;
        Ok(Table::new(Changes::schema(), vec![table]))
    }

    /// Returns the id of the snapshot.
    #[getter]
    fn snapshot(&self) -> String {
        self.dataset.id()
    }

    /// Returns the vectors of all chunks in the order of the table, one after the other: the bytes of their f32 values, or
    /// the values of the column of a type.
    #[pyo3(signature = (kind=None))]
    fn vectors<'py>(&self, py: Python<'py>, kind: Option<&str>) -> PyResult<Bound<'py, PyByteArray>> {
        let all = self.dataset.manifest().representations();
        let Some(kind) = kind else {
            let best = &all[..1];
            let restored =
                py.detach(|| self.each_batch(&[best[0].column(), "flags"], |batch| restored_vectors(batch, best)));
            return bytes_of(py, &restored.map_err(|error| raised(&error))?);
        };
        let Some(of) = all.iter().find(|of| of.stored.name() == kind) else {
            let names: Vec<&str> = all.iter().map(|of| of.stored.name()).collect();
            let problem = format!("the dataset has no vectors of type `{kind}`; it has {}", names.join(" and "));
            return Err(crate::error::setting("kind", problem, "name one of these, or index with --embedding-type"));
        };
        let stored = py.detach(|| {
            self.each_batch(&[of.column()], |batch| {
                Some(match dataset::vectors(batch.column_by_name(of.column())?, of)? {
                    StoredVectors::F32(values) => values.iter().flat_map(|value| value.to_ne_bytes()).collect(),
                    StoredVectors::F16(values) => values.iter().flat_map(|value| value.to_ne_bytes()).collect(),
                    StoredVectors::Int8(values) => values.iter().map(|value| value.cast_unsigned()).collect(),
                    StoredVectors::Bits(values) => values,
                })
            })
        });
        Ok(PyByteArray::new(py, &stored.map_err(|error| raised(&error))?))
    }

    /// Verifies the dataset and returns the result as JSON. With the roots it was built from, also compares it with
    /// them.
    fn verify(&self, py: Python<'_>, corpus: Vec<String>) -> PyResult<String> {
        let pool = pool(None)?;
        let verified = py.detach(|| {
            let roots = corpus.iter().map(|root| root.parse()).collect::<Result<Vec<Root>, Error>>()?;
            pool.install(|| verify(self.dataset.root(), (!roots.is_empty()).then_some(&roots)))
        });
        let Verification { files, rows, bytes, findings, found, notes, .. } =
            verified.map_err(|error| raised(&error))?;
        Ok(serde_json::json!({
            "files": files, "rows": rows, "bytes": bytes, "found": found, "findings": findings, "notes": notes,
        })
        .to_string())
    }

    /// Returns a summary of its manifest as JSON.
    fn about(&self) -> String {
        let manifest = self.dataset.manifest();
        let model = &manifest.model;
        serde_json::json!({
            "counts": manifest.counts,
            "spec": manifest.spec.text,
            "spec_fingerprint": manifest.spec.fingerprint,
            "model": model.id,
            "model_revision": model.revision,
            "model_fingerprint": model.fingerprint,
            "sparse_model": model.sparse.as_ref().map(|sparse| &sparse.id),
            "sparse_model_revision": model.sparse.as_ref().and_then(|sparse| sparse.revision.as_ref()),
            "sparse_model_fingerprint": model.sparse.as_ref().map(|sparse| &sparse.fingerprint),
            "dim": model.dim,
            "format_version": manifest.format_version,
            "tool_version": manifest.tool_version,
        })
        .to_string()
    }
}

/// A snapshot opened for search.
#[pyclass(frozen, module = "chunkmill")]
pub(crate) struct Searcher {
    opened: search::Searcher,
    options: Options,
    /// The model of the dataset, loaded when a question first needs a vector.
    embedder: Lazy<Arc<dyn Embedder>>,
    sparse: Lazy<Option<Arc<dyn SparseEmbedder>>>,
    /// The reranker that was used last.
    reranker: Mutex<Option<(ModelRef, Arc<dyn Reranker>)>>,
}

/// Filters on chunks: collections, promotion levels, paths, headings, tags.
type Where = [Vec<String>; 5];

/// A question: its words, the number of results, the filters, and the minimum score.
type Question = (String, usize, Where, Option<f64>);

impl Searcher {
    /// Asks a question, with settings that override those of the searcher.
    fn ask<T: Send>(
        &self,
        py: Python<'_>,
        (question, k, place, min_score): Question,
        settings: Option<&Bound<'_, PyDict>>,
        answer: impl FnOnce(&search::Searcher, &Query<'_>) -> Result<T, Error> + Send,
    ) -> PyResult<T> {
        let config = settings::resolve(settings::options(settings, ASKING)?.or(self.options.clone()))?;
        let pool = pool(config.threads)?;
        let answered = py.detach(|| {
            let [collections, promotion_levels, paths, headings, tags] = place;
            let paths = paths.into_iter().map(PathPattern::from).collect();
            let filter = Filter { collections, promotion_levels, paths, headings, tags, ..Filter::default() };
            for remark in self.opened.unmet(&filter)? {
                tracing::warn!("{remark}");
            }
            pool.install(|| {
                let QuestionVectors { vector, sparse } =
                    config.question(&question, || self.embedder(&config), || self.sparse(&config))?;
                let reranker = self.reranker(&config)?;
                let query = Query {
                    vector: vector.as_deref(),
                    sparse: sparse.as_ref(),
                    filter,
                    min_score,
                    rerank: config.rerank(reranker.as_deref()),
                    ..config.query(&question, k)
                };
                answer(&self.opened, &query)
            })
        });
        answered.map_err(|error: Error| raised(&error))
    }

    /// Returns the reranker of a question, and keeps it for later questions with the same reranker.
    fn reranker(&self, config: &Config) -> Result<Option<Arc<dyn Reranker>>, Error> {
        let Some(wanted) = &config.rerank else { return Ok(None) };
        let mut kept = self.reranker.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some((model, reranker)) = &*kept
            && model == wanted
        {
            return Ok(Some(Arc::clone(reranker)));
        }
        let reranker = config.reranker()?.map(Arc::from);
        *kept = reranker.clone().map(|reranker| (wanted.clone(), reranker));
        Ok(reranker)
    }

    fn sparse(&self, config: &Config) -> Result<Option<Arc<dyn SparseEmbedder>>, Error> {
        let named = self.options.embedding.sparse_model.is_some();
        self.sparse.get(|| config.sparse_of(self.opened.dataset().manifest(), named))
    }

    fn embedder(&self, config: &Config) -> Result<Arc<dyn Embedder>, Error> {
        let named = self.options.embedding.model.is_some();
        self.embedder.get(|| config.embedder_of(self.opened.dataset().manifest(), named))
    }
}

#[pymethods]
impl Searcher {
    #[new]
    #[pyo3(signature = (out, **settings))]
    fn new(py: Python<'_>, out: &str, settings: Option<&Bound<'_, PyDict>>) -> PyResult<Self> {
        let options = settings::options(settings, SEARCHING)?;
        let config = settings::resolve(options.clone())?;
        let pool = pool(config.threads)?;
        let opened = py.detach(|| {
            let dataset = dataset::Dataset::open(out.parse::<Location>()?)?;
            pool.install(|| search::Searcher::open(dataset, config.search_cache))
        });
        Ok(Self {
            opened: opened.map_err(|error: Error| raised(&error))?,
            options,
            embedder: Lazy::default(),
            sparse: Lazy::default(),
            reranker: Mutex::default(),
        })
    }

    /// Returns the best chunks as JSON.
    #[pyo3(signature = (asked, **settings))]
    fn search(&self, py: Python<'_>, asked: Question, settings: Option<&Bound<'_, PyDict>>) -> PyResult<String> {
        self.ask(py, asked, settings, |searcher, query| Ok(json(&searcher.hits(&searcher.search(query)?, false)?)))
    }

    /// Returns the best documents with their matching chunks, as JSON.
    #[pyo3(signature = (asked, **settings))]
    fn documents(&self, py: Python<'_>, asked: Question, settings: Option<&Bound<'_, PyDict>>) -> PyResult<String> {
        self.ask(py, asked, settings, |searcher, query| Ok(json(&searcher.documents(query)?)))
    }

    /// Returns passages that fit a token budget, as JSON.
    #[pyo3(signature = (asked, budget, **settings))]
    fn context(
        &self,
        py: Python<'_>,
        asked: Question,
        budget: usize,
        settings: Option<&Bound<'_, PyDict>>,
    ) -> PyResult<String> {
        self.ask(py, asked, settings, |searcher, query| {
            Ok(json(&searcher.context(&searcher.search(query)?, budget, query.fill_rule())?))
        })
    }

    /// Returns the number of its chunks.
    fn __len__(&self) -> usize {
        self.opened.len()
    }
}
