//! Chunking of documents that are rows of a table. The result is another table, whose rows are chunks.
//!
//! This is for engines that already have their texts in tables. They pass batches and get back the rows that the
//! job would write for files of the same names and bytes. Columns that are not read are copied to each chunk of
//! their row. A row that cannot be chunked produces one row with the reason, so neither it nor the rows after it
//! are lost.

use std::collections::HashSet;
use std::ops::Range;
use std::sync::Arc;
use std::sync::atomic::AtomicBool;

use arrow::array::{Array, ArrayRef, AsArray, RecordBatch, StringArray, UInt32Array};
use arrow::compute::{can_cast_types, cast, take};
use arrow::datatypes::{DataType, Field, Int64Type, Schema, SchemaRef, TimeUnit};
use arrow::error::ArrowError;
use chunkmill_base::error::{Error, Result, Skip};
use chunkmill_embed::{Batcher, EmbeddingResult, EmbeddingTypes, Representation, Role};
use chunkmill_text::document::{DEFAULT_COLLECTION, Origin};
use rayon::prelude::*;

use super::prepare::{Cut, PreparedDocument, Recipe};
use crate::corpus::{self, DEFAULT_MAX_BYTES, checked, safely};
use crate::dataset::{ChunkRow, batches, chunks_batch, chunks_schema};

/// Bytes of texts that are chunked together and become one batch.
const BLOCK_BYTES: usize = 1 << 20;

/// Name of the column with the reason why a row has no chunks.
const ERROR: &str = "error";

/// A chunker for the documents in a table.
pub struct TableFilter<'a> {
    recipe: Recipe<'a>,
    batcher: Option<Batcher<'a>>,
    /// Representations of the vectors of chunks; none without a batcher.
    representations: Vec<Representation>,
    input: InputColumns,
    schema: SchemaRef,
    /// Hashes of the ids of all documents so far.
    known: HashSet<[u8; 16]>,
}

/// The indices of the columns that are read or copied.
struct InputColumns {
    doc_id: usize,
    text: usize,
    collection: Option<usize>,
    path: Option<usize>,
    modified_time: Option<usize>,
    /// Columns that are copied to each chunk.
    others: Vec<usize>,
}

/// A row of the table, or what is wrong with it.
type Row<'b> = Result<(Origin, &'b [u8]), String>;

impl<'a> TableFilter<'a> {
    /// Creates a filter for a table with these columns. It needs `doc_id` and `text`, and reads `collection`,
    /// `path` and `modified_time` if they exist. The extension of `path`, or of `doc_id` if there is no `path`,
    /// determines the format of the text. With a batcher, the output has columns of vectors of the given types.
    ///
    /// # Errors
    /// [`Error::Setting`] if `doc_id` or `text` is missing, if a column has a type that cannot be read, or if
    /// another column has the name of an output column, or if vectors of the model cannot be stored in these types.
    pub fn new(
        recipe: Recipe<'a>,
        batcher: Option<Batcher<'a>>,
        stored: EmbeddingTypes,
        table: &Schema,
    ) -> Result<Self> {
        let input = InputColumns::of(table)?;
        if let Some(batcher) = &batcher {
            batcher.info().check_stored(stored)?;
        }
        let representations =
            batcher.as_ref().map(|batcher| Representation::all(batcher.info().dim, stored)).unwrap_or_default();
        let is_sparse = batcher.as_ref().is_some_and(|batcher| batcher.info().sparse.is_some());
        let columns = chunks_schema(&representations, is_sparse);
        // In a row with an error, any of them may be null.
        let mut fields: Vec<Field> =
            columns.fields().iter().map(|field| field.as_ref().clone().with_nullable(true)).collect();
        for &other in &input.others {
            let other = table.field(other);
            if other.name() == ERROR || fields.iter().any(|field| field.name() == other.name()) {
                let problem = format!("has a column `{}`, which is the name of an output column", other.name());
                return Err(unusable(problem, "rename it"));
            }
            fields.push(other.clone());
        }
        fields.push(Field::new(ERROR, DataType::Utf8, true));
        Ok(Self {
            recipe,
            batcher,
            representations,
            input,
            schema: Arc::new(Schema::new(fields)),
            known: HashSet::new(),
        })
    }

