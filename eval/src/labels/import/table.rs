//! Tables: rows as JSON objects, whatever the format of their file.
//!
//! A set is published as JSON by its authors and as Parquet on a hub, with the same fields. An importer therefore
//! describes what a row contains, and this module reads rows from every format: Parquet, JSON lines, JSON, CSV,
//! TSV.

use std::collections::BTreeSet;
use std::fs::{self, File};
use std::path::{Path, PathBuf};

use arrow::array::{Array, AsArray};
use arrow::datatypes::{
    DataType, Float32Type, Float64Type, Int8Type, Int16Type, Int32Type, Int64Type, UInt8Type, UInt16Type, UInt32Type,
    UInt64Type,
};
use chunkmill::error::{Error, Result, caught};
use chunkmill::value::count;
use parquet::arrow::arrow_reader::{ParquetRecordBatchReader, ParquetRecordBatchReaderBuilder};
use parquet::file::metadata::RowGroupMetaData;
use serde::Deserialize;
use serde::de::{DeserializeOwned, Deserializer, Error as _};
use serde_json::{Map, Value};

use super::flaws::Flaws;
use super::source::Source;
use crate::data::files::NOT_UTF8;

/// The formats, by extension. If a part of a set exists in several, the first one wins.
const FORMS: [&str; 6] = ["jsonl", "ndjson", "json", "parquet", "csv", "tsv"];

/// The splits that a set may have, the preferred one first.
const SPLITS: [&str; 3] = ["test", "validation", "train"];

const TABLES: &str =
    "a table is a .parquet, .jsonl, .json, .csv or .tsv file; decompress it first if needed, for example with gunzip";

const PARQUET: &str = "compressed columns must use Snappy or zstd; rewrite the file with another program, for example DuckDB: \
     COPY (FROM 'old.parquet') TO 'new.parquet' (COMPRESSION zstd)";

/// Number of rows that are in memory at once. It is small because some rows contain a whole book.
const BATCH: usize = 64;

/// A row and its origin.
pub(super) struct Row {
    /// Its fields by name.
    pub(super) fields: Map<String, Value>,
    /// `file:line`, or the file and the number of the row.
    pub(super) origin: String,
}

impl Row {
    /// Converts its fields to the importer's own type.
    pub(super) fn read<T: DeserializeOwned>(&mut self) -> Result<T, String> {
        let fields = std::mem::take(&mut self.fields);
        serde_json::from_value(Value::Object(fields)).map_err(|error| error.to_string())
    }
}

/// A record inside a row, or what is wrong with it. One bad record does not spoil its row.
pub(super) struct LooseRecord<T>(pub(super) Result<T, String>);

impl<'de, T: DeserializeOwned> Deserialize<'de> for LooseRecord<T> {
    fn deserialize<D: Deserializer<'de>>(from: D) -> Result<Self, D::Error> {
        Ok(Self(serde_json::from_value(Value::deserialize(from)?).map_err(|error| error.to_string())))
    }
}

/// Returns the tables of a set: a file itself, or the files below a folder that belong to a split. Without a
/// split, the first of `test`, `validation` and `train` that has files counts, or all files if none is named after
/// a split.
pub(super) fn tables(path: &Path, split: Option<&str>) -> Result<Vec<PathBuf>> {
    if path.is_file() {
        return Ok(vec![path.to_owned()]);
    }
    of_split(path, &below(path)?, split)
}

/// Returns the tables of a part of a set: `NAME.jsonl` or another format, or the files below `NAME/`; `None` if
/// there is neither.
pub(super) fn part(folder: &Path, name: &str) -> Result<Option<Vec<PathBuf>>> {
    let files = FORMS.iter().map(|form| folder.join(format!("{name}.{form}")));
    if let Some(file) = files.into_iter().find(|file| file.is_file()) {
        return Ok(Some(vec![file]));
    }
    let folder = folder.join(name);
    if folder.is_dir() { below(&folder).map(Some) } else { Ok(None) }
}

/// Returns [`part`], or an error if the part is missing.
pub(super) fn needed(folder: &Path, name: &str) -> Result<Vec<PathBuf>> {
    if let Some(files) = part(folder, name)? {
        return Ok(files);
    }
    let file = folder.join(format!("{name}.jsonl"));
    let help = format!("it may also be a folder {name}/; {TABLES}");
    fs::metadata(&file).map_err(Error::named(&file, help))?;
    Ok(vec![file])
}

