//! Importers of published sets, each tested on an invented miniature of its layout, as JSON and as Parquet.

use std::fs::{self, File};
use std::path::Path;
use std::sync::Arc;

use arrow::array::{ArrayRef, BooleanArray, Int64Array, ListArray, RecordBatch, StringArray, StructArray};
use arrow::buffer::{NullBuffer, OffsetBuffer};
use arrow::datatypes::Field;
use chunkmill_eval::labels::set::LabelSet;
use parquet::arrow::ArrowWriter;
use parquet::basic::Compression;
use parquet::file::properties::WriterProperties;
use serde_json::{Value, json};

use crate::common::{arg, eval, folder};
use crate::import::{ended, imported, left, refused, text};

/// Returns a column of these values, with their type.
fn column(values: &[&Value]) -> ArrayRef {
    let nulls = NullBuffer::from(values.iter().map(|value| !value.is_null()).collect::<Vec<_>>());
    match values.iter().find(|value| !value.is_null()) {
        Some(Value::Number(_)) => Arc::new(Int64Array::from_iter(values.iter().map(|value| value.as_i64()))),
        Some(Value::Bool(_)) => Arc::new(BooleanArray::from_iter(values.iter().map(|value| value.as_bool()))),
        Some(Value::Array(_)) => {
            let lists: Vec<&[Value]> = values.iter().map(|v| v.as_array().map_or(&[][..], Vec::as_slice)).collect();
            let inside = column(&lists.iter().flat_map(|list| list.iter()).collect::<Vec<_>>());
            let field = Arc::new(Field::new("element", inside.data_type().clone(), true));
            let offsets = OffsetBuffer::from_lengths(lists.iter().map(|list| list.len()));
            Arc::new(ListArray::new(field, offsets, inside, Some(nulls)))
        }
        Some(Value::Object(first)) => {
            let columns =
                first.keys().map(|key| (key, column(&values.iter().map(|value| &value[key]).collect::<Vec<_>>())));
            let (fields, columns): (Vec<Field>, Vec<ArrayRef>) =
                columns.map(|(key, column)| (Field::new(key, column.data_type().clone(), true), column)).unzip();
            Arc::new(StructArray::new(fields.into(), columns, Some(nulls)))
        }
        _ => Arc::new(StringArray::from_iter(values.iter().map(|value| value.as_str()))),
    }
}

/// Writes rows as Parquet.
pub fn parquet(file: &Path, rows: &[Value]) {
    fs::create_dir_all(file.parent().unwrap()).unwrap();
    let rows = column(&rows.iter().collect::<Vec<_>>());
    let batch = RecordBatch::from(rows.as_any().downcast_ref::<StructArray>().unwrap().clone());
    // Most programs write Parquet this way by default.
    let properties = WriterProperties::builder().set_compression(Compression::SNAPPY).build();
    let file = File::create(file).unwrap();
    let mut writer = ArrowWriter::try_new(file, batch.schema(), Some(properties)).unwrap();
    writer.write(&batch).unwrap();
    writer.close().unwrap();
}

/// Returns the references of a question by its id.
fn references(files: &[(String, Vec<u8>)], id: &str) -> Value {
    let lines = text(files, "queries.jsonl").lines().map(|line| serde_json::from_str::<Value>(line).unwrap());
    let mut found = lines.filter(|line| line["query_id"] == id);
    found.next().unwrap_or_else(|| panic!("{id}"))["references"].clone()
}

fn names(files: &[(String, Vec<u8>)]) -> Vec<&str> {
    files.iter().map(|(name, _)| name.as_str()).collect()
}

/// Asserts that nothing has drifted: every place contains the text that its label quotes.
fn verified(home: &Path) {
    let (code, out, _) = eval(&["verify", arg(&home.join("new/set"))]);
    assert_eq!(code, 0, "{out}");
}

fn answer(evidence: &[&str]) -> Value {
    json!({"answer": {"unanswerable": evidence.is_empty(), "extractive_spans": [], "yes_no": null,
        "free_form_answer": "", "evidence": evidence, "highlighted_evidence": []}, "worker_id": "w"})
}

