//! A folder with a document of every format: each promise of a dataset holds whatever a document was read from.

use std::collections::BTreeSet;
use std::fs;
use std::path::Path;

use arrow::array::{Array, AsArray};
use chunkmill::dataset::{Dataset, Table};
use chunkmill::read::ReadFormat;
use serde_json::Value;
use tempfile::TempDir;

use crate::common::{folder, json_lines, run, tree, write};
use crate::paged::pdf;

/// The checksum of a file in a ZIP archive (ISO 3309).
fn crc(bytes: &[u8]) -> u32 {
    let step = |crc: u32, _| if crc & 1 == 1 { crc >> 1 ^ 0xEDB8_8320 } else { crc >> 1 };
    !bytes.iter().fold(!0, |crc, byte| (0..8).fold(crc ^ u32::from(*byte), step))
}

/// Packs files into a ZIP archive, without compression.
fn zip(files: &[(&str, &str)]) -> Vec<u8> {
    let (mut archive, mut list) = (Vec::new(), Vec::new());
    for (name, text) in files {
        let size = u32::try_from(text.len()).unwrap().to_le_bytes();
        let name_len = u16::try_from(name.len()).unwrap().to_le_bytes();
        let common =
            [&[20, 0, 0, 0, 0, 0, 0, 0, 33, 0][..], &crc(text.as_bytes()).to_le_bytes(), &size, &size, &name_len]
                .concat();
        let start = u32::try_from(archive.len()).unwrap().to_le_bytes();
        archive.extend([b"PK\x03\x04", &common[..], &[0; 2], name.as_bytes(), text.as_bytes()].concat());
        list.extend([b"PK\x01\x02\x14\x00", &common[..], &[0; 12], &start, name.as_bytes()].concat());
    }
    let count = u16::try_from(files.len()).unwrap().to_le_bytes();
    let [list_len, start] = [list.len(), archive.len()].map(|len| u32::try_from(len).unwrap().to_le_bytes());
    archive.extend([&list[..], b"PK\x05\x06\0\0\0\0", &count, &count, &list_len, &start, &[0; 2]].concat());
    archive
}

/// A package of Microsoft Office whose main part has this name and text.
fn office(main: &str, text: &str, more: &[(&str, &str)]) -> Vec<u8> {
    let kind = "http://schemas.openxmlformats.org/officeDocument/2006/relationships/officeDocument";
    let relations = format!(
        r#"<Relationships xmlns="http://schemas.openxmlformats.org/package/2006/relationships"><Relationship Id="r1" Type="{kind}" Target="{main}"/></Relationships>"#
    );
    zip(&[&[("_rels/.rels", &*relations), (main, text)], more].concat())
}

const WORD: &str = r#"<w:document xmlns:w="http://schemas.openxmlformats.org/wordprocessingml/2006/main"><w:body><w:p><w:r><w:t>Of wheat in Word.</w:t></w:r></w:p></w:body></w:document>"#;
const SLIDES: &str = r#"<p:presentation xmlns:p="http://schemas.openxmlformats.org/presentationml/2006/main" xmlns:r="http://schemas.openxmlformats.org/officeDocument/2006/relationships"><p:sldIdLst><p:sldId id="256" r:id="s1"/></p:sldIdLst></p:presentation>"#;
const SLIDES_RELATIONS: &str = r#"<Relationships xmlns="http://schemas.openxmlformats.org/package/2006/relationships"><Relationship Id="s1" Type="http://schemas.openxmlformats.org/officeDocument/2006/relationships/slide" Target="slides/slide1.xml"/></Relationships>"#;
const SLIDE: &str = r#"<p:sld xmlns:p="http://schemas.openxmlformats.org/presentationml/2006/main" xmlns:a="http://schemas.openxmlformats.org/drawingml/2006/main"><p:cSld><p:spTree><p:sp><p:txBody><a:p><a:r><a:t>Of wheat on a slide.</a:t></a:r></a:p></p:txBody></p:sp></p:spTree></p:cSld></p:sld>"#;
const WORKBOOK: &str = r#"<workbook xmlns="http://schemas.openxmlformats.org/spreadsheetml/2006/main" xmlns:r="http://schemas.openxmlformats.org/officeDocument/2006/relationships"><sheets><sheet name="Crops" sheetId="1" r:id="s1"/></sheets></workbook>"#;
const WORKBOOK_RELATIONS: &str = r#"<Relationships xmlns="http://schemas.openxmlformats.org/package/2006/relationships"><Relationship Id="s1" Type="http://schemas.openxmlformats.org/officeDocument/2006/relationships/worksheet" Target="worksheets/sheet1.xml"/></Relationships>"#;
const SHEET: &str = r#"<worksheet xmlns="http://schemas.openxmlformats.org/spreadsheetml/2006/main"><sheetData><row r="1"><c r="A1" t="inlineStr"><is><t>crop</t></is></c><c r="B1" t="inlineStr"><is><t>tons</t></is></c></row><row r="2"><c r="A2" t="inlineStr"><is><t>wheat</t></is></c><c r="B2"><v>7</v></c></row></sheetData></worksheet>"#;
const OPEN_TEXT: &str = r#"<office:document-content xmlns:office="urn:oasis:names:tc:opendocument:xmlns:office:1.0" xmlns:text="urn:oasis:names:tc:opendocument:xmlns:text:1.0"><office:body><office:text><text:p>Of wheat in OpenDocument.</text:p></office:text></office:body></office:document-content>"#;
const CONTAINER: &str = r#"<container xmlns="urn:oasis:names:tc:opendocument:xmlns:container"><rootfiles><rootfile full-path="book.opf" media-type="application/oebps-package+xml"/></rootfiles></container>"#;
const BOOK: &str = r#"<package xmlns="http://www.idpf.org/2007/opf"><manifest><item id="a" href="a.xhtml" media-type="application/xhtml+xml"/></manifest><spine><itemref idref="a"/></spine></package>"#;
const NOTEBOOK: &str = r#"{"cells": [{"cell_type": "markdown", "metadata": {}, "source": "Of wheat in a notebook."}], "metadata": {}, "nbformat": 4, "nbformat_minor": 5}"#;

