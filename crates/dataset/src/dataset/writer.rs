//! Writing the files of a part.
//!
//! Rows arrive in batches of any size and are cut into pages and row groups by their contents. So a file's bytes
//! depend only on its rows, not on how they arrived or what produced them. Memory is bounded by one row group as it
//! is on disk.
//!
//! The choices were measured on the chunks of 33 MB of Markdown (49,758 rows, 91 MB with vectors of 64 values). The
//! table has ratios to what is written today: zstd level 3, pages of 1 MiB and row groups of 16 MiB.
//!
//! | instead | size | the same without vectors | encoding takes | reading `content` takes |
//! | --- | --- | --- | --- | --- |
//! | level 1 | 1.11 | 1.13 | 0.8 | 1.1 |
//! | level 6 | 0.93 | 0.92 | 2.2 | 0.8 |
//! | level 9 | 0.91 | 0.90 | 3.2 | 0.8 |
//! | no compression | 3.78 | 4.31 | 0.4 | 0.2 |
//! | pages of 64 KiB | 1.16 | 1.15 | 1.0 | 1.1 |
//! | pages of 256 KiB | 1.09 | 1.08 | 1.0 | 0.9 |
//! | row groups of 4 MiB | 1.10 | 1.11 | 1.1 | 1.0 |
//! | row groups of 64 MiB | 0.95 | 0.95 | 0.9 | 1.0 |
//!
//! Readers gain little from any of these. Level 6 would save a fourteenth of the size and take more than twice the
//! time of the only thread that writes. Larger row groups would take four times the memory to save a twentieth.

use std::io::{self, Write};
use std::path::{Path, PathBuf};

use arrow::array::{Array, AsArray, RecordBatch};
use arrow::compute::concat_batches;
use arrow::datatypes::{DataType, SchemaRef};
use chunkmill_base::error::{Error, Result};
use chunkmill_embed::{EmbeddingType, INT8_ONE, Representation, SparseVector};
use parquet::arrow::ArrowWriter;
use parquet::basic::{Compression, Encoding, ZstdLevel};
use parquet::errors::ParquetError;
use parquet::file::metadata::{KeyValue, RowGroupMetaData, SortingColumn};
use parquet::file::properties::{EnabledStatistics, WriterProperties, WriterPropertiesBuilder};
use parquet::schema::types::ColumnPath;

use super::outline::OutlineRow;
use super::row_hash::ROW_HASH;
use super::rows::{ChunkRow, DocumentRow, DuplicateRow, EdgeRow, batches};
use super::schema::{self, FloatEncoding, SPARSE, Table};
use super::workspace::{StagedFile, Workspace};
use super::{Counts, FileEntry, Manifest};

/// Bytes of rows in a row group, far below the 64 MB that readers like.
const ROW_GROUP_BYTES: usize = 16 << 20;

/// Returns how many rows to read at a time from a file of a table, at most `most`: fewer if the rows of a row group
/// are few, because then they are large. In a file, what rows have in common takes no room.
pub(super) fn rows_at_once(groups: &[RowGroupMetaData], most: usize) -> usize {
    // The last row group has as many rows as were left.
    let full = groups.split_last().map_or(groups, |(_, full)| full).iter();
    let fewest = full.filter_map(|group| usize::try_from(group.num_rows()).ok()).min();
    fewest.unwrap_or(most).clamp(1, most)
}

/// Bytes of rows that are encoded together.
const BATCH_BYTES: usize = 2 << 20;

/// Compression level.
const ZSTD_LEVEL: i32 = 3;

/// A writer of the files of one part, except edges.
pub(crate) struct PartWriter<'a> {
    manifest: &'a Manifest,
    chunks: TableWriter<'a>,
    documents: TableWriter<'a>,
    outlines: OutlineWriter<'a>,
    counts: Counts,
}

