//! The operations on files that a dataset needs, wherever the files are.

use std::fmt::Debug;
use std::io::{self, Write};
use std::path::{Path, PathBuf};

use chunkmill_base::safely;

use super::entry::{Entry, Version};
use super::input::Input;
use super::local;

/// Operations on files, by path.
///
/// By default, operations that only read use the file system.
pub trait Storage: Debug + Send + Sync {
    /// Creates a file, or empties an existing one. A symbolic link is not followed.
    ///
    /// # Errors
    /// The system's.
    fn create(&self, path: &Path) -> io::Result<Box<dyn OutputFile>>;

    /// Creates a folder and its parents. Succeeds if it exists.
    ///
    /// # Errors
    /// The system's.
    fn create_dir_all(&self, path: &Path) -> io::Result<()>;

    /// Renames a file in one step, replacing any file that has the new name.
    ///
    /// # Errors
    /// The system's.
    fn rename(&self, from: &Path, to: &Path) -> io::Result<()>;

    /// Renames a file like [`rename`](Self::rename), unless the file that has the new name is no longer this
    /// version.
    ///
    /// # Errors
    /// The system's; of kind [`io::ErrorKind::AlreadyExists`] if it is another version.
    fn replace(&self, from: &Path, to: &Path, _version: &Version) -> io::Result<()> {
        self.rename(from, to)
    }

    /// Removes a file. Succeeds if there is none.
    ///
    /// # Errors
    /// The system's.
    fn remove_file(&self, path: &Path) -> io::Result<()>;

    /// Removes a folder with everything in it. Succeeds if there is none.
    ///
    /// # Errors
    /// The system's.
    fn remove_dir_all(&self, path: &Path) -> io::Result<()>;

    /// Removes a folder that has nothing in it; an object store has none of its own.
    ///
    /// # Errors
    /// The system's, also if something is in it.
    fn remove_empty_dir(&self, _path: &Path) -> io::Result<()> {
        Ok(())
    }

    /// Makes the names in a folder durable: files created in it, renamed into it or removed from it.
    ///
    /// # Errors
    /// The system's.
    fn sync_dir(&self, path: &Path) -> io::Result<()>;

    /// Returns whether this is an object store: a file appears only when it is complete, renaming means sending
    /// all bytes again, nobody can be kept from writing, and readers are unknown.
    fn is_object_store(&self) -> bool {
        false
    }

    /// Returns the file or folder at this path, if there is one.
    ///
    /// # Errors
    /// The system's.
    fn find(&self, path: &Path) -> io::Result<Option<Entry>> {
        local::find(path)
    }

    /// Returns the version of a file, which distinguishes it from a later replacement. Where a lock keeps writers
    /// apart, it is empty.
    ///
    /// # Errors
    /// The system's.
    fn version(&self, _path: &Path) -> io::Result<Version> {
        Ok(Version::default())
    }

    /// Returns the entries of a folder, sorted by path; none if the folder does not exist.
    ///
    /// # Errors
    /// The system's.
    fn list(&self, folder: &Path) -> io::Result<Vec<Entry>> {
        local::list(folder)
    }

    /// Returns every file below a folder, sorted by path.
    ///
    /// # Errors
    /// The system's.
    fn files_below(&self, folder: &Path) -> io::Result<Vec<Entry>> {
        let mut found = Vec::new();
        for entry in self.list(folder)? {
            if entry.is_folder {
                found.extend(self.files_below(&entry.path)?);
            } else {
                found.push(entry);
            }
        }
        Ok(found)
    }

    /// Reads a whole file.
    ///
    /// # Errors
    /// The system's.
    fn read(&self, path: &Path) -> io::Result<Vec<u8>> {
        safely::read(path)
    }

    /// Reads several files and returns their contents in the same order, concurrently where each read has latency.
    fn read_all(&self, paths: &[PathBuf]) -> Vec<io::Result<Vec<u8>>> {
        paths.iter().map(|path| self.read(path)).collect()
    }

    /// Opens a file for reading piece by piece.
    ///
    /// # Errors
    /// The system's.
    fn open(&self, path: &Path) -> io::Result<Input> {
        Input::file(safely::open(path)?)
    }
}

/// A file that is being written.
pub trait OutputFile: Write + Debug + Send {
    /// Makes its contents durable.
    ///
    /// # Errors
    /// The system's.
    fn sync(&mut self) -> io::Result<()>;
}
