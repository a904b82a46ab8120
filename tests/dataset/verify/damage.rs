//! Each kind of damage: what is done to a dataset, and the finding that it causes.

use std::collections::BTreeSet;
use std::fs::{self, File};
use std::sync::Arc;

use arrow::array::{
    Array, ArrayRef, AsArray, FixedSizeListArray, Float32Array, Float64Array, Int8Array, Int64Array, ListArray,
    ListBuilder, RecordBatch, StringBuilder, StructArray, UInt8Array, UInt32Array,
};
use arrow::buffer::OffsetBuffer;
use arrow::compute::cast;
use arrow::datatypes::{DataType, Int8Type, Int64Type, UInt8Type};
use chunkmill::dataset::{Check, Finding, SPARSE, sparse_vectors};
use parquet::arrow::arrow_reader::ParquetRecordBatchReaderBuilder;
use serde_json::Value;

use super::{SETTINGS, Victim, check, corpus, index, put, text, with};
use crate::common::{run, tree, write};
use crate::tiny::{SparseQueries, Tiny};

/// A name, a function that damages a copy of a dataset, the file, the kind of finding, and part of the expected
/// message.
type Case = (&'static str, fn(&Victim), &'static str, Check, &'static str);

/// Damages a dataset as each case says. `verify` must find it, in the right file, and the command that it suggests must
/// repair the dataset: once for each kind of finding and file.
fn assert_found_and_mended(cases: &[Case]) {
    let home = corpus();
    index(home.path(), "whole", &SETTINGS);
    let whole = tree(&home.path().join("whole"));
    assert_eq!(check(&home.path().join("whole")).findings, []);
    let mut failed = Vec::new();
    let mut mended = BTreeSet::new();
    for &(name, spoil, file, kind, problem) in cases {
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
fn files_that_changed_or_are_gone_are_found() {
    assert_found_and_mended(&[
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
    ]);
}

#[test]
fn a_manifest_that_names_wrong_files_is_found() {
    assert_found_and_mended(&[
        (
            "a field is missing",
            |v| {
                v.edit_manifest(|m| {
                    m["model"].as_object_mut().unwrap().remove("revision");
                })
            },
            "manifest.json",
            Check::Manifest,
            "lacks the field `model.revision`",
        ),
        (
            "records of parts are missing",
            |v| {
                v.edit_manifest(|m| {
                    m["parts"] = serde_json::json!([]);
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
    ]);
}

#[test]
fn counts_that_are_wrong_are_found() {
    assert_found_and_mended(&[
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
            |v| v.edit_manifest(|m| m["counts"]["discovered"] = 12.into()),
            "manifest.json",
            Check::Count,
            "10 documents and 1 in quarantine do not add up to 12 discovered",
        ),
    ]);
}

#[test]
fn footers_that_do_not_fit_the_manifest_are_found() {
    assert_found_and_mended(&[
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
    ]);
}

#[test]
fn documents_that_are_misplaced_are_found() {
    assert_found_and_mended(&[
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
    ]);
}

/// Gives a document some ranges of boilerplate, and others none.
fn set_boilerplate(victim: &Victim, ranges: &[(i64, i64)]) {
    victim.rewrite("documents", |batch| {
        let document = text(&batch, "doc_id").iter().position(|id| *id == "guide.md" || *id == "setup.md").unwrap();
        let DataType::List(field) = batch.column_by_name("boilerplate").unwrap().data_type().clone() else {
            unreachable!()
        };
        let DataType::Struct(fields) = field.data_type() else { unreachable!() };
        let bytes =
            |of: fn(&(i64, i64)) -> i64| -> ArrayRef { Arc::new(ranges.iter().map(of).collect::<Int64Array>()) };
        let all = StructArray::new(fields.clone(), vec![bytes(|range| range.0), bytes(|range| range.1)], None);
        let lengths = (0..batch.num_rows()).map(|row| if row == document { ranges.len() } else { 0 });
        let lists = ListArray::new(Arc::clone(&field), OffsetBuffer::from_lengths(lengths), Arc::new(all), None);
        put(&batch, "boilerplate", Arc::new(lists))
    });
}

#[test]
fn documents_that_contradict_their_chunks_are_found() {
    assert_found_and_mended(&[
        (
            "a document has boilerplate where it has no text",
            |v| set_boilerplate(v, &[(36, 40), (41, 1_000_000)]),
            "data/chunks/",
            Check::Document,
            "has boilerplate that is text of no chunk: 1 range",
        ),
        (
            "the boilerplate of a document is in another order",
            |v| set_boilerplate(v, &[(38, 39), (36, 37)]),
            "data/documents/",
            Check::Document,
            "its boilerplate is not in order",
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
    ]);
}

#[test]
fn chunks_that_are_missing_or_misplaced_are_found() {
    assert_found_and_mended(&[
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
            "a chunk is promoted alone",
            |v| v.set("chunks", "promotion_level", 2, "canonical"),
            "data/chunks/",
            Check::Document,
            "its promotion_level differs from its document's",
        ),
    ]);
}

#[test]
fn ranges_that_do_not_fit_their_text_are_found() {
    assert_found_and_mended(&[
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
            "a layer has other words",
            |v| {
                v.rewrite("documents", |batch| {
                    let row = (0..batch.num_rows()).find(|row| batch["layer"].is_valid(*row)).unwrap();
                    with(&batch, "layer", row, &"# Zoo\n\nAnimals & stones.\n".into())
                });
            },
            "data/chunks/",
            Check::Range,
            "its text is not its layer's bytes ",
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
    ]);
}

#[test]
fn texts_that_do_not_fit_their_hash_are_found() {
    assert_found_and_mended(&[
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
    ]);
}

#[test]
fn vectors_without_length_1_are_found() {
    assert_found_and_mended(&[
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
    ]);
}

#[test]
fn duplicates_that_are_none_are_found() {
    assert_found_and_mended(&[
        (
            "a duplicate is of nothing",
            |v| v.set("duplicates", "duplicate_of", 0, "bad.md"),
            "data/duplicates/",
            Check::Duplicate,
            "`bad.md` is not in the table documents",
        ),
        (
            "a duplicate is of itself",
            |v| v.set("duplicates", "duplicate_of", 0, "zoo.html"),
            "data/duplicates/",
            Check::Duplicate,
            "which is one too",
        ),
        (
            "a duplicate is of a later document",
            |v| v.set("duplicates", "doc_id", 0, "big.md"),
            "data/duplicates/",
            Check::Duplicate,
            "does not come before it",
        ),
        (
            "a duplicate is not alike",
            |v| {
                v.rewrite("duplicates", |batch| {
                    let place = batch.schema().index_of("jaccard").unwrap();
                    let mut columns = batch.columns().to_vec();
                    columns[place] = Arc::new(Float64Array::from(vec![0.5; batch.num_rows()]));
                    RecordBatch::try_new(batch.schema(), columns).unwrap()
                })
            },
            "data/duplicates/",
            Check::Duplicate,
            "has shares that cannot be",
        ),
        (
            "a duplicate is missing",
            |v| v.rewrite("duplicates", |batch| batch.slice(0, 0)),
            "manifest.json",
            Check::Count,
            "the count `duplicates` of the dataset is",
        ),
        (
            "the hash of a row is wrong",
            |v| v.set("chunks", "row_hash", 0, "00000000000000000000000000000000"),
            "data/chunks/",
            Check::Content,
            "row_hash is not the hash of its other columns",
        ),
    ]);
}

#[test]
fn edges_that_lead_nowhere_are_found() {
    assert_found_and_mended(&[
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
    ]);
}

#[test]
fn outlines_that_are_damaged_are_found() {
    assert_found_and_mended(&[
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
    ]);
}

#[test]
fn a_quarantine_list_that_is_wrong_is_found() {
    assert_found_and_mended(&[
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
                    m["counts"]["discovered"] = 12.into();
                })
            },
            "quarantine.jsonl",
            Check::Quarantine,
            "lists 1 document; the manifest says 2",
        ),
    ]);
}

#[test]
fn a_card_that_changed_is_found() {
    assert_found_and_mended(&[
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
    ]);
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
        found.iter().any(|f| f.check == Check::Vector && f.problem.contains("embedding does not have 64 values")),
        "{found:#?}"
    );
}

#[test]
fn a_small_vector_that_is_not_its_vector_is_found() {
    let home = corpus();
    for kind in ["f32,int8,bits", "f16,int8,bits", "int8,bits"] {
        for changed in kind.split(',').skip(1) {
            let out = format!("{kind}-{changed}");
            index(home.path(), &out, &["--files", "2", "--embedding-type", kind]);
            let victim = Victim { out: home.path().join(out) };
            assert_eq!(check(&victim.out).findings, [], "{kind}");
            let name = format!("embedding_{changed}");
            victim.rewrite("chunks", |batch| {
                let column = batch.column_by_name(&name).unwrap().as_fixed_size_list();
                let DataType::FixedSizeList(field, size) = column.data_type() else { unreachable!() };
                let values: ArrayRef = if changed == "int8" {
                    let mut values = column.values().as_primitive::<Int8Type>().values().to_vec();
                    let most = (64..128).max_by_key(|at| values[*at].abs()).unwrap();
                    // Nothing is stored as the smallest byte.
                    values[most] = if kind.starts_with("f16") { i8::MIN } else { -values[most] };
                    Arc::new(Int8Array::from(values))
                } else {
                    let mut values = column.values().as_primitive::<UInt8Type>().values().to_vec();
                    values[8..16].iter_mut().for_each(|byte| *byte = !*byte);
                    Arc::new(UInt8Array::from(values))
                };
                put(&batch, &name, Arc::new(FixedSizeListArray::new(Arc::clone(field), *size, values, None)))
            });
            let found = check(&victim.out).findings;
            let is_it =
                |f: &Finding| f.check == Check::Vector && f.problem.contains("is not what is stored of its vector");
            assert!(found.iter().any(is_it), "{kind} {changed}: {found:#?}");
            let blames_another = |f: &Finding| kind.starts_with("f32") && !f.problem.contains(&name);
            assert!(!found.iter().any(blames_another), "{kind} {changed}: {found:#?}");
        }
    }
}

#[test]
fn bytes_that_are_too_long_for_a_vector_are_found() {
    let home = corpus();
    index(home.path(), "out", &["--files", "2", "--embedding-type", "int8"]);
    let victim = Victim { out: home.path().join("out") };
    victim.rewrite("chunks", |batch| {
        let column = batch.column_by_name("embedding_int8").unwrap().as_fixed_size_list();
        let DataType::FixedSizeList(field, size) = column.data_type() else { unreachable!() };
        let values = vec![100_i8; column.values().len()];
        let column = FixedSizeListArray::new(Arc::clone(field), *size, Arc::new(Int8Array::from(values)), None);
        put(&batch, "embedding_int8", Arc::new(column))
    });
    let found = check(&victim.out).findings;
    assert!(found.iter().any(|f| f.check == Check::Vector && f.problem.contains("has length 6.2")), "{found:#?}");
}

#[test]
fn sparse_vectors_have_tokens_of_the_vocabulary_in_order_each_with_a_weight() {
    let home = corpus();
    let sparse = home.path().join("sparse");
    Tiny { layers: 1, ..Tiny::new("bert", 48, 3) }.write_sparse(&sparse, ["max", "relu"], SparseQueries::Table);
    // Token and weight of the first two entries of a row.
    type Edit = fn(&mut [(u32, f32)]);
    let damages: [(Edit, &str); 3] = [
        (|entries| entries.swap(0, 1), "tokens of its sparse vector are not in order"),
        (|entries| entries[0].1 = 0.0, "has a token without a weight"),
        (|entries| entries[1].0 = 16, "has a token that the model does not have"),
    ];
    for (at, (edit, said)) in damages.into_iter().enumerate() {
        let name = format!("out{at}");
        let args = [&SETTINGS[..], &["--sparse-model", "sparse"]].concat();
        index(home.path(), &name, &args);
        let victim = Victim { out: home.path().join(&name) };
        assert_eq!(check(&victim.out).findings, []);
        victim.rewrite("chunks", |batch| {
            let lists = batch.column_by_name(SPARSE).unwrap().as_list::<i32>();
            let mut vectors = sparse_vectors(batch.column_by_name(SPARSE).unwrap()).unwrap();
            let mut entries = vectors.remove(0).weights()[..2].to_vec();
            edit(&mut entries);
            let DataType::List(field) = lists.data_type() else { unreachable!() };
            let DataType::Struct(fields) = field.data_type() else { unreachable!() };
            let entries: Vec<(u32, f32)> =
                entries.into_iter().chain(vectors.iter().flat_map(|vector| vector.weights()).copied()).collect();
            let tokens = UInt32Array::from_iter_values(entries.iter().map(|(token, _)| *token));
            let weights = Float32Array::from_iter_values(entries.iter().map(|(_, weight)| *weight));
            let weights = cast(&weights, &DataType::Float16).unwrap();
            let all = StructArray::new(fields.clone(), vec![Arc::new(tokens), weights], None);
            let lengths = std::iter::once(2).chain(vectors.iter().map(|vector| vector.weights().len()));
            let offsets = OffsetBuffer::from_lengths(lengths);
            put(&batch, SPARSE, Arc::new(ListArray::new(Arc::clone(field), offsets, Arc::new(all), None)))
        });
        let verification = check(&victim.out);
        assert!(verification.findings.iter().any(|finding| finding.problem.contains(said)), "{verification:?}");
        // A search refuses what it cannot trust.
        let (code, _, errors) =
            run(home.path(), &["search", &name, "the cat", "--mode", "sparse", "--sparse-model", "sparse"]);
        assert!(at == 1 || code != 0 && errors.contains("sparse vector"), "{at}: {errors}");
    }
}
