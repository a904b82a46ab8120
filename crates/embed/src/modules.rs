//! The modules of a model, in the order in which a text passes through them, as listed in `modules.json`.
//!
//! A model may have two lists of modules, one for queries and one for documents (the `Router` of
//! sentence-transformers).

use std::collections::BTreeMap;

use serde::Deserialize;

/// The file that lists the modules.
pub(super) const LIST: &str = "modules.json";

/// A module of a model.
#[derive(Debug, Clone, Deserialize)]
pub(super) struct Module {
    path: String,
    r#type: String,
}

impl Module {
    /// Creates a module of this kind, whose files are in this subfolder of the model's folder.
    pub(super) fn new(kind: &str, path: &str) -> Self {
        Self { path: path.to_owned(), r#type: kind.to_owned() }
    }

    /// Returns the module's Python type.
    pub(super) fn name(&self) -> &str {
        &self.r#type
    }

    /// Returns the last part of the module's type.
    pub(super) fn kind(&self) -> &str {
        self.r#type.rsplit('.').next().unwrap_or_default()
    }

    /// Returns whether the module chooses among lists of other modules.
    pub(super) fn is_router(&self) -> bool {
        self.kind() == "Router"
    }

    /// Returns the folder of the module's files; empty for the model's folder itself.
    pub(super) fn path(&self) -> &str {
        if self.path == "." { "" } else { &self.path }
    }

    /// Returns the module's required files, except the weights of a network.
    pub(super) fn files(&self) -> Vec<String> {
        let names: &[&str] = match self.kind() {
            "Transformer" | "MLMTransformer" | "SparseStaticEmbedding" => &["config.json", "tokenizer.json"],
            "StaticEmbedding" => &["tokenizer.json", "model.safetensors"],
            "Pooling" | "SpladePooling" => &["config.json"],
            "Dense" | "LayerNorm" => &["config.json", "model.safetensors"],
            _ => &[],
        };
        names.iter().map(|name| self.file(name)).collect()
    }

    /// Returns the path of one of the module's files inside the model's folder.
    pub(super) fn file(&self, name: &str) -> String {
        match self.path() {
            "" => name.to_owned(),
            path => format!("{path}/{name}"),
        }
    }
}

/// The modules that read documents, and those that read queries if they differ.
#[derive(Debug, Clone)]
pub(super) struct Routes {
    /// Modules for documents.
    pub(super) document: Vec<Module>,
    /// Modules for queries.
    pub(super) query: Option<Vec<Module>>,
}

impl From<Vec<Module>> for Routes {
    fn from(document: Vec<Module>) -> Self {
        Self { document, query: None }
    }
}

/// The configuration of a `Router`.
#[derive(Debug, Deserialize)]
pub(super) struct Router {
    /// The type of each module, by its folder.
    types: BTreeMap<String, String>,
    /// The folders of the modules of each route, in order.
    structure: BTreeMap<String, Vec<String>>,
    #[serde(default)]
    parameters: Parameters,
}

#[derive(Debug, Default, Deserialize)]
struct Parameters {
    default_route: Option<String>,
}

impl Router {
    /// The files that may contain the configuration; newer versions write the first.
    pub(super) const FILES: [&str; 2] = ["router_config.json", "config.json"];

    /// Returns the two lists of modules of a model that begins with this router, or why there are none. `at` is the
    /// router's own module, and `shared` are the modules after it, which both lists share.
    pub(super) fn routes(&self, at: &Module, shared: &[Module]) -> Result<Routes, String> {
        let route = |task: &str| -> Result<Vec<Module>, String> {
            let default = || self.structure.get(self.parameters.default_route.as_deref()?);
            let folders = self.structure.get(task).or_else(default);
            let folders = folders.ok_or_else(|| format!("the router has no route `{task}` and no default"))?;
            let own = folders.iter().map(|folder| {
                let kind =
                    self.types.get(folder).ok_or_else(|| format!("the router specifies no type for `{folder}`"))?;
                Ok(Module::new(kind, &at.file(folder)))
            });
            own.chain(shared.iter().cloned().map(Ok)).collect()
        };
        let (document, query) = (route("document")?, route("query")?);
        let same = document.iter().map(Module::path).eq(query.iter().map(Module::path));
        Ok(Routes { document, query: (!same).then_some(query) })
    }
}
