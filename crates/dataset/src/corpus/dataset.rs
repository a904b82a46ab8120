//! Datasets below a root. A dataset contains a card, `README.md`, which describes chunks and is no document of the
//! corpus. A folder that contains a dataset is therefore passed over.

use std::fs::{self, File};
use std::io::Read;
use std::path::Path;

/// Name of the file that makes a folder a dataset.
pub(super) const MANIFEST: &str = "manifest.json";

/// The first fields of every manifest, and the number of bytes in which they are.
const FIELDS: [&[u8]; 2] = [b"\"format_version\": ", b"\"tool_version\": "];
const BEGINNING: u64 = 200;

/// Returns whether a file called [`MANIFEST`] begins as that of a dataset does.
pub(super) fn is_manifest(file: impl Read) -> bool {
    let mut bytes = Vec::new();
    let read = file.take(BEGINNING).read_to_end(&mut bytes);
    read.is_ok() && FIELDS.iter().all(|field| memchr::memmem::find(&bytes, field).is_some())
}

/// Returns whether a local folder is a dataset.
pub(super) fn is_dataset(folder: &Path) -> bool {
    let path = folder.join(MANIFEST);
    let is_file = fs::symlink_metadata(&path).is_ok_and(|found| found.is_file());
    is_file && File::open(path).is_ok_and(is_manifest)
}
