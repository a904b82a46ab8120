//! A cache of a dataset's data in the form in which a search needs it, kept between processes.
//!
//! Each part (rows, vectors, sparse vectors, keyword indexes) is one file in a cache folder, which is mapped into memory. Its
//! name has the place of the dataset, its snapshot and the part. Another snapshot has another name, so no file is ever out of
//! date; those of other snapshots of the same place are removed after a while. A file has checksums of its bytes; a damaged or
//! incomplete file is treated as missing. It is first written under another name, so two processes that write the same
//! file do not disturb each other. A problem with the folder costs a warning and the time to read the dataset, but no search
//! fails.
//!
//! | file | question it answers |
//! | --- | --- |
//! | `sections` | How are named blocks of bytes kept in one file? |
//! | `mapped` | How does a file become memory? |
//! | `directory` | How does the keyword index read its files? |

mod directory;
#[expect(unsafe_code, reason = "a file becomes memory; the module's functions say why that is sound")]
mod mapped;
mod sections;

pub(super) use directory::{IndexDirectory, insert_index};
pub(super) use sections::{Sections, column, numbers, table_of};

use std::fs;
use std::hash::{BuildHasher, RandomState};
use std::io;
use std::path::{Path, PathBuf};
use std::time::{Duration, SystemTime};

use chunkmill_base::error::Result;
use chunkmill_base::safely;
use chunkmill_dataset::dataset::Dataset;
use chunkmill_dataset::storage::{FileSystem, Storage};

/// Version of the contents. Increase this when the same dataset would have other contents, for example after a change of
/// fields or tokenization.
const VERSION: u32 = 7;

/// Number of files to keep, and the number of their bytes. The oldest are removed first.
const KEPT: usize = 64;
const KEPT_BYTES: u64 = 8 << 30;

/// Age at which an unfinished file counts as abandoned, and one of another snapshot of the same place as stale: a search that is
/// still open may need others of its own.
const ABANDONED: Duration = Duration::from_hours(1);

/// Start and ends of our file names.
const PREFIX: &str = "search-";
const SUFFIX: &str = ".index";
const UNFINISHED: &str = ".new";

/// The cached files of a snapshot.
#[derive(Debug)]
pub(super) struct Cache {
    /// `None` if nothing is cached.
    folder: Option<PathBuf>,
    /// Start of the names of all files for the place of the dataset.
    place: String,
    /// Start of the names of those for the snapshot.
    snapshot: String,
}

impl Cache {
    pub(super) fn new(folder: Option<PathBuf>, dataset: &Dataset) -> Self {
        let short = |text: &str, digits: usize| blake3::hash(text.as_bytes()).to_hex()[..digits].to_owned();
        let path = dataset.root().path();
        let place = path.canonicalize().unwrap_or_else(|_| path.to_owned());
        let place = format!("{PREFIX}{}-", short(&place.to_string_lossy(), 16));
        // The version of the program stands for the versions of the libraries that write the index.
        let version = format!("{VERSION} {} {}", env!("CARGO_PKG_VERSION"), dataset.id());
        let snapshot = format!("{place}{}-", short(&version, 32));
        Self { folder, place, snapshot }
    }

    /// Opens a part of the snapshot: from its file, or else as `build` builds it from the dataset, and caches it.
    ///
    /// # Errors
    /// Those of `build`, and of `open` for what it built.
    pub(super) fn load<T>(
        &self,
        part: &str,
        build: impl FnOnce() -> Result<Sections>,
        open: impl Fn(&Sections) -> Result<T>,
    ) -> Result<T> {
        let Some(folder) = &self.folder else { return open(&build()?) };
        let path = folder.join(format!("{}{part}{SUFFIX}", self.snapshot));
        if let Some(opened) = read(&path).and_then(|sections| open(&sections).ok()) {
            return Ok(opened);
        }
        let sections = build()?;
        if let Err(error) = self.write(folder, &path, &sections) {
            tracing::warn!("the search index is not cached: cannot write {}: {error}", path.display());
        }
        open(&sections)
    }

    fn write(&self, folder: &Path, to: &Path, sections: &Sections) -> io::Result<()> {
        // The words of an index are those of the documents.
        safely::create_private_dir(folder)?;
        // Nobody else has this name, on this machine or another: a file must not change once it is mapped.
        let mut unfinished = to.as_os_str().to_owned();
        unfinished.push(format!(".{:016x}{UNFINISHED}", RandomState::new().hash_one(std::process::id())));
        let unfinished = PathBuf::from(unfinished);
        let written = safely::create_private(&unfinished)
            .and_then(|mut file| sections.write(&mut file))
            .and_then(|()| FileSystem.rename(&unfinished, to));
        if written.is_err() {
            let _ = FileSystem.remove_file(&unfinished);
        }
        self.clean(folder);
        written
    }

    /// Removes files of earlier snapshots, the oldest of other datasets, and abandoned ones.
    fn clean(&self, folder: &Path) {
        let Ok(entries) = fs::read_dir(folder) else { return };
        let mut kept = Vec::new();
        for entry in entries.flatten() {
            let name = entry.file_name().to_string_lossy().into_owned();
            let Ok(metadata) = entry.metadata() else { continue };
            let Ok(written) = metadata.modified() else { continue };
            let is_old = SystemTime::now().duration_since(written).is_ok_and(|age| age > ABANDONED);
            if !name.starts_with(PREFIX) {
                continue;
            }
            if name.ends_with(SUFFIX) {
                let is_ours = name.starts_with(&self.snapshot);
                let is_stale = is_old && !is_ours && name.starts_with(&self.place);
                kept.push((is_ours, !is_stale, written, metadata.len(), name));
            } else if name.ends_with(UNFINISHED) && is_old {
                let _ = FileSystem.remove_file(&entry.path());
            }
        }
        kept.sort_unstable();
        let mut bytes = 0;
        for (number, (is_ours, is_current, _, len, name)) in kept.iter().rev().enumerate() {
            bytes += len;
            let is_too_much = !is_ours && (number >= KEPT || bytes > KEPT_BYTES);
            if is_too_much || !is_current {
                let _ = FileSystem.remove_file(&folder.join(name));
            }
        }
    }
}

/// Reads a file, if it exists and is intact.
fn read(path: &Path) -> Option<Sections> {
    Sections::read(&mapped::map(&safely::open(path).ok()?).ok()?)
}