impl<'a> PartWriter<'a> {
    /// Starts the files of part `index`.
    ///
    /// # Errors
    /// [`Error::Io`]
    pub(crate) fn new(workspace: &'a Workspace, manifest: &'a Manifest, index: usize) -> Result<Self> {
        Ok(Self {
            manifest,
            chunks: TableWriter::new(workspace, manifest, Table::Chunks, index)?,
            documents: TableWriter::new(workspace, manifest, Table::Documents, index)?,
            outlines: OutlineWriter::new(workspace, manifest, index)?,
            counts: Counts::default(),
        })
    }

    /// Adds rows, sorted by document and position like earlier ones, with the vectors of the chunks row-major, and their
    /// sparse vectors if the manifest has a sparse model.
    ///
    /// # Errors
    /// [`Error::Io`]
    pub(crate) fn push(
        &mut self,
        chunks: &[ChunkRow],
        vectors: &[f32],
        sparse: &[SparseVector],
        documents: &[DocumentRow],
        outlines: &[OutlineRow],
    ) -> Result<()> {
        let (all, dim) = (self.manifest.representations(), self.manifest.model.dim);
        let failed = |path: &Path, error| Error::io("write", path)(io::Error::other(error));
        for rows in batches(chunks.iter().map(ChunkRow::bytes)) {
            let vectors = &vectors[rows.start * dim..rows.end * dim];
            let sparse = self.manifest.model.sparse.as_ref().map(|_| &sparse[rows.clone()]);
            let batch = schema::chunks_batch(&chunks[rows], &all, vectors, sparse);
            self.push_chunks(&batch.map_err(|error| failed(&self.chunks.path, error))?)?;
        }
        let batch = schema::documents_batch(documents);
        self.push_documents(&batch.map_err(|error| failed(&self.documents.path, error))?)?;
        outlines.iter().try_for_each(|row| self.push_outline(row))
    }

    /// Adds rows of `chunks` in their form on disk.
    ///
    /// # Errors
    /// [`Error::Io`]
    pub(crate) fn push_chunks(&mut self, rows: &RecordBatch) -> Result<()> {
        self.counts.add_chunks(rows);
        self.chunks.push(rows)
    }

    /// Adds rows of `documents` in their form on disk.
    ///
    /// # Errors
    /// [`Error::Io`]
    pub(crate) fn push_documents(&mut self, rows: &RecordBatch) -> Result<()> {
        self.counts.add_documents(rows);
        self.documents.push(rows)
    }

    /// Adds the outline of a document.
    ///
    /// # Errors
    /// [`Error::Io`]
    pub(crate) fn push_outline(&mut self, row: &OutlineRow) -> Result<()> {
        // Indexed documents are counted by their rows.
        if matches!(row, OutlineRow::Quarantined(_)) {
            self.counts.add_quarantined();
        }
        self.outlines.push(row)
    }

    /// Finishes the files and returns them with the part's counts. The files are staged but not yet committed.
    ///
    /// # Errors
    /// [`Error::Io`]
    pub(crate) fn finish(self) -> Result<(Vec<FileEntry>, Counts)> {
        let files = vec![self.chunks.finish()?, self.documents.finish()?, self.outlines.finish()?];
        Ok((files, self.counts))
    }
}

/// Writes file number `index` of `edges`. Rows must be sorted by document, position of the chunk, and position in
/// the chunk. The file is staged but not yet committed.
///
/// # Errors
/// The first error of the batches; [`Error::Io`] if the file cannot be written.
pub(crate) fn write_edges(
    workspace: &Workspace,
    manifest: &Manifest,
    index: usize,
    batches: impl Iterator<Item = Result<Vec<EdgeRow>>>,
) -> Result<FileEntry> {
    let mut table = TableWriter::new(workspace, manifest, Table::Edges, index)?;
    for rows in batches {
        let batch = schema::edges_batch(&rows?);
        table.push(&batch.map_err(|error| Error::io("write", &table.path)(io::Error::other(error)))?)?;
    }
    table.finish()
}

