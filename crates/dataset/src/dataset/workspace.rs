//! Folders where files are written before they have their names in the dataset.
//!
//! A file is written under a temporary name, synced, and only then named by its hash. Each finished part of a
//! workspace has a receipt there. So the next run, or the process that commits, finds finished work again, and
//! never mistakes an unfinished file for a finished one.
//!
//! In an object store, renaming a file means sending it again. So data files get their final names at once; no
//! reader sees them before a manifest names them. Only the receipts are in the workspace's folder.

use std::collections::BTreeMap;
use std::io::{self, BufWriter, Write};
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU64, Ordering};

use chunkmill_base::error::{Error, Result};
use chunkmill_base::safely;
use chunkmill_embed::hub::plain;
use serde::{Deserialize, Serialize};

use super::Manifest;
use super::lock::Lock;
use super::manifest::{self, FileEntry, Part};
use crate::storage::{Location, OutputFile, Storage};

/// Numbers for unfinished files: no two files of this process share a name.
static NEXT: AtomicU64 = AtomicU64::new(0);

/// A folder that one process works in.
#[derive(Debug)]
pub(crate) struct Workspace {
    /// The dataset.
    root: Location,
    folder: PathBuf,
    /// Files that do not have to be sent again, because the manifest named them when this value was made, with
    /// their sizes.
    named: BTreeMap<String, u64>,
    /// A lock that marks the folder as in use, where the dataset's own lock does not.
    at_work: Option<Lock>,
}

/// A finished part, as the manifest will record it.
#[derive(Serialize, Deserialize)]
pub(super) struct PartReceipt {
    pub(super) index: usize,
    #[serde(flatten)]
    pub(super) part: Part,
}

impl Workspace {
    /// Returns the workspace of this name in a dataset.
    pub(super) fn new(root: Location, name: &str) -> Self {
        Self { folder: root.join(name), root, named: BTreeMap::new(), at_work: None }
    }

    /// Creates a workspace that is marked as in use until this value is dropped.
    pub(super) fn locked(root: &Location, name: &str) -> Result<Self> {
        let mut workspace = Self::new(root.clone(), name);
        workspace.make_folders()?;
        workspace.at_work = Lock::take(&root.below(name))?;
        Ok(workspace)
    }

    /// Remembers which files do not have to be sent to an object store again: those of the current snapshot that
    /// are `present`. If the snapshot is replaced in the meantime, the commit fails.
    pub(super) fn keep_named(&mut self, present: &Present) {
        // If the manifest is missing or damaged, everything is sent.
        let Ok(manifest) = Manifest::read(&self.root) else { return };
        let there = manifest.files.into_iter().filter(|file| present.has(&self.root.join(&file.path), file));
        self.named = there.map(|file| (file.path, file.bytes)).collect();
    }

    /// Returns the storage that everything is written to.
    pub(super) fn storage(&self) -> &dyn Storage {
        self.root.storage()
    }

    /// Creates the folders for finished files.
    pub(super) fn make_folders(&self) -> Result<()> {
        for folder in self.folders() {
            make_folder(&self.root, &folder)?;
        }
        Ok(())
    }

    pub(super) fn folder(&self) -> &Path {
        &self.folder
    }

    /// Returns the folder of its finished data files, see [`files_of`].
    pub(super) fn files(&self) -> &Path {
        files_of(&self.root, &self.folder)
    }

    /// Returns the path of a file of the dataset once it is finished.
    pub(super) fn staged(&self, path: &str) -> PathBuf {
        self.files().join(path)
    }

    pub(super) fn receipt(&self, index: usize) -> PathBuf {
        self.folder.join(format!("part-{index:05}.json"))
    }

    /// Returns every folder that contains finished files.
    fn folders(&self) -> impl Iterator<Item = PathBuf> {
        manifest::FOLDERS.iter().map(|folder| self.folder.join(folder)).chain([self.folder.clone()])
    }

    /// Makes the names of all finished files durable.
    ///
    /// # Errors
    /// [`Error::Io`]
    pub(crate) fn sync(&self) -> Result<()> {
        self.folders().try_for_each(|folder| self.storage().sync_dir(&folder).map_err(Error::io("sync", folder)))
    }

