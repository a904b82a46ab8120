//! A model's folder, in the layout of sentence-transformers.
//!
//! Everything that decides the vectors is read from the folder's own files, each hashed as it is
//! read and compared with its pinned hash if it has one: what was checked is what is used. Weights
//! come from safetensors only; a pickle can run code and is refused.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::PathBuf;

use serde::Deserialize;
use tokenizers::{EncodeInput, PostProcessor, Tokenizer, TruncationDirection};

use super::{Encoded, Engine, ModelInfo, Precision, Role, Token, failed, finite, normalize};
use crate::error::{Error, Result};
use crate::hub::{plain, sha256};
use crate::tokens::{Breaks, Ends, TokenCounter};

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

/// A folder whose files are hashed and checked as they are read.
#[derive(Debug)]
pub struct Folder {
    /// Where it is.
    pub path: PathBuf,
    /// Hub id, or the folder's own name.
    pub id: String,
    /// Commit of the hub repository, if it came from there.
    pub revision: Option<String>,
    pins: &'static [(&'static str, &'static str)],
    read: BTreeMap<String, String>,
}

impl Folder {
    /// A folder with nothing read yet. `pins` are the hashes its files must have.
    #[must_use]
    pub fn new(
        path: PathBuf,
        id: String,
        revision: Option<String>,
        pins: &'static [(&'static str, &'static str)],
    ) -> Self {
        Self { path, id, revision, pins, read: BTreeMap::new() }
    }

    /// Reads a file that must be there.
    ///
    /// # Errors
    /// [`Error::Model`] if it is missing, unreadable or not the pinned one.
    pub fn read(&mut self, name: &str) -> Result<Vec<u8>> {
        let help = "a model is a sentence-transformers folder; `chunkmill model check` lists what it needs";
        self.read_optional(name)?.ok_or_else(|| self.error(format!("{name} is missing"), help))
    }

    /// Reads a file that may be absent.
    ///
    /// # Errors
    /// [`Error::Model`] if it is there and is unreadable or not the pinned one.
    pub(crate) fn read_optional(&mut self, name: &str) -> Result<Option<Vec<u8>>> {
        let path = self.path.join(name);
        let bytes = match fs::read(&path) {
            Ok(bytes) => bytes,
            Err(error) if error.kind() == std::io::ErrorKind::NotFound => {
                if self.pins.iter().any(|(pinned, _)| *pinned == name) {
                    let help = "run `chunkmill model pull`";
                    return Err(self.error(format!("{name} is missing, and its hash is pinned"), help));
                }
                return Ok(None);
            }
            Err(error) => return Err(self.error(format!("{name}: {error}"), "check the file's permissions")),
        };
        let found = sha256(&bytes);
        if let Some((_, pinned)) = self.pins.iter().find(|(pinned, _)| *pinned == name)
            && *pinned != found
        {
            let problem = format!("{name} has SHA-256 {found}, but {pinned} is pinned; it is not used");
            return Err(self.error(problem, "delete it and run `chunkmill model pull` again"));
        }
        self.read.insert(name.to_owned(), found);
        Ok(Some(bytes))
    }

    /// SHA-256 of every file read so far, by name.
    #[must_use]
    pub fn hashes(&self) -> &BTreeMap<String, String> {
        &self.read
    }

    /// What is recorded of this folder's model, run in this way: everything that decides the vectors.
    pub(super) fn info(
        &self,
        settings: &Settings,
        dim: usize,
        engine: Engine,
        precision: Precision,
        arithmetic: String,
    ) -> ModelInfo {
        let files: BTreeSet<_> = self.read.iter().collect();
        let Settings { pooling, normalize, tokenizer, .. } = settings;
        let rules = tokenizer.rules();
        let text = format!("{engine}-{precision}-v1 {files:?} {rules} {} {normalize}", pooling.name());
        ModelInfo {
            id: self.id.clone(),
            revision: self.revision.clone(),
            files: self.read.clone(),
            dim,
            max_tokens: tokenizer.max_tokens(),
            pooling: pooling.name().to_owned(),
            normalize: *normalize,
            engine,
            precision,
            fingerprint: blake3::hash(text.as_bytes()).to_hex()[..16].to_owned(),
            arithmetic,
        }
    }

