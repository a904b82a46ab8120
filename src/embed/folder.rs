//! A model's folder, in the layout of sentence-transformers.
//!
//! Everything that decides the vectors is read from the folder's own files, each hashed as it is
//! read and compared with its pinned hash if it has one: what was checked is what is used. Weights
//! come from safetensors only; a pickle can run code and is refused.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::PathBuf;

use serde::Deserialize;

use crate::error::{Error, Result};
use crate::hub::{plain, sha256};

/// A folder whose files are hashed and checked as they are read.
#[derive(Debug)]
pub struct Folder {
    /// Where it is.
    pub path: PathBuf,
    /// Hub id, or the folder's own name.
    pub id: String,
    /// Commit of the hub repository, if it came from there.
    pub revision: Option<String>,
    pins: &'static [(&'static str, &'static str)],
    read: BTreeMap<String, String>,
}

impl Folder {
    /// A folder with nothing read yet. `pins` are the hashes its files must have.
    #[must_use]
    pub fn new(
        path: PathBuf,
        id: String,
        revision: Option<String>,
        pins: &'static [(&'static str, &'static str)],
    ) -> Self {
        Self { path, id, revision, pins, read: BTreeMap::new() }
    }

    /// Reads a file that must be there.
    ///
    /// # Errors
    /// [`Error::Model`] if it is missing, unreadable or not the pinned one.
    pub fn read(&mut self, name: &str) -> Result<Vec<u8>> {
        let help = "a model is a sentence-transformers folder; `chunkmill model check` lists what it needs";
        self.read_optional(name)?.ok_or_else(|| self.error(format!("{name} is missing"), help))
    }

    /// Reads a file that may be absent.
    ///
    /// # Errors
    /// [`Error::Model`] if it is there and is unreadable or not the pinned one.
    pub(crate) fn read_optional(&mut self, name: &str) -> Result<Option<Vec<u8>>> {
        let path = self.path.join(name);
        let bytes = match fs::read(&path) {
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

    /// SHA-256 of every file read so far, by name.
    #[must_use]
    pub fn hashes(&self) -> &BTreeMap<String, String> {
        &self.read
    }

    pub(super) fn error(&self, problem: impl Into<String>, help: &str) -> Error {
        Error::Model { model: self.id.clone(), problem: problem.into(), help: help.to_owned() }
    }

    /// The modules that `modules.json` lists.
    pub(super) fn modules(&self, json: &[u8]) -> Result<Vec<Module>> {
        self.json("modules.json", json)
    }

    /// The files that `model.safetensors.index.json` names.
    pub(super) fn shards(&self, json: &[u8]) -> Result<BTreeSet<String>> {
        #[derive(Deserialize)]
        struct Index {
            weight_map: BTreeMap<String, String>,
        }
        let index: Index = self.json("model.safetensors.index.json", json)?;
        Ok(index.weight_map.into_values().collect())
    }

    pub(super) fn json<T: for<'de> Deserialize<'de>>(&self, name: &str, bytes: &[u8]) -> Result<T> {
        serde_json::from_slice(bytes).map_err(|e| self.error(format!("{name}: {e}"), "the file is damaged or too new"))
    }

    /// The tensors' bytes: one safetensors file, or the shards that an index names.
    pub(super) fn weights(&mut self) -> Result<Vec<Vec<u8>>> {
        if let Some(bytes) = self.read_optional("model.safetensors")? {
            return Ok(vec![bytes]);
        }
        if let Some(bytes) = self.read_optional("model.safetensors.index.json")? {
            return self
                .shards(&bytes)?
                .iter()
                .map(|shard| self.read(plain(shard).ok_or_else(|| self.escapes(shard))?))
                .collect();
        }
        let pickle = ["pytorch_model.bin", "pytorch_model.bin.index.json"].iter().any(|p| self.path.join(p).exists());
        Err(if pickle {
            let help = "convert it: `model.save_pretrained(folder, safe_serialization=True)` in Python";
            self.error("its weights are a pickle, which can run code and is refused", help)
        } else {
            self.error("model.safetensors is missing", "name a folder that holds the weights")
        })
    }

    /// Reads the weights only to hash and check them.
    ///
    /// # Errors
    /// [`Error::Model`] if they are missing, a pickle, or not the pinned ones.
    pub(crate) fn check_weights(&mut self) -> Result<()> {
        self.weights().map(drop)
    }

    pub(super) fn escapes(&self, name: &str) -> Error {
        self.error(format!("`{name}` is not a file inside the folder"), "do not use this model")
    }
}

/// An entry of `modules.json`.
#[derive(Deserialize)]
pub(super) struct Module {
    path: String,
    r#type: String,
}

impl Module {
    /// Its Python type.
    pub(super) fn name(&self) -> &str {
        &self.r#type
    }

    /// The last part of its type.
    pub(super) fn kind(&self) -> &str {
        self.r#type.rsplit('.').next().unwrap_or_default()
    }

    /// Where its own files are.
    pub(super) fn path(&self) -> &str {
        &self.path
    }

    /// The files of its own that it needs.
    pub(super) fn files(&self) -> Vec<String> {
        let names: &[&str] = match self.kind() {
            "Pooling" => &["config.json"],
            "Dense" | "LayerNorm" => &["config.json", "model.safetensors"],
            _ => &[],
        };
        names.iter().map(|name| self.file(name)).collect()
    }

    /// One of its own files, by its name inside the model's folder.
    pub(super) fn file(&self, name: &str) -> String {
        format!("{}/{name}", self.path)
    }
}
