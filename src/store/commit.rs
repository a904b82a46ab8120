//! From staged files to a committed snapshot.
//!
//! A run works in a folder of its own inside the dataset's, `.staging`. What of it is finished, part by part, has a
//! receipt there: a run that was killed, or failed, is continued by the next one, which takes over every part whose
//! inputs are still the same. Shards of a plan, which run in processes of their own, each work in a folder below
//! `.shards-PLAN`; whoever commits takes parts over from there in the same way.
//!
//! When all parts are there, the commit goes so:
//!
//! 1. the new manifest, the quarantine list and the card are staged and synced, in this order;
//! 2. data files are renamed into place and their folders synced. Their names end in their hashes,
//!    so none replaces a file of the old snapshot;
//! 3. the manifest is renamed over the old one and the folder synced: **this is the commit**;
//! 4. card and list follow, files that the manifest does not name go, the staging folder last.
//!
//! A crash before step 3 leaves the old snapshot, later ones the new. A staged card without a staged
//! manifest tells the next run to end step 4 first.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use super::disk::Disk;
use super::lock::Lock;
use super::manifest::{self, FileEntry, Part};
use super::rows::QuarantineRow;
use super::workspace::{Receipt, Workspace, is_data_file, receipts};
use super::{Manifest, card};
use crate::error::{Error, Result};

pub(super) const STAGING: &str = ".staging";
pub(super) const SHARDS: &str = ".shards-";
pub(super) const CARD: &str = "README.md";
pub(super) const QUARANTINE: &str = "quarantine.jsonl";

/// A dataset's folder while a snapshot is being made. Nobody else commits to it meanwhile.
#[derive(Debug)]
pub struct Staging {
    root: PathBuf,
    disk: Arc<dyn Disk>,
    workspace: Workspace,
    /// Parts that others finished and did not commit.
    finished: BTreeMap<usize, Part>,
    /// Where else files of finished parts may be.
    adopted: Vec<PathBuf>,
    _lock: Lock,
}

impl Staging {
    /// Opens a folder for writing, and finds what a run that did not end has left there.
    ///
    /// # Errors
    /// [`Error::Setting`] if there is a file of that name; [`Error::Dataset`] if the folder holds
    /// something else than a dataset, or a newer one; [`Error::Locked`] if somebody else writes to it; [`Error::Io`].
    pub fn open(root: &Path, disk: Arc<dyn Disk>) -> Result<Self> {
        make_root(root, &*disk)?;
        let lock = Lock::take(root)?;
        let workspace = Workspace::new(root.join(STAGING), Arc::clone(&disk));
        let (finished, adopted) = (BTreeMap::new(), Vec::new());
        let mut staging = Self { root: root.to_owned(), disk, workspace, finished, adopted, _lock: lock };
        staging.end_commit()?;
        for Receipt { index, part } in receipts(staging.workspace.folder()) {
            if staging.is_whole(&part) {
                staging.finished.insert(index, part);
            }
        }
        Ok(staging)
    }

    /// The dataset's folder.
    #[must_use]
    pub fn root(&self) -> &Path {
        &self.root
    }

    /// Where files of the next snapshot are made.
    #[must_use]
    pub fn workspace(&self) -> &Workspace {
        &self.workspace
    }

