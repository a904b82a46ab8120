//! `chunkmill filter`: documents in a table become chunks in a table.

use std::collections::BTreeMap;
use std::io::Write;
use std::path::Path;
use std::process::Stdio;
use std::sync::Arc;
use std::time::UNIX_EPOCH;

use arrow::array::{
    ArrayRef, BinaryArray, Int64Array, LargeStringArray, RecordBatch, StringArray, StringViewArray,
    TimestampMicrosecondArray,
};
use arrow::compute::{cast, concat_batches};
use arrow::datatypes::{DataType, Schema};
use arrow::ipc::reader::StreamReader;
use arrow::ipc::writer::StreamWriter;
use arrow::util::display::{ArrayFormatter, FormatOptions};
use chunkmill::dataset::{Dataset, Table};
use tempfile::TempDir;

use crate::common::{folder, program, run, tree};

/// Returns a table as a stream, with this many rows in each batch.
pub fn stream(table: &RecordBatch, rows: usize) -> Vec<u8> {
    let mut writer = StreamWriter::try_new(Vec::new(), &table.schema()).unwrap();
    for start in (0..table.num_rows()).step_by(rows) {
        writer.write(&table.slice(start, rows.min(table.num_rows() - start))).unwrap();
    }
    writer.into_inner().unwrap()
}

/// Runs the filter with this standard input and returns its exit code, standard output and standard error.
fn filter(input: &[u8], args: &[&str]) -> (i32, Vec<u8>, String) {
    let home = TempDir::new().unwrap();
    let mut command = program(home.path());
    let command = command.arg("filter").args(args).stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
    let mut child = command.spawn().unwrap();
    let mut stdin = child.stdin.take().unwrap();
    let input = input.to_vec();
    // The program may end before it has read everything.
    let writing = std::thread::spawn(move || stdin.write_all(&input));
    let output = child.wait_with_output().unwrap();
    let _ = writing.join().unwrap();
    (output.status.code().unwrap(), output.stdout, String::from_utf8(output.stderr).unwrap())
}

/// Returns the output as one batch.
fn read(output: &[u8]) -> RecordBatch {
    let reader = StreamReader::try_new(output, None).unwrap();
    let schema = reader.schema();
    let batches: Vec<RecordBatch> = reader.map(Result::unwrap).collect();
    concat_batches(&schema, &batches).unwrap()
}

/// Returns the cells of a row as text, by the names of the columns.
fn row(batch: &RecordBatch, row: usize) -> BTreeMap<String, String> {
    let options = FormatOptions::new().with_null("null");
    // Names of time zones need a feature that nothing else needs.
    let plain = |column: &ArrayRef| match column.data_type() {
        DataType::Timestamp(..) => cast(column, &DataType::Int64).unwrap(),
        _ => Arc::clone(column),
    };
    let cell = |column: &ArrayRef| ArrayFormatter::try_new(&plain(column), &options).unwrap().value(row).to_string();
    let names = batch.schema().fields().iter().map(|field| field.name().clone()).collect::<Vec<_>>();
    names.into_iter().zip(batch.columns().iter().map(cell)).collect()
}

fn rows(batch: &RecordBatch) -> Vec<BTreeMap<String, String>> {
    (0..batch.num_rows()).map(|at| row(batch, at)).collect()
}

pub fn table(columns: &[(&str, ArrayRef)]) -> RecordBatch {
    RecordBatch::try_from_iter_with_nullable(columns.iter().map(|(name, array)| (*name, Arc::clone(array), true)))
        .unwrap()
}

pub fn strings(values: &[&str]) -> ArrayRef {
    Arc::new(StringArray::from(values.to_vec()))
}

/// Returns the files of a corpus as a table: names, bytes, times.
fn corpus(root: &Path) -> RecordBatch {
    let (names, texts): (Vec<String>, Vec<Vec<u8>>) = tree(root).into_iter().unzip();
    let time = |name: &String| {
        let time = std::fs::metadata(root.join(name)).unwrap().modified().unwrap();
        i64::try_from(time.duration_since(UNIX_EPOCH).unwrap().as_micros()).unwrap()
    };
    let times: TimestampMicrosecondArray = names.iter().map(|name| Some(time(name))).collect();
    table(&[
        ("text", Arc::new(BinaryArray::from_iter_values(&texts))),
        ("doc_id", Arc::new(LargeStringArray::from_iter_values(&names))),
        ("modified_time", Arc::new(times.with_timezone("UTC"))),
    ])
}

