//! Paragraphs that stand in many documents: licences, navigation, footers. They say nothing of the document, but they are
//! embedded and found with it.

use std::collections::HashMap;

use arrow::array::AsArray;
use chunkmill_base::error::Result;

use super::duplicates::{JoinedText, OwnText};
use super::paragraphs::{Paragraph, ParagraphHash, on_one_line, paragraphs};
use crate::dataset::{Dataset, Table};

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
    let mut known: HashMap<ParagraphHash, Known> = HashMap::new();
    for_each_paragraph(dataset, |document, Paragraph { hash, .. }| {
        let known = known.entry(hash).or_insert(Known { documents: 0, last: u64::MAX });
        if known.last != document {
            *known = Known { documents: known.documents + 1, last: document };
        }
    })?;
    known.retain(|_, known| known.documents >= least);
    // The texts are read a second time, because few of them are shown.
    let mut found: HashMap<ParagraphHash, RepeatedParagraph> = HashMap::new();
    for_each_paragraph(dataset, |_, Paragraph { text: paragraph, hash, .. }| {
        if let Some(Known { documents, .. }) = known.get(&hash) {
            found.entry(hash).or_insert_with(|| {
                let (words, mut text) = (paragraph.split_whitespace().count(), on_one_line(paragraph));
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

/// Calls a function with the number of the document of each paragraph, and the paragraph.
fn for_each_paragraph(dataset: &Dataset, mut each: impl FnMut(u64, Paragraph<'_>)) -> Result<()> {
    let mut number = 0;
    let mut finish = |joined: JoinedText| {
        paragraphs(&joined.text).for_each(|paragraph| each(number, paragraph));
        number += 1;
    };
    let columns: Vec<&str> = ["doc_id"].into_iter().chain(OwnText::COLUMNS).collect();
    let (mut document, mut joined) = (String::new(), JoinedText::default());
    for file in dataset.files(Table::Chunks) {
        for batch in dataset.read(file, &columns, None)? {
            let batch = batch?;
            let damaged = || dataset.damaged(file, "has text that does not fit its range");
            let ids = batch.column_by_name("doc_id").and_then(|ids| ids.as_string_opt::<i32>()).ok_or_else(damaged)?;
            for row in 0..batch.num_rows() {
                let own = OwnText::read(&batch, row).ok_or_else(damaged)?;
                if ids.value(row) != document {
                    finish(std::mem::take(&mut joined));
                    ids.value(row).clone_into(&mut document);
                }
                joined.push(&own);
            }
        }
    }
    finish(joined);
    Ok(())
}