/// A document of each format, and the place of the word `wheat` in it.
fn documents() -> Vec<(&'static str, Vec<u8>, Option<&'static str>)> {
    let text = |name, text: &str, place| (name, text.as_bytes().to_vec(), place);
    let slides = [("ppt/_rels/presentation.xml.rels", SLIDES_RELATIONS), ("ppt/slides/slide1.xml", SLIDE)];
    let sheets = [("xl/_rels/workbook.xml.rels", WORKBOOK_RELATIONS), ("xl/worksheets/sheet1.xml", SHEET)];
    let pages = [("META-INF/container.xml", CONTAINER), ("book.opf", BOOK)];
    let page = ("a.xhtml", "<html><body><p>Of wheat in a book.</p></body></html>");
    vec![
        text("a.md", "# Mill\n\nOf wheat in Markdown.\n", None),
        text("html.html", "<main><h1 id=mill>Mill</h1><p>Of wheat on a page.</main>", Some("#mill")),
        text("notebook.ipynb", NOTEBOOK, Some("cell 1")),
        text("rst.rst", "Mill\n====\n\nOf wheat in RST.\n", Some(":1-4")),
        text("asciidoc.adoc", "= Mill\n\nOf wheat in AsciiDoc.\n", Some(":1-3")),
        text("latex.tex", "\\section{Mill}\nOf wheat in LaTeX.\n", Some(":1-2")),
        text("subtitles.srt", "1\n00:00:01,000 --> 00:00:02,000\nOf wheat in a film.\n", Some("00:00:01")),
        text("csv.csv", "crop,tons\nwheat,7\n", Some("row 2")),
        text("mail.eml", "From: a@example.org\nSubject: Mill\n\nOf wheat in a mail.\n", Some("message 1")),
        text("rtf.rtf", "{\\rtf1\\ansi Of wheat in RTF.\\par}", Some("par 1")),
        ("word.docx", office("word/document.xml", WORD, &[]), Some("body/p[1]")),
        ("slides.pptx", office("ppt/presentation.xml", SLIDES, &slides), Some("slide 1")),
        ("sheet.xlsx", office("xl/workbook.xml", WORKBOOK, &sheets), Some("Crops!A1:B2")),
        (
            "opendocument.odt",
            zip(&[("mimetype", "application/vnd.oasis.opendocument.text"), ("content.xml", OPEN_TEXT)]),
            Some("text/p[1]"),
        ),
        ("epub.epub", zip(&[&pages[..], &[page]].concat()), Some("a.xhtml")),
        ("pdf.pdf", pdf(&["A title of the file.", "Of wheat on the second page."]), Some("p. 2")),
    ]
}

pub fn corpus() -> TempDir {
    let home = folder(&[]);
    for (name, bytes, _) in documents() {
        write(home.path(), &format!("docs/{name}"), &bytes);
    }
    home
}

/// Few files, so none is empty; CSV is not read by default.
const SETTINGS: [&str; 6] = ["--embedder", "fake", "--files", "3", "--include", "*"];

fn index(home: &Path, out: &str) -> Value {
    let (code, report, err) = run(home, &[&["index", "docs", "-o", out, "--json"], &SETTINGS[..]].concat());
    assert_eq!(code, 0, "{err}");
    serde_json::from_str(&report).unwrap()
}

