//! Removing what no manifest names.
//!
//! Every commit cleans up after itself, so there is something to remove only after an interrupted run: data files
//! of the old snapshot that the cleanup did not reach, or the staging folder. Finished parts in that folder are
//! worth keeping for their vectors, because the next run resumes with them; they are removed only on request.
//!
//! In an object store a commit removes nothing, because nobody can tell who reads the old snapshot and no lock
//! shows who is at work. There the files of old snapshots are leftovers, and age decides: a leftover is removed
//! when both it and the snapshot whose commit may have made it one are older than a day.

use std::collections::BTreeSet;
use std::path::PathBuf;
use std::time::{Duration, SystemTime};

use chunkmill_base::error::{Error, Result};

use super::commit::{self, Staging};
use super::lock::Lock;
use super::workspace::receipts;
use super::{Dataset, Manifest, Part, history, manifest};
use crate::storage::{Entry, Location};

/// Default minimum age of a leftover in an object store.
const AGE: Duration = Duration::from_hours(24);

/// A kind of leftover. To add one, add an entry to [`KINDS`].
#[derive(Debug)]
pub struct Kind {
    /// A short stable word for machines.
    pub name: &'static str,
    /// A description for people.
    pub what: &'static str,
    /// Whether it contains work that a later run would resume.
    pub is_work: bool,
    find: fn(&Location, Option<&Manifest>) -> Result<Vec<Entry>>,
}

/// Every kind of leftover.
pub static KINDS: [Kind; 5] = [
    Kind {
        name: "orphan",
        what: "a data file that the manifest does not name",
        is_work: false,
        find: |root, manifest| {
            let work = places_of_work(root)?;
            Ok(orphans(root, manifest)?.into_iter().filter(|entry| !work.contains(&entry.path)).collect())
        },
    },
    Kind {
        name: "changes",
        what: "what changed with a commit long ago, or with one that failed",
        is_work: false,
        find: |root, manifest| {
            let dataset = manifest.map(|manifest| Dataset::uncommitted(root.clone(), manifest.clone()));
            history::outdated(root, dataset.as_ref())
        },
    },
    Kind {
        name: "unfinished",
        what: "started by a run that was interrupted before it finished a part",
        is_work: false,
        find: |root, _| {
            let is_empty = staged_parts(root)?.is_empty();
            Ok(staging(root)?.filter(|_| is_empty).map(folder).into_iter().collect())
        },
    },
    Kind {
        name: "staged",
        what: "finished by an interrupted run, which the next `chunkmill index` resumes",
        is_work: true,
        find: |root, manifest| {
            let is_empty = staged_parts(root)?.is_empty();
            let staged = staging(root)?.filter(|_| !is_empty).map(folder);
            // A run that was interrupted during its commit has already put some of its files in place.
            let work = places_of_work(root)?;
            let placed = orphans(root, manifest)?.into_iter().filter(|entry| work.contains(&entry.path));
            Ok(staged.into_iter().chain(placed).collect())
        },
    },
    Kind {
        name: "shards",
        what: "written by a shard of a plan; `chunkmill commit` publishes it, unless it came too late",
        is_work: true,
        find: |root, _| Ok(commit::all_attempts(root)?.into_iter().map(folder).collect()),
    },
];

/// A file, or a folder with everything in it, that no manifest names.
#[derive(Debug, Clone)]
pub struct Leftover {
    /// The kind of leftover.
    pub kind: &'static Kind,
    /// Path of the file or folder.
    pub path: PathBuf,
    /// Whether it is a folder.
    pub is_folder: bool,
    /// Size in bytes, with everything in it.
    pub bytes: u64,
    /// Time of the last change to it or anything in it.
    pub modified: Option<SystemTime>,
}

/// The leftovers to remove.
#[derive(Debug, Clone, Copy, Default)]
pub struct Sweep {
    /// Only report what would be removed.
    pub dry_run: bool,
    /// Also remove work that a later run would resume.
    pub work: bool,
    /// Remove only leftovers older than this. `None` is a day in an object store, and zero where there are locks.
    pub older_than: Option<Duration>,
}

/// The result of a sweep.
#[derive(Debug)]
pub struct Swept {
    /// Leftovers that were removed, or would be without `dry_run`.
    pub removed: Vec<Leftover>,
    /// Leftovers that were kept, because a later run resumes with them or because they are too new.
    pub kept: Vec<Leftover>,
}

