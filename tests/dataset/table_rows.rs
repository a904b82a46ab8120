//! Tables whose rows are documents: the same rows give the same documents, whatever the table is written in.

use std::fs;
use std::path::Path;
use std::sync::Arc;

use arrow::array::{ArrayRef, BinaryArray, Int32Array, ListArray, RecordBatch, StringArray};
use arrow::datatypes::Int32Type;
use parquet::arrow::ArrowWriter;
use serde_json::{Value, json};
use tempfile::TempDir;

use crate::common::{folder, json_lines, run, tree};

const ROWS: [&str; 2] = ["--text-column", "body"];
const NAMED: [&str; 4] = ["--text-column", "body", "--id-column", "name"];

const LINES: &str = r##"{"name": "mill", "body": "# Mill\n\nA mill grinds wheat.", "title": "The mill", "year": 1850}
{"name": "stone.md", "body": "Stones are *dressed*.\n\n## Tools\n\nA mill bill.", "year": 1851}
{"name": "c/notes.txt", "body": "# No heading\n\nOf rye.\n", "title": null, "year": 1852}
"##;

const CSV: &str = "name,year,body,title\nmill,1850,\"# Mill\n\nA mill grinds wheat.\",The mill\nstone.md,1851,\"Stones are *dressed*.\n\n## Tools\n\nA mill bill.\",\nc/notes.txt,1852,\"# No heading\n\nOf rye.\n\",\n";

fn parquet() -> Vec<u8> {
    let lines = json_lines(LINES);
    let texts = |key: &str| lines.iter().map(|row| row[key].as_str().map(str::to_owned)).collect::<StringArray>();
    let years: Int32Array =
        lines.iter().map(|row| row["year"].as_i64().and_then(|year| i32::try_from(year).ok())).collect();
    let vectors = ListArray::from_iter_primitive::<Int32Type, _, _>((0..3).map(|at| Some(vec![Some(at); 4])));
    let columns: Vec<(&str, ArrayRef)> = vec![
        ("vector", Arc::new(vectors)),
        ("body", Arc::new(texts("body"))),
        ("picture", Arc::new(BinaryArray::from_vec(vec![b"\xFF"; 3]))),
        ("title", Arc::new(texts("title"))),
        ("name", Arc::new(texts("name"))),
        ("year", Arc::new(years)),
    ];
    let batch = RecordBatch::try_from_iter(columns).unwrap();
    let mut bytes = Vec::new();
    let mut writer = ArrowWriter::try_new(&mut bytes, batch.schema(), None).unwrap();
    writer.write(&batch).unwrap();
    writer.close().unwrap();
    bytes
}

fn chunks(home: &Path, args: &[&str]) -> Vec<Value> {
    let (code, lines, err) = run(home, &[&["chunk", "docs"], args].concat());
    assert_eq!(code, 0, "{err}");
    json_lines(&lines)
}

fn index(home: &Path, out: &str, expected: i32) -> Value {
    let args = ["index", "docs", "-o", out, "--embedder", "fake", "--files", "2", "--json"];
    let (code, report, err) = run(home, &[&args[..], &NAMED].concat());
    assert_eq!(code, expected, "{err}");
    serde_json::from_str(&report).unwrap()
}

/// A corpus with a table of these bytes.
fn corpus(name: &str, bytes: impl AsRef<[u8]>) -> TempDir {
    let home = folder(&[("docs/a.md", "# A\n\nA file of its own.\n")]);
    fs::write(home.path().join("docs").join(name), bytes).unwrap();
    home
}

