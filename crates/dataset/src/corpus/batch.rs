//! Checks of a part of a table that others made. Its values are checked before anything reads them: readers of Parquet do not
//! check that text is UTF-8, and the C interface checks nothing.

use arrow::array::{Array, ArrayData, ArrayRef, AsArray, RecordBatch, make_array};
use arrow::compute::cast;
use arrow::datatypes::{DataType, UInt64Type, UnionMode};
use arrow::error::ArrowError;
use chunkmill_base::error::caught;

/// Bytes into which a column of a batch may unpack.
const MOST_UNPACKED: u64 = 2 << 30;

/// Number of rows that a batch may have though nothing in it is stored for them, as in a column of nulls.
const ROWS_WITHOUT_BYTES: usize = 1 << 16;

/// Runs code of the Arrow library on values of others.
pub(crate) fn safely<T>(work: impl FnOnce() -> Result<T, ArrowError>) -> Result<T, ArrowError> {
    caught(work).unwrap_or_else(|panic| Err(ArrowError::ComputeError(panic)))
}

/// Checks everything that code behind this line takes for granted: text is UTF-8, offsets, lengths and keys are in
/// range, and a batch does not unpack into far more than it is. `read` are the columns whose values are read as text.
///
/// # Errors
/// The library's, which names the column.
pub(crate) fn checked(batch: &RecordBatch, read: &[usize]) -> Result<(), ArrowError> {
    let invalid = |at: usize, problem: &dyn std::fmt::Display| {
        ArrowError::InvalidArgumentError(format!("column `{}`: {problem}", batch.schema().field(at).name()))
    };
    for (at, column) in batch.columns().iter().enumerate() {
        safely(|| valid(&column.to_data())).map_err(|error| invalid(at, &error))?;
    }
    let rows = batch.num_rows();
    if let Some(&first) = read.first() {
        let held = batch.column(first).get_buffer_memory_size();
        if rows > held.saturating_mul(8).saturating_add(ROWS_WITHOUT_BYTES) {
            return Err(invalid(first, &format!("{rows} rows in {held} bytes are too many")));
        }
    }
    for &at in read {
        let bytes = safely(|| unpacked(batch.column(at))).map_err(|error| invalid(at, &error))?;
        if bytes > MOST_UNPACKED {
            return Err(invalid(at, &format!("unpacks into {bytes} bytes; make smaller batches")));
        }
    }
    Ok(())
}

/// Checks the values of an array and of those inside it.
fn valid(data: &ArrayData) -> Result<(), ArrowError> {
    // Looks at the ends of the offsets before at anything between them.
    data.validate()?;
    data.validate_full()?;
    unions(data)
}

/// Checks the kinds and places of the values of unions, which the library does not do.
fn unions(data: &ArrayData) -> Result<(), ArrowError> {
    if let DataType::Union(fields, mode) = data.data_type() {
        let of = |row: usize| {
            let kind = data.buffers().first()?.get(data.offset() + row)?.cast_signed();
            let child = &data.child_data()[fields.iter().position(|(known, _)| known == kind)?];
            let place = match mode {
                UnionMode::Sparse => row,
                UnionMode::Dense => {
                    let places = data.buffers().get(1)?.get(size_of::<i32>() * (data.offset() + row)..)?;
                    usize::try_from(i32::from_le_bytes(*places.first_chunk()?)).ok()?
                }
            };
            (place < child.len()).then_some(())
        };
        if let Some(row) = (0..data.len()).find(|&row| of(row).is_none()) {
            return Err(ArrowError::InvalidArgumentError(format!(
                "the value of row {row} is in no array of the union"
            )));
        }
    }
    data.child_data().iter().try_for_each(unions)
}

/// Returns how many bytes the texts of a column have when each is written out.
fn unpacked(column: &ArrayRef) -> Result<u64, ArrowError> {
    let lengths = |values: &ArrayRef| -> Result<Vec<u64>, ArrowError> {
        let values = cast(values, &DataType::LargeBinary)?;
        Ok(values.as_binary::<i64>().offsets().lengths().map(|length| length as u64).collect())
    };
    let rows = column.len() as u64;
    Ok(match column.data_type() {
        DataType::Dictionary(..) => {
            let column = column.as_any_dictionary();
            let (values, keys) = (lengths(column.values())?, cast(column.keys(), &DataType::UInt64)?);
            let length =
                |key: u64| usize::try_from(key).ok().and_then(|key| values.get(key)).copied().unwrap_or_default();
            keys.as_primitive::<UInt64Type>().iter().flatten().map(length).fold(0, u64::saturating_add)
        }
        DataType::Utf8View => column.as_string_view().iter().flatten().map(|text| text.len() as u64).sum(),
        DataType::BinaryView => column.as_binary_view().iter().flatten().map(|text| text.len() as u64).sum(),
        DataType::RunEndEncoded(..) => {
            let data = column.to_data();
            let values = data.child_data().get(1).cloned().map(make_array);
            let longest = values.map(|values| lengths(&values)).transpose()?.and_then(|all| all.into_iter().max());
            rows.saturating_mul(longest.unwrap_or_default())
        }
        // As it is, or refused before.
        _ => 0,
    })
}
