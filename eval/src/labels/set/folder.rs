//! A set's folder: where its parts are, and how all of them are replaced at once.
//!
//! A new set is written to [`STAGING`], which becomes [`NEW`] by one rename. That is the moment of the change:
//! readers look for each part in `NEW` first. Afterwards the parts move to their own places. A process that is killed
//! at any moment therefore leaves the old set or the new one, and the next one that writes finishes the move.

use std::path::{Path, PathBuf};

use chunkmill::error::Result;

use crate::data::files::{remove, rename, sync_folder};

/// The documents, in a set's folder.
pub const CORPUS: &str = "corpus";

/// The questions, in a set's folder.
pub const QUERIES: &str = "queries.jsonl";

/// Folder in which a new set is written. It means nothing yet.
const STAGING: &str = ".chunkmill-import";

/// Folder of a complete new set whose parts have not all moved to their places.
const NEW: &str = ".chunkmill-new";

/// Name under which a part of the old set waits for its removal.
const OLD: &str = "old";

/// Returns where a part of a set is, `corpus` or `queries.jsonl`.
fn part(set: &Path, name: &str) -> PathBuf {
    let new = set.join(NEW).join(name);
    if new.exists() { new } else { set.join(name) }
}

/// Returns the folder of a set's documents.
pub fn corpus_of(set: &Path) -> PathBuf {
    part(set, CORPUS)
}

/// Returns the file of a set's questions.
pub fn queries_of(set: &Path) -> PathBuf {
    part(set, QUERIES)
}

/// Returns whether a folder contains a set: documents and questions.
pub fn is_set(folder: &Path) -> bool {
    corpus_of(folder).is_dir() && queries_of(folder).is_file()
}

/// Returns whether an import into a folder was interrupted.
pub(crate) fn was_interrupted(set: &Path) -> bool {
    [STAGING, NEW].iter().any(|name| set.join(name).exists())
}

/// Returns an empty folder for the parts of a new set, after finishing what was interrupted.
///
/// # Errors
/// [`chunkmill::error::Error::Io`] if something cannot be moved or removed.
pub(crate) fn stage(set: &Path) -> Result<PathBuf> {
    settle(set)?;
    let staging = set.join(STAGING);
    remove(&staging)?;
    Ok(staging)
}

/// Makes the parts that were written below [`stage`] those of the set.
///
/// # Errors
/// [`chunkmill::error::Error::Io`] if one cannot be moved.
pub(crate) fn commit(set: &Path) -> Result<()> {
    let staging = set.join(STAGING);
    sync_folder(&staging);
    rename(&staging, &set.join(NEW))?;
    sync_folder(set);
    settle(set)
}

/// Moves the parts of a new set to their places, if a process was killed before it did.
///
/// # Errors
/// [`chunkmill::error::Error::Io`] if one cannot be moved.
pub(crate) fn settle(set: &Path) -> Result<()> {
    let new = set.join(NEW);
    if !new.exists() {
        return Ok(());
    }
    for name in [CORPUS, QUERIES] {
        let (from, to) = (new.join(name), set.join(name));
        if from.exists() {
            let old = new.join(OLD);
            remove(&old)?;
            if to.symlink_metadata().is_ok() {
                rename(&to, &old)?;
            }
            rename(&from, &to)?;
        }
    }
    sync_folder(set);
    remove(&new)
}
