//! What a model's folder says of it, weights aside: its modules, its limits, its tokenizer and its prompts.

use std::collections::{BTreeMap, BTreeSet};

use serde::Deserialize;
use serde_json::Value;

use super::folder::{Folder, MODEL2VEC};
use super::head::Head;
use super::modules::Module;
use super::tokenizer::{ModelTokenizer, Rules};
use super::{Dimensions, Engine, ModelInfo, Precision};
use crate::error::{Error, Result};

/// The model used when none is named.
pub const DEFAULT_ID: &str = "sentence-transformers/all-MiniLM-L6-v2";

/// The commit of the default model's repository.
pub const DEFAULT_REVISION: &str = "c9745ed1d9f207416be6d2e6f8de32d1f16199bf";

/// SHA-256 of the default model's files.
pub const DEFAULT_PINS: &[(&str, &str)] = &[
    ("1_Pooling/config.json", "4be450dde3b0273bb9787637cfbd28fe04a7ba6ab9d36ac48e92b11e350ffc23"),
    ("config.json", "953f9c0d463486b10a6871cc2fd59f223b2c70184f49815e7efbcab5d8908b41"),
    ("config_sentence_transformers.json", "061ca9d39661d6c6d6de5ba27f79a1cd5770ea247f8d46412a68a498dc5ac9f3"),
    ("model.safetensors", "53aa51172d142c89d9012cce15ae4d6cc0ca6895895114379cacb4fab128d9db"),
    ("modules.json", "84e40c8e006c9b1d6c122e02cba9b02458120b5fb0c87b746c41e0207cf642cf"),
    ("sentence_bert_config.json", "fc1993fde0a95c24ec6c022539d41cf6e2f7c9721e5415d6fb6897472a9cd4b7"),
    ("tokenizer.json", "be50c3628f2bf5bb5e3a7f17b1f74611b2561a3a27eeab05e5aa30f411572037"),
];

/// What a folder's configuration says, weights aside.
pub struct Settings {
    /// Kind of network, `bert` for example, or `static` for a table of vectors.
    pub model_type: String,
    /// The network's `config.json` as it is; empty if there is none.
    pub config: Vec<u8>,
    /// The network.
    pub(super) network: Module,
    /// What makes one vector of those of a text's tokens.
    pub(super) head: Head,
    /// The tokenizer, with the model's limit and prompts.
    pub tokenizer: ModelTokenizer,
    /// How many of a vector's first values may be kept alone, as `config.json` says.
    pub matryoshka: Vec<usize>,
}

/// The kind of a model that is a table of vectors.
const STATIC: &str = "static";

/// What stands for no limit at all.
const NO_LIMIT: usize = 1 << 30;

/// Where model2vec cuts texts if nothing else is said.
const MODEL2VEC_TOKENS: usize = 512;

#[derive(Deserialize)]
struct Config {
    model_type: String,
    max_position_embeddings: Option<usize>,
    n_positions: Option<usize>,
    pad_token_id: Option<usize>,
    #[serde(alias = "matryoshka_dims")]
    matryoshka_dimensions: Option<Vec<usize>>,
}

#[derive(Deserialize, Default)]
struct SentenceConfig {
    max_seq_length: Option<usize>,
    #[serde(default)]
    do_lower_case: bool,
}

#[derive(Deserialize, Default)]
struct PromptConfig {
    #[serde(default)]
    prompts: BTreeMap<String, String>,
    default_prompt_name: Option<String>,
    similarity_fn_name: Option<String>,
}

/// What vectors are compared by, if nothing is said.
const COSINE: &str = "cosine";

impl PromptConfig {
    /// The prompt of the first of these names that has one, else the default one.
    fn prompt(&self, names: &[&str]) -> String {
        let own = names.iter().find_map(|&name| self.prompts.get(name));
        let default = || self.prompts.get(self.default_prompt_name.as_ref()?);
        own.or_else(default).cloned().unwrap_or_default()
    }

