//! Folders that files are made in before they have their names in the dataset.
//!
//! A file is written under a name of no meaning, synced, and only then named by its hash. What of a
//! workspace is finished, part by part, has a receipt there. So work that was done once is found again, by
//! the next run or by whoever commits, and a file that was not finished is never taken for one that was.
//!
//! In an object store a second name would cost sending the file again. There data files are named in the dataset at
//! once, which no reader sees before a manifest names them; only the receipts are in the workspace's folder.

use std::collections::BTreeMap;
use std::io::{self, BufWriter, Write};
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU64, Ordering};

use serde::{Deserialize, Serialize};

use super::Manifest;
use super::lock::Lock;
use super::manifest::{self, FileEntry, Part};
use crate::error::{Error, Result};
use crate::hub::plain;
use crate::storage::{Location, Output, Storage};

/// Numbers of files that are being written, so that no two of this process have one name.
static NEXT: AtomicU64 = AtomicU64::new(0);

/// A folder that one process works in.
#[derive(Debug)]
pub(crate) struct Workspace {
    /// The dataset.
    root: Location,
    folder: PathBuf,
    /// Files that the manifest named when this value was made, with their sizes, if they need not be sent again.
    named: BTreeMap<String, u64>,
    /// Tells others that somebody is at work here, where the dataset's own lock does not.
    at_work: Option<Lock>,
}

/// A finished part: what the manifest will say of it.
#[derive(Serialize, Deserialize)]
pub(super) struct Receipt {
    pub(super) index: usize,
    #[serde(flatten)]
    pub(super) part: Part,
}

impl Workspace {
    /// The workspace of this name in a dataset.
    pub(super) fn new(root: Location, name: &str) -> Self {
        Self { folder: root.join(name), root, named: BTreeMap::new(), at_work: None }
    }

    /// A folder that shows, until this value is dropped, that somebody is at work in it.
    pub(super) fn locked(root: &Location, name: &str) -> Result<Self> {
        let mut workspace = Self::new(root.clone(), name);
        workspace.make_folders()?;
        workspace.at_work = Lock::take(&root.below(name))?;
        Ok(workspace)
    }

    /// Remembers what need not be sent to an object store again: files that the snapshot there has, as far as they are
    /// `present`. If it is replaced in the meantime, the commit fails.
    pub(super) fn keep_named(&mut self, present: &Present) {
        // Without one, or with one that is damaged, everything is sent.
        let Ok(manifest) = Manifest::read(&self.root) else { return };
        let there = manifest.files.into_iter().filter(|file| present.has(&self.root.join(&file.path), file));
        self.named = there.map(|file| (file.path, file.bytes)).collect();
    }

    /// Where everything is written to.
    pub(super) fn storage(&self) -> &dyn Storage {
        self.root.storage()
    }

    /// Makes the folders that files are finished in.
    pub(super) fn make_folders(&self) -> Result<()> {
        for folder in self.folders() {
            self.storage().create_dir_all(&folder).map_err(Error::io("create", &folder))?;
        }
        Ok(())
    }

    pub(super) fn folder(&self) -> &Path {
        &self.folder
    }

    /// Where a file of the dataset is when it is finished.
    pub(super) fn staged(&self, path: &str) -> PathBuf {
        if self.root.is_in_object_store() { self.root.join(path) } else { self.folder.join(path) }
    }

    pub(super) fn receipt(&self, index: usize) -> PathBuf {
        self.folder.join(format!("part-{index:05}.json"))
    }

    /// Every folder that files are finished in.
    fn folders(&self) -> impl Iterator<Item = PathBuf> {
        manifest::FOLDERS.iter().map(|folder| self.folder.join(folder)).chain([self.folder.clone()])
    }

    /// Makes the names of all that is finished durable.
    ///
    /// # Errors
    /// [`Error::Io`]
    pub(crate) fn sync(&self) -> Result<()> {
        self.folders().try_for_each(|folder| self.storage().sync_dir(&folder).map_err(Error::io("sync", folder)))
    }

