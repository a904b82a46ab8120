//! The modules of a model, in the order in which a text goes through them: what `modules.json` lists.
//!
//! A model may have two such lists, one that reads queries and one that reads documents (the `Router` of
//! sentence-transformers).

use std::collections::BTreeMap;

use serde::Deserialize;

/// The file that lists them.
pub(super) const LIST: &str = "modules.json";

/// A module of a model.
#[derive(Debug, Clone, Deserialize)]
pub(super) struct Module {
    path: String,
    r#type: String,
}

impl Module {
    /// A module of this kind, whose files are in this folder of the model's.
    pub(super) fn new(kind: &str, path: &str) -> Self {
        Self { path: path.to_owned(), r#type: kind.to_owned() }
    }

    /// Its Python type.
    pub(super) fn name(&self) -> &str {
        &self.r#type
    }

    /// The last part of its type.
    pub(super) fn kind(&self) -> &str {
        self.r#type.rsplit('.').next().unwrap_or_default()
    }

    /// Whether it chooses among lists of other modules.
    pub(super) fn is_router(&self) -> bool {
        self.kind() == "Router"
    }

    /// Where its own files are; empty for the model's folder itself.
    pub(super) fn path(&self) -> &str {
        if self.path == "." { "" } else { &self.path }
    }

    /// The files of its own that it needs, weights of a network aside.
    pub(super) fn files(&self) -> Vec<String> {
        let names: &[&str] = match self.kind() {
            "Transformer" => &["config.json", "tokenizer.json"],
            "StaticEmbedding" => &["tokenizer.json", "model.safetensors"],
            "Pooling" => &["config.json"],
            "Dense" | "LayerNorm" => &["config.json", "model.safetensors"],
            _ => &[],
        };
        names.iter().map(|name| self.file(name)).collect()
    }

    /// One of its own files, by its name inside the model's folder.
    pub(super) fn file(&self, name: &str) -> String {
        match self.path() {
            "" => name.to_owned(),
            path => format!("{path}/{name}"),
        }
    }
}

/// What reads documents, and what reads queries if that is something else.
#[derive(Debug, Clone)]
pub(super) struct Routes {
    /// For documents.
    pub(super) document: Vec<Module>,
    /// For queries.
    pub(super) query: Option<Vec<Module>>,
}

impl From<Vec<Module>> for Routes {
    fn from(document: Vec<Module>) -> Self {
        Self { document, query: None }
    }
}

/// What a `Router` says of itself.
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
    /// The files that may hold it; newer versions write the first.
    pub(super) const FILES: [&str; 2] = ["router_config.json", "config.json"];

    /// The two lists of a model that begins with this router, `at` its folder; behind it are modules that both share. Or
    /// why there are none.
    pub(super) fn routes(&self, at: &Module, shared: &[Module]) -> Result<Routes, String> {
        let route = |task: &str| -> Result<Vec<Module>, String> {
            let default = || self.structure.get(self.parameters.default_route.as_deref()?);
            let folders = self.structure.get(task).or_else(default);
            let folders = folders.ok_or_else(|| format!("the router has no route `{task}` and no default"))?;
            let own = folders.iter().map(|folder| {
                let kind = self.types.get(folder).ok_or_else(|| format!("the router says no type of `{folder}`"))?;
                Ok(Module::new(kind, &at.file(folder)))
            });
            own.chain(shared.iter().cloned().map(Ok)).collect()
        };
        let (document, query) = (route("document")?, route("query")?);
        let same = document.iter().map(Module::path).eq(query.iter().map(Module::path));
        Ok(Routes { document, query: (!same).then_some(query) })
    }
}
