//! Tables as input and output, through Arrow's C stream in a capsule, which `pyarrow`, Polars, `DuckDB` and others
//! produce and accept. Neither direction copies a value.

use std::sync::{Arc, Mutex, PoisonError};

use arrow::array::{Array, ArrayRef, AsArray, RecordBatch, RecordBatchIterator, RecordBatchReader};
use arrow::datatypes::{
    DataType, Float16Type, Float32Type, Float64Type, Int8Type, Int16Type, Int32Type, Int64Type, Schema, SchemaRef,
    TimeUnit, TimestampMicrosecondType, UInt8Type, UInt16Type, UInt32Type, UInt64Type,
};
use arrow::error::ArrowError;
use arrow::ffi::FFI_ArrowSchema;
use arrow::ffi_stream::{FFI_ArrowArrayStream, RecordBatchStreamReader};
use chunkmill::cli::visible;
use chunkmill::dataset::{self, FileEntry};
use chunkmill::error::caught;
use chunkmill::value::count;
use pyo3::IntoPyObjectExt;
use pyo3::exceptions::{PyImportError, PyIndexError, PyKeyError, PyTypeError};
use pyo3::prelude::*;
use pyo3::types::{PyCapsule, PyCapsuleMethods, PyDict, PyList};

use crate::error::{on_one_line, raised, setting};

/// A table: rows in memory, or in the files of a dataset. Every Arrow library accepts it directly; each time, its
/// rows are read from the start.
#[pyclass(frozen, module = "chunkmill")]
pub(crate) struct Table {
    schema: SchemaRef,
    rows: Rows,
}

enum Rows {
    Here(Vec<RecordBatch>),
    InFiles { dataset: Arc<dataset::Dataset>, files: Vec<FileEntry> },
}

impl Table {
    /// Creates a table of rows in memory.
    pub(crate) fn new(schema: SchemaRef, batches: Vec<RecordBatch>) -> Self {
        Self { schema, rows: Rows::Here(batches) }
    }

    /// Creates a table of some or all columns of a dataset's table, which are read when they are used.
    pub(crate) fn of(
        dataset: Arc<dataset::Dataset>,
        table: dataset::Table,
        columns: Option<&[String]>,
    ) -> PyResult<Self> {
        let files: Vec<FileEntry> = dataset.files(table).cloned().collect();
        let all = dataset.manifest().schema(table);
        let schema = match columns {
            None => all,
            Some(columns) => {
                let chosen = columns.iter().map(|name| {
                    let found = all.column_with_name(name);
                    let (at, _) = found.ok_or_else(|| {
                        let names: Vec<&str> = all.fields().iter().map(|field| field.name().as_str()).collect();
                        let problem = chunkmill::value::unknown(name, "a column", &names);
                        setting("columns", problem, "see `chunkmill schema`")
                    })?;
                    Ok(all.field(at).clone())
                });
                Arc::new(Schema::new(chosen.collect::<PyResult<Vec<_>>>()?))
            }
        };
        Ok(Self { schema, rows: Rows::InFiles { dataset, files } })
    }

    fn reader(&self) -> Box<dyn RecordBatchReader + Send> {
        let schema = SchemaRef::clone(&self.schema);
        match &self.rows {
            Rows::Here(batches) => Box::new(RecordBatchIterator::new(batches.clone().into_iter().map(Ok), schema)),
            Rows::InFiles { dataset, files } => {
                let (dataset, files, columns) = (Arc::clone(dataset), files.clone(), SchemaRef::clone(&self.schema));
                let read = move |file: FileEntry| -> Box<dyn Iterator<Item = Result<RecordBatch, ArrowError>> + Send> {
                    let failed = |error: chunkmill::error::Error| ArrowError::ExternalError(Box::new(error));
                    let names: Vec<&str> = columns.fields().iter().map(|field| field.name().as_str()).collect();
                    let columns = SchemaRef::clone(&columns);
                    match dataset.read(&file, &names, None) {
                        Err(error) => Box::new(std::iter::once(Err(failed(error)))),
                        Ok(batches) => Box::new(batches.map(move |batch| {
                            let batch = batch.map_err(failed)?;
                            // A file may have its columns in a different order.
                            let column = |name: &str| {
                                let found = batch.column_by_name(name).cloned();
                                found.ok_or_else(|| ArrowError::SchemaError(format!("no column `{name}`")))
                            };
                            let all = columns.fields().iter().map(|field| column(field.name()));
                            RecordBatch::try_new(SchemaRef::clone(&columns), all.collect::<Result<_, _>>()?)
                        })),
                    }
                };
                Box::new(RecordBatchIterator::new(files.into_iter().flat_map(read), schema))
            }
        }
    }

