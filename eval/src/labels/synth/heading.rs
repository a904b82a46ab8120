//! Questions made from a heading, for the text below it.

use std::collections::HashMap;
use std::ops::Range;

use chunkmill::document::{BlockKind, Document};

use super::candidate::{Candidate, Kind, SIZE};
use super::texts::{DocumentUnits, Texts};
use super::words::{has_letter, trimmed, words_of};

/// Returns a question for each section whose heading, with as many of the headings above it as needed, is specific
/// enough. If several sections have the same heading, at least one of the headings above it is always included.
/// The evidence is the section's own text without the heading line.
pub(super) fn candidates(texts: &Texts) -> Vec<Candidate> {
    let mut known: HashMap<String, usize> = HashMap::new();
    for section in texts.documents.iter().flat_map(|text| &text.document.sections) {
        *known.entry(normal(&section.title)).or_default() += 1;
    }
    let of_document = |(at, DocumentUnits { document, .. }): (usize, &DocumentUnits)| {
        let asked = (0..document.sections.len()).filter_map(|section| {
            let evidence = body(document, section).filter(|body| !texts.repeats(document, body))?;
            let alone = known[&normal(&document.sections[section].title)] == 1;
            let text = question(texts, document, section, alone)?;
            Some(Candidate { kind: Kind::Heading, document: at, text, evidence: vec![evidence] })
        });
        asked.collect::<Vec<_>>()
    };
    texts.documents.iter().enumerate().flat_map(of_document).collect()
}

/// Returns the text of a section below its heading, if it is a suitable passage: neither tiny nor huge, and not
/// code alone.
fn body(document: &Document, section: usize) -> Option<Range<usize>> {
    let whole = &document.sections[section].range;
    let mut blocks = document.blocks_in(whole).iter();
    let heading = blocks.find(|block| matches!(block.kind, BlockKind::Heading(_)))?;
    let said = |kind| matches!(kind, BlockKind::Paragraph | BlockKind::ListItem | BlockKind::Table);
    blocks.find(|block| said(block.kind))?;
    let body = trimmed(&document.text, heading.range.end..whole.end);
    SIZE.contains(&document.text[body.clone()].chars().count()).then_some(body)
}

fn question(texts: &Texts, document: &Document, section: usize, alone: bool) -> Option<String> {
    if document.sections[section].level == 0 {
        return None;
    }
    let mut path = document.heading_path(section);
    if let Some(title) = document.title.as_ref().filter(|title| path.iter().all(|heading| heading != *title)) {
        path.insert(0, title.clone());
    }
    let own = path.last_mut()?;
    *own = own.trim_start_matches(numbering(own)).to_owned();
    // A date or a version number is not a question.
    let (numbers, others): (Vec<String>, _) =
        words_of(own).into_iter().partition(|word| word.starts_with(|c: char| c.is_numeric()));
    if others.len() < numbers.len().max(1) {
        return None;
    }
    let least = if alone { 1 } else { 2 };
    (least..=path.len())
        .map(|headings| path[path.len() - headings..].join(": "))
        .find(|question| texts.bits_of(words_of(question)) >= texts.enough())
}

/// Returns the numbering of a heading, such as `3. `, or nothing.
fn numbering(title: &str) -> &str {
    let number = title.trim_start_matches(|c: char| c.is_numeric() || c == '.');
    let before = &title[..title.len() - number.len()];
    let after = number.trim_start_matches([')', ':', ' ']);
    if before.ends_with('.') || number.starts_with([')', ':']) { &title[..title.len() - after.len()] } else { "" }
}

/// Returns a heading without its numbers and signs.
fn normal(title: &str) -> String {
    words_of(title).into_iter().filter(|word| has_letter(word)).collect::<Vec<_>>().join(" ")
}
