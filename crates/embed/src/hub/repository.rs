//! A repository of the hub, and its files in the cache.

use std::fmt::Write;
use std::fs;
use std::io;
use std::path::{Path, PathBuf};

use chunkmill_base::safely;
use hf_hub::{Cache, CacheRepo, Repo, RepoType};
use sha1::Sha1;
use sha2::{Digest, Sha256};

/// The contents of a repository.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Kind {
    /// A model.
    Model,
    /// A dataset of the hub.
    Dataset,
}

/// The reason why a file is not available, and how to fix it.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{problem}\n  help: {help}")]
pub struct Problem {
    /// The problem.
    pub problem: String,
    /// How to fix it.
    pub help: String,
    /// Whether the file arrived but does not match the announced hash.
    pub is_wrong: bool,
}

impl Problem {
    pub(super) fn new(problem: impl Into<String>, help: &str) -> Self {
        Self { problem: problem.into(), help: help.to_owned(), is_wrong: false }
    }
}

/// One revision of a repository.
#[derive(Debug)]
pub struct Repository {
    pub(super) kind: Kind,
    pub(super) id: String,
    pub(super) revision: String,
    pub(super) cached: CacheRepo,
}

impl Repository {
    /// Creates a handle to the repository `owner/name`, or `name`, at a commit, branch or tag. Nothing is
    /// requested or read yet.
    #[must_use]
    pub fn new(kind: Kind, id: &str, revision: &str) -> Self {
        let r#type = match kind {
            Kind::Model => RepoType::Model,
            Kind::Dataset => RepoType::Dataset,
        };
        let repo = Repo::with_revision(id.to_owned(), r#type, revision.to_owned());
        let cached = Cache::new(cache_folder()).repo(repo);
        Self { kind, id: id.to_owned(), revision: revision.to_owned(), cached }
    }

    /// Returns the cache folder for the files of a commit.
    pub fn commit_folder(&self, commit: &str) -> PathBuf {
        self.cached.pointer_path(commit)
    }

    /// Returns the cache folder with the files of this revision, if there is one.
    pub fn cached_folder(&self) -> Option<PathBuf> {
        let by_commit = self.commit_folder(&self.revision);
        // A branch or a tag is a file that names a commit; looking up the empty name finds the folder itself.
        if by_commit.is_dir() {
            return Some(by_commit);
        }
        // A FIFO in its place would block.
        let named = self.reference().is_file().then(|| self.cached.get(""));
        named.flatten().filter(|folder| folder.is_dir())
    }

    /// Returns a file from the cache, or downloads it; `None` if the repository does not contain it.
    ///
    /// # Errors
    /// [`Problem`] if it is not available, or does not match the announced hash.
    pub fn file(&self, name: &str) -> Result<Option<PathBuf>, Problem> {
        if plain(name).is_none() {
            return Err(Problem::new(format!("`{name}` points outside the repository"), "do not use this repository"));
        }
        if let Some(path) = self.cached_folder().map(|folder| folder.join(name)).filter(|path| path.exists()) {
            check(name, &path)?;
            return Ok(Some(path));
        }
        self.fetch(name)
    }

    /// Returns the cache folder that contains all files at or below a path, and downloads the missing ones. The
    /// empty path means all files.
    ///
    /// # Errors
    /// [`Problem`] if a file is not available, or does not match the announced hash.
    pub fn folder(&self, below: &str) -> Result<PathBuf, Problem> {
        if is_offline() {
            let folder = self.cached_folder();
            let folder =
                folder.ok_or_else(|| Problem::new("it is not in the cache", "HF_HUB_OFFLINE is set; unset it"))?;
            check_all(&folder.join(below))?;
            return Ok(folder);
        }
        let (commit, names) = self.list()?;
        let pinned = Self::new(self.kind, &self.id, &commit);
        let inside = |name: &&String| below.is_empty() || Path::new(name.as_str()).starts_with(below);
        for name in names.iter().filter(inside) {
            pinned.file(name)?;
        }
        if commit != self.revision {
            self.remember(&commit)?;
        }
        Ok(self.commit_folder(&commit))
    }

