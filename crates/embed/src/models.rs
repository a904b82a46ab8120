//! Several models that are used as one embedder: two with one vector space, for example a large one that reads each document
//! once and a small one that reads the many queries, and a sparse one next to them.

use std::sync::atomic::AtomicBool;

use chunkmill_base::error::{Error, Result};
use chunkmill_base::value::count;
use chunkmill_text::tokens::TokenCounter;

use crate::embedder::{
    Arrived, BatchApi, Batching, Embedder, EncodedText, ModelInfo, ModelInput, QueryModel, Role, SparseEmbedder,
};
use crate::late::TokenEmbedder;

/// A model for documents, and others.
pub(super) struct Models {
    info: ModelInfo,
    documents: Box<dyn Embedder>,
    queries: Option<Box<dyn Embedder>>,
    sparse: Option<Box<dyn SparseEmbedder>>,
}

impl Models {
    /// Adds a sparse model to a dense one.
    pub(super) fn with_sparse(documents: Box<dyn Embedder>, sparse: Box<dyn SparseEmbedder>) -> Self {
        let info = ModelInfo { sparse: Some(sparse.info().clone()), ..documents.info().clone() };
        Self { info, documents, queries: None, sparse: Some(sparse) }
    }

    /// Creates a pair of a model for documents and one for queries. `apart` means that the second is a separate model, not part of the first.
    ///
    /// # Errors
    /// [`Error::Setting`] if their vectors differ in length.
    pub(super) fn pair(documents: Box<dyn Embedder>, queries: Box<dyn Embedder>, apart: bool) -> Result<Self> {
        let (of, by) = (documents.info(), queries.info());
        if of.dim != by.dim {
            return Err(Error::setting(
                "query-model",
                format!("{} produces vectors of {}, but {} of {}", by.id, count(by.dim, "value"), of.id, of.dim),
                "use two models that were trained as a pair",
            ));
        }
        let query = QueryModel {
            id: apart.then(|| by.id.clone()),
            revision: by.revision.clone().filter(|_| apart),
            engine: by.engine,
            precision: by.precision,
            fingerprint: by.fingerprint.clone(),
        };
        let info = ModelInfo { query: Some(query), ..of.clone() };
        Ok(Self { info, documents, queries: Some(queries), sparse: None })
    }
}

impl Embedder for Models {
    fn info(&self) -> &ModelInfo {
        &self.info
    }

    fn encode(&self, text: &str, role: Role) -> Result<EncodedText> {
        self.documents.encode(text, role)
    }

    fn embed(&self, batch: &[ModelInput<'_>]) -> Result<Vec<f32>> {
        self.documents.embed(batch)
    }

    fn queries(&self) -> Option<&dyn Embedder> {
        self.queries.as_deref().or_else(|| self.documents.queries())
    }

    fn sparse(&self) -> Option<&dyn SparseEmbedder> {
        self.sparse.as_deref()
    }

    fn counter(&self) -> &dyn TokenCounter {
        self.documents.counter()
    }

    fn embed_each(&self, batch: &[ModelInput<'_>], stop: &AtomicBool, arrived: Arrived<'_>) -> Result<()> {
        self.documents.embed_each(batch, stop, arrived)
    }

    fn batching(&self) -> Batching {
        self.documents.batching()
    }

    fn batch_api(&self) -> Option<&dyn BatchApi> {
        self.documents.batch_api()
    }

    fn by_token(&self) -> Option<&dyn TokenEmbedder> {
        self.documents.by_token()
    }
}
