//! Finds what makes a document risky to show on a web page or to pass to a language model.
//!
//! A signal is a fact about some bytes. It is found once, when the document is parsed, and every chunk that
//! contains some of these bytes can carry it. A [`SecurityProfile`] decides which facts keep a document out.
//! Markup is judged as the parser reads it: a tag in code is text, because no page runs it. Hidden characters and
//! instructions to a model count everywhere, because a model reads code as well. But instructions in code or in a
//! string are [quoted](Signal::quoted): the default profile records them and does not block the document.

mod clues;
mod html;
mod invisible;
mod phrases;
mod quoted;
mod target;
mod words;

use std::ops::Range;

pub use target::after_scheme;

use chunkmill_base::error::Skip;
use chunkmill_base::value::named;
use serde::{Deserialize, Serialize};

use super::{DOCUMENT_BLOCKED, Document, Format, Parsed};
use quoted::Quotations;

/// Flag of a document with more than [`MAX_SIGNALS`] signals of one kind.
pub const MANY_SIGNALS: &str = "many_signals";

/// Maximum number of signals of one kind recorded per document. After that, the last one is extended to cover any
/// others found, so no chunk misses a signal.
pub const MAX_SIGNALS: usize = 100;

/// A risk in a document.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum SignalKind {
    /// A script that a browser would run, up to its closing tag.
    ScriptTag,
    /// An `on…` attribute of an HTML tag.
    EventHandler,
    /// A target that runs code: `javascript:` or `vbscript:`.
    JavascriptUrl,
    /// A `data:` target that is not a harmless image: a page or an SVG can contain scripts.
    DataUrl,
    /// A `data:` target that is a PNG, JPEG, GIF, WebP, AVIF, BMP or icon.
    DataImage,
    /// An `iframe`, `frame`, `object`, `embed` or `applet` that loads something.
    EmbeddedFrame,
    /// Sentences in a comment or in an element that is not shown.
    HiddenComment,
    /// U+202D or U+202E, which make text read differently from how it is written.
    BidiOverride,
    /// Another control of writing direction: U+202A to U+202C, U+2066 to U+2069.
    BidiControl,
    /// Characters without width where no script or emoji needs them.
    ZeroWidth,
    /// Unicode tags outside flags, and runs of variation selectors: text that only machines read.
    InvisibleText,
    /// A link that climbs to system folders or far above its collection, hides an encoded `..`, or names a system
    /// path.
    PathTraversal,
    /// The markers that chat models use to tell who is speaking.
    ChatMarkup,
    /// A phrase known from attempts to give a model new instructions.
    PromptInjection,
}

impl SignalKind {
    /// All kinds.
    pub const ALL: [Self; 14] = [
        Self::ScriptTag,
        Self::EventHandler,
        Self::JavascriptUrl,
        Self::DataUrl,
        Self::DataImage,
        Self::EmbeddedFrame,
        Self::HiddenComment,
        Self::BidiOverride,
        Self::BidiControl,
        Self::ZeroWidth,
        Self::InvisibleText,
        Self::PathTraversal,
        Self::ChatMarkup,
        Self::PromptInjection,
    ];

    /// Returns the name written to datasets as a flag.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Self::ScriptTag => "script_tag",
            Self::EventHandler => "event_handler",
            Self::JavascriptUrl => "javascript_url",
            Self::DataUrl => "data_url",
            Self::DataImage => "data_image",
            Self::EmbeddedFrame => "embedded_frame",
            Self::HiddenComment => "hidden_comment",
            Self::BidiOverride => "bidi_override",
            Self::BidiControl => "bidi_control",
            Self::ZeroWidth => "zero_width",
            Self::InvisibleText => "invisible_text",
            Self::PathTraversal => "path_traversal",
            Self::ChatMarkup => "chat_markup",
            Self::PromptInjection => "prompt_injection",
        }
    }
}

named!(SignalKind, "a signal");

/// The set of signals that keep a document out of the index.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default)]
pub enum SecurityProfile {
    /// Everything that can run or deceive.
    Strict,
    /// Only content that documentation practically never contains for a good reason.
    #[default]
    Moderate,
    /// Nothing; the signals are recorded anyway.
    Permissive,
}

impl SecurityProfile {
    /// All profiles.
    pub const ALL: [Self; 3] = [Self::Strict, Self::Moderate, Self::Permissive];

