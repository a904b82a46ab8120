//! Small files next to the cache of vectors, for what must not be asked or paid for twice: what a service answered to a first
//! request, and which batches are under way.

use std::fs;
use std::io;
use std::path::{Path, PathBuf};

use chunkmill_base::error::{Error, Result};
use chunkmill_base::safely;
use serde::Serialize;
use serde::de::DeserializeOwned;

/// A file that is replaced as a whole.
#[derive(Debug, Clone)]
pub(super) struct KeptFile(PathBuf);

impl KeptFile {
    /// Returns the file in a folder that has this about what `identity` identifies.
    pub(super) fn new(folder: &Path, about: &str, identity: &str) -> Self {
        let hash = blake3::hash(identity.as_bytes()).to_hex();
        Self(folder.join(format!("{about}-{}.json", &hash[..16])))
    }

    /// Returns what is in the file, if it is there.
    ///
    /// # Errors
    /// [`Error::Io`] if it cannot be read, [`Error::Setting`] if it is damaged.
    pub(super) fn read<T: DeserializeOwned>(&self) -> Result<Option<T>> {
        let text = match fs::read(&self.0) {
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(None),
            read => read.map_err(Error::io("read", &self.0))?,
        };
        serde_json::from_slice(&text).map(Some).map_err(|error| {
            let help = "look for open batches at the service, then remove the file";
            Error::setting(self.0.display().to_string(), format!("is damaged: {error}"), help)
        })
    }

    /// Replaces what is in the file. It is on disk when this returns.
    ///
    /// # Errors
    /// [`Error::Io`]
    pub(super) fn write(&self, value: &impl Serialize) -> Result<()> {
        let write = || -> io::Result<()> {
            let folder = self.0.parent().unwrap_or(Path::new("."));
            safely::create_private_dir(folder)?;
            let mut file = tempfile::NamedTempFile::new_in(folder)?;
            serde_json::to_writer(&mut file, value)?;
            file.as_file().sync_all()?;
            file.persist(&self.0).map_err(|error| error.error)?;
            Ok(())
        };
        write().map_err(Error::io("write", &self.0))
    }

    /// Removes the file.
    pub(super) fn forget(&self) {
        // There may be none.
        let _ = fs::remove_file(&self.0);
    }
}
