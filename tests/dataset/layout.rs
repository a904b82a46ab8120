//! The dataset: what is written, how it is laid out, and that it is the same on every run.

use std::collections::BTreeSet;
use std::fs::{self, File};
use std::path::Path;

use chunkmill::dataset::{Dataset, FORMAT_VERSION, Table, describe, file_of};
use chunkmill::embed::{EmbeddingTypes, Representation};
use parquet::basic::{Compression, Encoding};
use parquet::file::metadata::ColumnChunkMetaData;
use parquet::file::reader::{FileReader, SerializedFileReader};
use serde_json::Value;
use tempfile::TempDir;

use crate::common::{folder, json_lines, run, sealed, tree, write};

fn corpus() -> TempDir {
    let long: String = (0..40).map(|i| format!("Paragraph {i} of a long page about topic {}.\n\n", i % 7)).collect();
    let files = [
        (
            "docs/index.md",
            "---\ntitle: Home\ntags: [start]\nowner: me\n---\n# Home\n\nSee [guide](guide.md) and ![logo](l.png).\n"
                .to_owned(),
        ),
        ("docs/guide.md", format!("# Guide\n\n## Long\n\n{long}\n## Short\n\nend\n")),
        ("docs/deep/notes.txt", "Just text.\n\nMore text.\n".to_owned()),
        ("docs/empty.md", String::new()),
        ("docs/日本.md", "# 見出し\n\n本文 🚲\n".to_owned()),
        ("docs/copy.md", format!("# Guide\n\n## Long\n\n{long}\n## Short\n\nend\n")),
    ];
    let home = folder(&files.iter().map(|(name, text)| (*name, text.as_str())).collect::<Vec<_>>());
    // Times are part of the dataset. They are fixed to make two copies of the corpus equal.
    for (name, _) in tree(home.path()) {
        let file = File::options().write(true).open(home.path().join(name)).unwrap();
        file.set_modified(std::time::UNIX_EPOCH + std::time::Duration::from_secs(1_700_000_000)).unwrap();
    }
    home
}

fn index(home: &Path, extra: &[&str]) -> Value {
    let mut args = vec!["index", "docs", "--embedder", "fake", "--json"];
    args.extend(extra);
    let (code, out, err) = run(home, &args);
    assert_eq!(code, 0, "{err}");
    serde_json::from_str(&out).unwrap()
}

fn parquet_files(home: &Path, out: &str, table: &str) -> Vec<SerializedFileReader<File>> {
    let manifest: Value = serde_json::from_slice(&fs::read(home.join(out).join("manifest.json")).unwrap()).unwrap();
    let files = manifest["files"].as_array().unwrap().iter().filter(|file| file["table"] == table);
    let open = |file: &Value| {
        SerializedFileReader::new(File::open(home.join(out).join(file["path"].as_str().unwrap())).unwrap())
    };
    files.map(|file| open(file).unwrap()).collect()
}

#[test]
fn the_manifest_names_every_file_with_its_hash_and_rows() {
    let home = corpus();
    let summary = index(home.path(), &["-o", "out"]);
    let out = home.path().join("out");
    let manifest: Value = serde_json::from_slice(&fs::read(out.join("manifest.json")).unwrap()).unwrap();
    assert_eq!(manifest["format_version"], FORMAT_VERSION);
    assert_eq!(manifest["spec"]["text"], "structure unit=tokens min=32 max=128 overlap=0");
    assert_eq!(manifest["model"]["id"], "fake");
    let mut rows = 0;
    for file in manifest["files"].as_array().unwrap() {
        let bytes = fs::read(out.join(file["path"].as_str().unwrap())).unwrap();
        assert_eq!(file["bytes"], bytes.len());
        assert_eq!(file["blake3"], blake3::hash(&bytes).to_hex().to_string());
        rows += file["rows"].as_u64().unwrap() * u64::from(file["table"] == "chunks");
    }
    assert_eq!(manifest["counts"]["chunks"], rows);
    assert_eq!(summary["chunks"], rows);
    assert_eq!(summary["documents"], 6);
    let named: BTreeSet<String> =
        manifest["files"].as_array().unwrap().iter().map(|f| f["path"].as_str().unwrap().to_owned()).collect();
    let present: BTreeSet<String> = tree(&out).into_iter().map(|(name, _)| name).collect();
    let rest: Vec<_> = present.difference(&named).collect();
    assert_eq!(rest, ["README.md", "manifest.json", "quarantine.jsonl"]);
}

