//! Other people's Parquet readers read the dataset as it is, in virtual environments that the tests create from
//! pinned and hashed packages.
//!
//! pyarrow, Polars and DuckDB are part of every run. Hugging Face `datasets`, LanceDB and fastparquet double the
//! installation, so their tests are ignored by default: `make readers` runs them.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use serde_json::{Value, json};
use tempfile::TempDir;

use crate::common::{default_model, finish, folder, json_lines, program_with_models, run};
use crate::python::environment;

/// The packages of every run, and those that only `make readers` adds.
const LEAN: &[&str] = &["requirements.txt"];
const HEAVY: &[&str] = &["requirements.txt", "requirements-heavy.txt"];

/// Every `--embedding-type` with every `--float-encoding`.
const VARIANTS: [(&str, &str); 6] =
    [("f32", "bss"), ("f32", "plain"), ("f16", "bss"), ("f16", "plain"), ("list", "bss"), ("list", "plain")];

/// Returns the folder of the requirements and the scripts.
fn scripts() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/readers")
}

/// Returns the Python of the environment with these packages, or prints why there is none and returns `None`.
fn python(requirements: &[&str]) -> Option<PathBuf> {
    environment(&requirements.iter().map(|name| scripts().join(name)).collect::<Vec<_>>())
}

/// Returns what a script prints when it is run in this folder. It finds nobody's settings, and leaves nothing in
/// anybody's caches.
fn ask(python: &Path, home: &Path, script: &str, args: &[&str]) -> Vec<Value> {
    let caches = TempDir::new().unwrap();
    let mut command = Command::new(python);
    for (name, _) in std::env::vars() {
        if name.starts_with("HF_") || name.starts_with("POLARS_") {
            command.env_remove(name);
        }
    }
    command.env("HF_HOME", caches.path()).env("HF_HUB_OFFLINE", "1").env("PYTHONDONTWRITEBYTECODE", "1");
    let output = command.current_dir(home).arg(scripts().join(script)).args(args).output().unwrap();
    assert!(output.status.success(), "{script}: {}", String::from_utf8_lossy(&output.stderr));
    json_lines(&String::from_utf8(output.stdout).unwrap())
}

/// Indexes with the fake embedder, which has 64 dimensions, and with these arguments too.
fn index(home: &Path, source: &str, out: &str, more: &[&str]) {
    let args = [&["index", source, "-o", out, "--embedder", "fake"], more].concat();
    let (code, _, err) = run(home, &args);
    assert_eq!(code, 0, "{err}");
}

/// Indexes the same source once for each of [`VARIANTS`], and returns the names of the datasets.
fn index_variants(home: &Path, source: &str, more: &[&str]) -> Vec<String> {
    let write = |(kind, encoding): (&str, &str)| {
        let out = format!("{kind}-{encoding}");
        let variant = ["--embedding-type", kind, "--float-encoding", encoding];
        index(home, source, &out, &[&variant, more].concat());
        out
    };
    VARIANTS.map(write).to_vec()
}

fn larder() -> String {
    format!("{}/datasets/larder/corpus", env!("CARGO_MANIFEST_DIR"))
}

#[test]
fn pyarrow_polars_and_duckdb_read_every_kind_of_dataset_alike() {
    let Some(python) = python(LEAN) else { return };
    let page = "---\ntags: [a, b]\n---\n# Page\n\nText with a [link](0.md#part) and ![image](i.png).\n\n## Part\n\nMore 日本語 🚲.\n";
    let files: Vec<(String, String)> =
        (0..40).map(|i| (format!("docs/{i}.md"), format!("{page}\nNumber {i}.\n"))).collect();
    let home = folder(&files.iter().map(|(name, text)| (name.as_str(), text.as_str())).collect::<Vec<_>>());
    let outs = index_variants(home.path(), "docs", &["--preset", "ragdocs", "--min", "1"]);
    let seen = ask(&python, home.path(), "check.py", &outs.iter().map(String::as_str).collect::<Vec<_>>());
    assert_eq!(seen.len(), VARIANTS.len());
    for ((kind, encoding), seen) in VARIANTS.into_iter().zip(seen) {
        let types = match kind {
            "f32" => ["fixed_size_list<element: float not null>[64]", "Array(Float32, shape=(64,))"],
            "f16" => ["fixed_size_list<element: halffloat not null>[64]", "Array(Float16, shape=(64,))"],
            _ => ["list<element: float not null>", "List(Float32)"],
        };
        assert_eq!(seen["rows"], 80);
        assert_eq!(seen["documents"], 40);
        assert_eq!(seen["agree"], json!(["pyarrow", "polars", "duckdb"]), "{kind} {encoding}");
        assert_eq!(seen["types"], json!(types));
        // Only f32 values are split into streams of bytes.
        assert_eq!(seen["split"], json!(kind != "f16" && encoding == "bss"), "{kind} {encoding}");
        assert_eq!(seen["edges_agree"], seen["agree"]);
        assert_eq!((&seen["edge_rows"], &seen["url"]), (&80.into(), &"string".into()));
        let first = [
            json!(["0.md_chunk_0", "0.md", "0.md", "0.md_chunk_1", "link", "0.md#part", true]),
            json!(["0.md_chunk_0", "0.md", null, null, "image", "i.png", false]),
        ];
        assert_eq!(seen["edges"], json!(first));
        assert_eq!((&seen["unit"], &seen["nulls"]), (&true.into(), &0.into()));
        let headings = json!([[{"level": 1, "title": "Page"}], [{"level": 2, "title": "Part"}]]);
        assert_eq!((&seen["headings"], &seen["headings_agree"]), (&headings, &seen["agree"]));
    }
}

