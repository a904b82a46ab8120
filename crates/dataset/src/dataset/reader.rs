//! Reading a dataset, only through its manifest.

use std::io::{BufReader, Read};
use std::ops::Range;
use std::path::Path;
use std::sync::Arc;

use arrow::array::{Array, ArrayRef, AsArray, RecordBatch, StringArray};
use arrow::compute::cast;
use arrow::datatypes::{DataType, Float16Type, Float32Type, Int8Type, Schema, SchemaRef, UInt8Type, UInt32Type};
use arrow::error::ArrowError;
use bytes::Bytes;
use chunkmill_base::error::{Error, Result};
use chunkmill_base::value::count;
use chunkmill_embed::{EmbeddingType, Representation, SparseVector, StoredVectors, ZERO_VECTOR, restore};
use parquet::arrow::ProjectionMask;
use parquet::arrow::arrow_reader::{ArrowReaderOptions, ParquetRecordBatchReaderBuilder, RowSelection};
use parquet::errors::ParquetError;
use parquet::file::metadata::PageIndexPolicy;
use parquet::file::reader::{ChunkReader, Length};

use super::{FileEntry, Manifest, Table, flagged, writer};
use crate::storage::{Input, Location};

/// Maximum number of rows in memory at once.
const BATCH_ROWS: usize = 4096;

/// An open snapshot.
#[derive(Debug, Clone)]
pub struct Dataset {
    root: Location,
    manifest: Manifest,
}

impl Dataset {
    /// Opens the snapshot that the manifest in `root` names.
    pub fn open(root: impl Into<Location>) -> Result<Self> {
        let root = root.into();
        Ok(Self { manifest: Manifest::read(&root)?, root })
    }

    /// Opens the snapshot; `None` if there is no manifest.
    ///
    /// # Errors
    /// Those of [`Manifest::read`], except for a missing manifest.
    pub fn find(root: &Location) -> Result<Option<Self>> {
        if Manifest::exists(root)? { Self::open(root).map(Some) } else { Ok(None) }
    }

    /// Returns a snapshot whose files are in place and whose manifest is not.
    pub(crate) fn uncommitted(root: Location, manifest: Manifest) -> Self {
        Self { root, manifest }
    }

    /// Returns the error for a file with something wrong in it.
    pub(crate) fn damaged(&self, file: &FileEntry, problem: &str) -> Error {
        Error::Dataset {
            path: self.root.join(&file.path),
            problem: problem.to_owned(),
            help: "the dataset is damaged: index the corpus again with --fresh".to_owned(),
        }
    }

    /// Returns the error for rows that are not of the expected form.
    pub(super) fn unreadable(&self, error: &ArrowError) -> Error {
        Error::Dataset {
            path: self.root.path().to_owned(),
            problem: error.to_string(),
            help: "the dataset is damaged: index the corpus again with --fresh".to_owned(),
        }
    }

    /// Returns where the dataset is.
    pub fn root(&self) -> &Location {
        &self.root
    }

    /// Returns the id of the snapshot: 32 hexadecimal digits of the BLAKE3 of its manifest.
    pub fn id(&self) -> String {
        blake3::hash(self.manifest.to_json().as_bytes()).to_hex()[..32].to_owned()
    }

    /// Returns the manifest.
    pub fn manifest(&self) -> &Manifest {
        &self.manifest
    }

    /// Returns the files of a table, in order.
    pub fn files(&self, table: Table) -> impl Iterator<Item = &FileEntry> {
        self.manifest.files.iter().filter(move |file| file.table == table.name())
    }

    /// Reads all columns of a file, with the schema that it was written with.
    pub fn read_all(&self, file: &FileEntry) -> Result<impl Iterator<Item = Result<RecordBatch>> + use<>> {
        let schema = self.schema_of(file);
        let columns: Vec<&str> = schema.fields().iter().map(|field| field.name().as_str()).collect();
        let batches = self.read(file, &columns, None)?;
        let path = self.root.join(&file.path);
        Ok(batches.map(move |batch| {
            RecordBatch::try_new(SchemaRef::clone(&schema), batch?.columns().to_vec()).map_err(|error| Error::Dataset {
                path: path.clone(),
                problem: error.to_string(),
                help: "the dataset is damaged: index the corpus again with --fresh".to_owned(),
            })
        }))
    }

