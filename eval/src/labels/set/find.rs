//! Finds texts in documents, because people and published labels write white space differently.

use std::ops::Range;

use chunkmill::document::on_one_line;

/// Finds texts in a document whose white space may differ.
pub(crate) struct Finder {
    /// The document with every run of white space replaced by a single space.
    words: String,
    /// The position of each of its bytes in the document.
    at: Vec<usize>,
}

impl Finder {
    pub(crate) fn new(document: &str) -> Self {
        let mut finder = Self { words: String::with_capacity(document.len()), at: Vec::with_capacity(document.len()) };
        for (at, c) in document.char_indices() {
            if !c.is_whitespace() {
                finder.words.push(c);
                finder.at.extend(at..at + c.len_utf8());
            } else if !finder.words.ends_with(' ') {
                finder.words.push(' ');
                finder.at.push(at);
            }
        }
        finder
    }

    /// Returns the byte range of the text's first occurrence in the document.
    pub(crate) fn find(&self, text: &str) -> Option<Range<usize>> {
        let text = on_one_line(text);
        let start = self.words.find(&text).filter(|_| !text.is_empty())?;
        Some(self.range(start, &text))
    }

    /// Returns the byte ranges of all its occurrences.
    pub(crate) fn all(&self, text: &str) -> Vec<Range<usize>> {
        let text = on_one_line(text);
        let starts = self.words.match_indices(&text).filter(|_| !text.is_empty());
        starts.map(|(start, _)| self.range(start, &text)).collect()
    }

    fn range(&self, start: usize, text: &str) -> Range<usize> {
        self.at[start]..self.at[start + text.len() - 1] + 1
    }
}

/// Returns the beginning of a text on one line: at most `most` characters, and `…` if there are more.
pub(crate) fn beginning(text: &str, most: usize) -> String {
    let text = on_one_line(text);
    if text.chars().count() <= most { text } else { text.chars().take(most).chain(['…']).collect() }
}
