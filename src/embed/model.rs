//! What a model's folder says of it, weights aside: its modules, its limits, its tokenizer and its prompts.

use std::collections::{BTreeMap, BTreeSet};

use serde::Deserialize;
use tokenizers::{EncodeInput, PostProcessor, Tokenizer, TruncationDirection};

use super::folder::Folder;
use super::head::Head;
use super::{Dimensions, Encoded, Engine, ModelInfo, Precision, Role, Token, failed};
use crate::error::{Error, Result};
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

/// What a folder's configuration says, weights aside.
pub struct Settings {
    /// Kind of network, `bert` for example.
    pub model_type: String,
    /// `config.json` as it is.
    pub config: Vec<u8>,
    /// What makes one vector of those of a text's tokens.
    pub(super) head: Head,
    /// The tokenizer, with the model's limit and prompts.
    pub tokenizer: ModelTokenizer,
    /// How many of a vector's first values may be kept alone, as `config.json` says.
    pub matryoshka: Vec<usize>,
}

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
        let head = Head::read(folder, &modules)?;
        let config = folder.read("config.json")?;
        let Config { model_type, max_position_embeddings, n_positions, pad_token_id, matryoshka_dimensions } =
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
        Ok(Self { model_type, config, head, tokenizer, matryoshka: matryoshka_dimensions.unwrap_or_default() })
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
