//! Documents that are not text, from the folder to the citation: the dataset has their layers and places, checks them
//! against the files, and stays up to date like that of any other document.

use std::fs;
use std::io::Write as _;
use std::path::Path;

use arrow::array::AsArray;
use chunkmill::dataset::{Dataset, Table};
use chunkmill::read::ReadSettings;
use flate2::Compression;
use flate2::write::ZlibEncoder;
use serde_json::Value;
use tempfile::TempDir;

use crate::common::{folder, json_lines, run, tree, write};
use crate::paged::pdf;

const PAGE: &str = "<!DOCTYPE html><html lang=en><head><title>The mill</title></head><body>\
    <nav><a href=index.md>Home</a></nav><main><h1 id=mill>The mill</h1><p>A mill grinds corn &amp; wheat.</p>\n\
    <h2 id=stones>Stones</h2><p>The stones are dressed with a mill bill. See <a href='notes.rst'>the notes</a>.</p></main>\
    <footer>Copyright of the miller</footer></body></html>";
const NOTES: &str = "Notes\n=====\n\nOf sluices\n----------\n\nThe sluice lets water onto the wheel.\n";
const BOOK: &str = r##"{"cells": [
 {"cell_type": "markdown", "metadata": {}, "source": ["# Yield\n", "\n", "How much flour a sack gives."]},
 {"cell_type": "code", "metadata": {}, "source": "flour = 0.78 * sack", "outputs": [{"output_type": "stream", "text": "hidden output"}]}
], "metadata": {"language_info": {"name": "python"}}, "nbformat": 4, "nbformat_minor": 5}"##;

fn mill() -> TempDir {
    folder(&[
        ("docs/index.md", "# Index\n\nStart with [the stones](mill.html#stones).\n"),
        ("docs/mill.html", PAGE),
        ("docs/notes.rst", NOTES),
        ("docs/book.ipynb", BOOK),
    ])
}

fn index(home: &Path, out: &str, more: &[&str]) -> String {
    let args = [&["index", "docs", "-o", out, "--embedder", "fake", "--files", "2"], more].concat();
    let (code, said, err) = run(home, &args);
    assert_eq!(code, 0, "{said}{err}");
    said
}

fn chunks(home: &Path, more: &[&str]) -> Vec<Value> {
    let (code, lines, err) = run(home, &[&["chunk", "docs"], more].concat());
    assert_eq!(code, 0, "{err}");
    json_lines(&lines)
}

/// The path, the format and the layer of each document.
fn layers(out: &Path) -> Vec<(String, String, Option<String>)> {
    let dataset = Dataset::open(out).unwrap();
    let mut layers = Vec::new();
    for file in dataset.files(Table::Documents) {
        for batch in dataset.read(file, &["path", "format", "layer"], None).unwrap().map(Result::unwrap) {
            let text = |name: &str| batch.column_by_name(name).unwrap().as_string::<i32>().clone();
            let (paths, formats, texts) = (text("path"), text("format"), text("layer"));
            let rows = paths.iter().zip(&formats).zip(&texts);
            layers.extend(rows.map(|((path, format), layer)| {
                (path.unwrap().to_owned(), format.unwrap().to_owned(), layer.map(str::to_owned))
            }));
        }
    }
    layers.sort();
    layers
}

#[test]
fn each_chunk_names_its_place_in_the_file() {
    let home = mill();
    let chunks = chunks(home.path(), &["--preset", "heading-tokens"]);
    let place = |path: &str, word: &str| {
        let is = |chunk: &&Value| chunk["path"] == path && chunk["content"].as_str().unwrap().contains(word);
        chunks.iter().find(is).unwrap_or_else(|| panic!("{word} is in no chunk of {path}"))
    };
    assert_eq!(place("mill.html", "dressed")["place"], "#stones");
    assert_eq!(place("notes.rst", "sluice lets")["place"], ":4-7");
    assert_eq!(place("book.ipynb", "flour a sack")["place"], "cell 1 to cell 2");
    assert_eq!(place("index.md", "Start")["place"], Value::Null);
    // Read again in the source, the bytes have the text.
    let grinds = place("mill.html", "grinds");
    let [start, end] =
        ["source_start", "source_end"].map(|name| usize::try_from(grinds[name].as_u64().unwrap()).unwrap());
    assert!(PAGE[start..end].starts_with("The mill</h1>") && PAGE[start..end].ends_with("wheat."), "{grinds}");
    assert!(chunks.iter().all(|chunk| !chunk["content"].as_str().unwrap().contains("Copyright")));
}

