//! Promotion and deletion: each makes one snapshot, later runs keep promotions, and both are refused where they make
//! no sense.

use std::fs;
use std::path::Path;

use serde_json::Value;
use tempfile::TempDir;

use crate::common::{folder, run, sealed, tree};
use crate::dataset::jobs::{page, put};

const FAKE: &[&str] = &["--embedder", "fake", "--min", "50", "--max", "400"];
const ROOTS: &[&str] = &["docs", "external=ext", "notes=more"];

fn corpus() -> TempDir {
    let home = folder(&[]);
    for number in 0..10 {
        put(home.path(), &format!("docs/{number}.md"), &page(number, 0));
        put(home.path(), &format!("ext/{number}.md"), &page(number, 1));
        put(home.path(), &format!("more/{number}.md"), &page(number, 2));
    }
    put(home.path(), "docs/level.md", "---\npromotion_level: draft\n---\n# Level\n\nSome text.\n");
    home
}

fn ok(home: &Path, args: &[&str]) -> String {
    let (code, stdout, err) = run(home, args);
    assert_eq!(code, 0, "{args:?}: {err}");
    stdout
}

fn index(home: &Path, out: &str, extra: &[&str]) -> Value {
    let files = if extra.contains(&"--files") { &[][..] } else { &["--files", "8"] };
    let args = [&["index", "-o", out, "--json"], ROOTS, FAKE, files, extra].concat();
    serde_json::from_str(&ok(home, &args)).unwrap()
}

/// Returns `table: level` for every row of a document.
fn levels(home: &Path, out: &str, doc: &str) -> Vec<String> {
    use arrow::array::AsArray;
    use chunkmill::dataset::{Dataset, Table};
    let dataset = Dataset::open(home.join(out)).unwrap();
    let mut found = Vec::new();
    for table in [Table::Documents, Table::Chunks] {
        for file in dataset.files(table) {
            for batch in dataset.read(file, &["doc_id", "promotion_level"], None).unwrap() {
                let batch = batch.unwrap();
                let column = |name| batch.column_by_name(name).unwrap().as_string::<i32>().clone();
                let rows: Vec<_> = column("doc_id").iter().map(|id| id.unwrap().to_owned()).collect();
                for (id, level) in rows.iter().zip(column("promotion_level").iter()) {
                    if id == doc {
                        found.push(format!("{}: {}", table.name(), level.unwrap_or("-")));
                    }
                }
            }
        }
    }
    found
}

fn same(home: &Path, a: &str, b: &str) {
    let [a, b] = [a, b].map(|out| tree(&home.join(out)));
    assert_eq!(a.iter().map(|(name, _)| name).collect::<Vec<_>>(), b.iter().map(|(name, _)| name).collect::<Vec<_>>());
    assert!(a == b);
}

fn refused(home: &Path, args: &[&str], says: &str) {
    let before = tree(&home.join("out"));
    let (code, _, err) = run(home, args);
    assert_eq!(code, 2, "{args:?}: {err}");
    assert!(err.contains(says) && err.contains("help: "), "{err}");
    assert!(tree(&home.join("out")) == before, "{args:?} changed something");
}

