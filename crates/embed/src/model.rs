//! A model's settings, read from its folder without the weights: modules, limits, tokenizer and prompts.

use std::collections::{BTreeMap, BTreeSet};

use chunkmill_base::error::{Error, Result};
use chunkmill_base::value;
use serde::Deserialize;
use serde_json::Value;

use crate::backend::{Dimensions, Engine};
use crate::embedder::{MAX_DIM, ModelInfo};
use crate::folder::{Folder, MODEL2VEC};
use crate::head::Head;
use crate::kernel::Precision;
use crate::modules::Module;
use crate::tokenizer::{ModelTokenizer, Rules};

/// The model used by default.
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

/// The configuration of a model's folder, without the weights.
pub struct Settings {
    /// Type of network, for example `bert`, or `static` for a table of vectors.
    pub model_type: String,
    /// The network's unparsed `config.json`; empty if there is none.
    pub config: Vec<u8>,
    /// The network.
    pub(super) network: Module,
    /// The modules that turn the vectors of a text's tokens into one.
    pub(super) head: Head,
    /// The tokenizer, with the model's limit and prompts.
    pub tokenizer: ModelTokenizer,
    /// Lengths to which vectors may be cut, according to `config.json`.
    pub matryoshka: Vec<usize>,
}

/// The configuration of the first module, which reads texts.
pub(super) struct InputSettings {
    /// Type of network, or `static` for a table.
    pub(super) model_type: String,
    /// The network's unparsed `config.json`; empty if there is none.
    pub(super) config: Vec<u8>,
    pub(super) tokenizer: ModelTokenizer,
    /// Lengths to which vectors may be cut, according to `config.json`.
    matryoshka: Vec<usize>,
}

/// Model type of a table of vectors.
const STATIC: &str = "static";

/// Token limit of a model that reads texts of any length.
const NO_LIMIT: usize = 1 << 30;

/// The default token limit of model2vec.
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

/// The default similarity function.
const COSINE: &str = "cosine";

impl PromptConfig {
    /// Returns the prompt of the first of these names that has one, otherwise the default prompt.
    fn prompt(&self, names: &[&str]) -> String {
        let own = names.iter().find_map(|&name| self.prompts.get(name));
        let default = || self.prompts.get(self.default_prompt_name.as_ref()?);
        own.or_else(default).cloned().unwrap_or_default()
    }

    /// Returns the rules of a tokenizer with these prompts and this token limit.
    fn rules(&self, max_tokens: usize) -> Rules {
        Rules {
            query_prompt: self.prompt(&["query"]),
            document_prompt: self.prompt(&["document", "passage", "corpus"]),
            ..Rules::plain(max_tokens)
        }
    }
}

impl InputSettings {
    /// Reads the configuration of a module of a folder.
    ///
    /// # Errors
    /// [`Error::Model`] if a file is missing or damaged.
    pub(super) fn read(folder: &mut Folder, module: &Module) -> Result<Self> {
        let prompts: PromptConfig = folder.optional("config_sentence_transformers.json")?;
        Self::of(folder, module, &prompts)
    }

    fn of(folder: &mut Folder, module: &Module, prompts: &PromptConfig) -> Result<Self> {
        let name = module.file("config.json");
        let (model_type, config, rules, matryoshka) = match module.kind() {
            "StaticEmbedding" => (STATIC.to_owned(), Vec::new(), Self::of_table(folder, &name, prompts)?, None),
            "SparseStaticEmbedding" => {
                let rules = Rules { special: false, ..prompts.rules(NO_LIMIT) };
                (STATIC.to_owned(), Vec::new(), rules, None)
            }
            _ => {
                let config = folder.read(&name)?;
                let described: Config = folder.json(&name, &config)?;
                let rules = Self::of_network(folder, module, &described, prompts)?;
                (described.model_type, config, rules, described.matryoshka_dimensions)
            }
        };
        let bytes = folder.read(&module.file("tokenizer.json"))?;
        let tokenizer = ModelTokenizer::new(&bytes, rules)
            .map_err(|problem| folder.error(problem, "the file is damaged or too new"))?;
        Ok(Self { model_type, config, tokenizer, matryoshka: matryoshka.unwrap_or_default() })
    }

    /// Reads the tokenizer rules of a network from its files.
    fn of_network(folder: &mut Folder, network: &Module, config: &Config, prompts: &PromptConfig) -> Result<Rules> {
        let Config { model_type, max_position_embeddings, n_positions, pad_token_id, .. } = config;
        let sentence: SentenceConfig = folder.optional(&network.file("sentence_bert_config.json"))?;
        let unused = first_position(model_type, *pad_token_id);
        let positions = max_position_embeddings.map(|count| count.saturating_sub(unused));
        let limits = [sentence.max_seq_length, positions, *n_positions];
        let Some(max_tokens) = limits.into_iter().flatten().min() else {
            return Err(folder
                .error("no file states the model's token limit", "add sentence_bert_config.json with max_seq_length"));
        };
        Ok(Rules { lower_case: sentence.do_lower_case, ..prompts.rules(max_tokens) })
    }

