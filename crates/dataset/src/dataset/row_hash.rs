//! A hash of each row of `chunks`, which says whether a row is the one that a copy of the dataset already has. An id says
//! only where a chunk is, and `content_hash` only what its text is; the hash covers headings, places, front matter and
//! vectors too.
//!
//! It is the first half of a BLAKE3 over all other columns, in order, except for `content`, which has a hash of its own,
//! and `modified_time`, which a fresh checkout changes without a change of anything else. Of each value it takes:
//!
//! - a byte, 0 for null and 1 otherwise; nothing follows after 0;
//! - for a text, its length in bytes as a `u64`, and its bytes;
//! - for a list, its length as a `u64`, and its elements; for a struct, its fields;
//! - for a number, its bytes; for a truth value, a byte.
//!
//! All numbers are little-endian. The elements of a vector are taken without a byte before each, as they are stored.

use std::sync::Arc;

use arrow::array::{Array, ArrayRef, AsArray, RecordBatch, StringArray};
use arrow::datatypes::{DataType, Int64Type, Schema};
use arrow::error::ArrowError;

/// The column of hashes.
pub const ROW_HASH: &str = "row_hash";

/// Columns that the hash leaves out.
const LEFT_OUT: [&str; 3] = ["content", "modified_time", ROW_HASH];

/// Returns the batch with its column of hashes computed from its other columns.
///
/// # Errors
/// [`ArrowError::SchemaError`] if it has no column of hashes; [`ArrowError::NotYetImplemented`] for a column of a type
/// that no table has.
pub fn with_row_hashes(batch: &RecordBatch) -> Result<RecordBatch, ArrowError> {
    let place = batch.schema_ref().index_of(ROW_HASH)?;
    let mut columns = batch.columns().to_vec();
    columns[place] = Arc::new(row_hashes(batch.schema_ref(), &columns, batch.num_rows())?);
    RecordBatch::try_new(batch.schema(), columns)
}

/// Returns the hash of each row.
pub(super) fn row_hashes(schema: &Schema, columns: &[ArrayRef], rows: usize) -> Result<StringArray, ArrowError> {
    let fields = schema.fields().iter().zip(columns);
    let hashed: Vec<&ArrayRef> =
        fields.filter(|(field, _)| !LEFT_OUT.contains(&field.name().as_str())).map(|(_, column)| column).collect();
    let mut bytes = Vec::new();
    let hash = |row| {
        bytes.clear();
        hashed.iter().try_for_each(|column| append(column, row, &mut bytes))?;
        Ok(blake3::hash(&bytes).to_hex()[..32].to_owned())
    };
    (0..rows).map(hash).collect::<Result<Vec<String>, ArrowError>>().map(StringArray::from)
}

/// Appends a value in the form that is hashed.
fn append(column: &dyn Array, row: usize, bytes: &mut Vec<u8>) -> Result<(), ArrowError> {
    bytes.push(u8::from(column.is_valid(row)));
    if column.is_null(row) {
        return Ok(());
    }
    let length = |length: usize, bytes: &mut Vec<u8>| bytes.extend_from_slice(&(length as u64).to_le_bytes());
    match column.data_type() {
        DataType::Utf8 => {
            let text = column.as_string::<i32>().value(row);
            length(text.len(), bytes);
            bytes.extend_from_slice(text.as_bytes());
        }
        // Most columns have these; the general way below makes an array of each value.
        DataType::Int64 => bytes.extend_from_slice(&column.as_primitive::<Int64Type>().value(row).to_le_bytes()),
        DataType::Boolean => bytes.push(u8::from(column.as_boolean().value(row))),
        DataType::List(element) => {
            let elements = column.as_list::<i32>().value(row);
            length(elements.len(), bytes);
            match element.data_type().primitive_width().filter(|_| !element.is_nullable()) {
                Some(_) => append_numbers(&elements, bytes)?,
                None => (0..elements.len()).try_for_each(|at| append(&elements, at, bytes))?,
            }
        }
        DataType::FixedSizeList(..) => append_numbers(&column.as_fixed_size_list().value(row), bytes)?,
        DataType::Struct(_) => {
            column.as_struct().columns().iter().try_for_each(|field| append(field, row, bytes))?;
        }
        _ => append_numbers(&column.slice(row, 1), bytes)?,
    }
    Ok(())
}

/// Appends the bytes of numbers, as Arrow has them in memory: little-endian.
fn append_numbers(numbers: &dyn Array, bytes: &mut Vec<u8>) -> Result<(), ArrowError> {
    let (data, kind) = (numbers.to_data(), numbers.data_type());
    let width = kind.primitive_width().ok_or_else(|| ArrowError::NotYetImplemented(format!("a hash of {kind}")))?;
    let [values] = data.buffers() else { return Err(ArrowError::NotYetImplemented(format!("a hash of {kind}"))) };
    bytes.extend_from_slice(&values[data.offset() * width..(data.offset() + data.len()) * width]);
    Ok(())
}
