//! Writing one table file.
//!
//! Rows are buffered up to a row group's size and then encoded, so memory is bounded by one row
//! group (at most about 32 MB of rows), whatever the file holds.

use std::io::{self, Write};
use std::path::Path;

use arrow::array::RecordBatch;
use parquet::arrow::ArrowWriter;
use parquet::basic::{Compression, Encoding, ZstdLevel};
use parquet::errors::ParquetError;
use parquet::file::metadata::{KeyValue, SortingColumn};
use parquet::file::properties::{EnabledStatistics, WriterProperties, WriterPropertiesBuilder};
use parquet::schema::types::ColumnPath;

use super::disk::Output;
use super::outline::OutlineRow;
use super::rows::{ChunkRow, DocumentRow, EdgeRow};
use super::schema::{self, EmbeddingType, FloatEncoding, Table};
use super::{FileEntry, Manifest, Staging};
use crate::error::{Error, Result};

/// Bytes of rows in a row group. Row groups stay far below the 64 MB that readers like.
const ROW_GROUP_BYTES: usize = 32 << 20;

/// Level of compression.
const ZSTD_LEVEL: i32 = 3;

/// Writes the file number `index` of both tables: rows sorted by document and position, with their
/// vectors row-major. The files are staged, not yet committed.
///
/// # Errors
/// [`Error::Io`] or [`Error::Dataset`] if a file cannot be written.
pub fn write_table(
    staging: &Staging,
    manifest: &Manifest,
    index: usize,
    chunks: &[ChunkRow],
    vectors: &[f32],
    documents: &[DocumentRow],
) -> Result<[FileEntry; 2]> {
    let kind = manifest.output.embedding_type;
    let dim = manifest.model.dim;
    let mut weight = 0;
    let mut group = 0;
    let mut groups: Vec<usize> = Vec::new();
    for row in chunks {
        weight += row.weight() + dim * size_of::<f32>();
        group += 1;
        if weight >= ROW_GROUP_BYTES {
            groups.push(std::mem::take(&mut group));
            weight = 0;
        }
    }
    groups.push(group);
    let mut at = 0;
    let chunk_batches = groups.into_iter().map(|rows| {
        let range = at..at + rows;
        at = range.end;
        schema::chunks_batch(&chunks[range.clone()], &vectors[range.start * dim..range.end * dim], kind, dim)
    });
    let chunks = write(staging, manifest, Table::Chunks, index, chunk_batches)?;
    let document_batches = documents.chunks(1 << 16).map(schema::documents_batch);
    let documents = write(staging, manifest, Table::Documents, index, document_batches)?;
    Ok([chunks, documents])
}

/// Writes the file number `index` of `edges`, a row group for each batch of rows. They come sorted
/// by document, position of the chunk, and position in it. The file is staged, not yet committed.
///
/// # Errors
/// The first error of the batches; [`Error::Io`] or [`Error::Dataset`] if the file cannot be written.
pub fn write_edges(
    staging: &Staging,
    manifest: &Manifest,
    index: usize,
    batches: impl Iterator<Item = Result<Vec<EdgeRow>>>,
) -> Result<FileEntry> {
    // The writer only takes errors of its own kind, so the job's error waits here.
    let mut failed = None;
    let batches = batches.map_while(|rows| rows.map_err(|error| failed = Some(error)).ok());
    let entry = write(staging, manifest, Table::Edges, index, batches.map(|rows| schema::edges_batch(&rows)));
    failed.map_or(entry, Err)
}

/// Writes what is to be known of the documents of part `index` when links are resolved or the part is taken over by a
/// later run. The file is staged, not yet committed.
///
/// # Errors
/// [`Error::Io`]
pub fn write_outlines<'r>(
    staging: &Staging,
    manifest: &Manifest,
    index: usize,
    rows: impl Iterator<Item = &'r OutlineRow>,
) -> Result<FileEntry> {
    stage(staging, manifest, "state/outlines", index, "jsonl.zst", |to, path| {
        let mut count = 0;
        let write = || -> io::Result<()> {
            let mut encoder = zstd::Encoder::new(to, ZSTD_LEVEL)?;
            for row in rows {
                count += 1;
                serde_json::to_writer(&mut encoder, row)?;
                encoder.write_all(b"\n")?;
            }
            encoder.finish()?;
            Ok(())
        };
        write().map_err(Error::io("write", path))?;
        Ok(count)
    })
}

fn write(
    staging: &Staging,
    manifest: &Manifest,
    table: Table,
    index: usize,
    batches: impl Iterator<Item = Result<RecordBatch, arrow::error::ArrowError>>,
) -> Result<FileEntry> {
    let schema = table.schema(manifest.output.embedding_type, manifest.model.dim);
    stage(staging, manifest, &format!("data/{}", table.name()), index, "parquet", |to, path| {
        // What the disk says, as it said it.
        let failed = |error: ParquetError| match error {
            ParquetError::External(error) => match error.downcast::<io::Error>() {
                Ok(error) => Error::io("write", path)(*error),
                Err(error) => Error::io("write", path)(io::Error::other(error)),
            },
            error => Error::io("write", path)(io::Error::other(error)),
        };
        let mut writer = ArrowWriter::try_new(to, schema, Some(properties(table, manifest))).map_err(failed)?;
        let mut rows = 0;
        for batch in batches {
            let batch = batch.map_err(|error| failed(ParquetError::ArrowError(error.to_string())))?;
            rows += batch.num_rows();
            writer.write(&batch).map_err(failed)?;
            writer.flush().map_err(failed)?;
        }
        writer.close().map_err(failed)?;
        Ok(rows)
    })
}

