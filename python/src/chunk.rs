//! Which chunks does a text, a file, a folder or a table have? And how long is a text?

use std::hash::{Hash, Hasher};
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, PoisonError};

use arrow::array::RecordBatchReader;
use arrow::compute::concat_batches;
use arrow::error::ArrowError;
use chunkmill::cli::visible;
use chunkmill::config::Config;
use chunkmill::corpus::{self, FetchedDocument, QuarantinedDocument, Root};
use chunkmill::dataset::{ChunkRow, HeadingRow, ImageRow, LinkRow, Time, chunks_batch, chunks_schema};
use chunkmill::embed::model_ref::ModelRef;
use chunkmill::embed::{Batcher, Embedder, Engine, ServiceSettings};
use chunkmill::error::{Error, Result};
use chunkmill::job::{Recipe, TableFilter};
use chunkmill::tokens::{Encoding, Sizer, TokenCounter, Unit};
use pyo3::IntoPyObjectExt;
use pyo3::prelude::*;
use pyo3::pybacked::PyBackedStr;
use pyo3::types::{PyDict, PyList, PyString};
use rayon::prelude::*;

use crate::arrow::{Table, next, rows_of, unreadable, unreadable_table};
use crate::encoder::Lazy;
use crate::error::{exception, on_one_line, raised};
use crate::job::json;
use crate::settings::{self, CUTTING};
use crate::work::{interruptibly, pool};

/// Texts with a smaller total size are cut directly on this thread: it takes a millisecond or two.
const SMALL: usize = 64 << 10;

/// Number of rows in a batch of an Arrow table.
const BATCH_ROWS: usize = 8192;

/// A chunk: a row of the table `chunks`, without the columns of a model.
///
/// All chunks of a document stay in memory together, as long as one of them does.
#[pyclass(frozen, eq, hash, module = "chunkmill")]
pub(crate) struct Chunk {
    rows: Arc<[ChunkRow]>,
    at: usize,
}

impl Chunk {
    fn row(&self) -> &ChunkRow {
        &self.rows[self.at]
    }
}

impl PartialEq for Chunk {
    fn eq(&self, other: &Self) -> bool {
        self.row() == other.row()
    }
}

impl Hash for Chunk {
    fn hash<H: Hasher>(&self, state: &mut H) {
        self.row().chunk_id.hash(state);
    }
}

/// Number of characters that the representation of a chunk has of its id, and of its headings: their ends, which tell
/// chunks apart.
const MOST_SHOWN: usize = 48;

fn shortened(text: &str) -> String {
    match text.char_indices().rev().nth(MOST_SHOWN - 1) {
        Some((at, _)) if at > 0 => format!("…{}", &text[at..]),
        _ => text.to_owned(),
    }
}

/// Declares an attribute for each column.
macro_rules! attributes {
    ($($name:ident: $type:ty = $words:expr,)*) => {
        /// Name, type in Rust, and words of each column.
        const COLUMNS: &[(&str, &str, &str)] = &[$((stringify!($name), stringify!($type), $words)),*];

        #[allow(clippy::doc_markdown, reason = "the words are shown to people as they are")]
        #[pymethods]
        impl Chunk {
            $(
                #[doc = $words]
                #[getter]
                fn $name<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyAny>> {
                    self.row().$name.attribute(py)
                }
            )*

            /// Returns all columns by name, as `chunkmill chunk` prints them.
            fn as_dict<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyAny>> {
                py.import("json")?.call_method1("loads", (json(self.row()),))
            }

            /// Returns how `pickle` and `copy` make it again: from its columns.
            fn __reduce__<'py>(&self, py: Python<'py>) -> PyResult<(Bound<'py, PyAny>, (String,))> {
                Ok((py.get_type::<Self>().getattr("_of")?, (json(self.row()),)))
            }

            /// Makes a chunk from its columns.
            #[staticmethod]
            fn _of(columns: &str) -> PyResult<Self> {
                let row: ChunkRow = serde_json::from_str(columns).map_err(|error| {
                    crate::error::setting("chunk", format!("is not a chunk: {error}"), "unpickle what this version pickled")
                })?;
                Ok(Self { rows: Arc::new([row]), at: 0 })
            }

            fn __repr__(&self) -> String {
                let row = self.row();
                let (id, headings) = (shortened(&row.chunk_id), shortened(&row.header_path));
                let tokens = chunkmill::value::count(row.n_tokens, "token");
                let space = if headings.is_empty() { "" } else { " " };
                on_one_line(&format!(
                    "<Chunk {id} lines {}-{}, {tokens}{space}{headings}>",
                    row.start_line, row.end_line
                ))
            }

            /// Returns what a notebook shows.
            fn _repr_html_(slf: PyRef<'_, Self>) -> PyResult<Bound<'_, PyAny>> {
                slf.py().import("chunkmill._show")?.call_method1("chunk", (slf,))
            }
        }
    };
}

