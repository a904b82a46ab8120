//! A model's folder, in the layout of sentence-transformers.
//!
//! Everything that determines the vectors is read from the folder's own files. Each file is hashed as it is read and
//! compared with its pinned hash, if it has one, so the bytes that were checked are the bytes that are used. Weights
//! are read from safetensors only; a pickle can run code and is refused.

use std::collections::{BTreeMap, BTreeSet};
use std::path::PathBuf;

use chunkmill_base::error::{Error, Result};
use chunkmill_base::safely;
use serde::Deserialize;

use crate::hub::{plain, sha256};
use crate::modules::{LIST, Module, Router, Routes};

/// The file of a module's tensors, if they are in a single file.
pub(super) const WEIGHTS: &str = "model.safetensors";

/// The index of a module's tensors, if they are in several files.
pub(super) const INDEX: &str = "model.safetensors.index.json";

/// The model type in `config.json` for models of the package model2vec.
pub(super) const MODEL2VEC: &str = "model2vec";

/// A folder whose files are hashed and checked as they are read.
#[derive(Debug, Clone)]
pub struct Folder {
    /// Path of the folder.
    pub path: PathBuf,
    /// Hub id, or the folder's own name.
    pub id: String,
    /// Commit of the hub repository, if it came from there.
    pub revision: Option<String>,
    pins: &'static [(&'static str, &'static str)],
    read: BTreeMap<String, String>,
}

impl Folder {
    /// Creates a folder from which nothing has been read yet. `pins` are the hashes its files must have.
    #[must_use]
    pub fn new(
        path: PathBuf,
        id: String,
        revision: Option<String>,
        pins: &'static [(&'static str, &'static str)],
    ) -> Self {
        Self { path, id, revision, pins, read: BTreeMap::new() }
    }

    /// Reads a file that must exist.
    ///
    /// # Errors
    /// [`Error::Model`] if it is missing, unreadable or not the pinned file.
    pub fn read(&mut self, name: &str) -> Result<Vec<u8>> {
        let help = "a model is a sentence-transformers folder; `chunkmill model check` lists what it needs";
        self.read_optional(name)?.ok_or_else(|| self.error(format!("{name} is missing"), help))
    }

    /// Reads a file that may be absent.
    ///
    /// # Errors
    /// [`Error::Model`] if it exists but is unreadable or not the pinned file, or if it is missing but pinned.
    pub(crate) fn read_optional(&mut self, name: &str) -> Result<Option<Vec<u8>>> {
        let path = self.path.join(name);
        let bytes = match safely::read(&path) {
            Ok(bytes) => bytes,
            Err(error) if error.kind() == std::io::ErrorKind::NotFound => {
                if self.pins.iter().any(|(pinned, _)| *pinned == name) {
                    let help = "run `chunkmill model pull`";
                    return Err(self.error(format!("{name} is missing, and its hash is pinned"), help));
                }
                return Ok(None);
            }
            Err(error) => return Err(self.error(format!("{name}: {error}"), "check the file's permissions")),
        };
        let found = sha256(&bytes);
        if let Some((_, pinned)) = self.pins.iter().find(|(pinned, _)| *pinned == name)
            && *pinned != found
        {
            let problem = format!("{name} has SHA-256 {found}, but {pinned} is pinned; it is not used");
            return Err(self.error(problem, "delete it and run `chunkmill model pull` again"));
        }
        self.read.insert(name.to_owned(), found);
        Ok(Some(bytes))
    }

    /// Returns the SHA-256 of every file read so far, by name.
    pub fn hashes(&self) -> &BTreeMap<String, String> {
        &self.read
    }

    pub(super) fn error(&self, problem: impl Into<String>, help: &str) -> Error {
        Error::Model { model: self.id.clone(), problem: problem.into(), help: help.to_owned() }
    }

    /// Returns the modules that the folder lists.
    ///
    /// # Errors
    /// [`Error::Model`] if the list is missing or damaged, or names files outside the folder.
    pub(super) fn modules(&mut self) -> Result<Vec<Module>> {
        let modules: Vec<Module> = match self.read_optional(LIST)? {
            Some(bytes) => self.json(LIST, &bytes)?,
            None => self.without_list()?,
        };
        modules.iter().try_for_each(|module| self.inside(module))?;
        Ok(modules)
    }