    /// A file to write; it has no name of meaning until it is finished.
    pub(super) fn create(&self) -> Result<StagedFile<'_>> {
        let (path, file) = self.scratch("unfinished")?;
        let file = BufWriter::new(file);
        Ok(StagedFile { workspace: self, path, file, hasher: blake3::Hasher::new(), bytes: 0 })
    }

    /// A file that is read back before the run ends and is no part of the dataset; no other has its name.
    pub(super) fn scratch(&self, name: &str) -> Result<(PathBuf, Box<dyn Output>)> {
        let path = self.folder.join(format!("{name}-{}", NEXT.fetch_add(1, Ordering::Relaxed)));
        let file = self.storage().create(&path).map_err(Error::io("create", &path))?;
        Ok((path, file))
    }

    /// Writes a small file as a whole, and syncs it; its name has no meaning yet.
    pub(super) fn write(&self, text: &str) -> Result<PathBuf> {
        let mut staged = self.create()?;
        staged.write_all(text.as_bytes()).map_err(Error::io("write", &staged.path))?;
        staged.sync()
    }

    /// Records that a part's files are all finished, so that it need not be made again.
    ///
    /// Nothing is synced: a receipt that is lost or torn, or whose files are, costs the work and no more.
    ///
    /// # Errors
    /// [`Error::Io`]
    pub(crate) fn finish_part(&self, index: usize, part: &Part) -> Result<()> {
        let text = serde_json::to_string(&Receipt { index, part: part.clone() }).unwrap_or_default();
        let mut staged = self.create()?;
        staged.write_all(text.as_bytes()).map_err(Error::io("write", &staged.path))?;
        staged.flush().map_err(Error::io("write", &staged.path))?;
        let receipt = self.receipt(index);
        self.storage().rename(&staged.path, &receipt).map_err(Error::io("rename to", receipt))
    }
}

/// Data files with their sizes, as they were found.
#[derive(Debug, Default)]
pub(super) struct Present(BTreeMap<PathBuf, u64>);

impl Present {
    /// Adds what is in the folders of tables below a folder.
    pub(super) fn look(&mut self, root: &Location, folder: &Path) -> Result<()> {
        for folder in manifest::FOLDERS.iter().map(|name| folder.join(name)) {
            let found = root.storage().list(&folder).map_err(Error::io("list", folder))?;
            self.0.extend(found.into_iter().map(|entry| (entry.path, entry.bytes)));
        }
        Ok(())
    }

    /// Forgets those that do not pass.
    pub(super) fn retain(&mut self, passes: impl Fn(&Path) -> bool) {
        self.0.retain(|path, _| passes(path));
    }

    /// Whether a file is there, of whatever size.
    pub(super) fn holds(&self, path: &Path) -> bool {
        self.0.contains_key(path)
    }

    /// Whether a file is there, with its size.
    pub(super) fn has(&self, path: &Path, file: &FileEntry) -> bool {
        self.0.get(path) == Some(&file.bytes)
    }
}

/// The receipts in a workspace's folder, whether their files are there or not. What is no receipt counts for nothing.
///
/// # Errors
/// [`Error::Io`] if there is one that cannot be read: it may be of work that somebody goes on with.
pub(super) fn receipts(storage: &dyn Storage, folder: &Path) -> Result<Vec<Receipt>> {
    let entries = storage.list(folder).map_err(Error::io("list", folder))?.into_iter();
    let paths: Vec<PathBuf> =
        entries.filter(|entry| entry.name().starts_with("part-")).map(|entry| entry.path).collect();
    let mut receipts = Vec::with_capacity(paths.len());
    for (path, read) in paths.iter().zip(storage.read_all(&paths)) {
        match read {
            Ok(text) => receipts.extend(serde_json::from_slice::<Receipt>(&text).ok()),
            // A run that has ended has removed it.
            Err(error) if error.kind() == io::ErrorKind::NotFound => {}
            Err(error) => return Err(Error::io("read", path)(error)),
        }
    }
    receipts.retain(|receipt| receipt.part.files.iter().all(|file| plain(&file.path).is_some()));
    Ok(receipts)
}

/// Whether a file has a name that data files are given.
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

/// A file under its working name; hashes and counts what is written.
pub(super) struct StagedFile<'a> {
    workspace: &'a Workspace,
    path: PathBuf,
    file: BufWriter<Box<dyn Output>>,
    hasher: blake3::Hasher,
    bytes: u64,
}

impl StagedFile<'_> {
    /// Where it is being written.
    pub(super) fn path(&self) -> &Path {
        &self.path
    }

    /// Syncs the file; gives where it is.
    fn sync(self) -> Result<PathBuf> {
        let Self { path, file, .. } = self;
        let file = file.into_inner().map_err(io::IntoInnerError::into_error);
        file.and_then(|mut file| file.sync()).map_err(Error::io("sync", &path))?;
        Ok(path)
    }

    /// Syncs the file and stages it as a data file, file `index` of `files`: its name ends in its hash.
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
