//! A file or folder that was found, and the version of a file.

use std::path::PathBuf;
use std::time::SystemTime;

/// A file or folder that was found.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Entry {
    /// Path of the file or folder.
    pub path: PathBuf,
    /// Whether it is a folder.
    pub is_folder: bool,
    /// Size in bytes; meaningless for a folder.
    pub bytes: u64,
    /// Time of the last change to its contents, if known.
    pub modified: Option<SystemTime>,
}

impl Entry {
    /// Returns the entry's name in its folder.
    pub fn name(&self) -> String {
        self.path.file_name().unwrap_or_default().to_string_lossy().into_owned()
    }
}

/// The version of a file in an object store, or the fact that there is no file. In a file system all versions are
/// equal.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Version(pub(super) Option<Tag>);

/// The values by which an object store distinguishes versions.
#[derive(Debug, Clone, PartialEq, Eq)]
#[cfg_attr(not(feature = "object-store"), allow(dead_code, reason = "nothing else has versions"))]
pub(super) struct Tag {
    pub(super) e_tag: Option<String>,
    pub(super) version: Option<String>,
}