#[test]
fn rows_are_those_that_index_writes() {
    let larder = Path::new(env!("CARGO_MANIFEST_DIR")).join("datasets/larder/corpus");
    let table = corpus(&larder);
    for settings in [
        &["--preset", "ragdocs", "--embedder", "fake"][..],
        &["--preset", "docs", "--embedder", "fake", "--embedding-type", "f16"],
        &[
            "--preset",
            "structure",
            "--unit",
            "model",
            "--max",
            "100",
            "--min",
            "20",
            "--embedder",
            "fake",
            "--embedding-type",
            "list",
        ],
        &["--preset", "line-threshold", "--embedder", "fake", "--security", "strict"],
    ] {
        let home = folder(&[]);
        let index = [&["index", larder.to_str().unwrap(), "-o", "out"], settings].concat();
        let (code, _, err) = run(home.path(), &index);
        assert!(code == 0 || code == 3, "{err}");
        let dataset = Dataset::open(home.path().join("out")).unwrap();
        let mut expected: BTreeMap<String, _> = BTreeMap::new();
        for file in dataset.files(Table::Chunks) {
            for batch in dataset.read_all(file).unwrap() {
                expected.extend(rows(&batch.unwrap()).into_iter().map(|row| (row["chunk_id"].clone(), row)));
            }
        }
        let embed = [&["--embed"], settings].concat();
        let (code, output, err) = filter(&stream(&table, 7), &embed);
        let quarantine = std::fs::read_to_string(home.path().join("out/quarantine.jsonl")).unwrap();
        assert_eq!(code == 3, !quarantine.is_empty(), "{err}");
        let mut given = BTreeMap::new();
        for mut row in rows(&read(&output)) {
            let error = row.remove("error").unwrap();
            if error == "null" {
                given.insert(row["chunk_id"].clone(), row);
            } else {
                assert!(quarantine.contains(&error), "{error}");
            }
        }
        assert_eq!(given.len(), expected.len(), "{settings:?}");
        assert!(given == expected, "{settings:?}");
    }
}

#[test]
fn rows_come_out_the_same_however_the_table_is_cut_into_batches() {
    let table = corpus(&Path::new(env!("CARGO_MANIFEST_DIR")).join("datasets/larder/corpus"));
    let whole = rows(&read(&filter(&stream(&table, table.num_rows()), &["--threads", "2"]).1));
    assert!(whole.len() > table.num_rows());
    for rows_each in [1, 5, 64] {
        let (code, output, err) = filter(&stream(&table, rows_each), &["--threads", "1"]);
        assert_eq!(code, 0, "{err}");
        assert!(rows(&read(&output)) == whole, "{rows_each} rows in a batch");
    }
}

#[test]
fn other_columns_go_with_each_chunk_and_a_bad_row_becomes_an_error_row_in_its_place() {
    let texts: Vec<Option<&[u8]>> =
        vec![Some(b"# A\n\none\n\n## B\n\ntwo"), Some(b"bad \xff byte"), None, Some(b""), Some(b"# C\n\nthree")];
    let ids = StringViewArray::from(vec![Some("a.md"), Some("b.md"), Some("c.md"), Some("d.md"), Some("e.md")]);
    let no_id = StringViewArray::from(vec![Some("a.md"), Some("b.md"), Some("c.md"), Some("d.md"), None]);
    let table = |ids: StringViewArray| {
        table(&[
            ("score", Arc::new(Int64Array::from(vec![10, 20, 30, 40, 50]))),
            ("doc_id", Arc::new(ids)),
            ("text", Arc::new(BinaryArray::from(texts.clone()))),
            ("lang", strings(&["en", "fr", "de", "it", "es"])),
        ])
    };
    let (code, output, err) = filter(&stream(&table(ids), 2), &["--preset", "ragdocs", "--min", "1"]);
    assert_eq!(code, 3);
    assert!(err.contains("2 rows produced no chunks"), "{err}");
    let out = read(&output);
    let seen = |name: &str| rows(&out).iter().map(|row| row[name].clone()).collect::<Vec<_>>();
    // The fourth document has nothing to cut.
    assert_eq!(seen("doc_id"), ["a.md", "a.md", "b.md", "c.md", "e.md"]);
    assert_eq!(seen("score"), ["10", "10", "20", "30", "50"]);
    assert_eq!(seen("lang"), ["en", "en", "fr", "de", "es"]);
    assert_eq!(seen("content"), ["# A\n\none", "# A\n\n## B\n\ntwo", "null", "null", "# C\n\nthree"]);
    let errors = [
        "null",
        "null",
        "is not valid UTF-8 (first bad byte at offset 4); convert it, for example with `iconv -f latin1 -t utf-8`",
        "has no text",
        "null",
    ];
    assert_eq!(seen("error"), errors);
    assert!(!out.schema().fields().iter().any(|field| field.name() == "embedding"), "no vectors unless asked for");

    let (code, output, _) = filter(&stream(&table(no_id), 5), &["--min", "1"]);
    let last = rows(&read(&output)).pop().unwrap();
    assert_eq!((code, &*last["doc_id"], &*last["score"], &*last["error"]), (3, "null", "50", "has no doc_id"));
}