#[test]
fn a_promotion_changes_the_document_and_all_its_chunks_and_later_runs_keep_it() {
    let home = corpus();
    let home = home.path();
    index(home, "out", &[]);
    let names = |out: &str| tree(&home.join(out)).into_iter().map(|(name, _)| name).collect::<Vec<_>>();
    let before = names("out");
    for (doc, level) in [("3.md", "validated"), ("level.md", "important"), ("notes:4.md", "7")] {
        let said: Value = serde_json::from_str(&ok(home, &["promote", "out", doc, level, "--json"])).unwrap();
        let levels = levels(home, "out", doc);
        assert_eq!((&said["documents"], said["chunks"].as_u64()), (&1.into(), Some(levels.len() as u64 - 1)));
        assert!(levels.len() > 1 && levels.iter().all(|row| row.ends_with(&format!(": {level}"))), "{levels:?}");
        assert_eq!(ok(home, &["verify", "out"]).lines().count(), 1);
    }
    assert_eq!(before.len(), names("out").len());
    assert!(levels(home, "out", "4.md").iter().all(|row| row.ends_with(": -")), "others are as they were");
    // A run that finds nothing new keeps everything. One that starts over, or that changes the number of files,
    // restores the levels.
    let promoted = tree(&home.join("out"));
    assert_eq!(index(home, "out", &[])["texts_embedded"], 0);
    assert!(tree(&home.join("out")) == promoted);
    index(home, "out", &["--fresh"]);
    assert!(tree(&home.join("out")) == promoted, "promotion produces the bytes of a run from scratch");
    put(home, "docs/3.md", &page(3, 9));
    assert_eq!(index(home, "out", &["--files", "2"])["chunks_reused"].as_u64().map(|kept| kept > 20), Some(true));
    assert!(levels(home, "out", "3.md").iter().all(|row| row.ends_with(": validated")));
    // The front matter counts for documents that were not promoted, and a document that is removed loses its level.
    fs::remove_file(home.join("docs/3.md")).unwrap();
    index(home, "out", &[]);
    put(home, "docs/3.md", &page(3, 9));
    index(home, "out", &[]);
    assert!(levels(home, "out", "3.md").iter().all(|row| row.ends_with(": -")));
    assert!(levels(home, "out", "level.md").iter().all(|row| row.ends_with(": important")));
}

#[test]
fn a_promotion_reaches_shards_and_outlives_a_run_that_was_planned_before() {
    let home = corpus();
    let home = home.path();
    index(home, "out", &[]);
    ok(home, &["promote", "out", "2.md", "important"]);
    put(home, "docs/5.md", &page(5, 9));
    let plan = ok(home, &[&["plan", "-o", "out", "--shards", "1"], ROOTS, FAKE].concat());
    fs::write(home.join("plan.json"), plan).unwrap();
    ok(home, &["run", "--plan", "plan.json", "--shard", "1/1", "-o", "out"]);
    ok(home, &["commit", "--plan", "plan.json", "-o", "out"]);
    let sharded = tree(&home.join("out"));
    assert!(levels(home, "out", "2.md").iter().all(|row| row.ends_with(": important")));
    index(home, "out", &["--fresh"]);
    assert!(tree(&home.join("out")) == sharded);
    // If a level changes in between, the plan's parts belong to a different dataset.
    put(home, "docs/5.md", &page(5, 10));
    let plan = ok(home, &[&["plan", "-o", "out", "--shards", "1"], ROOTS, FAKE].concat());
    fs::write(home.join("plan.json"), plan).unwrap();
    ok(home, &["run", "--plan", "plan.json", "--shard", "1/1", "-o", "out"]);
    ok(home, &["promote", "out", "2.md", "later"]);
    let (code, _, err) = run(home, &["commit", "--plan", "plan.json", "-o", "out"]);
    assert_eq!(code, 5, "{err}");
    assert!(levels(home, "out", "2.md").iter().all(|row| row.ends_with(": later")));
}

#[test]
fn what_has_no_level_cannot_be_promoted() {
    let home = corpus();
    let home = home.path();
    index(home, "out", &[]);
    refused(home, &["promote", "out", "external:3.md", "important"], "`external`, which has no promotion levels");
    refused(home, &["promote", "out", "3.md#0", "important"], "is a single chunk");
    refused(home, &["promote", "out", "none.md", "important"], "has no document none.md");
    refused(home, &["promote", "out", "3.md", " "], "is not a valid level");
    refused(home, &["promote", "out", "3.md", "two\nlines"], "is not a valid level");
    let (code, _, err) = run(home, &["promote", "nowhere", "3.md", "important"]);
    assert_eq!(code, 5, "{err}");
    assert!(!home.join("nowhere").exists());
}

