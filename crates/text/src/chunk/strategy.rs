//! The strategies, the presets and the switches, by their names. [`Spec`](super::Spec) defines their meaning.

use chunkmill_base::value::named;

named! {
    /// The rule that proposes where a document may be cut. The set is closed: a new strategy needs a variant here, a
    /// file next to this one, and a line in [`chunk`](super::chunk).
    #[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
    pub enum Strategy: "a strategy" {
        /// Sections merged up to a minimum, and split at blank lines above a maximum.
        Header = "header",
        /// Sections merged when their level allows, and packed to a target above a maximum.
        Section = "section",
        /// The section tree: whole subtrees that fit, siblings merged, paragraphs packed to a target.
        Semantic = "semantic",
        /// Like `semantic`, with code and prose in separate chunks.
        CodeAware = "code_aware",
        /// Windows of exactly the target size that overlap by exactly the overlap.
        Fixed = "fixed",
        /// Every heading starts a chunk; longer sections become overlapping token windows.
        Heading = "heading",
        /// Cuts at headings of level 2 and 3 in long documents, and none in short ones.
        Lines = "lines",
        /// The cheapest set of cuts: every place where a chunk may start has a price.
        Structure = "structure",
        /// The usual baseline, `LangChain`'s: separators from blank line to character, pieces merged up to a maximum.
        Recursive = "recursive",
        /// The same with the separators of Chroma's chunking evaluation, which cuts before the ends of sentences too.
        ChromaRecursive = "chroma_recursive",
        /// The plainest baseline: windows over the whole document.
        Windows = "windows",
        /// The whole document.
        None = "none",
    }
}

named! {
    /// A named spec.
    #[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
    pub enum Preset: "a preset" {
        /// Strategy `header`, 200 to 1,500 characters, overlap 50, with the parent headings.
        Ragdocs = "ragdocs",
        /// Strategy `section`, 1,500 characters, at least 200, at most 3,000, overlap 200.
        Sections = "sections",
        /// For documentation: strategy `semantic`, 600 estimated tokens, at least 100, at most 1,000, overlap 60.
        Docs = "docs",
        /// For code-heavy documents, after the same design as `docs`: strategy `code_aware`, 400 estimated tokens, at most 800.
        Code = "code",
        /// For large homogeneous text, after the same design: strategy `fixed`, 500 estimated tokens, at most 600, overlap 100.
        Fixed = "fixed",
        /// For text from PDFs, after the same design: strategy `semantic`, 500 estimated tokens, overlap 75.
        Pdf = "pdf",
        /// Strategy `heading`, 512 tokens, overlap 50.
        HeadingTokens = "heading-tokens",
        /// Strategy `lines`, documents over 500 lines are cut, sections over 1,000 lines split.
        LineThreshold = "line-threshold",
        /// Ours: `structure`, 32 to 128 tokens.
        Structure = "structure",
        /// Baseline: `recursive`, 400 tokens.
        Recursive = "recursive",
        /// Baseline: `chroma_recursive`, 400 tokens.
        ChromaRecursive = "chroma-recursive",
        /// Baseline: `windows`, 400 tokens.
        Windows = "windows",
        /// The whole document as one chunk.
        None = "none",
    }
}

impl Preset {
    /// The default preset.
    pub const DEFAULT: Self = Self::Structure;
}

/// A rule that can be turned on or off.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Switch {
    /// Prepend the headings above a chunk to its text.
    ParentHeaders,
    /// Never mix parts of several sections in one chunk.
    RespectBoundaries,
    /// Keep code blocks.
    IncludeCode,
    /// Keep tables.
    IncludeTables,
    /// Cut blocks over the maximum between their rows, lines, sentences or words.
    CutOversized,
    /// Repeat whole sentences, at most half a chunk.
    SentenceOverlap,
    /// Show the model text with tidied white space.
    NormalizeWhitespace,
    /// Show the model text in Unicode's composed form, NFC.
    NormalizeUnicode,
    /// Show the model URLs without queries and credentials.
    RedactUrls,
}

impl Switch {
    /// Every switch.
    pub const ALL: [Self; 9] = [
        Self::ParentHeaders,
        Self::RespectBoundaries,
        Self::IncludeCode,
        Self::IncludeTables,
        Self::CutOversized,
        Self::SentenceOverlap,
        Self::NormalizeWhitespace,
        Self::NormalizeUnicode,
        Self::RedactUrls,
    ];

    /// Returns the name used in settings.
    pub fn name(self) -> &'static str {
        match self {
            Self::ParentHeaders => "parent_headers",
            Self::RespectBoundaries => "respect_boundaries",
            Self::IncludeCode => "include_code",
            Self::IncludeTables => "include_tables",
            Self::CutOversized => "cut_oversized",
            Self::SentenceOverlap => "sentence_overlap",
            Self::NormalizeWhitespace => "normalize_whitespace",
            Self::NormalizeUnicode => "normalize_unicode",
            Self::RedactUrls => "redact_urls",
        }
    }
}