    pub(super) fn remember(&self, commit: &str) -> Result<(), Problem> {
        let path = self.reference();
        let folder = path.parent().unwrap_or(&path);
        let written = fs::create_dir_all(folder).and_then(|()| shared_file(folder)).and_then(|mut staged| {
            io::Write::write_all(&mut staged, commit.as_bytes())?;
            staged.persist(&path).map_err(|error| error.error)
        });
        written.map(drop).map_err(|error| unwritable(&path, &error))
    }

    /// Returns the file of the cache that names the commit of this branch or tag.
    fn reference(&self) -> PathBuf {
        let snapshot = self.commit_folder(&self.revision);
        // A revision may have slashes, so the folder is found from a commit's.
        let repository = self.commit_folder("commit").ancestors().nth(2).map(Path::to_owned);
        repository.unwrap_or(snapshot).join("refs").join(&self.revision)
    }

    #[cfg(not(feature = "hub"))]
    fn fetch(&self, name: &str) -> Result<Option<PathBuf>, Problem> {
        Err(Problem::new(format!("{name} of {} is not in the cache, and {WITHOUT}", self.id), WITHOUT_HELP))
    }

    #[cfg(not(feature = "hub"))]
    fn list(&self) -> Result<(String, Vec<String>), Problem> {
        Err(Problem::new(format!("{} cannot be listed: {WITHOUT}", self.id), WITHOUT_HELP))
    }
}

#[cfg(not(feature = "hub"))]
const WITHOUT: &str = "this program was built without the feature `hub`, so it cannot download";

#[cfg(not(feature = "hub"))]
const WITHOUT_HELP: &str = "name a local folder, or put the files into the cache with another tool";

/// Returns whether the environment forbids requests to the hub.
pub fn is_offline() -> bool {
    std::env::var("HF_HUB_OFFLINE").is_ok_and(|value| !matches!(value.as_str(), "" | "0" | "false"))
}

/// Returns an environment variable, if it is set and not empty.
pub(super) fn variable(name: &str) -> Option<String> {
    std::env::var(name).ok().filter(|value| !value.is_empty())
}

/// Returns the folder that Hugging Face's tools share: `HF_HOME`.
pub(super) fn home() -> PathBuf {
    let cache = || variable("XDG_CACHE_HOME").map(PathBuf::from);
    let users = || std::env::home_dir().unwrap_or_default().join(".cache");
    variable("HF_HOME").map_or_else(|| cache().unwrap_or_else(users).join("huggingface"), PathBuf::from)
}

/// Returns the ids of the models in the cache, in order.
pub(crate) fn cached_models() -> Vec<String> {
    let folders = fs::read_dir(cache_folder()).into_iter().flatten().flatten();
    let names = folders.filter_map(|folder| folder.file_name().into_string().ok());
    let mut ids: Vec<String> =
        names.filter_map(|name| Some(name.strip_prefix("models--")?.replacen("--", "/", 1))).collect();
    ids.sort();
    ids
}

/// Returns the folder that contains one folder for each repository.
fn cache_folder() -> PathBuf {
    let named = ["HF_HUB_CACHE", "HUGGINGFACE_HUB_CACHE"].into_iter().find_map(variable);
    named.map_or_else(|| home().join("hub"), PathBuf::from)
}

pub(super) fn unwritable(path: &Path, error: &io::Error) -> Problem {
    Problem::new(format!("cannot write {}: {error}", path.display()), "make room, or set HF_HOME to another folder")
}

/// Verifies a cached file against the hash that the hub announced for it. A file that was put there in another way
/// has no hash, and passes.
fn check(name: &str, path: &Path) -> Result<(), Problem> {
    let Ok(blob) = fs::read_link(path) else { return Ok(()) };
    let announced = blob.file_name().map(|name| name.to_string_lossy().into_owned()).unwrap_or_default();
    let unreadable = |error: io::Error| unreadable(path, &error);
    let found = hash_of(path, &announced).map_err(unreadable)?;
    let Some(found) = found.filter(|found| *found != announced) else { return Ok(()) };
    // Remove it, or the next attempt would find it in the cache.
    for file in [path, path.parent().unwrap_or(path).join(&blob).as_path()] {
        fs::remove_file(file).map_err(unreadable)?;
    }
    Err(differs(name, &found, &announced, "was removed from the cache"))
}

