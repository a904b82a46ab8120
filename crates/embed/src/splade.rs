//! The folder of a sparse model: its modules, and the weights of questions.

use std::collections::BTreeMap;
use std::path::Path;

use chunkmill_base::error::{Error, Result};
use half::f16;
use serde::Deserialize;

use crate::embedder::{EncodedText, Role, SparseEmbedder, failed};
use crate::folder::Folder;
use crate::kernel::Precision;
use crate::model::InputSettings;
use crate::modules::{LIST, Module, Routes};
use crate::sparse::{MAX_VOCABULARY, SparseModel, SparseVector};
use crate::tensors::Tensors;
use crate::tokenizer::ModelTokenizer;

/// How the outputs for a text's tokens become one weight for each token of the vocabulary.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct SpladePooling {
    /// Whether weights are added up. Otherwise the greatest counts.
    pub(super) sums: bool,
    /// Whether the logarithm is taken twice (Geng et al. 2025).
    pub(super) twice: bool,
    /// Largest number of weights, if it is limited.
    most: Option<usize>,
}

impl SpladePooling {
    /// Returns the weight for an output: log(1 + x) of those above 0.
    pub(super) fn weight(self, output: f32) -> f32 {
        // A comparison with NaN is false, and it has to be noticed.
        let positive = if output <= 0.0 { 0.0 } else { output };
        let weight = libm::log1pf(positive);
        if self.twice { libm::log1pf(weight) } else { weight }
    }

    /// Creates the vector of a text from one value for each token of the vocabulary: the greatest output, or the sum of
    /// weights.
    pub(super) fn vector(self, values: &[f32]) -> Result<SparseVector> {
        if values.iter().any(|value| value.is_nan() || *value == f32::INFINITY) {
            return Err(failed("running the model")(&"a weight is not finite; the weights of the model are damaged"));
        }
        let positive = (0..).zip(values).filter(|(_, value)| **value > 0.0);
        let weight = |value: f32| if self.sums { value } else { self.weight(value) };
        let mut vector =
            SparseVector::rounded(positive.map(|(token, &value)| (token, weight(value).min(f16::MAX.to_f32()))));
        vector.keep(self.most);
        Ok(vector)
    }
}

/// The configuration of a sparse model's folder, without the weights.
pub(super) struct SparseSettings {
    pub(super) input: InputSettings,
    /// The network.
    pub(super) network: Module,
    pub(super) pooling: SpladePooling,
    /// The module that has the weights of questions, if the network does not read them.
    pub(super) query: Option<Module>,
}

/// The part of `config_sentence_transformers.json` that only sparse models have.
#[derive(Deserialize, Default)]
struct SparseConfig {
    max_active_dims: Option<usize>,
    similarity_fn_name: Option<String>,
}

#[derive(Deserialize)]
struct SpladeConfig {
    pooling_strategy: String,
    activation_function: Option<String>,
}

/// The advice for folders that are not sparse models.
const HELP: &str = "a sparse model is a Transformer and SpladePooling; with a Router, questions may have a \
                    SparseStaticEmbedding";

impl SparseSettings {
    /// Reads everything but the weights. A folder without a list of modules is a network whose outputs are pooled by their
    /// maximum, as sentence-transformers does.
    ///
    /// # Errors
    /// [`Error::Model`] if a file is missing or damaged, or asks for something that cannot be computed.
    pub(super) fn read(folder: &mut Folder) -> Result<Self> {
        let Routes { document, query } = routes(folder)?;
        let most = limit(folder)?;
        let (network, pooling) = match document.as_slice() {
            [network, pooling]
                if matches!(network.kind(), "Transformer" | "MLMTransformer") && pooling.kind() == "SpladePooling" =>
            {
                (network.clone(), Self::pooling(folder, pooling, most)?)
            }
            [network] if network.kind() == "MLMTransformer" => {
                (network.clone(), SpladePooling { sums: false, twice: false, most })
            }
            modules => {
                let names: Vec<&str> = modules.iter().map(Module::name).collect();
                return Err(folder.error(format!("its documents pass through {}", names.join(", ")), HELP));
            }
        };
        let query = match query.as_deref() {
            None => None,
            Some([table]) if table.kind() == "SparseStaticEmbedding" => Some(table.clone()),
            Some(modules) => {
                let names: Vec<&str> = modules.iter().map(Module::name).collect();
                return Err(folder.error(format!("its questions pass through {}", names.join(", ")), HELP));
            }
        };
        Ok(Self { input: InputSettings::read(folder, &network)?, network, pooling, query })
    }

