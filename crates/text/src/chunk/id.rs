//! Chunk ids in the notation of each design: unique in the corpus, and the same for the same input and spec.

use std::collections::{HashMap, HashSet};

use super::strategy::Strategy;

/// The ids of the chunks of one document.
pub(super) struct Ids<'a> {
    strategy: Strategy,
    doc_id: &'a str,
    /// How often each label has been defined so far.
    labels: HashMap<String, usize>,
    /// Ids that are already assigned to footnotes.
    given: HashSet<String>,
}

impl<'a> Ids<'a> {
    pub(super) fn new(strategy: Strategy, doc_id: &'a str) -> Self {
        Self { strategy, doc_id, labels: HashMap::new(), given: HashSet::new() }
    }

    pub(super) fn text(&self, index: usize, section: usize, sub: Option<usize>) -> String {
        // Concatenated without `format!`, which takes longer than much of the cutting.
        let numbered = |mark: &str, number: usize| [self.doc_id, mark, &number.to_string()].concat();
        match (self.strategy, sub) {
            (Strategy::Heading | Strategy::Structure, _) => numbered("#", index),
            (Strategy::Lines, _) => guid(self.doc_id, index),
            (Strategy::Header | Strategy::Section | Strategy::None, Some(sub)) => {
                [&numbered("_chunk_", section), "_sub_", &sub.to_string()].concat()
            }
            (Strategy::Header | Strategy::Section | Strategy::None, None) => numbered("_chunk_", section),
            _ => numbered("_chunk_", index),
        }
    }

    /// Returns the ids of a footnote's chunks: one id, or one for each piece it was split into. A label that was
    /// defined before gets a number, and so does one whose ids belong to another footnote.
    pub(super) fn footnote(&mut self, label: &str, pieces: Option<usize>) -> Vec<String> {
        let number = self.labels.entry(label.to_owned()).or_insert(0);
        loop {
            let stem = if *number == 0 { label.to_owned() } else { format!("{label}_{number}") };
            let stem = format!("{}_footnote_{stem}", self.doc_id);
            let ids: Vec<String> = match pieces {
                None => vec![stem],
                Some(pieces) => (0..pieces).map(|sub| format!("{stem}_sub_{sub}")).collect(),
            };
            *number += 1;
            if ids.iter().all(|id| !self.given.contains(id)) {
                self.given.extend(ids.iter().cloned());
                return ids;
            }
        }
    }
}

/// Returns a GUID that depends on document and position alone: the first 16 bytes of a BLAKE3 hash, marked as a
/// UUID of version 8 (RFC 9562, section 5.8: bits that an application chooses).
fn guid(doc_id: &str, index: usize) -> String {
    let hash = blake3::hash(format!("{doc_id}\0{index}").as_bytes());
    let mut bytes = [0; 16];
    bytes.copy_from_slice(&hash.as_bytes()[..16]);
    bytes[6] = bytes[6] & 0x0f | 0x80;
    bytes[8] = bytes[8] & 0x3f | 0x80;
    let hex = format!("{:032x}", u128::from_be_bytes(bytes));
    [&hex[..8], &hex[8..12], &hex[12..16], &hex[16..20], &hex[20..]].join("-")
}