/// Returns those of a folder's tables that belong to a split, with the rules of [`tables`].
pub(super) fn of_split(folder: &Path, files: &[PathBuf], split: Option<&str>) -> Result<Vec<PathBuf>> {
    let belongs = |file: &PathBuf, split: &str| {
        let stem = file.file_stem().unwrap_or_default().to_string_lossy();
        let inside = file.parent().and_then(Path::file_name).is_some_and(|parent| parent == split);
        inside || stem.strip_prefix(split).is_some_and(|rest| rest.is_empty() || rest.starts_with('-'))
    };
    let of = |split: &str| -> Vec<PathBuf> { files.iter().filter(|file| belongs(file, split)).cloned().collect() };
    let found = match split {
        Some(split) => of(split),
        None => SPLITS.into_iter().map(of).find(|found| !found.is_empty()).unwrap_or_else(|| files.to_vec()),
    };
    if found.is_empty() {
        let names: Vec<String> = files.iter().map(|file| file.display().to_string()).collect();
        return Err(Error::setting(
            folder.display().to_string(),
            format!("no file belongs to split `{}`", split.unwrap_or_default()),
            format!("the files are {}", names.join(", ")),
        ));
    }
    Ok(found)
}

/// Returns all tables below a folder, sorted by path.
fn below(folder: &Path) -> Result<Vec<PathBuf>> {
    let (mut found, mut open) = (Vec::new(), vec![folder.to_owned()]);
    while let Some(inside) = open.pop() {
        for entry in fs::read_dir(&inside).map_err(Error::named(&inside, TABLES))? {
            let path = entry.map_err(Error::io("read", &inside))?.path();
            if path.is_dir() {
                open.push(path);
            } else if form(&path).is_some() {
                found.push(path);
            }
        }
    }
    found.sort();
    if found.is_empty() {
        return Err(Error::setting(folder.display().to_string(), "has no tables", TABLES));
    }
    Ok(found)
}

/// Returns the format of a table, or `None` if its extension is not that of a table.
pub(super) fn form(path: &Path) -> Option<&'static str> {
    let extension = path.extension()?.to_str()?;
    FORMS.into_iter().find(|form| *form == extension)
}

/// Reads the rows of tables one after the other. `help` describes a row. A row that is broken, or in which `visit`
/// finds a problem, is left out.
///
/// # Errors
/// [`Error::Named`] for a file that cannot be read, and [`Error::Setting`] with the file for anything that is not a
/// table.
pub(super) fn each(
    files: &[PathBuf],
    help: &'static str,
    left_out: &mut Flaws,
    mut visit: impl FnMut(&mut Row) -> Result<(), String>,
) -> Result<()> {
    let mut visit = visitor(help, left_out, &mut visit);
    for file in files {
        match form(file) {
            Some("parquet") => parquet(file, &mut visit)?,
            Some("json") => json(file, help, &mut visit)?,
            Some("csv") => columns(file, b',', help, &mut visit)?,
            Some("tsv") => columns(file, b'\t', help, &mut visit)?,
            Some(_) => {
                let source = Source::read(file)?;
                for (line, text) in source.numbered() {
                    let parse = |text: &str| serde_json::from_str(text).map_err(|error| error.to_string());
                    visit(source.at(line), text.and_then(parse));
                }
            }
            None => {
                return Err(Error::setting(file.display().to_string(), "is not a table", TABLES));
            }
        }
    }
    Ok(())
}

/// Visits a row by its place: its fields, or what is wrong with it.
type Visit<'v> = dyn FnMut(String, Result<Map<String, Value>, String>) + 'v;

/// Returns what is done with a row: `visit` reads it, and a row with a problem is left out.
fn visitor<'v>(
    help: &'static str,
    left_out: &'v mut Flaws,
    visit: &'v mut dyn FnMut(&mut Row) -> Result<(), String>,
) -> impl FnMut(String, Result<Map<String, Value>, String>) + 'v {
    move |origin, fields| {
        let mut row = Row { fields: Map::new(), origin };
        let visited = fields.and_then(|fields| {
            row.fields = fields;
            visit(&mut row)
        });
        if let Err(problem) = visited {
            left_out.add(&row.origin, problem, help);
        }
    }
}

