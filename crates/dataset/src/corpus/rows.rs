//! Tables whose rows are documents: a column has the text, the others are metadata.
//!
//! A table is read once, when it is found, and its rows become [`Record`]s. So memory does not grow with a table in Parquet or
//! JSON lines; one in CSV is in memory while it is read, as any document is.
//!
//! A row that has no text or no id is a document that cannot be read. So is what follows the place where a table is
//! broken. The rows before are kept.

use std::collections::HashSet;
use std::io::{self, BufRead, BufReader, Read};
use std::path::Path;
use std::sync::Arc;

use arrow::array::{Array, ArrayRef, AsArray, RecordBatch, StringArray};
use arrow::compute::{can_cast_types, cast};
use arrow::datatypes::{DataType, Field};
use arrow::error::ArrowError;
use arrow::util::display::{ArrayFormatter, FormatOptions};
use chunkmill_base::error::{Error, Result, Skip};
use chunkmill_base::value::count;
use chunkmill_text::document::{Format, Layer};
use parquet::arrow::ProjectionMask;
use parquet::arrow::arrow_reader::ParquetRecordBatchReaderBuilder;
use serde_json::{Map, Value};

use super::RowColumns;
use super::batch::{checked, safely};
use super::records::{Record, RecordKind, RecordWriter};
use crate::storage::Storage;

/// Rows of a table in Parquet that are in memory together.
const BATCH_ROWS: usize = 64;

/// Longest value that is metadata, in bytes as JSON. Each chunk repeats it, so it must not be another text.
const MAX_VALUE: usize = 1000;

/// Longest id of a row, in bytes.
const MAX_ID: usize = 1000;

/// How many columns a message names.
const NAMED: usize = 20;

/// A row that was found: its name below the table, and its text or the reason why it has none.
pub(super) type FoundRow = (String, Result<Record, Skip>);

/// Returns whether a file is a table, by its name.
pub(super) fn is_table(name: &str) -> bool {
    extension(name).is_some_and(|extension| Format::TABLES.contains(&extension.as_str()))
}

fn extension(name: &str) -> Option<String> {
    name.rsplit_once('.').map(|(_, extension)| extension.to_ascii_lowercase())
}

/// Reads the rows of the table at a path. A reason comes with them if something in it cannot be read.
///
/// # Errors
/// [`Error::Io`] if the texts cannot be written to a file.
pub(super) fn rows(
    storage: &dyn Storage,
    path: &Path,
    columns: &RowColumns,
    max_bytes: u64,
    records: &mut RecordWriter,
) -> Result<(Vec<FoundRow>, Option<Skip>)> {
    let mut table = RowReader { columns, max_bytes, records, found: Vec::new(), ids: HashSet::new(), number: 0 };
    let read = match extension(&path.to_string_lossy()).as_deref() {
        Some("parquet") => table.parquet(storage, path),
        Some("jsonl" | "ndjson") => table.json_lines(storage, path),
        _ => table.separated(storage, path),
    };
    match read {
        Ok(()) => Ok((table.found, None)),
        Err(Broken::Table(reason)) => Ok((table.found, Some(reason))),
        Err(Broken::Texts(error)) => Err(error),
    }
}

/// The name of a row, or why it has none.
enum RowId {
    /// Its number, because no column has ids.
    Number,
    /// The value of the column with ids.
    Name(String),
    /// That value is missing.
    Missing,
}

impl RowId {
    fn of(value: Option<String>) -> Self {
        value.map_or(Self::Missing, Self::Name)
    }
}

/// Why the reading of a table ends early.
enum Broken {
    /// The table cannot be read any further.
    Table(Skip),
    /// Its texts cannot be written.
    Texts(Error),
}

/// Returns the reason for a table that cannot be read.
fn broken(problem: impl Into<String>) -> Broken {
    Broken::Table(Skip::Malformed { format: "a table of documents", problem: problem.into() })
}

