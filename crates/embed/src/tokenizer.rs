//! A model's tokenizer, with the limit, the prompts and the case rule from the model's other files.

use chunkmill_base::error::{Result, caught};
use chunkmill_base::value::count;
use chunkmill_text::tokens::{Breaks, Ends, TokenCounter};
use serde::Deserialize;
use tokenizers::utils::truncation::{TruncationParams, TruncationStrategy, truncate_encodings};
use tokenizers::{PostProcessor, Tokenizer};

use crate::embedder::{EncodedText, Role, failed};
use crate::growth;
use crate::late::Token;
use crate::words::{Words, encode, tokenized};

/// The rules for a tokenizer that a model's other files contain.
pub(super) struct Rules {
    /// Maximum number of tokens the model reads, including special tokens.
    pub(super) max_tokens: usize,
    /// Whether texts are lower-cased first.
    pub(super) lower_case: bool,
    /// Prompt before a query.
    pub(super) query_prompt: String,
    /// Prompt before a document.
    pub(super) document_prompt: String,
    /// Whether special tokens are added around the others.
    pub(super) special: bool,
    /// Whether unknown tokens are left out.
    pub(super) known_only: bool,
}

impl Rules {
    /// Returns the rules of a network with this token limit, without prompts.
    pub(super) fn plain(max_tokens: usize) -> Self {
        Self {
            max_tokens,
            lower_case: false,
            query_prompt: String::new(),
            document_prompt: String::new(),
            special: true,
            known_only: false,
        }
    }
}

/// Two texts, encoded together for a network.
#[derive(Debug)]
pub(super) struct TextPair {
    /// All ids, including special tokens.
    pub(super) ids: Vec<u32>,
    /// Index of the first token of type 1; the number of ids if there is none.
    pub(super) second: usize,
}

/// The model's tokenizer, with its limit, prompts and case rule.
pub struct ModelTokenizer {
    tokenizer: Tokenizer,
    rules: Rules,
    /// The fast path, if there is one.
    words: Option<Words>,
    /// Special tokens before and after the others.
    frame: [Vec<u32>; 2],
    /// The unknown token, if it is left out.
    unknown: Option<u32>,
    breaks_between_words: bool,
}

impl ModelTokenizer {
    /// Parses `tokenizer.json`, or returns what is wrong with it.
    pub(super) fn new(json: &[u8], rules: Rules) -> Result<Self, String> {
        let damaged = |problem: &dyn std::fmt::Display| format!("tokenizer.json: {problem}");
        growth::check(json).map_err(|problem| damaged(&problem))?;
        let parsed = caught(|| Tokenizer::from_bytes(json)).map_err(|panic| damaged(&panic))?;
        let mut tokenizer = parsed.map_err(|e| damaged(&e))?;
        // Published files may truncate and pad to lengths of their own; only the model's limit applies.
        tokenizer.with_padding(None);
        tokenizer.with_truncation(None).map_err(|e| damaged(&e))?;
        let frame = if rules.special {
            let found = caught(|| frame(&tokenizer)).map_err(|panic| damaged(&panic))?;
            found.map_err(|e| damaged(&e))?
        } else {
            Default::default()
        };
        let added: usize = frame.iter().map(Vec::len).sum();
        if rules.max_tokens <= added {
            let (limit, added) = (count(rules.max_tokens, "token"), count(added, "special token"));
            return Err(format!("a limit of {limit} leaves no room next to {added}"));
        }
        // BERT's pre-tokenizer splits at all white space before anything else.
        let breaks_between_words =
            matches!(tokenizer.get_pre_tokenizer(), Some(tokenizers::PreTokenizerWrapper::BertPreTokenizer(_)));
        let words = Words::new(&tokenizer);
        let unknown = if rules.known_only { unknown(&tokenizer, json) } else { None };
        Ok(Self { tokenizer, rules, words, frame, unknown, breaks_between_words })
    }

    /// Returns the maximum number of tokens the model reads, including special tokens.
    pub fn max_tokens(&self) -> usize {
        self.rules.max_tokens
    }

    /// Returns the number of special tokens around a text.
    #[cfg(feature = "remote")]
    pub(super) fn special(&self) -> usize {
        self.frame.iter().map(Vec::len).sum()
    }

    /// Returns the number of token ids, up to the highest.
    pub(super) fn vocabulary(&self) -> usize {
        self.tokenizer.get_vocab(true).values().max().map_or(0, |&highest| highest as usize + 1)
    }

    /// Returns the id of a token.
    pub(super) fn id_of(&self, token: &str) -> Option<u32> {
        self.tokenizer.token_to_id(token)
    }

    /// Returns the prompts, the limit and the case rule as part of a fingerprint.
    pub(super) fn rules(&self) -> String {
        let Rules { max_tokens, lower_case, query_prompt, document_prompt, .. } = &self.rules;
        format!("max={max_tokens} lower={lower_case} query={query_prompt:?} document={document_prompt:?}")
    }

    /// Tokenizes a text with its role's prompt and truncates it to the limit.
    ///
    /// # Errors
    /// [`Error::Embed`](chunkmill_base::error::Error::Embed) if the tokenizer fails.
    pub fn encode(&self, text: &str, role: Role) -> Result<EncodedText> {
        let prompt = match role {
            Role::Query => &self.rules.query_prompt,
            Role::Document => &self.rules.document_prompt,
        };
        let mut ids = if prompt.is_empty() { self.ids(text)? } else { self.ids(&format!("{prompt}{text}"))? };
        let [before, after] = &self.frame;
        let added = before.len() + after.len();
        let n_tokens = ids.len() + added;
        ids.truncate(self.rules.max_tokens - added);
        ids.retain(|&id| Some(id) != self.unknown);
        ids.splice(..0, before.iter().copied());
        ids.extend(after);
        Ok(EncodedText { ids, n_tokens, cut: None })
    }