/// Writes file number `index` of `duplicates`. Rows must be sorted by document. The file is staged but not yet committed.
///
/// # Errors
/// [`Error::Io`]
pub(crate) fn write_duplicates(
    workspace: &Workspace,
    manifest: &Manifest,
    index: usize,
    rows: &[DuplicateRow],
) -> Result<FileEntry> {
    let mut table = TableWriter::new(workspace, manifest, Table::Duplicates, index)?;
    let batch = schema::duplicates_batch(rows);
    table.push(&batch.map_err(|error| Error::io("write", &table.path)(io::Error::other(error)))?)?;
    table.finish()
}

/// A writer of one file of a table.
struct TableWriter<'a> {
    table: Table,
    place: (usize, usize),
    schema: SchemaRef,
    writer: ArrowWriter<Lent<'a>>,
    path: PathBuf,
    /// Rows that are not encoded yet, and roughly how many bytes they take.
    pending: Vec<RecordBatch>,
    weight: usize,
    /// Bytes of rows in the open row group.
    group: usize,
    rows: u64,
}

impl<'a> TableWriter<'a> {
    fn new(workspace: &'a Workspace, manifest: &Manifest, table: Table, index: usize) -> Result<Self> {
        let schema = manifest.schema(table);
        let file = workspace.create()?;
        let path = file.path().to_owned();
        let file = Lent(Some(file));
        let writer = ArrowWriter::try_new(file, SchemaRef::clone(&schema), Some(properties(table, manifest)));
        let writer = writer.map_err(|error| refused(error, &path))?;
        let place = (index, manifest.output.files);
        Ok(Self { table, place, schema, writer, path, pending: Vec::new(), weight: 0, group: 0, rows: 0 })
    }

    fn push(&mut self, batch: &RecordBatch) -> Result<()> {
        self.rows += batch.num_rows() as u64;
        let mut start = 0;
        for (row, weight) in weigh(batch).into_iter().enumerate() {
            self.weight += weight;
            if self.weight >= BATCH_BYTES {
                self.pending.push(batch.slice(start, row + 1 - start));
                self.encode()?;
                start = row + 1;
            }
        }
        if start < batch.num_rows() {
            self.pending.push(batch.slice(start, batch.num_rows() - start));
        }
        Ok(())
    }

    /// Encodes the pending rows and ends the row group if it is large enough.
    fn encode(&mut self) -> Result<()> {
        let refused = |error| refused(error, &self.path);
        let batch = concat_batches(&self.schema, &self.pending).map_err(|error| refused(error.into()))?;
        self.pending.clear();
        self.group += std::mem::take(&mut self.weight);
        self.writer.write(&batch).map_err(refused)?;
        if self.group >= ROW_GROUP_BYTES {
            self.group = 0;
            self.writer.flush().map_err(refused)?;
        }
        Ok(())
    }

    fn finish(mut self) -> Result<FileEntry> {
        if !self.pending.is_empty() {
            self.encode()?;
        }
        self.writer.finish().map_err(|error| refused(error, &self.path))?;
        let file = self.writer.inner_mut().0.take().ok_or_else(|| Error::io("write", &self.path)(Lent::gone()))?;
        file.finish_data(&format!("data/{}", self.table.name()), self.place, "parquet", self.rows)
    }
}

/// A file that can be taken back from its writer when everything is written. An I/O error on the last bytes then
/// stays an I/O error; `ArrowWriter::into_inner` turns it into text.
struct Lent<'a>(Option<StagedFile<'a>>);

impl Lent<'_> {
    fn gone() -> io::Error {
        io::Error::other("the file is already finished")
    }
}

impl Write for Lent<'_> {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.0.as_mut().ok_or_else(Self::gone)?.write(bytes)
    }

    fn flush(&mut self) -> io::Result<()> {
        self.0.as_mut().ok_or_else(Self::gone)?.flush()
    }
}

/// Converts a Parquet error; an I/O error inside it is kept unchanged.
fn refused(error: ParquetError, path: &Path) -> Error {
    match error {
        ParquetError::External(error) => match error.downcast::<io::Error>() {
            Ok(error) => Error::io("write", path)(*error),
            Err(error) => Error::io("write", path)(io::Error::other(error)),
        },
        error => Error::io("write", path)(io::Error::other(error)),
    }
}