chunkmill::each_column_of_chunks!(attributes);

/// Returns name, type in Rust and words of each column of a chunk, for `tools/typed_columns.py`.
#[pyfunction]
pub(crate) fn columns() -> Vec<(&'static str, String, &'static str)> {
    COLUMNS.iter().map(|(name, of, words)| (*name, of.replace(' ', ""), *words)).collect()
}

/// The value of a column as Python has it.
trait Attribute {
    fn attribute<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyAny>>;
}

macro_rules! plain {
    ($($type:ty),*) => {$(
        impl Attribute for $type {
            fn attribute<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyAny>> {
                (*self).into_bound_py_any(py)
            }
        }
    )*};
}

plain!(i64, bool, &'static str);

macro_rules! texts {
    ($($type:ty),*) => {$(
        impl Attribute for $type {
            fn attribute<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyAny>> {
                (&**self).into_bound_py_any(py)
            }
        }
    )*};
}

texts!(String, Arc<str>);

/// What has parts, as in the JSON of a row.
macro_rules! structs {
    ($($type:ty),*) => {$(
        impl Attribute for $type {
            fn attribute<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyAny>> {
                py.import("json")?.call_method1("loads", (json(self),))
            }
        }
    )*};
}

structs!(HeadingRow, LinkRow, ImageRow, Time);

impl<T: Attribute> Attribute for Option<T> {
    fn attribute<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyAny>> {
        self.as_ref().map_or_else(|| Ok(py.None().into_bound(py)), |value| value.attribute(py))
    }
}

impl<T: Attribute> Attribute for [T] {
    fn attribute<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyAny>> {
        let values = self.iter().map(|value| value.attribute(py)).collect::<PyResult<Vec<_>>>()?;
        Ok(PyList::new(py, values)?.into_any())
    }
}

/// Cuts documents according to its settings. It loads everything once, so use one chunker many times.
#[pyclass(frozen, module = "chunkmill")]
pub(crate) struct Chunker {
    config: Config,
    counter: Option<Box<dyn TokenCounter>>,
    /// The model, loaded when vectors are first requested.
    embedder: Lazy<Arc<dyn Embedder>>,
}

/// A source to cut.
enum CutSource {
    Text(PyBackedStr),
    Path(PathBuf),
}

impl CutSource {
    /// Reads a `str` as a text and an `os.PathLike` as a path.
    fn of(value: &Bound<'_, PyAny>) -> PyResult<Self> {
        if let Ok(text) = value.cast::<PyString>() {
            return Ok(Self::Text(PyBackedStr::try_from(text.clone())?));
        }
        if value.hasattr("__fspath__")? {
            return Ok(Self::Path(value.extract()?));
        }
        let kind = value.get_type().qualname()?;
        let problem = format!("cannot cut what is of type {kind}");
        Err(crate::error::setting(
            "source",
            problem,
            "give a text as `str`, a path as `pathlib.Path`, or a list of them",
        ))
    }
}

/// A document to cut.
enum Document<'g> {
    Text(&'g str, String),
    File(FetchedDocument),
}

/// The result of cutting a document.
type Cut = Result<Arc<[ChunkRow]>, QuarantinedDocument>;

impl Chunker {
    fn recipe(&self) -> Result<Recipe<'_>> {
        let Config { spec, admission, .. } = &self.config;
        Ok(Recipe { spec, sizer: spec.sizer(self.counter.as_deref())?, admission: *admission, levels: None })
    }

    fn cut(&self, document: Document<'_>) -> Result<Cut> {
        let recipe = self.recipe()?;
        let cut = match document {
            Document::File(file) => recipe.cut(file)?,
            Document::Text(text, name) => {
                match corpus::layer(name.as_str().into(), text.as_bytes().to_vec(), &recipe.admission.read) {
                    Ok(read) => recipe.cut_layer(read)?,
                    Err(passed_over) => Err(passed_over),
                }
            }
        };
        Ok(cut.map(|cut| cut.rows().collect()))
    }

    /// Finds all documents and cuts them in parallel. Returns the results for the documents of each source.
    fn cut_all(&self, sources: &[(CutSource, String)], stop: &AtomicBool) -> Result<Vec<Vec<Cut>>> {
        let (mut work, mut all): (Vec<(usize, Document<'_>)>, Vec<Vec<Cut>>) = (Vec::new(), Vec::new());
        for (at, (given, name)) in sources.iter().enumerate() {
            all.push(Vec::new());
            match given {
                CutSource::Text(text) => work.push((at, Document::Text(text, name.clone()))),
                CutSource::Path(path) => {
                    let found = corpus::discover(&[root(path)?], &self.config.filter, &[])?;
                    all[at].extend(found.quarantined.into_iter().map(Err));
                    work.extend(corpus::fetch(&found.sources)?.into_iter().map(|file| (at, Document::File(file))));
                }
            }
        }
        let cut = |(at, document)| {
            if stop.load(Ordering::Relaxed) { Err(Error::Interrupted) } else { Ok((at, self.cut(document)?)) }
        };
        let cut: Vec<(usize, Cut)> = work.into_par_iter().map(cut).collect::<Result<_>>()?;
        for (at, cut) in cut {
            all[at].push(cut);
        }
        Ok(all)
    }

    /// Returns the chunks of each source: texts and paths, each with a name to use if it is a text.
    fn run(
        &self,
        py: Python<'_>,
        sources: &[Bound<'_, PyAny>],
        names: Vec<String>,
        strict: bool,
    ) -> PyResult<Vec<Vec<Arc<[ChunkRow]>>>> {
        let given = |(source, name)| Ok((CutSource::of(source)?, name));
        let sources = &sources.iter().zip(names).map(given).collect::<PyResult<Vec<(CutSource, String)>>>()?;
        let cut = if let Some(texts) = small(sources) {
            let cut = |(text, name): (&str, &String)| Ok(vec![self.cut(Document::Text(text, name.clone()))?]);
            let cut: Result<Vec<Vec<Cut>>> = py.detach(|| texts.into_iter().map(cut).collect());
            cut.map_err(|error| raised(&error))?
        } else {
            let pool = pool(self.config.threads)?;
            interruptibly(py, |stop| pool.install(|| self.cut_all(sources, stop)), |_| Ok(()))?
        };
        let keep = |cut: Cut| match cut {
            Ok(rows) => Some(Ok(rows)),
            Err(QuarantinedDocument { doc_id, reason, .. }) if strict => {
                Some(Err(exception("QuarantineError", &visible(&format!("{doc_id} {reason}")))))
            }
            Err(QuarantinedDocument { doc_id, reason, .. }) => {
                tracing::warn!("quarantined {doc_id}: {reason}");
                None
            }
        };
        cut.into_iter().map(|documents| documents.into_iter().filter_map(keep).collect()).collect()
    }

    /// Returns the model, which is loaded when it is first needed.
    fn embedder(&self, py: Python<'_>) -> PyResult<Arc<dyn Embedder>> {
        py.detach(|| self.embedder.get(|| self.config.embedder())).map_err(|error| raised(&error))
    }
}

#[pymethods]
impl Chunker {
    #[new]
    #[pyo3(signature = (**settings))]
    fn new(py: Python<'_>, settings: Option<&Bound<'_, PyDict>>) -> PyResult<Self> {
        let config = settings::resolve(settings::options(settings, CUTTING)?)?;
        let counter = py.detach(|| (config.spec.unit() == Unit::Model).then(|| config.counter()).transpose());
        Ok(Self { counter: counter.map_err(|error| raised(&error))?, config, embedder: Lazy::default() })
    }

    /// Returns the chunks of each source.
    fn cut_sources<'py>(
        &self,
        py: Python<'py>,
        sources: Vec<Bound<'py, PyAny>>,
        names: Vec<String>,
        strict: bool,
    ) -> PyResult<Bound<'py, PyList>> {
        let all = self.run(py, &sources, names, strict)?;
        let list = |documents: Vec<Arc<[ChunkRow]>>| {
            let mut chunks = Vec::with_capacity(documents.iter().map(|rows| rows.len()).sum());
            for rows in documents {
                for at in 0..rows.len() {
                    chunks.push(Bound::new(py, Chunk { rows: Arc::clone(&rows), at })?);
                }
            }
            PyList::new(py, chunks)
        };
        PyList::new(py, all.into_iter().map(list).collect::<PyResult<Vec<_>>>()?)
    }

    /// Returns the chunks of all sources as one table.
    fn cut_to_arrow(
        &self,
        py: Python<'_>,
        sources: Vec<Bound<'_, PyAny>>,
        names: Vec<String>,
        strict: bool,
    ) -> PyResult<Table> {
        let all = self.run(py, &sources, names, strict)?;
        let schema = chunks_schema(&[], false);
        let batches = py.detach(|| {
            let (mut batches, mut open, mut rows) = (Vec::new(), Vec::new(), 0);
            for document in all.iter().flatten() {
                // The rows of one document may repeat a long text.
                for part in chunkmill::dataset::batches(document.iter().map(ChunkRow::bytes)) {
                    open.push(chunks_batch(&document[part.clone()], &[], &[], None)?);
                    rows += part.len();
                    if rows >= BATCH_ROWS || part.end < document.len() {
                        batches.push(concat_batches(&schema, &open)?);
                        (open, rows) = (Vec::new(), 0);
                    }
                }
            }
            batches.push(concat_batches(&schema, &open)?);
            Ok(batches)
        });
        let batches = batches.map_err(|error: ArrowError| unreadable(&error))?;
        Ok(Table::new(schema, batches))
    }

    /// Returns the chunks of the documents in a table, as another table.
    fn cut_table(&self, py: Python<'_>, table: &Bound<'_, PyAny>, embed: bool) -> PyResult<Table> {
        let mut input = rows_of(table)?;
        let embedder = if embed { Some(self.embedder(py)?) } else { None };
        let pool = pool(self.config.threads)?;
        let (schema, batches) = interruptibly(
            py,
            |stop| {
                let stored = self.config.output.embedding_type;
                let mut recipe = self.recipe()?;
                let mut batcher = None;
                let cache = if embedder.is_some() { self.config.open_cache()? } else { None };
                if let Some(embedder) = embedder.as_deref() {
                    recipe.sizer = self.config.spec.sizer(Some(embedder.counter()))?;
                    batcher = Some(Batcher::new(embedder, self.config.batch_tokens).with_cache(cache.as_deref()));
                }
                let mut filter = TableFilter::new(recipe, batcher, stored, &input.schema())?;
                let mut made = Vec::new();
                while let Some(batch) = next(&mut input) {
                    // The producer of the rows may need to attach to Python for that; nobody is attached now.
                    let batch = batch.map_err(|error| unreadable_table(&error))?;
                    pool.install(|| {
                        filter.chunk(&batch, stop, |rows| {
                            made.push(rows.clone());
                            Ok(())
                        })
                    })?;
                }
                Ok((filter.schema(), made))
            },
            |_| Ok(()),
        )?;
        Ok(Table::new(schema, batches))
    }

    /// Returns the settings in words.
    fn __repr__(&self) -> String {
        on_one_line(&format!("Chunker({})", self.config.spec))
    }
}

/// Returns the texts if there are no other sources and they are too small to be worth other threads.
fn small<'s>(sources: &'s [(CutSource, String)]) -> Option<Vec<(&'s str, &'s String)>> {
    let mut bytes = 0;
    let mut text = |(given, name): (&'s CutSource, &'s String)| match given {
        CutSource::Text(text) => {
            bytes += text.len();
            (bytes < SMALL).then_some((&**text, name))
        }
        CutSource::Path(_) => None,
    };
    sources.iter().map(|(given, name)| text((given, name))).collect()
}