/// Reads a file of one JSON value: a list of rows, an object that contains one list among other values, or rows by
/// id.
fn json(file: &Path, help: &'static str, visit: &mut Visit<'_>) -> Result<()> {
    let source = Source::whole(file)?;
    let value = serde_json::from_str(source.text())
        .map_err(|error: serde_json::Error| source.wrong(error.line(), error.to_string(), help))?;
    let mut row = |place: &dyn std::fmt::Display, value: Value| match value {
        Value::Object(fields) => visit(source.at(place), Ok(fields)),
        _ => visit(source.at(place), Err("is not an object".to_owned())),
    };
    let mut rows = |list: Vec<Value>| {
        list.into_iter().enumerate().for_each(|(index, value)| row(&format_args!("row {}", index + 1), value));
    };
    match value {
        Value::Array(list) => rows(list),
        Value::Object(mut object) => {
            let lists: Vec<String> =
                object.iter().filter(|(_, value)| value.is_array()).map(|(key, _)| key.clone()).collect();
            match &lists[..] {
                [] => object.into_iter().for_each(|(id, mut value)| {
                    if let Value::Object(fields) = &mut value {
                        fields.entry("id").or_insert_with(|| Value::String(id.clone()));
                    }
                    row(&id, value);
                }),
                [list] => {
                    if let Some(Value::Array(list)) = object.remove(list) {
                        rows(list);
                    }
                }
                _ => {
                    let problem = format!("more than one of its lists may be the rows: {}", lists.join(", "));
                    return Err(source.wrong(1, problem, help));
                }
            }
        }
        _ => return Err(source.wrong(1, "is neither a list nor an object", help)),
    }
    Ok(())
}

/// Reads the rows of a file of separated columns, whatever its name, like [`each`].
pub(super) fn separated(
    file: &Path,
    delimiter: u8,
    help: &'static str,
    left_out: &mut Flaws,
    mut visit: impl FnMut(&mut Row) -> Result<(), String>,
) -> Result<()> {
    columns(file, delimiter, help, &mut visitor(help, left_out, &mut visit))
}

/// Reads a file of separated columns with their names in the first line.
fn columns(file: &Path, delimiter: u8, help: &'static str, visit: &mut Visit<'_>) -> Result<()> {
    let source = Source::read(file)?;
    let mut reader = csv::ReaderBuilder::new().delimiter(delimiter).from_reader(source.text().as_bytes());
    let names = reader.headers().cloned().map_err(|error| source.wrong(1, error.to_string(), help))?;
    let mut record = csv::StringRecord::new();
    loop {
        let line = usize::try_from(reader.position().line()).unwrap_or(usize::MAX);
        let fields = match reader.read_record(&mut record) {
            Ok(false) => return Ok(()),
            Ok(true) => {
                Ok(names.iter().zip(&record).map(|(name, text)| (name.to_owned(), Value::from(text))).collect())
            }
            Err(error) => Err(match error.kind() {
                csv::ErrorKind::UnequalLengths { expected_len, len, .. } => {
                    format!("{}, not {expected_len}", count(*len, "column"))
                }
                _ => error.to_string(),
            }),
        };
        // Blank lines before a record are skipped, so it begins where its own position says.
        let line = record.position().map_or(line, |at| usize::try_from(at.line()).unwrap_or(line));
        let next = usize::try_from(reader.position().line()).unwrap_or(usize::MAX).max(line + 1);
        visit(source.at(line), if source.is_broken(line..next) { Err(NOT_UTF8.to_owned()) } else { fields });
    }
}

/// Reads a Parquet file. Its reader is not ours, and a damaged file may make it panic: that is an error of the file.
fn parquet(file: &Path, visit: &mut Visit<'_>) -> Result<()> {
    let wrong = |problem: String| {
        Error::setting(file.display().to_string(), format!("cannot be read as Parquet: {problem}"), PARQUET)
    };
    let opened = File::open(file).map_err(Error::named(file, TABLES))?;
    let (mut reader, codecs) = caught(|| batches(opened)).flatten().map_err(wrong)?;
    let mut number = 0;
    while let Some(rows) = caught(|| next_rows(&mut reader, &codecs)).flatten().map_err(wrong)? {
        for fields in rows {
            number += 1;
            visit(format!("{}:row {number}", file.display()), Ok(fields));
        }
    }
    Ok(())
}

/// Returns the batches of a Parquet file, and the names of its codecs.
fn batches(file: File) -> Result<(ParquetRecordBatchReader, String), String> {
    let builder = ParquetRecordBatchReaderBuilder::try_new(file).map_err(|error| error.to_string())?;
    let columns = builder.metadata().row_groups().iter().flat_map(RowGroupMetaData::columns);
    let codecs: BTreeSet<String> = columns.map(|column| column.compression().to_string()).collect();
    let reader = builder.with_batch_size(BATCH).build().map_err(|error| error.to_string())?;
    Ok((reader, Vec::from_iter(codecs).join(", ")))
}

