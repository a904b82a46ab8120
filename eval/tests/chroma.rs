//! Reproduces the precision-omega that Chroma's chunking evaluation published, with our chunkers and our metrics.

use std::collections::HashMap;
use std::ops::Range;
use std::path::PathBuf;

use chunkmill::chunk::{Spec, chunk};
use chunkmill::document::Document;
use chunkmill_eval::labels::import;
use chunkmill_eval::labels::set::Reference;
use chunkmill_eval::score::metrics::{Span, Touch, precision_omega};
use serde_json::Value;

use crate::common::{note, shared};

/// Returns, for every byte of a text, the number of characters before it.
fn characters(text: &str) -> Vec<usize> {
    let mut before = vec![0; text.len() + 1];
    for (count, (at, c)) in text.char_indices().enumerate() {
        before[at..at + c.len_utf8()].fill(count);
    }
    before[text.len()] = text.chars().count();
    before
}

/// Returns the chunks of a text in characters. The text that a chunk repeats from the previous one comes directly
/// before the chunk's own range, possibly with white space in between.
fn chunks(doc: usize, text: &str, spec: &Spec) -> Vec<Span> {
    let document = Document::from_text("corpus.md", text);
    let characters = characters(text);
    let chunks = chunk(&document, spec, spec.sizer(None).unwrap()).unwrap();
    let span = |chunk: &chunkmill::chunk::Chunk| {
        let start = chunk.repeats.overlap.as_ref().map_or(chunk.range.start, |overlap| overlap.start);
        assert_eq!(&text[start..chunk.range.end], chunk.content(&document));
        Span::new(doc, characters[start]..characters[chunk.range.end])
    };
    chunks.iter().map(span).collect()
}

/// Returns where Chroma's code locates the chunks. It has only their texts and searches the document for each,
/// without a trailing full stop. The search finds the first match.
fn searched(doc: usize, text: &str, chunks: &[Span]) -> Vec<Span> {
    let characters = characters(text);
    let starts: Vec<usize> = text.char_indices().map(|(at, _)| at).chain([text.len()]).collect();
    let place = |chunk: &Span| {
        let content = &text[starts[chunk.start]..starts[chunk.end]];
        let target = content.strip_suffix('.').unwrap_or(content);
        let first = text.find(target).unwrap();
        Span::new(doc, characters[first]..characters[first + target.len()])
    };
    chunks.iter().map(place).collect()
}

fn starts(chunks: &[Span]) -> Vec<usize> {
    chunks.iter().map(|chunk| chunk.start).collect()
}

/// Splits a text into pieces of about 4,000 bytes that end with a paragraph.
fn pages(text: &str) -> impl Iterator<Item = &str> {
    let mut rest = text;
    std::iter::from_fn(move || {
        let end = rest.floor_char_boundary(4_000);
        let end = rest[end..].find('\n').map_or(rest.len(), |at| end + at + 1);
        let (page, after) = rest.split_at(end);
        rest = after;
        (!page.is_empty()).then_some(page)
    })
}

/// Returns the mean and standard deviation of precision-omega over questions, in percent.
fn figures(questions: &[Vec<Span>], chunks: &[Span], touch: Touch) -> (f64, f64) {
    let values: Vec<f64> = questions.iter().map(|wanted| 100.0 * precision_omega(wanted, chunks, touch)).collect();
    let count = values.len() as f64;
    let mean = values.iter().sum::<f64>() / count;
    let variance = values.iter().map(|value| (value - mean).powi(2)).sum::<f64>() / count;
    (mean, variance.sqrt())
}

/// Rounds a figure to as many digits as Chroma prints.
fn printed(value: f64) -> f64 {
    format!("{value:.1}").parse().unwrap()
}

/// Chroma's corpora by name, and the references of each question in characters.
struct Published {
    root: PathBuf,
    texts: Vec<(String, String)>,
    questions: Vec<Vec<Span>>,
}

fn published() -> Option<Published> {
    let root = shared("chroma")?;
    let set = import::chroma(&root.join("corpora"), &root.join("questions_df.csv")).unwrap();
    assert_eq!((set.queries.len(), set.documents.len(), set.without_evidence), (276, 3, 0));
    let texts: Vec<(String, String)> =
        set.documents.into_iter().map(|(id, bytes)| (id, String::from_utf8(bytes).unwrap())).collect();
    let tables: Vec<Vec<usize>> = texts.iter().map(|(_, text)| characters(text)).collect();
    let span = |reference: &Reference| {
        let place = &reference.any[0][0];
        let doc = texts.iter().position(|(id, _)| *id == place.doc_id).unwrap();
        let range = &place.quote.as_ref().unwrap().range;
        Span::new(doc, tables[doc][range.start]..tables[doc][range.end])
    };
    let questions = set.queries.iter().map(|query| query.references.iter().map(span).collect()).collect();
    Some(Published { root, texts, questions })
}