#[test]
fn qasper_becomes_a_set() {
    let paper = json!({
        "title": "A\nStudy", "abstract": "We study.",
        "full_text": [
            {"section_name": "Method", "paragraphs": ["The results.", ""]},
            {"section_name": "Method ::: Data", "paragraphs": ["Größe is\nmeasured. The results.", "Twice as good."]},
            {"section_name": null, "paragraphs": ["Loose end."]}],
        "figures_and_tables": [{"file": "1.png", "caption": "Table 1: Numbers."}],
        "qas": [
            {"question": " What? ", "question_id": "q1", "answers": [
                answer(&["Twice as good.", "Größe is measured. The results.", "Twice as good."]), answer(&[]),
                answer(&["The results."]), answer(&["The results."])]},
            {"question": "Seen?", "question_id": "q2", "answers": [answer(&["FLOAT SELECTED: Table 1: Numbers."])]},
            {"question": "Part?", "question_id": "q3", "answers": [answer(&["as good"]), answer(&["We study.", "Gone."])]},
            {"question": "Never?", "question_id": "q4", "answers": [answer(&[])]},
            {"question": "Lost?", "question_id": "q5", "answers": [answer(&["Elsewhere."])]}],
    });
    let home = folder(&[("qasper-test-v0.3.json", &json!({"1909.1": paper}).to_string())]);
    let file = home.path().join("qasper-test-v0.3.json");
    let (set, out, _, files) = ended(3, &["qasper", arg(&file)]);
    assert_eq!(names(&files), ["corpus/1909.1.md", "queries.jsonl"]);
    assert_eq!(
        text(&files, "corpus/1909.1.md"),
        "# A Study\n\nWe study.\n\n## Method\n\nThe results.\n\n### Data\n\nGröße is\nmeasured. The results.\n\n\
         Twice as good.\n\nLoose end.\n\n## Figures and tables\n\nTable 1: Numbers."
    );
    assert!(out.contains(": 3 questions, 3 references, 1 document\nleft out: 2 questions without evidence"), "{out}");
    assert!(out.contains("\nleft out: 2 unusable rows"), "{out}");
    let place = |start: usize, text: &str| json!({"doc_id": "1909.1.md", "start": start, "end": start + text.len(), "text": text});
    let both = json!([place(57, "Größe is\nmeasured. The results."), place(92, "Twice as good.")]);
    assert_eq!(references(&files, "q1"), json!([{"any": [place(33, "The results."), {"all": both}]}]));
    assert_eq!(references(&files, "q2")[0]["text"], "Table 1: Numbers.");
    assert_eq!(references(&files, "q3"), json!([place(98, "as good")]));
    verified(set.path());

    // The hub's converter turns a list of objects into an object of lists, at every depth.
    let mut row = paper.clone();
    row["id"] = json!("1909.1");
    let turned = |list: &Value| {
        let list = list.as_array().unwrap();
        let keys = list[0].as_object().unwrap().keys();
        let column = |key: &String| (key.clone(), list.iter().map(|one| one[key].clone()).collect::<Value>());
        Value::Object(keys.map(column).collect())
    };
    for asked in row["qas"].as_array_mut().unwrap() {
        asked["answers"] = turned(&asked["answers"]);
    }
    for key in ["full_text", "figures_and_tables", "qas"] {
        row[key] = turned(&row[key]);
    }
    parquet(&home.path().join("hub/qasper/test-00000-of-00001.parquet"), &[row]);
    fs::write(home.path().join("hub/qasper/train-00000-of-00001.parquet"), "not read").unwrap();
    assert_eq!(left(&["qasper", arg(&home.path().join("hub"))]).2, files);

    let with = |from: &str, to: &str| fs::write(&file, json!({"1909.1": paper}).to_string().replace(from, to)).unwrap();
    with("\"paragraphs\"", "\"text\"");
    refused(&["qasper", arg(&file)], "qasper-test-v0.3.json:1909.1: missing field `paragraphs`");
    with("\"q2\"", "\"q1\"");
    let (_set, err, _) = left(&["qasper", arg(&file)]);
    assert!(err.contains("1909.1:question q1: question `q1` was there before"), "{err}");
}