    /// Reads the tokenizer rules of a table of vectors from its files. A table of sentence-transformers reads the whole
    /// text. A table of model2vec reads up to `max_length` tokens and skips those missing from the vocabulary.
    fn of_table(folder: &mut Folder, name: &str, prompts: &PromptConfig) -> Result<Rules> {
        let config: serde_json::Map<String, Value> = folder.optional(name)?;
        let known_only = config.get("model_type").is_some_and(|kind| kind == MODEL2VEC);
        let max_tokens = match config.get("max_length").filter(|_| known_only) {
            None if known_only => MODEL2VEC_TOKENS,
            None | Some(Value::Null) => NO_LIMIT,
            Some(limit) => limit.as_u64().and_then(|limit| usize::try_from(limit).ok()).ok_or_else(|| {
                folder.error(format!("{name}: `max_length` is {limit}"), "it must be a number of tokens, or null")
            })?,
        };
        Ok(Rules { special: false, known_only, ..prompts.rules(max_tokens) })
    }
}

impl Settings {
    /// Reads everything but the weights, for the modules that read documents.
    ///
    /// # Errors
    /// [`Error::Model`] if a file is missing, is not the pinned file, or asks for something that chunkmill cannot
    /// compute; nothing is ever computed differently from what the folder says.
    pub fn read(folder: &mut Folder) -> Result<Self> {
        let routes = folder.routes()?;
        Self::of(folder, &routes.document)
    }

    /// Reads the same for these modules.
    pub(super) fn of(folder: &mut Folder, modules: &[Module]) -> Result<Self> {
        let mut head = Head::read(folder, modules)?;
        let Some(network) = modules.first().cloned() else {
            return Err(folder.error("modules.json is empty", "pull the model again"));
        };
        let prompts: PromptConfig = folder.optional("config_sentence_transformers.json")?;
        match prompts.similarity_fn_name.as_deref().unwrap_or(COSINE) {
            // Search and most stores compare by dot product, which equals the cosine for vectors of length 1.
            COSINE => head.normalize(),
            "dot" => {}
            // For vectors of length 1, Euclidean distance produces the same order, and Manhattan distance nearly the
            // same.
            _ if head.normalizes() => {}
            other => {
                let problem = format!("config_sentence_transformers.json asks for the similarity `{other}`");
                return Err(folder.error(problem, "use a model that is compared by `cosine` or `dot`"));
            }
        }
        let InputSettings { model_type, config, tokenizer, matryoshka } =
            InputSettings::of(folder, &network, &prompts)?;
        Ok(Self { model_type, config, network, head, tokenizer, matryoshka })
    }

    /// Returns whether the model is a table of vectors.
    pub(super) fn is_static(&self) -> bool {
        self.model_type == STATIC
    }

    /// Reads the weights only to hash and check them.
    ///
    /// # Errors
    /// [`Error::Model`] if they are missing, a pickle, or not the pinned weights.
    pub fn check_weights(&self, folder: &mut Folder) -> Result<()> {
        folder.weights(&self.network).map(drop)
    }

    /// Returns the record of the folder's model as it is run here: everything that determines the vectors.
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
            sparse: None,
            service: None,
        }
    }

    /// Returns the length of the vectors for a network of this width, and applies the wanted dimensions, if any.
    ///
    /// # Errors
    /// [`Error::Model`] if the modules do not fit; [`Error::Setting`] if the wanted dimensions are not available.
    pub(super) fn fit(&mut self, folder: &Folder, hidden: usize, wanted: Option<Dimensions>) -> Result<usize> {
        let all = self.head.dim(hidden).map_err(|problem| folder.error(problem, "pull the model again"))?;
        if all == 0 || all > MAX_DIM {
            let problem = format!("its vectors would have {}", value::count(all, "dimension"));
            return Err(folder.error(problem, "use a model with 1 to 65,536 dimensions"));
        }
        let Some(Dimensions { count, forced }) = wanted.filter(|wanted| wanted.count != all) else { return Ok(all) };
        let refused = |problem, help: &str| Err(Error::setting("dimensions", problem, help));
        if count > all {
            return refused(
                format!("{count} is more than the {} of {}", value::count(all, "dimension"), folder.id),
                "use a smaller number",
            );
        }
        if !forced && !self.matryoshka.contains(&count) {
            let names: Vec<String> = self.matryoshka.iter().map(ToString::to_string).collect();
            let names = if names.is_empty() { "none".to_owned() } else { names.join(", ") };
            let problem = format!(
                "the config.json of {} does not list {count} among its Matryoshka dimensions: {names}",
                folder.id
            );
            return refused(
                problem,
                "if its authors document this number elsewhere, use --force-dimensions; otherwise omit --dimensions",
            );
        }
        self.head.keep(count);
        Ok(count)
    }
}

/// Returns the position of a text's first token: `RoBERTa`, its relatives and `MPNet` start after the padding id.
pub(super) fn first_position(model_type: &str, pad_token_id: Option<usize>) -> usize {
    match model_type {
        "roberta" | "xlm-roberta" | "camembert" | "mpnet" => pad_token_id.unwrap_or(1).saturating_add(1),
        _ => 0,
    }
}
