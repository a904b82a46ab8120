//! Other people's Parquet readers read the dataset as it is: pyarrow, Polars and DuckDB, in a
//! virtual environment that the test makes itself from pinned and hashed packages.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use crate::common::{folder, note, run};

const REQUIREMENTS: &str = "tests/readers/requirements.txt";

/// The environment's Python, made once; `None` with a printed reason if it cannot be had.
fn python() -> Option<PathBuf> {
    let root = Path::new(env!("CARGO_MANIFEST_DIR"));
    let requirements = root.join(REQUIREMENTS);
    let hash = blake3::hash(&fs::read(&requirements).unwrap()).to_hex().to_string();
    let folder = Path::new(env!("CARGO_TARGET_TMPDIR")).join(format!("readers-{}", &hash[..16]));
    let python = folder.join("bin/python");
    let complete = folder.join("complete");
    let succeeds = |command: &mut Command| command.status().is_ok_and(|status| status.success());
    if !complete.exists() {
        let made = succeeds(Command::new("python3").args(["-m", "venv", "--clear"]).arg(&folder))
            && succeeds(
                Command::new(&python)
                    .args(["-m", "pip", "install", "--quiet", "--disable-pip-version-check", "--require-hashes", "-r"])
                    .arg(&requirements),
            );
        if !made {
            let reason = "python3 with venv, and the packages of tests/readers/requirements.txt, are needed";
            assert!(std::env::var_os("CHUNKMILL_REQUIRE_ALL").is_none(), "{reason}");
            note(&format!("SKIPPED: {reason}"));
            return None;
        }
        fs::write(complete, "").unwrap();
    }
    Some(python)
}

#[test]
fn pyarrow_polars_and_duckdb_read_every_kind_of_dataset_alike() {
    let Some(python) = python() else { return };
    let page = "---\ntags: [a, b]\n---\n# Page\n\nText with a [link](0.md#part) and ![image](i.png).\n\n## Part\n\nMore 日本語 🚲.\n";
    let files: Vec<(String, String)> =
        (0..40).map(|i| (format!("docs/{i}.md"), format!("{page}\nNumber {i}.\n"))).collect();
    let home = folder(&files.iter().map(|(name, text)| (name.as_str(), text.as_str())).collect::<Vec<_>>());
    for (kind, types) in [
        ("f32", ["fixed_size_list<element: float not null>[64]", "Array(Float32, shape=(64,))"]),
        ("f16", ["fixed_size_list<element: halffloat not null>[64]", "Array(Float16, shape=(64,))"]),
        ("list", ["list<element: float not null>", "List(Float32)"]),
    ] {
        let args = ["index", "docs", "-o", kind, "--embedder", "fake", "--min", "1", "--embedding-type", kind];
        assert_eq!(run(home.path(), &args).0, 0);
        let check = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/readers/check.py");
        let output = Command::new(&python).arg(check).arg(home.path().join(kind)).arg("64").output().unwrap();
        assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
        let seen: serde_json::Value = serde_json::from_slice(&output.stdout).unwrap();
        assert_eq!(seen["rows"], 80);
        assert_eq!(seen["documents"], 40);
        assert_eq!(seen["agree"], serde_json::json!(["pyarrow", "polars", "duckdb"]), "{kind}");
        assert_eq!(seen["types"], serde_json::json!(types));
        assert_eq!(seen["edges_agree"], seen["agree"]);
        assert_eq!((&seen["edge_rows"], &seen["url"]), (&80.into(), &"string".into()));
        let first = [
            serde_json::json!(["0.md_chunk_0", "0.md", "0.md", "0.md_chunk_1", "link", "0.md#part", true]),
            serde_json::json!(["0.md_chunk_0", "0.md", null, null, "image", "i.png", false]),
        ];
        assert_eq!(seen["edges"], serde_json::json!(first));
        assert_eq!((&seen["unit"], &seen["nulls"]), (&true.into(), &0.into()));
    }
}
