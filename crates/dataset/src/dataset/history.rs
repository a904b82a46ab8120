//! The changes of each commit, for copies of the dataset that follow it.
//!
//! A commit removes the files of the snapshot before. Before it does, it writes down which chunks are not the same: their ids,
//! with the hashes of content and row before and after, a line each, in `.changes/FROM-TO.jsonl.zst`. The changes since
//! any snapshot follow from the files on the way from it to the current one. Like `.staging`, the folder is no part of the
//! dataset: no manifest names it, and two datasets with the same snapshot may have come to it in different ways. So what
//! it says is used only if it leads to the current snapshot.
//!
//! The files may take a tenth of the dataset, and [`SMALL`]. Those of the commits longest ago are removed first.

use std::collections::btree_map;
use std::collections::{BTreeMap, BTreeSet, VecDeque};
use std::io::{BufRead, BufReader, Write};
use std::path::{Path, PathBuf};
use std::sync::Arc;

use chunkmill_base::error::{Error, Result};

use super::difference::{ChunkChanges, Difference, RowState, compare, contents};
use super::workspace::{Workspace, check_folder, make_folder};
use super::{Changes, Dataset};
use crate::storage::{Entry, Location};

/// Folder of the changes.
pub(super) const FOLDER: &str = ".changes";

/// Bytes that the files may take in any dataset.
const SMALL: u64 = 1 << 20;

/// Extension of the files.
const EXTENSION: &str = ".jsonl.zst";

/// Compression level.
const ZSTD_LEVEL: i32 = 3;

/// A line: the ids of a document and a chunk, and the hashes of content and row, before and after.
type Line = (Arc<str>, String, Option<[String; 2]>, Option<[String; 2]>);

/// Writes down what differs between a snapshot and the one that is about to replace it. Returns the numbers of chunks, or
/// `None` if there are too many files to compare, or the earlier snapshot is damaged; then nothing is written.
///
/// # Errors
/// [`Error::Io`]; those of [`Dataset::read`] for the later snapshot.
pub(super) fn record(workspace: &Workspace, before: &Dataset, after: &Dataset) -> Result<Option<ChunkChanges>> {
    let root = after.root();
    let staged = workspace.create()?;
    let path = staged.path().to_owned();
    let failed = |error| Error::io("write", &path)(error);
    let mut encoder = zstd::Encoder::new(staged, ZSTD_LEVEL).map_err(failed)?;
    encoder.include_checksum(true).map_err(failed)?;
    let mut changes = ChunkChanges::default();
    let compared = compare(before, after, |differences| {
        let (added, removed) = contents(&differences);
        changes.added += added;
        changes.removed += removed;
        for Difference { doc_id, chunk_id, before, after } in differences {
            let [before, after] = [before, after].map(|state| state.as_ref().map(RowState::texts));
            let line: Line = (doc_id, chunk_id, before, after);
            let line = serde_json::to_string(&line).unwrap_or_default() + "\n";
            encoder.write_all(line.as_bytes()).map_err(failed)?;
        }
        Ok(())
    });
    let staged = encoder.finish().map_err(failed)?.sync()?;
    let is_whole = match compared {
        Ok(is_whole) => is_whole,
        // A damaged dataset must not stop the run that replaces it.
        Err(Error::Dataset { .. }) => false,
        Err(error) => return Err(error),
    };
    let storage = root.storage();
    let (from, to) = (before.id(), after.id());
    if !is_whole || from == to {
        storage.remove_file(&staged).map_err(Error::io("remove", staged))?;
    } else {
        let folder = root.join(FOLDER);
        make_folder(root, &folder)?;
        let path = folder.join(format!("{from}-{to}{EXTENSION}"));
        storage.rename(&staged, &path).map_err(Error::io("rename to", path))?;
        storage.sync_dir(&folder).map_err(Error::io("sync", folder))?;
    }
    changes.kept = after.manifest().counts.chunks.saturating_sub(changes.added);
    Ok(is_whole.then_some(changes))
}

/// The changes of one commit.
struct Step {
    from: String,
    to: String,
    file: Entry,
}

/// Returns the commits that are written down.
fn steps(root: &Location) -> Result<Vec<Step>> {
    let folder = root.join(FOLDER);
    let there = root.storage().find(&folder).map_err(Error::io("look for", &folder))?;
    // Through a link, the files would be somebody else's.
    if there.is_some_and(|there| !there.is_folder) || check_folder(root, &folder).is_err() {
        return Ok(Vec::new());
    }
    let found = root.storage().list(&folder).map_err(Error::io("list", folder))?;
    let is_id = |id: &str| id.len() == ID && id.bytes().all(|digit| matches!(digit, b'0'..=b'9' | b'a'..=b'f'));
    let step = |file: Entry| {
        let name = file.name();
        let (from, to) = name.strip_suffix(EXTENSION)?.split_once('-').filter(|(from, to)| is_id(from) && is_id(to))?;
        Some(Step { from: from.to_owned(), to: to.to_owned(), file })
    };
    Ok(found.into_iter().filter(|entry| !entry.is_folder).filter_map(step).collect())
}

/// Returns the commits that lead to a snapshot, the latest first, each with the position of the commit that follows it.
fn leading_to(steps: &[Step], snapshot: &str) -> Vec<(usize, Option<usize>)> {
    let mut found: Vec<(usize, Option<usize>)> = Vec::new();
    let mut seen = BTreeSet::from([snapshot]);
    let mut open = VecDeque::from([(snapshot, None)]);
    while let Some((snapshot, next)) = open.pop_front() {
        for (index, step) in steps.iter().enumerate().filter(|(_, step)| step.to == snapshot) {
            if seen.insert(&step.from) {
                found.push((index, next));
                open.push_back((&step.from, Some(found.len() - 1)));
            }
        }
    }
    found
}

