//! A real corpus: 3,112 files, 33 MB of markdown with front matter, byte order marks and CRLF.

use chunkmill::chunk::{Preset, chunk};
use chunkmill::document::Document;
use chunkmill::embed::model::sha256;
use chunkmill::tokens::{TokenCounter, Unit, cl100k};
use rayon::prelude::*;

use crate::common::{documents, json_lines, note, powershell, run, sizer};
use crate::promises::check;
use crate::properties::preset_in;

/// SHA-256 of the lines `path TAB tokens LF` in order of path, as Python's tiktoken counts them; see
/// `golden/count.py`.
const PYTHON_TIKTOKEN: &str = "c971d2a22267ba39115ee101ea53606d6bb0a1a3652f9f9d8477708314547c20";

#[test]
fn every_preset_in_every_unit_keeps_every_promise() {
    let Some(root) = powershell() else { return };
    let documents = documents(root);
    assert_eq!(documents.len(), 3112);
    for preset in Preset::ALL {
        for unit in Unit::ALL {
            let spec = preset_in(preset, unit);
            let chunks: usize = documents
                .par_iter()
                .map(|document: &Document| {
                    let chunks = chunk(document, &spec, sizer(&spec)).unwrap();
                    check(document, &spec, &chunks, false);
                    chunks.len()
                })
                .sum();
            note(&format!("{spec}: {chunks} chunks of {} documents", documents.len()));
        }
    }
}

#[test]
fn token_counts_equal_those_of_pythons_tiktoken() {
    let Some(root) = powershell() else { return };
    let count =
        |document: &Document| format!("{}\t{}\n", document.source.path, cl100k().count(&document.text).unwrap());
    let lines: String = documents(root).iter().map(count).collect();
    assert_eq!(sha256(lines.as_bytes()), PYTHON_TIKTOKEN);
}

#[test]
fn token_ids_equal_those_of_tiktoken_rs() {
    let Some(root) = powershell() else { return };
    let reference = tiktoken_rs::cl100k_base().unwrap();
    documents(root).par_iter().for_each(|document| {
        assert!(
            cl100k().encode(&document.text) == reference.encode_ordinary(&document.text),
            "{}",
            document.source.path
        );
    });
}

#[test]
fn the_whole_corpus_is_chunked_and_nothing_disappears() {
    let Some(root) = powershell() else { return };
    let home = tempfile::TempDir::new().unwrap();
    let (code, out, err) = run(home.path(), &["chunk", root.to_str().unwrap()]);
    assert_eq!((code, err.as_str()), (0, ""));
    let with_text = documents(root).into_iter().filter(|document| !document.sections.is_empty()).count();
    let ids: std::collections::BTreeSet<String> =
        json_lines(&out).iter().map(|line| line["doc_id"].as_str().unwrap().to_owned()).collect();
    assert_eq!(ids.len(), with_text, "every document that is not blank has a chunk");
}