#[test]
fn legalbench_rag_becomes_a_set() {
    let nda = json!({"tests": [
        {"query": "Consider B; who?", "snippets": [
            {"file_path": "nda/B & Co.txt", "span": [0, 5], "answer": "§1\nWe"},
            {"file_path": "nda/B & Co.txt", "span": [11, 14]}], "tags": ["x"]},
        {"query": "None?", "snippets": []}]});
    let policy = json!({"tests": [{"query": "Data?", "snippets": [{"file_path": "policy/a.txt", "span": [0, 4]}]}]});
    let home = folder(&[
        ("benchmarks/nda.json", &nda.to_string()),
        ("benchmarks/policy.json", &policy.to_string()),
        ("corpus/nda/B & Co.txt", "§1\r\nWe keep\r\nit."),
        ("corpus/nda/unasked.txt", "not read"),
        ("corpus/policy/a.txt", "Data."),
    ]);
    let (set, out, files) = imported(&["legalbench-rag", arg(home.path())]);
    assert_eq!(names(&files), ["corpus/nda/B & Co.txt", "corpus/policy/a.txt", "queries.jsonl"]);
    assert!(out.contains("left out: 1 question without evidence"), "{out}");
    assert_eq!(text(&files, "corpus/nda/B & Co.txt"), "§1\nWe keep\nit.");
    let first = concat!(
        r#"{"query_id":"nda-0001","query":"Consider B; who?","references":["#,
        r#"{"doc_id":"nda/B & Co.txt","start":0,"end":6,"text":"§1\nWe"},"#,
        r#"{"doc_id":"nda/B & Co.txt","start":12,"end":15,"text":"it."}],"tags":["nda"]}"#
    );
    assert_eq!(text(&files, "queries.jsonl").lines().next(), Some(first));
    assert!(references(&files, "policy-0001").is_array());
    verified(set.path());
    let (_, _, files) = imported(&["legalbench-rag", arg(home.path()), "--benchmark", "policy"]);
    assert_eq!(names(&files), ["corpus/policy/a.txt", "queries.jsonl"]);

    let args = ["legalbench-rag", arg(home.path())];
    let write = |from: &str, to: &str| {
        fs::write(home.path().join("benchmarks/nda.json"), nda.to_string().replace(from, to)).unwrap();
    };
    for (from, to, problem) in [
        ("[11,14]", "[11,15]", "nda.json:row 1: `nda/B & Co.txt`: characters 11..15 are not text"),
        ("nda/B & Co.txt", "nda/C.txt", "nda.json:row 1: there is no document `nda/C.txt`"),
        ("nda/B & Co.txt", "../benchmarks/nda.json", "there is no document `../benchmarks/nda.json`"),
        ("\"query\"", "\"question\"", "nda.json:row 1: missing field `query`"),
    ] {
        write(from, to);
        let (set, err, _) = left(&args);
        assert!(err.contains(problem), "{err}");
        verified(set.path());
    }
    write("[0,5]", "[1,5]");
    let (_, _, err, _) = ended(0, &args);
    assert!(err.contains("characters 1..5 are not \"§1 We\", which is at 0"), "{err}");
}