fn root(path: &Path) -> Result<Root> {
    match path.to_str() {
        // It may be the URL of an object store.
        Some(path) if path.contains("://") => path.parse(),
        _ => Ok(Root::new(path)),
    }
}

/// The tokenizer that counted texts last, with its model.
type LastCounter = Option<(CountingModel, Arc<dyn TokenCounter>)>;

/// What decides how the model's own tokens are counted.
type CountingModel = (Engine, Option<ModelRef>, Option<ServiceSettings>);

/// Returns the size of each text.
#[pyfunction]
#[pyo3(signature = (texts, **settings))]
pub(crate) fn count(
    py: Python<'_>,
    texts: Vec<PyBackedStr>,
    settings: Option<&Bound<'_, PyDict>>,
) -> PyResult<Vec<usize>> {
    static KNOWN: Mutex<LastCounter> = Mutex::new(None);
    let options = settings::options(settings, CUTTING)?;
    let (unit, encoding) = (options.chunking.unit, options.chunking.encoding);
    let (unit, encoding) = (unit.unwrap_or(Unit::Tokens), encoding.unwrap_or_else(Encoding::default));
    let config = settings::resolve(options)?;
    let pool = pool(config.threads)?;
    let sizes = py.detach(|| {
        let counter = if unit == Unit::Model {
            let model = (config.backend.engine, config.model.clone(), config.service.clone());
            let mut known = KNOWN.lock().unwrap_or_else(PoisonError::into_inner);
            let counter = match known.take().filter(|(last, _)| *last == model) {
                Some((_, counter)) => counter,
                None => Arc::from(config.counter()?),
            };
            *known = Some((model, Arc::clone(&counter)));
            Some(counter)
        } else {
            None
        };
        let sizer = Sizer::new(unit, encoding, counter.as_deref())?;
        match texts.as_slice() {
            [text] => Ok(vec![sizer.size(text)?]),
            texts => pool.install(|| texts.par_iter().map(|text| sizer.size(text)).collect()),
        }
    });
    sizes.map_err(|error: Error| raised(&error))
}
