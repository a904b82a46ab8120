//! Keyword indexes that outlive the process that built them.
//!
//! An index is one file in a folder of the user's, named by the snapshot it was built from: another
//! snapshot has another name, so nothing in the folder is ever out of date. The file carries a hash of
//! its bytes; one that is damaged or half-written is as good as absent. It is written under another
//! name first, so two processes that build the same index do not disturb each other. What goes wrong
//! with the folder costs a warning and the time to build the index, never a search.

use std::collections::BTreeSet;
use std::fs;
use std::io::{self, Write};
use std::path::{Path, PathBuf};
use std::time::{Duration, SystemTime};

use tantivy::directory::{Directory, RamDirectory};

use crate::storage::{FileSystem, Storage};

/// How a file begins, before the hash of what follows.
const MAGIC: &[u8] = b"chunkmill keywords\n";

/// Bytes of the hash.
const HASH: usize = 32;

/// Indexes that are kept; those that were written first go first.
const KEPT: usize = 16;

/// How old a file under its first name is before it counts as left behind.
const ABANDONED: Duration = Duration::from_hours(1);

/// How the names of our files begin and end.
const PREFIX: &str = "keywords-";
const SUFFIX: &str = ".index";
const UNFINISHED: &str = ".new";

fn path(folder: &Path, version: u32, snapshot: &str) -> PathBuf {
    // The tool's version stands for the libraries that write the index.
    let key = blake3::hash(format!("{version} {} {snapshot}", env!("CARGO_PKG_VERSION")).as_bytes()).to_hex();
    folder.join(format!("{PREFIX}{}{SUFFIX}", &key[..32]))
}

/// The index of a snapshot, if it is here and as it was written.
pub(super) fn read(folder: &Path, version: u32, snapshot: &str) -> Option<RamDirectory> {
    let bytes = fs::read(path(folder, version, snapshot)).ok()?;
    let (hash, mut rest) = bytes.strip_prefix(MAGIC)?.split_at_checked(HASH)?;
    if blake3::hash(rest).as_bytes() != hash {
        return None;
    }
    let directory = RamDirectory::create();
    while !rest.is_empty() {
        let name = take(&mut rest)?;
        let content = take(&mut rest)?;
        directory.atomic_write(Path::new(std::str::from_utf8(name).ok()?), content).ok()?;
    }
    Some(directory)
}

/// Leaves the index of a snapshot in the folder.
pub(super) fn write(folder: &Path, version: u32, snapshot: &str, directory: &RamDirectory) {
    let to = path(folder, version, snapshot);
    if let Err(error) = try_write(folder, &to, directory) {
        tracing::warn!("the keyword index is not kept for other searches: cannot write {}: {error}", to.display());
    }
}

fn try_write(folder: &Path, to: &Path, directory: &RamDirectory) -> io::Result<()> {
    let mut body = Vec::new();
    for name in names(directory)? {
        let content = directory.atomic_read(Path::new(&name)).map_err(io::Error::other)?;
        put(&mut body, name.as_bytes());
        put(&mut body, &content);
    }
    FileSystem.create_dir_all(folder)?;
    let mut unfinished = to.as_os_str().to_owned();
    unfinished.push(format!(".{}{UNFINISHED}", std::process::id()));
    let unfinished = PathBuf::from(unfinished);
    let written = FileSystem
        .create(&unfinished)
        .and_then(|mut file| {
            file.write_all(MAGIC)?;
            file.write_all(blake3::hash(&body).as_bytes())?;
            file.write_all(&body)?;
            file.flush()
        })
        .and_then(|()| FileSystem.rename(&unfinished, to));
    if written.is_err() {
        let _ = FileSystem.remove_file(&unfinished);
    }
    clean(folder);
    written
}

/// The files of an index, in a fixed order.
fn names(directory: &RamDirectory) -> io::Result<BTreeSet<String>> {
    let managed = directory.atomic_read(Path::new(".managed.json")).map_err(io::Error::other)?;
    let mut names: BTreeSet<String> = serde_json::from_slice(&managed)?;
    names.extend([".managed.json".to_owned(), "meta.json".to_owned()]);
    names.retain(|name| directory.exists(Path::new(name)).unwrap_or_default());
    Ok(names)
}

/// Removes the oldest indexes, and what was left unfinished long ago.
fn clean(folder: &Path) {
    let Ok(entries) = fs::read_dir(folder) else { return };
    let mut indexes = Vec::new();
    for entry in entries.flatten() {
        let name = entry.file_name().to_string_lossy().into_owned();
        let Ok(written) = entry.metadata().and_then(|metadata| metadata.modified()) else { continue };
        if name.starts_with(PREFIX) && name.ends_with(SUFFIX) {
            indexes.push((written, entry.path()));
        } else if name.starts_with(PREFIX)
            && name.ends_with(UNFINISHED)
            && SystemTime::now().duration_since(written).is_ok_and(|age| age > ABANDONED)
        {
            let _ = FileSystem.remove_file(&entry.path());
        }
    }
    indexes.sort_unstable();
    for (_, old) in indexes.iter().rev().skip(KEPT) {
        let _ = FileSystem.remove_file(old);
    }
}

/// Appends bytes with their number before them.
fn put(to: &mut Vec<u8>, bytes: &[u8]) {
    to.extend((bytes.len() as u64).to_le_bytes());
    to.extend(bytes);
}

fn take<'b>(from: &mut &'b [u8]) -> Option<&'b [u8]> {
    let (length, rest) = from.split_first_chunk()?;
    let (bytes, rest) = rest.split_at_checked(usize::try_from(u64::from_le_bytes(*length)).ok()?)?;
    *from = rest;
    Some(bytes)
}