#[test]
fn deleted_documents_are_gone_from_every_table_until_they_are_indexed_again() {
    let home = corpus();
    let home = home.path();
    crate::common::write(home, "docs/odd.md", b"\xc3\x28 no text \xff");
    let (code, _, err) = run(home, &[&["index", "-o", "out"], ROOTS, FAKE].concat());
    assert_eq!(code, 3, "{err}");
    let whole = tree(&home.join("out"));
    ok(home, &["promote", "out", "4.md", "important"]);
    let said: Value = serde_json::from_str(&ok(home, &["delete", "out", "4.md", "odd.md", "--json"])).unwrap();
    assert_eq!(said["documents"], 2);
    assert!(levels(home, "out", "4.md").is_empty());
    assert_eq!(ok(home, &["verify", "out"]).lines().count(), 1, "no row, edge or count is left over");
    let stats: Value = serde_json::from_str(&ok(home, &["stats", "out", "--json"])).unwrap();
    assert_eq!((&stats["documents"], &stats["quarantined"]), (&30.into(), &0.into()));
    // All documents of two collections are deleted. The dataset then equals that of the other roots.
    ok(home, &["delete", "out", "--collection", "external", "--collection", "notes"]);
    fs::remove_file(home.join("docs/4.md")).unwrap();
    fs::remove_file(home.join("docs/odd.md")).unwrap();
    let rows = tree(&home.join("out"));
    ok(home, &[&["index", "docs", "-o", "fresh"], FAKE].concat());
    let data = |files: Vec<(String, Vec<u8>)>| -> Vec<_> {
        files.into_iter().filter(|(name, _)| name.starts_with("data/")).collect()
    };
    assert!(data(rows) == data(tree(&home.join("fresh"))), "rows are those of a run from scratch");
    // A run indexes what is in its corpus again, and keeps the vectors of what stayed.
    put(home, "docs/4.md", &page(4, 0));
    crate::common::write(home, "docs/odd.md", b"\xc3\x28 no text \xff");
    let (code, report, err) = run(home, &[&["index", "-o", "out", "--json"], ROOTS, FAKE].concat());
    assert_eq!(code, 3, "{err}");
    let report: Value = serde_json::from_str(&report).unwrap();
    assert!(report["chunks_reused"].as_u64().unwrap() > 10, "{report}");
    let again = tree(&home.join("out"));
    assert_eq!(again.len(), whole.len());
    let (code, _, _) = run(home, &[&["index", "-o", "new"], ROOTS, FAKE].concat());
    assert_eq!(code, 3);
    same(home, "out", "new");
}

#[test]
fn what_is_not_there_cannot_be_deleted() {
    let home = corpus();
    let home = home.path();
    index(home, "out", &[]);
    refused(home, &["delete", "out", "none.md"], "has no document none.md");
    refused(home, &["delete", "out", "3.md", "none.md"], "has no document none.md");
    refused(home, &["delete", "out", "3.md#0"], "is a single chunk");
    refused(home, &["delete", "out", "--collection", "none"], "no document in a collection `none`");
    let (code, _, err) = run(home, &["delete", "out"]);
    assert_eq!(code, 2, "{err}");
}

#[test]
fn a_manifest_with_impossible_numbers_is_refused_before_anything_is_changed() {
    let home = corpus();
    let home = home.path();
    index(home, "out", &["--files", "3"]);
    let path = home.join("out/manifest.json");
    let text = fs::read_to_string(&path).unwrap();
    for files in ["0", "4", "100000", "18446744073709551615"] {
        let other = text.replace("\"files\": 3", &format!("\"files\": {files}"));
        fs::write(&path, sealed(&serde_json::from_str(&other).unwrap())).unwrap();
        let before = tree(&home.join("out"));
        for args in [&["promote", "out", "3.md", "important"][..], &["stats", "out"], &["gc", "out"]] {
            let (code, _, err) = run(home, args);
            let problem = format!("is damaged: it records 3 parts and {files} files per table");
            assert!(code == 5 && err.contains(&problem), "{args:?} with {files} files: {code}: {err}");
        }
        assert!(tree(&home.join("out")) == before);
    }
    fs::write(&path, text).unwrap();
    ok(home, &["promote", "out", "3.md", "important"]);
}