#[test]
fn two_runs_on_one_thread_and_two_give_the_same_bytes() {
    let home = corpus();
    index(home.path(), &["-o", "one", "--threads", "1"]);
    index(home.path(), &["-o", "two", "--threads", "2", "--batch-tokens", "64"]);
    index(home.path(), &["-o", "two", "--threads", "2"]);
    assert_eq!(tree(&home.path().join("one")), tree(&home.path().join("two")));
    assert!(
        !tree(&home.path().join("one")).iter().any(|(_, bytes)| {
            let path = home.path().to_str().unwrap().as_bytes();
            bytes.windows(path.len()).any(|window| window == path)
        }),
        "no absolute path in any file"
    );
}

#[test]
fn the_physical_layout_is_as_promised() {
    let home = corpus();
    index(home.path(), &["-o", "out", "--files", "2"]);
    for reader in parquet_files(home.path(), "out", "chunks") {
        let metadata = reader.metadata();
        let keys = metadata.file_metadata().key_value_metadata().unwrap();
        for key in ["format_version", "spec", "spec_fingerprint", "model", "model_fingerprint", "pooling", "dim"] {
            assert!(keys.iter().any(|pair| pair.key == format!("chunkmill.{key}")), "{key}");
        }
        for group in metadata.row_groups() {
            let sorting: Vec<_> = group.sorting_columns().unwrap().iter().map(|c| c.column_idx).collect();
            assert_eq!(sorting, [1, 4]);
            for column in group.columns() {
                let name = column.column_path().string();
                assert_eq!(column.compression(), Compression::ZSTD(Default::default()), "{name}");
                assert!(column.column_index_offset().is_some() || name.starts_with("embedding"), "{name}: page index");
                assert_eq!(
                    column.bloom_filter_offset().is_some(),
                    ["doc_id", "chunk_id"].contains(&name.as_str()),
                    "{name}"
                );
                if name == "embedding.list.element" {
                    assert!(column.encodings().any(|encoding| encoding == Encoding::BYTE_STREAM_SPLIT));
                    assert!(column.dictionary_page_offset().is_none());
                }
            }
        }
    }
}

#[test]
fn documents_and_edges_are_laid_out_to_be_looked_up() {
    let home = corpus();
    index(home.path(), &["-o", "out", "--files", "1"]);
    for (table, sorted_by, looked_up) in [("documents", 0, &["doc_id"][..]), ("edges", 1, &["from_doc", "to_doc"][..])]
    {
        let readers = parquet_files(home.path(), "out", table);
        let group = readers[0].metadata().row_group(0);
        let sorting: Vec<_> = group.sorting_columns().unwrap().iter().map(|column| column.column_idx).collect();
        assert_eq!(sorting, [sorted_by], "{table}");
        for column in group.columns() {
            let name = column.column_path().string();
            assert_eq!(column.bloom_filter_offset().is_some(), looked_up.contains(&name.as_str()), "{table} {name}");
            assert_eq!(column.compression(), Compression::ZSTD(Default::default()), "{table} {name}");
        }
    }
}

#[test]
fn rows_are_sorted_and_go_to_the_file_of_their_document() {
    let home = corpus();
    index(home.path(), &["-o", "out", "--files", "3", "--max", "300"]);
    let dataset = Dataset::open(home.path().join("out")).unwrap();
    for (number, file) in dataset.files(Table::Chunks).enumerate() {
        let mut before: Option<(String, i64)> = None;
        for batch in dataset.read(file, &["doc_id", "chunk_index"], None).unwrap() {
            let batch = batch.unwrap();
            let ids = batch.column(0).as_any().downcast_ref::<arrow::array::StringArray>().unwrap();
            let positions = batch.column(1).as_any().downcast_ref::<arrow::array::Int64Array>().unwrap();
            for row in 0..batch.num_rows() {
                let key = (ids.value(row).to_owned(), positions.value(row));
                assert_eq!(file_of(&key.0, 3), number);
                assert!(before.as_ref().is_none_or(|before| *before < key));
                before = Some(key);
            }
        }
    }
}

