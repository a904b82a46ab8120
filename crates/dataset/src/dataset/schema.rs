//! The tables, their schemas and batches.

use std::sync::Arc;

use arrow::array::{
    Array, ArrayRef, FixedSizeListArray, Float16Array, Float32Array, Int8Array, ListArray, RecordBatch, StructArray,
    UInt8Array, UInt32Array, new_null_array,
};
use arrow::buffer::OffsetBuffer;
use arrow::datatypes::{ArrowPrimitiveType, DataType, Field, Fields, Float16Type, Schema, SchemaRef};
use arrow::error::ArrowError;
use chunkmill_base::value::named;
use chunkmill_embed::{EmbeddingType, Representation, SparseVector, StoredVectors};

use super::columns::Columns;
use super::row_hash::{ROW_HASH, row_hashes};
use super::rows::{ChunkRow, DocumentRow, DuplicateRow, EdgeRow};

/// A table of the dataset.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Table {
    /// One row per chunk.
    Chunks,
    /// One row per document.
    Documents,
    /// One row per link inside the corpus.
    Edges,
    /// One row per document that has nearly the words of another.
    Duplicates,
}

impl Table {
    /// Every table.
    pub const ALL: [Self; 4] = [Self::Chunks, Self::Documents, Self::Edges, Self::Duplicates];

    /// Returns the table's name, which is also the name of its folder below `data/`.
    pub fn name(self) -> &'static str {
        match self {
            Self::Chunks => "chunks",
            Self::Documents => "documents",
            Self::Edges => "edges",
            Self::Duplicates => "duplicates",
        }
    }

    /// Returns the table's columns, including those of the vectors. `sparse` says whether there are sparse ones.
    pub fn schema(self, vectors: &[Representation], sparse: bool) -> SchemaRef {
        match self {
            Self::Chunks => chunks_schema(vectors, sparse),
            Self::Documents => documents_schema(),
            Self::Edges => edges_schema(),
            Self::Duplicates => duplicates_schema(),
        }
    }
}

named! {
    /// Encoding of `f32` vectors inside Parquet. `f16` is always plain, because readers lag behind.
    #[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
    pub enum FloatEncoding: "an encoding of floats" {
        /// `BYTE_STREAM_SPLIT`, which compresses better.
        #[default]
        Bss = "bss",
        /// `PLAIN`, for readers that support nothing else.
        Plain = "plain",
    }
}

/// A column of vectors.
fn vector(of: &Representation) -> Field {
    let element = |number| Arc::new(Field::new("element", number, false));
    let size = i32::try_from(of.width()).unwrap_or(i32::MAX);
    let values = match of.stored {
        EmbeddingType::F32 => DataType::FixedSizeList(element(DataType::Float32), size),
        EmbeddingType::F16 => DataType::FixedSizeList(element(DataType::Float16), size),
        EmbeddingType::List => DataType::List(element(DataType::Float32)),
        EmbeddingType::Int8 => DataType::FixedSizeList(element(DataType::Int8), size),
        EmbeddingType::Bits => DataType::FixedSizeList(element(DataType::UInt8), size),
    };
    Field::new(of.column(), values, false)
}

/// The column of sparse vectors.
pub const SPARSE: &str = "sparse_embedding";

/// A token and its weight, in a sparse vector.
fn token_weight() -> Fields {
    let field = |name, kind| Field::new(name, kind, false);
    Fields::from(vec![field("token", DataType::UInt32), field("weight", DataType::Float16)])
}

/// Returns the columns of `chunks`, those of the vectors last. Only chunks with vectors have a hash of the row.
pub fn chunks_schema(vectors: &[Representation], sparse: bool) -> SchemaRef {
    let mut fields = ChunkRow::fields();
    fields.extend((!vectors.is_empty()).then(|| Field::new(ROW_HASH, DataType::Utf8, false)));
    fields.extend(vectors.iter().map(vector));
    let element = || Arc::new(Field::new("element", DataType::Struct(token_weight()), false));
    fields.extend(sparse.then(|| Field::new(SPARSE, DataType::List(element()), false)));
    Arc::new(Schema::new(fields))
}

/// Returns the columns of `documents`.
pub fn documents_schema() -> SchemaRef {
    Arc::new(Schema::new(DocumentRow::fields()))
}

/// Returns the columns of `edges`.
pub fn edges_schema() -> SchemaRef {
    Arc::new(Schema::new(EdgeRow::fields()))
}

/// Returns the columns of `duplicates`.
pub fn duplicates_schema() -> SchemaRef {
    Arc::new(Schema::new(DuplicateRow::fields()))
}

