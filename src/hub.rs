//! Files of repositories on the Hugging Face hub: from its cache on this machine, or from the network.
//!
//! The cache has the layout that every other tool uses: `hf-hub` says where a repository is in it, and files that others
//! fetched are found. Environment variables are the usual ones: `HF_HOME`, `HF_HUB_CACHE`, `HF_ENDPOINT`, `HF_TOKEN`,
//! `HF_HUB_OFFLINE`. Only `download` knows the network, and it is there only with the feature `hub`: without it what is in
//! the cache can still be used.
//!
//! The hub announces a hash for each file, and the cache names a file's content by that hash. Every file is compared with it.

#[cfg(feature = "hub")]
mod download;

use std::fmt::Write;
use std::fs;
use std::io;
use std::path::{Path, PathBuf};

use hf_hub::{Cache, CacheRepo, Repo, RepoType};
use sha1::Sha1;
use sha2::{Digest, Sha256};

/// What a repository holds.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Kind {
    /// A model.
    Model,
    /// A dataset of the hub.
    Dataset,
}

/// Why a file cannot be had, and what to do about it.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{problem}\n  help: {help}")]
pub struct Problem {
    /// What is wrong.
    pub problem: String,
    /// What to do about it.
    pub help: String,
    /// Whether it came and is not what was announced.
    pub is_wrong: bool,
}

impl Problem {
    fn new(problem: impl Into<String>, help: &str) -> Self {
        Self { problem: problem.into(), help: help.to_owned(), is_wrong: false }
    }
}

/// One revision of a repository.
#[derive(Debug)]
pub struct Repository {
    kind: Kind,
    id: String,
    revision: String,
    cached: CacheRepo,
}

impl Repository {
    /// The repository `owner/name`, or `name`, at a commit, branch or tag. Nothing is asked or read yet.
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

    /// Where the cache keeps the files of a commit.
    #[must_use]
    pub fn commit_folder(&self, commit: &str) -> PathBuf {
        self.cached.pointer_path(commit)
    }

    /// The folder of the cache with the files of this revision, if it has any.
    #[must_use]
    pub fn cached_folder(&self) -> Option<PathBuf> {
        let by_commit = self.commit_folder(&self.revision);
        // A branch or a tag is a file that names a commit; the folder itself is found by the empty name.
        if by_commit.is_dir() { Some(by_commit) } else { self.cached.get("").filter(|folder| folder.is_dir()) }
    }

    /// A file, from the cache or else from the network; `None` if the repository has no such file.
    ///
    /// # Errors
    /// [`Problem`] if it cannot be had, or is not what the hub announced.
    pub fn file(&self, name: &str) -> Result<Option<PathBuf>, Problem> {
        if plain(name).is_none() {
            return Err(Problem::new(format!("`{name}` leads out of the repository"), "do not use this repository"));
        }
        if let Some(path) = self.cached_folder().map(|folder| folder.join(name)).filter(|path| path.exists()) {
            check(name, &path)?;
            return Ok(Some(path));
        }
        self.fetch(name)
    }