#[test]
fn path_and_collection_mean_what_they_mean_for_files() {
    let table = table(&[
        ("doc_id", strings(&["1", "2", "3"])),
        ("text", strings(&["# A\n\none", "# A\n\none", "---\npromotion_level: core\n---\n# A\n"])),
        ("path", strings(&["x.md", "x.txt", "x.md"])),
        ("collection", strings(&["mine", "mine", "external"])),
    ]);
    let (code, output, err) = filter(&stream(&table, 3), &["--min", "1", "--preset", "line-threshold"]);
    assert_eq!(code, 0, "{err}");
    let out = rows(&read(&output));
    let column = |name: &str| out.iter().map(|row| row[name].clone()).collect::<Vec<_>>();
    assert_eq!(column("collection"), ["mine", "mine", "external"]);
    assert_eq!(column("path"), ["x.md", "x.txt", "x.md"]);
    assert_eq!(column("promotion_level"), ["null", "null", "null"], "external has no levels");
}

#[test]
fn rows_that_repeat_a_long_text_come_in_batches_of_their_own() {
    let long = "h".repeat(60_000);
    let sections = |count: usize| (0..count).map(|i| format!("# {i}\n\nwords\n\n")).collect::<String>();
    let text = format!("---\nx: {long}\n---\n{}", sections(400));
    let table = table(&[
        ("doc_id", strings(&["short.md", "long.md", "last.md"])),
        ("text", strings(&[&sections(400), &text, "words"])),
        ("own", strings(&[long.as_str(), "a", "b"])),
    ]);
    let (code, output, err) = filter(&stream(&table, 3), &["--preset", "heading-tokens"]);
    assert_eq!(code, 0, "{err}");
    let batches: Vec<RecordBatch> = StreamReader::try_new(&*output, None).unwrap().map(Result::unwrap).collect();
    // Each row of the first document repeats the column of the table, each of the second its front matter.
    assert!(batches.len() > 4 && batches.iter().all(|batch| batch.num_rows() < 200), "{}", batches.len());
    let rows = rows(&read(&output));
    assert_eq!(rows.len(), 801);
    for (at, row) in rows.iter().enumerate() {
        let (id, own, metadata) = match at {
            0..400 => ("short.md", long.as_str(), 2),
            400..800 => ("long.md", "a", 60_008),
            _ => ("last.md", "b", 2),
        };
        assert_eq!((row["doc_id"].as_str(), row["own"].as_str(), row["metadata"].len()), (id, own, metadata), "{at}");
        assert_eq!(row["chunk_index"], (at % 400).to_string());
    }
}

#[test]
fn a_table_without_rows_gives_the_columns() {
    let table = table(&[("doc_id", strings(&[])), ("text", strings(&[])), ("lang", strings(&[]))]);
    let (code, output, err) = filter(&stream(&table, 1), &[]);
    assert_eq!((code, err.as_str()), (0, ""));
    let out = read(&output);
    assert_eq!(out.num_rows(), 0);
    let names: Vec<String> = out.schema().fields().iter().map(|field| field.name().clone()).collect();
    assert_eq!(names[..2], ["chunk_id", "doc_id"]);
    assert_eq!(names[names.len() - 2..], ["lang", "error"]);
    assert!(out.schema().fields().iter().all(|field| field.is_nullable()));
}