/// Returns roughly how many bytes each row takes before compression.
fn weigh(batch: &RecordBatch) -> Vec<usize> {
    let mut weights = vec![0; batch.num_rows()];
    batch.columns().iter().for_each(|column| add_weights(column, &mut weights));
    weights
}

fn add_weights(column: &dyn Array, weights: &mut [usize]) {
    match column.data_type() {
        DataType::Utf8 => {
            let offsets = column.as_string::<i32>().offsets().lengths();
            weights.iter_mut().zip(offsets).for_each(|(weight, length)| *weight += length);
        }
        DataType::List(_) => {
            let (offsets, values) = (column.as_list::<i32>().offsets(), column.as_list::<i32>().values());
            let start = usize::try_from(offsets[0]).unwrap_or_default();
            let lengths: Vec<usize> = offsets.lengths().collect();
            let mut items = vec![0; lengths.iter().sum()];
            add_weights(&values.slice(start, items.len()), &mut items);
            let mut items = items.into_iter();
            for (weight, length) in weights.iter_mut().zip(lengths) {
                *weight += items.by_ref().take(length).sum::<usize>();
            }
        }
        DataType::Struct(_) => column.as_struct().columns().iter().for_each(|column| add_weights(column, weights)),
        fixed => {
            let width = match fixed {
                DataType::FixedSizeList(item, size) => {
                    item.data_type().primitive_width().unwrap_or_default() * usize::try_from(*size).unwrap_or_default()
                }
                fixed => fixed.primitive_width().unwrap_or(1),
            };
            for weight in weights {
                *weight += width;
            }
        }
    }
}

/// A writer of a part's outlines, which are read to resolve links and when a later run reuses the part.
struct OutlineWriter<'a> {
    place: (usize, usize),
    encoder: zstd::Encoder<'static, StagedFile<'a>>,
    rows: u64,
}

impl<'a> OutlineWriter<'a> {
    fn new(workspace: &'a Workspace, manifest: &Manifest, index: usize) -> Result<Self> {
        let file = workspace.create()?;
        let path = file.path().to_owned();
        let encoder = zstd::Encoder::new(file, ZSTD_LEVEL).map_err(Error::io("write", path))?;
        Ok(Self { place: (index, manifest.output.files), encoder, rows: 0 })
    }

    fn push(&mut self, row: &OutlineRow) -> Result<()> {
        self.rows += 1;
        let line = serde_json::to_string(row).unwrap_or_default() + "\n";
        let written = self.encoder.write_all(line.as_bytes());
        written.map_err(|error| Error::io("write", self.encoder.get_ref().path())(error))
    }

    fn finish(self) -> Result<FileEntry> {
        let path = self.encoder.get_ref().path().to_owned();
        let file = self.encoder.finish().map_err(Error::io("write", path))?;
        file.finish_data("state/outlines", self.place, "jsonl.zst", self.rows)
    }
}