    /// Parts that others finished and did not commit, by their number.
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
        let workspace = &self.workspace;
        // First of all: a card without a manifest would say that a run has committed that never did.
        let card = workspace.staged(CARD);
        self.disk.remove_file(&card).map_err(Error::io("remove", &card))?;
        let kept = self.finished.iter().flat_map(|(&index, part)| {
            let files = part.files.iter().map(|file| workspace.staged(&file.path));
            files.chain([workspace.receipt(index)]).collect::<Vec<_>>()
        });
        let kept: BTreeSet<PathBuf> = kept.collect();
        if kept.is_empty() {
            self.disk.remove_dir_all(workspace.folder()).map_err(Error::io("remove", workspace.folder()))?;
        } else {
            for path in files_below(workspace.folder()).into_iter().filter(|path| !kept.contains(path)) {
                self.disk.remove_file(&path).map_err(Error::io("remove", &path))?;
            }
        }
        workspace.make_folders()
    }

    /// Takes over what the shards of a plan finished, as far as it is wanted. Where several attempts finished a part, one
    /// is as good as the other.
    ///
    /// # Errors
    /// [`Error::Dataset`] if two attempts at a part with the same inputs gave different bytes.
    pub fn adopt(&mut self, plan: &str, wants: impl Fn(usize, &Part) -> bool) -> Result<()> {
        for folder in attempts(&self.root, plan) {
            self.adopted.push(folder.clone());
            for Receipt { index, part } in receipts(&folder) {
                // A commit that was killed has renamed some files already.
                if !wants(index, &part) || !self.is_whole(&part) {
                    continue;
                }
                match self.finished.get(&index) {
                    Some(other) if *other != part => {
                        return Err(Error::Dataset {
                            path: folder,
                            problem: format!("another attempt at part {index} gave other bytes for the same documents"),
                            help: "something computes wrongly there: remove this folder and run the shard again"
                                .to_owned(),
                        });
                    }
                    Some(_) => {}
                    None => drop(self.finished.insert(index, part)),
                }
            }
        }
        Ok(())
    }

    /// Whether all files of a part are there, with their sizes.
    #[must_use]
    pub fn is_whole(&self, part: &Part) -> bool {
        part.files.iter().all(|file| has_size(&self.locate(file), file))
    }

    /// Where a file that the next manifest will name is now: staged, in a shard's folder, or in place already.
    #[must_use]
    pub fn locate(&self, file: &FileEntry) -> PathBuf {
        let folders = [self.workspace.folder()].into_iter().chain(self.adopted.iter().map(PathBuf::as_path));
        let staged = folders.map(|folder| folder.join(&file.path)).find(|path| path.exists());
        staged.unwrap_or_else(|| self.root.join(&file.path))
    }

    fn sync(&self, folder: &Path) -> Result<()> {
        self.disk.sync_dir(folder).map_err(Error::io("sync", folder))
    }

    /// Makes the staged files that the manifest names the dataset. The steps are described above.
    ///
    /// The manifest does not name the list and the card, which are for people and have fixed names: for
    /// a moment they are those of the old snapshot beside the new manifest.
    ///
    /// # Errors
    /// [`Error::Io`]; either the old manifest or the new one is then in place, with every file it names.
    pub fn commit(self, manifest: &Manifest, quarantine: &[QuarantineRow]) -> Result<()> {
        self.workspace.put(manifest::FILE, &manifest.to_json())?;
        let lines = quarantine.iter().filter_map(|row| serde_json::to_string(row).ok());
        self.workspace.put(QUARANTINE, &lines.map(|line| line + "\n").collect::<String>())?;
        self.workspace.put(CARD, &card::render(manifest))?;
        self.workspace.sync()?;
        for folder in manifest::FOLDERS {
            let folder = self.root.join(folder);
            self.disk.create_dir_all(&folder).map_err(Error::io("create", &folder))?;
        }
        for file in &manifest.files {
            let (from, path) = (self.locate(file), self.root.join(&file.path));
            // A file of the old snapshot, named by its hash, is this very file, unless it was damaged.
            if from != path {
                self.disk.rename(&from, &path).map_err(Error::io("rename to", &path))?;
            }
        }
        let folders: BTreeSet<&Path> =
            manifest::FOLDERS.iter().flat_map(|folder| Path::new(folder).ancestors()).collect();
        for folder in folders.into_iter().rev() {
            self.sync(&self.root.join(folder))?;
        }
        let path = self.root.join(manifest::FILE);
        self.disk.rename(&self.workspace.staged(manifest::FILE), &path).map_err(Error::io("rename to", &path))?;
        self.sync(&self.root)?;
        self.end_commit()
    }

    /// Ends without a commit: nothing of what is staged is needed.
    ///
    /// # Errors
    /// [`Error::Io`]
    pub fn discard(self) -> Result<()> {
        self.sweep();
        let folder = self.workspace.folder();
        self.disk.remove_dir_all(folder).map_err(Error::io("remove", folder))
    }

    /// What follows the commit; a run that was killed there leaves it to the next one.
    fn end_commit(&self) -> Result<()> {
        if !is_committed(&self.root) {
            return Ok(());
        }
        self.place(QUARANTINE)?;
        self.sweep();
        // The card goes last, because it tells that there is something to do.
        self.place(CARD)?;
        self.sync(&self.root)?;
        let folder = self.workspace.folder();
        self.disk.remove_dir_all(folder).map_err(Error::io("remove", folder))
    }

    /// Gives a staged file its name, if that is not done yet.
    fn place(&self, name: &str) -> Result<()> {
        let (staged, path) = (self.workspace.staged(name), self.root.join(name));
        if staged.exists() {
            self.disk.rename(&staged, &path).map_err(Error::io("rename to", &path))?;
        }
        Ok(())
    }

    /// Removes data files that the manifest does not name. It is housekeeping: one that cannot be
    /// removed is left for the next run.
    fn sweep(&self) {
        let Ok(manifest) = Manifest::read(&self.root) else { return };
        for path in unnamed(&self.root, &manifest.files) {
            if let Err(error) = self.disk.remove_file(&path) {
                tracing::warn!("cannot remove {}: {error}", path.display());
            }
        }
    }
}