#[test]
fn every_format_has_a_document_here_and_its_place_is_named() {
    let home = corpus();
    let (code, lines, err) = run(home.path(), &["chunk", "docs", "--include", "*"]);
    assert_eq!(code, 0, "{err}");
    let chunks = json_lines(&lines);
    for (name, bytes, place) in documents() {
        let is = |chunk: &&Value| chunk["path"] == name && chunk["content"].as_str().unwrap().contains("wheat");
        let chunk = chunks.iter().find(is).unwrap_or_else(|| panic!("{name} has no wheat: {chunks:#?}"));
        let found = chunk["place"].as_str();
        let named = place.map_or(found.is_none(), |place| found.is_some_and(|found| found.contains(place)));
        assert!(named, "{name}: {found:?} instead of {place:?}");
        // If a chunk has bytes of the file, they have its words.
        let [start, end] = ["source_start", "source_end"].map(|key| chunk[key].as_u64().map(|byte| byte as usize));
        if let (Some(start), Some(end)) = (start, end) {
            assert!(String::from_utf8_lossy(&bytes[start..end]).contains("wheat"), "{name}: {start}..{end}");
        }
    }
    let here: BTreeSet<String> =
        documents().iter().map(|(name, ..)| name.rsplit('.').next().unwrap().to_owned()).collect();
    for format in ReadFormat::ALL {
        assert!(format.extensions.iter().any(|extension| here.contains(*extension)), "{} is not here", format.name);
    }
    let pdf = chunks.iter().find(|chunk| chunk["path"] == "pdf.pdf" && chunk["page_end"] == 2);
    assert!(pdf.is_some(), "{chunks:#?}");
}

#[test]
fn the_dataset_of_every_format_is_verified_with_and_without_the_files() {
    let home = corpus();
    index(home.path(), "out");
    for args in [&["verify", "out"][..], &["verify", "out", "--corpus", "docs"]] {
        let (code, said, err) = run(home.path(), args);
        assert_eq!(code, 0, "{said}{err}");
    }
    let dataset = Dataset::open(home.path().join("out")).unwrap();
    for file in dataset.files(Table::Documents) {
        for batch in dataset.read(file, &["path", "layer"], None).unwrap().map(Result::unwrap) {
            let [paths, layers] = [0, 1].map(|column| batch.column(column).as_string::<i32>());
            for row in 0..batch.num_rows() {
                assert_eq!(layers.is_valid(row), paths.value(row) != "a.md", "{}", paths.value(row));
            }
        }
    }
}

#[test]
fn an_unchanged_folder_of_every_format_is_not_read_again_and_an_edit_makes_one_document_again() {
    let home = corpus();
    let first = index(home.path(), "out");
    let again = index(home.path(), "out");
    assert_eq!((&again["texts_embedded"], &again["chunks_reused"]), (&0.into(), &first["chunks"]));
    for (name, bytes, _) in documents() {
        let changed = match name {
            "pdf.pdf" => pdf(&["Of wheat, once."]),
            "word.docx" => office("word/document.xml", &WORD.replace("Of wheat", "Of rye"), &[]),
            _ if bytes.starts_with(b"PK") => continue,
            _ => String::from_utf8(bytes).unwrap().replace("wheat", "rye").into_bytes(),
        };
        write(home.path(), &format!("docs/{name}"), &changed);
        let changes = &index(home.path(), "out")["changes"];
        assert_eq!(
            (&changes["changed"]["count"], &changes["new"]["count"]),
            (&1.into(), &0.into()),
            "{name}: {changes}"
        );
    }
    fs::remove_file(home.path().join("docs/epub.epub")).unwrap();
    index(home.path(), "out");
    index(home.path(), "fresh");
    assert_eq!(tree(&home.path().join("out")), tree(&home.path().join("fresh")));
}

#[test]
fn shards_of_every_format_are_the_dataset_of_one_process() {
    let home = corpus();
    index(home.path(), "whole");
    let (code, plan, err) =
        run(home.path(), &[&["plan", "docs", "-o", "out", "--shards", "2"], &SETTINGS[..]].concat());
    assert_eq!(code, 0, "{err}");
    write(home.path(), "plan.json", plan.as_bytes());
    for shard in ["1/2", "2/2"] {
        let (code, _, err) = run(home.path(), &["run", "--plan", "plan.json", "--shard", shard, "-o", "out"]);
        assert_eq!(code, 0, "{err}");
    }
    let (code, _, err) = run(home.path(), &["commit", "--plan", "plan.json", "-o", "out"]);
    assert_eq!(code, 0, "{err}");
    assert_eq!(tree(&home.path().join("out")), tree(&home.path().join("whole")));
}

#[test]
fn a_file_of_every_format_that_is_cut_short_is_read_or_quarantined() {
    let home = corpus();
    for (name, bytes, _) in documents() {
        write(home.path(), &format!("docs/{name}"), &bytes[..bytes.len() / 2]);
    }
    let (code, report, err) = run(home.path(), &[&["index", "docs", "-o", "out", "--json"], &SETTINGS[..]].concat());
    assert!(code == 0 || code == 3, "{err}");
    let report: Value = serde_json::from_str(&report).unwrap();
    let [documents, quarantined] = ["documents", "quarantined"].map(|key| report[key].as_u64().unwrap());
    assert_eq!(usize::try_from(documents + quarantined).unwrap(), self::documents().len());
    let (code, said, err) = run(home.path(), &["verify", "out", "--corpus", "docs"]);
    assert_eq!(code, 0, "{said}{err}");
}