    /// Creates a file, which has a temporary name until it is finished.
    pub(super) fn create(&self) -> Result<StagedFile<'_>> {
        let (path, file) = self.scratch("unfinished")?;
        let file = BufWriter::new(file);
        Ok(StagedFile { workspace: self, path, file, hasher: blake3::Hasher::new(), bytes: 0 })
    }

    /// Creates a file with a unique name that is read back before the run ends and is not part of the dataset.
    pub(super) fn scratch(&self, name: &str) -> Result<(PathBuf, Box<dyn OutputFile>)> {
        let path = self.folder.join(format!("{name}-{}", NEXT.fetch_add(1, Ordering::Relaxed)));
        let file = self.storage().create(&path).map_err(Error::io("create", &path))?;
        Ok((path, file))
    }

    /// Writes and syncs a whole small file under a temporary name.
    pub(super) fn write(&self, text: &str) -> Result<PathBuf> {
        let mut staged = self.create()?;
        staged.write_all(text.as_bytes()).map_err(Error::io("write", &staged.path))?;
        staged.sync()
    }

    /// Records that all files of a part are finished, so the work does not have to be repeated.
    ///
    /// Nothing is synced: if the receipt or one of its files is lost or torn, only the work is lost.
    ///
    /// # Errors
    /// [`Error::Io`]
    pub(crate) fn finish_part(&self, index: usize, part: &Part) -> Result<()> {
        let text = serde_json::to_string(&PartReceipt { index, part: part.clone() }).unwrap_or_default();
        let mut staged = self.create()?;
        staged.write_all(text.as_bytes()).map_err(Error::io("write", &staged.path))?;
        staged.flush().map_err(Error::io("write", &staged.path))?;
        let receipt = self.receipt(index);
        self.storage().rename(&staged.path, &receipt).map_err(Error::io("rename to", receipt))
    }
}

/// Returns the folder of the finished data files of a workspace: its own folder, from where the commit moves them. In an
/// object store, which copies a file to rename it, they get their final names at once.
pub(super) fn files_of<'f>(root: &'f Location, folder: &'f Path) -> &'f Path {
    if root.is_in_object_store() { root.path() } else { folder }
}

/// Creates a folder of our own in a dataset. A symbolic link in its place is refused: whatever is written through it
/// would be outside of the dataset.
///
/// # Errors
/// [`Error::Io`]
pub(super) fn make_folder(root: &Location, folder: &Path) -> Result<()> {
    check_folder(root, folder)?;
    root.storage().create_dir_all(folder).map_err(Error::io("create", folder))
}

/// Fails if a folder of our own, or one above it in the dataset, is a symbolic link.
///
/// # Errors
/// [`Error::Io`]
pub(super) fn check_folder(root: &Location, folder: &Path) -> Result<()> {
    if root.is_in_object_store() {
        return Ok(());
    }
    let inside = folder.ancestors().take_while(|above| *above != root.path() && above.starts_with(root.path()));
    inside.into_iter().try_for_each(|folder| safely::no_link(folder).map_err(Error::io("use", folder)))
}

/// Data files that were found, with their sizes.
#[derive(Debug, Default)]
pub(super) struct Present(BTreeMap<PathBuf, u64>);

impl Present {
    /// Adds the files in the table folders below `folder`.
    pub(super) fn look(&mut self, root: &Location, folder: &Path) -> Result<()> {
        for folder in manifest::FOLDERS.iter().map(|name| folder.join(name)) {
            let found = root.storage().list(&folder).map_err(Error::io("list", folder))?;
            self.0.extend(found.into_iter().map(|entry| (entry.path, entry.bytes)));
        }
        Ok(())
    }

    /// Forgets the files that do not pass.
    pub(super) fn retain(&mut self, passes: impl Fn(&Path) -> bool) {
        self.0.retain(|path, _| passes(path));
    }

    /// Returns whether a file was found, whatever its size.
    pub(super) fn holds(&self, path: &Path) -> bool {
        self.0.contains_key(path)
    }

    /// Returns whether a file was found with its recorded size.
    pub(super) fn has(&self, path: &Path, file: &FileEntry) -> bool {
        self.0.get(path) == Some(&file.bytes)
    }
}

