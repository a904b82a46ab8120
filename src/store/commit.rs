//! From staged files to a committed snapshot.
//!
//! A run works in a folder of its own inside the dataset's, `.staging`. What of it is finished, file by
//! file of the tables, has a receipt there: a run that was killed, or failed, is continued by the
//! next one, which takes over every part whose inputs are still the same.
//!
//! When all parts are there, the commit goes so:
//!
//! 1. the new manifest, the card and the quarantine list are staged and synced, in this order;
//! 2. data files are renamed into place and their folders synced. Their names end in their hashes,
//!    so none replaces a file of the old snapshot;
//! 3. the manifest is renamed over the old one and the folder synced: **this is the commit**;
//! 4. card and list follow, files that the manifest does not name go, the staging folder last.
//!
//! A crash before step 3 leaves the old snapshot, later ones the new. A staged card without a staged
//! manifest tells the next run to end step 4 first.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::io::Write;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use serde::{Deserialize, Serialize};

use super::disk::{Disk, Output};
use super::lock::Lock;
use super::manifest::{self, FileEntry, Part};
use super::rows::QuarantineRow;
use super::{Manifest, card};
use crate::error::{Error, Result};

const STAGING: &str = ".staging";
const CARD: &str = "README.md";
const QUARANTINE: &str = "quarantine.jsonl";

/// A dataset's folder while a snapshot is being made. Nobody else writes to it meanwhile.
#[derive(Debug)]
pub struct Staging {
    root: PathBuf,
    disk: Arc<dyn Disk>,
    /// Parts that a run before finished and did not commit.
    finished: BTreeMap<usize, Part>,
    /// Names of files that are being written.
    next: AtomicU64,
    _lock: Lock,
}

/// A finished part: what the manifest will say of it.
#[derive(Serialize, Deserialize)]
struct Receipt {
    index: usize,
    #[serde(flatten)]
    part: Part,
}

impl Staging {
    /// Opens a folder for writing, and finds what a run that did not end has left there.
    ///
    /// # Errors
    /// [`Error::Setting`] if there is a file of that name; [`Error::Dataset`] if the folder holds
    /// something else than a dataset; [`Error::Locked`] if somebody else writes to it; [`Error::Io`].
    pub fn open(root: &Path, disk: Arc<dyn Disk>) -> Result<Self> {
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
        let is_new = !root.exists();
        disk.create_dir_all(root).map_err(Error::io("create", root))?;
        if is_new {
            // The folder above may not be ours to open; then its own entry is as durable as the system makes it.
            let above = root.parent().filter(|above| !above.as_os_str().is_empty()).unwrap_or(Path::new("."));
            let _ = disk.sync_dir(above);
        }
        let lock = Lock::take(root)?;
        let mut staging =
            Self { root: root.to_owned(), disk, finished: BTreeMap::new(), next: AtomicU64::new(0), _lock: lock };
        staging.end_commit()?;
        staging.finished = staging.receipts();
        Ok(staging)
    }

    /// The dataset's folder.
    #[must_use]
    pub fn root(&self) -> &Path {
        &self.root
    }

    /// Parts that a run before finished and did not commit, by their number.
    #[must_use]
    pub fn finished(&self) -> &BTreeMap<usize, Part> {
        &self.finished
    }

    /// Forgets the finished parts except these, and removes all else that is staged.
    ///
    /// # Errors
    /// [`Error::Io`]
    pub fn keep(&mut self, keep: impl Fn(usize, &Part) -> bool) -> Result<()> {
        self.finished.retain(|&index, part| keep(index, part));
        // First of all: a card without a manifest would say that a run has committed that never did.
        let card = self.staged(CARD);
        self.disk.remove_file(&card).map_err(Error::io("remove", &card))?;
        let kept = self.finished.iter().flat_map(|(&index, part)| {
            let files = part.files.iter().map(|file| self.staged(&file.path));
            files.chain([self.receipt(index)]).collect::<Vec<_>>()
        });
        let kept: BTreeSet<PathBuf> = kept.collect();
        if kept.is_empty() {
            self.disk.remove_dir_all(&self.folder()).map_err(Error::io("remove", self.folder()))?;
        } else {
            for path in files_below(&self.folder()).into_iter().filter(|path| !kept.contains(path)) {
                self.disk.remove_file(&path).map_err(Error::io("remove", &path))?;
            }
        }
        for folder in self.folders() {
            self.disk.create_dir_all(&folder).map_err(Error::io("create", &folder))?;
        }
        Ok(())
    }

    fn folder(&self) -> PathBuf {
        self.root.join(STAGING)
    }

    /// Where a file of the dataset is staged.
    pub(super) fn staged(&self, path: &str) -> PathBuf {
        self.folder().join(path)
    }

