//! Tables as input and output, through Arrow's C stream in a capsule, which `pyarrow`, Polars, `DuckDB` and others
//! produce and accept. Neither direction copies a value.

use std::sync::Arc;

use arrow::array::{RecordBatch, RecordBatchIterator, RecordBatchReader};
use arrow::datatypes::{Schema, SchemaRef};
use arrow::error::ArrowError;
use arrow::ffi::FFI_ArrowSchema;
use arrow::ffi_stream::{FFI_ArrowArrayStream, RecordBatchStreamReader};
use chunkmill::dataset::{self, FileEntry};
use chunkmill::error::caught;
use chunkmill::value::count;
use pyo3::prelude::*;
use pyo3::types::{PyCapsule, PyCapsuleMethods, PyDict};

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
        let all = table.schema(&dataset.manifest().representations());
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

    fn __repr__(&self) -> String {
        on_one_line(&format!("Table({}, {})", count(self.num_rows(), "row"), self.column_names().join(", ")))
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
