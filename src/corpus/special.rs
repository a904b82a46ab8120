//! What has a name in a folder and is no file: to open it may wait for ever, or act on a machine.
//!
//! A FIFO that is opened waits for who writes to it, a device may give bytes without end. So they are told by their
//! kind, and never opened.

use std::fs::{self, FileType};
use std::path::{Path, PathBuf};

use crate::error::Skip;

/// Why nothing of this kind is opened; `None` for files, folders and links.
#[cfg(unix)]
pub(super) fn special(kind: FileType) -> Option<Skip> {
    use std::os::unix::fs::FileTypeExt;
    if kind.is_fifo() {
        Some(Skip::Fifo)
    } else if kind.is_socket() {
        Some(Skip::Socket)
    } else {
        (kind.is_block_device() || kind.is_char_device()).then_some(Skip::Device)
    }
}

/// Only Unix has such names in its folders.
#[cfg(not(unix))]
pub(super) fn special(_: FileType) -> Option<Skip> {
    None
}

/// The same of what a path leads to.
pub(super) fn special_at(path: &Path) -> Option<Skip> {
    special(fs::metadata(path).ok()?.file_type())
}

/// What stands in a folder in the place of a file of rules, and cannot be read as one.
pub(super) fn special_rules(folder: &Path) -> Option<(PathBuf, Skip)> {
    super::RULES.iter().map(|name| folder.join(name)).find_map(|path| special_at(&path).map(|why| (path, why)))
}
