//! Finding files and folders on this machine.

use std::fs::Metadata;
use std::path::{Path, PathBuf};
use std::{fs, io};

use super::entry::Entry;

/// Returns the file or folder at a path, following symbolic links.
pub(super) fn find(path: &Path) -> io::Result<Option<Entry>> {
    match fs::metadata(path) {
        Ok(metadata) => Ok(Some(entry(path.to_owned(), &metadata))),
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(None),
        Err(error) => Err(error),
    }
}

/// Returns the entries of a folder. A symbolic link never counts as a folder, and its size is that of its target.
/// Entries that disappear before they are inspected are left out.
pub(super) fn list(folder: &Path) -> io::Result<Vec<Entry>> {
    let entries = match fs::read_dir(folder) {
        Ok(entries) => entries,
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(Vec::new()),
        Err(error) => return Err(error),
    };
    let mut found = Vec::new();
    for item in entries {
        let item = item?;
        let is_link = item.file_type()?.is_symlink();
        let followed = if is_link { fs::metadata(item.path()).or_else(|_| item.metadata()) } else { item.metadata() };
        match followed {
            Ok(metadata) => {
                let found_here = entry(item.path(), &metadata);
                found.push(Entry { is_folder: found_here.is_folder && !is_link, ..found_here });
            }
            Err(error) if error.kind() == io::ErrorKind::NotFound => {}
            Err(error) => return Err(error),
        }
    }
    found.sort_by(|a, b| a.path.cmp(&b.path));
    Ok(found)
}

fn entry(path: PathBuf, metadata: &Metadata) -> Entry {
    Entry { path, is_folder: metadata.is_dir(), bytes: metadata.len(), modified: metadata.modified().ok() }
}