#[test]
fn the_same_rows_are_the_same_documents_in_each_kind_of_table() {
    let tsv = CSV.replace(',', "\t");
    let tables: [(&str, &[u8]); 4] = [
        ("t.jsonl", LINES.as_bytes()),
        ("t.csv", CSV.as_bytes()),
        ("t.tsv", tsv.as_bytes()),
        ("t.parquet", &parquet()),
    ];
    for (name, bytes) in tables {
        let home = corpus(name, bytes);
        let found = chunks(home.path(), &NAMED);
        let of = |row: &str| -> Vec<&Value> {
            found.iter().filter(|chunk| chunk["doc_id"] == format!("{name}#{row}")).collect()
        };
        assert!(of("mill")[0]["content"].as_str().unwrap().ends_with("A mill grinds wheat."), "{name}: {found:#?}");
        let year = if name.ends_with("sv") { json!("1850") } else { json!(1850) };
        let metadata: Value = serde_json::from_str(of("mill")[0]["metadata"].as_str().unwrap()).unwrap();
        // The title is a column of its own. Vectors and bytes are no metadata.
        assert_eq!(metadata, json!({ "year": year }), "{name}");
        assert_eq!(of("stone.md")[0]["headings"][0]["title"], "Tools", "{name}: {found:#?}");
        assert_eq!(of("c/notes.txt")[0]["headings"], json!([]), "{name}: {found:#?}");
        assert!(found.iter().any(|chunk| chunk["doc_id"] == "a.md"), "{name}");
        let numbered = chunks(home.path(), &ROWS);
        let ids: Vec<&str> = numbered.iter().filter_map(|chunk| chunk["doc_id"].as_str()).collect();
        assert!(ids.contains(&format!("{name}#1").as_str()) && ids.contains(&format!("{name}#3").as_str()), "{ids:?}");
    }
}

#[test]
fn a_table_is_no_table_of_documents_unless_its_column_is_named() {
    let home = corpus("t.jsonl", LINES);
    let found = chunks(home.path(), &[]);
    assert!(found.iter().all(|chunk| chunk["doc_id"] == "a.md"), "{found:#?}");
}

#[test]
fn the_dataset_of_rows_is_verified_and_a_changed_row_is_the_only_one_made_again() {
    let home = corpus("t.jsonl", LINES);
    let first = index(home.path(), "out", 0);
    assert_eq!((&first["documents"], &first["quarantined"]), (&4.into(), &0.into()));
    assert_eq!(index(home.path(), "out", 0)["texts_embedded"], 0);
    let (code, said, err) = run(home.path(), &["verify", "out", "--corpus", "docs"]);
    assert_eq!(code, 0, "{said}{err}");

    // Metadata is a part of a row.
    for (from, to) in [("dressed", "cut"), ("1850", "1849")] {
        let text = fs::read_to_string(home.path().join("docs/t.jsonl")).unwrap().replace(from, to);
        fs::write(home.path().join("docs/t.jsonl"), text).unwrap();
        let (code, said, _) = run(home.path(), &["verify", "out", "--corpus", "docs"]);
        assert!(code != 0 && said.contains("t.jsonl#"), "{said}");
        let changes = &index(home.path(), "out", 0)["changes"];
        assert_eq!((&changes["changed"]["count"], &changes["unchanged"]), (&1.into(), &3.into()), "{changes}");
    }
    fs::write(home.path().join("docs/t.jsonl"), LINES.lines().next().unwrap()).unwrap();
    let changes = &index(home.path(), "out", 0)["changes"];
    assert_eq!(changes["deleted"]["count"], 2, "{changes}");
    index(home.path(), "fresh", 0);
    assert_eq!(tree(&home.path().join("out")), tree(&home.path().join("fresh")));
}

#[test]
fn shards_of_rows_are_the_dataset_of_one_process() {
    let home = corpus("t.parquet", parquet());
    index(home.path(), "whole", 0);
    let args = ["plan", "docs", "-o", "out", "--shards", "2", "--embedder", "fake", "--files", "2"];
    let (code, plan, err) = run(home.path(), &[&args[..], &NAMED].concat());
    assert_eq!(code, 0, "{err}");
    fs::write(home.path().join("plan.json"), plan).unwrap();
    for args in [
        &["run", "--plan", "plan.json", "--shard", "1/2", "-o", "out"][..],
        &["run", "--plan", "plan.json", "--shard", "2/2", "-o", "out"],
        &["commit", "--plan", "plan.json", "-o", "out"],
    ] {
        let (code, _, err) = run(home.path(), args);
        assert_eq!(code, 0, "{err}");
    }
    assert_eq!(tree(&home.path().join("out")), tree(&home.path().join("whole")));
}

