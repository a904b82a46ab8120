//! Rerankers: a network reads a question and a passage together and says how well one answers the other (a cross-encoder,
//! Nogueira and Cho 2019). It sees more than two vectors do, and has to run for every pair, so that it is asked for the
//! best of a search alone.

use serde::Deserialize;
use serde_json::Value;

use super::folder::Folder;
use super::head::Activation;
use super::model::first_position;
use super::modules::Module;
use super::tokenizer::{ModelTokenizer, Rules};
use crate::error::Result;

/// Says how well passages answer a question.
pub trait Reranker: Send + Sync {
    /// Hub id with its revision, or the folder's name.
    fn id(&self) -> &str;

    /// A score for each passage, the higher, the better; the range is the model's own: from 0 to 1 for most. It depends on
    /// the question and the passage alone. The model reads as many tokens as it can of both.
    ///
    /// # Errors
    /// [`Error::Embed`](crate::error::Error::Embed) if the model fails.
    fn scores(&self, question: &str, passages: &[&str]) -> Result<Vec<f32>>;
}

/// What a folder's configuration says of a reranker, weights aside.
pub(crate) struct Settings {
    /// Kind of network, as `config.json` names it.
    pub(crate) model_type: String,
    /// `config.json` as it is.
    pub(super) config: Vec<u8>,
    /// The network.
    pub(super) network: Module,
    pub(crate) tokenizer: ModelTokenizer,
    /// What makes a score of the network's number.
    pub(super) activation: Activation,
}

#[derive(Deserialize)]
struct Config {
    model_type: String,
    max_position_embeddings: Option<usize>,
    pad_token_id: Option<usize>,
    /// Of older versions of sentence-transformers.
    sbert_ce_default_activation_function: Option<String>,
    /// Of newer ones.
    sentence_transformers: Option<Written>,
}

#[derive(Deserialize)]
struct Written {
    activation_fn: Option<String>,
}

#[derive(Deserialize, Default)]
struct TokenizerConfig {
    /// Newer versions write a number as large as they can for no limit.
    model_max_length: Option<Value>,
}

impl Settings {
    /// Reads everything but the weights.
    ///
    /// # Errors
    /// [`Error::Model`](crate::error::Error::Model) if a file is missing, damaged, or asks for what cannot be computed.
    pub(crate) fn read(folder: &mut Folder) -> Result<Self> {
        let network = Module::new("Transformer", "");
        let bytes = folder.read("config.json")?;
        let config: Config = folder.json("config.json", &bytes)?;
        let limits: TokenizerConfig = folder.optional("tokenizer_config.json")?;
        let unused = first_position(&config.model_type, config.pad_token_id);
        let positions = config.max_position_embeddings.map(|count| count.saturating_sub(unused));
        let written = limits.model_max_length.and_then(|limit| usize::try_from(limit.as_u64()?).ok());
        let Some(max_tokens) = [positions, written].into_iter().flatten().min() else {
            let help = "add tokenizer_config.json with model_max_length";
            return Err(folder.error("no file says how many tokens it reads", help));
        };
        let class = config.sentence_transformers.and_then(|written| written.activation_fn);
        let activation = match class.or(config.sbert_ce_default_activation_function) {
            None => Activation::Sigmoid,
            Some(class) => Activation::of(&class).ok_or_else(|| {
                let help = "supported: Identity, Sigmoid and others of torch";
                folder.error(format!("config.json asks for the activation `{class}`"), help)
            })?,
        };
        let json = folder.read("tokenizer.json")?;
        let tokenizer = ModelTokenizer::new(&json, Rules::plain(max_tokens))
            .map_err(|problem| folder.error(problem, "the file is damaged or too new"))?;
        Ok(Self { model_type: config.model_type, config: bytes, network, tokenizer, activation })
    }

    /// Reads the weights only to hash and check them.
    ///
    /// # Errors
    /// [`Error::Model`](crate::error::Error::Model) if they are missing, a pickle, or not the pinned ones.
    pub(crate) fn check_weights(&self, folder: &mut Folder) -> Result<()> {
        folder.weights(&self.network).map(drop)
    }
}