    pub(super) fn error(&self, problem: impl Into<String>, help: &str) -> Error {
        Error::Model { model: self.id.clone(), problem: problem.into(), help: help.to_owned() }
    }

    /// The modules that `modules.json` lists.
    pub(super) fn modules(&self, json: &[u8]) -> Result<Vec<Module>> {
        self.json("modules.json", json)
    }

    /// The files that `model.safetensors.index.json` names.
    pub(super) fn shards(&self, json: &[u8]) -> Result<BTreeSet<String>> {
        #[derive(Deserialize)]
        struct Index {
            weight_map: BTreeMap<String, String>,
        }
        let index: Index = self.json("model.safetensors.index.json", json)?;
        Ok(index.weight_map.into_values().collect())
    }

    fn json<T: for<'de> Deserialize<'de>>(&self, name: &str, bytes: &[u8]) -> Result<T> {
        serde_json::from_slice(bytes).map_err(|e| self.error(format!("{name}: {e}"), "the file is damaged or too new"))
    }

    /// The tensors' bytes: one safetensors file, or the shards that an index names.
    pub(super) fn weights(&mut self) -> Result<Vec<Vec<u8>>> {
        if let Some(bytes) = self.read_optional("model.safetensors")? {
            return Ok(vec![bytes]);
        }
        if let Some(bytes) = self.read_optional("model.safetensors.index.json")? {
            return self
                .shards(&bytes)?
                .iter()
                .map(|shard| self.read(plain(shard).ok_or_else(|| self.escapes(shard))?))
                .collect();
        }
        let pickle = ["pytorch_model.bin", "pytorch_model.bin.index.json"].iter().any(|p| self.path.join(p).exists());
        Err(if pickle {
            let help = "convert it: `model.save_pretrained(folder, safe_serialization=True)` in Python";
            self.error("its weights are a pickle, which can run code and is refused", help)
        } else {
            self.error("model.safetensors is missing", "name a folder that holds the weights")
        })
    }

    /// Reads the weights only to hash and check them.
    ///
    /// # Errors
    /// [`Error::Model`] if they are missing, a pickle, or not the pinned ones.
    pub(crate) fn check_weights(&mut self) -> Result<()> {
        self.weights().map(drop)
    }

    fn escapes(&self, name: &str) -> Error {
        self.error(format!("`{name}` is not a file inside the folder"), "do not use this model")
    }
}

/// How token vectors become one vector.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Pooling {
    /// The mean over all tokens.
    Mean,
    /// The first token's.
    Cls,
    /// The greatest value in each dimension.
    Max,
    /// The sum divided by the square root of the number of tokens.
    MeanSqrtLen,
    /// The last token's.
    Last,
}

impl Pooling {
    /// The name written to datasets.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Self::Mean => "mean",
            Self::Cls => "cls",
            Self::Max => "max",
            Self::MeanSqrtLen => "mean_sqrt_len",
            Self::Last => "last",
        }
    }

    /// The vectors of texts, one after another, from those of their tokens, which are `stride` floats apart.
    ///
    /// # Errors
    /// [`Error::Embed`] if a value is not finite.
    pub(super) fn vectors<'t>(
        self,
        texts: impl ExactSizeIterator<Item = &'t [f32]>,
        stride: usize,
        info: &ModelInfo,
    ) -> Result<Vec<f32>> {
        let mut vectors = vec![0.0; texts.len() * info.dim];
        for (vector, tokens) in vectors.chunks_exact_mut(info.dim).zip(texts) {
            self.pool(tokens, stride, vector);
            if info.normalize {
                normalize(vector);
            }
        }
        finite(vectors)
    }

    /// Makes one vector of a text's token vectors, which are `stride` floats apart.
    fn pool(self, tokens: &[f32], stride: usize, vector: &mut [f32]) {
        let rows = || tokens.chunks(stride);
        match self {
            Self::Cls => vector.iter_mut().zip(tokens).for_each(|(to, &x)| *to = x),
            Self::Last => vector.iter_mut().zip(rows().last().unwrap_or_default()).for_each(|(to, &x)| *to = x),
            Self::Max => {
                vector.fill(f32::NEG_INFINITY);
                for token in rows() {
                    vector.iter_mut().zip(token).for_each(|(max, &x)| *max = max.max(x));
                }
            }
            Self::Mean | Self::MeanSqrtLen => {
                for token in rows() {
                    vector.iter_mut().zip(token).for_each(|(sum, &x)| *sum += x);
                }
                #[expect(clippy::cast_precision_loss, reason = "a model reads far fewer than 2^24 tokens")]
                let count = rows().len() as f32;
                let divisor = if self == Self::Mean { count } else { count.sqrt() };
                for sum in vector.iter_mut() {
                    *sum /= divisor;
                }
            }
        }
    }
}