/// Describes a column in words. Every column of every table has a description.
pub fn describe(table: Table, column: &str) -> Option<&'static str> {
    match table {
        Table::Chunks if column == SPARSE => {
            Some("the tokens that say something of the text, in order, and their weights; only with a sparse model")
        }
        Table::Chunks if column == ROW_HASH => Some(
            "hash of the row's other columns except for modified_time: a row with the same chunk_id and row_hash is the same",
        ),
        Table::Chunks => ChunkRow::describe(column).or_else(|| Representation::describe(column)),
        Table::Documents => DocumentRow::describe(column),
        Table::Edges => EdgeRow::describe(column),
        Table::Duplicates => DuplicateRow::describe(column),
    }
}

/// Builds a batch from rows of `chunks`, their vectors, row-major, which are stored in each of some representations, and
/// their sparse vectors, if they have some.
///
/// # Errors
/// Those of [`RecordBatch::try_new`], if the number of vectors differs from the number of rows.
pub fn chunks_batch(
    rows: &[ChunkRow],
    representations: &[Representation],
    vectors: &[f32],
    sparse: Option<&[SparseVector]>,
) -> Result<RecordBatch, ArrowError> {
    let schema = chunks_schema(representations, sparse.is_some());
    let mut columns = ChunkRow::arrays(&rows.iter().collect::<Vec<_>>())?;
    if !representations.is_empty() {
        columns.push(new_null_array(&DataType::Utf8, rows.len()));
    }
    for of in representations {
        columns.push(embeddings(rows.len(), of, vectors)?);
    }
    columns.extend(sparse.map(sparse_embeddings).transpose()?);
    if let Ok(place) = schema.index_of(ROW_HASH) {
        columns[place] = Arc::new(row_hashes(&schema, &columns, rows.len())?);
    }
    RecordBatch::try_new(schema, columns)
}

fn sparse_embeddings(vectors: &[SparseVector]) -> Result<ArrayRef, ArrowError> {
    let all = || vectors.iter().flat_map(SparseVector::weights);
    let half = |weight: f32| <Float16Type as ArrowPrimitiveType>::Native::from_f32(weight);
    let tokens = UInt32Array::from_iter_values(all().map(|(token, _)| *token));
    let weights = Float16Array::from_iter_values(all().map(|(_, weight)| half(*weight)));
    let elements = StructArray::try_new(token_weight(), vec![Arc::new(tokens), Arc::new(weights)], None)?;
    let offsets = OffsetBuffer::from_lengths(vectors.iter().map(|vector| vector.weights().len()));
    let field = Arc::new(Field::new("element", elements.data_type().clone(), false));
    Ok(Arc::new(ListArray::try_new(field, offsets, Arc::new(elements), None)?))
}

/// Builds a batch from rows of `documents`.
pub(super) fn documents_batch(rows: &[DocumentRow]) -> Result<RecordBatch, ArrowError> {
    RecordBatch::try_new(documents_schema(), DocumentRow::arrays(&rows.iter().collect::<Vec<_>>())?)
}

/// Builds a batch from rows of `edges`.
pub(super) fn edges_batch(rows: &[EdgeRow]) -> Result<RecordBatch, ArrowError> {
    RecordBatch::try_new(edges_schema(), EdgeRow::arrays(&rows.iter().collect::<Vec<_>>())?)
}

/// Builds a batch from rows of `duplicates`.
pub(super) fn duplicates_batch(rows: &[DuplicateRow]) -> Result<RecordBatch, ArrowError> {
    RecordBatch::try_new(duplicates_schema(), DuplicateRow::arrays(&rows.iter().collect::<Vec<_>>())?)
}

fn embeddings(rows: usize, of: &Representation, vectors: &[f32]) -> Result<ArrayRef, ArrowError> {
    let values: ArrayRef = match of.store(vectors) {
        StoredVectors::F32(values) => Arc::new(Float32Array::from(values)),
        StoredVectors::F16(values) => Arc::new(Float16Array::from(values)),
        StoredVectors::Int8(values) => Arc::new(Int8Array::from(values)),
        StoredVectors::Bits(values) => Arc::new(UInt8Array::from(values)),
    };
    let field = Arc::new(Field::new("element", values.data_type().clone(), false));
    if of.stored == EmbeddingType::List {
        let offsets = OffsetBuffer::from_lengths(vec![of.dim; rows]);
        return Ok(Arc::new(ListArray::try_new(field, offsets, values, None)?));
    }
    let width = of.width();
    let size = i32::try_from(width).map_err(|_| ArrowError::InvalidArgumentError(format!("width {width}")))?;
    Ok(Arc::new(FixedSizeListArray::try_new(field, size, values, None)?))
}
