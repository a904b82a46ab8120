//! From staged files to a committed snapshot.
//!
//! A run works in its own folder, `.staging`, inside the dataset's. Each finished part has a receipt there. If a
//! run fails or is killed, the next run resumes it and reuses every part whose inputs have not changed. The shards
//! of a plan run in separate processes, each in a folder below `.shards-PLAN`; the process that commits reuses
//! their parts in the same way.
//!
//! When all parts are there, the commit works like this:
//!
//! 1. The quarantine list and the card are staged and synced in a folder named after the new snapshot, and the new
//!    manifest is written and synced.
//! 2. Data files are renamed into place and their folders synced. Their names end in their hashes, so none of them
//!    replaces a file of the old snapshot.
//! 3. The changes are written down for copies of the dataset ([`history`]).
//! 4. The manifest is renamed over the old one and the folder synced: **this is the commit**.
//! 5. List and card are moved into place, then files that the manifest does not name are removed, and finally the
//!    staging folder.
//!
//! A crash before step 4 leaves the old snapshot, a later one the new. If the staged card of the current snapshot
//! is still there, the next run finishes step 5 first.
//!
//! These are the steps in an object store too, with two differences. Renaming is copying there, so data files get their
//! final names when they are finished ([`files_of`]), and step 2 finds them in place. And there is no lock, and nobody
//! can tell who is reading or writing. So the manifest replaces only the one that was there when the run began;
//! otherwise the run fails. A run removes nothing but its own files: [`gc`](super::gc) removes those that are old enough.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::io;
use std::path::{Path, PathBuf};

use chunkmill_base::error::{Error, Result};

use super::difference::ChunkChanges;
use super::lock::Lock;
use super::manifest::{self, FileEntry, Part, Texts};
use super::rows::QuarantineRow;
use super::workspace::{PartReceipt, Present, Workspace, check_folder, files_of, is_data_file, make_folder, receipts};
use super::{Dataset, Manifest, card, history};
use crate::storage::{Entry, Location, Storage, Version};

pub(super) const STAGING: &str = ".staging";
pub(super) const SHARDS: &str = ".shards-";
pub(super) const CARD: &str = "README.md";
pub(super) const QUARANTINE: &str = "quarantine.jsonl";

/// A dataset that is open for writing. In a file system it holds the lock, so no other process can commit.
#[derive(Debug)]
pub(crate) struct Staging {
    root: Location,
    /// Version of the manifest to replace.
    version: Version,
    workspace: Workspace,
    /// Parts that other processes finished but did not commit.
    finished: BTreeMap<usize, Part>,
    /// Other folders that may contain files of finished parts.
    adopted: Vec<PathBuf>,
    /// Data files that were found, with their sizes.
    present: Present,
    /// The lock, which an object store does not have. Without it, another run may be writing.
    lock: Option<Lock>,
    /// The folders that were made for the dataset, innermost first.
    made: Vec<PathBuf>,
}

impl Staging {
    /// Opens a dataset for writing and finds what an interrupted run left behind.
    ///
    /// # Errors
    /// [`Error::Setting`] if there is a file of that name; [`Error::Dataset`] if the folder contains anything
    /// other than a dataset, or a newer one; [`Error::Locked`] if another process is writing to it; [`Error::Io`].
    pub(crate) fn open(root: &Location) -> Result<Self> {
        let made = make_root(root)?;
        let lock = Lock::take(root)?;
        let version = root.version(manifest::FILE)?;
        let workspace = Workspace::new(root.clone(), STAGING);
        check_folder(root, workspace.folder())?;
        let (finished, adopted, present) = (BTreeMap::new(), Vec::new(), Present::default());
        let root = root.clone();
        let mut staging = Self { root, version, workspace, finished, adopted, present, lock, made };
        staging.end_commit()?;
        staging.present.look(&staging.root, staging.root.path())?;
        if staging.workspace.files() == staging.root.path() {
            staging.workspace.keep_named(&staging.present);
        } else {
            staging.present.look(&staging.root, staging.workspace.files())?;
        }
        for PartReceipt { index, part } in receipts(staging.storage(), staging.workspace.folder())? {
            if staging.is_whole(&part) {
                staging.finished.insert(index, part);
            }
        }
        Ok(staging)
    }

