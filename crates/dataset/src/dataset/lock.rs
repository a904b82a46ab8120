//! One writer at a time.
//!
//! The lock is the operating system's, on a file in the dataset's folder. It ends with the process that holds it,
//! however that process ends, so a stale lock never has to be broken. The file names the holder, for people. An
//! object store has no locks: there the manifest is replaced only if it is still the one that was there when the
//! run began.

use std::fs::{self, File, TryLockError};
use std::io::{Read, Write};
use std::path::{Path, PathBuf};
use std::time::UNIX_EPOCH;

use chunkmill_base::error::{Error, Result};
use chunkmill_base::safely;

use crate::storage::Location;

const FILE: &str = ".lock";

/// Number of bytes that are read of the holder's description.
const MOST_BYTES: u64 = 1000;

/// The right to write to a dataset, until this value is dropped.
#[derive(Debug)]
pub(super) struct Lock {
    path: PathBuf,
    /// The locked file; closing it releases the lock.
    file: File,
}

impl Lock {
    /// Takes the lock of the dataset in an existing folder. Returns `None` in an object store.
    ///
    /// # Errors
    /// [`Error::Locked`] if another process has it; [`Error::Io`].
    pub(super) fn take(root: &Location) -> Result<Option<Self>> {
        if root.is_in_object_store() {
            return Ok(None);
        }
        let path = root.join(FILE);
        loop {
            let mut file = safely::open_to_lock(&path).map_err(Error::io("create", &path))?;
            match file.try_lock() {
                Ok(()) => {}
                Err(TryLockError::WouldBlock) => {
                    let mut holder = String::new();
                    let _ = (&mut file).take(MOST_BYTES).read_to_string(&mut holder);
                    let holder = holder.trim().to_owned();
                    let holder = if holder.is_empty() { "another process".to_owned() } else { holder };
                    return Err(Error::Locked { path: root.path().to_owned(), holder });
                }
                Err(TryLockError::Error(error)) => return Err(Error::io("lock", &path)(error)),
            }
            // The previous holder may have removed the file between our opening and locking it.
            if is_at(&file, &path) {
                let mut lock = Self { path, file };
                lock.sign();
                return Ok(Some(lock));
            }
        }
    }

    /// Writes the holder into the file. Nothing depends on it, so failures are ignored.
    fn sign(&mut self) {
        let host = fs::read_to_string("/proc/sys/kernel/hostname").unwrap_or_default();
        let on = if host.trim().is_empty() { String::new() } else { format!(" on {}", host.trim()) };
        let seconds = UNIX_EPOCH.elapsed().ok().and_then(|elapsed| i64::try_from(elapsed.as_secs()).ok());
        let since = seconds.and_then(|seconds| chrono::DateTime::from_timestamp(seconds, 0));
        let since = since.map(|time| format!(" since {}", time.to_rfc3339())).unwrap_or_default();
        let _ = self.file.set_len(0);
        let _ = writeln!(self.file, "process {}{on}{since}", std::process::id());
    }

    /// Returns whether the lock of a folder is held.
    pub(super) fn is_held(folder: &Path) -> bool {
        let file = safely::open(&folder.join(FILE));
        file.is_ok_and(|file| matches!(file.try_lock_shared(), Err(TryLockError::WouldBlock)))
    }

    /// Returns whether a file of this name is the lock, not part of the dataset.
    pub(super) fn is_name(name: &str) -> bool {
        name == FILE
    }
}

impl Drop for Lock {
    fn drop(&mut self) {
        // Remove the file while it is still locked: nobody can have locked this very file in between.
        let _ = fs::remove_file(&self.path);
    }
}

#[cfg(unix)]
fn is_at(file: &File, path: &Path) -> bool {
    use std::os::unix::fs::MetadataExt;
    let same = |a: fs::Metadata, b: fs::Metadata| a.dev() == b.dev() && a.ino() == b.ino();
    file.metadata().ok().zip(fs::symlink_metadata(path).ok()).is_some_and(|(a, b)| same(a, b))
}

/// Outside Unix an open file cannot be removed.
#[cfg(not(unix))]
fn is_at(_: &File, _: &Path) -> bool {
    true
}
