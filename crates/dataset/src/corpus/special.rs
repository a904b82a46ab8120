//! Special files: entries of a folder that are not files, links or folders. Opening one may block forever or act on a
//! machine.
//!
//! A FIFO blocks until another process writes to it, and a device may return bytes without end. Special files are
//! therefore recognized by their type and never opened.

use std::fs::{self, FileType};
use std::path::{Path, PathBuf};

use chunkmill_base::error::Skip;

/// Returns why a file of this type is skipped; `None` for files, folders and links.
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

/// Only Unix has special files in its folders.
#[cfg(not(unix))]
pub(super) fn special(_: FileType) -> Option<Skip> {
    None
}

/// Returns the reason to skip the target of a path, if it is a special file.
pub(super) fn special_at(path: &Path) -> Option<Skip> {
    special(fs::metadata(path).ok()?.file_type())
}

/// Returns the first special file in a folder that has the name of a file with ignore rules, which cannot be read.
pub(super) fn special_rules(folder: &Path) -> Option<(PathBuf, Skip)> {
    super::RULES.iter().map(|name| folder.join(name)).find_map(|path| special_at(&path).map(|why| (path, why)))
}