#[test]
fn explain_shows_the_layer_the_places_and_what_is_left_out() {
    let home = mill();
    let explain = ["explain", "docs/mill.html", "--preset", "heading-tokens"];
    let (code, out, err) = run(home.path(), &explain);
    assert_eq!(code, 0, "{err}");
    assert!(out.contains("read as html") && out.contains("24 characters (navigation)"), "{out}");
    assert!(out.contains("  lines 1-3  #mill  ") && out.contains("#stones") && !out.contains("| See"), "{out}");
    let (code, out, err) = run(home.path(), &[&explain[..], &["--layer"]].concat());
    assert_eq!(code, 0, "{err}");
    assert!(out.contains("      | # The mill\n      | \n      | A mill grinds corn & wheat.\n"), "{out}");
    let (_, lines, _) = run(home.path(), &[&explain[..], &["--json"]].concat());
    assert_eq!(json_lines(&lines)[1]["place"], "#stones");
}

#[test]
fn the_dataset_has_the_layers_and_is_verified_against_the_files() {
    let home = mill();
    index(home.path(), "out", &[]);
    let (code, said, err) = run(home.path(), &["verify", "out", "--corpus", "docs"]);
    assert_eq!(code, 0, "{said}{err}");
    let layers = layers(&home.path().join("out"));
    let names: Vec<_> = layers.iter().map(|(path, format, layer)| (&**path, &**format, layer.is_some())).collect();
    assert_eq!(
        names,
        [
            ("book.ipynb", "notebook", true),
            ("index.md", "markdown", false),
            ("mill.html", "html", true),
            ("notes.rst", "rst", true)
        ]
    );
    assert!(layers[2].2.as_ref().unwrap().starts_with("# The mill\n\nA mill grinds corn & wheat.\n"));
    // A source that changed is found.
    write(home.path(), "docs/mill.html", PAGE.replace("dressed", "cut").as_bytes());
    let (code, said, _) = run(home.path(), &["verify", "out", "--corpus", "docs"]);
    assert!(code == 1 && said.contains("mill.html"), "{said}");
}

#[test]
fn hits_and_passages_are_cited_by_their_places() {
    let home = mill();
    index(home.path(), "out", &["--preset", "heading-tokens"]);
    let cited = |question: &str| {
        let (code, lines, err) =
            run(home.path(), &["search", "out", question, "-k", "1", "--mode", "keyword", "--json"]);
        assert_eq!(code, 0, "{err}");
        json_lines(&lines)[0]["citation"].as_str().unwrap().to_owned()
    };
    assert_eq!(cited("dressed stones"), "mill.html#stones");
    assert_eq!(cited("sluice water wheel"), "notes.rst:4-7");
    assert_eq!(cited("flour of a sack"), "book.ipynb cell 1 to cell 2");
    let (code, text, err) =
        run(home.path(), &["context", "out", "dressed stones", "--mode", "keyword", "--budget", "60"]);
    assert_eq!(code, 0, "{err}");
    assert!(text.contains("] mill.html#"), "{text}");
}

#[test]
fn links_lead_from_one_format_to_another() {
    let home = mill();
    index(home.path(), "out", &[]);
    let dataset = Dataset::open(home.path().join("out")).unwrap();
    let mut edges = Vec::new();
    for file in dataset.files(Table::Edges) {
        for batch in dataset.read(file, &["from_doc", "to_doc", "target"], None).unwrap().map(Result::unwrap) {
            let text = |name: &str| batch.column_by_name(name).unwrap().as_string::<i32>().clone();
            let (from, to, target) = (text("from_doc"), text("to_doc"), text("target"));
            let rows = from.iter().zip(&to).zip(&target);
            edges.extend(rows.map(|((from, to), target)| [from, to, target].map(|text| text.unwrap().to_owned())));
        }
    }
    edges.sort();
    assert_eq!(edges, [["index.md", "mill.html", "mill.html#stones"], ["mill.html", "notes.rst", "notes.rst"]]);
}

#[test]
fn an_edit_leads_to_the_dataset_of_a_run_from_nothing() {
    let home = mill();
    index(home.path(), "out", &[]);
    write(home.path(), "docs/mill.html", PAGE.replace("dressed", "cut").as_bytes());
    write(home.path(), "docs/more.adoc", b"= More\n\nOn weirs.\n");
    fs::remove_file(home.path().join("docs/notes.rst")).unwrap();
    index(home.path(), "out", &[]);
    index(home.path(), "fresh", &[]);
    assert_eq!(tree(&home.path().join("out")), tree(&home.path().join("fresh")));
}