    /// Returns the name used in settings.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Self::Strict => "strict",
            Self::Moderate => "moderate",
            Self::Permissive => "permissive",
        }
    }

    /// Returns whether a signal of this kind keeps a document out.
    #[must_use]
    pub fn blocks(self, kind: SignalKind) -> bool {
        match self {
            Self::Permissive => false,
            Self::Strict => kind != SignalKind::DataImage,
            Self::Moderate => matches!(
                kind,
                SignalKind::JavascriptUrl
                    | SignalKind::DataUrl
                    | SignalKind::BidiOverride
                    | SignalKind::InvisibleText
                    | SignalKind::PromptInjection
            ),
        }
    }
}

named!(SecurityProfile, "a security profile");

/// A place in a document where there is a risk.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Signal {
    /// The kind of risk.
    pub kind: SignalKind,
    /// Its bytes in the document.
    pub range: Range<usize>,
    /// Whether it only quotes an attack: instructions to a model in a code block, in inline code, in a string of
    /// source code, or in a test. [`SecurityProfile::Moderate`] then records it and blocks nothing.
    pub quoted: bool,
}

impl Document {
    /// Returns the first signal for which a profile keeps the document out.
    #[must_use]
    pub fn blocking(&self, profile: SecurityProfile) -> Option<&Signal> {
        let harmless = |signal: &Signal| signal.quoted && profile == SecurityProfile::Moderate;
        self.signals.iter().find(|signal| profile.blocks(signal.kind) && !harmless(signal))
    }
}

/// The rules for admitting documents.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
pub struct Admission {
    /// The profile that decides which documents are blocked.
    pub profile: SecurityProfile,
    /// Whether a blocked document is admitted anyway, with a flag.
    pub allow_blocked: bool,
    /// Maximum memory of a document in bytes. `None` means 16 bytes per byte of the document plus 50 MB.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub document_memory: Option<u64>,
    /// Maximum memory of the job in bytes; half of it is for documents. This belongs to a run, not to a dataset.
    #[serde(skip)]
    pub memory: Option<u64>,
}

impl Admission {
    /// Returns the maximum memory in bytes for a document of this size.
    #[must_use]
    pub fn memory_of(self, bytes: u64) -> u64 {
        self.limit_of_job(bytes).unwrap_or_else(|| self.own_limit(bytes))
    }

    /// Returns the limit of `memory_of` if the job's memory determines it. A run with more memory may then admit
    /// the document.
    #[must_use]
    pub fn limit_of_job(self, bytes: u64) -> Option<u64> {
        self.memory_of_documents().filter(|&limit| limit < self.own_limit(bytes))
    }

    /// Returns the maximum memory in bytes for all documents in progress together, if the job has a limit.
    #[must_use]
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

/// Collects signals within their limits.
#[derive(Default)]
struct Found {
    signals: Vec<Signal>,
    /// For each kind, the number of signals and the index of the last one.
    counts: [(usize, usize); SignalKind::ALL.len()],
    many: bool,
}

impl Found {
    fn add(&mut self, kind: SignalKind, range: Range<usize>) {
        self.add_quoted(kind, range, false);
    }

    fn add_quoted(&mut self, kind: SignalKind, range: Range<usize>, quoted: bool) {
        let (count, last) = &mut self.counts[kind as usize];
        if *count == MAX_SIGNALS {
            let kept = &mut self.signals[*last];
            kept.range = kept.range.start.min(range.start)..kept.range.end.max(range.end);
            kept.quoted &= quoted;
            self.many = true;
            return;
        }
        (*count, *last) = (*count + 1, self.signals.len());
        self.signals.push(Signal { kind, range, quoted });
    }
}

/// Returns the signals of a text in order of their starts, and whether there were more than are recorded.
pub(super) fn scan(text: &str, path: &str, format: Format, ascii: bool, parsed: &Parsed) -> (Vec<Signal>, bool) {
    let mut found = Found::default();
    if !ascii {
        invisible::scan(text, &mut found);
    }
    let quotations = Quotations::new(text, path, format, parsed);
    phrases::scan(text, ascii, &quotations, &mut found);
    for link in &parsed.links {
        target::link(text, path, link, &mut found);
    }
    html::scan(text, path, &parsed.markup, &mut found);
    found.signals.sort_by_key(|signal| (signal.range.start, signal.range.end, signal.kind));
    (found.signals, found.many)
}