    /// Returns the output columns: those of `chunks`, the copied columns of the table, and `error`.
    pub fn schema(&self) -> SchemaRef {
        Arc::clone(&self.schema)
    }

    /// Chunks the documents of a batch and passes the rows to `emit`, in order, one block at a time. Returns how
    /// many rows of the batch failed.
    ///
    /// # Errors
    /// Those of the sizer and of `emit`; [`Error::Embed`]; [`Error::Interrupted`] soon after `stop` is set.
    pub fn chunk(
        &mut self,
        batch: &RecordBatch,
        stop: &AtomicBool,
        mut emit: impl FnMut(&RecordBatch) -> Result<()>,
    ) -> Result<usize> {
        let failed = |error: ArrowError| unusable(error.to_string(), "see which columns `chunkmill filter` reads");
        checked(batch, &self.input.read()).map_err(failed)?;
        let cells = safely(|| Cells::of(batch, &self.input)).map_err(failed)?;
        let (mut start, mut errors) = (0, 0);
        while start < batch.num_rows() {
            let mut bytes = 0;
            let fits = |&row: &usize| {
                bytes += cells.text.value(row).len();
                bytes <= BLOCK_BYTES
            };
            let end = start + (start..batch.num_rows()).take_while(fits).count().max(1);
            let rows: Vec<Row<'_>> = (start..end).map(|row| self.new_row(&cells, row)).collect();
            let prepare = |row| match row {
                Err(problem) => Ok(Err(problem)),
                Ok((origin, bytes)) => self.prepare(origin, bytes),
            };
            let prepared: Vec<Result<PreparedDocument, String>> =
                rows.into_par_iter().map(prepare).collect::<Result<_>>()?;
            errors += prepared.iter().filter(|prepared| prepared.is_err()).count();
            self.batches(batch, &cells, start, prepared, stop, failed, &mut emit)?;
            start = end;
        }
        Ok(errors)
    }

