//! `verify`: everything that is wrong with a dataset is found and named, and the suggested command repairs it.

use std::collections::BTreeSet;
use std::fs::{self, File};
use std::path::{Path, PathBuf};
use std::sync::Arc;

use arrow::array::{
    Array, ArrayRef, AsArray, BooleanArray, FixedSizeListArray, Float32Array, Int64Array, ListArray, ListBuilder,
    RecordBatch, StringArray, StringBuilder,
};
use arrow::buffer::OffsetBuffer;
use arrow::compute::{concat_batches, take_record_batch};
use arrow::datatypes::{DataType, Float32Type, Int64Type};
use chunkmill::chunk::Preset;
use chunkmill::corpus::Root;
use chunkmill::dataset::{Check, FORMAT_VERSION, Verification, verify};
use parquet::arrow::ArrowWriter;
use parquet::arrow::arrow_reader::ParquetRecordBatchReaderBuilder;
use parquet::file::metadata::KeyValue;
use parquet::file::properties::WriterProperties;
use serde_json::{Value, json};
use tempfile::TempDir;

use crate::common::{folder, run, sealed, tree, write};

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

#[test]
fn every_preset_and_way_to_store_vectors_passes_with_its_corpus() {
    let home = corpus();
    let roots = [Root::new(home.path().join("docs"))];
    for preset in Preset::ALL {
        for (kind, sizes) in [("f32", &[][..]), ("f16", &["--max", "60"]), ("list", &["--files", "1"])] {
            let sizes = if preset == Preset::None { &[] } else { sizes };
            index(home.path(), "out", &[&["--preset", preset.name(), "--embedding-type", kind], sizes].concat());
            let verification = verify(&home.path().join("out").into(), Some(&roots)).unwrap();
            assert_eq!(verification.findings, [], "{preset} {kind}");
            assert_eq!(verification.notes, [], "{preset} {kind}");
            assert_eq!(verification.counts.documents, 8);
            assert!(verification.rows > 16 && verification.bytes > 0 && verification.files >= 4);
        }
    }
}