#[test]
fn what_is_no_such_table_is_refused_and_said() {
    let refused = |input: &[u8], code: i32, words: &str| {
        let (got, _, err) = filter(input, &[]);
        assert_eq!(got, code, "{err}");
        assert!(err.contains(words), "{err}");
    };
    let one = |columns: &[(&str, ArrayRef)]| stream(&table(columns), 1);
    let (id, text) = (strings(&["a"]), strings(&["b"]));
    refused(b"doc_id,text\n1,2\n", 2, "standard input: is not an Arrow IPC stream");
    refused(b"", 2, "standard input: is not an Arrow IPC stream");
    refused(&one(&[("doc_id", id.clone())]), 2, "has no column `text`");
    refused(&one(&[("text", text.clone())]), 2, "has no column `doc_id`");
    let flags: ArrayRef = Arc::new(arrow::array::NullArray::new(1));
    let list = arrow::array::ListArray::from_iter_primitive::<arrow::datatypes::Int32Type, _, _>([Some([Some(1)])]);
    refused(&one(&[("doc_id", id.clone()), ("text", Arc::new(list))]), 2, "has a column `text` of type List");
    for taken in ["content", "embedding", "error"] {
        let columns = [("doc_id", id.clone()), ("text", text.clone()), (taken, flags.clone())];
        let (code, _, err) =
            filter(&one(&columns), if taken == "embedding" { &["--embed", "--embedder", "fake"] } else { &[] });
        assert_eq!(code, 2, "{taken}");
        assert!(err.contains(&format!("has a column `{taken}`, which is the name of an output column")), "{err}");
    }
    let whole = one(&[("doc_id", id), ("text", text)]);
    refused(&whole[..whole.len() - 80], 5, "it is damaged or truncated");
    let schema = Arc::new(Schema::empty());
    let nothing = StreamWriter::try_new(Vec::new(), &schema).unwrap().into_inner().unwrap();
    refused(&nothing, 2, "has no column `doc_id`");
}

#[test]
fn a_doc_id_names_one_row() {
    let table = table(&[("doc_id", strings(&["a.md", "b.md", "a.md"])), ("text", strings(&["one", "two", "three"]))]);
    // Also across batches.
    for rows in [1, 3] {
        let (code, out, err) = filter(&stream(&table, rows), &[]);
        assert_eq!(code, 3, "{err}");
        let found = self::rows(&read(&out));
        let errors: Vec<&str> = found.iter().map(|row| row["error"].as_str()).collect();
        assert_eq!(errors, ["null", "null", "has the doc_id of an earlier row"]);
    }
}

/// Returns streams that use many kinds of columns.
fn streams() -> Vec<Vec<u8>> {
    use arrow::array::{DictionaryArray, FixedSizeBinaryArray, ListArray, NullArray, RunArray, StructArray};
    use arrow::datatypes::{Field, Int8Type, Int32Type};
    let texts = ["# A\n\nalpha", "beta ü", "", "# D\n\n## E\n\ndelta"];
    let ids = ["a.md", "b.md", "c.txt", "d.md"];
    let dictionary: DictionaryArray<Int8Type> = texts.iter().copied().collect();
    let run: RunArray<Int32Type> = ["x", "x", "y", "y"].into_iter().collect();
    let list =
        ListArray::from_iter_primitive::<Int32Type, _, _>([Some(vec![Some(1)]), None, Some(vec![]), Some(vec![None])]);
    let tuple = StructArray::from(vec![(
        Arc::new(Field::new("n", DataType::Int64, false)),
        Arc::new(Int64Array::from(vec![1, 2, 3, 4])) as ArrayRef,
    )]);
    let fixed = FixedSizeBinaryArray::try_from_iter([[1_u8; 3], [2; 3], [3; 3], [4; 3]].into_iter()).unwrap();
    let view = |texts: &[&str]| Arc::new(StringViewArray::from_iter_values(texts)) as ArrayRef;
    let long = ["a long text that is not inside of the view", "b", "another long text, in the buffer", "d"];
    let others: Vec<Vec<(&str, ArrayRef)>> = vec![
        vec![("text", strings(&texts)), ("n", Arc::new(Int64Array::from(vec![1, 2, 3, 4])))],
        vec![("text", Arc::new(LargeStringArray::from(texts.to_vec()))), ("list", Arc::new(list))],
        vec![("text", Arc::new(dictionary)), ("fixed", Arc::new(fixed))],
        vec![("text", view(&long)), ("tuple", Arc::new(tuple)), ("none", Arc::new(NullArray::new(4)))],
        vec![("text", Arc::new(BinaryArray::from_iter_values(texts.map(str::as_bytes)))), ("run", Arc::new(run))],
    ];
    let with_ids = others.into_iter().map(|columns| [vec![("doc_id", strings(&ids))], columns].concat());
    with_ids.map(|columns| stream(&table(&columns), 2)).collect()
}