/// Verifies a file, or all files below a folder.
fn check_all(path: &Path) -> Result<(), Problem> {
    if !path.is_dir() {
        return check(&path.display().to_string(), path);
    }
    let unreadable = |error: io::Error| unreadable(path, &error);
    for entry in fs::read_dir(path).map_err(unreadable)? {
        check_all(&entry.map_err(unreadable)?.path())?;
    }
    Ok(())
}

pub(super) fn unreadable(path: &Path, error: &io::Error) -> Problem {
    Problem::new(format!("cannot read {}: {error}", path.display()), "check the permissions of the cache")
}

pub(super) fn differs(name: &str, found: &str, announced: &str, so: &str) -> Problem {
    let problem = format!("{name} has hash {found}, but the hub announced {announced}; it {so}");
    Problem { is_wrong: true, ..Problem::new(problem, "the download was damaged or tampered with: try again") }
}

/// A hasher for either kind of hash that the hub announces: SHA-256 for a large file, git's own hash for a small
/// one.
pub(super) enum AnnouncedHash {
    Sha256(Sha256),
    Git(Sha1),
}

impl AnnouncedHash {
    /// Creates a hasher for a file of this length; `None` if the announced text is not a hash.
    pub(super) fn new(announced: &str, bytes: u64) -> Option<Self> {
        match announced.len() {
            64 => Some(Self::Sha256(Sha256::new())),
            40 => Some(Self::Git(Sha1::new_with_prefix(format!("blob {bytes}\0")))),
            _ => None,
        }
    }

    pub(super) fn update(&mut self, bytes: &[u8]) {
        match self {
            Self::Sha256(hasher) => hasher.update(bytes),
            Self::Git(hasher) => hasher.update(bytes),
        }
    }

    pub(super) fn finish(self) -> String {
        match self {
            Self::Sha256(hasher) => hex(&hasher.finalize()),
            Self::Git(hasher) => hex(&hasher.finalize()),
        }
    }
}

/// Returns the hash of a file, of the announced kind; `None` if the announced text is not a hash.
pub(super) fn hash_of(path: &Path, announced: &str) -> io::Result<Option<String>> {
    let bytes = safely::read(path)?;
    Ok(AnnouncedHash::new(announced, bytes.len() as u64).map(|mut hasher| {
        hasher.update(&bytes);
        hasher.finish()
    }))
}

/// Creates a temporary file that others may read, because the cache is shared.
pub(crate) fn shared_file(folder: &Path) -> io::Result<tempfile::NamedTempFile> {
    let mut builder = tempfile::Builder::new();
    #[cfg(unix)]
    builder.permissions(std::os::unix::fs::PermissionsExt::from_mode(0o666));
    builder.tempfile_in(folder)
}

/// Returns the SHA-256 hash in hexadecimal.
pub fn sha256(bytes: &[u8]) -> String {
    hex(&Sha256::digest(bytes))
}

fn hex(bytes: &[u8]) -> String {
    bytes.iter().fold(String::with_capacity(2 * bytes.len()), |mut text, byte| {
        let _ = write!(text, "{byte:02x}");
        text
    })
}

/// Returns whether this is a valid part of a repository's id, or of a revision.
pub fn is_name(part: &str) -> bool {
    !part.is_empty() && !part.starts_with('.') && part.chars().all(|c| c.is_ascii_alphanumeric() || "-_.".contains(c))
}

/// Returns a relative path if it has at least one part and stays inside the folder that it is relative to.
pub fn plain(name: &str) -> Option<&str> {
    use std::path::Component::Normal;
    let inside = Path::new(name).components().all(|part| matches!(part, Normal(_)));
    (inside && !name.is_empty()).then_some(name)
}
