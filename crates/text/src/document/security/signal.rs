//! A risk at some bytes of a document, and which risks keep a document out.

use std::ops::Range;

use chunkmill_base::value::named;

/// Flag of a document with more than [`MAX_SIGNALS`] signals of one kind.
pub const MANY_SIGNALS: &str = "many_signals";

/// Maximum number of signals of one kind recorded per document. After that, the last one is extended to cover any
/// others found, so no chunk misses a signal.
pub const MAX_SIGNALS: usize = 100;

named! {
    /// A risk in a document.
    #[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
    pub enum SignalKind: "a signal" {
        /// A script that a browser would run, up to its closing tag.
        ScriptTag = "script_tag",
        /// An `on…` attribute of an HTML tag.
        EventHandler = "event_handler",
        /// A target that runs code: `javascript:` or `vbscript:`.
        JavascriptUrl = "javascript_url",
        /// A `data:` target that is not a harmless image: a page or an SVG can contain scripts.
        DataUrl = "data_url",
        /// A `data:` target that is a PNG, JPEG, GIF, WebP, AVIF, BMP or icon.
        DataImage = "data_image",
        /// An `iframe`, `frame`, `object`, `embed` or `applet` that loads something.
        EmbeddedFrame = "embedded_frame",
        /// Sentences in a comment or in an element that is not shown.
        HiddenComment = "hidden_comment",
        /// U+202D or U+202E, which make text read differently from how it is written.
        BidiOverride = "bidi_override",
        /// Another control of writing direction: U+202A to U+202C, U+2066 to U+2069.
        BidiControl = "bidi_control",
        /// Characters without width where no script or emoji needs them.
        ZeroWidth = "zero_width",
        /// Unicode tags outside flags, and runs of variation selectors: text that only machines read.
        InvisibleText = "invisible_text",
        /// A link that climbs to system folders or far above its collection, hides an encoded `..`, or names a system
        /// path.
        PathTraversal = "path_traversal",
        /// The markers that chat models use to tell who is speaking.
        ChatMarkup = "chat_markup",
        /// A phrase known from attempts to give a model new instructions.
        PromptInjection = "prompt_injection",
    }
}

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

named! {
    /// The set of signals that keep a document out of the index.
    #[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default)]
    pub enum SecurityProfile: "a security profile" {
        /// Everything that can run or deceive.
        Strict = "strict",
        /// Only content that documentation practically never contains for a good reason.
        #[default]
        Moderate = "moderate",
        /// Nothing; the signals are recorded anyway.
        Permissive = "permissive",
    }
}

impl SecurityProfile {
    /// Returns whether a signal of this kind keeps a document out.
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

/// Collects signals within their limits.
#[derive(Default)]
pub(super) struct Signals {
    pub(super) all: Vec<Signal>,
    /// For each kind, the number of signals and the index of the last one.
    counts: [(usize, usize); SignalKind::ALL.len()],
    pub(super) many: bool,
}

impl Signals {
    pub(super) fn add(&mut self, kind: SignalKind, range: Range<usize>) {
        self.add_quoted(kind, range, false);
    }

    pub(super) fn add_quoted(&mut self, kind: SignalKind, range: Range<usize>, quoted: bool) {
        let (count, last) = &mut self.counts[kind as usize];
        if *count == MAX_SIGNALS {
            let kept = &mut self.all[*last];
            kept.range = kept.range.start.min(range.start)..kept.range.end.max(range.end);
            kept.quoted &= quoted;
            self.many = true;
            return;
        }
        (*count, *last) = (*count + 1, self.all.len());
        self.all.push(Signal { kind, range, quoted });
    }
}