#[test]
fn a_damaged_stream_is_an_error_and_never_a_panic() {
    let streams = streams();
    for whole in &streams {
        let (code, _, err) = filter(whole, &[]);
        assert_eq!(code, 0, "{err}");
    }
    // A small generator, so every run tries the same.
    let mut state = 0x9E37_79B9_7F4A_7C15_u64;
    let mut random = |below: usize| {
        state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (state >> 33) as usize % below
    };
    let mut damaged: Vec<Vec<u8>> = Vec::new();
    for _ in 0..40 {
        for whole in &streams {
            let mut bytes = whole.clone();
            match random(5) {
                0 => bytes.truncate(random(whole.len())),
                1 => {
                    let (from, to) = (random(whole.len()), random(whole.len()));
                    let part = bytes[from.min(to)..from.max(to)].to_vec();
                    bytes.splice(to..to, part);
                }
                2 => {
                    // Numbers are four or eight bytes, at multiples of their size.
                    let at = random(whole.len() / 8) * 8;
                    let far = [i64::MAX, -1, i64::from(i32::MAX), 1 << 40][random(4)];
                    bytes[at..at + 8].copy_from_slice(&far.to_le_bytes());
                }
                _ => {
                    for _ in 0..=random(3) {
                        let at = random(whole.len());
                        bytes[at] ^= 1 << random(8);
                    }
                }
            }
            damaged.push(bytes);
        }
    }
    let try_all = |part: &[Vec<u8>]| {
        for bytes in part {
            let (code, _, err) = filter(bytes, &[]);
            assert!(matches!(code, 0 | 2 | 3 | 5) && !err.contains("panicked"), "{code}: {err}: {bytes:02x?}");
        }
    };
    std::thread::scope(|scope| {
        damaged.chunks(damaged.len().div_ceil(4)).for_each(|part| drop(scope.spawn(move || try_all(part))))
    });
}

#[test]
fn a_stream_that_says_it_is_enormous_does_not_end_the_program() {
    use arrow::ipc::CompressionType;
    use arrow::ipc::writer::IpcWriteOptions;
    let table = table(&[("doc_id", strings(&["a.md"])), ("text", strings(&[&"word ".repeat(100)]))]);
    let mut refused = 0;
    for codec in [None, Some(CompressionType::LZ4_FRAME), Some(CompressionType::ZSTD)] {
        let options = IpcWriteOptions::default().try_with_compression(codec).unwrap();
        let mut writer = StreamWriter::try_new_with_options(Vec::new(), &table.schema(), options).unwrap();
        writer.write(&table).unwrap();
        let whole = writer.into_inner().unwrap();
        // Every number of the stream in turn: lengths of messages, places and sizes of buffers.
        for at in (0..whole.len() - 8).step_by(8) {
            let mut bytes = whole.clone();
            bytes[at..at + 8].copy_from_slice(&(1_i64 << 46).to_le_bytes());
            let (code, _, err) = filter(&bytes, &[]);
            assert!(matches!(code, 0 | 2 | 3 | 5) && !err.contains("panicked"), "{codec:?} {at} {code}: {err}");
            refused += usize::from(err.contains("a batch says that it has 70368744177"));
        }
    }
    // The ids are too short to be compressed.
    assert_eq!(refused, 2, "the compressed texts");
}

#[test]
fn a_table_that_unpacks_into_far_more_than_it_is_is_refused() {
    use arrow::array::{DictionaryArray, Int32Array, NullArray};
    use arrow::datatypes::Int32Type;
    let refused = |columns: &[(&str, ArrayRef)], words: &str| {
        let all = table(columns);
        let (code, _, err) = filter(&stream(&all, all.num_rows()), &[]);
        assert!(code == 2 && err.contains(words), "{code}: {err}");
    };
    let rows = 100_000;
    let large = "x".repeat(1 << 20);
    let texts = DictionaryArray::<Int32Type>::new(Int32Array::from(vec![0; rows]), strings(&[&large]));
    let ids: Vec<String> = (0..rows).map(|row| row.to_string()).collect();
    let ids: ArrayRef = Arc::new(StringArray::from(ids));
    refused(&[("doc_id", ids), ("text", Arc::new(texts))], "column `text`: unpacks into 104857600000 bytes");
    let nulls: ArrayRef = Arc::new(NullArray::new(1 << 40));
    refused(
        &[("doc_id", nulls.clone()), ("text", nulls)],
        "column `doc_id`: 1099511627776 rows in 0 bytes are too many",
    );
}
