//! Local files.

use std::fs::{self, File};
use std::io;
use std::path::Path;

use chunkmill_base::safely;

use super::files::{OutputFile, Storage};

/// The file system itself.
#[derive(Debug, Clone, Copy, Default)]
pub struct FileSystem;

impl Storage for FileSystem {
    fn create(&self, path: &Path) -> io::Result<Box<dyn OutputFile>> {
        Ok(Box::new(safely::create(path)?))
    }

    fn create_dir_all(&self, path: &Path) -> io::Result<()> {
        fs::create_dir_all(path)
    }

    fn rename(&self, from: &Path, to: &Path) -> io::Result<()> {
        fs::rename(from, to)
    }

    fn remove_file(&self, path: &Path) -> io::Result<()> {
        absent_is_fine(fs::remove_file(path))
    }

    fn remove_dir_all(&self, path: &Path) -> io::Result<()> {
        absent_is_fine(fs::remove_dir_all(path))
    }

    fn remove_empty_dir(&self, path: &Path) -> io::Result<()> {
        fs::remove_dir(path)
    }

    /// Only Unix can sync a folder, and only Unix needs it.
    fn sync_dir(&self, path: &Path) -> io::Result<()> {
        if cfg!(unix) { File::open(path)?.sync_all() } else { Ok(()) }
    }
}

/// Creates a file that has no name and is gone when nothing reads it any more. It is in the folder for temporary files.
///
/// # Errors
/// The system's.
pub(crate) fn unnamed_file() -> io::Result<File> {
    tempfile::tempfile()
}

fn absent_is_fine(removed: io::Result<()>) -> io::Result<()> {
    match removed {
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(()),
        other => other,
    }
}

impl OutputFile for File {
    fn sync(&mut self) -> io::Result<()> {
        self.sync_all()
    }
}