/// What a folder's configuration says, weights aside.
pub struct Settings {
    /// Kind of network, `bert` for example.
    pub model_type: String,
    /// `config.json` as it is.
    pub config: Vec<u8>,
    /// How token vectors become one.
    pub pooling: Pooling,
    /// Whether vectors are scaled to length 1.
    pub normalize: bool,
    /// The tokenizer, with the model's limit and prompts.
    pub tokenizer: ModelTokenizer,
}

/// An entry of `modules.json`.
#[derive(Deserialize)]
pub(super) struct Module {
    path: String,
    r#type: String,
}

impl Module {
    /// The last part of its Python type.
    fn kind(&self) -> &str {
        self.r#type.rsplit('.').next().unwrap_or_default()
    }

    /// The file that says how it pools, if it does.
    pub(super) fn pooling_file(&self) -> Option<String> {
        (self.kind() == "Pooling").then(|| format!("{}/config.json", self.path))
    }
}

#[derive(Deserialize)]
#[expect(clippy::struct_excessive_bools, reason = "the file has them so")]
struct PoolingConfig {
    #[serde(default)]
    pooling_mode_cls_token: bool,
    #[serde(default)]
    pooling_mode_mean_tokens: bool,
    #[serde(default)]
    pooling_mode_max_tokens: bool,
    #[serde(default)]
    pooling_mode_mean_sqrt_len_tokens: bool,
    #[serde(default)]
    pooling_mode_weightedmean_tokens: bool,
    #[serde(default)]
    pooling_mode_lasttoken: bool,
    include_prompt: Option<bool>,
}

#[derive(Deserialize)]
struct Config {
    model_type: String,
    max_position_embeddings: Option<usize>,
    n_positions: Option<usize>,
    pad_token_id: Option<usize>,
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
}

