//! Sparse vectors: for each token of a vocabulary, how much a text is about it (SPLADE, Formal et al. 2021). A network with a
//! language-model head gives a text tokens that it does not have, synonyms for example, so a search by words finds them.
//!
//! The same network may read questions. Or each token of a question has a fixed weight, and no network runs at all
//! (Geng et al. 2024): the `Router` of sentence-transformers then has a `SparseStaticEmbedding` for queries.

use std::collections::BTreeMap;

use chunkmill_base::error::{Error, Result};
use half::f16;
use serde::{Deserialize, Serialize};

use crate::embedder::{EncodedText, Role, failed};
use crate::folder::{Folder, WEIGHTS};
use crate::kernel::Precision;
use crate::model::InputSettings;
use crate::modules::{LIST, Module, Routes};
use crate::tensors::Tensors;
use crate::tokenizer::ModelTokenizer;

/// Flag of a chunk of which the sparse model reads only the beginning.
pub const SPARSE_TRUNCATED: &str = "sparse_truncated";

/// Largest vocabulary. A token must be exact as a float, in which the cache stores it.
const MOST_TOKENS: usize = 1 << 24;

/// A weight for some tokens of a vocabulary, in the order of the tokens.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct SparseVector(Vec<(u32, f32)>);

impl SparseVector {
    /// Creates a vector from weights by token. Weights are rounded to half precision, in which datasets store them; weights
    /// of 0 are left out.
    pub fn rounded(weights: impl IntoIterator<Item = (u32, f32)>) -> Self {
        Self::new(weights.into_iter().map(|(token, weight)| (token, f16::from_f32(weight).to_f32())))
    }

    fn new(weights: impl IntoIterator<Item = (u32, f32)>) -> Self {
        let mut weights: Vec<(u32, f32)> = weights.into_iter().filter(|(_, weight)| *weight != 0.0).collect();
        weights.sort_unstable_by_key(|(token, _)| *token);
        weights.dedup_by_key(|(token, _)| *token);
        Self(weights)
    }

    /// Creates a vector from tokens and their weights as a dataset stores them; `None` if the tokens are not in order, or a
    /// weight is not a number.
    pub fn stored(tokens: &[u32], weights: &[f32]) -> Option<Self> {
        let is_valid = tokens.len() == weights.len()
            && tokens.is_sorted_by(|a, b| a < b)
            && weights.iter().all(|weight| weight.is_finite());
        is_valid.then(|| Self(tokens.iter().copied().zip(weights.iter().copied()).collect()))
    }

    /// Returns the tokens with their weights, in the order of the tokens.
    pub fn weights(&self) -> &[(u32, f32)] {
        &self.0
    }

    /// Keeps only this many weights, those farthest from 0; of equal ones, those of the first tokens.
    fn keep(&mut self, most: usize) {
        if self.0.len() > most {
            self.0.sort_by(|(_, a), (_, b)| b.abs().total_cmp(&a.abs()));
            self.0.truncate(most);
            self.0.sort_unstable_by_key(|(token, _)| *token);
        }
    }

    /// Returns the tokens and weights as floats, one after the other, for the cache.
    pub(crate) fn to_floats(&self) -> Vec<f32> {
        #[expect(clippy::cast_precision_loss, reason = "a vocabulary has at most 2^24 tokens")]
        self.0.iter().flat_map(|&(token, weight)| [token as f32, weight]).collect()
    }

    /// Does the opposite of [`to_floats`](Self::to_floats).
    pub(crate) fn from_floats(floats: &[f32]) -> Self {
        #[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "they were tokens")]
        Self(floats.as_chunks().0.iter().map(|&[token, weight]| (token as u32, weight)).collect())
    }
}

/// A dataset's record of the model that produced its sparse vectors.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct SparseModel {
    /// Hub id, or the folder's name.
    pub id: String,
    /// Commit of the hub repository, if it came from there.
    pub revision: Option<String>,
    /// Number of tokens that may have a weight.
    pub vocabulary: usize,
    /// Maximum number of tokens the model reads, including special tokens.
    pub max_tokens: usize,
    /// Precision it was computed in.
    pub precision: Precision,
    /// Identifies the files and everything else that determines the vectors: 16 hexadecimal digits.
    pub fingerprint: String,
    /// Identifies what else affects the last bits of the vectors: the instruction set.
    pub arithmetic: String,
    /// SHA-256 of every file that was read, by name.
    pub files: BTreeMap<String, String>,
}

/// Turns texts into sparse vectors.
pub trait SparseEmbedder: Send + Sync {
    /// Returns the record that identifies the model.
    fn info(&self) -> &SparseModel;

    /// Tokenizes a document and truncates it to the model's limit.
    ///
    /// # Errors
    /// [`Error::Embed`] if the tokenizer fails.
    fn encode(&self, text: &str) -> Result<EncodedText>;

    /// Returns a vector for each document of a batch. A vector depends only on its own document.
    ///
    /// # Errors
    /// [`Error::Embed`] if the network fails, or the model was loaded for questions only.
    fn embed(&self, batch: &[&[u32]]) -> Result<Vec<SparseVector>>;

    /// Returns the vector of a question.
    ///
    /// # Errors
    /// [`Error::Embed`] if the tokenizer or the network fails.
    fn query(&self, text: &str) -> Result<SparseVector>;
}

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
        let weight = output.max(0.0).ln_1p();
        if self.twice { weight.ln_1p() } else { weight }
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
        self.limit(&mut vector);
        Ok(vector)
    }

    fn limit(self, vector: &mut SparseVector) {
        if let Some(most) = self.most {
            vector.keep(most);
        }
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
        #[derive(Deserialize, Default)]
        struct QueryConfig {
            path: Option<String>,
        }
        let most = limit(folder)?;
        let tokenizer = InputSettings::read(folder, module)?.tokenizer;
        let name = module.file("config.json");
        let bytes = folder.read(&name)?;
        let QueryConfig { path } = folder.json(&name, &bytes)?;
        let weights = match path {
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
        let weight = |id: u32| {
            let weight = self.weights.get(id as usize);
            weight.map(|&weight| (id, weight)).ok_or_else(|| {
                let count = self.weights.len();
                failed("reading the weights of questions")(&format!("token {id} is not among its {count}"))
            })
        };
        let mut vector = SparseVector::new(ids.into_iter().map(weight).collect::<Result<Vec<_>>>()?);
        if let Some(most) = self.most {
            vector.keep(most);
        }
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
        let Some([table]) = routes(&mut folder)?
            .query
            .as_deref()
            .map(<[Module]>::to_vec)
            .and_then(|route| <[Module; 1]>::try_from(route).ok())
        else {
            return Ok(None);
        };
        let weights = QueryWeights::read(&mut folder, &table)?;
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
    if outputs == 0 || outputs > MOST_TOKENS {
        return Err(format!("it has weights for {outputs} tokens"));
    }
    match queries.map(QueryWeights::vocabulary).filter(|&known| known > outputs) {
        None => Ok(outputs),
        Some(known) => Err(format!("questions have weights for {known} tokens, but documents for {outputs}")),
    }
}

/// The files that may have the weights of questions.
pub(super) const QUERY_FILES: [&str; 2] = [WEIGHTS, "idf.json"];
