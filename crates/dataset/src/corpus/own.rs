//! The folders that chunkmill itself writes below a root. A dataset contains a card, `README.md`, which describes chunks
//! and is no document of the corpus; a set of labels contains the documents once more. Their folders are passed over.

use std::fs::{self, File};
use std::io::Read;
use std::path::Path;

/// A kind of folder that chunkmill writes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct OwnFolder {
    /// Its name, with an article.
    name: &'static str,
    /// Name of the file that tells.
    file: &'static str,
    /// Fields among the first bytes of that file.
    fields: &'static [&'static [u8]],
}

const KINDS: [OwnFolder; 2] = [
    OwnFolder { name: "a dataset", file: "manifest.json", fields: &[b"\"format_version\": ", b"\"tool_version\": "] },
    OwnFolder { name: "a set of labels", file: "queries.jsonl", fields: &[b"{\"query_id\":"] },
];

/// Number of bytes in which the fields are.
const BEGINNING: u64 = 200;

/// Returns the kind that a file with this name may tell of.
pub(super) fn told_by(name: &str) -> Option<&'static OwnFolder> {
    KINDS.iter().find(|kind| kind.file == name)
}

/// Returns what a local folder is, if chunkmill wrote it.
pub(super) fn own_folder(folder: &Path) -> Option<&'static OwnFolder> {
    KINDS.iter().find(|kind| {
        let path = folder.join(kind.file);
        let is_file = fs::symlink_metadata(&path).is_ok_and(|found| found.is_file());
        is_file && File::open(path).is_ok_and(|file| kind.is_told_by(file))
    })
}

impl OwnFolder {
    /// Returns whether the file with the right name begins like ours.
    pub(super) fn is_told_by(&self, file: impl Read) -> bool {
        let mut bytes = Vec::new();
        let read = file.take(BEGINNING).read_to_end(&mut bytes);
        read.is_ok() && self.fields.iter().all(|field| memchr::memmem::find(&bytes, field).is_some())
    }

    /// Says that a folder is passed over.
    pub(super) fn tell(&self, folder: &Path) {
        tracing::warn!("{} is {}, not a part of the corpus; it is passed over", folder.display(), self.name);
    }
}
