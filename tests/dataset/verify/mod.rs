//! `verify`: everything that is wrong with a dataset is found and named, and the suggested command repairs it.
//!
//! | file | question it answers |
//! | --- | --- |
//! | `damage` | Is each kind of damage found, with its file, and mended by the suggested command? |
//! | `report` | What is reported of whole datasets, corpora that changed, and many findings? |

mod damage;
mod report;

use std::fs::{self, File};
use std::path::{Path, PathBuf};
use std::sync::Arc;

use arrow::array::{
    Array, ArrayRef, AsArray, BooleanArray, FixedSizeListArray, Float32Array, Int64Array, RecordBatch, StringArray,
};
use arrow::compute::{concat_batches, take_record_batch};
use arrow::datatypes::{DataType, Float32Type, Int64Type};
use chunkmill::dataset::{Verification, verify};
use parquet::arrow::ArrowWriter;
use parquet::arrow::arrow_reader::ParquetRecordBatchReaderBuilder;
use parquet::file::metadata::KeyValue;
use parquet::file::properties::WriterProperties;
use serde_json::Value;
use tempfile::TempDir;

use crate::common::{folder, run, sealed, write};

const PAGE: &str = "---\npromotion_level: verified\n---\n# Guide\n\nSee [setup](setup.md#install), [[notes]] and ![logo](l.png).\n\n\
                    ## Long\n\nThe first paragraph is about nothing at all.\n\nThe second one is about the first, 🚲 and so on.\n\n\
                    The third says what the others leave open.\n\n```sh\nls\n```\n\n| a | b |\n| - | - |\n| 1 | 2 |\n\n## End[^1]\n\nBye.\n\n[^1]: A note.\n";

fn corpus() -> TempDir {
    let setup = "# Setup\r\n\r\ntext with\r\nCRLF\r\n\r\n## Install\r\n\r\nRun it, then read the [guide](guide.md#nowhere).\r\n";
    let home = folder(&[("docs/guide.md", PAGE), ("docs/setup.md", setup), ("docs/notes.txt", "Some.\n\nMore.\n")]);
    write(home.path(), "docs/empty.md", b"");
    write(home.path(), "docs/blank.md", b"\n\n\n");
    write(home.path(), "docs/bom.md", "\u{feff}# Mark\n\nbytes\n".as_bytes());
    write(home.path(), "docs/bad.md", b"caf\xE9");
    for name in ["docs/cats.html", "docs/zoo.html"] {
        write(home.path(), name, b"<main><h1>Zoo</h1><p>Animals &amp; plants.</main>");
    }
    for (name, swap) in [("docs/little.md", false), ("docs/big.md", true)] {
        let text = format!("\u{feff}# 見出し\n\n{}\n\n## Ascii\n\nplain\n", "本文です。".repeat(30));
        let bytes = text.encode_utf16().flat_map(|unit| if swap { unit.to_be_bytes() } else { unit.to_le_bytes() });
        write(home.path(), name, &bytes.collect::<Vec<u8>>());
    }
    home
}

const SETTINGS: [&str; 8] = ["--files", "2", "--min", "20", "--max", "120", "--overlap", "30"];

fn index(home: &Path, out: &str, extra: &[&str]) {
    let args = [&["index", "docs", "-o", out, "--embedder", "fake"], extra].concat();
    let (code, _, err) = run(home, &args);
    assert_eq!(code, 3, "one document is not text: {err}");
}

fn check(out: &Path) -> Verification {
    verify(&out.into(), None).unwrap()
}

/// A dataset that is about to be damaged.
struct Victim {
    out: PathBuf,
}

impl Victim {
    fn manifest(&self) -> Value {
        serde_json::from_slice(&fs::read(self.out.join("manifest.json")).unwrap()).unwrap()
    }

    fn edit_manifest(&self, edit: impl FnOnce(&mut Value)) {
        let mut manifest = self.manifest();
        edit(&mut manifest);
        fs::write(self.out.join("manifest.json"), sealed(&manifest)).unwrap();
    }

    /// Returns the manifest's entry for the file of a table that has the most rows.
    fn entry(&self, table: &str) -> Value {
        let manifest = self.manifest();
        let files = manifest["files"].as_array().unwrap().iter().filter(|file| file["table"] == table);
        files.max_by_key(|file| file["rows"].as_u64()).unwrap().clone()
    }

    fn path(&self, table: &str) -> PathBuf {
        self.out.join(self.entry(table)["path"].as_str().unwrap())
    }