#[test]
fn vectors_can_be_stored_in_other_ways_and_search_reads_them_all() {
    let home = corpus();
    let mut found = Vec::new();
    for (out, kind, encoding) in [
        ("a", "f32", "bss"),
        ("b", "f32", "plain"),
        ("c", "f16", "bss"),
        ("d", "list", "bss"),
        ("e", "f32,int8", "bss"),
        ("f", "bits,f16", "bss"),
        ("g", "int8", "bss"),
        ("h", "int8,bits", "bss"),
    ] {
        index(home.path(), &["-o", out, "--embedding-type", kind, "--float-encoding", encoding]);
        let (code, stdout, err) = run(home.path(), &["search", out, "paragraph about topic", "-k", "3", "--json"]);
        assert_eq!(code, 0, "{err}");
        found.push(json_lines(&stdout).iter().map(|hit| hit["chunk_id"].clone()).collect::<Vec<_>>());
        for reader in parquet_files(home.path(), out, "chunks") {
            for group in reader.metadata().row_groups() {
                let is_vector =
                    |column: &&ColumnChunkMetaData| column.column_path().parts()[0].starts_with("embedding");
                let columns: Vec<_> = group.columns().iter().filter(is_vector).collect();
                assert_eq!(columns.len(), kind.split(',').count());
                for column in columns {
                    let split = column.encodings().any(|e| e == Encoding::BYTE_STREAM_SPLIT);
                    let is_f32 = column.column_path().parts()[0] == "embedding" && !kind.contains("f16");
                    assert_eq!(split, encoding == "bss" && is_f32, "{kind} {encoding}");
                    assert!(column.dictionary_page_offset().is_none());
                }
            }
        }
    }
    // Bytes and signs alone have lost some digits.
    let (with_floats, small) = found.split_at(6);
    assert!(with_floats.iter().all(|hits| hits == &found[0] && hits.len() == 3), "{found:?}");
    assert!(small.iter().all(|hits| hits[..2] == found[0][..2] && hits.len() == 3), "{found:?}");
}

#[test]
fn equal_texts_share_a_vector_and_are_embedded_once() {
    let home = corpus();
    let summary = index(home.path(), &["-o", "out", "--files", "5"]);
    let chunks = summary["chunks"].as_u64().unwrap();
    // guide.md and copy.md are equal, and may be in different files.
    assert!(summary["texts_embedded"].as_u64().unwrap() <= chunks - 2, "{summary}");
}

#[test]
fn a_new_snapshot_replaces_the_old_one_and_leaves_nothing_behind() {
    let home = corpus();
    index(home.path(), &["-o", "out"]);
    fs::create_dir(home.path().join("out/.staging")).unwrap();
    write(home.path(), "out/.staging/left-behind", b"x");
    write(home.path(), "out/data/chunks/train-00000-of-00008-0123456789abcdef.parquet", b"orphan");
    write(home.path(), "docs/new.md", b"# New\n\npage\n");
    let summary = index(home.path(), &["-o", "out"]);
    assert_eq!(summary["documents"], 7);
    let files: Vec<String> = tree(&home.path().join("out")).into_iter().map(|(name, _)| name).collect();
    assert!(!files.iter().any(|name| name.contains(".staging") || name.contains("0123456789abcdef")), "{files:?}");
    assert_eq!(files.len(), 40 + 3);
}