/// Whether the end of a commit waits in the staging folder: the card is there, and the manifest is in place. After a crash
/// a file system may know a file that was renamed by both of its names.
pub(super) fn is_committed(root: &Path) -> bool {
    let staged = root.join(STAGING);
    let is_placed = match fs::read(staged.join(manifest::FILE)) {
        Ok(manifest) => fs::read(root.join(manifest::FILE)).is_ok_and(|placed| placed == manifest),
        Err(error) => error.kind() == std::io::ErrorKind::NotFound,
    };
    staged.join(CARD).exists() && is_placed
}

/// A folder for one attempt at a shard of a plan. Nobody else works in it.
///
/// # Errors
/// Those of [`Staging::open`], the lock's aside.
pub fn attempt(root: &Path, plan: &str, disk: Arc<dyn Disk>) -> Result<Workspace> {
    make_root(root, &*disk)?;
    let host = fs::read_to_string("/proc/sys/kernel/hostname").unwrap_or_default();
    let host: String = host.chars().filter(char::is_ascii_alphanumeric).collect();
    let time = std::time::UNIX_EPOCH.elapsed().unwrap_or_default().as_nanos();
    let name = format!("{time:x}-{}-{host}", std::process::id());
    Workspace::locked(root.join(format!("{SHARDS}{plan}")).join(name), disk)
}

/// Every attempt at a shard of any plan, by plan and name.
pub(super) fn all_attempts(root: &Path) -> Vec<PathBuf> {
    let entries = fs::read_dir(root).into_iter().flatten().flatten();
    let names = entries.map(|entry| entry.file_name().to_string_lossy().into_owned());
    let mut plans: Vec<String> = names.filter_map(|name| Some(name.strip_prefix(SHARDS)?.to_owned())).collect();
    plans.sort();
    plans.iter().flat_map(|plan| attempts(root, plan)).collect()
}

/// The parts that attempts at a plan's shards finished.
#[must_use]
pub fn attempted(root: &Path, plan: &str) -> Vec<(usize, Part)> {
    let in_folder = |folder: PathBuf| receipts(&folder).filter(move |receipt| is_whole_in(&folder, &receipt.part));
    let receipts = attempts(root, plan).into_iter().flat_map(in_folder);
    receipts.map(|Receipt { index, part }| (index, part)).collect()
}

