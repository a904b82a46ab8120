//! The cost of one document: whatever it contains, either its memory is a small multiple of its size, or it is
//! quarantined and the others are still indexed. `make costs` measures hundreds of kinds, and time.

use std::fs;
use std::path::Path;

use rayon::prelude::*;

use crate::common::{folder, json_lines, peak, program, run, tree, write};

/// The worst kinds of `make costs`, and the most common text.
const KINDS: [(&str, &str); 30] = [
    ("md", "["),
    ("md", "!["),
    ("md", "<"),
    ("md", "*a"),
    ("md", "*_"),
    ("md", "`"),
    ("md", "[a](b) "),
    ("md", "[[a]] "),
    ("md", "<a@b.c> "),
    ("md", "> "),
    ("md", "- - - "),
    ("md", "- a\n"),
    ("md", "# a\n"),
    ("md", "#\n"),
    ("md", "| a "),
    ("md", "|a|\n|-|\n|b|\n\n"),
    ("md", "[^a]: b\n\n"),
    ("md", "\\["),
    ("md", "&amp;"),
    ("md", "$a$ "),
    ("md", "a\n\n"),
    ("mdx", "export const a = {\n"),
    ("txt", "a\n\n"),
    ("yaml", "- a: b\n"),
    ("yaml", "a: ["),
    ("json", "[1,"),
    ("json", "[[],"),
    ("py", "def a(): pass\n"),
    ("rs", "/// a\nfn b() {}\n"),
    ("ts", "class A { b() {} }\n"),
];

/// Chunks files of some megabytes of each text and returns which ones took more memory than allowed.
#[cfg(target_os = "linux")]
fn over_the_limit(kinds: &[(&str, &str)], bytes: usize, preset: &str) -> String {
    let home = folder(&[]);
    let cost = |&(suffix, text): &(&str, &str)| {
        let name = format!("{}.{suffix}", blake3::hash(text.as_bytes()).to_hex());
        write(home.path(), &name, text.repeat(bytes / text.len()).as_bytes());
        let mut command = program(home.path());
        command.args(["chunk", &name, "--threads", "1", "--preset", preset]);
        let (peak, code) = peak(command);
        fs::remove_file(home.path().join(name)).unwrap();
        assert!(code == 0 || code == 3, "{text:?}: {code}");
        let limit = 16 * bytes as u64 + 100_000_000;
        (peak > limit).then(|| format!("{text:?} as {suffix}: {peak} bytes, over {limit}\n"))
    };
    kinds.par_iter().filter_map(cost).collect()
}

#[cfg(target_os = "linux")]
#[test]
fn no_document_takes_more_than_16_bytes_of_memory_for_each_of_its_own() {
    let over = over_the_limit(&KINDS, 4_000_000, "ragdocs");
    assert!(over.is_empty(), "{over}");
}

#[cfg(target_os = "linux")]
#[test]
fn neither_do_very_many_lines_or_sentences_that_are_cut_nor_a_very_long_list() {
    let kinds = [("ts", "@a\n"), ("md", "A. "), ("md", "- a\n\n")];
    let over = over_the_limit(&kinds, 8_000_000, "structure");
    assert!(over.is_empty(), "{over}");
}

#[test]
fn a_document_that_would_take_too_much_is_quarantined_and_the_others_are_indexed() {
    let home = folder(&[("docs/a.md", "# A\n\ntext\n"), ("docs/b.md", "# B\n\ntext\n")]);
    write(home.path(), "docs/brackets.md", "[".repeat(3_000_000).as_bytes());
    let index = ["index", "docs", "-o", "out", "--embedder", "fake", "--max", "5000"];
    let (code, _, err) = run(home.path(), &index);
    assert_eq!(code, 3, "{err}");
    let rows = json_lines(&fs::read_to_string(home.path().join("out/quarantine.jsonl")).unwrap());
    assert_eq!((rows.len(), &rows[0]["path"], &rows[0]["code"]), (1, &"brackets.md".into(), &"too_costly".into()));
    let reason = rows[0]["reason"].as_str().unwrap();
    assert!(reason.contains("over the limit of 98000000; raise --document-memory or --memory"), "{reason}");
    assert_eq!(run(home.path(), &["verify", "out", "--corpus", "docs"]).0, 0);
    // If there is enough memory, the limit can be raised.
    let (code, _, err) = run(home.path(), &[&index[..], &["--document-memory", "1000000000"]].concat());
    assert_eq!(code, 0, "{err}");
}