    /// Reads text columns that are never null.
    pub fn read_texts<const N: usize>(
        &self,
        file: &FileEntry,
        columns: [&'static str; N],
    ) -> Result<impl Iterator<Item = Result<[StringArray; N]>> + use<N>> {
        let path = self.root.join(&file.path);
        let damaged = move |column: &str| Error::Dataset {
            path: path.clone(),
            problem: format!("`{column}` is not a text column"),
            help: "the dataset is damaged: index the corpus again with --fresh".to_owned(),
        };
        let text = move |batch: RecordBatch| {
            let column = |name| batch.column_by_name(name).and_then(|column| column.as_string_opt::<i32>()).cloned();
            let found = columns.iter().map(|name| column(name).ok_or_else(|| damaged(name)));
            let found: Vec<StringArray> = found.collect::<Result<_>>()?;
            found.try_into().map_err(|_| damaged("?"))
        };
        Ok(self.read(file, &columns, None)?.map(move |batch| text(batch?)))
    }

    /// Returns the columns that the file has if the dataset has the current format version.
    fn schema_of(&self, file: &FileEntry) -> SchemaRef {
        let table = Table::ALL.into_iter().find(|table| table.name() == file.table);
        let schema = table.map(|table| self.manifest.schema(table));
        schema.unwrap_or_else(|| Arc::new(Schema::empty()))
    }

    /// Reads some columns of a file in batches of rows: all rows, or those in `rows`, ranges in ascending order. A
    /// column that is newer than the dataset's version is filled with nulls or empty lists.
    ///
    /// # Errors
    /// [`Error::Dataset`] if the file is missing or is not the expected Parquet file.
    pub fn read(
        &self,
        file: &FileEntry,
        columns: &[&str],
        rows: Option<Vec<Range<usize>>>,
    ) -> Result<impl Iterator<Item = Result<RecordBatch>> + use<>> {
        self.read_at(&self.root.join(&file.path), file, columns, rows)
    }

    /// Reads a file like [`read`](Self::read) from where it is before it has its place in the dataset.
    pub(crate) fn read_at(
        &self,
        path: &Path,
        file: &FileEntry,
        columns: &[&str],
        rows: Option<Vec<Range<usize>>>,
    ) -> Result<impl Iterator<Item = Result<RecordBatch>> + use<>> {
        let damaged = {
            let path = path.to_owned();
            move |problem: String| Error::Dataset {
                path: path.clone(),
                problem,
                help: "the dataset is damaged: index the corpus again with --fresh".to_owned(),
            }
        };
        let opened = self.root.storage().open(path).map_err(|error| match error.kind() {
            std::io::ErrorKind::NotFound => Error::Dataset {
                path: path.to_owned(),
                problem: "is missing".to_owned(),
                help: "if the dataset was just replaced, run again; otherwise index the corpus again with --fresh"
                    .to_owned(),
            },
            _ => damaged(error.to_string()),
        })?;
        // With the page index, pages without a requested row are skipped.
        let places = if rows.is_some() { PageIndexPolicy::Optional } else { PageIndexPolicy::Skip };
        let options = ArrowReaderOptions::new().with_offset_index_policy(places);
        let builder = ParquetRecordBatchReaderBuilder::try_new_with_options(opened, options);
        let builder = builder.map_err(|error| damaged(error.to_string()))?;
        let mut roots = Vec::with_capacity(columns.len());
        for &name in columns {
            match builder.schema().index_of(name) {
                Ok(root) => roots.push(root),
                Err(error) => return Err(damaged(error.to_string())),
            }
        }
        let mask = ProjectionMask::roots(builder.parquet_schema(), roots);
        let total = usize::try_from(file.rows).unwrap_or(usize::MAX);
        let rows_at_once = writer::rows_at_once(builder.metadata().row_groups(), BATCH_ROWS);
        let mut builder = builder.with_projection(mask).with_batch_size(rows_at_once);
        if let Some(rows) = rows {
            builder = builder.with_row_selection(RowSelection::from_consecutive_ranges(rows.into_iter(), total));
        }
        let reader = builder.build();
        let reader = reader.map_err(|error| damaged(error.to_string()))?;
        Ok(reader.map(move |batch| batch.map_err(|error| damaged(error.to_string()))))
    }
}

/// Returns the vectors of a column, row-major as they are stored; `None` if the column is not of this representation. A
/// representation in `f32` also reads other widths of floats, and lists of any kind.
pub fn vectors(column: &ArrayRef, of: &Representation) -> Option<StoredVectors> {
    let width = of.width();
    let values = match column.data_type() {
        DataType::FixedSizeList(_, size) if usize::try_from(*size) == Ok(width) => {
            column.as_fixed_size_list().values().clone()
        }
        DataType::List(_) => column.as_list::<i32>().values().clone(),
        _ => return None,
    };
    if column.len().checked_mul(width) != Some(values.len()) {
        return None;
    }
    Some(match of.stored {
        EmbeddingType::F32 | EmbeddingType::List => {
            let floats = cast(&values, &DataType::Float32).ok()?;
            StoredVectors::F32(floats.as_primitive_opt::<Float32Type>()?.values().to_vec())
        }
        EmbeddingType::F16 => StoredVectors::F16(values.as_primitive_opt::<Float16Type>()?.values().to_vec()),
        EmbeddingType::Int8 => StoredVectors::Int8(values.as_primitive_opt::<Int8Type>()?.values().to_vec()),
        EmbeddingType::Bits => StoredVectors::Bits(values.as_primitive_opt::<UInt8Type>()?.values().to_vec()),
    })
}

/// Returns vectors that are stored as the columns of a batch are, row-major; of bits alone, zeros where the column `flags` says so.
/// `None` if a column is not of its representation. The vectors are as they were computed if a column is exact.
pub fn restored_vectors(batch: &RecordBatch, representations: &[Representation]) -> Option<Vec<f32>> {
    let sources = Representation::sources(representations);
    let columns: Vec<StoredVectors> =
        sources.iter().map(|of| vectors(batch.column_by_name(of.column())?, of)).collect::<Option<_>>()?;
    let best = sources.first()?;
    let mut restored = restore(&columns, best.dim);
    if best.stored == EmbeddingType::Bits {
        let zeros = flagged(batch.column_by_name("flags")?, ZERO_VECTOR)?;
        let vectors = restored.chunks_mut(best.dim.max(1)).zip(zeros).filter(|(_, is_zero)| *is_zero);
        vectors.for_each(|(vector, _)| vector.fill(0.0));
    }
    Some(restored)
}

/// Returns the vectors of a column of sparse vectors; `None` if it is none, or tokens are not in order.
pub fn sparse_vectors(column: &ArrayRef) -> Option<Vec<SparseVector>> {
    let lists = column.as_list_opt::<i32>()?;
    let elements = lists.values().as_struct_opt()?;
    // A slice of a column keeps the elements of all its rows.
    let first = usize::try_from(lists.offsets().first()).ok()?;
    let count = usize::try_from(lists.offsets().last()).ok()?.checked_sub(first)?;
    let is_inside = first.checked_add(count)? <= elements.len();
    let elements = is_inside.then(|| elements.slice(first, count))?;
    let tokens = elements.column_by_name("token")?.as_primitive_opt::<UInt32Type>()?;
    let weights = cast(elements.column_by_name("weight")?, &DataType::Float32).ok()?;
    let weights = weights.as_primitive_opt::<Float32Type>()?;
    let vector = |ends: &[i32]| {
        let [start, end] = [ends[0], ends[1]].map(|end| usize::try_from(end).ok()?.checked_sub(first));
        let (tokens, weights) = (tokens.values().get(start?..end?)?, weights.values().get(start?..end?)?);
        SparseVector::stored(tokens, weights)
    };
    lists.offsets().windows(2).map(vector).collect()
}

impl Length for Input {
    fn len(&self) -> u64 {
        self.size()
    }
}

impl ChunkReader for Input {
    type T = BufReader<Self>;

    fn get_read(&self, start: u64) -> Result<Self::T, ParquetError> {
        Ok(BufReader::new(self.reader_at(start)?))
    }

    fn get_bytes(&self, start: u64, length: usize) -> Result<Bytes, ParquetError> {
        let mut bytes = Vec::with_capacity(length);
        let read = self.reader_at(start)?.take(length as u64).read_to_end(&mut bytes)?;
        if read < length {
            return Err(ParquetError::EOF(format!("ends {} too early", count(length - read, "byte"))));
        }
        Ok(bytes.into())
    }
}