/// Returns the reason for a table without a column.
fn no_column<'n>(name: &str, names: impl Iterator<Item = &'n str>) -> Broken {
    let names: Vec<&str> = names.collect();
    let shown = names[..names.len().min(NAMED)].join(", ");
    let more = names.len().saturating_sub(NAMED);
    let more = if more > 0 { format!(" and {}", count(more, "other")) } else { String::new() };
    broken(format!("it has no column `{name}`; its columns are {shown}{more}"))
}

/// Returns the reason for a row that is no document.
fn no_document(problem: impl Into<String>) -> Skip {
    Skip::Malformed { format: "a document in a table", problem: problem.into() }
}

fn unreadable(error: io::Error) -> Broken {
    Broken::Table(Skip::Unreadable(error))
}

/// Reads a table.
struct RowReader<'c> {
    columns: &'c RowColumns,
    max_bytes: u64,
    records: &'c mut RecordWriter,
    found: Vec<FoundRow>,
    /// Hashes of the ids so far.
    ids: HashSet<[u8; 16]>,
    number: u64,
}

impl RowReader<'_> {
    fn parquet(&mut self, storage: &dyn Storage, path: &Path) -> Result<(), Broken> {
        let failed = |error: &dyn std::fmt::Display| broken(format!("it is not Parquet that can be read: {error}"));
        let input = storage.open(path).map_err(unreadable)?;
        let builder = ParquetRecordBatchReaderBuilder::try_new(input).map_err(|error| failed(&error))?;
        let schema = Arc::clone(builder.schema());
        let names = || schema.fields().iter().map(|field| field.name().as_str());
        let find = |name: &str| schema.index_of(name).map_err(|_| no_column(name, names()));
        let text = find(&self.columns.text)?;
        let id = self.columns.id.as_deref().map(find).transpose()?;
        if let Some(field) =
            [Some(text), id].into_iter().flatten().map(|at| schema.field(at)).find(|field| !is_text(field))
        {
            return Err(broken(format!(
                "the column `{}` has values of type {}, not text",
                field.name(),
                field.data_type()
            )));
        }
        let read = |at: &usize| *at == text || Some(*at) == id || is_metadata(schema.field(*at));
        let mask = ProjectionMask::roots(builder.parquet_schema(), (0..schema.fields().len()).filter(read));
        let reader =
            builder.with_projection(mask).with_batch_size(BATCH_ROWS).build().map_err(|error| failed(&error))?;
        for batch in reader {
            let batch = batch.map_err(|error| failed(&error))?;
            self.batch(&batch)?;
        }
        Ok(())
    }

    fn batch(&mut self, batch: &RecordBatch) -> Result<(), Broken> {
        let failed = |error: ArrowError| broken(error.to_string());
        let named = |name: &str| batch.schema().index_of(name);
        let text = named(&self.columns.text).map_err(failed)?;
        let id = self.columns.id.as_deref().map(named).transpose().map_err(failed)?;
        checked(batch, &[Some(text), id].into_iter().flatten().collect::<Vec<_>>()).map_err(failed)?;
        let texts = safely(|| cast(batch.column(text), &DataType::LargeBinary)).map_err(failed)?;
        let texts = texts.as_binary::<i64>();
        let ids = id.map(|id| safely(|| cast(batch.column(id), &DataType::Utf8))).transpose().map_err(failed)?;
        let ids = ids.as_ref().map(AsArray::as_string::<i32>);
        let schema = batch.schema();
        let others: Vec<usize> = (0..batch.num_columns()).filter(|at| *at != text && Some(*at) != id).collect();
        for row in 0..batch.num_rows() {
            let mut metadata = Map::new();
            for at in &others {
                let value = safely(|| value(batch.column(*at), row)).map_err(failed)?;
                metadata.extend(value.map(|value| (schema.field(*at).name().clone(), value)));
            }
            let name = |ids: &StringArray| RowId::of(ids.is_valid(row).then(|| ids.value(row).to_owned()));
            let id = ids.map_or(RowId::Number, name);
            let text = texts.is_valid(row).then(|| texts.value(row));
            self.add(id, text, metadata)?;
        }
        Ok(())
    }

    fn json_lines(&mut self, storage: &dyn Storage, path: &Path) -> Result<(), Broken> {
        let mut input = BufReader::new(storage.open(path).map_err(unreadable)?);
        let mut line = Vec::new();
        loop {
            line.clear();
            // A text takes at most six bytes as JSON for each of its own.
            let most = self.max_bytes.saturating_mul(6).saturating_add(1 << 20);
            input.by_ref().take(most).read_until(b'\n', &mut line).map_err(unreadable)?;
            if line.is_empty() {
                return Ok(());
            }
            if line.len() as u64 == most && !line.ends_with(b"\n") {
                return Err(Broken::Table(Skip::TooLarge { bytes: most, limit: self.max_bytes }));
            }
            let start = if self.number == 0 && line.starts_with("\u{feff}".as_bytes()) { 3 } else { 0 };
            if line[start..].trim_ascii().is_empty() {
                continue;
            }
            match serde_json::from_slice(&line[start..]) {
                Ok(Value::Object(row)) => self.object(row)?,
                Ok(_) => self.refuse("its line is not a JSON object"),
                Err(error) => self.refuse(format!("its line is not JSON: {error}")),
            }
        }
    }

    fn object(&mut self, mut row: Map<String, Value>) -> Result<(), Broken> {
        // In the first row, a name that is not there is most likely a mistake of the one who gave it.
        for name in [Some(&self.columns.text), self.columns.id.as_ref()].into_iter().flatten() {
            if self.number == 0 && !row.contains_key(name) {
                return Err(no_column(name, row.keys().map(String::as_str)));
            }
        }
        let text = row.remove(&self.columns.text);
        let id = self.columns.id.as_ref().map_or(RowId::Number, |id| match row.remove(id) {
            Some(Value::String(id)) => RowId::Name(id),
            Some(Value::Number(id)) => RowId::Name(id.to_string()),
            _ => RowId::Missing,
        });
        let text = text.as_ref().and_then(Value::as_str);
        self.add(id, text.map(str::as_bytes), row)
    }

    fn separated(&mut self, storage: &dyn Storage, path: &Path) -> Result<(), Broken> {
        if !cfg!(feature = "table") {
            return Err(broken("this program was built without the feature `table`"));
        }
        let input = storage.open(path).map_err(unreadable)?;
        if input.size() > self.max_bytes {
            return Err(Broken::Table(Skip::TooLarge { bytes: input.size(), limit: self.max_bytes }));
        }
        let bytes = storage.read(path).map_err(unreadable)?;
        let source = Layer::read(&path.to_string_lossy(), bytes).map_err(|refusal| Broken::Table(refusal.reason))?;
        let mut rows = chunkmill_read::rows(&source.text);
        let head = rows.next().unwrap_or_default();
        let find = |name: &str| {
            let at = head.iter().position(|cell| cell == name);
            at.ok_or_else(|| no_column(name, head.iter().map(String::as_str)))
        };
        let text = find(&self.columns.text)?;
        let id = self.columns.id.as_deref().map(find).transpose()?;
        for row in rows {
            let value = |at: usize| row.get(at).filter(|value| !value.is_empty());
            let others =
                head.iter().enumerate().filter(|(at, name)| *at != text && Some(*at) != id && !name.is_empty());
            let metadata = others.filter_map(|(at, name)| Some((name.clone(), Value::from(value(at)?.as_str()))));
            let metadata = metadata.collect();
            self.add(
                id.map_or(RowId::Number, |id| RowId::of(value(id).cloned())),
                row.get(text).map(String::as_bytes),
                metadata,
            )?;
        }
        Ok(())
    }

    /// Adds a row.
    fn add(&mut self, id: RowId, text: Option<&[u8]>, mut metadata: Map<String, Value>) -> Result<(), Broken> {
        let id = match id {
            RowId::Number => (self.number + 1).to_string(),
            RowId::Name(id) if id.len() > MAX_ID || id.contains(char::is_control) => {
                self.refuse(format!("its id is longer than {MAX_ID} bytes or has control characters"));
                return Ok(());
            }
            RowId::Name(id) if !id.is_empty() => id,
            RowId::Name(_) | RowId::Missing => {
                self.refuse("it has no id");
                return Ok(());
            }
        };
        let mut hash = [0; 16];
        hash.copy_from_slice(&blake3::hash(id.as_bytes()).as_bytes()[..16]);
        if !self.ids.insert(hash) {
            self.refuse(format!("an earlier row has its id, `{id}`"));
            return Ok(());
        }
        self.number += 1;
        let row = match text {
            None => Err(no_document("it has no text")),
            Some(text) if text.len() as u64 > self.max_bytes => {
                Err(Skip::TooLarge { bytes: text.len() as u64, limit: self.max_bytes })
            }
            Some(text) => {
                metadata.retain(|_, value| !value.is_null() && value.to_string().len() <= MAX_VALUE);
                let line = if metadata.is_empty() { String::new() } else { Value::Object(metadata).to_string() + "\n" };
                Ok(self.records.add(RecordKind::Text, &line, text).map_err(Broken::Texts)?)
            }
        };
        self.found.push((id, row));
        Ok(())
    }

    /// Adds a row that is no document. It is named by its number.
    fn refuse(&mut self, problem: impl Into<String>) {
        self.number += 1;
        self.found.push((format!("row {}", self.number), Err(no_document(problem))));
    }
}