    fn pooling(folder: &mut Folder, module: &Module, most: Option<usize>) -> Result<SpladePooling> {
        let name = module.file("config.json");
        let bytes = folder.read(&name)?;
        let SpladeConfig { pooling_strategy, activation_function } = folder.json(&name, &bytes)?;
        let wrong = |what: &str, found: &str| {
            let help = "supported: `max` and `sum` of `relu` and `log1p_relu`";
            Err(folder.error(format!("{name} asks for the {what} `{found}`"), help))
        };
        let sums = match pooling_strategy.as_str() {
            "max" => false,
            "sum" => true,
            other => return wrong("pooling", other),
        };
        let twice = match activation_function.as_deref().unwrap_or("relu") {
            "relu" => false,
            "log1p_relu" => true,
            other => return wrong("activation", other),
        };
        Ok(SpladePooling { sums, twice, most })
    }

    /// Returns the model's record, once all its files have been read.
    pub(super) fn info(
        &self,
        folder: &Folder,
        vocabulary: usize,
        precision: Precision,
        arithmetic: String,
    ) -> SparseModel {
        let (rules, pooling, files) = (self.input.tokenizer.rules(), self.pooling, folder.hashes());
        let text = format!("sparse-{precision}-v1 {files:?} {rules} {pooling:?}");
        SparseModel {
            id: folder.id.clone(),
            revision: folder.revision.clone(),
            vocabulary,
            max_tokens: self.input.tokenizer.max_tokens(),
            precision,
            fingerprint: blake3::hash(text.as_bytes()).to_hex()[..16].to_owned(),
            arithmetic,
            files: files.clone(),
        }
    }
}

/// Returns the modules of a sparse model.
fn routes(folder: &mut Folder) -> Result<Routes> {
    if folder.read_optional(LIST)?.is_none() {
        return Ok(vec![Module::new("MLMTransformer", "")].into());
    }
    folder.routes()
}

/// Returns the largest number of weights of a vector, if it is limited.
fn limit(folder: &mut Folder) -> Result<Option<usize>> {
    let SparseConfig { max_active_dims, similarity_fn_name } = folder.optional("config_sentence_transformers.json")?;
    if max_active_dims == Some(0) {
        return Err(
            folder.error("config_sentence_transformers.json allows a vector 0 weights", "use another sparse model")
        );
    }
    match similarity_fn_name.as_deref() {
        None | Some("dot") => Ok(max_active_dims),
        Some(other) => {
            let problem = format!("config_sentence_transformers.json asks for the similarity `{other}`");
            Err(folder.error(problem, "use a sparse model that is compared by `dot`"))
        }
    }
}

/// The weights of questions: each token of a question has its own, however often it is there.
pub(super) struct QueryWeights {
    tokenizer: ModelTokenizer,
    weights: Vec<f32>,
    most: Option<usize>,
}

impl QueryWeights {
    /// Reads the table of a folder.
    pub(super) fn read(folder: &mut Folder, module: &Module) -> Result<Self> {
        let most = limit(folder)?;
        let tokenizer = InputSettings::read(folder, module)?.tokenizer;
        let name = module.file("config.json");
        let bytes = folder.read(&name)?;
        let weights = match weights_file(&bytes) {
            Some(path) => Self::by_word(folder, module, &path, &tokenizer),
            None => Self::by_id(folder, module),
        }?;
        if weights.iter().any(|weight| !weight.is_finite()) {
            return Err(folder.error("a weight of questions is not finite", "pull the model again"));
        }
        Ok(Self { tokenizer, weights, most })
    }

    /// Reads the weights from a tensor.
    fn by_id(folder: &mut Folder, module: &Module) -> Result<Vec<f32>> {
        let tensors = Tensors::read(folder, module)?;
        let found = tensors.floats("weight").unwrap_or_else(|| Err("there is no tensor `weight`".to_owned()));
        let one_row = |(shape, weights): (Vec<usize>, _)| {
            if shape.len() == 1 { Ok(weights) } else { Err(format!("`weight` has the shape {shape:?}")) }
        };
        found
            .and_then(one_row)
            .map_err(|problem| folder.error(format!("weights of questions: {problem}"), "pull the model again"))
    }