    fn storage(&self) -> &dyn Storage {
        self.root.storage()
    }

    /// Returns where the dataset is.
    pub(crate) fn root(&self) -> &Location {
        &self.root
    }

    /// Returns the workspace for files of the next snapshot.
    pub(crate) fn workspace(&self) -> &Workspace {
        &self.workspace
    }

    /// Returns the parts that other processes finished but did not commit, by number.
    pub(crate) fn finished(&self) -> &BTreeMap<usize, Part> {
        &self.finished
    }

    /// Keeps only the finished parts that `keep` accepts and removes everything else that is staged.
    ///
    /// # Errors
    /// [`Error::Io`]
    pub(crate) fn keep(&mut self, keep: impl Fn(usize, &Part) -> bool) -> Result<()> {
        self.finished.retain(|&index, part| keep(index, part));
        let workspace = &self.workspace;
        let kept = self.finished.iter().flat_map(|(&index, part)| {
            let files = part.files.iter().map(|file| workspace.staged(&file.path));
            files.chain([workspace.receipt(index)]).collect::<Vec<_>>()
        });
        let kept: BTreeSet<PathBuf> = kept.collect();
        self.remove_staged(&kept)?;
        self.present.retain(|path| !path.starts_with(workspace.folder()) || kept.contains(path));
        workspace.make_folders()
    }

    /// Removes the staged files that are not `kept`. Without a lock, another run may be about to commit; its quarantine
    /// list and card, in a folder below, are not touched.
    fn remove_staged(&self, kept: &BTreeSet<PathBuf>) -> Result<()> {
        let (storage, folder) = (self.storage(), self.workspace.folder());
        let found = match self.lock {
            Some(_) if kept.is_empty() => return storage.remove_dir_all(folder).map_err(Error::io("remove", folder)),
            Some(_) => storage.files_below(folder),
            None => storage.list(folder),
        };
        let found = found.map_err(Error::io("list", folder))?;
        for Entry { path, .. } in found.into_iter().filter(|entry| !entry.is_folder && !kept.contains(&entry.path)) {
            storage.remove_file(&path).map_err(Error::io("remove", &path))?;
        }
        Ok(())
    }

