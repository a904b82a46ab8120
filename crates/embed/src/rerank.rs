//! Rerankers: a network reads a question and a passage together and scores how well the passage answers the question (a
//! cross-encoder, Nogueira and Cho 2019). It sees more than two separate vectors do, but must run once per pair, so it
//! only reranks the best results of a search.
//!
//! A folder has one of two forms: a network that contains the layers which score, or one of `modules.json`, in which
//! the modules after the network score (the Ettin rerankers, for example).

use chunkmill_base::error::Result;
use serde::Deserialize;
use serde_json::Value;

use crate::folder::Folder;
use crate::head::{Activation, Head};
use crate::model::first_position;
use crate::modules::{LIST, Module};
use crate::tokenizer::{ModelTokenizer, Rules};

/// Scores how well passages answer a question.
pub trait Reranker: Send + Sync {
    /// Returns the hub id with its revision, or the folder's name.
    fn id(&self) -> &str;

    /// Returns what the model says of each passage before its activation, without bounds; higher is better. It depends
    /// only on the question and its passage. The model reads as many tokens of both as it can.
    ///
    /// # Errors
    /// [`Error::Embed`](chunkmill_base::error::Error::Embed) if the model fails.
    fn logits(&self, question: &str, passages: &[&str]) -> Result<Vec<f32>>;

    /// Returns the score that the model makes of what it says. The range depends on the model: for most it is 0 to 1.
    fn score(&self, logit: f32) -> f32;

    /// Returns a score for each passage; higher is better.
    ///
    /// # Errors
    /// [`Error::Embed`](chunkmill_base::error::Error::Embed) if the model fails.
    fn scores(&self, question: &str, passages: &[&str]) -> Result<Vec<f32>> {
        Ok(self.logits(question, passages)?.into_iter().map(|logit| self.score(logit)).collect())
    }
}

/// The configuration of a reranker's folder, without the weights.
pub(super) struct RerankerSettings {
    /// Type of network, as `config.json` names it.
    pub(crate) model_type: String,
    /// The unparsed `config.json`.
    pub(super) config: Vec<u8>,
    /// The network.
    pub(super) network: Module,
    /// The modules after it, if they score, not the network.
    pub(super) head: Option<Head>,
    pub(crate) tokenizer: ModelTokenizer,
    /// Turns the network's output into a score.
    pub(super) activation: Activation,
}

#[derive(Deserialize)]
struct RerankerConfig {
    model_type: String,
    max_position_embeddings: Option<usize>,
    pad_token_id: Option<usize>,
    /// Written by older versions of sentence-transformers.
    sbert_ce_default_activation_function: Option<String>,
    /// Written by newer versions.
    sentence_transformers: Option<ActivationConfig>,
}

#[derive(Deserialize)]
struct ActivationConfig {
    activation_fn: Option<String>,
}

/// `config_sentence_transformers.json`, which belongs to modules.
#[derive(Deserialize, Default)]
struct ModuleList {
    activation_fn: Option<String>,
}

#[derive(Deserialize, Default)]
struct RerankerSentenceConfig {
    max_seq_length: Option<usize>,
}

#[derive(Deserialize, Default)]
struct TokenizerConfig {
    /// Newer versions write a huge number to mean no limit.
    model_max_length: Option<Value>,
}

impl RerankerSettings {
    /// Reads everything but the weights.
    ///
    /// # Errors
    /// [`Error::Model`](chunkmill_base::error::Error::Model) if a file is missing or damaged, or asks for something that
    /// cannot be computed.
    pub(super) fn read(folder: &mut Folder) -> Result<Self> {
        let modules = if folder.read_optional(LIST)?.is_some() { folder.modules()? } else { Vec::new() };
        let head = (modules.len() > 1).then(|| Head::read(folder, &modules)).transpose()?;
        let network = modules.into_iter().next().unwrap_or_else(|| Module::new("Transformer", ""));
        let name = network.file("config.json");
        let bytes = folder.read(&name)?;
        let config: RerankerConfig = folder.json(&name, &bytes)?;
        let sentence: RerankerSentenceConfig = folder.optional(&network.file("sentence_bert_config.json"))?;
        let limits: TokenizerConfig = folder.optional(&network.file("tokenizer_config.json"))?;
        let unused = first_position(&config.model_type, config.pad_token_id);
        let positions = config.max_position_embeddings.map(|count| count.saturating_sub(unused));
        let written = limits.model_max_length.and_then(|limit| usize::try_from(limit.as_u64()?).ok());
        let Some(max_tokens) = [sentence.max_seq_length, positions, written].into_iter().flatten().min() else {
            let help = "add tokenizer_config.json with model_max_length";
            return Err(folder.error("no file states the model's token limit", help));
        };
        let listed: ModuleList = folder.optional("config_sentence_transformers.json")?;
        let written = config.sentence_transformers.and_then(|written| written.activation_fn);
        let class = listed.activation_fn.or(written);
        let activation = match class.or(config.sbert_ce_default_activation_function) {
            None => Activation::Sigmoid,
            Some(class) => Activation::of(&class).ok_or_else(|| {
                let help = "supported: Identity, Tanh, ReLU, Sigmoid, SiLU, GELU";
                folder.error(format!("its configuration asks for the activation `{class}`"), help)
            })?,
        };
        let json = folder.read(&network.file("tokenizer.json"))?;
        let tokenizer = ModelTokenizer::new(&json, Rules::plain(max_tokens))
            .map_err(|problem| folder.error(problem, "the file is damaged or too new"))?;
        Ok(Self { model_type: config.model_type, config: bytes, network, head, tokenizer, activation })
    }

    /// Reads the weights only to hash and check them.
    ///
    /// # Errors
    /// [`Error::Model`](chunkmill_base::error::Error::Model) if they are missing, a pickle, or not the pinned weights.
    pub(super) fn check_weights(&self, folder: &mut Folder) -> Result<()> {
        folder.weights(&self.network).map(drop)
    }
}