/// Removes what attempts at a plan's shards left. It is housekeeping: what cannot be removed is left to `gc`.
pub fn forget_attempts(root: &Path, plan: &str, disk: &dyn Disk) {
    let folder = root.join(format!("{SHARDS}{plan}"));
    if let Err(error) = disk.remove_dir_all(&folder) {
        tracing::warn!("cannot remove {}: {error}", folder.display());
    }
}

/// Removes the folders of plans without an attempt.
pub(super) fn forget_empty_plans(root: &Path, disk: &dyn Disk) -> Result<()> {
    let entries = fs::read_dir(root).into_iter().flatten().flatten();
    let plans = entries.filter(|entry| entry.file_name().to_string_lossy().starts_with(SHARDS));
    for path in plans.map(|entry| entry.path()) {
        if fs::read_dir(&path).is_ok_and(|mut attempts| attempts.next().is_none()) {
            disk.remove_dir_all(&path).map_err(Error::io("remove", path))?;
        }
    }
    Ok(())
}

/// The folders of the attempts at a plan's shards, in order of their names.
fn attempts(root: &Path, plan: &str) -> Vec<PathBuf> {
    let entries = fs::read_dir(root.join(format!("{SHARDS}{plan}"))).into_iter().flatten().flatten();
    let mut folders: Vec<PathBuf> = entries.map(|entry| entry.path()).collect();
    folders.sort();
    folders
}

fn is_whole_in(folder: &Path, part: &Part) -> bool {
    part.files.iter().all(|file| has_size(&folder.join(&file.path), file))
}

fn has_size(path: &Path, file: &FileEntry) -> bool {
    fs::metadata(path).is_ok_and(|found| found.len() == file.bytes)
}

/// Makes the dataset's folder, unless it is there and may be written to.
fn make_root(root: &Path, disk: &dyn Disk) -> Result<()> {
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
    Manifest::refuse_newer(root)?;
    if root.exists() {
        return Ok(());
    }
    disk.create_dir_all(root).map_err(Error::io("create", root))?;
    // The folder above may not be ours to open; then its own entry is as durable as the system makes it.
    let above = root.parent().filter(|above| !above.as_os_str().is_empty()).unwrap_or(Path::new("."));
    let _ = disk.sync_dir(above);
    Ok(())
}

/// Files in the dataset's folders that look like ours and are not these.
pub(super) fn unnamed(root: &Path, files: &[FileEntry]) -> Vec<PathBuf> {
    let named: BTreeSet<PathBuf> = files.iter().map(|file| root.join(&file.path)).collect();
    let entries = manifest::FOLDERS.iter().filter_map(|folder| fs::read_dir(root.join(folder)).ok());
    let paths = entries.flat_map(|entries| entries.flatten().map(|entry| entry.path()));
    let ours = paths.filter(|path| is_data_file(path) && path.is_file());
    let mut found: Vec<PathBuf> = ours.filter(|path| !named.contains(path)).collect();
    found.sort();
    found
}

/// Every file below a folder.
pub(super) fn files_below(folder: &Path) -> Vec<PathBuf> {
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

/// Whether a folder is absent or empty, a dataset, or what a first run left that did not end.
pub(super) fn may_replace(root: &Path) -> bool {
    let Ok(entries) = fs::read_dir(root) else { return true };
    let names: Vec<_> = entries.flatten().map(|entry| entry.file_name()).collect();
    if names.iter().any(|name| name == manifest::FILE) {
        return Manifest::is_at(root);
    }
    // Folders of tables, or some of them, and nothing in them but files of ours.
    let ours = |path: &PathBuf| {
        let in_table = manifest::FOLDERS.iter().any(|folder| path.parent() == Some(&root.join(folder)));
        in_table && is_data_file(path)
    };
    names.iter().all(|name| {
        let at_work = name == STAGING || name.to_string_lossy().starts_with(SHARDS) || Lock::is_name(name);
        let is_top = name == "data" || name == "state";
        at_work || (is_top && files_below(&root.join(name)).iter().all(ours))
    })
}
