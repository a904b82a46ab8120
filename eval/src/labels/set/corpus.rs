//! The documents that questions are asked about, all in memory.

use std::collections::BTreeMap;

use chunkmill::value::{did_you_mean, nearest};

/// The readable documents of a set.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Corpus {
    /// Number of documents, including those that cannot be read.
    pub documents: usize,
    /// Their texts by id.
    pub texts: BTreeMap<String, String>,
    /// Where pages or slides start in the texts of documents that have any: the byte, and the number of the page.
    pub pages: BTreeMap<String, Vec<(usize, u32)>>,
}

impl Corpus {
    /// Returns the page or slide of a document that a byte of its text is on.
    pub(super) fn page_at(&self, doc_id: &str, byte: usize) -> Option<u32> {
        let pages = self.pages.get(doc_id)?;
        let after = pages.partition_point(|(start, _)| *start <= byte);
        Some(pages.get(after.checked_sub(1)?)?.1)
    }

    /// Describes a document that does not exist, and names the one that was probably meant.
    pub(crate) fn missing(&self, doc_id: &str) -> String {
        let ids = || self.texts.keys().map(String::as_str);
        let name = |id: &str| id.rsplit('/').next().map(str::to_owned);
        let same: Vec<&str> = ids().filter(|id| name(id) == name(doc_id)).collect();
        let meant = if let [one] = same[..] { Some(one) } else { nearest(doc_id, ids()) };
        format!("`{doc_id}`, which is not among the documents{}", did_you_mean(meant))
    }
}
