//! Keyword indexes that are cached between processes.
//!
//! An index is one file in a cache folder. Its name is derived from the snapshot and the way it was built. Another
//! snapshot has another name, so no file in the folder is ever out of date. The file contains a hash of its bytes;
//! a damaged or incomplete file is treated as missing. It is first written under another name, so two processes
//! that build the same index do not disturb each other. A problem with the folder costs a warning and the time to
//! build the index, but no search fails.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::io::{self, Write};
use std::path::{Path, PathBuf};
use std::time::{Duration, SystemTime};

use chunkmill_base::safely;
use chunkmill_dataset::storage::{FileSystem, Storage};
use tantivy::directory::{Directory, RamDirectory};

/// Start of a file, before the hash of the rest.
const MAGIC: &[u8] = b"chunkmill keywords\n";

/// Size of the hash in bytes.
const HASH: usize = 32;

/// Number of indexes to keep. The oldest are removed first.
const KEPT: usize = 16;

/// Age at which an unfinished file counts as abandoned.
const ABANDONED: Duration = Duration::from_hours(1);

/// Name of the file in which the index lists its files.
const MANAGED: &str = ".managed.json";

/// Start and ends of our file names.
const PREFIX: &str = "keywords-";
const SUFFIX: &str = ".index";
const UNFINISHED: &str = ".new";

/// The contents of one cached file: named folders of files in memory.
pub(super) type Entry = BTreeMap<String, RamDirectory>;

/// Name of the file in a folder that contains only a text.
const TEXT: &str = "text";

/// Creates a folder that contains only a text.
pub(super) fn of_text(text: &str) -> RamDirectory {
    let directory = RamDirectory::create();
    // Writing to memory does not fail.
    let _ = directory.atomic_write(Path::new(TEXT), text.as_bytes());
    directory
}

/// Returns the text of a folder that contains only a text.
pub(super) fn text_of(directory: &RamDirectory) -> Option<String> {
    String::from_utf8(directory.atomic_read(Path::new(TEXT)).ok()?).ok()
}

fn path(folder: &Path, key: &str) -> PathBuf {
    // The version of the program stands for the versions of the libraries that write the index.
    let key = blake3::hash(format!("{key} {}", env!("CARGO_PKG_VERSION")).as_bytes()).to_hex();
    folder.join(format!("{PREFIX}{}{SUFFIX}", &key[..32]))
}

/// Reads the entry of a key, if it exists and is intact.
pub(super) fn read(folder: &Path, key: &str) -> Option<Entry> {
    let bytes = safely::read(&path(folder, key)).ok()?;
    let (hash, mut rest) = bytes.strip_prefix(MAGIC)?.split_at_checked(HASH)?;
    if blake3::hash(rest).as_bytes() != hash {
        return None;
    }
    let mut entry = Entry::new();
    while !rest.is_empty() {
        let [part, name] = [take(&mut rest)?, take(&mut rest)?].map(std::str::from_utf8);
        let content = take(&mut rest)?;
        let directory = entry.entry(part.ok()?.to_owned()).or_insert_with(RamDirectory::create);
        directory.atomic_write(Path::new(name.ok()?), content).ok()?;
    }
    Some(entry)
}

/// Writes an entry to the folder.
pub(super) fn write(folder: &Path, key: &str, entry: &Entry) {
    let to = path(folder, key);
    if let Err(error) = try_write(folder, &to, entry) {
        tracing::warn!("the keyword index is not cached: cannot write {}: {error}", to.display());
    }
}

fn try_write(folder: &Path, to: &Path, entry: &Entry) -> io::Result<()> {
    let mut body = Vec::new();
    for (part, directory) in entry {
        for name in names(directory)? {
            let content = directory.atomic_read(Path::new(&name)).map_err(io::Error::other)?;
            for bytes in [part.as_bytes(), name.as_bytes(), &content] {
                put(&mut body, bytes);
            }
        }
    }
    // The words of an index are those of the documents.
    safely::create_private_dir(folder)?;
    let mut unfinished = to.as_os_str().to_owned();
    unfinished.push(format!(".{}-{:?}{UNFINISHED}", std::process::id(), std::thread::current().id()));
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

/// Returns the files of an index, in a fixed order.
fn names(directory: &RamDirectory) -> io::Result<BTreeSet<String>> {
    let mut names: BTreeSet<String> = BTreeSet::from([TEXT, MANAGED, "meta.json"].map(str::to_owned));
    if let Ok(managed) = directory.atomic_read(Path::new(MANAGED)) {
        names.extend(serde_json::from_slice::<BTreeSet<String>>(&managed)?);
    }
    names.retain(|name| directory.exists(Path::new(name)).unwrap_or_default());
    Ok(names)
}

/// Removes the oldest indexes, and abandoned files.
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

/// Appends bytes with their length before them.
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
