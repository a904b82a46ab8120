//! Where files are: in a folder, or in an object store.
//!
//! The state after a crash depends on the order of creating, writing, syncing and renaming. All of these go
//! through [`Storage`]. So tests can fail or stop at any single operation and inspect the result, and a dataset
//! can be in a storage that has no folders, no renaming and no locks. A [`Location`] is a place in a storage.
//!
//! | file | question it answers |
//! | --- | --- |
//! | `location` | What does a path or a URL name? |
//! | `file_system` | How does a file system do it? |
//! | `input` | How is a file read that is not on this machine? |
//! | `objects` | How does an object store do it? Only with the feature `object-store` |

mod file_system;
#[cfg_attr(not(feature = "object-store"), allow(dead_code, reason = "only an object store has files elsewhere"))]
mod input;
mod location;
#[cfg(feature = "object-store")]
mod objects;

use std::fmt::Debug;
use std::io::{self, Write};
use std::path::{Path, PathBuf};
use std::time::SystemTime;

use chunkmill_base::safely;

// Hidden except for `Location`: tests put their own storage under a dataset.
#[doc(hidden)]
pub use file_system::FileSystem;
#[doc(hidden)]
pub use input::Input;
pub use location::Location;
#[cfg(feature = "object-store")]
#[doc(hidden)]
pub use objects::ObjectStorage;

/// Operations on files, by path.
///
/// By default, operations that only read use the file system.
#[doc(hidden)]
pub trait Storage: Debug + Send + Sync {
    /// Creates a file, or empties an existing one. A symbolic link is not followed.
    ///
    /// # Errors
    /// The system's.
    fn create(&self, path: &Path) -> io::Result<Box<dyn Output>>;

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
        file_system::find(path)
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
        file_system::list(folder)
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
#[doc(hidden)]
pub trait Output: Write + Debug + Send {
    /// Makes its contents durable.
    ///
    /// # Errors
    /// The system's.
    fn sync(&mut self) -> io::Result<()>;
}

/// A file or folder that was found.
#[doc(hidden)]
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
    #[must_use]
    pub fn name(&self) -> String {
        self.path.file_name().unwrap_or_default().to_string_lossy().into_owned()
    }
}

/// The version of a file in an object store, or the fact that there is no file. In a file system all versions are
/// equal.
#[doc(hidden)]
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Version(Option<Tag>);

/// The values by which an object store distinguishes versions.
#[derive(Debug, Clone, PartialEq, Eq)]
#[cfg_attr(not(feature = "object-store"), allow(dead_code, reason = "nothing else has versions"))]
struct Tag {
    e_tag: Option<String>,
    version: Option<String>,
}