/// Removes what no manifest names from the dataset in `root`. If a commit was interrupted after its decisive step,
/// that commit is finished first.
///
/// # Errors
/// Those of [`Manifest::read`], before anything is changed; [`Error::Locked`] while a run is at work;
/// [`Error::Io`].
pub fn gc(root: &Location, sweep: Sweep) -> Result<Swept> {
    // A folder without a dataset is left alone, and so is a newer version. A first run may have staged something.
    if Manifest::exists(root)? || (staging(root)?.is_none() && commit::all_attempts(root)?.is_empty()) {
        Manifest::read(root)?;
    }
    if !commit::may_replace(root)? {
        return Err(Error::Dataset {
            path: root.path().to_owned(),
            problem: "is neither empty nor a dataset".to_owned(),
            help: "name the folder of a dataset".to_owned(),
        });
    }
    // While either of them is held, nobody else writes.
    let _staging = (!sweep.dry_run).then(|| Staging::open(root)).transpose()?;
    let _lock = sweep.dry_run.then(|| Lock::take(root)).transpose()?;
    let dataset = Dataset::find(root)?;
    let found = leftovers(root, dataset.as_ref().map(Dataset::manifest))?;
    let age = sweep.older_than.unwrap_or(if root.is_in_object_store() { AGE } else { Duration::ZERO });
    let is_new = |time: Option<SystemTime>| {
        let elapsed = time.map(|time| time.elapsed().unwrap_or_default());
        elapsed.is_some_and(|elapsed| elapsed < age)
    };
    // Files that the last commit turned into leftovers may still be read by someone who opened the snapshot before
    // it.
    let path = root.join(manifest::FILE);
    let committed = root.storage().find(&path).map_err(Error::io("look for", path))?;
    let just_committed = committed.is_some_and(|manifest| is_new(manifest.modified));
    let stays = |found: &Leftover| {
        (found.kind.is_work && !sweep.work)
            || just_committed
            || is_new(found.modified)
            || (!root.is_in_object_store() && Lock::is_held(&found.path))
    };
    let (kept, removed): (Vec<_>, Vec<_>) = found.into_iter().partition(stays);
    if !sweep.dry_run {
        for Leftover { path, is_folder, .. } in &removed {
            let storage = root.storage();
            // Without a lock, a run may have written it again since it was found.
            let again = || storage.find(path).map_err(Error::io("look for", path));
            if root.is_in_object_store() && !*is_folder && again()?.is_none_or(|entry| is_new(entry.modified)) {
                continue;
            }
            let gone = if *is_folder { storage.remove_dir_all(path) } else { storage.remove_file(path) };
            gone.map_err(Error::io("remove", path))?;
        }
        commit::forget_empty_plans(root)?;
    }
    Ok(Swept { removed, kept })
}

/// Returns what no manifest names, each item once, by kind and path.
pub(super) fn leftovers(root: &Location, manifest: Option<&Manifest>) -> Result<Vec<Leftover>> {
    let mut found = Vec::new();
    for kind in &KINDS {
        for entry in (kind.find)(root, manifest)? {
            found.push(Leftover::look(root, kind, entry)?);
        }
    }
    Ok(found)
}

impl Leftover {
    fn look(root: &Location, kind: &'static Kind, entry: Entry) -> Result<Self> {
        let Entry { path, is_folder, .. } = entry.clone();
        let files =
            if is_folder { root.storage().files_below(&path).map_err(Error::io("list", &path))? } else { vec![entry] };
        let bytes = files.iter().map(|file| file.bytes).sum();
        let modified = files.iter().filter_map(|file| file.modified).max();
        Ok(Self { kind, path, is_folder, bytes, modified })
    }
}

fn folder(path: PathBuf) -> Entry {
    Entry { path, is_folder: true, bytes: 0, modified: None }
}

/// Returns the staging folder, if an uncommitted run left one.
fn staging(root: &Location) -> Result<Option<PathBuf>> {
    let folder = root.join(commit::STAGING);
    let found = root.storage().list(root.path()).map_err(Error::io("list", root.path()))?;
    let is_there = found.iter().any(|entry| entry.is_folder && entry.path == folder);
    Ok(if is_there && commit::pending(root)?.is_none() { Some(folder) } else { None })
}

/// Returns the data files that the manifest does not name; without a manifest, all of them.
fn orphans(root: &Location, manifest: Option<&Manifest>) -> Result<Vec<Entry>> {
    commit::unnamed(root, manifest.map(|manifest| manifest.files.as_slice()).unwrap_or_default())
}

/// Returns the parts that have a receipt in the staging folder.
fn staged_parts(root: &Location) -> Result<Vec<Part>> {
    let receipts = receipts(root.storage(), &root.join(commit::STAGING))?;
    Ok(receipts.into_iter().map(|receipt| receipt.part).collect())
}

/// Returns the final paths of files of uncommitted parts. An interrupted commit has already put some files there.
fn places_of_work(root: &Location) -> Result<BTreeSet<PathBuf>> {
    let mut parts = staged_parts(root)?;
    for folder in commit::all_attempts(root)? {
        parts.extend(receipts(root.storage(), &folder)?.into_iter().map(|receipt| receipt.part));
    }
    Ok(parts.iter().flat_map(|part| &part.files).map(|file| root.join(&file.path)).collect())
}