#[test]
fn named_collections_and_a_real_model_pass() {
    let home = corpus();
    fs::remove_file(home.path().join("docs/bad.md")).unwrap();
    write(home.path(), "more/guide.md", PAGE.as_bytes());
    write(home.path(), "theirs/guide.md", PAGE.as_bytes());
    crate::common::tiny_model(&home.path().join("tiny"));
    for precision in ["f32", "int8"] {
        let index = ["index", "one=docs", "two=more", "external=theirs", "-o", "out", "--model", "tiny"];
        let (code, _, err) = run(home.path(), &[&index[..], &["--precision", precision]].concat());
        assert_eq!(code, 0, "{err}");
        let corpus = ["verify", "out", "--corpus", "one=docs", "two=more", "external=theirs"];
        let (code, out, err) = run(home.path(), &corpus);
        assert_eq!(code, 0, "{out}{err}");
        assert!(out.starts_with("verified: 32 files, ") && out.contains("compared with the corpus"), "{out}");
        assert_eq!(out.lines().count(), 1, "{out}");
    }
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

/// A name, a function that damages a copy of a dataset, the file, the kind of finding, and part of the expected
/// message.
type Case = (&'static str, fn(&Victim), &'static str, Check, &'static str);

fn cases() -> Vec<Case> {
    vec![
        // Bytes.
        (
            "a bit flips",
            |v| {
                let path = v.path("chunks");
                let mut bytes = fs::read(&path).unwrap();
                bytes[200] ^= 1;
                fs::write(path, bytes).unwrap();
            },
            "data/chunks/",
            Check::File,
            "has changed since it was written",
        ),
        (
            "a file is cut",
            |v| {
                let path = v.path("documents");
                let bytes = fs::read(&path).unwrap();
                fs::write(path, &bytes[..bytes.len() / 2]).unwrap();
            },
            "data/documents/",
            Check::File,
            " bytes; the manifest says ",
        ),
        ("a file is gone", |v| fs::remove_file(v.path("edges")).unwrap(), "data/edges/", Check::File, "is missing"),
        (
            "an outline is gone",
            |v| fs::remove_file(v.path("outlines")).unwrap(),
            "state/outlines/",
            Check::File,
            "is missing",
        ),
        // The manifest.
        (
            "a field is missing",
            |v| {
                v.edit_manifest(|m| {
                    m["model"].as_object_mut().unwrap().remove("arithmetic");
                })
            },
            "manifest.json",
            Check::Manifest,
            "lacks the field `model.arithmetic`",
        ),
        (
            "records of parts are missing",
            |v| {
                v.edit_manifest(|m| {
                    m.as_object_mut().unwrap().remove("parts");
                })
            },
            "manifest.json",
            Check::Manifest,
            "has 0 part records; there should be 2",
        ),
        (
            "a file is not named",
            |v| {
                v.edit_manifest(|m| {
                    m["files"].as_array_mut().unwrap().remove(0);
                })
            },
            "manifest.json",
            Check::Manifest,
            "names 1 file in data/chunks; there should be 2",
        ),
        (
            "a file is named twice",
            |v| {
                v.edit_manifest(|m| {
                    let first = m["files"][0].clone();
                    m["files"][1] = first;
                })
            },
            "manifest.json",
            Check::Manifest,
            "twice",
        ),
        (
            "files change places",
            |v| v.edit_manifest(|m| m["files"].as_array_mut().unwrap().swap(0, 1)),
            "manifest.json",
            Check::Manifest,
            "where `data/chunks/train-00000-of-00002-",
        ),
        (
            "a file has another table's name",
            |v| v.edit_manifest(|m| m["files"][0]["table"] = "edges".into()),
            "manifest.json",
            Check::Manifest,
            "under the table `edges`; it belongs to `chunks`",
        ),
        (
            "a file is named elsewhere",
            |v| {
                v.edit_manifest(|m| {
                    let mut other = m["files"][0].clone();
                    other["path"] = "quarantine.jsonl".into();
                    m["files"].as_array_mut().unwrap().push(other);
                })
            },
            "manifest.json",
            Check::Manifest,
            "is not in the folder of a table",
        ),
        (
            "rows are counted wrongly",
            |v| v.edit_manifest(|m| m["files"][0]["rows"] = 99.into()),
            "data/chunks/",
            Check::Footer,
            "the manifest says 99",
        ),
        (
            "a total is wrong",
            |v| v.edit_manifest(|m| m["counts"]["tokens"] = 1.into()),
            "manifest.json",
            Check::Count,
            "the count `tokens` of the dataset is 1;",
        ),
        (
            "a total of edges is wrong",
            |v| v.edit_manifest(|m| m["counts"]["edges_by_kind"]["image"]["unresolved"] = 7.into()),
            "manifest.json",
            Check::Count,
            "the count `edges_by_kind.image.unresolved` of the dataset is 7;",
        ),
        (
            "a part's total is wrong",
            |v| v.edit_manifest(|m| m["parts"][1]["counts"]["truncated"] = 7.into()),
            "manifest.json",
            Check::Count,
            "the count `truncated` of part 1 is 7;",
        ),
        (
            "a part's quarantine is wrong",
            |v| v.edit_manifest(|m| m["parts"][0]["counts"]["quarantined"] = 7.into()),
            "manifest.json",
            Check::Count,
            "the count `quarantined` of part 0 is 7;",
        ),
        (
            "documents get lost",
            |v| v.edit_manifest(|m| m["counts"]["discovered"] = 10.into()),
            "manifest.json",
            Check::Count,
            "8 documents and 1 in quarantine do not add up to 10 discovered",
        ),
        // Footers.
        (
            "a file is not Parquet",
            |v| v.replace("documents", b"PAR1 no PAR1", None),
            "data/documents/",
            Check::Footer,
            "is not Parquet",
        ),
        (
            "a column is missing",
            |v| {
                v.rewrite("chunks", |batch| {
                    let columns: Vec<usize> = (0..batch.num_columns() - 2).chain([batch.num_columns() - 1]).collect();
                    batch.project(&columns).unwrap()
                })
            },
            "data/chunks/",
            Check::Footer,
            "does not have the columns of the table chunks",
        ),
        (
            "a file was made with another spec",
            |v| {
                v.rewrite_with(
                    "edges",
                    |batch| batch,
                    |keys| {
                        keys.iter_mut().find(|pair| pair.key == "chunkmill.spec_fingerprint").unwrap().value =
                            Some("0".to_owned());
                    },
                )
            },
            "data/edges/",
            Check::Footer,
            "says `0` for chunkmill.spec_fingerprint; the manifest says `",
        ),
        (
            "a file does not say its dimension",
            |v| {
                v.rewrite_with(
                    "chunks",
                    |batch| batch,
                    |keys| {
                        keys.retain(|pair| pair.key != "chunkmill.dim");
                    },
                )
            },
            "data/chunks/",
            Check::Footer,
            "says `` for chunkmill.dim; the manifest says `64`",
        ),
        // Documents.
        (
            "a document's id changes",
            |v| v.set("documents", "doc_id", 1, "other.md"),
            "data/documents/",
            Check::Id,
            "has an id that does not match its path",
        ),
        (
            "a document stands twice",
            |v| v.keep("documents", |_| vec![0, 1, 1, 2, 3]),
            "data/documents/",
            Check::Id,
            "has the same id as the previous row",
        ),
        (
            "a document is missing",
            |v| v.keep("documents", |b| (1..b.num_rows()).collect()),
            "data/chunks/",
            Check::Document,
            "is not in the table documents",
        ),
        (
            "a document is missing, says the outline",
            |v| v.keep("documents", |b| (1..b.num_rows()).collect()),
            "state/outlines/",
            Check::Outline,
            "is not in the table documents",
        ),
        (
            "documents are not sorted",
            |v| v.keep("documents", |b| (0..b.num_rows()).rev().collect()),
            "data/documents/",
            Check::Order,
            "comes after rows that it should precede",
        ),
        (
            "a document is in another file",
            |v| {
                let ids = ["x.md", "y.md", "z.md", "w.md", "v.md"];
                let own = chunkmill::dataset::file_of(
                    &{
                        let reader =
                            ParquetRecordBatchReaderBuilder::try_new(File::open(v.path("documents")).unwrap()).unwrap();
                        let batch = reader.build().unwrap().next().unwrap().unwrap();
                        text(&batch, "doc_id")[0].to_owned()
                    },
                    2,
                );
                let stranger = ids.into_iter().find(|id| chunkmill::dataset::file_of(id, 2) != own).unwrap();
                v.rewrite("documents", |batch| {
                    let batch = with(&batch, "doc_id", 0, &stranger.into());
                    with(&batch, "path", 0, &stranger.into())
                });
            },
            "data/documents/",
            Check::Order,
            "belongs in file number",
        ),
        (
            "a document has other chunks",
            |v| v.add("documents", "chunk_count", 2, 5),
            "data/chunks/",
            Check::Document,
            "; its row says ",
        ),
        (
            "a document contradicts itself",
            |v| {
                v.rewrite("documents", |batch| {
                    let row =
                        text(&batch, "doc_id").iter().position(|id| *id == "guide.md" || *id == "setup.md").unwrap();
                    with(&batch, "is_chunked", row, &false.into())
                });
            },
            "data/documents/",
            Check::Document,
            "and is_chunked contradict each other",
        ),
        (
            "a document is smaller",
            |v| {
                v.rewrite("documents", |batch| {
                    (0..batch.num_rows()).fold(batch, |batch, row| with(&batch, "bytes", row, &3.into()))
                })
            },
            "data/chunks/",
            Check::Range,
            "; its document has 3",
        ),
        (
            "a document has fewer lines",
            |v| {
                v.rewrite("documents", |batch| {
                    (0..batch.num_rows()).fold(batch, |batch, row| with(&batch, "lines", row, &1.into()))
                })
            },
            "data/chunks/",
            Check::Range,
            "; its document has 1",
        ),
        (
            "a document is promoted alone",
            |v| {
                v.rewrite("documents", |batch| {
                    let counts = batch.column_by_name("chunk_count").unwrap().as_primitive::<Int64Type>();
                    let row = counts.iter().position(|count| count != Some(0)).unwrap();
                    with(&batch, "promotion_level", row, &"canonical".into())
                })
            },
            "data/chunks/",
            Check::Document,
            "its promotion_level differs from its document's",
        ),
        // Chunks.
        (
            "an id stands twice",
            |v| {
                v.rewrite("chunks", |batch| {
                    let id = text(&batch, "chunk_id")[0].to_owned();
                    with(&batch, "chunk_id", 3, &id.into())
                })
            },
            "data/chunks/",
            Check::Id,
            "row 4, chunk `",
        ),
        (
            "a chunk is of another document",
            |v| v.set("chunks", "doc_id", 1, "zzz.md"),
            "data/chunks/",
            Check::Document,
            "its path or collection differs from its document's",
        ),
        (
            "a chunk is missing",
            |v| v.keep("chunks", |b| (0..b.num_rows()).filter(|row| *row != 1).collect()),
            "data/chunks/",
            Check::Document,
            "; its row says ",
        ),
        (
            "all chunks of a document are missing",
            |v| {
                v.keep("chunks", |b| {
                    let ids = text(b, "doc_id");
                    (0..b.num_rows()).filter(|row| ids[*row] != ids[0]).collect()
                })
            },
            "data/chunks/",
            Check::Document,
            "lacks all chunks of 1 document that should have some",
        ),
        (
            "a chunk is counted wrongly",
            |v| v.add("chunks", "n_tokens", 0, 5),
            "manifest.json",
            Check::Count,
            "the count `tokens` of part ",
        ),
        (
            "positions have a gap",
            |v| v.add("chunks", "chunk_index", 0, 3),
            "data/chunks/",
            Check::Order,
            "has position 3 in its document; expected 0",
        ),
        (
            "chunks are not sorted",
            |v| v.keep("chunks", |b| (0..b.num_rows()).rev().collect()),
            "data/chunks/",
            Check::Order,
            "comes after rows that it should precede",
        ),
        (
            "a range runs backwards",
            |v| v.add("chunks", "start_byte", 2, 100_000),
            "data/chunks/",
            Check::Range,
            "are not a range",
        ),
        (
            "a line is line 0",
            |v| v.set("chunks", "start_line", 2, 0),
            "data/chunks/",
            Check::Range,
            "start_line 0 and end_line",
        ),
        (
            "a range is too long in bytes",
            |v| v.add("chunks", "end_byte", 2, 1),
            "data/chunks/",
            Check::Range,
            " bytes; its text without the prefix has ",
        ),
        (
            "a range is too long in characters",
            |v| v.add("chunks", "end_char", 2, 1),
            "data/chunks/",
            Check::Range,
            " characters; its text without the prefix has ",
        ),
        (
            "a range is too long in lines",
            |v| v.add("chunks", "end_line", 2, 1),
            "data/chunks/",
            Check::Range,
            " line ends; its text without the prefix has ",
        ),
        (
            "a prefix is too long",
            |v| v.set("chunks", "prefix_len", 2, 100_000),
            "data/chunks/",
            Check::Range,
            "prefix_len 100000 is outside its content",
        ),
        (
            "a prefix ends inside a character",
            |v| {
                v.rewrite("chunks", |batch| {
                    let row = text(&batch, "content").iter().position(|content| !content.is_ascii()).unwrap();
                    let content = text(&batch, "content")[row];
                    let inside = (0..content.len()).find(|at| !content.is_char_boundary(*at)).unwrap();
                    with(&batch, "prefix_len", row, &inside.into())
                })
            },
            "data/chunks/",
            Check::Range,
            "inside a character",
        ),
        (
            "characters are counted wrongly",
            |v| v.add("chunks", "n_chars", 2, 1),
            "data/chunks/",
            Check::Range,
            "n_chars is ",
        ),
        (
            "a text changes",
            |v| {
                v.rewrite("chunks", |batch| {
                    let other = text(&batch, "content")[2].replace(['e', 'o', 'a'], "x");
                    with(&batch, "content", 2, &other.into())
                })
            },
            "data/chunks/",
            Check::Content,
            "content_hash is not the BLAKE3 of content",
        ),
        (
            "a hash changes",
            |v| v.set("chunks", "content_hash", 2, "00"),
            "data/chunks/",
            Check::Content,
            "content_hash is not the BLAKE3 of content",
        ),
        (
            "a chunk is promoted alone",
            |v| v.set("chunks", "promotion_level", 2, "canonical"),
            "data/chunks/",
            Check::Document,
            "its promotion_level differs from its document's",
        ),
        (
            "a vector is not a number",
            |v| v.vector(|vector| vector[3] = f32::NAN),
            "data/chunks/",
            Check::Vector,
            "row 2, chunk `",
        ),
        (
            "a vector is infinite",
            |v| v.vector(|vector| vector[3] = f32::INFINITY),
            "data/chunks/",
            Check::Vector,
            "its vector contains a value that is not a finite number",
        ),
        (
            "a vector is too long",
            |v| v.vector(|vector| vector.iter_mut().for_each(|x| *x *= 1.001)),
            "data/chunks/",
            Check::Vector,
            "its vector has length 1.00100, not 1",
        ),
        (
            "a vector is nothing",
            |v| v.vector(|vector| vector.fill(0.0)),
            "data/chunks/",
            Check::Vector,
            "its vector has length 0.00000, not 1",
        ),
        (
            "a vector is said to be nothing",
            |v| {
                v.rewrite("chunks", |batch| {
                    let DataType::List(field) = batch.column_by_name("flags").unwrap().data_type().clone() else {
                        unreachable!()
                    };
                    let mut flags = ListBuilder::new(StringBuilder::new()).with_field(field);
                    for row in 0..batch.num_rows() {
                        if row == 1 {
                            flags.values().append_value("zero_vector");
                        }
                        flags.append(true);
                    }
                    put(&batch, "flags", Arc::new(flags.finish()))
                })
            },
            "data/chunks/",
            Check::Vector,
            "it has the flag zero_vector, but its vector is not zero",
        ),
        // Edges.
        (
            "an edge leads nowhere",
            |v| {
                v.rewrite("edges", |batch| {
                    let row = text(&batch, "to_doc").iter().position(|to| !to.is_empty()).unwrap();
                    with(&batch, "to_doc", row, &"gone.md".into())
                })
            },
            "data/edges/",
            Check::Edge,
            "to_doc `gone.md` is not in the table documents",
        ),
        (
            "an edge leads to another document's chunk",
            |v| {
                v.rewrite("edges", |batch| {
                    let row = text(&batch, "to_chunk").iter().position(|to| !to.is_empty()).unwrap();
                    let own = text(&batch, "from_chunk")[row].to_owned();
                    with(&batch, "to_chunk", row, &own.into())
                })
            },
            "data/edges/",
            Check::Edge,
            "is not a chunk of `",
        ),
        (
            "an edge leads to a chunk of nothing",
            |v| {
                v.rewrite("edges", |batch| {
                    let row = text(&batch, "to_chunk").iter().position(|to| !to.is_empty()).unwrap();
                    with(&batch, "to_doc", row, &Value::Null)
                })
            },
            "data/edges/",
            Check::Edge,
            "has no to_doc",
        ),
        (
            "an edge leads from nowhere",
            |v| v.set("edges", "from_doc", 0, "gone.md"),
            "data/edges/",
            Check::Edge,
            "from_doc `gone.md` is not in the table documents",
        ),
        (
            "an edge leads from another chunk",
            |v| v.set("edges", "from_chunk", 0, "gone"),
            "data/edges/",
            Check::Edge,
            "from_chunk `gone` is not a chunk of `",
        ),
        (
            "an edge is resolved to nothing",
            |v| {
                v.rewrite("edges", |batch| {
                    let row = text(&batch, "to_doc").iter().position(|to| to.is_empty()).unwrap();
                    with(&batch, "resolved", row, &true.into())
                })
            },
            "data/edges/",
            Check::Edge,
            "is resolved but leads to no document",
        ),
        (
            "an edge leads to a chunk unresolved",
            |v| {
                v.rewrite("edges", |batch| {
                    let row = text(&batch, "to_chunk").iter().position(|to| !to.is_empty()).unwrap();
                    with(&batch, "resolved", row, &false.into())
                })
            },
            "data/edges/",
            Check::Edge,
            "leads to a chunk but is not resolved",
        ),
        (
            "an edge is of no kind",
            |v| v.set("edges", "kind", 0, "rope"),
            "data/edges/",
            Check::Edge,
            "`rope` is not a kind of link",
        ),
        (
            "an edge is missing",
            |v| v.keep("edges", |b| (1..b.num_rows()).collect()),
            "data/edges/",
            Check::Edge,
            " edges; the outlines have ",
        ),
        // Outlines.
        (
            "an outline is no outline",
            |v| v.replace("outlines", b"not zstd", None),
            "state/outlines/",
            Check::Outline,
            "cannot be read",
        ),
        (
            "an outline lacks a document",
            |v| {
                let lines =
                    String::from_utf8(zstd::decode_all(File::open(v.path("outlines")).unwrap()).unwrap()).unwrap();
                let kept: String = lines.split_inclusive('\n').skip(1).collect();
                v.replace("outlines", &zstd::encode_all(kept.as_bytes(), 3).unwrap(), None);
            },
            "state/outlines/",
            Check::Outline,
            " lines; the manifest says ",
        ),
        // The list.
        (
            "the list is gone",
            |v| fs::remove_file(v.out.join("quarantine.jsonl")).unwrap(),
            "quarantine.jsonl",
            Check::Quarantine,
            "is missing",
        ),
        (
            "the list is short",
            |v| fs::write(v.out.join("quarantine.jsonl"), "").unwrap(),
            "quarantine.jsonl",
            Check::Quarantine,
            "lists 0 documents; the manifest says 1",
        ),
        (
            "the list is no list",
            |v| fs::write(v.out.join("quarantine.jsonl"), "{}\n").unwrap(),
            "quarantine.jsonl",
            Check::Quarantine,
            "line 1: missing field",
        ),
        (
            "the list is another one",
            |v| {
                let list = fs::read_to_string(v.out.join("quarantine.jsonl")).unwrap();
                fs::write(v.out.join("quarantine.jsonl"), list.replace("bad.md", "mad.md")).unwrap();
            },
            "quarantine.jsonl",
            Check::Quarantine,
            "has changed since it was written",
        ),
        (
            "the list is counted wrongly",
            |v| {
                v.edit_manifest(|m| {
                    m["counts"]["quarantined"] = 2.into();
                    m["counts"]["discovered"] = 10.into();
                })
            },
            "quarantine.jsonl",
            Check::Quarantine,
            "lists 1 document; the manifest says 2",
        ),
        // The card.
        (
            "the card is gone",
            |v| fs::remove_file(v.out.join("README.md")).unwrap(),
            "README.md",
            Check::Card,
            "is missing",
        ),
        (
            "the card is another one",
            |v| fs::write(v.out.join("README.md"), "# Mine\n").unwrap(),
            "README.md",
            Check::Card,
            "has changed since it was written",
        ),
    ]
}

#[test]
fn whatever_is_wrong_is_found_with_its_file_and_mended_by_what_is_said_to() {
    let home = corpus();
    index(home.path(), "whole", &SETTINGS);
    let whole = tree(&home.path().join("whole"));
    assert_eq!(check(&home.path().join("whole")).findings, []);
    let mut failed = Vec::new();
    let mut mended = BTreeSet::new();
    for (name, spoil, file, kind, problem) in cases() {
        let out = home.path().join("out");
        for (path, bytes) in &whole {
            write(&out, path, bytes);
        }
        spoil(&Victim { out: out.clone() });
        let found = check(&out).findings;
        let finding = found
            .iter()
            .find(|found| found.file.starts_with(file) && found.check == kind && found.problem.contains(problem));
        match finding {
            None => failed.push(format!("{name}: not found in {found:#?}")),
            // Once for each kind of finding and file.
            Some(finding) if mended.insert((kind, file)) => {
                // The suggested command, word by word.
                let command = finding.help.replace("CORPUS", "docs");
                let args: Vec<&str> =
                    command.split(' ').skip(1).chain(["--embedder", "fake"]).chain(SETTINGS).collect();
                let (code, _, err) = run(home.path(), &args);
                assert_eq!(code, 3, "{name}: {command}: {err}");
                if tree(&out) != whole {
                    failed.push(format!("{name}: {command} does not repair it"));
                }
            }
            Some(_) => {}
        }
        fs::remove_dir_all(&out).unwrap();
    }
    assert!(failed.is_empty(), "{}", failed.join("\n"));
}

#[test]
fn vectors_of_uneven_length_are_found() {
    let home = corpus();
    index(home.path(), "out", &["--files", "2", "--embedding-type", "list"]);
    let victim = Victim { out: home.path().join("out") };
    victim.rewrite("chunks", |batch| {
        let column = batch.column_by_name("embedding").unwrap().as_list::<i32>();
        let DataType::List(field) = column.data_type() else { unreachable!() };
        let mut lengths = vec![64; column.len()];
        (lengths[0], lengths[1]) = (63, 65);
        let offsets = OffsetBuffer::from_lengths(lengths);
        let column = ListArray::new(Arc::clone(field), offsets, Arc::clone(column.values()), None);
        put(&batch, "embedding", Arc::new(column))
    });
    let found = check(&victim.out).findings;
    assert!(
        found.iter().any(|f| f.check == Check::Vector && f.problem.contains("do not have 64 values")),
        "{found:#?}"
    );
}

#[test]
fn a_corpus_that_changed_is_told_document_by_document() {
    let home = corpus();
    index(home.path(), "out", &SETTINGS);
    let verify = || {
        let (code, out, err) = run(home.path(), &["verify", "out", "--corpus", "docs", "--json"]);
        assert!(err.is_empty(), "{err}");
        (code, serde_json::from_str::<Value>(&out).unwrap())
    };
    assert_eq!(verify().0, 0);
    write(home.path(), "docs/new.md", b"# New\n");
    assert_eq!(verify().0, 0, "what is not indexed is for `index` to find");
    write(home.path(), "docs/setup.md", b"# Other\n");
    fs::remove_file(home.path().join("docs/empty.md")).unwrap();
    write(home.path(), "docs/bom.md", b"\xC3(");
    let (code, result) = verify();
    assert_eq!((code, &result["ok"]), (1, &false.into()));
    let findings: Vec<&str> =
        result["findings"].as_array().unwrap().iter().map(|f| f["problem"].as_str().unwrap()).collect();
    for problem in ["`setup.md`: its file", "`empty.md`: is no longer in the corpus", "`bom.md`: its file"] {
        assert_eq!(findings.iter().filter(|finding| finding.contains(problem)).count(), 1, "{problem}: {findings:#?}");
    }
    assert_eq!(findings.len(), 3, "chunks of what has changed are not compared: {findings:#?}");
    assert_eq!(result["findings"][0]["help"], "chunkmill index CORPUS -o out");
}

#[test]
fn a_range_that_is_wrong_in_itself_consistently_is_found_in_the_corpus() {
    let home = corpus();
    index(home.path(), "out", &["--files", "1", "--strategy", "none"]);
    let victim = Victim { out: home.path().join("out") };
    // Another text of the same shape, with its own hash: only the file shows the difference.
    victim.rewrite("chunks", |batch| {
        let row = text(&batch, "doc_id").iter().position(|id| *id == "notes.txt").unwrap();
        let other = text(&batch, "content")[row].replace("More", "Less");
        let hash = blake3::hash(other.as_bytes()).to_hex().to_string();
        with(&with(&batch, "content", row, &other.into()), "content_hash", row, &hash.into())
    });
    assert_eq!(check(&victim.out).findings, []);
    let (code, out, _) = run(home.path(), &["verify", "out", "--corpus", "docs"]);
    assert_eq!(code, 1);
    assert!(out.contains("`notes.txt_chunk_0`: its text is not the file's bytes 0.."), "{out}");
    assert!(out.contains("\n1 problem: 4 files, "), "{out}");
}

#[test]
fn many_findings_of_a_kind_are_counted_not_listed() {
    let pages: Vec<(String, String)> = (0..40).map(|i| (format!("docs/{i}.md"), format!("# Page {i}\n"))).collect();
    let home = folder(&pages.iter().map(|(name, text)| (name.as_str(), text.as_str())).collect::<Vec<_>>());
    let index = ["index", "docs", "-o", "out", "--embedder", "fake", "--files", "1"];
    assert_eq!(run(home.path(), &index).0, 0);
    Victim { out: home.path().join("out") }
        .rewrite("chunks", |batch| (0..40).fold(batch, |batch, row| with(&batch, "content_hash", row, &"".into())));
    let (code, out, _) = run(home.path(), &["verify", "out"]);
    assert_eq!(code, 1);
    assert_eq!(out.matches("content_hash is not the BLAKE3").count(), 10, "{out}");
    assert!(out.contains("  … and 30 more\n  help: chunkmill index CORPUS -o out --fresh\n40 problems: "), "{out}");
    let (_, out, _) = run(home.path(), &["verify", "out", "--json"]);
    let result: Value = serde_json::from_str(&out).unwrap();
    assert_eq!(result["found"], json!({"content": 40}));
    assert_eq!(result["findings"].as_array().unwrap().len(), 40);
    assert_eq!(result["findings"][0]["check"], "content");
}

#[test]
fn leftovers_are_notes() {
    let home = corpus();
    index(home.path(), "out", &[]);
    write(home.path(), "out/data/chunks/train-00000-of-00008-0123456789abcdef.parquet", b"orphan");
    let (code, out, _) = run(home.path(), &["verify", "out"]);
    assert_eq!(code, 0, "{out}");
    assert!(out.starts_with("note: data/chunks/train-00000-of-00008-0123456789abcdef.parquet: 6 bytes, "), "{out}");
    assert!(out.contains("\n  help: chunkmill gc out\nverified: "), "{out}");
}

#[test]
fn what_is_no_dataset_of_this_version_is_refused() {
    let home = corpus();
    let (code, _, err) = run(home.path(), &["verify", "out"]);
    assert!(code == 5 && err.contains("manifest.json: does not exist"), "{err}");
    index(home.path(), "out", &[]);
    let victim = Victim { out: home.path().join("out") };
    for (version, problem) in [
        (FORMAT_VERSION - 1, "rebuild it: chunkmill index CORPUS -o out"),
        (FORMAT_VERSION + 1, "use a newer chunkmill"),
    ] {
        victim.edit_manifest(|manifest| manifest["format_version"] = version.into());
        let (code, _, err) = run(home.path(), &["verify", "out"]);
        assert!(code == 5 && err.contains(problem), "{err}");
    }
    write(home.path(), "out/manifest.json", b"{\"format");
    let (code, _, err) = run(home.path(), &["verify", "out"]);
    assert!(code == 5 && err.contains("is damaged"), "{err}");
    assert_eq!(run(home.path(), &["verify", "out", "--corpus", "missing"]).0, 5);
}
