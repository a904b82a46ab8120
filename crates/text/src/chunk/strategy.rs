//! The strategies, the presets and the switches, by their names. [`Spec`](super::Spec) defines their meaning.

use chunkmill_base::value::named;

/// The rule that proposes where a document may be cut. The set is closed: a new strategy needs a variant here, a
/// file next to this one, and a line in [`chunk`](super::chunk).
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Strategy {
    /// Sections merged up to a minimum, and split at blank lines above a maximum.
    Header,
    /// Sections merged when their level allows, and packed to a target above a maximum.
    Section,
    /// The section tree: whole subtrees that fit, siblings merged, paragraphs packed to a target.
    Semantic,
    /// Like `semantic`, with code and prose in separate chunks.
    CodeAware,
    /// Windows of exactly the target size that overlap by exactly the overlap.
    Fixed,
    /// Every heading starts a chunk; longer sections become overlapping token windows.
    Heading,
    /// Cuts at headings of level 2 and 3 in long documents, and none in short ones.
    Lines,
    /// The cheapest set of cuts: every place where a chunk may start has a price.
    Structure,
    /// The usual baseline, `LangChain`'s: separators from blank line to character, pieces merged up to a maximum.
    Recursive,
    /// The same with the separators of Chroma's chunking evaluation, which cuts before the ends of sentences too.
    ChromaRecursive,
    /// The plainest baseline: windows over the whole document.
    Windows,
    /// The whole document.
    None,
}

impl Strategy {
    /// Every strategy.
    pub const ALL: [Self; 12] = [
        Self::Header,
        Self::Section,
        Self::Semantic,
        Self::CodeAware,
        Self::Fixed,
        Self::Heading,
        Self::Lines,
        Self::Structure,
        Self::Recursive,
        Self::ChromaRecursive,
        Self::Windows,
        Self::None,
    ];

    /// Returns the name used in settings and datasets.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Self::Header => "header",
            Self::Section => "section",
            Self::Semantic => "semantic",
            Self::CodeAware => "code_aware",
            Self::Fixed => "fixed",
            Self::Heading => "heading",
            Self::Lines => "lines",
            Self::Structure => "structure",
            Self::Recursive => "recursive",
            Self::ChromaRecursive => "chroma_recursive",
            Self::Windows => "windows",
            Self::None => "none",
        }
    }
}

named!(Strategy, "a strategy");

/// A named spec.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Preset {
    /// Strategy `header`, 200 to 1,500 characters, overlap 50, with the parent headings.
    Ragdocs,
    /// Strategy `section`, 1,500 characters, at least 200, at most 3,000, overlap 200.
    Sections,
    /// For documentation: strategy `semantic`, 600 estimated tokens, at least 100, at most 1,000, overlap 60.
    Docs,
    /// For code-heavy documents, after the same design as `docs`: strategy `code_aware`, 400 estimated tokens, at most 800.
    Code,
    /// For large homogeneous text, after the same design: strategy `fixed`, 500 estimated tokens, at most 600, overlap 100.
    Fixed,
    /// For text from PDFs, after the same design: strategy `semantic`, 500 estimated tokens, overlap 75.
    Pdf,
    /// Strategy `heading`, 512 tokens, overlap 50.
    HeadingTokens,
    /// Strategy `lines`, documents over 500 lines are cut, sections over 1,000 lines split.
    LineThreshold,
    /// Ours: `structure`, 32 to 128 tokens.
    Structure,
    /// Baseline: `recursive`, 400 tokens.
    Recursive,
    /// Baseline: `chroma_recursive`, 400 tokens.
    ChromaRecursive,
    /// Baseline: `windows`, 400 tokens.
    Windows,
    /// The whole document as one chunk.
    None,
}

impl Preset {
    /// Every preset.
    pub const ALL: [Self; 13] = [
        Self::Ragdocs,
        Self::Sections,
        Self::Docs,
        Self::Code,
        Self::Fixed,
        Self::Pdf,
        Self::HeadingTokens,
        Self::LineThreshold,
        Self::Structure,
        Self::Recursive,
        Self::ChromaRecursive,
        Self::Windows,
        Self::None,
    ];

    /// The default preset.
    pub const DEFAULT: Self = Self::Structure;

    /// Returns the name used in settings.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Self::Ragdocs => "ragdocs",
            Self::Sections => "sections",
            Self::Docs => "docs",
            Self::Code => "code",
            Self::Fixed => "fixed",
            Self::Pdf => "pdf",
            Self::HeadingTokens => "heading-tokens",
            Self::LineThreshold => "line-threshold",
            Self::Structure => "structure",
            Self::Recursive => "recursive",
            Self::ChromaRecursive => "chroma-recursive",
            Self::Windows => "windows",
            Self::None => "none",
        }
    }
}

named!(Preset, "a preset");

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
    #[must_use]
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