    /// Returns a row whose document has an id of its own: chunks of two documents with one id would share their ids.
    fn new_row<'c>(&mut self, cells: &'c Cells, row: usize) -> Row<'c> {
        let (origin, bytes) = cells.row(row)?;
        let mut id = [0; 16];
        id.copy_from_slice(&blake3::hash(origin.doc_id.as_bytes()).as_bytes()[..16]);
        if self.known.insert(id) { Ok((origin, bytes)) } else { Err("has the doc_id of an earlier row".to_owned()) }
    }

    fn prepare(&self, origin: Origin, bytes: &[u8]) -> Result<Result<PreparedDocument, String>> {
        let (len, limit) = (bytes.len() as u64, DEFAULT_MAX_BYTES);
        if len > limit {
            return Ok(Err(Skip::TooLarge { bytes: len, limit }.to_string()));
        }
        let cut = match corpus::layer(origin, bytes.to_vec(), &self.recipe.admission.read) {
            Ok(read) => self.recipe.cut_layer(read)?,
            Err(passed_over) => Err(passed_over),
        };
        Ok(cut.map(Cut::prepare).map_err(|passed_over| passed_over.reason.to_string()))
    }

    /// Builds the output rows for the rows of `table` from `first` on, and passes them to `emit` in batches. A few
    /// documents can have very many rows that repeat the same long text.
    #[expect(clippy::too_many_arguments, reason = "a part of `chunk`, separate for its length")]
    fn batches(
        &mut self,
        table: &RecordBatch,
        cells: &Cells,
        first: usize,
        prepared: Vec<Result<PreparedDocument, String>>,
        stop: &AtomicBool,
        failed: impl Fn(ArrowError) -> Error,
        emit: &mut impl FnMut(&RecordBatch) -> Result<()>,
    ) -> Result<()> {
        // For each output row: the row of the table, and either the index of the chunk or the error.
        let (mut rows, mut places, mut errors) = (Vec::new(), Vec::new(), Vec::new());
        let (mut chunks, mut texts, mut readings) = (Vec::new(), Vec::new(), Vec::new());
        for (row, prepared) in (first..).zip(prepared) {
            let error = match prepared {
                Ok(prepared) => {
                    places.extend((chunks.len()..).take(prepared.chunks.len()).map(Some));
                    chunks.extend(prepared.chunks);
                    texts.extend(prepared.texts);
                    readings.extend(prepared.reading);
                    None
                }
                Err(error) => {
                    places.push(None);
                    Some(error)
                }
            };
            rows.resize(places.len(), row);
            errors.resize(places.len(), error);
        }
        let EmbeddingResult { vectors, n_tokens, max_tokens, .. } = match &mut self.batcher {
            Some(batcher) if !readings.is_empty() => batcher.read(&readings, stop, &|_, _| ())?,
            Some(batcher) => batcher.embed(&texts, Role::Document, stop, &|_, _| ())?,
            None => EmbeddingResult::default(),
        };
        let sparse =
            self.batcher.as_ref().map(|batcher| batcher.sparse(&texts, stop, &|_, _| ())).transpose()?.flatten();
        let dim = self.batcher.as_ref().map_or(1, |batcher| batcher.info().dim).max(1);
        for ((row, vector), n_tokens) in chunks.iter_mut().zip(vectors.chunks(dim)).zip(n_tokens) {
            row.set_embedding(vector, i64::try_from(n_tokens).unwrap_or(i64::MAX), max_tokens);
        }
        for (row, is_truncated) in chunks.iter_mut().zip(sparse.iter().flat_map(|sparse| &sparse.truncated)) {
            row.set_sparse(*is_truncated);
        }
        // Each copied value once more for each row.
        let copied: Vec<usize> = (first..=rows.last().copied().unwrap_or(first))
            .map(|row| self.input.others.iter().map(|&other| bytes_at(table.column(other), row)).sum())
            .collect();
        let bytes = rows.iter().zip(&places).map(|(row, place)| {
            copied.get(row - first).copied().unwrap_or_default()
                + place.map_or(0, |place: usize| chunks.get(place).map_or(0, ChunkRow::bytes))
        });
        let make = |now: Range<usize>| {
            let (rows, places, errors) = (&rows[now.clone()], &places[now.clone()], &errors[now]);
            // Rows without chunks are between them.
            let mut held = places.iter().flatten();
            let start = held.clone().next().copied().unwrap_or_default();
            let end = held.next_back().map_or(start, |last| last + 1);
            let vectors = if vectors.is_empty() { &vectors[..] } else { &vectors[start * dim..end * dim] };
            let sparse = sparse.as_ref().map(|sparse| &sparse.vectors[start..end]);
            let chunks = chunks_batch(&chunks[start..end], &self.representations, vectors, sparse)?;
            let number = |at: usize| u32::try_from(at).map_err(|error| ArrowError::ExternalError(Box::new(error)));
            let rows: UInt32Array = rows.iter().map(|&row| number(row).map(Some)).collect::<Result<_, _>>()?;
            let places: UInt32Array =
                places.iter().map(|place| place.map(|at| number(at - start)).transpose()).collect::<Result<_, _>>()?;
            let mut columns = Vec::with_capacity(self.schema.fields().len());
            let before = self.schema.fields().len() - self.input.others.len() - 1;
            for field in &self.schema.fields()[..before] {
                // Rows without chunks get their `doc_id` from the table too.
                columns.push(if field.name() == "doc_id" {
                    take(&cells.doc_id, &rows, None)?
                } else {
                    let column = chunks.column_by_name(field.name());
                    take(column.ok_or_else(|| ArrowError::SchemaError(field.name().clone()))?, &places, None)?
                });
            }
            for &other in &self.input.others {
                columns.push(take(table.column(other), &rows, None)?);
            }
            columns.push(Arc::new(errors.iter().map(Option::as_deref).collect::<StringArray>()) as ArrayRef);
            RecordBatch::try_new(self.schema(), columns)
        };
        batches(bytes).try_for_each(|rows| emit(&safely(|| make(rows)).map_err(&failed)?))
    }
}