    /// Returns the modules that a text passes through.
    ///
    /// # Errors
    /// The errors of [`modules`](Self::modules), for the list and for a router.
    pub(super) fn routes(&mut self) -> Result<Routes> {
        let modules = self.modules()?;
        let routes = match modules.split_first() {
            Some((first, shared)) if first.is_router() => {
                let (name, bytes) = self.router(first)?;
                let router: Router = self.json(&name, &bytes)?;
                router.routes(first, shared).map_err(|problem| self.error(problem, "use another model"))?
            }
            _ => Routes::from(modules),
        };
        routes.document.iter().chain(routes.query.iter().flatten()).try_for_each(|module| self.inside(module))?;
        Ok(routes)
    }

    /// Returns the modules of a folder without a list: model2vec has not always written one.
    fn without_list(&mut self) -> Result<Vec<Module>> {
        #[derive(Deserialize)]
        struct FolderConfig {
            model_type: Option<String>,
            #[serde(default)]
            normalize: bool,
        }
        if let Some(bytes) = self.read_optional("config.json")? {
            let config: FolderConfig = self.json("config.json", &bytes)?;
            if config.model_type.as_deref() == Some(MODEL2VEC) {
                let normalize = config.normalize.then(|| Module::new("Normalize", "1_Normalize"));
                return Ok([Module::new("StaticEmbedding", "")].into_iter().chain(normalize).collect());
            }
        }
        self.read(LIST).map(|_| Vec::new())
    }

    /// Reads the file that describes a router, and returns its name and contents.
    fn router(&mut self, module: &Module) -> Result<(String, Vec<u8>)> {
        let [newer, older] = Router::FILES.map(|name| module.file(name));
        if let Some(bytes) = self.read_optional(&newer)? {
            return Ok((newer, bytes));
        }
        let bytes = self.read(&older)?;
        Ok((older, bytes))
    }

    fn inside(&self, module: &Module) -> Result<()> {
        let path = module.path();
        if path.is_empty() || plain(path).is_some() { Ok(()) } else { Err(self.escapes(path)) }
    }

    /// Returns the files that an index of weights names.
    pub(super) fn shards(&self, json: &[u8]) -> Result<BTreeSet<String>> {
        #[derive(Deserialize)]
        struct Index {
            weight_map: BTreeMap<String, String>,
        }
        let index: Index = self.json(INDEX, json)?;
        Ok(index.weight_map.into_values().collect())
    }

    /// Parses a file, or returns the default if it is absent.
    pub(super) fn optional<T: Default + for<'de> Deserialize<'de>>(&mut self, name: &str) -> Result<T> {
        self.read_optional(name)?.map_or_else(|| Ok(T::default()), |bytes| self.json(name, &bytes))
    }

    pub(super) fn json<T: for<'de> Deserialize<'de>>(&self, name: &str, bytes: &[u8]) -> Result<T> {
        serde_json::from_slice(bytes).map_err(|e| self.error(format!("{name}: {e}"), "the file is damaged or too new"))
    }

    /// Reads a module's tensors: one safetensors file, or the shards that an index names.
    pub(super) fn weights(&mut self, module: &Module) -> Result<Vec<Vec<u8>>> {
        if let Some(bytes) = self.read_optional(&module.file(WEIGHTS))? {
            return Ok(vec![bytes]);
        }
        if let Some(bytes) = self.read_optional(&module.file(INDEX))? {
            return self
                .shards(&bytes)?
                .iter()
                .map(|shard| self.read(&module.file(plain(shard).ok_or_else(|| self.escapes(shard))?)))
                .collect();
        }
        let pickles = ["pytorch_model.bin", "pytorch_model.bin.index.json"];
        Err(if pickles.iter().any(|name| self.path.join(module.file(name)).exists()) {
            let help = "convert it: `model.save_pretrained(folder, safe_serialization=True)` in Python";
            self.error("its weights are a pickle, which can run code and is refused", help)
        } else {
            self.error(format!("{} is missing", module.file(WEIGHTS)), "use a folder that contains the weights")
        })
    }

    pub(super) fn escapes(&self, name: &str) -> Error {
        self.error(format!("`{name}` is not a file inside the folder"), "do not use this model")
    }
}