#[test]
fn rows_that_are_no_documents_are_quarantined_by_name_and_the_others_stay() {
    let lines = r#"{"name": "a", "body": "One."}
{"name": "b"}
{"name": "a", "body": "Again."}
{"body": "Nameless."}
not JSON
["a list"]

{"name": 8, "body": "Eight."}
{"name": "c", "body": "cut"#;
    let home = corpus("t.jsonl", lines);
    let report = index(home.path(), "out", 3);
    assert_eq!((&report["documents"], &report["quarantined"]), (&3.into(), &6.into()), "{report:#}");
    let list = json_lines(&fs::read_to_string(home.path().join("out/quarantine.jsonl")).unwrap());
    let reason = |name: &str| {
        let row = list.iter().find(|row| row["doc_id"] == format!("t.jsonl#{name}"));
        row.unwrap_or_else(|| panic!("{name} is not in {list:#?}"))["reason"].as_str().unwrap()
    };
    assert!(reason("b").contains("no text"));
    assert!(reason("row 3").contains("an earlier row has its id, `a`"));
    assert!(reason("row 4").contains("no id"));
    assert!(reason("row 5").contains("not JSON"));
    assert!(reason("row 6").contains("not a JSON object"));
    assert!(reason("row 8").contains("not JSON"));
}

#[test]
fn a_table_without_the_column_or_broken_is_quarantined_with_its_columns() {
    let parquet = parquet();
    let cases: [(&str, &[u8], &str); 5] = [
        ("t.jsonl", br#"{"text": "x", "name": "y"}"#, "it has no column `body`; its columns are"),
        ("t.csv", b"name,text\na,b\n", "it has no column `body`; its columns are name, text"),
        ("t.parquet", b"PAR1 no", "it is not Parquet"),
        ("cut.parquet", &parquet[..parquet.len() / 2], "it is not Parquet"),
        ("t.tsv", b"name\tbody\na\tcaf\xE9\n\xFF\xFE", "is not valid UTF-8"),
    ];
    for (name, bytes, reason) in cases {
        let home = corpus(name, bytes);
        let report = index(home.path(), "out", 3);
        assert_eq!((&report["documents"], &report["quarantined"]), (&1.into(), &1.into()), "{name}: {report:#}");
        let list = fs::read_to_string(home.path().join("out/quarantine.jsonl")).unwrap();
        assert!(list.contains(reason), "{name}: {list}");
    }
}

#[test]
fn settings_of_rows_that_contradict_each_other_are_named() {
    let home = corpus("t.jsonl", LINES);
    for (args, said) in [
        (&["--id-column", "name"][..], "--text-column"),
        (&["--text-column", "body", "--id-column", "body"], "is the column with the text"),
    ] {
        let (code, _, err) = run(home.path(), &[&["chunk", "docs"], args].concat());
        assert!(code == 2 && err.contains(said), "{code}: {err}");
    }
}

#[test]
fn a_row_is_explained_by_its_name() {
    let home = corpus("t.jsonl", LINES);
    let (code, said, err) = run(home.path(), &[&["explain", "docs/t.jsonl#stone.md"], &NAMED[..]].concat());
    assert!(code == 0 && said.contains("A mill bill."), "{said}{err}");
    let (code, _, err) = run(home.path(), &[&["explain", "docs/t.jsonl"], &NAMED[..]].concat());
    assert!(code != 0 && err.contains("name one of them, such as `t.jsonl#"), "{err}");
    let (code, _, err) = run(home.path(), &[&["explain", "docs/t.jsonl#rye"], &NAMED[..]].concat());
    assert!(code != 0 && err.contains("was not found"), "{err}");
}
