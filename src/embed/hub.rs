//! Finding a model: a local folder, or a repository on the Hugging Face hub.
//!
//! Hub files live in the Hugging Face cache (`HF_HOME`), shared with every other tool. The client
//! does not check what it downloads, so each file is checked here against the hash that the hub
//! announced (the name of the cached file), and the default model's files, whenever they are read,
//! against the hashes pinned in [`model`](super::model). `HF_ENDPOINT` and `HF_HUB_OFFLINE` are
//! honoured.

use std::fmt;
use std::fs;
use std::path::{Path, PathBuf};
use std::str::FromStr;

use hf_hub::{HFClient, HFClientSync, HFError, HFRepositorySync, repository::RepoTypeModel, split_id};
use sha1::{Digest, Sha1};

use super::model::{DEFAULT_ID, DEFAULT_PINS, DEFAULT_REVISION, Folder, Module, hex, plain, sha256};
use crate::error::{Error, Result};

/// Names a model: an existing folder, or `owner/name[@revision]` on the hub.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum ModelRef {
    /// A folder on this machine.
    Folder(PathBuf),
    /// A hub repository.
    Hub {
        /// `owner/name`, or a name alone.
        id: String,
        /// Commit, branch or tag. `None` means the pinned commit of the default model, `main` of
        /// any other.
        revision: Option<String>,
    },
}

impl Default for ModelRef {
    fn default() -> Self {
        Self::Hub { id: DEFAULT_ID.to_owned(), revision: None }
    }
}

impl FromStr for ModelRef {
    type Err = String;

    fn from_str(s: &str) -> Result<Self, String> {
        if Path::new(s).is_dir() {
            return Ok(Self::Folder(s.into()));
        }
        let (id, revision) = s.split_once('@').map_or((s, None), |(id, revision)| (id, Some(revision.to_owned())));
        let part = |part: &str| {
            !part.is_empty()
                && !part.starts_with('.')
                && part.chars().all(|c| c.is_ascii_alphanumeric() || "-_.".contains(c))
        };
        let parts: Vec<&str> = id.split('/').collect();
        if parts.len() > 2
            || !parts.iter().all(|p| part(p))
            || !revision.as_deref().is_none_or(|r| r.split('/').all(part))
        {
            return Err(format!("`{s}` is neither a folder nor a hub id; write FOLDER or owner/name[@revision]"));
        }
        Ok(Self::Hub { id: id.to_owned(), revision })
    }
}

impl fmt::Display for ModelRef {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Folder(path) => write!(f, "{}", path.display()),
            Self::Hub { id, revision: Some(revision) } => write!(f, "{id}@{revision}"),
            Self::Hub { id, revision: None } => f.write_str(id),
        }
    }
}

/// Finds a model's folder, fetching what the cache lacks.
///
/// # Errors
/// [`Error::Model`] if it is nowhere to be had or a file is not what the hub announced.
#[doc(hidden)] // The tests look at the folder; all others load from it.
pub fn locate(model: &ModelRef) -> Result<Folder> {
    match model {
        ModelRef::Folder(path) => {
            let absolute = path.canonicalize().map_err(Error::io("open", path))?;
            let name = absolute.file_name().unwrap_or(absolute.as_os_str()).to_string_lossy().into_owned();
            Ok(Folder::new(absolute, name, None, &[]))
        }
        ModelRef::Hub { id, revision } => {
            let pinned = id == DEFAULT_ID && revision.as_deref().is_none_or(|revision| revision == DEFAULT_REVISION);
            let revision = match revision {
                Some(revision) => revision,
                None if pinned => DEFAULT_REVISION,
                None => "main",
            };
            Repository::open(id, revision)?.fetch(if pinned { DEFAULT_PINS } else { &[] })
        }
    }
}

/// Copies the default model from a folder into the Hugging Face cache, as if it had been pulled.
///
/// # Errors
/// [`Error::Model`] if a file is missing or not the pinned one; nothing is then installed.
pub(crate) fn install_default(from: &Path) -> Result<Folder> {
    let mut folder = Folder::new(from.to_owned(), DEFAULT_ID.to_owned(), None, DEFAULT_PINS);
    let files: Vec<(&str, Vec<u8>)> =
        DEFAULT_PINS.iter().map(|&(name, _)| Ok((name, folder.read(name)?))).collect::<Result<_>>()?;
    let snapshot = snapshot(DEFAULT_ID, DEFAULT_REVISION);
    for (name, bytes) in files {
        let path = snapshot.join(name);
        let parent = path.parent().unwrap_or(&snapshot);
        fs::create_dir_all(parent).map_err(Error::io("create", parent))?;
        let mut staged = tempfile::NamedTempFile::new_in(parent).map_err(Error::io("create a file in", parent))?;
        std::io::Write::write_all(&mut staged, &bytes).map_err(Error::io("write", &path))?;
        staged.persist(&path).map_err(|e| Error::io("write", &path)(e.error))?;
    }
    locate(&ModelRef::default())
}

/// Where the cache keeps a commit's files.
pub(crate) fn snapshot(id: &str, commit: &str) -> PathBuf {
    let folder = format!("models--{}", id.replace('/', "--"));
    hf_hub::resolve_cache_dir().join(folder).join("snapshots").join(commit)
}

struct Repository {
    id: String,
    revision: String,
    remote: HFRepositorySync<RepoTypeModel>,
    offline: bool,
}