/// Stages a file whose name ends in its hash; `write` returns its rows.
fn stage(
    staging: &Staging,
    manifest: &Manifest,
    folder: &str,
    index: usize,
    extension: &str,
    write: impl FnOnce(&mut Hashing<io::BufWriter<&mut dyn Output>>, &Path) -> Result<usize>,
) -> Result<FileEntry> {
    let mut staged = staging.create()?;
    let path = staged.path().to_owned();
    let inner = io::BufWriter::new(staged.file_mut());
    let mut hashing = Hashing { inner, hasher: blake3::Hasher::new(), bytes: 0 };
    let rows = write(&mut hashing, &path)? as u64;
    hashing.flush().map_err(Error::io("write", &path))?;
    let (blake3, bytes) = (hashing.hasher.finalize().to_hex().to_string(), hashing.bytes);
    drop(hashing);
    let name = format!("train-{index:05}-of-{:05}-{}.{extension}", manifest.output.files, &blake3[..16]);
    let path = format!("{folder}/{name}");
    staged.finish(&path)?;
    let table = folder.rsplit('/').next().unwrap_or_default().to_owned();
    Ok(FileEntry { table, path, rows, bytes, blake3 })
}

fn properties(table: Table, manifest: &Manifest) -> WriterProperties {
    let zstd = ZstdLevel::try_new(ZSTD_LEVEL).map_or(Compression::UNCOMPRESSED, Compression::ZSTD);
    let mut builder = WriterProperties::builder()
        .set_created_by(format!("chunkmill {}", env!("CARGO_PKG_VERSION")))
        .set_compression(zstd)
        .set_max_row_group_row_count(None)
        .set_statistics_enabled(EnabledStatistics::Page)
        .set_key_value_metadata(Some(key_values(manifest)));
    let columns = table.schema(manifest.output.embedding_type, manifest.model.dim);
    let sorting = |name: &str| -> Option<SortingColumn> {
        // Leaf columns before lists and structs are numbered as the fields are.
        let column_idx = i32::try_from(columns.index_of(name).ok()?).ok()?;
        Some(SortingColumn { column_idx, descending: false, nulls_first: false })
    };
    let sorted: Vec<SortingColumn> = match table {
        Table::Chunks => [sorting("doc_id"), sorting("chunk_index")].into_iter().flatten().collect(),
        Table::Documents => sorting("doc_id").into_iter().collect(),
        Table::Edges => sorting("from_doc").into_iter().collect(),
    };
    builder = builder.set_sorting_columns(Some(sorted));
    // No dictionary where values hardly repeat: it would be built and thrown away.
    let unique: &[&str] = match table {
        Table::Chunks => &["chunk_id", "content", "content_hash", "start_byte", "end_byte", "start_char", "end_char"],
        Table::Documents => &["doc_id", "path", "content_hash"],
        Table::Edges => &[],
    };
    for column in unique {
        builder = builder.set_column_dictionary_enabled(ColumnPath::from(*column), false);
    }
    let looked_up: &[&str] = match table {
        Table::Chunks => &["chunk_id", "doc_id"],
        Table::Documents => &["doc_id"],
        Table::Edges => &["from_doc", "to_doc"],
    };
    builder = looked_up.iter().fold(builder, |builder, column| bloom(builder, column));
    if table == Table::Chunks {
        builder = embedding(builder, manifest);
    }
    builder.build()
}

fn bloom(builder: WriterPropertiesBuilder, column: &str) -> WriterPropertiesBuilder {
    builder.set_column_bloom_filter_enabled(ColumnPath::from(column), true)
}

fn embedding(builder: WriterPropertiesBuilder, manifest: &Manifest) -> WriterPropertiesBuilder {
    let path = || ColumnPath::new(["embedding", "list", "element"].map(str::to_owned).to_vec());
    let split =
        manifest.output.float_encoding == FloatEncoding::Bss && manifest.output.embedding_type != EmbeddingType::F16;
    let encoding = if split { Encoding::BYTE_STREAM_SPLIT } else { Encoding::PLAIN };
    builder
        .set_column_dictionary_enabled(path(), false)
        .set_column_encoding(path(), encoding)
        .set_column_statistics_enabled(path(), EnabledStatistics::None)
}

/// What a reader of one file alone would want to know.
pub(super) fn key_values(manifest: &Manifest) -> Vec<KeyValue> {
    let model = &manifest.model;
    let pairs = [
        ("chunkmill.format_version", manifest.format_version.to_string()),
        ("chunkmill.spec", manifest.spec.text.clone()),
        ("chunkmill.spec_fingerprint", manifest.spec.fingerprint.clone()),
        ("chunkmill.model", model.id.clone()),
        ("chunkmill.model_fingerprint", model.fingerprint.clone()),
        ("chunkmill.pooling", model.pooling.clone()),
        ("chunkmill.dim", model.dim.to_string()),
    ];
    pairs.into_iter().map(|(key, value)| KeyValue::new(key.to_owned(), value)).collect()
}

/// Hashes and counts what passes through.
struct Hashing<W> {
    inner: W,
    hasher: blake3::Hasher,
    bytes: u64,
}

impl<W: Write> Write for Hashing<W> {
    fn write(&mut self, buf: &[u8]) -> io::Result<usize> {
        let written = self.inner.write(buf)?;
        self.hasher.update(&buf[..written]);
        self.bytes += written as u64;
        Ok(written)
    }

    fn flush(&mut self) -> io::Result<()> {
        self.inner.flush()
    }
}