#[test]
fn pyarrow_polars_and_duckdb_read_bytes_and_signs_alike() {
    let Some(python) = python(LEAN) else { return };
    let files: Vec<(String, String)> =
        (0..40).map(|i| (format!("docs/{i}.md"), format!("# Page\n\nNumber {i}.\n"))).collect();
    let home = folder(&files.iter().map(|(name, text)| (name.as_str(), text.as_str())).collect::<Vec<_>>());
    index(home.path(), "docs", "out", &["--embedding-type", "f32,int8,bits"]);
    let seen = ask(&python, home.path(), "small.py", &["out"]);
    let types = ["fixed_size_list<element: int8 not null>[64]", "fixed_size_list<element: uint8 not null>[8]"];
    let agree = ["pyarrow", "polars", "duckdb"];
    let wanted = json!({"rows": 40, "agree": agree, "types": types, "bits": true, "int8": true, "scale": "1/127"});
    assert_eq!(seen, [wanted]);
}

/// Every chunk carries its document's front matter, so a few short documents with a long note fill many row groups.
#[test]
fn a_filter_on_a_document_reads_only_the_row_groups_that_hold_it() {
    let Some(python) = python(LEAN) else { return };
    let files: Vec<(String, String)> = (0..60)
        .map(|i| {
            let parts: String = (0..60).map(|k| format!("## Part {k}\n\nPart {k} of document {i}.\n\n")).collect();
            (
                format!("docs/{i:02}.md"),
                format!("---\nnote: {}\n---\n# Document {i}\n\n{parts}", "note ".repeat(12_000)),
            )
        })
        .collect();
    let home = folder(&files.iter().map(|(name, text)| (name.as_str(), text.as_str())).collect::<Vec<_>>());
    index(home.path(), "docs", "out", &["--min", "1", "--files", "1"]);
    let ids = ["05.md", "25.md", "39.md", "25.md-", "99.md"];
    let seen = ask(&python, home.path(), "pruning.py", &[&["out"], &ids[..]].concat());
    assert_eq!(seen.len(), ids.len());
    let groups = seen[0]["pyarrow"][1].as_u64().unwrap();
    assert!(groups >= 6, "{groups} row groups");
    for (id, seen) in ids.into_iter().zip(&seen) {
        let readers = ["pyarrow", "duckdb", "polars"].map(|name| &seen[name]);
        let rows = if files.iter().any(|(name, _)| name.strip_prefix("docs/") == Some(id)) { 60 } else { 0 };
        assert!(readers.iter().all(|counts| counts[2] == rows), "{id}: {seen}");
        let read = |counts: &Value| counts[0].as_u64().unwrap();
        if rows > 0 {
            // A document may continue in the next row group. No other group may be read.
            assert!(readers.iter().all(|counts| counts[1] == groups), "{id}: {seen}");
            assert!(readers.iter().all(|counts| (1..=2).contains(&read(counts))), "{id}: {seen}");
            assert_eq!(seen["bloom"], seen["pyarrow"][0], "{id}");
        } else {
            // For an id between two others, the ranges cannot tell that it is absent, but the bloom filters can.
            assert!(readers.iter().all(|counts| read(counts) <= 1), "{id}: {seen}");
            assert_eq!((&seen["bloom"], &seen["duckdb"][0]), (&0.into(), &0.into()), "{id}");
        }
    }
    // Files contain documents from all over the corpus, so only the bloom filters help to choose files.
    index(home.path(), &larder(), "spread", &[]);
    let spread = ask(&python, home.path(), "pruning.py", &["spread", "operate/quotas.md"]);
    assert_eq!((&spread[0]["duckdb"][0], &spread[0]["duckdb"][1]), (&1.into(), &8.into()), "{spread:?}");
    assert_eq!((&spread[0]["bloom"], &spread[0]["pyarrow"][2]), (&1.into(), &spread[0]["duckdb"][2]), "{spread:?}");
    // Otherwise the bloom filters would have had nothing to do above.
    assert_eq!(seen[3]["pyarrow"][0], 1, "25.md- lies inside a row group's range");
}

