//! Chunk ids, as each design writes them: unique in the corpus, the same for the same input and spec.

use std::collections::HashMap;

use super::Strategy;

/// Names the chunks of one document.
pub(super) struct Ids<'a> {
    strategy: Strategy,
    doc_id: &'a str,
    /// How often each label was defined so far.
    footnotes: HashMap<String, usize>,
}

impl<'a> Ids<'a> {
    pub(super) fn new(strategy: Strategy, doc_id: &'a str) -> Self {
        Self { strategy, doc_id, footnotes: HashMap::new() }
    }

    pub(super) fn text(&self, index: usize, section: usize, sub: Option<usize>) -> String {
        let doc_id = self.doc_id;
        match (self.strategy, sub) {
            (Strategy::Heading, _) => format!("{doc_id}#{index}"),
            (Strategy::Lines, _) => guid(doc_id, index),
            (Strategy::Header | Strategy::Section | Strategy::None, Some(sub)) => {
                format!("{doc_id}_chunk_{section}_sub_{sub}")
            }
            (Strategy::Header | Strategy::Section | Strategy::None, None) => format!("{doc_id}_chunk_{section}"),
            (
                Strategy::Semantic | Strategy::CodeAware | Strategy::Fixed | Strategy::Recursive | Strategy::Windows,
                _,
            ) => format!("{doc_id}_chunk_{index}"),
        }
    }

    /// The stem of the ids of a footnote's chunks. A label that was defined before gets a number.
    pub(super) fn footnote(&mut self, label: &str) -> String {
        let before = self.footnotes.entry(label.to_owned()).or_insert(0);
        let number = if *before == 0 { String::new() } else { format!("_{before}") };
        *before += 1;
        format!("{}_footnote_{label}{number}", self.doc_id)
    }
}

/// A GUID that follows from document and position alone: the first 16 bytes of a BLAKE3 hash, marked
/// as a UUID of version 8 (RFC 9562, section 5.8: bits that an application chooses).
fn guid(doc_id: &str, index: usize) -> String {
    let hash = blake3::hash(format!("{doc_id}\0{index}").as_bytes());
    let mut bytes = [0; 16];
    bytes.copy_from_slice(&hash.as_bytes()[..16]);
    bytes[6] = bytes[6] & 0x0f | 0x80;
    bytes[8] = bytes[8] & 0x3f | 0x80;
    let hex = format!("{:032x}", u128::from_be_bytes(bytes));
    [&hex[..8], &hex[8..12], &hex[12..16], &hex[16..20], &hex[20..]].join("-")
}