    /// Tokenizes a document line by line, without special tokens. Temporary memory is bounded by the longest line.
    ///
    /// # Errors
    /// [`Error::Embed`](chunkmill_base::error::Error::Embed) if the tokenizer fails.
    pub(super) fn tokens(&self, text: &str) -> Result<Vec<Token>> {
        let mut tokens = Vec::new();
        let mut at = 0;
        for line in text.split_inclusive('\n') {
            // A lower-cased line of a different length would shift the offsets after it.
            let lower = self.rules.lower_case.then(|| line.to_lowercase()).filter(|lower| lower.len() == line.len());
            let encoding = tokenized(|| self.tokenizer.encode(lower.as_deref().unwrap_or(line), false))?;
            let places = encoding.get_ids().iter().zip(encoding.get_offsets());
            let known = places.filter(|&(&id, _)| Some(id) != self.unknown);
            tokens.extend(known.map(|(&id, &(start, end))| Token::new(id, at + start..at + end)));
            at += line.len();
        }
        Ok(tokens)
    }

    /// Returns the ids before and after the tokens of a document with this name.
    ///
    /// # Errors
    /// [`Error::Embed`](chunkmill_base::error::Error::Embed) if the tokenizer fails.
    pub(super) fn frame(&self, name: Option<&str>) -> Result<[Vec<u32>; 2]> {
        let [before, after] = self.frame.clone();
        let inner = self.ids(&format!("{}{}", self.rules.document_prompt, name.unwrap_or_default()))?;
        Ok([[before, inner].concat(), after])
    }

    /// Encodes two texts together, truncating the longer one first to fit the limit.
    ///
    /// # Errors
    /// [`Error::Embed`](chunkmill_base::error::Error::Embed) if the tokenizer fails, or does not give the two texts the token
    /// types 0 and 1, in this order.
    pub(super) fn pair(&self, first: &str, second: &str) -> Result<TextPair> {
        let problem = failed("tokenizing");
        let encode = |text: &str| tokenized(|| self.tokenizer.encode_fast(text, false));
        let added = tokenized(|| Ok(self.tokenizer.get_post_processor().map_or(0, |post| post.added_tokens(true))))?;
        let room = TruncationParams {
            max_length: self.rules.max_tokens.saturating_sub(added),
            strategy: TruncationStrategy::LongestFirst,
            ..TruncationParams::default()
        };
        let (first, second) =
            truncate_encodings(encode(first)?, Some(encode(second)?), &room).map_err(|error| problem(&error))?;
        let whole = tokenized(|| self.tokenizer.post_process(first, second, true))?;
        let kinds = whole.get_type_ids();
        let second = kinds.partition_point(|&kind| kind == 0);
        if kinds[second..].iter().any(|&kind| kind != 1) {
            return Err(problem(&"the tokens of a pair of texts are not of type 0 and then of type 1"));
        }
        Ok(TextPair { ids: whole.get_ids().to_vec(), second })
    }

    /// Returns the ids of a text, without special tokens.
    fn ids(&self, text: &str) -> Result<Vec<u32>> {
        let lower = self.rules.lower_case.then(|| text.to_lowercase());
        let text = lower.as_deref().unwrap_or(text);
        let by_word = self.words.as_ref().map(|words| words.ids(&self.tokenizer, text));
        match by_word.transpose()?.flatten() {
            Some(ids) => Ok(ids),
            None => encode(&self.tokenizer, text),
        }
    }
}

/// Returns the special tokens before and after a text, which do not depend on the text.
fn frame(tokenizer: &Tokenizer) -> tokenizers::Result<[Vec<u32>; 2]> {
    let probe = tokenizer.encode("a", false)?;
    let count = probe.len();
    let whole = tokenizer.post_process(probe, None, true)?;
    let lead = whole.get_special_tokens_mask().iter().take_while(|&&special| special == 1).count();
    let (before, rest) = whole.get_ids().split_at(lead.min(whole.len()));
    Ok([before.to_vec(), rest.iter().skip(count).copied().collect()])
}

/// Returns the unknown token. Tokenizers specify it either as a token or as an id.
fn unknown(tokenizer: &Tokenizer, json: &[u8]) -> Option<u32> {
    #[derive(Deserialize)]
    struct TokenizerDescription {
        model: Model,
    }
    #[derive(Deserialize)]
    struct Model {
        unk_token: Option<String>,
        unk_id: Option<u32>,
    }
    let Model { unk_token, unk_id } = serde_json::from_slice::<TokenizerDescription>(json).ok()?.model;
    unk_id.or_else(|| tokenizer.token_to_id(&unk_token?))
}

impl TokenCounter for ModelTokenizer {
    fn count(&self, text: &str) -> Result<usize> {
        Ok(self.ids(text)?.len())
    }

    fn ends(&self, text: &str) -> Result<Ends> {
        // Ignores the case rule: lower-casing may change the length of a text.
        let encoding = tokenized(|| self.tokenizer.encode(text, false))?;
        let mut end = 0;
        let ends = encoding.get_offsets().iter().map(|&(_, to)| {
            end = end.max(u32::try_from(to).unwrap_or(u32::MAX));
            end
        });
        Ok(Ends::new(text.len(), ends))
    }

    fn breaks(&self) -> Breaks {
        // Not at punctuation: `[MASK]` in a text may be one token.
        if self.breaks_between_words && !self.rules.lower_case { Breaks::WhiteSpace } else { Breaks::Unknown }
    }
}
