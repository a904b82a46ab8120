//! The cost of one document: whatever it contains, either its memory is a small multiple of its size, or it is
//! quarantined and the others are still indexed. `make costs` measures hundreds of kinds, and time.

use std::fs;
use std::path::Path;

use rayon::prelude::*;

use crate::common::{folder, json_lines, peak, program, run, tree, write};

/// The worst kinds of `make costs`, and the most common text.
const KINDS: [(&str, &str); 32] = [
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
    ("md", "# a {#b}\n"),
    ("md", "[a]: b\n\té|[}_!"),
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

/// Chunks a document and asserts that its memory is within the limit. Returns whether it was quarantined.
#[cfg(target_os = "linux")]
fn is_quarantined_within_the_limit(text: &str, preset: &str) -> bool {
    let home = folder(&[]);
    write(home.path(), "a.md", text.as_bytes());
    let mut command = program(home.path());
    command.args(["chunk", "a.md", "--threads", "1", "--preset", preset]);
    let (peak, code) = peak(command);
    let limit = 16 * text.len() as u64 + 100_000_000;
    assert!(peak <= limit && (code == 0 || code == 3), "{code}: {peak} bytes, over {limit}: {:?}", &text[..100]);
    code == 3
}

#[cfg(target_os = "linux")]
#[test]
fn cells_that_the_parser_adds_to_the_short_rows_of_tables_count() {
    for (columns, rows) in [(100, 20), (500, 500), (2000, 130), (2000, 10)] {
        let line = |cell: &str| format!("{}|\n", cell.repeat(columns));
        let table = format!("{}{}{}\n", line("|a"), line("|-"), "a\n".repeat(rows));
        is_quarantined_within_the_limit(&table.repeat(2_000_000 / table.len()), "structure");
    }
}

#[cfg(target_os = "linux")]
#[test]
fn what_chunks_repeat_is_counted_before_it_is_built() {
    let long: String = (1..7).map(|level| format!("{} {}\n\n", "#".repeat(level), "h".repeat(300))).collect();
    // Of headings, each section has its own path.
    let headings = long.clone() + &"###### b\n".repeat(70_000);
    let sections = long + &"###### b\n\nWords of the section.\n\n".repeat(20_000);
    for preset in ["heading-tokens", "ragdocs", "structure", "sections"] {
        is_quarantined_within_the_limit(&headings, preset);
        is_quarantined_within_the_limit(&sections, preset);
    }
}

/// Returns documents of about 4 MB as people write them, and one of 1 MB.
#[cfg(target_os = "linux")]
fn ordinary() -> Vec<(&'static str, String)> {
    let lines = |count: usize, line: &dyn Fn(usize) -> String| (0..count).map(line).collect::<String>();
    let changelog = lines(40_000, &|i| {
        format!(
            "## 1.{}.{} (2024-01-{:02})\n\n* Fix `open_file()` of [#{i}](https://example.com/{i}) in *some* case_of_it.\n\n",
            i / 10,
            i % 10,
            i % 28 + 1
        )
    });
    let code =
        lines(60_000, &|i| format!("    if (list[{i}] != NULL && (flags & F_{i}) == 0) *out++ = list[{i}]->next;\n"));
    let table = lines(60_000, &|i| format!("| `--option-{i}` | *number* | `{i}` | Sets [option {i}](#option-{i}) |\n"));
    let log = lines(50_000, &|i| {
        format!(
            "2024-01-02T03:04:05.{i:06}Z [worker_{i}] INFO <main> request_id={i} path=/a/b/{i}?x=1&y=2 **done** in {i}_ms\n"
        )
    });
    let glossary = lines(20_000, &|i| format!("**Term {i}**\n: The _meaning_ of term {i}.\n\n"));
    vec![
        ("changelog", format!("# Changelog\n\n{changelog}")),
        ("code", format!("# Code\n\n```c\n{code}```\n")),
        (
            "table",
            format!("# Options\n\n| option | value | default | what it does |\n| --- | --- | --- | --- |\n{table}"),
        ),
        ("log", log),
        ("glossary", format!("# Glossary\n\n{glossary}")),
    ]
}

#[cfg(target_os = "linux")]
#[test]
fn large_ordinary_documents_are_not_quarantined() {
    let lost =
        |(name, text): (&'static str, String)| is_quarantined_within_the_limit(&text, "structure").then_some(name);
    let lost: Vec<&str> = ordinary().into_par_iter().filter_map(lost).collect();
    assert!(lost.is_empty(), "{lost:?}");
}

/// Returns a document whose front matter of 60 KB is in each of its many rows.
#[cfg(target_os = "linux")]
fn with_long_front_matter(sections: usize) -> String {
    let front = format!("---\nx: {}\n---\n", "h".repeat(60_000));
    (0..sections).fold(front, |text, i| text + &format!("# {i}\n\nwords\n\n"))
}

#[cfg(target_os = "linux")]
#[test]
fn front_matter_is_not_held_once_for_each_chunk() {
    const MEMORY: u64 = 300_000_000;
    let home = folder(&[]);
    let home = home.path();
    (0..4).for_each(|i| write(home, &format!("docs/{i}.md"), with_long_front_matter(4000).as_bytes()));
    let mut command = program(home);
    command.args(["index", "docs", "-o", "out", "--embedder", "fake", "--preset", "heading-tokens", "--files", "1"]);
    command.args(["--embedding-cache", "off", "--memory", &MEMORY.to_string()]);
    // Together, the rows repeat 960 MB.
    let (highest, code) = peak(command);
    assert!(code == 0 && highest <= MEMORY, "{code}: {highest} bytes");
    let mut command = program(home);
    command.args(["verify", "out", "--corpus", "docs"]);
    let (highest, code) = peak(command);
    assert!(code == 0 && highest <= MEMORY, "{code}: {highest} bytes");
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
    assert_eq!((&report["chunks_reused"], &report["texts_embedded"]), (&20_000.into(), &20.into()));
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
