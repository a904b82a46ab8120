//! From staged files to a committed snapshot.
//!
//! Every file is written under a staging name and synced. When all are there, they are renamed into
//! place and their folders synced; the manifest comes last, by one rename. There are two outcomes:
//! the old snapshot, or the new one. A run that fails removes its staged files; what a crash leaves
//! behind is never named by a manifest, and the next run removes it.

use std::collections::BTreeSet;
use std::fs::{self, File};
use std::io::Write;
use std::path::{Path, PathBuf};
use std::sync::{Mutex, MutexGuard, PoisonError};

use super::rows::QuarantineRow;
use super::schema::Table;
use super::{Manifest, card, manifest};
use crate::error::{Error, Result};

const STAGING: &str = ".staging";

/// A dataset's folder while a snapshot is being written. Dropped without [`commit`](Self::commit),
/// it leaves the old snapshot as it was.
#[derive(Debug)]
pub struct Staging {
    root: PathBuf,
    /// Finished files: where they are staged, and the names below the root that they are to get.
    finished: Mutex<Vec<(PathBuf, String)>>,
}

impl Staging {
    /// Opens a folder for writing, and clears what a run that did not end has left there.
    ///
    /// # Errors
    /// [`Error::Setting`] if there is a file of that name; [`Error::Dataset`] if the folder holds
    /// something else than a dataset; [`Error::Io`].
    pub fn open(root: &Path) -> Result<Self> {
        if root.exists() && !root.is_dir() {
            return Err(Error::Setting {
                origin: "output".to_owned(),
                problem: format!("{} is a file", root.display()),
                help: "name an empty or new folder with -o".to_owned(),
            });
        }
        if !may_replace(root) {
            return Err(Error::Dataset {
                path: root.to_owned(),
                problem: "is not empty and not a dataset".to_owned(),
                help: "name an empty or new folder with -o".to_owned(),
            });
        }
        let staging = Self { root: root.to_owned(), finished: Mutex::new(Vec::new()) };
        staging.clear()?;
        let tables = Table::ALL.map(|table| root.join("data").join(table.name()));
        for folder in [staging.folder()].into_iter().chain(tables) {
            fs::create_dir_all(&folder).map_err(Error::io("create", folder))?;
        }
        let above = root.parent().filter(|parent| !parent.as_os_str().is_empty()).unwrap_or(Path::new("."));
        for folder in [&root.join("data"), root] {
            sync_folder(folder).map_err(Error::io("sync", folder))?;
        }
        // The folder above may not be ours to open; then its own entry is as durable as the system makes it.
        let _ = sync_folder(above);
        Ok(staging)
    }

    /// The dataset's folder.
    #[must_use]
    pub fn root(&self) -> &Path {
        &self.root
    }

    pub(super) fn folder(&self) -> PathBuf {
        self.root.join(STAGING)
    }

    fn clear(&self) -> Result<()> {
        match fs::remove_dir_all(self.folder()) {
            Err(error) if error.kind() != std::io::ErrorKind::NotFound => {
                Err(Error::io("remove", self.folder())(error))
            }
            _ => Ok(()),
        }
    }