/// Runs the book's examples on a dataset of the larder corpus at `out`, and checks their results.
fn check_examples(python: &Path, home: &Path, names: &[&str], dim: usize) {
    let page = fs::read_to_string(crate::book::pages::book().join("guide/read.md")).unwrap();
    // The examples name the default model's width, which the fake embedder's vectors do not have.
    fs::write(home.join("read.md"), page.replace("FLOAT[384]", &format!("FLOAT[{dim}]"))).unwrap();
    let seen = ask(python, home, "snippets.py", &[&["read.md"], names].concat());
    assert_eq!(seen.iter().map(|seen| seen["name"].as_str().unwrap()).collect::<Vec<_>>(), names);
    let (_, rows, _) = run(home, &["chunk", &larder()]);
    let rows = json_lines(&rows);
    let ids = |doc: &str| -> Vec<&str> {
        let mut ids: Vec<&str> =
            rows.iter().filter(|row| row["doc_id"] == doc).map(|row| row["chunk_id"].as_str().unwrap()).collect();
        ids.sort_unstable();
        ids
    };
    let page = ids("operate/quotas.md");
    assert!(!page.is_empty());
    for seen in seen {
        let vector = seen["vector"].as_str().unwrap();
        assert!(vector.contains(&dim.to_string()), "{seen}");
        let mut got: Vec<&str> = seen["page"].as_array().unwrap().iter().map(|id| id.as_str().unwrap()).collect();
        if seen["name"] == "LanceDB" {
            assert_eq!((got.len(), got[0]), (3, seen["first"].as_str().unwrap()), "the nearest to a row is itself");
        } else {
            got.sort_unstable();
            assert_eq!(got, page, "{seen}");
        }
    }
}

#[test]
fn the_books_examples_of_reading_work() {
    let Some(python) = python(LEAN) else { return };
    let home = TempDir::new().unwrap();
    index(home.path(), &larder(), "out", &[]);
    check_examples(&python, home.path(), &["pyarrow", "Polars", "DuckDB"], 64);
}

#[test]
#[ignore = "860 MB of packages: run it with `make readers`"]
fn heavy_readers_run_the_books_examples() {
    let (Some(python), Some(_)) = (python(HEAVY), default_model()) else { return };
    let home = TempDir::new().unwrap();
    // With the default model, as for a user.
    let args = ["--quiet", "index", &larder(), "-o", "out"];
    let (code, _, err) = finish(program_with_models(home.path()).args(args).output().unwrap());
    assert_eq!(code, 0, "{err}");
    check_examples(&python, home.path(), &["pyarrow", "Polars", "DuckDB", "datasets", "LanceDB"], 384);
}

#[test]
#[ignore = "860 MB of packages: run it with `make readers`"]
fn heavy_readers_read_every_kind_of_dataset_alike() {
    let Some(python) = python(HEAVY) else { return };
    let home = TempDir::new().unwrap();
    let outs = index_variants(home.path(), &larder(), &[]);
    let seen = ask(&python, home.path(), "libraries.py", &outs.iter().map(String::as_str).collect::<Vec<_>>());
    assert_eq!(seen.len(), VARIANTS.len());
    for (((kind, encoding), out), seen) in VARIANTS.into_iter().zip(&outs).zip(seen) {
        let manifest: Value =
            serde_json::from_slice(&fs::read(home.path().join(out).join("manifest.json")).unwrap()).unwrap();
        let rows = ["chunks", "documents", "edges"].map(|name| (name.to_owned(), manifest["counts"][name].clone()));
        let (datasets, lancedb) = match kind {
            "f32" => ("List(Value('float32'), length=64)", "fixed_size_list<item: float>[64]"),
            "f16" => ("List(Value('float16'), length=64)", "fixed_size_list<item: halffloat>[64]"),
            _ => ("List(Value('float32'))", "fixed_size_list<item: float>[64]"),
        };
        let rows = Value::Object(rows.into_iter().collect());
        assert_eq!(seen["datasets"], json!({"rows": rows, "type": datasets, "same": true}), "{out}");
        let table = json!({"rows": rows["chunks"], "type": lancedb, "same": true, "nearest": 20});
        assert_eq!(seen["lancedb"], table, "{out}");
        // The book says that plain f32 is the only kind of vector that fastparquet reads.
        let fastparquet = match (kind, encoding) {
            ("f16", _) => "<class 'numpy.bytes_'>",
            (_, "bss") => "Encoding 9",
            _ => "same",
        };
        assert_eq!(seen["fastparquet"], fastparquet, "{out}");
    }
}