fn properties(table: Table, manifest: &Manifest) -> WriterProperties {
    let zstd = ZstdLevel::try_new(ZSTD_LEVEL).map_or(Compression::UNCOMPRESSED, Compression::ZSTD);
    let mut builder = WriterProperties::builder()
        .set_created_by(format!("chunkmill {}", env!("CARGO_PKG_VERSION")))
        .set_compression(zstd)
        .set_max_row_group_row_count(None)
        .set_statistics_enabled(EnabledStatistics::Page)
        .set_key_value_metadata(Some(key_values(manifest)));
    let columns = manifest.schema(table);
    let sorting = |name: &str| -> Option<SortingColumn> {
        // Leaf columns before any list or struct have the same numbers as the fields.
        let column_idx = i32::try_from(columns.index_of(name).ok()?).ok()?;
        Some(SortingColumn { column_idx, descending: false, nulls_first: false })
    };
    let sorted: Vec<SortingColumn> = match table {
        Table::Chunks => [sorting("doc_id"), sorting("chunk_index")].into_iter().flatten().collect(),
        Table::Documents | Table::Duplicates => sorting("doc_id").into_iter().collect(),
        Table::Edges => sorting("from_doc").into_iter().collect(),
    };
    builder = builder.set_sorting_columns(Some(sorted));
    // No dictionary where values hardly repeat: it would be built and then discarded.
    let unique: &[&str] = match table {
        Table::Chunks => {
            &["chunk_id", "content", "content_hash", ROW_HASH, "start_byte", "end_byte", "start_char", "end_char"]
        }
        Table::Documents => &["doc_id", "path", "content_hash"],
        Table::Edges => &[],
        Table::Duplicates => &["doc_id"],
    };
    for column in unique {
        builder = builder.set_column_dictionary_enabled(ColumnPath::from(*column), false);
    }
    let looked_up: &[&str] = match table {
        Table::Chunks => &["chunk_id", "doc_id"],
        Table::Documents | Table::Duplicates => &["doc_id"],
        Table::Edges => &["from_doc", "to_doc"],
    };
    builder = looked_up.iter().fold(builder, |builder, column| bloom(builder, column));
    // Hashes do not repeat.
    let signature = ColumnPath::new(["signature", "list", "element"].map(str::to_owned).to_vec());
    builder = builder.set_column_dictionary_enabled(signature, false);
    if table == Table::Chunks {
        let encoding = manifest.output.float_encoding;
        builder = manifest.representations().iter().fold(builder, |builder, of| vectors(builder, of, encoding));
        // Tokens repeat; weights hardly do.
        let weights = ColumnPath::new([SPARSE, "list", "element", "weight"].map(str::to_owned).to_vec());
        builder = builder.set_column_dictionary_enabled(weights, false);
    }
    builder.build()
}

fn bloom(builder: WriterPropertiesBuilder, column: &str) -> WriterPropertiesBuilder {
    builder.set_column_bloom_filter_enabled(ColumnPath::from(column), true)
}

fn vectors(builder: WriterPropertiesBuilder, of: &Representation, encoding: FloatEncoding) -> WriterPropertiesBuilder {
    let path = || ColumnPath::new([of.column(), "list", "element"].map(str::to_owned).to_vec());
    let split = encoding == FloatEncoding::Bss && of.stored.is_exact();
    let encoding = if split { Encoding::BYTE_STREAM_SPLIT } else { Encoding::PLAIN };
    builder
        .set_column_dictionary_enabled(path(), false)
        .set_column_encoding(path(), encoding)
        .set_column_statistics_enabled(path(), EnabledStatistics::None)
}

/// Returns the metadata that someone who reads a single file would want.
pub(super) fn key_values(manifest: &Manifest) -> Vec<KeyValue> {
    let model = &manifest.model;
    let pairs = [
        ("chunkmill.format_version", manifest.format_version.to_string()),
        ("chunkmill.spec", manifest.spec.text.clone()),
        ("chunkmill.html", manifest.admission.read.html.name().to_owned()),
        ("chunkmill.notebook_outputs", manifest.admission.read.notebook_outputs.to_string()),
        ("chunkmill.spec_fingerprint", manifest.spec.fingerprint.clone()),
        ("chunkmill.model", model.id.clone()),
        ("chunkmill.model_fingerprint", model.fingerprint.clone()),
        ("chunkmill.pooling", model.pooling.clone()),
        ("chunkmill.dim", model.dim.to_string()),
    ];
    let sparse = model.sparse.iter().flat_map(|sparse| {
        [("chunkmill.sparse_model", sparse.id.clone()), ("chunkmill.sparse_fingerprint", sparse.fingerprint.clone())]
    });
    let has_bytes = manifest.representations().iter().any(|of| of.stored == EmbeddingType::Int8);
    let scale = has_bytes.then(|| ("chunkmill.embedding_int8_scale", format!("1/{INT8_ONE}")));
    pairs.into_iter().chain(sparse).chain(scale).map(|(key, value)| KeyValue::new(key.to_owned(), value)).collect()
}