/// Reads the receipts in a workspace's folder, whether or not their files exist. Anything that is not a receipt is
/// ignored.
///
/// # Errors
/// [`Error::Io`] if a receipt cannot be read: it may belong to work that a later run resumes.
pub(super) fn receipts(storage: &dyn Storage, folder: &Path) -> Result<Vec<PartReceipt>> {
    let entries = storage.list(folder).map_err(Error::io("list", folder))?.into_iter();
    let paths: Vec<PathBuf> =
        entries.filter(|entry| entry.name().starts_with("part-")).map(|entry| entry.path).collect();
    let mut receipts = Vec::with_capacity(paths.len());
    for (path, read) in paths.iter().zip(storage.read_all(&paths)) {
        match read {
            Ok(text) => receipts.extend(serde_json::from_slice::<PartReceipt>(&text).ok()),
            // A run that has ended has removed it.
            Err(error) if error.kind() == io::ErrorKind::NotFound => {}
            Err(error) => return Err(Error::io("read", path)(error)),
        }
    }
    receipts.retain(|receipt| receipt.part.files.iter().all(|file| plain(&file.path).is_some()));
    Ok(receipts)
}

/// Returns whether a file is named like a data file.
pub(super) fn is_data_file(path: &Path) -> bool {
    let named = || {
        let (name, extension) = path.file_name()?.to_str()?.split_once('.')?;
        let mut words = name.split('-');
        let mut next = |length: usize, radix: u32| {
            let word = words.next()?;
            Some(word.len() == length && word.chars().all(|c| c.is_digit(radix)))
        };
        let is_train = next(5, 36)? && name.starts_with("train");
        let is_numbered = next(5, 10)? && next(2, 36)? && next(5, 10)? && next(16, 16)?;
        Some(is_train && is_numbered && words.next().is_none() && ["parquet", "jsonl.zst"].contains(&extension))
    };
    named().unwrap_or(false)
}

/// A file under its temporary name, which hashes and counts what is written to it.
pub(super) struct StagedFile<'a> {
    workspace: &'a Workspace,
    path: PathBuf,
    file: BufWriter<Box<dyn OutputFile>>,
    hasher: blake3::Hasher,
    bytes: u64,
}

impl StagedFile<'_> {
    /// Returns the path it is being written to.
    pub(super) fn path(&self) -> &Path {
        &self.path
    }

    /// Syncs the file and returns its path.
    pub(super) fn sync(self) -> Result<PathBuf> {
        let Self { path, file, .. } = self;
        let file = file.into_inner().map_err(io::IntoInnerError::into_error);
        file.and_then(|mut file| file.sync()).map_err(Error::io("sync", &path))?;
        Ok(path)
    }

    /// Syncs the file and stages it as data file `index` of `files`, with its hash at the end of the name.
    pub(super) fn finish_data(
        self,
        folder: &str,
        (index, files): (usize, usize),
        extension: &str,
        rows: u64,
    ) -> Result<FileEntry> {
        let (blake3, bytes) = (self.hasher.finalize().to_hex().to_string(), self.bytes);
        let path = format!("{folder}/train-{index:05}-of-{files:05}-{}.{extension}", &blake3[..16]);
        let workspace = self.workspace;
        let (storage, staged) = (workspace.storage(), workspace.staged(&path));
        let made = self.sync()?;
        if workspace.named.get(&path) == Some(&bytes) {
            storage.remove_file(&made).map_err(Error::io("remove", made))?;
        } else {
            storage.rename(&made, &staged).map_err(Error::io("rename to", staged))?;
        }
        let table = folder.rsplit('/').next().unwrap_or_default().to_owned();
        Ok(FileEntry { table, path, rows, bytes, blake3 })
    }
}

impl Write for StagedFile<'_> {
    fn write(&mut self, buf: &[u8]) -> io::Result<usize> {
        let written = self.file.write(buf)?;
        self.hasher.update(&buf[..written]);
        self.bytes += written as u64;
        Ok(written)
    }

    fn flush(&mut self) -> io::Result<()> {
        self.file.flush()
    }
}