impl Repository {
    fn open(id: &str, revision: &str) -> Result<Self> {
        let client = HFClient::builder().retry_max_attempts(3).build().and_then(HFClientSync::from_inner);
        let client = client.map_err(|e| Error::Model {
            model: id.to_owned(),
            problem: format!("the hub client cannot start: {e}"),
            help: "check HF_ENDPOINT and HF_HOME".to_owned(),
        })?;
        let (owner, name) = split_id(id);
        let offline = std::env::var("HF_HUB_OFFLINE").is_ok_and(|value| !matches!(value.as_str(), "" | "0" | "false"));
        Ok(Self { id: id.to_owned(), revision: revision.to_owned(), remote: client.model(owner, name), offline })
    }

    /// Fetches the files that a sentence-transformers model consists of, those it names included.
    fn fetch(&self, pins: &'static [(&'static str, &'static str)]) -> Result<Folder> {
        let modules = self.optional("modules.json", None)?.ok_or_else(|| self.missing("modules.json"))?;
        let read = |path: &Path| fs::read(path).map_err(Error::io("read", path));
        let path = modules.parent().unwrap_or(&modules).to_owned();
        let commit = path.file_name().map(|name| name.to_string_lossy().into_owned());
        let folder = Folder::new(path.clone(), self.id.clone(), commit, pins);
        let optional = |name: &str| self.optional(name, Some(&path));
        let file = |name: &str| optional(name)?.ok_or_else(|| self.missing(name));
        for pooling in folder.modules(&read(&modules)?)?.iter().filter_map(Module::pooling_file) {
            file(&pooling)?;
        }
        file("config.json")?;
        file("tokenizer.json")?;
        optional("sentence_bert_config.json")?;
        optional("config_sentence_transformers.json")?;
        if optional("model.safetensors")?.is_none()
            && let Some(index) = optional("model.safetensors.index.json")?
        {
            folder.shards(&read(&index)?)?.iter().try_for_each(|shard| file(shard).map(drop))?;
        }
        Ok(folder)
    }

    fn missing(&self, name: &str) -> Error {
        let help = "name a sentence-transformers model with safetensors weights";
        self.error(format!("{name} is not in the repository"), help)
    }

    /// Fetches one file and checks it; `None` if the repository has no such file, or the cached
    /// `snapshot` is whole without it.
    fn optional(&self, name: &str, snapshot: Option<&Path>) -> Result<Option<PathBuf>> {
        if plain(name).is_none() {
            return Err(self.error(format!("`{name}` leads out of the repository"), "do not use this model"));
        }
        let request = |cached: bool| {
            let download = self.remote.download_file().filename(name).revision(self.revision.clone());
            download.local_files_only(cached).send()
        };
        // What the cache holds is taken from there, so that a pinned revision needs no network.
        let found = match request(true) {
            Err(HFError::LocalEntryNotFound { .. }) if !self.offline => request(false),
            cached => cached,
        };
        let path = match found {
            Ok(path) => path,
            Err(HFError::EntryNotFound { .. }) => return Ok(None),
            Err(_) if snapshot.is_some_and(|folder| whole_without(folder, name)) => return Ok(None),
            Err(HFError::LocalEntryNotFound { .. }) => {
                let problem = format!("{name} is not in the cache, and HF_HUB_OFFLINE is set");
                return Err(self.error(problem, "run `chunkmill model pull` while online"));
            }
            Err(error) => {
                let help = "check the id and the network, set HF_ENDPOINT, or name a local folder";
                return Err(self.error(format!("{name} cannot be fetched: {error}"), help));
            }
        };
        self.check(name, &path)?;
        Ok(Some(path))
    }

    /// Compares a file with the hash that the hub announced for it: SHA-256 for a large file, git's
    /// own for a small one. The cache names a file's content by that hash. A file that was put
    /// there in another way has none.
    fn check(&self, name: &str, path: &Path) -> Result<()> {
        let Ok(blob) = fs::read_link(path) else { return Ok(()) };
        let announced = blob.file_name().map(|name| name.to_string_lossy().into_owned()).unwrap_or_default();
        let bytes = fs::read(path).map_err(Error::io("read", path))?;
        let found = match announced.len() {
            64 => sha256(&bytes),
            40 => git_hash(&bytes),
            _ => return Ok(()),
        };
        if found == announced {
            return Ok(());
        }
        // Remove it, or the next attempt would find it in the cache.
        let content = path.parent().unwrap_or(path).join(&blob);
        for file in [path, content.as_path()] {
            fs::remove_file(file).map_err(Error::io("remove", file))?;
        }
        Err(self.error(
            format!("{name} has hash {found}, but the hub announced {announced}; it was removed"),
            "the download was damaged or tampered with: try again",
        ))
    }

    fn error(&self, problem: impl Into<String>, help: &str) -> Error {
        Error::Model { model: self.id.clone(), problem: problem.into(), help: help.to_owned() }
    }
}

/// Whether a cached snapshot holds weights, and so was fetched whole, but not this file.
fn whole_without(folder: &Path, name: &str) -> bool {
    let weights = ["model.safetensors", "model.safetensors.index.json"];
    !folder.join(name).exists() && weights.iter().any(|file| folder.join(file).exists())
}

/// The id that git gives a file's content.
fn git_hash(bytes: &[u8]) -> String {
    let mut hasher = Sha1::new();
    hasher.update(format!("blob {}\0", bytes.len()));
    hasher.update(bytes);
    hex(&hasher.finalize())
}
