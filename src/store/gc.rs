//! Removing what no manifest names.
//!
//! Every commit sweeps up behind itself, so there is something to remove only after a run that was stopped: data files of
//! the old snapshot that the sweep did not reach, or the staging folder. Finished parts in there are worth
//! their vectors, because the next run continues with them; they go only when that is asked for.

use std::collections::BTreeSet;
use std::fs;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use super::commit::{self, Staging};
use super::lock::Lock;
use super::workspace::receipts;
use super::{Dataset, Disk, Manifest, Part};
use crate::error::{Error, Result};

/// A kind of leftover. Adding one is an entry in [`KINDS`].
#[derive(Debug)]
pub struct Kind {
    /// A short stable word for machines.
    pub name: &'static str,
    /// What it is, for people.
    pub what: &'static str,
    /// Whether it holds work that a later run would go on with.
    pub is_work: bool,
    find: fn(&Path, Option<&Manifest>) -> Vec<PathBuf>,
}

/// Every kind of leftover.
pub static KINDS: [Kind; 4] = [
    Kind {
        name: "orphan",
        what: "a data file that the manifest does not name",
        is_work: false,
        find: |root, manifest| {
            let work = places_of_work(root);
            orphans(root, manifest).into_iter().filter(|path| !work.contains(path)).collect()
        },
    },
    Kind {
        name: "unfinished",
        what: "begun by a run that was stopped before it finished a part",
        is_work: false,
        find: |root, _| staging(root).filter(|_| staged_parts(root).is_empty()).into_iter().collect(),
    },
    Kind {
        name: "staged",
        what: "finished by a run that was stopped, for the next `chunkmill index` to go on with",
        is_work: true,
        find: |root, manifest| {
            let folder = staging(root).filter(|_| !staged_parts(root).is_empty());
            // A run that was stopped while it committed has put some of its files in place already.
            let work = places_of_work(root);
            let placed = orphans(root, manifest).into_iter().filter(|path| work.contains(path));
            folder.into_iter().chain(placed).collect()
        },
    },
    Kind {
        name: "shards",
        what: "made by a shard of a plan, for `chunkmill commit` to publish; or too late for that",
        is_work: true,
        find: |root, _| commit::all_attempts(root),
    },
];

/// A file, or a folder with all that is in it, that no manifest names.
#[derive(Debug, Clone)]
pub struct Leftover {
    /// What kind of leftover it is.
    pub kind: &'static Kind,
    /// Where it is.
    pub path: PathBuf,
    /// How much room it takes.
    pub bytes: u64,
}

/// What to remove.
#[derive(Debug, Clone, Copy, Default)]
pub struct Sweep {
    /// Only say what would be removed.
    pub dry_run: bool,
    /// Remove also what a later run would go on with.
    pub work: bool,
}

/// What came of it.
#[derive(Debug)]
pub struct Swept {
    /// What was removed, or in a dry run would be.
    pub removed: Vec<Leftover>,
    /// What is kept because a later run goes on with it.
    pub kept: Vec<Leftover>,
}

/// Removes what no manifest names from the dataset in `root`. A commit that was stopped after its decisive step is ended
/// first.
///
/// # Errors
/// Those of [`Manifest::read`], nothing being changed then; [`Error::Locked`] while a run is at work; [`Error::Io`].
pub fn gc(root: &Path, sweep: Sweep, disk: &Arc<dyn Disk>) -> Result<Swept> {
    // A folder without a dataset is left alone, and so is one of a newer version; a first run may have staged something.
    if Manifest::exists(root) || (staging(root).is_none() && commit::all_attempts(root).is_empty()) {
        Manifest::read(root)?;
    }
    if !commit::may_replace(root) {
        return Err(Error::Dataset {
            path: root.to_owned(),
            problem: "is not empty and not a dataset".to_owned(),
            help: "name the folder of a dataset".to_owned(),
        });
    }
    let _writer = if sweep.dry_run {
        Writer::Watching(Lock::take(root)?)
    } else {
        Writer::Sweeping(Staging::open(root, Arc::clone(disk))?)
    };
    let dataset = Dataset::find(root)?;
    let found = leftovers(root, dataset.as_ref().map(Dataset::manifest));
    let stays = |found: &Leftover| (found.kind.is_work && !sweep.work) || Lock::is_held(&found.path);
    let (kept, removed): (Vec<_>, Vec<_>) = found.into_iter().partition(stays);
    if !sweep.dry_run {
        for leftover in &removed {
            let path = &leftover.path;
            let gone = if path.is_dir() { disk.remove_dir_all(path) } else { disk.remove_file(path) };
            gone.map_err(Error::io("remove", path))?;
        }
        commit::forget_empty_plans(root, &**disk)?;
    }
    Ok(Swept { removed, kept })
}

/// Who keeps others from writing meanwhile.
#[expect(dead_code, reason = "they are held for what they do when they are dropped")]
enum Writer {
    Watching(Lock),
    Sweeping(Staging),
}

/// What no manifest names, each once, by kind and path.
pub(super) fn leftovers(root: &Path, manifest: Option<&Manifest>) -> Vec<Leftover> {
    let of = |kind: &'static Kind| {
        (kind.find)(root, manifest).into_iter().map(move |path| Leftover { kind, bytes: size(&path), path })
    };
    KINDS.iter().flat_map(of).collect()
}

/// The folder in which the end of a commit waits for the next run: what is staged there is the snapshot's already.
pub(super) fn pending(root: &Path) -> Option<PathBuf> {
    let folder = root.join(commit::STAGING);
    commit::is_committed(root).then_some(folder)
}

/// The staging folder, if a run that is not committed has left it.
fn staging(root: &Path) -> Option<PathBuf> {
    Some(root.join(commit::STAGING)).filter(|folder| folder.is_dir() && pending(root).is_none())
}

/// Data files that the manifest does not name; without a manifest that is all of them.
fn orphans(root: &Path, manifest: Option<&Manifest>) -> Vec<PathBuf> {
    commit::unnamed(root, manifest.map(|manifest| manifest.files.as_slice()).unwrap_or_default())
}

/// The parts that have a receipt in the staging folder.
fn staged_parts(root: &Path) -> Vec<Part> {
    receipts(&root.join(commit::STAGING)).map(|receipt| receipt.part).collect()
}

/// Where files of parts that are not committed are put: a commit that was stopped has put some of them there already.
fn places_of_work(root: &Path) -> BTreeSet<PathBuf> {
    let attempts = commit::all_attempts(root);
    let attempted = attempts.iter().flat_map(|folder| receipts(folder)).map(|receipt| receipt.part);
    let parts: Vec<Part> = staged_parts(root).into_iter().chain(attempted).collect();
    parts.iter().flat_map(|part| &part.files).map(|file| root.join(&file.path)).collect()
}

/// How much room a file takes, or all files of a folder.
fn size(path: &Path) -> u64 {
    let len = |path: &Path| fs::symlink_metadata(path).map_or(0, |metadata| metadata.len());
    if path.is_dir() { commit::files_below(path).iter().map(|file| len(file)).sum() } else { len(path) }
}