    fn receipt(&self, index: usize) -> PathBuf {
        self.folder().join(format!("part-{index:05}.json"))
    }

    /// Every folder that files are staged in.
    fn folders(&self) -> Vec<PathBuf> {
        manifest::FOLDERS.iter().map(|folder| self.staged(folder)).chain([self.folder()]).collect()
    }

    /// A file to write; it has no name until it is finished.
    pub(super) fn create(&self) -> Result<StagedFile<'_>> {
        let (path, file) = self.scratch(&format!("unfinished-{}", self.next.fetch_add(1, Ordering::Relaxed)))?;
        Ok(StagedFile { staging: self, path, file })
    }

    /// A file that is read back before the run ends and is no part of the dataset.
    pub(super) fn scratch(&self, name: &str) -> Result<(PathBuf, Box<dyn Output>)> {
        let path = self.staged(name);
        let file = self.disk.create(&path).map_err(Error::io("create", &path))?;
        Ok((path, file))
    }

    /// Where a file that the next manifest will name is now: staged, or in place already.
    #[must_use]
    pub fn locate(&self, file: &FileEntry) -> PathBuf {
        let staged = self.staged(&file.path);
        if staged.exists() { staged } else { self.root.join(&file.path) }
    }

    fn put(&self, name: &str, text: &str) -> Result<()> {
        let mut staged = self.create()?;
        staged.file.write_all(text.as_bytes()).map_err(Error::io("write", self.root.join(name)))?;
        staged.finish(name)
    }

    fn sync(&self, folder: &Path) -> Result<()> {
        self.disk.sync_dir(folder).map_err(Error::io("sync", folder))
    }

    /// Records that a part's files are all finished, so that a later run need not make them again.
    ///
    /// Nothing is synced: a receipt that is lost or torn, or whose files are, costs the work and no more.
    ///
    /// # Errors
    /// [`Error::Io`]
    pub fn finish_part(&self, index: usize, part: &Part) -> Result<()> {
        let text = serde_json::to_string(&Receipt { index, part: part.clone() }).unwrap_or_default();
        let mut staged = self.create()?;
        staged.file.write_all(text.as_bytes()).map_err(Error::io("write", &staged.path))?;
        let receipt = self.receipt(index);
        self.disk.rename(&staged.path, &receipt).map_err(Error::io("rename to", receipt))
    }

    /// The receipts that are there, with whole files.
    fn receipts(&self) -> BTreeMap<usize, Part> {
        let mut found = BTreeMap::new();
        for entry in fs::read_dir(self.folder()).into_iter().flatten().flatten() {
            let name = entry.file_name();
            if !name.to_string_lossy().starts_with("part-") {
                continue;
            }
            let read = fs::read(entry.path()).ok().and_then(|bytes| serde_json::from_slice::<Receipt>(&bytes).ok());
            // A run that was killed while it committed has renamed some already.
            let places = |file: &FileEntry| [self.staged(&file.path), self.root.join(&file.path)];
            let is_whole = |path: &PathBuf, file: &FileEntry| fs::metadata(path).is_ok_and(|m| m.len() == file.bytes);
            let whole = |file: &FileEntry| places(file).iter().any(|path| is_whole(path, file));
            if let Some(Receipt { index, part }) = read.filter(|receipt| receipt.part.files.iter().all(whole)) {
                found.insert(index, part);
            }
        }
        found
    }

    /// Makes the staged files that the manifest names the dataset. The steps are described above.
    ///
    /// The manifest does not name the list and the card, which are for people and have fixed names: for
    /// a moment they are those of the old snapshot beside the new manifest.
    ///
    /// # Errors
    /// [`Error::Io`]; either the old manifest or the new one is then in place, with every file it names.
    pub fn commit(self, manifest: &Manifest, quarantine: &[QuarantineRow]) -> Result<()> {
        self.put(manifest::FILE, &manifest.to_json())?;
        let lines = quarantine.iter().filter_map(|row| serde_json::to_string(row).ok());
        self.put(QUARANTINE, &lines.map(|line| line + "\n").collect::<String>())?;
        self.put(CARD, &card::render(manifest))?;
        for folder in self.folders() {
            self.sync(&folder)?;
        }
        for folder in manifest::FOLDERS {
            let folder = self.root.join(folder);
            self.disk.create_dir_all(&folder).map_err(Error::io("create", &folder))?;
        }
        for file in &manifest.files {
            let (staged, path) = (self.staged(&file.path), self.root.join(&file.path));
            // A file of the old snapshot, named by its hash, is this very file.
            if staged.exists() && !path.exists() {
                self.disk.rename(&staged, &path).map_err(Error::io("rename to", &path))?;
            }
        }
        for folder in manifest::FOLDERS.iter().map(|folder| self.root.join(folder)) {
            self.sync(&folder)?;
            self.sync(folder.parent().unwrap_or(&self.root))?;
        }
        self.sync(&self.root)?;
        let path = self.root.join(manifest::FILE);
        self.disk.rename(&self.staged(manifest::FILE), &path).map_err(Error::io("rename to", &path))?;
        self.sync(&self.root)?;
        self.end_commit()
    }

    /// What follows the commit; a run that was killed there leaves it to the next one.
    fn end_commit(&self) -> Result<()> {
        if !self.staged(CARD).exists() || self.staged(manifest::FILE).exists() {
            return Ok(());
        }
        self.place(QUARANTINE)?;
        self.sweep();
        // The card goes last, because it tells that there is something to do.
        self.place(CARD)?;
        self.sync(&self.root)?;
        self.disk.remove_dir_all(&self.folder()).map_err(Error::io("remove", self.folder()))
    }

    /// Gives a staged file its name, if that is not done yet.
    fn place(&self, name: &str) -> Result<()> {
        let (staged, path) = (self.staged(name), self.root.join(name));
        if staged.exists() {
            self.disk.rename(&staged, &path).map_err(Error::io("rename to", &path))?;
        }
        Ok(())
    }

    /// Removes data files that the manifest does not name. It is housekeeping: one that cannot be
    /// removed is left for the next run.
    fn sweep(&self) {
        let Ok(manifest) = Manifest::read(&self.root) else { return };
        for path in unnamed(&self.root, &manifest) {
            if let Err(error) = self.disk.remove_file(&path) {
                tracing::warn!("cannot remove {}: {error}", path.display());
            }
        }
    }
}