    /// The folder of the cache with all files at or below a path, fetched if need be; the empty path stands for all.
    ///
    /// # Errors
    /// [`Problem`] if one cannot be had, or is not what the hub announced.
    pub fn folder(&self, below: &str) -> Result<PathBuf, Problem> {
        if is_offline() {
            let folder = self.cached_folder();
            let folder = folder.ok_or_else(|| Problem::new("it is not in the cache", "HF_HUB_OFFLINE is set"))?;
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

    fn remember(&self, commit: &str) -> Result<(), Problem> {
        self.cached.create_ref(commit).map_err(|error| unwritable(&cache_folder(), &error))
    }

    #[cfg(not(feature = "hub"))]
    fn fetch(&self, name: &str) -> Result<Option<PathBuf>, Problem> {
        Err(Problem::new(format!("{name} of {} is not in the cache, {WITHOUT}", self.id), WITHOUT_HELP))
    }

    #[cfg(not(feature = "hub"))]
    fn list(&self) -> Result<(String, Vec<String>), Problem> {
        Err(Problem::new(format!("{} cannot be listed: {WITHOUT}", self.id), WITHOUT_HELP))
    }
}

#[cfg(not(feature = "hub"))]
const WITHOUT: &str = "and this program was built without the feature `hub`, so it fetches nothing";

#[cfg(not(feature = "hub"))]
const WITHOUT_HELP: &str = "name a local folder, or put the files into the cache with another tool";

/// Whether the environment forbids to ask the hub.
#[must_use]
pub fn is_offline() -> bool {
    std::env::var("HF_HUB_OFFLINE").is_ok_and(|value| !matches!(value.as_str(), "" | "0" | "false"))
}

/// A variable of the environment, if it is set to something.
fn variable(name: &str) -> Option<String> {
    std::env::var(name).ok().filter(|value| !value.is_empty())
}

/// The folder that Hugging Face's tools share: `HF_HOME`.
fn home() -> PathBuf {
    let cache = || variable("XDG_CACHE_HOME").map(PathBuf::from);
    let users = || std::env::home_dir().unwrap_or_default().join(".cache");
    variable("HF_HOME").map_or_else(|| cache().unwrap_or_else(users).join("huggingface"), PathBuf::from)
}

/// The folder that holds a folder for each repository.
fn cache_folder() -> PathBuf {
    let named = ["HF_HUB_CACHE", "HUGGINGFACE_HUB_CACHE"].into_iter().find_map(variable);
    named.map_or_else(|| home().join("hub"), PathBuf::from)
}

fn unwritable(path: &Path, error: &io::Error) -> Problem {
    Problem::new(format!("cannot write {}: {error}", path.display()), "make room, or set HF_HOME to another folder")
}

/// Compares a file of the cache with the hash that the hub announced for it. A file that was put there in another way has
/// none.
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

/// The same for a file and all that is below a folder.
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

fn unreadable(path: &Path, error: &io::Error) -> Problem {
    Problem::new(format!("cannot read {}: {error}", path.display()), "check the permissions of the cache")
}

fn differs(name: &str, found: &str, announced: &str, so: &str) -> Problem {
    let problem = format!("{name} has hash {found}, but the hub announced {announced}; it {so}");
    Problem { is_wrong: true, ..Problem::new(problem, "the download was damaged or tampered with: try again") }
}

/// The two kinds of hash that the hub announces: SHA-256 for a large file, git's own for a small one.
enum Announced {
    Sha256(Sha256),
    Git(Sha1),
}

impl Announced {
    /// Prepares to hash a file of this length; `None` if what was announced is no hash.
    fn new(announced: &str, bytes: u64) -> Option<Self> {
        match announced.len() {
            64 => Some(Self::Sha256(Sha256::new())),
            40 => Some(Self::Git(Sha1::new_with_prefix(format!("blob {bytes}\0")))),
            _ => None,
        }
    }

    fn update(&mut self, bytes: &[u8]) {
        match self {
            Self::Sha256(hasher) => hasher.update(bytes),
            Self::Git(hasher) => hasher.update(bytes),
        }
    }

    fn finish(self) -> String {
        match self {
            Self::Sha256(hasher) => hex(&hasher.finalize()),
            Self::Git(hasher) => hex(&hasher.finalize()),
        }
    }
}

/// The hash of a file, of the kind that was announced; `None` if what was announced is no hash.
fn hash_of(path: &Path, announced: &str) -> io::Result<Option<String>> {
    let bytes = fs::read(path)?;
    Ok(Announced::new(announced, bytes.len() as u64).map(|mut hasher| {
        hasher.update(&bytes);
        hasher.finish()
    }))
}

/// A file without a name of its own yet that others may read, as the cache is shared.
pub(crate) fn shared_file(folder: &Path) -> io::Result<tempfile::NamedTempFile> {
    let mut builder = tempfile::Builder::new();
    #[cfg(unix)]
    builder.permissions(std::os::unix::fs::PermissionsExt::from_mode(0o666));
    builder.tempfile_in(folder)
}

/// SHA-256 in hexadecimal.
#[must_use]
pub fn sha256(bytes: &[u8]) -> String {
    hex(&Sha256::digest(bytes))
}

fn hex(bytes: &[u8]) -> String {
    bytes.iter().fold(String::with_capacity(2 * bytes.len()), |mut text, byte| {
        let _ = write!(text, "{byte:02x}");
        text
    })
}

/// Whether this may be a part of a repository's id, or of a revision.
#[must_use]
pub fn is_name(part: &str) -> bool {
    !part.is_empty() && !part.starts_with('.') && part.chars().all(|c| c.is_ascii_alphanumeric() || "-_.".contains(c))
}

/// A relative path of at least one part that stays inside the folder it is relative to.
pub(crate) fn plain(name: &str) -> Option<&str> {
    use std::path::Component::Normal;
    let inside = Path::new(name).components().all(|part| matches!(part, Normal(_)));
    (inside && !name.is_empty()).then_some(name)
}