    fn cursor(&self) -> Cursor {
        Cursor { reader: self.reader(), batch: None, row: 0 }
    }
}

#[pymethods]
impl Table {
    /// Returns its rows as Arrow's C stream.
    #[pyo3(signature = (requested_schema=None))]
    fn __arrow_c_stream__<'py>(
        &self,
        py: Python<'py>,
        requested_schema: Option<Bound<'py, PyAny>>,
    ) -> PyResult<Bound<'py, PyCapsule>> {
        // The producer may ignore the requested schema: the consumer casts.
        drop(requested_schema);
        PyCapsule::new_with_value(py, FFI_ArrowArrayStream::new(self.reader()), c"arrow_array_stream")
    }

    /// Returns its columns as Arrow's C schema.
    fn __arrow_c_schema__<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyCapsule>> {
        let schema = FFI_ArrowSchema::try_from(self.schema.as_ref()).map_err(|error| unreadable(&error))?;
        PyCapsule::new_with_value(py, schema, c"arrow_schema")
    }

    /// Names of its columns.
    #[getter]
    fn column_names(&self) -> Vec<&str> {
        self.schema.fields().iter().map(|field| field.name().as_str()).collect()
    }

    /// Number of its rows.
    #[getter]
    fn num_rows(&self) -> u64 {
        match &self.rows {
            Rows::Here(batches) => batches.iter().map(|batch| batch.num_rows() as u64).sum(),
            Rows::InFiles { files, .. } => files.iter().map(|file| file.rows).sum(),
        }
    }

    fn __len__(&self) -> usize {
        usize::try_from(self.num_rows()).unwrap_or(usize::MAX)
    }

    /// Returns an iterator over its rows, each a dict.
    fn __iter__(&self) -> RowIterator {
        RowIterator(Mutex::new(self.cursor()))
    }

    /// Returns a row as a dict (`table[0]`, `table[-1]`), or the values of a column (`table["content"]`).
    fn __getitem__<'py>(&self, py: Python<'py>, key: Bound<'py, PyAny>) -> PyResult<Bound<'py, PyAny>> {
        if let Ok(name) = key.extract::<String>() {
            let names = self.column_names();
            let at = names.iter().position(|column| *column == name).ok_or_else(|| {
                let problem = chunkmill::value::unknown(&name, "a column", &names);
                PyKeyError::new_err(visible(&problem).into_owned())
            })?;
            let mut values = Vec::new();
            for batch in self.reader() {
                let batch = batch.map_err(|error| unreadable(&error))?;
                for row in 0..batch.num_rows() {
                    values.push(value(py, batch.column(at), row)?);
                }
            }
            return Ok(PyList::new(py, values)?.into_any());
        }
        let index: i64 = key.extract().map_err(|_| {
            let problem = "a table is indexed by the number of a row or the name of a column";
            PyTypeError::new_err(problem)
        })?;
        let rows = i64::try_from(self.num_rows()).unwrap_or(i64::MAX);
        let outside =
            || PyIndexError::new_err(format!("row {index} of a table with {}", count(self.num_rows(), "row")));
        let mut left = usize::try_from(if index < 0 { index + rows } else { index }).map_err(|_| outside())?;
        for batch in self.reader() {
            let batch = batch.map_err(|error| unreadable(&error))?;
            if left < batch.num_rows() {
                return Ok(row(py, &batch, left)?.into_any());
            }
            left -= batch.num_rows();
        }
        Err(outside())
    }

    /// Returns its rows as a list of dicts.
    fn to_pylist<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyList>> {
        let mut cursor = self.cursor();
        let rows = std::iter::from_fn(|| cursor.next(py).transpose());
        PyList::new(py, rows.collect::<PyResult<Vec<_>>>()?)
    }

    /// Returns it as a table of `pyarrow`, without copying a value.
    fn to_arrow<'py>(this: &Bound<'py, Self>) -> PyResult<Bound<'py, PyAny>> {
        library(this.py(), "pyarrow")?.call_method1("table", (this,))
    }

    /// Returns it as a data frame of pandas, through `pyarrow`.
    fn to_pandas<'py>(this: &Bound<'py, Self>) -> PyResult<Bound<'py, PyAny>> {
        library(this.py(), "pandas")?;
        Self::to_arrow(this)?.call_method0("to_pandas")
    }

    /// Returns it as a data frame of Polars, without copying a value.
    fn to_polars<'py>(this: &Bound<'py, Self>) -> PyResult<Bound<'py, PyAny>> {
        library(this.py(), "polars")?.call_method1("DataFrame", (this,))
    }

    /// Returns its first rows as HTML.
    fn _repr_html_<'py>(this: &Bound<'py, Self>) -> PyResult<Bound<'py, PyAny>> {
        this.py().import("chunkmill._show")?.call_method1("table", (this,))
    }

    fn __repr__(&self) -> String {
        on_one_line(&format!("Table({}, {})", count(self.num_rows(), "row"), self.column_names().join(", ")))
    }
}