#[test]
fn conteb_becomes_a_set() {
    let home = folder(&[]);
    let at = |name: &str| home.path().join(name);
    let chunk = |id: &str, text: &str| json!({"chunk_id": id, "chunk": text, "og_chunk": "unused"});
    let chunks = [chunk("a_b_10", "ten"), chunk("a_b_2", "zwölf"), chunk("a_b_0", "null"), chunk("c_0", "see")];
    let asked = [
        json!({"query": "two?", "chunk_id": "a_b_2", "answer": "x"}),
        json!({"query": "ten?", "chunk_id": "a_b_10", "answer": "x"}),
    ];
    parquet(&at("documents/test-00000-of-00001.parquet"), &chunks);
    parquet(&at("queries/test-00000-of-00001.parquet"), &asked);
    parquet(&at("queries/train-00000-of-00001.parquet"), &[json!({"query": "not read", "chunk_id": "z_0"})]);
    let (set, _, files) = imported(&["conteb", arg(home.path())]);
    assert_eq!(names(&files), ["corpus/a_b.txt", "corpus/c.txt", "queries.jsonl"]);
    assert_eq!(text(&files, "corpus/a_b.txt"), "null\n\nzwölf\n\nten", "chunks are in the order of their numbers");
    let place = |start: usize, text: &str| json!({"doc_id": "a_b.txt", "start": start, "end": start + text.len(), "text": text});
    assert_eq!(references(&files, "a_b-0001"), json!([place(6, "zwölf")]));
    assert_eq!(references(&files, "a_b-0002"), json!([place(14, "ten")]));
    verified(set.path());

    let args = ["conteb", arg(home.path())];
    let both = json!({"query": "both?", "chunk_ids": ["a_b_2", "c_0", "a_b_2"]});
    parquet(&at("queries/test-00000-of-00001.parquet"), &[both]);
    assert_eq!(references(&imported(&args).2, "a_b-0001").as_array().unwrap().len(), 2);
    parquet(&at("queries/test-00000-of-00001.parquet"), &[json!({"query": "?", "chunk_id": "a_b_1"})]);
    refused(&args, "test-00000-of-00001.parquet:row 1: there is no chunk `a_b_1`");
    parquet(&at("documents/test-00000-of-00001.parquet"), &[chunk("a_1", "x"), chunk("a_1", "y")]);
    refused(&args, "test-00000-of-00001.parquet:row 2: chunk `a_1` appears twice");
    refused(
        &["conteb", arg(home.path()), "--split", "dev"],
        "documents: no file belongs to split `dev`".replace("documents", arg(home.path())).as_str(),
    );
    // A codec that is not built in. The number of the codec comes after a column's name.
    let mut bytes = fs::read(at("documents/test-00000-of-00001.parquet")).unwrap();
    let codec = bytes.windows(10).rposition(|window| window == b"chunk_id\x15\x02").unwrap() + 9;
    bytes[codec] = 8;
    fs::write(at("documents/test-00000-of-00001.parquet"), bytes).unwrap();
    refused(
        &args,
        "test-00000-of-00001.parquet: cannot be read as Parquet: compression BROTLI(BrotliLevel(1)), SNAPPY: ",
    );
    fs::write(at("documents/test-00000-of-00001.parquet"), "PAR1").unwrap();
    refused(&args, "test-00000-of-00001.parquet: cannot be read as Parquet: ");
}

#[test]
fn hicbench_becomes_a_set() {
    let line = |id: &str, evidences: &[&str]| {
        json!({"input": "Why?", "answers": ["x"], "facts": ["x"], "evidences": evidences, "all_classes": [], "_id": id})
            .to_string()
    };
    let qas =
        [line("d 1", &["Erster  Satz.", "Über zwei Zeilen.", "Nirgends."]), line("d 1", &["Nirgends."])].join("\n");
    let home = folder(&[
        ("qas/HiCBench.jsonl", &qas),
        ("qas/other.jsonl", "not read"),
        ("docs/HiCBench/d 1.txt", "# Kopf\n\nErster Satz. Über\nzwei Zeilen."),
        ("docs/HiCBench/unasked.txt", "not read"),
    ]);
    let (set, out, err, files) = ended(3, &["hicbench", arg(home.path())]);
    assert_eq!(names(&files), ["corpus/d%201.md", "queries.jsonl"]);
    assert!(out.contains(": 1 question, 2 references, 1 document\nleft out: 1 question without evidence"), "{out}");
    assert!(out.contains("\nleft out: 2 unusable rows"), "{out}");
    assert!(err.contains("HiCBench.jsonl:2: the document does not have the text \"Nirgends.\""), "{err}");
    let place = |start: usize, text: &str| json!({"doc_id": "d%201.md", "start": start, "end": start + text.len(), "text": text});
    assert_eq!(references(&files, "d 1-0001"), json!([place(8, "Erster Satz."), place(21, "Über\nzwei Zeilen.")]));
    verified(set.path());

    let args = ["hicbench", arg(home.path())];
    fs::write(home.path().join("qas/HiCBench.jsonl"), format!("{qas}\n{}", line("d2", &[]))).unwrap();
    let (_set, err, _) = left(&args);
    assert!(err.contains("HiCBench.jsonl:3: there is no document `d2`"), "{err}");
    fs::write(home.path().join("qas/HiCBench.jsonl"), line("../HiCBench/d 1", &[])).unwrap();
    refused(&args, "there is no document `../HiCBench/d 1`");
    fs::write(home.path().join("qas/HiCBench.jsonl"), qas.replace("evidences", "evidence")).unwrap();
    refused(&args, "HiCBench.jsonl:1: missing field `evidences`");
    refused(&["hicbench", arg(home.path()), "--name", "none"], "qas/none.jsonl");
}