    /// What they say of a tokenizer that reads so many tokens.
    fn rules(&self, max_tokens: usize) -> Rules {
        Rules {
            query_prompt: self.prompt(&["query"]),
            document_prompt: self.prompt(&["document", "passage", "corpus"]),
            ..Rules::plain(max_tokens)
        }
    }
}

impl Settings {
    /// Reads everything but the weights, of what reads documents.
    ///
    /// # Errors
    /// [`Error::Model`] if a file is missing, not the pinned one, or asks for something that
    /// chunkmill cannot compute; nothing is computed in another way than the folder says.
    pub fn read(folder: &mut Folder) -> Result<Self> {
        let routes = folder.routes()?;
        Self::of(folder, &routes.document)
    }

    /// The same of these modules.
    pub(super) fn of(folder: &mut Folder, modules: &[Module]) -> Result<Self> {
        let mut head = Head::read(folder, modules)?;
        let Some(network) = modules.first().cloned() else {
            return Err(folder.error("modules.json is empty", "pull the model again"));
        };
        let prompts: PromptConfig = folder.optional("config_sentence_transformers.json")?;
        match prompts.similarity_fn_name.as_deref().unwrap_or(COSINE) {
            // Search and most stores compare by the dot product, which is the cosine of vectors of length 1.
            COSINE => head.normalize(),
            "dot" => {}
            // Euclidean distance orders vectors of length 1 alike, Manhattan distance nearly.
            _ if head.normalizes() => {}
            other => {
                let problem = format!("config_sentence_transformers.json asks for the similarity `{other}`");
                return Err(folder.error(problem, "use a model that is compared by `cosine` or `dot`"));
            }
        }
        let is_static = network.kind() == "StaticEmbedding";
        let name = network.file("config.json");
        let (model_type, config, rules, matryoshka) = if is_static {
            let rules = Self::of_table(folder, &name, &prompts)?;
            (STATIC.to_owned(), Vec::new(), rules, None)
        } else {
            let config = folder.read(&name)?;
            let described: Config = folder.json(&name, &config)?;
            let rules = Self::of_network(folder, &network, &described, &prompts)?;
            (described.model_type, config, rules, described.matryoshka_dimensions)
        };
        let bytes = folder.read(&network.file("tokenizer.json"))?;
        let tokenizer = ModelTokenizer::new(&bytes, rules)
            .map_err(|problem| folder.error(problem, "the file is damaged or too new"))?;
        let matryoshka = matryoshka.unwrap_or_default();
        Ok(Self { model_type, config, network, head, tokenizer, matryoshka })
    }

    /// Whether the model is a table of vectors.
    pub(super) fn is_static(&self) -> bool {
        self.model_type == STATIC
    }

    /// Reads the weights only to hash and check them.
    ///
    /// # Errors
    /// [`Error::Model`] if they are missing, a pickle, or not the pinned ones.
    pub(crate) fn check_weights(&self, folder: &mut Folder) -> Result<()> {
        folder.weights(&self.network).map(drop)
    }

    /// What the files of a network say of its tokenizer.
    fn of_network(folder: &mut Folder, network: &Module, config: &Config, prompts: &PromptConfig) -> Result<Rules> {
        let Config { model_type, max_position_embeddings, n_positions, pad_token_id, .. } = config;
        let sentence: SentenceConfig = folder.optional(&network.file("sentence_bert_config.json"))?;
        let unused = first_position(model_type, *pad_token_id);
        let positions = max_position_embeddings.map(|count| count.saturating_sub(unused));
        let limits = [sentence.max_seq_length, positions, *n_positions];
        let Some(max_tokens) = limits.into_iter().flatten().min() else {
            return Err(folder
                .error("no file says how many tokens it reads", "add sentence_bert_config.json with max_seq_length"));
        };
        Ok(Rules { lower_case: sentence.do_lower_case, ..prompts.rules(max_tokens) })
    }