    /// Replaces the bytes of a table's file, and makes the manifest name the new file.
    fn replace(&self, table: &str, bytes: &[u8], rows: Option<usize>) {
        let old = self.entry(table);
        let path = old["path"].as_str().unwrap();
        let hash = blake3::hash(bytes).to_hex().to_string();
        let (start, rest) = path.rsplit_once('-').unwrap();
        let new = format!("{start}-{}{}", &hash[..16], &rest[16..]);
        fs::remove_file(self.out.join(path)).unwrap();
        fs::write(self.out.join(&new), bytes).unwrap();
        self.edit_manifest(|manifest| {
            let files = manifest["files"].as_array_mut().unwrap();
            let entry = files.iter_mut().find(|file| file["path"] == path).unwrap();
            entry["bytes"] = bytes.len().into();
            entry["rows"] = rows.map_or(entry["rows"].clone(), Into::into);
            entry["blake3"] = hash.into();
            entry["path"] = new.into();
        });
    }

    /// Rewrites a table's file with other rows, as a faulty writer would: every hash is right.
    fn rewrite(&self, table: &str, edit: impl FnOnce(RecordBatch) -> RecordBatch) {
        self.rewrite_with(table, edit, |_| {});
    }

    fn rewrite_with(
        &self,
        table: &str,
        edit: impl FnOnce(RecordBatch) -> RecordBatch,
        describe: impl FnOnce(&mut Vec<KeyValue>),
    ) {
        let reader = ParquetRecordBatchReaderBuilder::try_new(File::open(self.path(table)).unwrap()).unwrap();
        let mut keys = reader.metadata().file_metadata().key_value_metadata().unwrap().clone();
        keys.retain(|pair| pair.key != "ARROW:schema");
        describe(&mut keys);
        let schema = reader.schema().clone();
        let batches: Vec<RecordBatch> = reader.build().unwrap().map(Result::unwrap).collect();
        let batch = edit(concat_batches(&schema, &batches).unwrap());
        let properties = WriterProperties::builder().set_key_value_metadata(Some(keys)).build();
        let mut bytes = Vec::new();
        let mut writer = ArrowWriter::try_new(&mut bytes, batch.schema(), Some(properties)).unwrap();
        writer.write(&batch).unwrap();
        writer.close().unwrap();
        self.replace(table, &bytes, Some(batch.num_rows()));
    }

    /// Sets one cell of a table.
    fn set(&self, table: &str, column: &str, row: usize, value: impl Into<Value>) {
        let value = value.into();
        self.rewrite(table, |batch| with(&batch, column, row, &value));
    }

    /// Changes one number of a table.
    fn add(&self, table: &str, column: &str, row: usize, number: i64) {
        self.rewrite(table, |batch| {
            let old = batch.column_by_name(column).unwrap().as_primitive::<Int64Type>().value(row);
            with(&batch, column, row, &(old + number).into())
        });
    }

    /// Keeps these rows of a table, in this order.
    fn keep(&self, table: &str, rows: impl FnOnce(&RecordBatch) -> Vec<usize>) {
        self.rewrite(table, |batch| {
            let rows = rows(&batch).into_iter().map(|row| row as i64).collect::<Int64Array>();
            take_record_batch(&batch, &rows).unwrap()
        });
    }

    fn vector(&self, edit: impl FnOnce(&mut [f32])) {
        self.rewrite("chunks", |batch| {
            let column = batch.column_by_name("embedding").unwrap().as_fixed_size_list();
            let mut values = column.values().as_primitive::<Float32Type>().values().to_vec();
            edit(&mut values[64..128]);
            let DataType::FixedSizeList(field, size) = column.data_type() else { unreachable!() };
            let values = Arc::new(Float32Array::from(values));
            let column = FixedSizeListArray::new(Arc::clone(field), *size, values, None);
            put(&batch, "embedding", Arc::new(column))
        });
    }
}

fn put(batch: &RecordBatch, column: &str, values: ArrayRef) -> RecordBatch {
    let mut columns = batch.columns().to_vec();
    columns[batch.schema().index_of(column).unwrap()] = values;
    RecordBatch::try_new(batch.schema(), columns).unwrap()
}

fn with(batch: &RecordBatch, column: &str, row: usize, value: &Value) -> RecordBatch {
    let old = batch.column_by_name(column).unwrap();
    let values: ArrayRef = match old.data_type() {
        DataType::Utf8 => {
            let mut values: Vec<Option<&str>> = old.as_string::<i32>().iter().collect();
            values[row] = value.as_str();
            Arc::new(StringArray::from(values))
        }
        DataType::Int64 => {
            let mut values: Vec<Option<i64>> = old.as_primitive::<Int64Type>().iter().collect();
            values[row] = value.as_i64();
            Arc::new(Int64Array::from(values))
        }
        DataType::Boolean => {
            let mut values: Vec<Option<bool>> = old.as_boolean().iter().collect();
            values[row] = value.as_bool();
            Arc::new(BooleanArray::from(values))
        }
        other => panic!("{other}"),
    };
    put(batch, column, values)
}

fn text<'b>(batch: &'b RecordBatch, column: &str) -> Vec<&'b str> {
    batch.column_by_name(column).unwrap().as_string::<i32>().iter().map(Option::unwrap_or_default).collect()
}