#[test]
fn miracl_becomes_a_set() {
    let passage = |id: &str, text: &str| json!({"docid": id, "title": "Titel", "text": text}).to_string();
    let home = folder(&[
        ("a/miracl-v1.0-de/topics/topics.miracl-v1.0-de-dev.tsv", "1\tWas?\n2\tNie?\n"),
        (
            "a/miracl-v1.0-de/qrels/qrels.miracl-v1.0-de-dev.tsv",
            "1\tQ0\t7#1\t1\n1\tQ0\t7#0\t0\n1\tQ0\t9#0\t1\n2\tQ0\t7#0\t0\n",
        ),
        ("a/miracl-v1.0-sw/topics/topics.miracl-v1.0-sw-dev.tsv", "1\tNini?\n"),
        ("a/miracl-v1.0-sw/qrels/qrels.miracl-v1.0-sw-dev.tsv", "1\tQ0\t7#0\t1\n"),
        ("b/miracl-corpus-v1.0-de/docs-0.jsonl", &passage("7#0", "Null.")),
        ("b/miracl-corpus-v1.0-de/docs-1.jsonl", &passage("7#1", "Überall.")),
        ("b/miracl-corpus-v1.0-sw/docs-0.jsonl", &passage("7#0", "Sifuri.")),
    ]);
    let (a, b) = (home.path().join("a"), home.path().join("b"));
    let args = ["miracl", arg(&a), "--corpus", arg(&b), "--language", "de", "--language", "sw"];
    let (_set, out, files) = imported(&args);
    assert_eq!(names(&files), ["corpus/de/7%230.txt", "corpus/de/7%231.txt", "corpus/sw/7%230.txt", "queries.jsonl"]);
    assert_eq!(text(&files, "corpus/de/7%231.txt"), "Titel\n\nÜberall.");
    let lines = concat!(
        r#"{"query_id":"de-1","query":"Was?","references":[{"doc_id":"de/7%231.txt"},{"doc_id":"de/9%230.txt"}],"tags":["de"]}"#,
        "\n",
        r#"{"query_id":"sw-1","query":"Nini?","references":[{"doc_id":"sw/7%230.txt"}],"tags":["sw"]}"#,
        "\n"
    );
    assert_eq!(text(&files, "queries.jsonl"), lines);
    assert!(
        out.contains("left out: 1 question without evidence") && out.contains("references to missing documents: "),
        "{out}"
    );

    let (_set, _, files) = imported(&[&args[..], &["--articles"]].concat());
    assert_eq!(names(&files), ["corpus/de/7.txt", "corpus/sw/7.txt", "queries.jsonl"]);
    assert_eq!(text(&files, "corpus/de/7.txt"), "Titel\n\nNull.\n\nÜberall.");
    let place = json!({"doc_id": "de/7.txt", "start": 14, "end": 23, "text": "Überall."});
    assert_eq!(references(&files, "de-1")[0], place);

    refused(&["miracl", arg(&a), "--corpus", arg(&b), "--language", "yo"], "topics.miracl-v1.0-yo-dev.tsv");
    fs::write(b.join("miracl-corpus-v1.0-de/docs-1.jsonl"), passage("7#0", "Rebuild.")).unwrap();
    let (_set, err, _) = left(&args);
    assert!(err.contains("docs-1.jsonl:1: passage `7#0` appears twice"), "{err}");
    for name in ["docs-0.jsonl", "docs-1.jsonl"] {
        let file = b.join("miracl-corpus-v1.0-de").join(name);
        fs::rename(&file, file.with_extension("jsonl.gz")).unwrap();
    }
    refused(&args, "miracl-corpus-v1.0-de: has no tables");
}