    /// What the files of a table of vectors say of its tokenizer. By sentence-transformers it reads all of a text; by
    /// model2vec so many tokens, and of those only what the vocabulary knows.
    fn of_table(folder: &mut Folder, name: &str, prompts: &PromptConfig) -> Result<Rules> {
        let config: serde_json::Map<String, Value> = folder.optional(name)?;
        let known_only = config.get("model_type").is_some_and(|kind| kind == MODEL2VEC);
        let max_tokens = match config.get("max_length").filter(|_| known_only) {
            None if known_only => MODEL2VEC_TOKENS,
            None | Some(Value::Null) => NO_LIMIT,
            Some(limit) => limit.as_u64().and_then(|limit| usize::try_from(limit).ok()).ok_or_else(|| {
                folder.error(format!("{name}: `max_length` is {limit}"), "it has to be a number of tokens, or null")
            })?,
        };
        Ok(Rules { special: false, known_only, ..prompts.rules(max_tokens) })
    }

    /// What is recorded of the folder's model, run in this way: everything that decides the vectors.
    pub(super) fn info(
        &self,
        folder: &Folder,
        dim: usize,
        engine: Engine,
        precision: Precision,
        arithmetic: String,
    ) -> ModelInfo {
        let files: BTreeSet<_> = folder.hashes().iter().collect();
        let Self { head, tokenizer, .. } = self;
        let (pooling, normalize, rules) = (head.pooling(), head.normalizes(), tokenizer.rules());
        let first = head.kept().map(|count| format!(" first {count}")).unwrap_or_default();
        let text = format!("{engine}-{precision}-v1 {files:?} {rules} {pooling} {normalize}{first}");
        ModelInfo {
            id: folder.id.clone(),
            revision: folder.revision.clone(),
            files: folder.hashes().clone(),
            dim,
            max_tokens: tokenizer.max_tokens(),
            pooling,
            normalize,
            engine,
            precision,
            fingerprint: blake3::hash(text.as_bytes()).to_hex()[..16].to_owned(),
            arithmetic,
            query: None,
        }
    }

    /// Length of the vectors behind a network of this width, of which only some values may be wanted.
    ///
    /// # Errors
    /// [`Error::Model`] if modules do not fit; [`Error::Setting`] if so many are not to be had.
    pub(super) fn fit(&mut self, folder: &Folder, hidden: usize, wanted: Option<Dimensions>) -> Result<usize> {
        let all = self.head.dim(hidden).map_err(|problem| folder.error(problem, "pull the model again"))?;
        let Some(Dimensions { count, forced }) = wanted.filter(|wanted| wanted.count != all) else { return Ok(all) };
        let refused = |problem, help: &str| {
            Err(Error::Setting { origin: "dimensions".to_owned(), problem, help: help.to_owned() })
        };
        if count > all {
            return refused(format!("{count} are more than the {all} of {}", folder.id), "ask for fewer");
        }
        if !forced && !self.matryoshka.contains(&count) {
            let names: Vec<String> = self.matryoshka.iter().map(ToString::to_string).collect();
            let names = if names.is_empty() { "none".to_owned() } else { names.join(", ") };
            let problem = format!(
                "the config.json of {} does not name {count} among the dimensions that suffice: {names}",
                folder.id
            );
            return refused(
                problem,
                "if its authors say so elsewhere, use --force-dimensions; else leave --dimensions out",
            );
        }
        self.head.keep(count);
        Ok(count)
    }
}

/// The position that a text's first token has: `RoBERTa`'s kin and `MPNet` count from behind the id of padding.
pub(super) fn first_position(model_type: &str, pad_token_id: Option<usize>) -> usize {
    match model_type {
        "roberta" | "xlm-roberta" | "camembert" | "mpnet" => pad_token_id.unwrap_or(1).saturating_add(1),
        _ => 0,
    }
}