impl InputColumns {
    fn of(table: &Schema) -> Result<Self> {
        let find = |name: &str, kind: &DataType| -> Result<Option<usize>> {
            let Some((at, field)) = table.column_with_name(name) else { return Ok(None) };
            let is_readable = match (field.data_type(), kind) {
                (DataType::Timestamp(..) | DataType::Null, DataType::Timestamp(..)) => true,
                (DataType::Timestamp(..), _) | (_, DataType::Timestamp(..)) => false,
                (given, kind) => can_cast_types(given, kind),
            };
            if is_readable {
                return Ok(Some(at));
            }
            Err(unusable(
                format!("has a column `{name}` of type {}", field.data_type()),
                &format!("convert it to {kind}"),
            ))
        };
        let needed = |name: &str, kind: &DataType| {
            let missing = || unusable(format!("has no column `{name}`"), "the table needs the columns doc_id and text");
            find(name, kind)?.ok_or_else(missing)
        };
        let (doc_id, text) = (needed("doc_id", &DataType::Utf8)?, needed("text", &DataType::LargeBinary)?);
        let (collection, path) = (find("collection", &DataType::Utf8)?, find("path", &DataType::Utf8)?);
        let modified_time = find("modified_time", &DataType::Timestamp(TimeUnit::Microsecond, None))?;
        let read = [Some(doc_id), Some(text), collection, path, modified_time];
        let others = (0..table.fields().len()).filter(|at| !read.contains(&Some(*at))).collect();
        Ok(Self { doc_id, text, collection, path, modified_time, others })
    }

    /// Returns the columns whose values are read as text.
    fn read(&self) -> Vec<usize> {
        [Some(self.doc_id), Some(self.text), self.collection, self.path].into_iter().flatten().collect()
    }
}

/// The columns that are read from a batch, each converted to the type that is needed.
struct Cells {
    doc_id: StringArray,
    text: arrow::array::LargeBinaryArray,
    collection: Option<StringArray>,
    path: Option<StringArray>,
    modified_time: Option<arrow::array::Int64Array>,
}

impl Cells {
    fn of(batch: &RecordBatch, input: &InputColumns) -> Result<Self, ArrowError> {
        let strings = |at: usize| Ok::<_, ArrowError>(cast(batch.column(at), &DataType::Utf8)?.as_string().clone());
        let times = |at: usize| {
            let column = batch.column(at);
            let zone = match column.data_type() {
                DataType::Timestamp(_, zone) => zone.clone(),
                _ => None,
            };
            // Timestamps of all time zones count from the same moment.
            let micros = cast(column, &DataType::Timestamp(TimeUnit::Microsecond, zone))?;
            Ok::<_, ArrowError>(cast(&micros, &DataType::Int64)?.as_primitive::<Int64Type>().clone())
        };
        Ok(Self {
            doc_id: strings(input.doc_id)?,
            text: cast(batch.column(input.text), &DataType::LargeBinary)?.as_binary::<i64>().clone(),
            collection: input.collection.map(strings).transpose()?,
            path: input.path.map(strings).transpose()?,
            modified_time: input.modified_time.map(times).transpose()?,
        })
    }

    fn row(&self, row: usize) -> Row<'_> {
        fn value(column: &StringArray, row: usize) -> Option<&str> {
            column.is_valid(row).then(|| column.value(row))
        }
        let doc_id = value(&self.doc_id, row).ok_or("has no doc_id")?;
        if self.text.is_null(row) {
            return Err("has no text".to_owned());
        }
        let text = self.text.value(row);
        let given =
            |column: &Option<StringArray>| column.as_ref().and_then(|column| value(column, row).map(str::to_owned));
        let modified = self.modified_time.as_ref().filter(|times| times.is_valid(row));
        let origin = Origin {
            doc_id: doc_id.into(),
            collection: given(&self.collection).map_or_else(|| DEFAULT_COLLECTION.into(), Into::into),
            path: given(&self.path).map_or_else(|| doc_id.into(), Into::into),
            modified_micros: modified.map(|times| times.value(row)),
        };
        Ok((origin, text))
    }
}

/// Returns how many bytes the value of a row takes.
fn bytes_at(column: &ArrayRef, row: usize) -> usize {
    column.slice(row, 1).to_data().get_slice_memory_size().unwrap_or_default()
}

fn unusable(problem: String, help: &str) -> Error {
    Error::setting("table", problem, help)
}