/// Returns whether the values of a column are text, or numbers that name a row.
fn is_text(field: &Field) -> bool {
    !field.data_type().is_nested() && can_cast_types(field.data_type(), &DataType::Utf8)
}

/// Returns whether the values of a column say something of a document: no bytes, and no vectors.
fn is_metadata(field: &Field) -> bool {
    match field.data_type() {
        DataType::List(item) | DataType::LargeList(item) => {
            matches!(item.data_type(), DataType::Utf8 | DataType::LargeUtf8)
        }
        DataType::Binary | DataType::LargeBinary | DataType::BinaryView | DataType::FixedSizeBinary(_) => false,
        kind => !kind.is_nested() && can_cast_types(kind, &DataType::Utf8),
    }
}

/// Returns a value as JSON; `None` if it is null.
fn value(column: &ArrayRef, row: usize) -> Result<Option<Value>, ArrowError> {
    if column.is_null(row) {
        return Ok(None);
    }
    let cell = column.slice(row, 1);
    Ok(Some(match column.data_type() {
        DataType::Boolean => Value::from(cell.as_boolean().value(0)),
        kind if kind.is_integer() => {
            let signed = cast(&cell, &DataType::Int64).ok().filter(|value| value.is_valid(0));
            match signed {
                Some(value) => Value::from(value.as_primitive::<arrow::datatypes::Int64Type>().value(0)),
                None => {
                    Value::from(cast(&cell, &DataType::UInt64)?.as_primitive::<arrow::datatypes::UInt64Type>().value(0))
                }
            }
        }
        kind if kind.is_floating() => {
            let value = cast(&cell, &DataType::Float64)?;
            Value::from(value.as_primitive::<arrow::datatypes::Float64Type>().value(0))
        }
        DataType::List(_) => texts(&cell.as_list::<i32>().value(0))?,
        DataType::LargeList(_) => texts(&cell.as_list::<i64>().value(0))?,
        _ => {
            let options = FormatOptions::default();
            Value::from(ArrayFormatter::try_new(&cell, &options)?.value(0).try_to_string()?)
        }
    }))
}

fn texts(values: &ArrayRef) -> Result<Value, ArrowError> {
    let values = cast(values, &DataType::Utf8)?;
    Ok(Value::from(values.as_string::<i32>().iter().flatten().collect::<Vec<_>>()))
}