    /// Reads the weights from a file that has them by token.
    fn by_word(folder: &mut Folder, module: &Module, path: &str, tokenizer: &ModelTokenizer) -> Result<Vec<f32>> {
        let name = module.file(path);
        if crate::hub::plain(&name).is_none() {
            return Err(folder.escapes(&name));
        }
        let bytes = folder.read(&name)?;
        let known: BTreeMap<String, f32> = folder.json(&name, &bytes)?;
        let mut weights = vec![0.0; tokenizer.vocabulary()];
        for (token, weight) in known {
            let place = tokenizer.id_of(&token).and_then(|id| weights.get_mut(id as usize));
            *place.ok_or_else(|| {
                folder.error(format!("{name} has a token `{token}`, which the tokenizer lacks"), HELP)
            })? = weight;
        }
        Ok(weights)
    }

    /// Returns the number of tokens that have a weight.
    pub(super) fn vocabulary(&self) -> usize {
        self.weights.len()
    }

    /// Returns the vector of a question.
    pub(super) fn vector(&self, text: &str) -> Result<SparseVector> {
        let ids = self.tokenizer.encode(text, Role::Query)?.ids;
        let weight = |id: u32| Some((id, *self.weights.get(id as usize)?));
        let mut vector = SparseVector::new(ids.into_iter().filter_map(weight));
        vector.keep(self.most);
        Ok(vector)
    }
}

/// A sparse model that was loaded for questions only, so no network has to be read.
pub(super) struct QuestionsOnly {
    info: SparseModel,
    weights: QueryWeights,
}

impl QuestionsOnly {
    /// Loads the weights of questions of the model that a dataset records; `None` if its network reads questions too.
    ///
    /// # Errors
    /// [`Error::Model`] if they are not the recorded ones.
    pub(super) fn load(mut folder: Folder, recorded: &SparseModel) -> Result<Option<Self>> {
        let query = routes(&mut folder)?.query;
        let Some([table]) = query.as_deref() else { return Ok(None) };
        let weights = QueryWeights::read(&mut folder, table)?;
        let about = "config_sentence_transformers.json";
        if recorded.files.contains_key(about) && !folder.hashes().contains_key(about) {
            return Err(differs(&folder, recorded, &format!("{about} is missing")));
        }
        match folder.hashes().iter().find(|(name, hash)| recorded.files.get(*name) != Some(hash)) {
            None => Ok(Some(Self { info: recorded.clone(), weights })),
            Some((name, _)) => Err(differs(&folder, recorded, &format!("its {name} is another file"))),
        }
    }
}

/// Returns the error for a sparse model that is not the one of a dataset.
pub(super) fn differs(folder: &Folder, recorded: &SparseModel, why: &str) -> Error {
    let problem = format!(
        "is not the sparse model of the dataset ({}, fingerprint {}): {why}",
        recorded.id, recorded.fingerprint
    );
    folder.error(problem, "use the same model, search with --sparse-share 0, or index again")
}

impl SparseEmbedder for QuestionsOnly {
    fn info(&self) -> &SparseModel {
        &self.info
    }

    fn encode(&self, text: &str) -> Result<EncodedText> {
        self.weights.tokenizer.encode(text, Role::Document)
    }

    fn embed(&self, _: &[&[u32]]) -> Result<Vec<SparseVector>> {
        Err(failed("running the sparse model")(&"it was loaded for questions only"))
    }

    fn query(&self, text: &str) -> Result<SparseVector> {
        self.weights.vector(text)
    }
}

/// Returns the vocabulary's size, or what is wrong with it.
pub(super) fn checked_vocabulary(outputs: usize, queries: Option<&QueryWeights>) -> Result<usize, String> {
    if outputs == 0 || outputs > MAX_VOCABULARY {
        return Err(format!("it has weights for {outputs} tokens"));
    }
    match queries.map(QueryWeights::vocabulary).filter(|&known| known > outputs) {
        None => Ok(outputs),
        Some(known) => Err(format!("questions have weights for {known} tokens, but documents for {outputs}")),
    }
}

/// Returns the file with the weights of questions by token that the configuration of their module names, if it names one.
pub(super) fn weights_file(config: &[u8]) -> Option<String> {
    #[derive(Deserialize)]
    struct QueryConfig {
        path: Option<String>,
    }
    let QueryConfig { path } = serde_json::from_slice(config).ok()?;
    path.filter(|path| Path::new(path).extension().is_some_and(|extension| extension == "json"))
}