impl Settings {
    /// Reads everything but the weights.
    ///
    /// # Errors
    /// [`Error::Model`] if a file is missing, not the pinned one, or asks for something that
    /// chunkmill cannot compute; nothing is computed in another way than the folder says.
    pub fn read(folder: &mut Folder) -> Result<Self> {
        let bytes = folder.read("modules.json")?;
        let modules = folder.modules(&bytes)?;
        let mut pooling = None;
        let mut normalize = false;
        for (index, module) in modules.iter().enumerate() {
            match (index, module.kind()) {
                (0, "Transformer") if module.path.is_empty() => {}
                (_, "Pooling") if pooling.is_none() => {
                    plain(&module.path).ok_or_else(|| folder.escapes(&module.path))?;
                    pooling = Some(read_pooling(folder, &module.pooling_file().unwrap_or_default())?);
                }
                (_, "Normalize") if pooling.is_some() => normalize = true,
                _ => {
                    let problem = format!("modules.json asks for `{}` as module {index}", module.r#type);
                    return Err(folder.error(problem, "supported: Transformer, Pooling, Normalize, in this order"));
                }
            }
        }
        let Some(pooling) = pooling else {
            return Err(
                folder.error("modules.json names no pooling", "add a Pooling module, as sentence-transformers does")
            );
        };
        let config = folder.read("config.json")?;
        let Config { model_type, max_position_embeddings, n_positions, pad_token_id } =
            folder.json("config.json", &config)?;
        let sentence: SentenceConfig = match folder.read_optional("sentence_bert_config.json")? {
            Some(bytes) => folder.json("sentence_bert_config.json", &bytes)?,
            None => SentenceConfig::default(),
        };
        let prompts: PromptConfig = match folder.read_optional("config_sentence_transformers.json")? {
            Some(bytes) => folder.json("config_sentence_transformers.json", &bytes)?,
            None => PromptConfig::default(),
        };
        let unused = first_position(&model_type, pad_token_id);
        let positions = max_position_embeddings.map(|count| count.saturating_sub(unused));
        let limits = [sentence.max_seq_length, positions, n_positions];
        let Some(max_tokens) = limits.into_iter().flatten().min() else {
            return Err(folder
                .error("no file says how many tokens it reads", "add sentence_bert_config.json with max_seq_length"));
        };
        let bytes = folder.read("tokenizer.json")?;
        let tokenizer = ModelTokenizer::new(&bytes, max_tokens, sentence.do_lower_case, &prompts)
            .map_err(|problem| folder.error(problem, "the file is damaged or too new"))?;
        Ok(Self { model_type, config, pooling, normalize, tokenizer })
    }
}

/// The position that a text's first token has: `RoBERTa`'s kin count from behind the id of padding.
pub(super) fn first_position(model_type: &str, pad_token_id: Option<usize>) -> usize {
    match model_type {
        "roberta" | "xlm-roberta" | "camembert" => pad_token_id.unwrap_or(1).saturating_add(1),
        _ => 0,
    }
}

fn read_pooling(folder: &mut Folder, name: &str) -> Result<Pooling> {
    let bytes = folder.read(name)?;
    let config: PoolingConfig = folder.json(name, &bytes)?;
    let modes = [
        (config.pooling_mode_cls_token, Some(Pooling::Cls)),
        (config.pooling_mode_mean_tokens, Some(Pooling::Mean)),
        (config.pooling_mode_max_tokens, Some(Pooling::Max)),
        (config.pooling_mode_mean_sqrt_len_tokens, Some(Pooling::MeanSqrtLen)),
        (config.pooling_mode_lasttoken, Some(Pooling::Last)),
        (config.pooling_mode_weightedmean_tokens, None),
    ];
    let mut chosen = modes.into_iter().filter_map(|(on, pooling)| on.then_some(pooling));
    if config.include_prompt == Some(false) {
        return Err(
            folder.error(format!("{name} leaves the prompt out of the pooling"), "use a model that pools all tokens")
        );
    }
    match (chosen.next(), chosen.next()) {
        (Some(Some(pooling)), None) => Ok(pooling),
        _ => Err(folder.error(
            format!("{name} asks for a pooling that is not one of cls, mean, max, mean_sqrt_len, last"),
            "use a model with one of these",
        )),
    }
}

/// The model's tokenizer with its limit, prompts and case rule.
pub struct ModelTokenizer {
    tokenizer: Tokenizer,
    max_tokens: usize,
    lower_case: bool,
    query_prompt: String,
    document_prompt: String,
    breaks_between_words: bool,
}

impl ModelTokenizer {
    fn new(json: &[u8], max_tokens: usize, lower_case: bool, prompts: &PromptConfig) -> Result<Self, String> {
        let mut tokenizer = Tokenizer::from_bytes(json).map_err(|e| format!("tokenizer.json: {e}"))?;
        // Shipped files may cut and pad to lengths of their own; the model's limit decides.
        tokenizer.with_padding(None);
        tokenizer.with_truncation(None).map_err(|e| format!("tokenizer.json: {e}"))?;
        let added = tokenizer.get_post_processor().map_or(0, |post| post.added_tokens(false));
        if max_tokens <= added {
            return Err(format!("a limit of {max_tokens} tokens leaves no room beside {added} special ones"));
        }
        let prompt = |names: &[&str]| -> String {
            let named = names.iter().find_map(|&name| prompts.prompts.get(name));
            let default = || prompts.default_prompt_name.as_ref().and_then(|name| prompts.prompts.get(name));
            named.or_else(default).cloned().unwrap_or_default()
        };
        // BERT's pre-tokenizer splits at all white space before anything else is done.
        let breaks_between_words =
            matches!(tokenizer.get_pre_tokenizer(), Some(tokenizers::PreTokenizerWrapper::BertPreTokenizer(_)));
        Ok(Self {
            tokenizer,
            max_tokens,
            lower_case,
            query_prompt: prompt(&["query"]),
            document_prompt: prompt(&["document", "passage", "corpus"]),
            breaks_between_words,
        })
    }

    /// Most tokens the model reads, special ones included.
    #[must_use]
    pub fn max_tokens(&self) -> usize {
        self.max_tokens
    }