/// Files in the dataset's folders that look like ours and that the manifest does not name.
fn unnamed(root: &Path, manifest: &Manifest) -> Vec<PathBuf> {
    let named: BTreeSet<PathBuf> = manifest.files.iter().map(|file| root.join(&file.path)).collect();
    let entries = manifest::FOLDERS.iter().filter_map(|folder| fs::read_dir(root.join(folder)).ok());
    let paths = entries.flat_map(|entries| entries.flatten().map(|entry| entry.path()));
    let ours = |path: &PathBuf| {
        path.file_name().is_some_and(|name| name.to_string_lossy().starts_with("train-")) && path.is_file()
    };
    let mut found: Vec<PathBuf> = paths.filter(|path| ours(path) && !named.contains(path)).collect();
    found.sort();
    found
}

/// Every file below a folder.
fn files_below(folder: &Path) -> Vec<PathBuf> {
    let mut found = Vec::new();
    let mut folders = vec![folder.to_owned()];
    while let Some(folder) = folders.pop() {
        for entry in fs::read_dir(folder).into_iter().flatten().flatten() {
            let is_folder = entry.file_type().is_ok_and(|kind| kind.is_dir());
            if is_folder { &mut folders } else { &mut found }.push(entry.path());
        }
    }
    found
}

/// A file under its staging name.
pub(super) struct StagedFile<'a> {
    staging: &'a Staging,
    path: PathBuf,
    file: Box<dyn Output>,
}

impl StagedFile<'_> {
    pub(super) fn file_mut(&mut self) -> &mut dyn Output {
        &mut *self.file
    }

    /// Where it is being written.
    pub(super) fn path(&self) -> &Path {
        &self.path
    }

    /// Syncs the file and stages it under this name below the dataset's folder.
    pub(super) fn finish(mut self, name: &str) -> Result<()> {
        self.file.sync().map_err(Error::io("sync", &self.path))?;
        let staged = self.staging.staged(name);
        self.staging.disk.rename(&self.path, &staged).map_err(Error::io("rename to", staged))
    }
}

/// Whether a folder is absent or empty, a dataset, or what a first run left that did not end.
fn may_replace(root: &Path) -> bool {
    let Ok(entries) = fs::read_dir(root) else { return true };
    let names: Vec<_> = entries.flatten().map(|entry| entry.file_name()).collect();
    if names.iter().any(|name| name == manifest::FILE) {
        return Manifest::is_at(root);
    }
    // Folders of tables, or some of them, and nothing in them but files of ours.
    let ours = |path: &PathBuf| {
        let in_table = manifest::FOLDERS.iter().any(|folder| path.parent() == Some(&root.join(folder)));
        in_table && path.file_name().is_some_and(|name| name.to_string_lossy().starts_with("train-"))
    };
    names.iter().all(|name| {
        let is_top = name == "data" || name == "state";
        name == STAGING || Lock::is_name(name) || (is_top && files_below(&root.join(name)).iter().all(ours))
    })
}