/// Returns the files in the folder that are no longer of use: those that do not lead to the current snapshot, and those of
/// long ago.
///
/// # Errors
/// [`Error::Io`]
pub(super) fn outdated(root: &Location, current: Option<&Dataset>) -> Result<Vec<Entry>> {
    let mut steps = steps(root)?;
    let mut kept = BTreeSet::new();
    if let Some(current) = current {
        let total: u64 = current.manifest().files.iter().map(|file| file.bytes).sum();
        let mut left = total / 10 + SMALL;
        for (index, _) in leading_to(&steps, &current.id()) {
            let Some(rest) = left.checked_sub(steps[index].file.bytes) else { break };
            left = rest;
            kept.insert(steps[index].file.path.clone());
        }
    }
    steps.retain(|step| !kept.contains(&step.file.path));
    Ok(steps.into_iter().map(|step| step.file).collect())
}

/// Number of digits of an id.
const ID: usize = 32;

/// Shortest beginning of an id that is taken for one.
const SHORTEST_ID: usize = 6;

impl Changes {
    /// Returns which chunks of a dataset are not the same as in an earlier snapshot. `since` names it by its id, the
    /// beginning of it, or the place of a copy of the dataset. A word that may be an id is one, unless there is a folder
    /// of that name.
    ///
    /// # Errors
    /// [`Error::Setting`] if it is not known what changed since then; [`Error::Dataset`] if what was written down, or the
    /// copy, is damaged; [`Error::Io`].
    pub fn since(dataset: &Dataset, since: &str) -> Result<Self> {
        let is_hex = since.bytes().all(|byte| matches!(byte, b'0'..=b'9' | b'a'..=b'f'));
        let is_here = Path::new(since).exists();
        if is_hex && (SHORTEST_ID..=ID).contains(&since.len()) && !is_here {
            return changes_since(dataset, since);
        }
        if is_hex && !is_here {
            let problem = format!(
                "{since} is neither a folder nor the beginning of an id, which has {SHORTEST_ID} to {ID} digits"
            );
            return Err(Error::setting("--since", problem, "`chunkmill stats` shows the id of a snapshot"));
        }
        Self::between(&Dataset::open(since.parse::<Location>()?)?, dataset)
    }
}

/// Returns what changed in a dataset since a snapshot, which `since` names by its id or the beginning of it.
fn changes_since(dataset: &Dataset, since: &str) -> Result<Changes> {
    let current = dataset.id();
    if current.starts_with(since) {
        return Ok(Changes::new(current.clone(), current, Vec::new()));
    }
    let steps = steps(dataset.root())?;
    let way = leading_to(&steps, &current);
    let mut starts = way.iter().enumerate().filter(|(_, (index, _))| steps[*index].from.starts_with(since));
    let (start, is_only) = (starts.next(), starts.next().is_none());
    let Some((start, _)) = start.filter(|_| is_only) else {
        return Err(unknown(since, &way.iter().map(|(index, _)| &*steps[*index].from).collect::<Vec<_>>(), is_only));
    };
    let id = steps[way[start].0].from.clone();
    let mut all: BTreeMap<(Arc<str>, String), Difference> = BTreeMap::new();
    let mut next = Some(start);
    while let Some((index, following)) = next.map(|position| way[position]) {
        for difference in read(dataset.root(), &steps[index].file.path)? {
            let difference = difference?;
            match all.entry((Arc::clone(&difference.doc_id), difference.chunk_id.clone())) {
                btree_map::Entry::Occupied(mut known) => known.get_mut().after = difference.after,
                btree_map::Entry::Vacant(place) => {
                    place.insert(difference);
                }
            }
        }
        next = following;
    }
    Ok(Changes::new(id, current, all.into_values().collect()))
}

fn unknown(since: &str, known: &[&str], is_only: bool) -> Error {
    let problem = if is_only {
        format!("it is not known what changed since the snapshot {since}")
    } else {
        format!("several snapshots have ids that begin with {since}")
    };
    let help = match known {
        [] => "compare with a copy of that snapshot: `--since FOLDER`; or take all rows".to_owned(),
        [.., oldest] => format!(
            "it is known since {oldest} and later; for an earlier one, compare with a copy of it: `--since FOLDER`, or take all rows"
        ),
    };
    Error::setting("--since", problem, help)
}

/// Reads what a commit wrote down.
fn read(root: &Location, path: &Path) -> Result<impl Iterator<Item = Result<Difference>> + use<>> {
    let damaged = |path: PathBuf, problem: String| Error::Dataset {
        path,
        problem: format!("cannot be read: {problem}"),
        help: "remove the file; then compare with a copy of the earlier snapshot, or take all rows".to_owned(),
    };
    let opened = root.storage().open(path).and_then(zstd::Decoder::new);
    let opened = opened.map_err(|error| damaged(path.to_owned(), error.to_string()))?;
    let path = path.to_owned();
    let parse = |line: &str| {
        let (doc_id, chunk_id, before, after): Line = serde_json::from_str(line).ok()?;
        let states = [before, after].map(|hashes| match hashes {
            Some([content, row]) => RowState::parse(&content, &row).map(Some),
            None => Some(None),
        });
        let [before, after] = states;
        Some(Difference { doc_id, chunk_id, before: before?, after: after? })
    };
    Ok(BufReader::new(opened).lines().map(move |line| {
        let line = line.map_err(|error| damaged(path.clone(), error.to_string()))?;
        parse(&line).ok_or_else(|| damaged(path.clone(), format!("{line:?} is no change")))
    }))
}
