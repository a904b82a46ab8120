//! Where files are: in a folder, or in an object store.
//!
//! What a crash leaves behind depends on the order of creating, writing, syncing and renaming. All of
//! it goes through [`Storage`], so that tests can fail or stop at any single operation and look, and so that a
//! dataset may be where there are no folders, no renaming and no locks. A [`Location`] is a place in a storage.
//!
//! | file | question it answers |
//! | --- | --- |
//! | `location` | What does a path or a URL name? |
//! | `file_system` | How does a file system do it? |
//! | `input` | How is a file read that is somewhere else? |
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

// Hidden, but for `Location`: the tests put storages of their own below a dataset.
#[doc(hidden)]
pub use file_system::FileSystem;
#[doc(hidden)]
pub use input::Input;
pub use location::Location;
#[cfg(feature = "object-store")]
#[doc(hidden)]
pub use objects::ObjectStorage;

/// What can be done with files, by their paths.
///
/// What only reads is, unless an implementation says otherwise, done by the file system.
#[doc(hidden)]
pub trait Storage: Debug + Send + Sync {
    /// Creates a file, or empties one.
    ///
    /// # Errors
    /// The system's.
    fn create(&self, path: &Path) -> io::Result<Box<dyn Output>>;

    /// Creates a folder and those above it; fine if it exists.
    ///
    /// # Errors
    /// The system's.
    fn create_dir_all(&self, path: &Path) -> io::Result<()>;

    /// Gives a file another name, over a file that has it, in one step.
    ///
    /// # Errors
    /// The system's.
    fn rename(&self, from: &Path, to: &Path) -> io::Result<()>;

    /// The same, unless the file that has the name is no longer of this version.
    ///
    /// # Errors
    /// The system's; of kind [`io::ErrorKind::AlreadyExists`] if it is of another version.
    fn replace(&self, from: &Path, to: &Path, _version: &Version) -> io::Result<()> {
        self.rename(from, to)
    }

    /// Removes a file; fine if there is none.
    ///
    /// # Errors
    /// The system's.
    fn remove_file(&self, path: &Path) -> io::Result<()>;

    /// Removes a folder with all that is in it; fine if there is none.
    ///
    /// # Errors
    /// The system's.
    fn remove_dir_all(&self, path: &Path) -> io::Result<()>;

    /// Makes the names in a folder durable: files created in it, renamed into it or removed from it.
    ///
    /// # Errors
    /// The system's.
    fn sync_dir(&self, path: &Path) -> io::Result<()>;

    /// Whether this is an object store: a file is there from the moment it is whole, a name is given by sending all
    /// bytes again, and nobody can be kept from writing or be known to read.
    fn is_object_store(&self) -> bool {
        false
    }

    /// What is named so, if there is anything.
    ///
    /// # Errors
    /// The system's.
    fn find(&self, path: &Path) -> io::Result<Option<Entry>> {
        file_system::find(path)
    }

    /// Tells the file of this name from what may take its place; nothing where writers are kept apart by a lock.
    ///
    /// # Errors
    /// The system's.
    fn version(&self, _path: &Path) -> io::Result<Version> {
        Ok(Version::default())
    }

    /// What is in a folder, in order of names; nothing if it is not there.
    ///
    /// # Errors
    /// The system's.
    fn list(&self, folder: &Path) -> io::Result<Vec<Entry>> {
        file_system::list(folder)
    }

    /// Every file below a folder, in order of paths.
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

    /// A file's bytes.
    ///
    /// # Errors
    /// The system's.
    fn read(&self, path: &Path) -> io::Result<Vec<u8>> {
        std::fs::read(path)
    }

    /// The bytes of several files, in the same order; at once where each of them takes time to come.
    fn read_all(&self, paths: &[PathBuf]) -> Vec<io::Result<Vec<u8>>> {
        paths.iter().map(|path| self.read(path)).collect()
    }

    /// Opens a file to read it piece by piece.
    ///
    /// # Errors
    /// The system's.
    fn open(&self, path: &Path) -> io::Result<Input> {
        Input::file(std::fs::File::open(path)?)
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
    /// Its path.
    pub path: PathBuf,
    /// Whether it is a folder.
    pub is_folder: bool,
    /// Size in bytes; of a folder it means nothing.
    pub bytes: u64,
    /// When its contents were last changed, if that is known.
    pub modified: Option<SystemTime>,
}

impl Entry {
    /// Its name in its folder.
    #[must_use]
    pub fn name(&self) -> String {
        self.path.file_name().unwrap_or_default().to_string_lossy().into_owned()
    }
}

/// A version of a file in an object store, or that there is none. In a file system all versions are alike.
#[doc(hidden)]
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Version(Option<Tag>);

/// How an object store tells a version from others.
#[derive(Debug, Clone, PartialEq, Eq)]
#[cfg_attr(not(feature = "object-store"), allow(dead_code, reason = "nothing else has versions"))]
struct Tag {
    e_tag: Option<String>,
    version: Option<String>,
}