#[test]
fn precision_omega_is_chromas() {
    let Some(Published { root, texts, questions }) = published() else { return };
    let expected: HashMap<String, Value> =
        serde_json::from_str(&std::fs::read_to_string(root.join("expected_omega.json")).unwrap()).unwrap();
    for (strategy, theirs) in [("chroma_recursive", "recursive"), ("windows", "token")] {
        for (max, overlap) in [(200, 0), (400, 0), (400, 200), (800, 400)] {
            let spec: Spec = format!("{strategy} unit=tokens max={max} overlap={overlap}").parse().unwrap();
            let of = |(doc, (_, text)): (usize, &(String, String))| {
                let chunks = chunks(doc, text, &spec);
                assert_eq!(starts(&chunks), starts(&searched(doc, text, &chunks)), "{spec}: text that occurs twice");
                chunks
            };
            let chunks: Vec<Span> = texts.iter().enumerate().flat_map(of).collect();
            let (mean, std) = figures(&questions, &chunks, Touch::Adjacent);
            let (own, _) = figures(&questions, &chunks, Touch::Shared);
            let expected = &expected[&format!("{theirs} {max}/{overlap}")];
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

/// Every word is a token and, with the space before it, five characters. Words 0..8 occur again as words 10..18.
///
/// | window | characters | searched |
/// | --- | --- | --- |
/// | `cash paid rose over` | 0..19 | 0..19 |
/// | ` last year with debt` | 19..39 | 19..39 |
/// | ` from what cash paid` | 39..59 | 39..59 |
/// | ` rose over last year` | 59..79 | 9..29 |
/// | ` with debt` | 79..89 | 29..39 |
///
/// In the second window, `year` (25..29) is 4 of 20 characters. If windows are located by search, the fourth one
/// touches it too, and both together cover 9..39: 4 of 30. The second `over` (65..69) is in the fourth window, again
/// 4 of 20; if windows are located by search, none contains it.
#[test]
fn text_that_stands_twice_is_where_it_is_and_not_where_a_search_finds_it() {
    let text = "cash paid rose over last year with debt from what cash paid rose over last year with debt";
    let windows = chunks(0, text, &"windows unit=tokens max=4".parse().unwrap());
    assert_eq!(windows, [0..19, 19..39, 39..59, 59..79, 79..89].map(|range| Span::new(0, range)));
    let searched = searched(0, text, &windows);
    assert_eq!(searched, [0..19, 19..39, 39..59, 9..29, 29..39].map(|range| Span::new(0, range)));
    for touch in [Touch::Shared, Touch::Adjacent] {
        let omega = |range: Range<usize>, chunks: &[Span]| precision_omega(&[Span::new(0, range)], chunks, touch);
        assert_eq!((omega(25..29, &windows), omega(25..29, &searched)), (4.0 / 20.0, 4.0 / 30.0));
        assert_eq!((omega(65..69, &windows), omega(65..69, &searched)), (4.0 / 20.0, 0.0));
    }
}

/// The text that a document repeats at its end contains no evidence and changes no figure, unless chunks are located
/// by search. The figures of `chroma_recursive` change little: both copies of a paragraph are cut at the same places, so
/// the search finds a place that has a chunk anyway.
#[test]
fn text_that_is_said_again_changes_searched_figures_alone() {
    let Some(Published { texts, questions, .. }) = published() else { return };
    let texts = texts.iter().map(|(_, text)| {
        let again: String = pages(text).step_by(8).map(|page| format!("\n\n{page}")).collect();
        format!("{text}{again}")
    });
    let texts: Vec<String> = texts.collect();
    for (spec, ours, theirs) in [
        ("windows unit=tokens max=200", (21.1, 11.1), (20.7, 11.0)),
        ("windows unit=tokens max=400", (12.1, 7.1), (11.9, 7.0)),
        ("chroma_recursive unit=tokens max=200", (28.6, 17.4), (28.5, 17.5)),
        ("chroma_recursive unit=tokens max=400", (15.9, 10.1), (15.8, 10.1)),
    ] {
        let spec = spec.parse().unwrap();
        let (mut own, mut found) = (Vec::new(), Vec::new());
        for (doc, text) in texts.iter().enumerate() {
            let chunks = chunks(doc, text, &spec);
            found.extend(searched(doc, text, &chunks));
            own.extend(chunks);
        }
        assert_ne!(starts(&own), starts(&found));
        let figures = [own, found].map(|chunks| figures(&questions, &chunks, Touch::Adjacent));
        note(&format!("{spec} over repeated text: {figures:.3?}"));
        assert_eq!(figures.map(|(mean, std)| (printed(mean), printed(std))), [ours, theirs], "{spec}");
    }
}