#[test]
fn settings_of_readers_decide_what_is_read() {
    let home = mill();
    let has = |more: &[&str], word: &str| {
        chunks(home.path(), more).iter().any(|chunk| chunk["content"].as_str().unwrap().contains(word))
    };
    assert!(!has(&[], "Copyright") && has(&["--html", "whole"], "Copyright"));
    assert!(!has(&[], "hidden output") && has(&["--notebook-outputs", "true"], "hidden output"));
}

#[test]
fn what_cannot_be_read_is_quarantined_with_the_reason() {
    let home = mill();
    write(home.path(), "docs/broken.ipynb", b"{\"cells\": [");
    write(home.path(), "docs/broken.docx", b"PK\x03\x04 and nothing else");
    let (code, said, err) = run(home.path(), &["index", "docs", "-o", "out", "--embedder", "fake"]);
    assert_eq!(code, 3, "{said}{err}");
    let list = json_lines(&fs::read_to_string(home.path().join("out/quarantine.jsonl")).unwrap());
    let reasons: Vec<_> =
        list.iter().map(|row| (row["path"].as_str().unwrap(), row["code"].as_str().unwrap())).collect();
    assert_eq!(reasons, [("broken.docx", "malformed"), ("broken.ipynb", "malformed")], "{list:?}");
}

/// A PDF file whose table of objects has 60 MB when its outer packing is undone, and 3.8 GB when its inner one is.
fn greedy_pdf() -> Vec<u8> {
    let zeros = [129, 0].repeat(30 << 20);
    let mut packer = ZlibEncoder::new(Vec::new(), Compression::fast());
    packer.write_all(&zeros).unwrap();
    let table = packer.finish().unwrap();
    let mut file = b"%PDF-1.7\n".to_vec();
    let start = file.len();
    let dictionary = "/Type/XRef/Size 9/W[1 2 1]/Root 2 0 R/Filter[/FlateDecode/RunLengthDecode]";
    write!(file, "1 0 obj\n<<{dictionary}/Length {}>>\nstream\n", table.len()).unwrap();
    file.extend(table);
    write!(file, "\nendstream\nendobj\nstartxref\n{start}\n%%EOF\n").unwrap();
    file
}

#[test]
#[cfg(target_os = "linux")]
fn a_file_whose_reader_takes_all_memory_costs_only_itself() {
    let home = mill();
    write(home.path(), "docs/greedy.pdf", &greedy_pdf());
    let pages = pdf(&["The stones are dressed.", "The wheel turns."]);
    write(home.path(), "docs/pages.pdf", &pages);
    let (code, said, err) = run(home.path(), &["index", "docs", "-o", "out", "--embedder", "fake"]);
    assert_eq!(code, 3, "{said}{err}");
    let list = json_lines(&fs::read_to_string(home.path().join("out/quarantine.jsonl")).unwrap());
    assert_eq!(
        (list.len(), &list[0]["path"], &list[0]["code"]),
        (1, &"greedy.pdf".into(), &"limit".into()),
        "{list:?}"
    );
    assert!(list[0]["reason"].as_str().unwrap().contains("MB of memory"), "{list:?}");
    // Another is read there as in this process.
    let here = chunkmill::read::read("pages.pdf", pages, &ReadSettings::default()).unwrap().text;
    let layers = layers(&home.path().join("out"));
    assert!(layers.contains(&("pages.pdf".to_owned(), "pdf".to_owned(), Some(here))), "{layers:?}");
}

#[test]
fn the_program_lists_what_it_reads() {
    let home = folder(&[]);
    let (code, lines, err) = run(home.path(), &["formats", "--json"]);
    assert_eq!(code, 0, "{err}");
    let formats = json_lines(&lines);
    let of = |name: &str| formats.iter().find(|format| format["format"] == name).unwrap();
    assert_eq!((&of("html")["by_default"], &of("csv")["by_default"]), (&true.into(), &false.into()));
    assert!(of("word")["extensions"].as_array().unwrap().contains(&"docx".into()));
    let (code, text, _) = run(home.path(), &["formats"]);
    assert!(code == 0 && text.contains("html ") && text.contains(".docx"), "{text}");
}