/// Returns the rows of the next batch; `None` after the last one.
fn next_rows(reader: &mut ParquetRecordBatchReader, codecs: &str) -> Result<Option<Vec<Map<String, Value>>>, String> {
    let Some(batch) = reader.next() else { return Ok(None) };
    let batch = batch.map_err(|error| format!("compression {codecs}: {error}"))?;
    let schema = batch.schema();
    let fields = |row: usize| {
        let columns = schema.fields().iter().zip(batch.columns());
        columns.map(|(field, column)| (field.name().clone(), value(column, row))).collect()
    };
    Ok(Some((0..batch.num_rows()).map(fields).collect()))
}

/// Converts a value of a column to JSON. Types that no label uses, such as dates and pictures, become null.
fn value(column: &dyn Array, row: usize) -> Value {
    if column.is_null(row) {
        return Value::Null;
    }
    let list = |values: &dyn Array| Value::Array((0..values.len()).map(|row| value(values, row)).collect());
    match column.data_type() {
        DataType::Utf8 => column.as_string::<i32>().value(row).into(),
        DataType::LargeUtf8 => column.as_string::<i64>().value(row).into(),
        DataType::Utf8View => column.as_string_view().value(row).into(),
        DataType::Boolean => column.as_boolean().value(row).into(),
        DataType::Int8 => column.as_primitive::<Int8Type>().value(row).into(),
        DataType::Int16 => column.as_primitive::<Int16Type>().value(row).into(),
        DataType::Int32 => column.as_primitive::<Int32Type>().value(row).into(),
        DataType::Int64 => column.as_primitive::<Int64Type>().value(row).into(),
        DataType::UInt8 => column.as_primitive::<UInt8Type>().value(row).into(),
        DataType::UInt16 => column.as_primitive::<UInt16Type>().value(row).into(),
        DataType::UInt32 => column.as_primitive::<UInt32Type>().value(row).into(),
        DataType::UInt64 => column.as_primitive::<UInt64Type>().value(row).into(),
        DataType::Float32 => column.as_primitive::<Float32Type>().value(row).into(),
        DataType::Float64 => column.as_primitive::<Float64Type>().value(row).into(),
        DataType::List(_) => list(&column.as_list::<i32>().value(row)),
        DataType::LargeList(_) => list(&column.as_list::<i64>().value(row)),
        DataType::FixedSizeList(..) => list(&column.as_fixed_size_list().value(row)),
        DataType::Struct(fields) => {
            let columns = fields.iter().zip(column.as_struct().columns());
            Value::Object(columns.map(|(field, column)| (field.name().clone(), value(column, row))).collect())
        }
        DataType::Dictionary(..) => {
            let words = column.as_any_dictionary();
            value(words.values(), words.normalized_keys()[row])
        }
        _ => Value::Null,
    }
}

/// Parses a list of records, or an object with a list per field, which is how a hub's converter writes it.
pub(super) fn records<'de, D: Deserializer<'de>, T: DeserializeOwned>(from: D) -> Result<Vec<T>, D::Error> {
    let list = match Value::deserialize(from)? {
        Value::Null => Vec::new(),
        Value::Array(list) => list,
        Value::Object(columns) => turned(columns).map_err(D::Error::custom)?,
        _ => return Err(D::Error::custom("not a list of records")),
    };
    list.into_iter().map(|record| serde_json::from_value(record).map_err(D::Error::custom)).collect()
}

fn turned(columns: Map<String, Value>) -> Result<Vec<Value>, String> {
    let mut rows: Vec<Map<String, Value>> = Vec::new();
    for (index, (name, column)) in columns.into_iter().enumerate() {
        let Value::Array(column) = column else { return Err(format!("`{name}` is not a list")) };
        if index == 0 {
            rows.resize_with(column.len(), Map::new);
        }
        if rows.len() != column.len() {
            return Err(format!("`{name}` has {}, and others have {}", count(column.len(), "value"), rows.len()));
        }
        rows.iter_mut().zip(column).for_each(|(row, value)| drop(row.insert(name.clone(), value)));
    }
    Ok(rows.into_iter().map(Value::Object).collect())
}