#[test]
fn what_has_the_form_of_squad_becomes_a_set() {
    // CUAD: one article per contract, and every answer counts. Then the same as rows of a hub, in two files.
    let question = "Highlight the parts that name the parties.";
    let cuad = json!({"version": "aok_v1.0", "data": [{"title": "NDA", "paragraphs": [{"context": "Ä and B agree.", "qas": [
        {"id": "NDA__Parties", "question": question, "is_impossible": false,
            "answers": [{"text": "Ä", "answer_start": 0}, {"text": "B", "answer_start": 6}]},
        {"id": "NDA__Cap", "question": "Cap?", "is_impossible": true, "answers": []}]}]}]});
    let home = folder(&[("CUADv1.json", &cuad.to_string())]);
    let at = |name: &str| home.path().join(name);
    let (_set, out, files) = imported(&["squad", arg(&at("CUADv1.json")), "--all-answers"]);
    assert_eq!(names(&files), ["corpus/NDA.txt", "queries.jsonl"]);
    let place = |start: usize, text: &str| json!({"doc_id": "NDA.txt", "start": start, "end": start + text.len(), "text": text});
    assert_eq!(references(&files, "NDA__Parties"), json!([place(0, "Ä"), place(7, "B")]));
    assert!(out.contains("left out: 1 question without evidence"), "{out}");
    let row = |id: &str, question: &str, text: &[&str], start: &[usize]| {
        json!({"id": id, "title": "NDA", "context": "Ä and B agree.", "question": question,
            "answers": {"text": text, "answer_start": start}})
    };
    parquet(&at("hub/data/test-00000-of-00002.parquet"), &[row("NDA__Parties", question, &["Ä", "B"], &[0, 6])]);
    parquet(&at("hub/data/test-00001-of-00002.parquet"), &[row("NDA__Cap", "Cap?", &[], &[])]);
    assert_eq!(imported(&["squad", arg(&at("hub")), "--all-answers"]).2, files);
    parquet(&at("hub/data/test-00001-of-00002.parquet"), &[row("NDA__Cap", "Cap?", &["C"], &[0])]);
    let (_set, err, _) = left(&["squad", arg(&at("hub"))]);
    assert!(
        err.contains("question NDA__Cap: characters 0..1 are not \"C\", and the document does not have this text"),
        "{err}"
    );
    parquet(&at("hub/data/test-00001-of-00002.parquet"), &[row("NDA__Cap", "Cap?", &["C", "D"], &[0])]);
    let (_set, err, _) = left(&["squad", arg(&at("hub"))]);
    assert!(err.contains("test-00001-of-00002.parquet:row 1: `text` has 2 values, and others have 1"), "{err}");

    // COVID-QA: numbers as ids, no title, and each paper is one paragraph.
    let covid = json!({"data": [{"paragraphs": [{"context": "It is airborne.", "document_id": 630, "qas": [
        {"id": 262, "question": "How?", "is_impossible": false, "answers": [{"text": "airborne", "answer_start": 6}]}]}]}]});
    fs::write(at("COVID-QA.json"), covid.to_string()).unwrap();
    let (_set, _, files) = imported(&["squad", arg(&at("COVID-QA.json"))]);
    assert_eq!(names(&files), ["corpus/630.txt", "queries.jsonl"]);
    assert_eq!(references(&files, "262")[0]["start"], 6);
    let row = json!({"document_id": 630, "context": "It is airborne.", "question": "How?", "is_impossible": false, "id": 262,
        "answers": {"text": ["airborne"], "answer_start": [6]}});
    parquet(&at("covid.parquet"), &[row]);
    assert_eq!(imported(&["squad", arg(&at("covid.parquet"))]).2, files);
}

#[test]
fn narrativeqa_becomes_a_set() {
    let row = |story: &str, text: &str, question: &str| {
        json!({"document": {"id": story, "kind": "gutenberg", "summary": {"text": "Short.", "tokens": ["Short", "."]}, "text": text},
            "question": {"text": question, "tokens": []}, "answers": [{"text": "x", "tokens": ["x"]}]})
    };
    let home = folder(&[]);
    let file = home.path().join("data/test-00000-of-00001.parquet");
    parquet(&file, &[row("b1", "Long.", "Who?"), row("b2", "Longer.", "When?"), row("b1", "Long.", "Why?")]);
    let (set, _, files) = imported(&["narrativeqa", arg(home.path())]);
    assert_eq!(names(&files), ["corpus/b1.txt", "corpus/b2.txt", "queries.jsonl"]);
    let labels = LabelSet::read(&set.path().join("new/set")).unwrap();
    let ids: Vec<(&str, &str)> = labels.queries.iter().map(|q| (q.id.as_str(), q.tags[0].as_str())).collect();
    assert_eq!(ids, [("b1-0001", "gutenberg"), ("b2-0001", "gutenberg"), ("b1-0002", "gutenberg")]);
    assert_eq!(references(&files, "b1-0002"), json!([{"doc_id": "b1.txt"}]));
    parquet(&file, &[row("b1", "Long.", "Who?"), row("b1", "Other.", "Why?")]);
    let (_set, err, _) = left(&["narrativeqa", arg(home.path())]);
    assert!(
        err.contains("test-00000-of-00001.parquet:row 2: story `b1` has a different text in an earlier row"),
        "{err}"
    );
}

