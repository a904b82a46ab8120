//! What a service answered to a first request: how long its vectors are, and how it names its model. It is kept in a small
//! file, because asking again would cost again.

use std::path::{Path, PathBuf};

use chunkmill_base::safely;
use serde::{Deserialize, Serialize};

/// What is known of a model at a service.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct Facts {
    /// Number of values of a vector.
    pub(super) dim: usize,
    /// The model, as its answers name it.
    pub(super) model: Option<String>,
}

/// The file of a model's facts. Without a folder, nothing is kept.
#[derive(Debug, Clone)]
pub(super) struct FactsFile(Option<PathBuf>);

impl FactsFile {
    /// Returns the file for what identifies a model at a service.
    pub(super) fn new(folder: Option<&Path>, identity: &str) -> Self {
        let name = format!("service-{}.json", &blake3::hash(identity.as_bytes()).to_hex()[..16]);
        Self(folder.map(|folder| folder.join(name)))
    }

    pub(super) fn read(&self) -> Option<Facts> {
        serde_json::from_slice(&std::fs::read(self.0.as_ref()?).ok()?).ok()
    }

    /// Keeps the facts. Without them, the next run asks again, which is no failure.
    pub(super) fn write(&self, facts: &Facts) {
        let Some(path) = &self.0 else { return };
        let write = || -> std::io::Result<()> {
            let folder = path.parent().unwrap_or(Path::new("."));
            safely::create_private_dir(folder)?;
            let mut file = tempfile::NamedTempFile::new_in(folder)?;
            serde_json::to_writer(&mut file, facts)?;
            file.persist(path).map_err(|error| error.error)?;
            Ok(())
        };
        if let Err(error) = write() {
            tracing::debug!("cannot write {}: {error}", path.display());
        }
    }

    /// Forgets the facts: the service has another model now.
    pub(super) fn forget(&self) {
        if let Some(path) = &self.0 {
            // There may be no file.
            let _ = std::fs::remove_file(path);
        }
    }
}