/// The rows of a table, one after the other.
#[pyclass(frozen, module = "chunkmill")]
pub(crate) struct RowIterator(Mutex<Cursor>);

struct Cursor {
    reader: Box<dyn RecordBatchReader + Send>,
    batch: Option<RecordBatch>,
    /// The next row of the batch.
    row: usize,
}

impl Cursor {
    fn next<'py>(&mut self, py: Python<'py>) -> PyResult<Option<Bound<'py, PyDict>>> {
        loop {
            match &self.batch {
                Some(batch) if self.row < batch.num_rows() => {
                    let next = row(py, batch, self.row)?;
                    self.row += 1;
                    return Ok(Some(next));
                }
                _ => {
                    let Some(batch) = self.reader.next() else { return Ok(None) };
                    self.batch = Some(batch.map_err(|error| unreadable(&error))?);
                    self.row = 0;
                }
            }
        }
    }
}

#[pymethods]
impl RowIterator {
    fn __iter__(this: PyRef<'_, Self>) -> PyRef<'_, Self> {
        this
    }

    fn __next__<'py>(&self, py: Python<'py>) -> PyResult<Option<Bound<'py, PyDict>>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).next(py)
    }
}

/// Returns a library that the user must have installed.
fn library<'py>(py: Python<'py>, name: &str) -> PyResult<Bound<'py, PyModule>> {
    py.import(name)
        .map_err(|_| PyImportError::new_err(format!("{name} is not installed; pip install {name}, or use to_pylist()")))
}

/// Returns a row as a dict.
fn row<'py>(py: Python<'py>, batch: &RecordBatch, at: usize) -> PyResult<Bound<'py, PyDict>> {
    let row = PyDict::new(py);
    for (field, column) in batch.schema_ref().fields().iter().zip(batch.columns()) {
        row.set_item(field.name(), value(py, column, at)?)?;
    }
    Ok(row)
}

