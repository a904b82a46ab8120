//! Chroma's chunking evaluation, with our chunkers and our metrics: its published precision-omega.

use std::collections::HashMap;

use chunkmill::chunk::{Spec, chunk};
use chunkmill::document::Document;
use chunkmill::tokens::Sizer;
use chunkmill_eval::import;
use chunkmill_eval::metrics::{Span, Touch, precision_omega};
use serde_json::Value;

use crate::common::{note, shared};

/// For every byte of a text the number of characters before it.
fn characters(text: &str) -> Vec<usize> {
    let mut before = vec![0; text.len() + 1];
    for (count, (at, c)) in text.char_indices().enumerate() {
        before[at..at + c.len_utf8()].fill(count);
    }
    before[text.len()] = text.chars().count();
    before
}

/// The chunks of a text in characters. What a chunk repeats of the one before it stands in the text
/// just before its own range, perhaps with white space between.
fn chunks(doc: usize, text: &str, spec: &Spec) -> Vec<Span> {
    let document = Document::from_text("corpus.md", text);
    let characters = characters(text);
    let chunks = chunk(&document, spec, Sizer::new(spec.unit(), None).unwrap()).unwrap();
    let span = |chunk: &chunkmill::chunk::Chunk| {
        let start = chunk.range.start - chunk.prefix.len();
        assert_eq!(&text[start..chunk.range.end], chunk.content(&document));
        Span::new(doc, characters[start]..characters[chunk.range.end])
    };
    chunks.iter().map(span).collect()
}

#[test]
fn precision_omega_is_chromas() {
    let Some(root) = shared("chroma") else { return };
    let set = import::chroma(&root.join("corpora"), &root.join("questions_df.csv")).unwrap();
    assert_eq!((set.queries.len(), set.documents.len(), set.without_evidence), (276, 3, 0));
    let expected: HashMap<String, Value> =
        serde_json::from_str(&std::fs::read_to_string(root.join("expected_omega.json")).unwrap()).unwrap();
    let texts: Vec<(&str, &str)> =
        set.documents.iter().map(|(id, bytes)| (id.as_str(), std::str::from_utf8(bytes).unwrap())).collect();
    let tables: Vec<Vec<usize>> = texts.iter().map(|(_, text)| characters(text)).collect();
    let wanted: Vec<Vec<Span>> = set
        .queries
        .iter()
        .map(|query| {
            let span = |reference: &chunkmill_eval::labels::Reference| {
                let doc = texts.iter().position(|(id, _)| *id == reference.doc_id).unwrap();
                let range = &reference.quote.as_ref().unwrap().range;
                Span::new(doc, tables[doc][range.start]..tables[doc][range.end])
            };
            query.references.iter().map(span).collect()
        })
        .collect();
    for (strategy, theirs) in [("recursive", "recursive"), ("windows", "token")] {
        for (max, overlap) in [(200, 0), (400, 0), (400, 200), (800, 400)] {
            let spec: Spec = format!("{strategy} unit=tokens max={max} overlap={overlap}").parse().unwrap();
            let chunks: Vec<Span> =
                texts.iter().enumerate().flat_map(|(doc, (_, text))| chunks(doc, text, &spec)).collect();
            let figures = |touch| {
                let values: Vec<f64> =
                    wanted.iter().map(|wanted| 100.0 * precision_omega(wanted, &chunks, touch)).collect();
                let count = values.len() as f64;
                let mean = values.iter().sum::<f64>() / count;
                let variance = values.iter().map(|value| (value - mean).powi(2)).sum::<f64>() / count;
                (mean, variance.sqrt())
            };
            let ((mean, std), (own, _)) = (figures(Touch::Adjacent), figures(Touch::Shared));
            let expected = &expected[&format!("{theirs} {max}/{overlap}")];
            let printed = |value: f64| format!("{value:.1}").parse::<f64>().unwrap();
            note(&format!("{spec}: precision-omega {mean:.3} ± {std:.3}; {own:.3} without zero-length touches"));
            assert_eq!(
                (Some(printed(mean)), Some(printed(std))),
                (expected[0].as_f64(), expected[1].as_f64()),
                "{spec}"
            );
            assert_eq!(chunks.len() as u64, expected[2].as_u64().unwrap());
            assert!(own >= mean, "{spec}");
        }
    }
}