#[test]
fn a_folder_that_is_not_a_dataset_is_left_alone() {
    let home = corpus();
    write(home.path(), "precious/thesis.md", b"mine");
    let (code, _, err) = run(home.path(), &["index", "docs", "-o", "precious", "--embedder", "fake"]);
    assert_eq!(code, 5);
    assert!(err.contains("is neither empty nor a dataset"), "{err}");
    assert_eq!(tree(&home.path().join("precious")).len(), 1);
    write(home.path(), "precious/manifest.json", br#"{"name": "an extension", "manifest_version": 3}"#);
    let (code, _, err) = run(home.path(), &["index", "docs", "-o", "precious", "--embedder", "fake"]);
    assert_eq!(code, 5, "a manifest of something else: {err}");
    write(home.path(), "other/manifest.json", b"{}");
    write(home.path(), "other/README.md", b"mine");
    for file in ["other/README.md", "other/data/chunks/mine.parquet"] {
        write(home.path(), file, b"mine");
        let before = tree(&home.path().join("other"));
        let (code, _, err) = run(home.path(), &["index", "docs", "-o", "other", "--embedder", "fake", "--fresh"]);
        assert!(code == 5 && err.contains("is neither empty nor a dataset"), "{err}");
        assert!(tree(&home.path().join("other")) == before);
    }
    let (code, _, err) = run(home.path(), &["index", "docs", "-o", "docs/guide.md", "--embedder", "fake"]);
    assert_eq!(code, 2);
    assert!(err.contains("docs/guide.md is a file"), "{err}");
    index(home.path(), &["-o", "out"]);
    let (code, _, err) = run(home.path(), &["index", "out", "-o", "out", "--embedder", "fake"]);
    assert_eq!(code, 2);
    assert!(err.contains("is both corpus and output"), "{err}");
}

#[test]
fn a_dataset_inside_its_corpus_does_not_index_itself() {
    let home = corpus();
    assert_eq!(index(home.path(), &["-o", "docs/out"])["documents"], 6);
    assert_eq!(index(home.path(), &["-o", "docs/out"])["documents"], 6);
}

#[test]
fn quarantined_documents_are_listed_with_reasons_and_counted() {
    let home = corpus();
    write(home.path(), "docs/latin1.md", b"caf\xE9");
    write(home.path(), "docs/big.md", &[b'x'; 5000]);
    let (code, out, _) =
        run(home.path(), &["index", "docs", "-o", "out", "--embedder", "fake", "--json", "--max-file-size", "4000"]);
    assert_eq!(code, 3, "done, but documents were quarantined");
    let summary: Value = serde_json::from_str(&out).unwrap();
    let count = |key: &str| summary[key].as_u64().unwrap();
    assert_eq!(count("documents") + count("quarantined"), count("discovered"));
    assert_eq!(count("discovered"), 8);
    let lines = json_lines(&fs::read_to_string(home.path().join("out/quarantine.jsonl")).unwrap());
    let reasons: Vec<_> =
        lines.iter().map(|line| (line["path"].as_str().unwrap(), line["code"].as_str().unwrap())).collect();
    assert_eq!(reasons, [("big.md", "too_large"), ("latin1.md", "encoding")]);
    let (code, out, _) = run(home.path(), &["stats", "out", "--json"]);
    assert_eq!(code, 0);
    let stats: Value = serde_json::from_str(&out).unwrap();
    assert_eq!(stats["quarantined"], 2);
    for key in ["documents", "chunks", "tokens", "bytes"] {
        assert_eq!(stats[key], summary[key], "{key}");
    }
}

#[test]
fn the_card_names_the_tables_and_describes_every_column() {
    let home = corpus();
    index(home.path(), &["-o", "out"]);
    let card = fs::read_to_string(home.path().join("out/README.md")).unwrap();
    assert!(
        card.starts_with(
            "---\nconfigs:\n- config_name: chunks\n  default: true\n  data_files: data/chunks/*.parquet\n"
        )
    );
    assert!(card.contains("- config_name: documents\n  data_files: data/documents/*.parquet\n"));
    assert!(card.contains("- config_name: edges\n  data_files: data/edges/*.parquet\n"));
    for table in Table::ALL {
        let schema = table.schema(&Representation::all(64, EmbeddingTypes::default()), false);
        for field in schema.fields() {
            let words = describe(table, field.name()).unwrap_or_else(|| panic!("{} is not described", field.name()));
            assert!(card.contains(&format!("| `{}` |", field.name())) && card.contains(words));
        }
    }
}

#[test]
fn damaged_and_newer_datasets_are_refused() {
    let home = corpus();
    index(home.path(), &["-o", "out"]);
    let path = home.path().join("out/manifest.json");
    let manifest = fs::read_to_string(&path).unwrap();
    let search = || run(home.path(), &["search", "out", "x"]);
    let mut newer: Value = serde_json::from_str(&manifest).unwrap();
    newer["format_version"] = (FORMAT_VERSION + 1).into();
    fs::write(&path, sealed(&newer)).unwrap();
    let (code, _, err) = search();
    assert_eq!(code, 5);
    assert!(
        err.contains(&format!("format version {}", FORMAT_VERSION + 1)) && err.contains("use a newer chunkmill"),
        "{err}"
    );
    // It is not overwritten either.
    let (code, _, err) = run(home.path(), &["index", "docs", "-o", "out", "--embedder", "fake"]);
    assert!(code == 5 && err.contains("use a newer chunkmill"), "{err}");
    fs::write(&path, &manifest[..manifest.len() / 2]).unwrap();
    assert!(search().2.contains("manifest.json: is damaged"));
    fs::remove_file(&path).unwrap();
    assert!(search().2.contains("manifest.json: does not exist"));
    fs::write(&path, &manifest).unwrap();
    for (name, _) in tree(&home.path().join("out/data/chunks")) {
        fs::write(home.path().join("out/data/chunks").join(name), "not parquet").unwrap();
    }
    assert!(search().2.contains("the dataset is damaged"));
}

#[test]
fn a_file_that_is_missing_is_made_again_although_a_stopped_run_has_staged_it() {
    let home = folder(&[("docs/a.md", "# A\n\ntext\n"), ("docs/b.md", "# B\n\nother\n")]);
    let index = ["index", "docs", "-o", "out", "--embedder", "fake", "--files", "1"];
    assert_eq!(run(home.path(), &index).0, 0);
    let out = home.path().join("out");
    let whole = tree(&out);
    // A run found that a file was missing, rebuilt it, and was interrupted.
    let manifest: serde_json::Value = serde_json::from_slice(&fs::read(out.join("manifest.json")).unwrap()).unwrap();
    let files: Vec<_> = ["chunks", "documents", "outlines"]
        .iter()
        .map(|table| manifest["files"].as_array().unwrap().iter().find(|file| file["table"] == *table).unwrap().clone())
        .collect();
    for file in &files {
        let path = file["path"].as_str().unwrap();
        fs::create_dir_all(out.join(".staging").join(path).parent().unwrap()).unwrap();
        fs::copy(out.join(path), out.join(".staging").join(path)).unwrap();
    }
    let record = &manifest["parts"][0];
    let receipt = serde_json::json!({"index": 0, "record": record, "files": files});
    fs::write(out.join(".staging/part-00000.json"), receipt.to_string()).unwrap();
    fs::remove_file(out.join(files[0]["path"].as_str().unwrap())).unwrap();
    assert_eq!(run(home.path(), &index).0, 0);
    assert!(tree(&out) == whole);
}

#[cfg(unix)]
#[test]
fn folders_of_a_dataset_may_be_links_to_where_there_is_room() {
    let home = folder(&[("docs/a.md", "# A\n\ntext\n")]);
    fs::create_dir_all(home.path().join("large/data")).unwrap();
    fs::create_dir(home.path().join("out")).unwrap();
    std::os::unix::fs::symlink(home.path().join("large/data"), home.path().join("out/data")).unwrap();
    for _ in 0..2 {
        let (code, _, err) = run(home.path(), &["index", "docs", "-o", "out", "--embedder", "fake"]);
        assert_eq!(code, 0, "{err}");
    }
    assert_eq!(run(home.path(), &["verify", "out"]).0, 0);
}
