//! How documents are read, and which are admitted to a dataset, by what is in them and by the memory that they take.

use chunkmill_base::error::Skip;
use serde::{Deserialize, Serialize};

use super::document::Document;
use super::reading::ReadSettings;
use super::security::{SecurityProfile, Signal};

/// Flag of a document that the security profile would have blocked, and of its chunks.
pub const DOCUMENT_BLOCKED: &str = "document_blocked";

impl Document {
    /// Returns the first signal for which a profile keeps the document out.
    pub fn blocking(&self, profile: SecurityProfile) -> Option<&Signal> {
        let harmless = |signal: &Signal| signal.quoted && profile == SecurityProfile::Moderate;
        self.signals.iter().find(|signal| profile.blocks(signal.kind) && !harmless(signal))
    }
}

/// The rules for reading and admitting documents.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
pub struct Admission {
    /// The profile that decides which documents are blocked.
    pub profile: SecurityProfile,
    /// Whether a blocked document is admitted anyway, with a flag.
    pub allow_blocked: bool,
    /// Maximum memory of a document in bytes. `None` means 16 bytes per byte of the document plus 50 MB.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub document_memory: Option<u64>,
    /// How documents are read that are not text.
    #[serde(default)]
    pub read: ReadSettings,
    /// Maximum memory of the job in bytes; half of it is for documents. This belongs to a run, not to a dataset.
    #[serde(skip)]
    pub memory: Option<u64>,
}

impl Admission {
    /// Returns the maximum memory in bytes for a document of this size.
    pub fn memory_of(self, bytes: u64) -> u64 {
        self.limit_of_job(bytes).unwrap_or_else(|| self.own_limit(bytes))
    }

    /// Returns the limit of `memory_of` if the job's memory determines it. A run with more memory may then admit
    /// the document.
    pub fn limit_of_job(self, bytes: u64) -> Option<u64> {
        self.memory_of_documents().filter(|&limit| limit < self.own_limit(bytes))
    }

    /// Returns the maximum memory in bytes for all documents in progress together, if the job has a limit.
    pub fn memory_of_documents(self) -> Option<u64> {
        self.memory.map(|memory| memory / 2)
    }

    fn own_limit(self, bytes: u64) -> u64 {
        self.document_memory.unwrap_or_else(|| bytes.saturating_mul(16).saturating_add(50_000_000))
    }

    /// Returns the part of the rules that belongs to a dataset.
    #[must_use]
    pub fn of_dataset(self) -> Self {
        Self { memory: None, ..self }
    }

    /// Admits a document. If the profile blocks it and blocked documents are allowed, it gets the flag
    /// [`DOCUMENT_BLOCKED`], which its chunks inherit.
    ///
    /// # Errors
    /// Returns [`Skip::Blocked`] if the profile blocks the document and blocked documents are not allowed.
    pub fn admit(self, document: &mut Document) -> Result<(), Skip> {
        let Some(signal) = document.blocking(self.profile) else { return Ok(()) };
        if !self.allow_blocked {
            let line = document.positions.line_at(signal.range.start);
            return Err(Skip::Blocked { signal: signal.kind.name(), profile: self.profile.name(), line });
        }
        document.flags.push(DOCUMENT_BLOCKED);
        Ok(())
    }
}
