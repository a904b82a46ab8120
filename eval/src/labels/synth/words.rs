//! The visible text of a stretch of a document, split into sentences and words. Link targets, images and HTML tags
//! are left out.

use std::ops::Range;

use chunkmill::chunk::sentence_starts;
use chunkmill::document::{Document, Link, LinkKind};

/// Returns the byte ranges of the words in a range. A word is a run of letters and digits; `_`, `-`, `.` and an
/// apostrophe between two of them belong to it, so `storage.staging_max` is one word. In a script without spaces,
/// a word is everything between two punctuation marks, which is what a user would search for.
pub(super) fn words(document: &Document, range: &Range<usize>) -> Vec<Range<usize>> {
    let hidden = hidden(document, range);
    let mut words = Vec::new();
    let mut at = range.start;
    for gap in hidden {
        if at < gap.start {
            split(&document.text, at..gap.start, &mut words);
        }
        at = at.max(gap.end);
    }
    split(&document.text, at..range.end, &mut words);
    words
}

/// Returns the sentences of a paragraph, as chunks are cut between them.
pub(crate) fn sentences(text: &str, paragraph: &Range<usize>) -> Vec<Range<usize>> {
    let starts = sentence_starts(&text[paragraph.clone()]).into_iter().map(|at| paragraph.start + at);
    let mut borders: Vec<usize> = std::iter::once(paragraph.start).chain(starts).collect();
    borders.push(paragraph.end);
    let sentences = borders.windows(2).map(|pair| trimmed(text, pair[0]..pair[1]));
    sentences.filter(|range| !range.is_empty()).collect()
}

/// Returns the folded words of a text outside a document, in order.
pub(super) fn words_of(text: &str) -> Vec<String> {
    let mut words = Vec::new();
    split(text, 0..text.len(), &mut words);
    words.into_iter().map(|word| folded(&text[word])).collect()
}

/// Folds a word to the form in which it is counted.
pub(super) fn folded(word: &str) -> String {
    word.replace('’', "'").to_lowercase()
}

/// Returns whether it contains a letter, not only digits and signs.
pub(super) fn has_letter(word: &str) -> bool {
    word.contains(char::is_alphabetic)
}

/// Trims white space from the ends of a range.
pub(super) fn trimmed(text: &str, range: Range<usize>) -> Range<usize> {
    let slice = &text[range.clone()];
    let start = range.start + slice.len() - slice.trim_start().len();
    start..(start + slice.trim().len())
}

fn split(text: &str, range: Range<usize>, words: &mut Vec<Range<usize>>) {
    let mut open: Option<usize> = None;
    let mut chars = text[range.clone()].char_indices().peekable();
    while let Some((offset, c)) = chars.next() {
        let at = range.start + offset;
        if c.is_alphanumeric() {
            open.get_or_insert(at);
            continue;
        }
        let joins = "_-.'’".contains(c) && chars.peek().is_some_and(|(_, next)| next.is_alphanumeric());
        if !joins {
            words.extend(open.take().map(|start| start..at));
        }
    }
    words.extend(open.map(|start| start..range.end));
}

/// Returns the ranges that are not shown, in order of their start.
fn hidden(document: &Document, range: &Range<usize>) -> Vec<Range<usize>> {
    let first = document.links.partition_point(|link| link.range.start < range.start);
    let links = document.links[first..].iter().take_while(|link| link.range.start < range.end);
    let mut hidden: Vec<Range<usize>> = links.map(|link| target(&document.text, link)).collect();
    hidden.extend(tags(&document.text, range));
    hidden.sort_by_key(|range| range.start);
    hidden.retain_mut(|hidden| {
        hidden.end = hidden.end.min(range.end);
        hidden.start < hidden.end
    });
    hidden
}

/// Returns the part of a link that is not its text.
fn target(text: &str, link: &Link) -> Range<usize> {
    let Range { start, end } = link.range;
    let written = &text[start..end];
    match link.kind {
        LinkKind::Link if written.starts_with('[') => {
            let close = written.rfind("](").or_else(|| written.rfind("][")).unwrap_or(written.len());
            start + close..end
        }
        LinkKind::Wikilink => start..start + written.find('|').unwrap_or(0),
        LinkKind::Link | LinkKind::Image => start..end,
    }
}

/// Returns the HTML tags in a range: `<b>`, `</b>`, `<!-- … -->`, but not `a < b`.
fn tags(text: &str, range: &Range<usize>) -> Vec<Range<usize>> {
    let mut tags = Vec::new();
    let mut at = range.start;
    while let Some(open) = text[at..range.end].find('<').map(|found| at + found) {
        at = open + 1;
        let tag = text[at..range.end].starts_with(|c: char| c.is_ascii_alphabetic() || c == '/' || c == '!');
        // If this one has no end, later ones have none either.
        let Some(close) = text[at..range.end].find('>') else { break };
        if tag {
            at += close + 1;
            tags.push(open..at);
        }
    }
    tags
}