    /// Adopts those parts that a plan's shards finished and that `wants` accepts. If several attempts finished the
    /// same part, any of them will do.
    ///
    /// # Errors
    /// [`Error::Dataset`] if two attempts at a part with the same inputs produced different bytes.
    pub(crate) fn adopt(&mut self, plan: &str, wants: impl Fn(usize, &Part) -> bool) -> Result<()> {
        for folder in attempts(&self.root, plan)? {
            if files_of(&self.root, &folder) == folder {
                self.present.look(&self.root, &folder)?;
                self.adopted.push(folder.clone());
            }
            for PartReceipt { index, part } in receipts(self.storage(), &folder)? {
                // A killed commit may already have renamed some files.
                if !wants(index, &part) || !self.is_whole(&part) {
                    continue;
                }
                match self.finished.get(&index) {
                    Some(other) if *other != part => {
                        return Err(Error::Dataset {
                            path: folder,
                            problem: format!(
                                "another attempt at part {index} produced different bytes from the same documents"
                            ),
                            help: "one of them computed wrong results: remove this folder and run the shard again"
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

    /// Returns whether all files of a part were found, with the right sizes, when this value was created or
    /// adopted them.
    pub(crate) fn is_whole(&self, part: &Part) -> bool {
        let is_whole = |file: &FileEntry| {
            // The copy that a commit would use.
            let found = self.elsewhere(file).find(|path| self.present.holds(path));
            self.present.has(&found.unwrap_or_else(|| self.root.join(&file.path)), file)
        };
        part.files.iter().all(is_whole)
    }

    /// Returns whether all files of a part already have their names in the dataset, and the right sizes.
    pub(crate) fn is_in_place(&self, part: &Part) -> bool {
        part.files.iter().all(|file| self.present.has(&self.root.join(&file.path), file))
    }

    /// Returns where a file that the next manifest will name is now: staged, in a shard's folder, or already in
    /// place.
    pub(crate) fn locate(&self, file: &FileEntry) -> PathBuf {
        let is_there = |path: &PathBuf| matches!(self.storage().find(path), Ok(Some(_)));
        self.elsewhere(file).find(is_there).unwrap_or_else(|| self.root.join(&file.path))
    }

    /// Returns where a file that is not in place may be.
    fn elsewhere<'s>(&'s self, file: &'s FileEntry) -> impl Iterator<Item = PathBuf> + 's {
        let folders = [self.workspace.files()].into_iter().chain(self.adopted.iter().map(PathBuf::as_path));
        folders.filter(|folder| *folder != self.root.path()).map(|folder| folder.join(&file.path))
    }

    fn sync(&self, folder: &Path) -> Result<()> {
        self.storage().sync_dir(folder).map_err(Error::io("sync", folder))
    }

    /// Commits the staged files that the manifest names. The module documentation describes the steps.
    ///
    /// The quarantine list and the card are for people and have fixed names, so the manifest contains only their
    /// hashes. For a moment the new manifest is next to the old list and card.
    ///
    /// # Errors
    /// [`Error::Io`]; either the old manifest or the new one is then in place, with every file it names.
    /// [`Error::Replaced`] if there is no lock and another run has committed since this one began.
    pub(crate) fn commit(
        self,
        mut manifest: Manifest,
        quarantine: &[QuarantineRow],
    ) -> Result<(Manifest, Option<ChunkChanges>)> {
        let lines = quarantine.iter().filter_map(|row| serde_json::to_string(row).ok());
        let list = lines.map(|line| line + "\n").collect::<String>();
        let card = card::render(&manifest);
        let hash = |text: &String| blake3::hash(text.as_bytes()).to_hex().to_string();
        manifest.texts = Texts { card: hash(&card), quarantine: hash(&list) };
        let manifest_json = manifest.to_json();
        let pending = pending_folder(&self.root, manifest_json.as_bytes());
        make_folder(&self.root, &pending)?;
        for (name, text) in [(QUARANTINE, &list), (CARD, &card)] {
            let path = pending.join(name);
            self.storage().rename(&self.workspace.write(text)?, &path).map_err(Error::io("rename to", path))?;
        }
        let new = self.workspace.write(&manifest_json)?;
        self.sync(&pending)?;
        self.workspace.sync()?;
        for folder in manifest::FOLDERS {
            let folder = self.root.join(folder);
            self.storage().create_dir_all(&folder).map_err(Error::io("create", &folder))?;
        }
        for file in &manifest.files {
            let (from, path) = (self.locate(file), self.root.join(&file.path));
            // A file of the same name in the old snapshot has the same hash, so it is the same unless it was damaged.
            if from != path {
                self.storage().rename(&from, &path).map_err(Error::io("rename to", &path))?;
            }
        }
        let folders: BTreeSet<&Path> =
            manifest::FOLDERS.iter().flat_map(|folder| Path::new(folder).ancestors()).collect();
        for folder in folders.into_iter().rev() {
            self.sync(&self.root.join(folder))?;
        }
        self.check_complete(&manifest)?;
        let changes = self.record(&manifest);
        let path = self.root.join(manifest::FILE);
        self.storage().replace(&new, &path, &self.version).map_err(|error| match error.kind() {
            io::ErrorKind::AlreadyExists => Error::Replaced { path: self.root.path().to_owned() },
            _ => Error::io("rename to", &path)(error),
        })?;
        self.sync(self.root.path())?;
        self.end_commit()?;
        Ok((manifest, changes))
    }

    /// Writes down what changes with the commit of a manifest; see [`history`]. Nothing is known of it if the snapshot before
    /// cannot be read.
    fn record(&self, manifest: &Manifest) -> Option<ChunkChanges> {
        let after = Dataset::uncommitted(self.root.clone(), manifest.clone());
        match Dataset::find(&self.root) {
            // A dataset without a history is a dataset.
            Ok(Some(before)) => history::record(&self.workspace, &before, &after).unwrap_or_else(|error| {
                tracing::warn!("cannot write down what changed: {error}");
                None
            }),
            Ok(None) => Some(ChunkChanges { added: manifest.counts.chunks, ..ChunkChanges::default() }),
            Err(_) => None,
        }
    }

    /// Fails if a file that the manifest names is missing: another process may have removed it after it was
    /// finished.
    fn check_complete(&self, manifest: &Manifest) -> Result<()> {
        let mut present = Present::default();
        present.look(&self.root, self.root.path())?;
        let missing = manifest.files.iter().find(|file| !present.has(&self.root.join(&file.path), file));
        missing.map_or(Ok(()), |file| {
            Err(Error::Dataset {
                path: self.root.join(&file.path),
                problem: "was removed before it could be committed".to_owned(),
                help: "run again, and let nothing else remove files there in the meantime".to_owned(),
            })
        })
    }

    /// Ends without a commit and removes everything that is staged, because none of it is needed.
    ///
    /// # Errors
    /// [`Error::Io`]
    pub(crate) fn discard(self) -> Result<()> {
        self.sweep()?;
        self.clear(None)
    }

    /// Does the work that follows the commit. If a run is killed there, the next one does it.
    fn end_commit(&self) -> Result<()> {
        let Some(pending) = pending(&self.root)? else { return Ok(()) };
        self.place(&pending, QUARANTINE)?;
        self.sweep()?;
        // The card is moved last, because its presence tells that there is work left.
        self.place(&pending, CARD)?;
        self.sync(self.root.path())?;
        self.clear(Some(&pending))
    }

    /// Moves a staged file to its final name, if that is not done yet.
    fn place(&self, pending: &Path, name: &str) -> Result<()> {
        let (staged, path) = (pending.join(name), self.root.join(name));
        match self.storage().rename(&staged, &path) {
            Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(()),
            renamed => renamed.map_err(Error::io("rename to", path)),
        }
    }

    /// Removes the staged files and the folder of the finished commit.
    fn clear(&self, pending: Option<&Path>) -> Result<()> {
        self.remove_staged(&BTreeSet::new())?;
        pending.map_or(Ok(()), |path| self.storage().remove_dir_all(path).map_err(Error::io("remove", path)))
    }

    /// Removes data files that the manifest does not name, unless another run may need them. This is housekeeping: a
    /// file that cannot be removed is left for the next run.
    fn sweep(&self) -> Result<()> {
        if self.lock.is_none() {
            return Ok(());
        }
        let Ok(dataset) = Dataset::open(&self.root) else { return Ok(()) };
        let unnamed = unnamed(&self.root, &dataset.manifest().files)?;
        let outdated = history::outdated(&self.root, Some(&dataset))?;
        for Entry { path, .. } in unnamed.into_iter().chain(outdated) {
            if let Err(error) = self.storage().remove_file(&path) {
                tracing::warn!("cannot remove {}: {error}", path.display());
            }
        }
        Ok(())
    }
}

impl Drop for Staging {
    /// Removes the folders that were made for a run, if the run has left nothing in them that the next one can use. This
    /// is housekeeping: a folder that cannot be removed stays.
    fn drop(&mut self) {
        if self.made.is_empty() {
            return;
        }
        let (storage, staged) = (self.storage(), self.workspace.folder());
        let is_new = matches!(storage.find(&self.root.join(manifest::FILE)), Ok(None));
        // A part without documents was no work.
        let is_work = |finished: &PartReceipt| finished.part.record.counts.discovered > 0;
        if is_new && receipts(storage, staged).is_ok_and(|finished| !finished.iter().any(is_work)) {
            let _ = storage.remove_dir_all(staged);
        }
        // Its file is in the folder.
        drop(self.lock.take());
        for folder in &self.made {
            let _ = self.storage().remove_empty_dir(folder);
        }
    }
}

/// Returns the folder where the list and the card of a snapshot wait for its commit.
fn pending_folder(root: &Location, manifest: &[u8]) -> PathBuf {
    root.join(STAGING).join(&blake3::hash(manifest).to_hex()[..32])
}

/// Returns the folder of a commit that the next run has to finish: it contains the card of the current snapshot.
pub(super) fn pending(root: &Location) -> Result<Option<PathBuf>> {
    let Ok(manifest) = root.read(manifest::FILE) else { return Ok(None) };
    let folder = pending_folder(root, &manifest);
    let card = folder.join(CARD);
    let found = root.storage().find(&card).map_err(Error::io("look for", card))?;
    Ok(found.map(|_| folder))
}

/// Creates a workspace for one attempt at a shard of a plan. No other process works in it.
///
/// # Errors
/// Those of [`Staging::open`], except for the lock's.
pub(crate) fn attempt(root: &Location, plan: &str) -> Result<Workspace> {
    make_root(root)?;
    let host = fs::read_to_string("/proc/sys/kernel/hostname").unwrap_or_default();
    let host: String = host.chars().filter(char::is_ascii_alphanumeric).collect();
    let time = std::time::UNIX_EPOCH.elapsed().unwrap_or_default().as_nanos();
    let mut workspace = Workspace::locked(root, &format!("{SHARDS}{plan}/{time:x}-{}-{host}", std::process::id()))?;
    if workspace.files() == root.path() {
        let mut present = Present::default();
        present.look(root, root.path())?;
        workspace.keep_named(&present);
    }
    Ok(workspace)
}

/// Returns the folder of every attempt at a shard of any plan, by plan and name.
pub(super) fn all_attempts(root: &Location) -> Result<Vec<PathBuf>> {
    let attempts = plans(root)?.iter().map(|plan| folders(root, plan)).collect::<Result<Vec<_>>>()?;
    Ok(attempts.into_iter().flatten().collect())
}

/// Returns the parts that attempts at a plan's shards finished.
///
/// # Errors
/// [`Error::Io`]
pub(crate) fn attempted(root: &Location, plan: &str) -> Result<Vec<(usize, Part)>> {
    let mut finished = Vec::new();
    let mut present = Present::default();
    let folders = attempts(root, plan)?;
    // In an object store, all of them have one.
    for files in folders.iter().map(|folder| files_of(root, folder)).collect::<BTreeSet<_>>() {
        present.look(root, files)?;
    }
    for folder in &folders {
        let files = files_of(root, folder);
        let is_whole = |part: &Part| part.files.iter().all(|file| present.has(&files.join(&file.path), file));
        let receipts = receipts(root.storage(), folder)?.into_iter();
        finished.extend(
            receipts.filter(|receipt| is_whole(&receipt.part)).map(|PartReceipt { index, part }| (index, part)),
        );
    }
    Ok(finished)
}

/// Removes what attempts at a plan's shards left behind. This is housekeeping: anything that cannot be removed is
/// left to `gc`.
pub(crate) fn forget_attempts(root: &Location, plan: &str) {
    let folder = root.join(format!("{SHARDS}{plan}"));
    if let Err(error) = root.storage().remove_dir_all(&folder) {
        tracing::warn!("cannot remove {}: {error}", folder.display());
    }
}

/// Removes the folders of plans without attempts.
pub(super) fn forget_empty_plans(root: &Location) -> Result<()> {
    for path in plans(root)? {
        if folders(root, &path)?.is_empty() {
            root.storage().remove_dir_all(&path).map_err(Error::io("remove", path))?;
        }
    }
    Ok(())
}

/// Returns the folders of all plans.
fn plans(root: &Location) -> Result<Vec<PathBuf>> {
    let found = folders(root, root.path())?;
    let is_plan = |path: &PathBuf| path.file_name().is_some_and(|name| name.to_string_lossy().starts_with(SHARDS));
    Ok(found.into_iter().filter(is_plan).collect())
}

/// Returns the folders of the attempts at a plan's shards, sorted by name.
fn attempts(root: &Location, plan: &str) -> Result<Vec<PathBuf>> {
    let folder = root.join(format!("{SHARDS}{plan}"));
    check_folder(root, &folder)?;
    folders(root, &folder)
}

/// Returns the folders in a folder, sorted by name.
fn folders(root: &Location, folder: &Path) -> Result<Vec<PathBuf>> {
    let found = root.storage().list(folder).map_err(Error::io("list", folder))?;
    Ok(found.into_iter().filter(|entry| entry.is_folder).map(|entry| entry.path).collect())
}

/// Creates the dataset's folder, or checks that the existing one may be written to. Returns the folders that it made,
/// innermost first; an object store has none.
fn make_root(root: &Location) -> Result<Vec<PathBuf>> {
    let found = root.storage().find(root.path()).map_err(Error::io("look for", root.path()))?;
    if found.as_ref().is_some_and(|entry| !entry.is_folder) {
        return Err(Error::setting("output", format!("{root} is a file"), "name an empty or new folder with -o"));
    }
    if !may_replace(root)? {
        return Err(Error::Dataset {
            path: root.path().to_owned(),
            problem: "is neither empty nor a dataset".to_owned(),
            help: "name an empty or new folder with -o".to_owned(),
        });
    }
    Manifest::refuse_newer(root)?;
    if found.is_some() {
        return Ok(Vec::new());
    }
    let path = root.path();
    let is_absent = |path: &&Path| !path.as_os_str().is_empty() && matches!(root.storage().find(path), Ok(None));
    let absent = path.ancestors().filter(|_| !root.is_in_object_store()).take_while(is_absent);
    let made = absent.map(Path::to_owned).collect();
    root.storage().create_dir_all(path).map_err(Error::io("create", path))?;
    // We may not be allowed to open the parent folder. Then the new entry is as durable as the system makes it.
    let above = path.parent().filter(|above| !above.as_os_str().is_empty()).unwrap_or(Path::new("."));
    let _ = root.storage().sync_dir(above);
    Ok(made)
}

/// Returns the files in the table folders that look like data files but are not among `files`.
pub(super) fn unnamed(root: &Location, files: &[FileEntry]) -> Result<Vec<Entry>> {
    let named: BTreeSet<PathBuf> = files.iter().map(|file| root.join(&file.path)).collect();
    let mut found = Vec::new();
    for folder in manifest::FOLDERS.iter().map(|folder| root.join(folder)) {
        let entries = root.storage().list(&folder).map_err(Error::io("list", folder))?;
        let ours = entries.into_iter().filter(|entry| is_data_file(&entry.path) && !entry.is_folder);
        found.extend(ours.filter(|entry| !named.contains(&entry.path)));
    }
    Ok(found)
}

/// Returns whether a folder is absent or empty, a dataset, or the remains of an interrupted first run.
pub(super) fn may_replace(root: &Location) -> Result<bool> {
    let entries = root.storage().list(root.path()).map_err(Error::io("list", root.path()))?;
    let has_manifest = entries.iter().any(|entry| entry.name() == manifest::FILE);
    if has_manifest && Manifest::is_at(root) {
        return Ok(true);
    }
    // Without a manifest, only our data files, in some or all of the table folders. Next to one that is damaged beyond
    // recognition, some data files too: a folder without them may be of another program.
    let mut has_data = false;
    let ours = |path: &Path| {
        let in_table = manifest::FOLDERS.iter().any(|folder| path.parent() == Some(&root.join(folder)));
        in_table && is_data_file(path)
    };
    for entry in entries {
        let name = entry.name();
        if name == STAGING || name == history::FOLDER || name.starts_with(SHARDS) || Lock::is_name(&name) {
            continue;
        }
        if has_manifest && [manifest::FILE, CARD, QUARANTINE].contains(&&*name) {
            continue;
        }
        // It may be a link to a folder elsewhere.
        let found = root.storage().find(&entry.path).map_err(Error::io("look for", &entry.path))?;
        let is_folder = entry.is_folder || found.is_some_and(|found| found.is_folder);
        let is_top = is_folder && (name == "data" || name == "state");
        if !is_top {
            return Ok(false);
        }
        let below = root.storage().files_below(&entry.path).map_err(Error::io("list", &entry.path))?;
        if !below.iter().all(|file| ours(&file.path)) {
            return Ok(false);
        }
        has_data |= !below.is_empty();
    }
    Ok(has_data || !has_manifest)
}
