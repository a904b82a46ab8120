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
}

impl Corpus {
    /// Describes a document that does not exist, and names the one that was probably meant.
    pub(crate) fn missing(&self, doc_id: &str) -> String {
        let ids = || self.texts.keys().map(String::as_str);
        let name = |id: &str| id.rsplit('/').next().map(str::to_owned);
        let same: Vec<&str> = ids().filter(|id| name(id) == name(doc_id)).collect();
        let meant = if let [one] = same[..] { Some(one) } else { nearest(doc_id, ids()) };
        format!("`{doc_id}`, which is not among the documents{}", did_you_mean(meant))
    }
}
