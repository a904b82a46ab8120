//! A place in a storage, in the form that people write.

use std::fmt;
use std::io;
use std::path::{Path, PathBuf};
use std::str::FromStr;
use std::sync::Arc;

use chunkmill_base::error::{Error, Result};
use chunkmill_base::value::nearest;

use super::entry::Version;
use super::file_system::FileSystem;
use super::files::Storage;

/// The place of a dataset or a corpus. It is written as a path, or as `s3://BUCKET/PREFIX`, `gs://BUCKET/PREFIX`,
/// `az://CONTAINER/PREFIX` or `file:///PATH`.
#[derive(Debug, Clone)]
pub struct Location {
    path: PathBuf,
    storage: Arc<dyn Storage>,
}

impl Location {
    /// Creates a location in a storage, from a path in the form that the storage uses.
    pub fn new(path: impl Into<PathBuf>, storage: Arc<dyn Storage>) -> Self {
        Self { path: path.into(), storage }
    }

    /// Returns another place in the same storage.
    #[must_use]
    pub fn at(&self, path: impl Into<PathBuf>) -> Self {
        Self { path: path.into(), storage: Arc::clone(&self.storage) }
    }

    /// Returns the path or the URL.
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// Returns the storage that contains the place.
    pub fn storage(&self) -> &dyn Storage {
        &*self.storage
    }

    /// Returns the path of something below this location.
    pub fn join(&self, below: impl AsRef<Path>) -> PathBuf {
        self.path.join(below)
    }

    /// Returns the location of something below this one.
    #[must_use]
    pub fn below(&self, below: impl AsRef<Path>) -> Self {
        self.at(self.join(below))
    }

    /// Reads a file below this location.
    ///
    /// # Errors
    /// The system's.
    pub fn read(&self, below: &str) -> io::Result<Vec<u8>> {
        self.storage.read(&self.join(below))
    }

    /// Returns whether there is a file or folder of this name below this location.
    ///
    /// # Errors
    /// [`Error::Io`]
    pub fn has(&self, below: &str) -> Result<bool> {
        let path = self.join(below);
        let found = self.storage.find(&path).map_err(Error::io("look for", path))?;
        Ok(found.is_some())
    }

    /// Returns the version of a file below this location.
    ///
    /// # Errors
    /// [`Error::Io`]
    pub fn version(&self, below: &str) -> Result<Version> {
        let path = self.join(below);
        self.storage.version(&path).map_err(Error::io("look for", path))
    }

    /// Returns the neighbour that was most likely meant, if nothing on this machine has this name.
    pub(crate) fn meant(&self) -> Option<Self> {
        if self.is_in_object_store() || self.path.exists() {
            return None;
        }
        let parent = self.path.parent().filter(|parent| !parent.as_os_str().is_empty());
        let beside = std::fs::read_dir(parent.unwrap_or(Path::new("."))).ok()?;
        let mut names: Vec<String> = beside.filter_map(|entry| entry.ok()?.file_name().into_string().ok()).collect();
        names.sort();
        let name = nearest(self.path.file_name()?.to_str()?, names.iter().map(String::as_str))?;
        Some(self.at(parent.map_or_else(|| name.into(), |parent| parent.join(name))))
    }

    /// Returns whether the place is in an object store.
    pub fn is_in_object_store(&self) -> bool {
        self.storage.is_object_store()
    }
}

impl fmt::Display for Location {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.path.display().fmt(f)
    }
}

/// Compares what was written: one place may be written in several ways.
impl PartialEq for Location {
    fn eq(&self, other: &Self) -> bool {
        self.path == other.path
    }
}

impl Eq for Location {}

impl FromStr for Location {
    type Err = Error;

    fn from_str(s: &str) -> Result<Self> {
        if s.is_empty() {
            // It would be the working folder, which nobody names this way: a variable was not set.
            return Err(Error::setting("path", "is empty", "name a file or folder; `.` is this one"));
        }
        let Some((scheme, rest)) = s.split_once("://") else { return Ok(Path::new(s).into()) };
        if scheme == "file" {
            let path = url::Url::parse(s).ok().and_then(|url| url.to_file_path().ok());
            return path.map(Self::from).ok_or_else(|| {
                Error::setting(s, "is not the URL of a file or folder", "write file:///PATH, or the path alone")
            });
        }
        let storage = object_store(scheme, rest.split('/').next().unwrap_or_default())?;
        // No slash at the end and no double slashes, which makes equal places look alike.
        let names: Vec<&str> = rest.split('/').filter(|name| !name.is_empty()).collect();
        Ok(Self::new(format!("{scheme}://{}", names.join("/")), storage))
    }
}

#[cfg(feature = "object-store")]
use super::objects::services::storage as object_store;

#[cfg(not(feature = "object-store"))]
fn object_store(scheme: &str, _bucket: &str) -> Result<Arc<dyn Storage>> {
    Err(Error::without("object-store", &format!("{scheme}://")))
}

/// A local folder or file.
impl From<&Path> for Location {
    fn from(path: &Path) -> Self {
        Self::new(path, Arc::new(FileSystem))
    }
}

impl From<PathBuf> for Location {
    fn from(path: PathBuf) -> Self {
        Self::new(path, Arc::new(FileSystem))
    }
}

impl From<&PathBuf> for Location {
    fn from(path: &PathBuf) -> Self {
        path.as_path().into()
    }
}

impl From<&Self> for Location {
    fn from(location: &Self) -> Self {
        location.clone()
    }
}