    /// What the prompts, limit and case rule add to a fingerprint.
    pub(super) fn rules(&self) -> String {
        let Self { max_tokens, lower_case, query_prompt, document_prompt, .. } = self;
        format!("max={max_tokens} lower={lower_case} query={query_prompt:?} document={document_prompt:?}")
    }

    /// Tokenizes a text with its role's prompt, and cuts it to the limit.
    ///
    /// # Errors
    /// [`Error::Embed`] if the tokenizer fails.
    pub fn encode(&self, text: &str, role: Role) -> Result<Encoded> {
        let prompt = match role {
            Role::Query => &self.query_prompt,
            Role::Document => &self.document_prompt,
        };
        let mut encoding = self.raw(&format!("{prompt}{text}"))?;
        let added = self.tokenizer.get_post_processor().map_or(0, |post| post.added_tokens(false));
        let n_tokens = encoding.len() + added;
        if n_tokens > self.max_tokens {
            encoding.truncate(self.max_tokens - added, 0, TruncationDirection::Right);
        }
        let encoding =
            self.tokenizer.post_process(encoding, None, true).map_err(|error| failed("tokenizing")(&error))?;
        Ok(Encoded { ids: encoding.get_ids().to_vec(), n_tokens })
    }

    /// The tokens of a document without special ones, each line by itself, so that memory is that of a line.
    ///
    /// # Errors
    /// [`Error::Embed`] if the tokenizer fails.
    pub(super) fn tokens(&self, text: &str) -> Result<Vec<Token>> {
        let mut tokens = Vec::new();
        let mut at = 0;
        for line in text.split_inclusive('\n') {
            // Lower case of another length would move what stands behind it.
            let lower = self.lower_case.then(|| line.to_lowercase()).filter(|lower| lower.len() == line.len());
            let encoding = self.tokenizer.encode(lower.as_deref().unwrap_or(line), false);
            let encoding = encoding.map_err(|error| failed("tokenizing")(&error))?;
            let places = encoding.get_ids().iter().zip(encoding.get_offsets());
            tokens.extend(places.map(|(&id, &(start, end))| Token::new(id, at + start..at + end)));
            at += line.len();
        }
        Ok(tokens)
    }

    /// What stands before and behind the tokens of a document of this name.
    ///
    /// # Errors
    /// [`Error::Embed`] if the tokenizer fails.
    pub(super) fn frame(&self, name: Option<&str>) -> Result<[Vec<u32>; 2]> {
        // Special tokens stand around the others, whatever these are.
        let probe = self.raw("a")?;
        let count = probe.len();
        let whole = self.tokenizer.post_process(probe, None, true).map_err(|error| failed("tokenizing")(&error))?;
        let lead = whole.get_special_tokens_mask().iter().take_while(|&&special| special == 1).count();
        let (before, rest) = whole.get_ids().split_at(lead.min(whole.len()));
        let inner = self.raw(&format!("{}{}", self.document_prompt, name.unwrap_or_default()))?;
        Ok([[before, inner.get_ids()].concat(), rest.iter().skip(count).copied().collect()])
    }

    fn raw(&self, text: &str) -> Result<tokenizers::Encoding> {
        let lower = self.lower_case.then(|| text.to_lowercase());
        let input: EncodeInput<'_> = lower.as_deref().unwrap_or(text).into();
        self.tokenizer.encode_fast(input, false).map_err(|error| failed("tokenizing")(&error))
    }
}

impl TokenCounter for ModelTokenizer {
    fn count(&self, text: &str) -> Result<usize> {
        Ok(self.raw(text)?.len())
    }

    fn ends(&self, text: &str) -> Result<Ends> {
        // Without the case rule: lower case may be longer or shorter than the text it comes from.
        let encoding = self.tokenizer.encode(text, false).map_err(|error| failed("tokenizing")(&error))?;
        let mut end = 0;
        let ends = encoding.get_offsets().iter().map(|&(_, to)| {
            end = end.max(u32::try_from(to).unwrap_or(u32::MAX));
            end
        });
        Ok(Ends::new(text.len(), ends))
    }

    fn breaks(&self) -> Breaks {
        // Not at punctuation: `[MASK]` in a text may be one token.
        if self.breaks_between_words && !self.lower_case { Breaks::WhiteSpace } else { Breaks::Unknown }
    }
}
