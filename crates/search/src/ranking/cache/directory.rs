//! A keyword index inside of [`Sections`], as tantivy reads it. Nothing can be written to it.

use std::collections::BTreeMap;
use std::io;
use std::path::Path;
use std::sync::Arc;

use arrow::buffer::Buffer;
use tantivy::Directory;
use tantivy::directory::error::{DeleteError, LockError, OpenReadError, OpenWriteError};
use tantivy::directory::{
    DirectoryLock, FileHandle, Lock, OwnedBytes, RamDirectory, WatchCallback, WatchHandle, WritePtr,
};

use super::mapped;
use super::sections::Sections;

/// Name of the file in which an index lists its files.
const MANAGED: &str = ".managed.json";

/// Name of the file that describes an index.
const META: &str = "meta.json";

/// The files of an index, by name.
#[derive(Debug, Clone)]
pub(in super::super) struct IndexDirectory(Arc<BTreeMap<String, Buffer>>);

impl IndexDirectory {
    /// Returns the index with this name.
    pub(in super::super) fn new(sections: &Sections, index: &str) -> Self {
        Self(Arc::new(sections.below(&prefix(index))))
    }

    fn file(&self, path: &Path) -> Result<OwnedBytes, OpenReadError> {
        let missing = || OpenReadError::FileDoesNotExist(path.to_owned());
        let bytes = path.to_str().and_then(|name| self.0.get(name)).ok_or_else(missing)?;
        Ok(mapped::shared(bytes.clone()))
    }
}

fn prefix(index: &str) -> String {
    format!("{index}/")
}

/// Adds the files of an index that was written to memory.
///
/// # Errors
/// If a file is missing.
pub(in super::super) fn insert_index(sections: &mut Sections, index: &str, from: &RamDirectory) -> io::Result<()> {
    let read = |name: &str| from.atomic_read(Path::new(name)).map_err(io::Error::other);
    let mut names: Vec<String> = serde_json::from_slice(&read(MANAGED)?)?;
    names.extend([MANAGED, META].map(str::to_owned));
    names.retain(|name| from.exists(Path::new(name)).unwrap_or_default());
    for name in names {
        sections.insert(prefix(index) + &name, read(&name)?);
    }
    Ok(())
}

impl Directory for IndexDirectory {
    fn get_file_handle(&self, path: &Path) -> Result<Arc<dyn FileHandle>, OpenReadError> {
        Ok(Arc::new(self.file(path)?))
    }

    fn exists(&self, path: &Path) -> Result<bool, OpenReadError> {
        Ok(self.file(path).is_ok())
    }

    fn atomic_read(&self, path: &Path) -> Result<Vec<u8>, OpenReadError> {
        Ok(self.file(path)?.to_vec())
    }

    fn delete(&self, path: &Path) -> Result<(), DeleteError> {
        Err(DeleteError::IoError { io_error: Arc::new(read_only()), filepath: path.to_owned() })
    }

    fn open_write(&self, path: &Path) -> Result<WritePtr, OpenWriteError> {
        Err(OpenWriteError::wrap_io_error(read_only(), path.to_owned()))
    }

    fn atomic_write(&self, _: &Path, _: &[u8]) -> io::Result<()> {
        Err(read_only())
    }

    fn sync_directory(&self) -> io::Result<()> {
        Ok(())
    }

    fn acquire_lock(&self, _: &Lock) -> Result<DirectoryLock, LockError> {
        // Nobody changes it.
        Ok(DirectoryLock::from(Box::new(())))
    }

    fn watch(&self, _: WatchCallback) -> tantivy::Result<WatchHandle> {
        Ok(WatchHandle::empty())
    }
}

fn read_only() -> io::Error {
    io::Error::new(io::ErrorKind::ReadOnlyFilesystem, "a cached index cannot be changed")
}