    /// A file to write, under a staging name.
    pub(super) fn create(&self, name: &str) -> Result<StagedFile<'_>> {
        let path = self.folder().join(name);
        let file = File::create(&path).map_err(Error::io("create", &path))?;
        Ok(StagedFile { staging: self, path, file })
    }

    fn put(&self, name: &str, text: &str) -> Result<()> {
        let mut staged = self.create(name)?;
        staged.file_mut().write_all(text.as_bytes()).map_err(Error::io("write", self.root.join(name)))?;
        staged.finish(name)
    }

    /// Gives every finished file its name, and syncs the folders they are in.
    fn publish(&self) -> Result<()> {
        let finished = std::mem::take(&mut *self.lock());
        let mut folders = BTreeSet::new();
        for (staged, name) in finished {
            let path = self.root.join(name);
            fs::rename(&staged, &path).map_err(Error::io("rename to", &path))?;
            folders.insert(path.parent().unwrap_or(&self.root).to_owned());
        }
        folders.iter().try_for_each(|folder| sync_folder(folder).map_err(Error::io("sync", folder)))
    }

    fn lock(&self) -> MutexGuard<'_, Vec<(PathBuf, String)>> {
        self.finished.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Makes the finished files the dataset: data, quarantine list and card, then the manifest,
    /// which is the commit; afterwards removes files that no manifest names any more.
    ///
    /// The manifest does not name the list and the card, which are for people and have fixed names:
    /// a crash just before the last rename leaves these two one run ahead of the snapshot.
    ///
    /// # Errors
    /// [`Error::Io`]; the manifest and every file it names are then still in place.
    pub fn commit(self, manifest: &Manifest, quarantine: &[QuarantineRow]) -> Result<()> {
        let lines = quarantine.iter().filter_map(|row| serde_json::to_string(row).ok());
        self.put("quarantine.jsonl", &lines.map(|line| line + "\n").collect::<String>())?;
        self.put("README.md", &card::render(manifest))?;
        self.publish()?;
        self.put(manifest::FILE, &manifest.to_json())?;
        self.publish()?;
        self.sweep(manifest);
        Ok(())
    }

    /// Removes data files that the manifest does not name. It is housekeeping: one that cannot be
    /// removed is left for the next run.
    fn sweep(&self, manifest: &Manifest) {
        let named: BTreeSet<PathBuf> = manifest.files.iter().map(|file| self.root.join(&file.path)).collect();
        for table in Table::ALL {
            let Ok(entries) = fs::read_dir(self.root.join("data").join(table.name())) else { continue };
            for path in entries.flatten().map(|entry| entry.path()) {
                let ours = path.file_name().and_then(|name| name.to_str()).is_some_and(|name| {
                    name.starts_with("train-") && Path::new(name).extension().is_some_and(|e| e == "parquet")
                });
                if ours
                    && !named.contains(&path)
                    && let Err(error) = fs::remove_file(&path)
                {
                    tracing::warn!("cannot remove {}: {error}", path.display());
                }
            }
        }
    }
}

impl Drop for Staging {
    fn drop(&mut self) {
        if let Err(error) = self.clear() {
            tracing::warn!("{error}");
        }
    }
}

/// A file under its staging name.
pub(super) struct StagedFile<'a> {
    staging: &'a Staging,
    path: PathBuf,
    file: File,
}

impl StagedFile<'_> {
    pub(super) fn file_mut(&mut self) -> &mut File {
        &mut self.file
    }

    /// Syncs the file; the commit will give it this name below the dataset's folder.
    pub(super) fn finish(self, name: &str) -> Result<()> {
        self.file.sync_all().map_err(Error::io("sync", &self.path))?;
        self.staging.lock().push((self.path, name.to_owned()));
        Ok(())
    }
}

/// Whether a folder is absent or empty, a dataset, or what a first run left that did not end.
fn may_replace(root: &Path) -> bool {
    let Ok(entries) = fs::read_dir(root) else { return true };
    let names: Vec<_> = entries.flatten().map(|entry| entry.file_name()).collect();
    if names.iter().any(|name| name == manifest::FILE) {
        return Manifest::is_at(root);
    }
    let published = root.join("data").join(Table::Chunks.name()).exists();
    names.iter().all(|name| {
        name == STAGING || (published && ["data", "README.md", "quarantine.jsonl"].iter().any(|ours| name == ours))
    })
}

/// Makes a rename durable. Only Unix knows how to sync a folder, and only there is it needed.
fn sync_folder(folder: &Path) -> std::io::Result<()> {
    if cfg!(unix) { File::open(folder)?.sync_all() } else { Ok(()) }
}
