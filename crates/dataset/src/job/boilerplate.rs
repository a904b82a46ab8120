//! Paragraphs that stand in many documents: licences, navigation, footers. They say nothing of the document, but they are
//! embedded and found with it.

use std::collections::HashMap;

use arrow::array::AsArray;
use chunkmill_base::error::Result;

use super::duplicates::OwnText;
use crate::dataset::{Dataset, Table};

/// Fewest words of a paragraph that is counted.
const LEAST_WORDS: usize = 5;

/// Bytes of a paragraph that are shown.
const SHOWN: usize = 200;

/// A paragraph that stands in several documents.
#[derive(Debug, Clone, PartialEq, Eq, serde::Serialize)]
pub struct RepeatedParagraph {
    /// Number of documents that it stands in.
    pub documents: u64,
    /// Number of its words.
    pub words: usize,
    /// The beginning of it, on one line.
    pub text: String,
}

/// A paragraph that was found.
struct Known {
    documents: u64,
    /// Number of the last document with it.
    last: u64,
}

/// Returns the paragraphs that stand in at least `least` documents of a dataset, those in most documents first. A
/// paragraph is a text between blank lines; it is the same whatever its white space. Memory is about 40 bytes for each
/// paragraph.
///
/// # Errors
/// Those of [`Dataset::read`].
pub fn boilerplate(dataset: &Dataset, least: u64) -> Result<Vec<RepeatedParagraph>> {
    let mut known: HashMap<u128, Known> = HashMap::new();
    for_each_paragraph(dataset, |hash, document, _| {
        let known = known.entry(hash).or_insert(Known { documents: 0, last: u64::MAX });
        if known.last != document {
            *known = Known { documents: known.documents + 1, last: document };
        }
    })?;
    known.retain(|_, known| known.documents >= least);
    // The texts are read a second time, because few of them are shown.
    let mut found: HashMap<u128, RepeatedParagraph> = HashMap::new();
    for_each_paragraph(dataset, |hash, _, paragraph| {
        if let Some(Known { documents, .. }) = known.get(&hash) {
            found.entry(hash).or_insert_with(|| {
                let (words, mut text) = (paragraph.split_whitespace().count(), line(paragraph));
                if let Some((end, _)) = text.char_indices().find(|(at, _)| *at >= SHOWN) {
                    text.truncate(end);
                    text.push('…');
                }
                RepeatedParagraph { documents: *documents, words, text }
            });
        }
    })?;
    let mut found: Vec<RepeatedParagraph> = found.into_values().collect();
    let order = |paragraph: &RepeatedParagraph| std::cmp::Reverse((paragraph.documents, paragraph.words));
    found.sort_by(|a, b| order(a).cmp(&order(b)).then_with(|| a.text.cmp(&b.text)));
    Ok(found)
}

fn line(paragraph: &str) -> String {
    paragraph.split_whitespace().collect::<Vec<_>>().join(" ")
}

/// Calls a function with the hash of each paragraph, the number of its document, and its text.
fn for_each_paragraph(dataset: &Dataset, mut each: impl FnMut(u128, u64, &str)) -> Result<()> {
    let mut number = 0;
    let mut finish = |text: &mut String| {
        for paragraph in paragraphs(text) {
            let hash = blake3::hash(line(paragraph).as_bytes());
            each(u128::from_le_bytes(hash.as_bytes()[..16].try_into().unwrap_or_default()), number, paragraph);
        }
        number += 1;
        text.clear();
    };
    let (mut document, mut text, mut end) = (String::new(), String::new(), 0);
    for file in dataset.files(Table::Chunks) {
        for batch in dataset.read(file, &["doc_id", "content", "prefix_len", "start_byte", "end_byte"], None)? {
            let batch = batch?;
            let damaged = || dataset.damaged(file, "has text that does not fit its range");
            let ids = batch.column_by_name("doc_id").and_then(|ids| ids.as_string_opt::<i32>()).ok_or_else(damaged)?;
            for row in 0..batch.num_rows() {
                let own = OwnText::read(&batch, row).ok_or_else(damaged)?;
                if ids.value(row) != document {
                    finish(&mut text);
                    ids.value(row).clone_into(&mut document);
                    end = own.range.start;
                }
                own.add_to(&mut text, &mut end);
            }
        }
    }
    finish(&mut text);
    Ok(())
}

/// Returns the texts between blank lines that have enough words.
fn paragraphs(text: &str) -> impl Iterator<Item = &str> {
    let mut rest = text;
    let parts = std::iter::from_fn(move || {
        if rest.is_empty() {
            return None;
        }
        let mut at = 0;
        let blank = rest.split_inclusive('\n').find_map(|line| {
            let start = at;
            at += line.len();
            line.trim().is_empty().then_some((start, at))
        });
        let (end, next) = blank.unwrap_or((rest.len(), rest.len()));
        let part = &rest[..end];
        rest = &rest[next..];
        Some(part)
    });
    parts.filter(|part| part.split_whitespace().nth(LEAST_WORDS - 1).is_some())
}