#[test]
fn beir_is_read_from_tables_too() {
    let home = folder(&[]);
    let at = |name: &str| home.path().join(name);
    parquet(
        &at("hub/corpus/corpus-00000-of-00001.parquet"),
        &[json!({"_id": "1", "title": "One", "text": "First."}), json!({"_id": "2", "title": null, "text": "Second."})],
    );
    parquet(&at("hub/queries/queries-00000-of-00001.parquet"), &[json!({"_id": "q1", "text": "Which?"})]);
    let judged = |document: &str, score: i64| json!({"query-id": "q1", "corpus-id": document, "score": score});
    parquet(&at("hub/data/test-00000-of-00001.parquet"), &[judged("1", 0), judged("2", 2)]);
    parquet(&at("hub/data/train-00000-of-00001.parquet"), &[judged("1", 1)]);
    let (_set, _, files) = imported(&["beir", arg(&at("hub"))]);
    assert_eq!(text(&files, "corpus/1.txt"), "One\n\nFirst.");
    assert_eq!(text(&files, "corpus/2.txt"), "Second.");
    assert_eq!(references(&files, "q1"), json!([{"doc_id": "2.txt", "grade": 2.0}]));
    refused(&["beir", arg(&at("hub")), "--split", "dev"], "hub/data: no file belongs to split `dev`");
    parquet(&at("hub/data/test-00000-of-00001.parquet"), &[json!({"query-id": "q9", "corpus-id": "1", "score": 1})]);
    refused(&["beir", arg(&at("hub"))], "test-00000-of-00001.parquet:row 1: there is no question `q9`");

    // LongEmbed uses other names, and its judgements have no score.
    let long = folder(&[
        ("corpus.jsonl", r#"{"doc_id": "d1", "text": "Long."}"#),
        ("queries.jsonl", r#"{"qid": "q1", "text": "Which?"}"#),
        ("qrels.jsonl", r#"{"qid": "q1", "doc_id": "d1"}"#),
    ]);
    let (_set, _, files) = imported(&["beir", arg(long.path())]);
    assert_eq!(references(&files, "q1"), json!([{"doc_id": "d1.txt"}]));
}

#[test]
fn a_table_may_have_any_form() {
    let story = r#"{"document": {"id": "b", "text": "Long."}, "question": {"text": "Who?"}}"#;
    let home = folder(&[
        ("a.jsonl", &format!("{story}\n\n{story}\n")),
        ("a.json", &format!("[{story}, {story}]")),
        ("b.json", &format!(r#"{{"rows": [{story}, {story}], "version": 1}}"#)),
        ("two.json", r#"{"rows": [], "more": []}"#),
        ("text.json", "\"text\""),
        ("list.json", "[1]"),
        ("broken.json", "[\n{\"document\": }]"),
        ("a.txt", "text"),
        ("a.jsonl.gz", "packed"),
        ("a.csv", "document,question\nb,Who?\n"),
        ("empty/readme.md", ""),
    ]);
    let at = |name: &str| home.path().join(name);
    let (_set, _, files) = imported(&["narrativeqa", arg(&at("a.jsonl"))]);
    for other in ["a.json", "b.json"] {
        assert_eq!(imported(&["narrativeqa", arg(&at(other))]).2, files, "{other}");
    }
    for (name, problem) in [
        ("two.json", "two.json:1: more than one of its lists may be the rows: more, rows"),
        ("text.json", "text.json:1: is neither a list nor an object"),
        ("list.json", "list.json:row 1: is not an object"),
        ("broken.json", "broken.json:2: "),
        ("a.txt", "a.txt: is not a table"),
        ("a.jsonl.gz", "a.jsonl.gz: is not a table"),
        ("a.csv", "a.csv:2: invalid type: string \"b\", expected struct"),
        ("empty", "empty: has no tables"),
        ("none", "cannot read "),
    ] {
        refused(&["narrativeqa", arg(&at(name))], problem);
    }
}
