//! How many tokens a service reads of a text. Services tell it only afterwards, so we count with the tokenizer that the user
//! names, or with OpenAI's.

use chunkmill_base::error::Result;
use chunkmill_text::tokens::{Breaks, Encoding, Ends, TokenCounter};

use super::settings::ServiceSettings;
use crate::backend::Dialect;
use crate::model::Settings;
use crate::model_ref;
use crate::tokenizer::ModelTokenizer;

/// Counts the tokens of a service.
pub(super) enum Counter {
    /// With an encoding of OpenAI.
    Encoding(&'static dyn TokenCounter),
    /// With the tokenizer of a model, and the name and the hash that identify it.
    Model(Box<ModelTokenizer>, String),
}

impl Counter {
    /// Loads the counter of a service.
    ///
    /// # Errors
    /// [`Error::Model`](chunkmill_base::error::Error::Model) if the model with the tokenizer cannot be found.
    pub(super) fn load(settings: &ServiceSettings) -> Result<Self> {
        Ok(match &settings.tokenizer {
            None => Self::Encoding(Encoding::default().counter()),
            Some(model) => {
                let mut folder = model_ref::locate(model)?;
                let tokenizer = Settings::read(&mut folder)?.tokenizer;
                let hash = folder.hashes().get("tokenizer.json").map_or("", |hash| hash.get(..16).unwrap_or(hash));
                let name = format!("{} {hash}", folder.id);
                Self::Model(Box::new(tokenizer), name)
            }
        })
    }

    /// Returns the name of what counts, for the record of the model.
    pub(super) fn name(&self) -> String {
        match self {
            Self::Encoding(_) => Encoding::default().to_string(),
            Self::Model(_, name) => name.clone(),
        }
    }

    /// Returns whether it counts as the service does, and does not only estimate.
    pub(super) fn is_exact(&self, dialect: Dialect, model: &str) -> bool {
        match self {
            Self::Model(..) => true,
            Self::Encoding(_) => dialect == Dialect::OpenAi && model.starts_with("text-embedding-"),
        }
    }

    /// Returns the number of tokens that the model reads, if its files say that.
    pub(super) fn limit(&self) -> Option<usize> {
        match self {
            Self::Model(tokenizer, _) => Some(tokenizer.max_tokens()),
            Self::Encoding(_) => None,
        }
    }

    /// Returns the number of special tokens around each text.
    fn special(&self) -> usize {
        match self {
            Self::Model(tokenizer, _) => tokenizer.special(),
            Self::Encoding(_) => 0,
        }
    }

    /// Returns the number of tokens of a text, with the special ones.
    pub(super) fn tokens(&self, text: &str) -> Result<usize> {
        Ok(self.count(text)? + self.special())
    }

    /// Returns the length of the longest beginning of a text that has at most `most` tokens with the special ones; at least
    /// `least` bytes.
    pub(super) fn cut(&self, text: &str, most: usize, least: usize) -> Result<usize> {
        let most = most.saturating_sub(self.special());
        let ends: Vec<usize> = self.ends(text)?.iter().take(most).collect();
        for &end in ends.iter().rev() {
            let end = text.floor_char_boundary(end).max(least);
            // A beginning alone may have more tokens than it has in the whole text.
            if end == least || self.count(&text[..end])? <= most {
                return Ok(end);
            }
        }
        Ok(least)
    }
}

impl TokenCounter for Counter {
    fn count(&self, text: &str) -> Result<usize> {
        match self {
            Self::Encoding(counter) => counter.count(text),
            Self::Model(tokenizer, _) => tokenizer.count(text),
        }
    }

    fn ends(&self, text: &str) -> Result<Ends> {
        match self {
            Self::Encoding(counter) => counter.ends(text),
            Self::Model(tokenizer, _) => tokenizer.ends(text),
        }
    }

    fn breaks(&self) -> Breaks {
        match self {
            Self::Encoding(counter) => counter.breaks(),
            Self::Model(tokenizer, _) => tokenizer.breaks(),
        }
    }
}