/// Writes a document whose rows do not fit into a block, and small documents around it.
fn with_a_large_one(home: &Path, word: &str) {
    let line = |i: usize| format!("Line {i} of the long document says {word}.\n\n");
    write(home, "docs/large.md", (0..20_000).map(line).collect::<String>().as_bytes());
    for i in 0..20 {
        write(home, &format!("docs/{i}.md"), format!("# Page {i}\n\nWords of it, {word}.\n").as_bytes());
    }
}

#[test]
fn a_document_of_many_rows_is_indexed_in_pieces_and_keeps_its_vectors() {
    let home = folder(&[]);
    let home = home.path();
    with_a_large_one(home, "something");
    let job = |out: &str| {
        let settings =
            ["--embedder", "fake", "--preset", "ragdocs", "--min", "1", "--max", "60", "--files", "2", "--json"];
        let (code, report, err) = run(home, &[&["index", "docs", "-o", out][..], &settings].concat());
        assert_eq!(code, 0, "{err}");
        serde_json::from_str::<serde_json::Value>(&report).unwrap()
    };
    let report = job("out");
    assert!(report["chunks"].as_u64().unwrap() > 20_000);
    assert_eq!(run(home, &["verify", "out", "--corpus", "docs"]).0, 0);
    // Only the small documents change. The vectors of all pieces of the large one are found and kept.
    for i in 0..20 {
        write(home, &format!("docs/{i}.md"), format!("# Page {i}\n\nOther words.\n").as_bytes());
    }
    let report = job("out");
    assert_eq!((&report["chunks_kept"], &report["texts_embedded"]), (&20_000.into(), &20.into()));
    job("fresh");
    assert!(tree(&home.join("out")) == tree(&home.join("fresh")));
}

#[cfg(target_os = "linux")]
#[test]
fn a_job_keeps_the_memory_that_it_is_given() {
    const MEMORY: u64 = 300_000_000;
    let home = folder(&[]);
    let home = home.path();
    let page = |i: usize| {
        let section = |n: usize| format!("## Section {n}\n\n{}\n\n", format!("Word {i} of section {n}. ").repeat(60));
        (0..400).map(section).collect::<String>()
    };
    (0..40).for_each(|i| write(home, &format!("docs/{i}.md"), page(i).as_bytes()));
    // These are within the limit for documents, but do not fit into half of the memory.
    write(home, "docs/tags.md", "<".repeat(2_000_000).as_bytes());
    write(home, "docs/wide.md", "a\n\n".repeat(3_000_000).as_bytes());
    let job = |out: &str, memory: &[&str]| {
        let mut command = program(home);
        command.args([
            "index",
            "docs",
            "-o",
            out,
            "--embedder",
            "fake",
            "--files",
            "2",
            "--document-memory",
            "4000000000",
        ]);
        command.args(["--max", "300", "--threads", "4"]).args(memory);
        command
    };
    let (highest, code) = peak(job("out", &["--memory", &MEMORY.to_string()]));
    assert!(code == 3 && highest <= MEMORY, "{code}: {highest} bytes");
    let list = fs::read_to_string(home.join("out/quarantine.jsonl")).unwrap();
    let rows: Vec<_> = json_lines(&list).into_iter().map(|row| row["path"].as_str().unwrap().to_owned()).collect();
    assert_eq!(rows, ["tags.md", "wide.md"], "{list}");
    // With more memory, the documents that did not fit are indexed, and the dataset equals that of a run from
    // scratch.
    for out in ["out", "fresh"] {
        assert_eq!(peak(job(out, &[])).1, 0);
    }
    assert!(tree(&home.join("out")) == tree(&home.join("fresh")));
}

#[test]
fn too_little_memory_for_the_program_itself_is_said() {
    let home = folder(&[("docs/a.md", "# A\n\ntext\n")]);
    let (code, _, err) = run(home.path(), &["index", "docs", "-o", "out", "--embedder", "fake", "--memory", "1000000"]);
    if cfg!(target_os = "linux") {
        assert!(
            code == 2
                && err.contains("memory: 1000000 bytes would not be enough")
                && err.contains("help: set at least"),
            "{code}: {err}"
        );
    }
}