/// Returns a value as Python has it; a time in UTC, as `datetime`.
fn value<'py>(py: Python<'py>, column: &ArrayRef, at: usize) -> PyResult<Bound<'py, PyAny>> {
    macro_rules! number {
        ($type:ty) => {
            column.as_primitive::<$type>().value(at).into_bound_py_any(py)
        };
    }
    let list = |values: ArrayRef| {
        let values = (0..values.len()).map(|at| value(py, &values, at)).collect::<PyResult<Vec<_>>>()?;
        Ok(PyList::new(py, values)?.into_any())
    };
    if column.is_null(at) {
        return Ok(py.None().into_bound(py));
    }
    match column.data_type() {
        DataType::Boolean => column.as_boolean().value(at).into_bound_py_any(py),
        DataType::Int8 => number!(Int8Type),
        DataType::Int16 => number!(Int16Type),
        DataType::Int32 => number!(Int32Type),
        DataType::Int64 => number!(Int64Type),
        DataType::UInt8 => number!(UInt8Type),
        DataType::UInt16 => number!(UInt16Type),
        DataType::UInt32 => number!(UInt32Type),
        DataType::UInt64 => number!(UInt64Type),
        DataType::Float16 => column.as_primitive::<Float16Type>().value(at).to_f32().into_bound_py_any(py),
        DataType::Float32 => number!(Float32Type),
        DataType::Float64 => number!(Float64Type),
        DataType::Utf8 => column.as_string::<i32>().value(at).into_bound_py_any(py),
        DataType::LargeUtf8 => column.as_string::<i64>().value(at).into_bound_py_any(py),
        DataType::Utf8View => column.as_string_view().value(at).into_bound_py_any(py),
        DataType::List(_) => list(column.as_list::<i32>().value(at)),
        DataType::LargeList(_) => list(column.as_list::<i64>().value(at)),
        DataType::FixedSizeList(..) => list(column.as_fixed_size_list().value(at)),
        DataType::Struct(fields) => {
            let parts = PyDict::new(py);
            for (field, part) in fields.iter().zip(column.as_struct().columns()) {
                parts.set_item(field.name(), value(py, part, at)?)?;
            }
            Ok(parts.into_any())
        }
        DataType::Dictionary(..) => {
            let column = column.as_any_dictionary();
            let key = column.normalized_keys().get(at).copied().unwrap_or_default();
            value(py, column.values(), key)
        }
        DataType::Timestamp(TimeUnit::Microsecond, _) => {
            let datetime = py.import("datetime")?;
            let micros = column.as_primitive::<TimestampMicrosecondType>().value(at);
            let since = datetime.call_method1("timedelta", (0, 0, micros))?;
            let utc = datetime.getattr("timezone")?.getattr("utc")?;
            datetime.getattr("datetime")?.call1((1970, 1, 1, 0, 0, 0, 0, utc))?.add(since)
        }
        other => Err(setting("table", format!("values of type {other} have no form in Python"), "use to_arrow()")),
    }
}

/// Returns the rows of any object that has Arrow's C stream.
pub(crate) fn rows_of(table: &Bound<'_, PyAny>) -> PyResult<RecordBatchStreamReader> {
    const METHOD: &str = "__arrow_c_stream__";
    check(table)?;
    if !table.hasattr(METHOD)? {
        let kind = table.get_type().qualname()?;
        let help = "give a table of pyarrow, Polars, DuckDB or pandas, or anything else with that method";
        return Err(setting("table", format!("{kind} has no method {METHOD}"), help));
    }
    let capsule = table.call_method0(METHOD)?;
    let capsule = capsule.cast::<PyCapsule>()?;
    let stream = capsule.pointer_checked(Some(c"arrow_array_stream"))?.cast::<FFI_ArrowArrayStream>();
    #[expect(unsafe_code, reason = "the C interface is a pointer")]
    // SAFETY: by the protocol, a capsule of this name contains a valid stream, which the consumer may move out.
    // `from_raw` marks the remains as released, so the capsule does not release it again. No other thread has it: it
    // was made for this call.
    let reader = caught(|| unsafe { RecordBatchStreamReader::from_raw(stream.as_ptr()) });
    reader.unwrap_or_else(|panic| Err(ArrowError::CDataInterface(panic))).map_err(|error| unreadable(&error))
}

/// Returns the next batch of rows. What the producer made is not checked yet, but what cannot be taken over is an error.
pub(crate) fn next(rows: &mut RecordBatchStreamReader) -> Option<Result<RecordBatch, ArrowError>> {
    caught(|| rows.next()).unwrap_or_else(|panic| Some(Err(ArrowError::CDataInterface(panic))))
}

/// Lets `pyarrow` check its own table. The C interface does not say how long the buffers are, so an offset behind their
/// end is seen here or nowhere; and `pyarrow` reads Parquet without checking that text is UTF-8.
fn check(table: &Bound<'_, PyAny>) -> PyResult<()> {
    let kind = table.get_type();
    if !kind.module()?.to_string().starts_with("pyarrow") || !table.hasattr("validate")? {
        return Ok(());
    }
    let full = PyDict::new(table.py());
    full.set_item("full", true)?;
    table.call_method("validate", (), Some(&full)).map(drop).map_err(|error| {
        setting("table", format!("is not valid: {}", error.value(table.py())), "read or make it again")
    })
}

/// Converts the error of a table that cannot be read into an exception.
pub(crate) fn unreadable(error: &ArrowError) -> PyErr {
    raised(&unreadable_table(error))
}

/// Converts the error of a table that cannot be read into an error of the library.
pub(crate) fn unreadable_table(error: &ArrowError) -> chunkmill::error::Error {
    chunkmill::error::Error::setting("table", error.to_string(), "the table needs the columns doc_id and text")
}
