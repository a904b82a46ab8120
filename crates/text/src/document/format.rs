//! Determines the format of a document. The file's extension alone decides, so the same path is always read the
//! same way, whatever the file contains.

/// How a document's text is read.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Format {
    /// `CommonMark` with the GitHub extensions, footnotes, math and wikilinks.
    Markdown,
    /// Paragraphs separated by blank lines, nothing else.
    Text,
    /// YAML: the entries of the top-level mapping or sequence, of every document in the file.
    Yaml,
    /// JSON, also with comments, trailing commas, or one value after another (JSON lines).
    Json,
    /// Source code: its items, with their documentation comments separate.
    Code(Language),
    /// A text that a reader wrote from a file in another format, which it names: `html`. It is laid out like Markdown, but
    /// its structure comes with it, see [`Structure`](super::Structure).
    Written(&'static str),
}

/// A programming language whose items and documentation comments are recognized.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Language {
    /// Rust.
    Rust,
    /// Python, also type stubs.
    Python,
    /// JavaScript, also with JSX.
    JavaScript,
    /// TypeScript, also with JSX.
    TypeScript,
    /// Go.
    Go,
    /// Java.
    Java,
    /// C, and every header `.h`.
    C,
    /// C++.
    Cpp,
}

impl Format {
    /// The extensions of each format, in lower case.
    pub const EXTENSIONS: &'static [(Self, &'static [&'static str])] = &[
        (Self::Markdown, &["md", "markdown", "mdx", "mkd"]),
        (Self::Text, &["txt", "text"]),
        (Self::Yaml, &["yaml", "yml"]),
        (Self::Json, &["json", "jsonc", "jsonl", "ndjson"]),
        (Self::Code(Language::Rust), &["rs"]),
        (Self::Code(Language::Python), &["py", "pyi"]),
        (Self::Code(Language::JavaScript), &["js", "mjs", "cjs", "jsx"]),
        (Self::Code(Language::TypeScript), &["ts", "mts", "cts", "tsx"]),
        (Self::Code(Language::Go), &["go"]),
        (Self::Code(Language::Java), &["java"]),
        (Self::Code(Language::C), &["c", "h"]),
        (Self::Code(Language::Cpp), &["cc", "cpp", "cxx", "hpp", "hh", "hxx"]),
    ];

    /// The extensions of tables whose rows may be documents, in lower case.
    pub const TABLES: [&'static str; 5] = ["parquet", "jsonl", "ndjson", "csv", "tsv"];

    /// Returns the format of a file, by its extension; plain text if the extension is unknown. A row of a table is named
    /// `table.csv#row`; its text is Markdown if the row has no extension that is known.
    #[must_use]
    pub fn of_path(path: &str) -> Self {
        let extension = |path: &str| path.rsplit_once('.').map(|(_, extension)| extension.to_ascii_lowercase());
        let own = extension(path).unwrap_or_default();
        let known = Self::EXTENSIONS.iter().find(|(_, extensions)| extensions.contains(&&*own));
        let is_table = |(at, _)| extension(&path[..at]).is_some_and(|table| Self::TABLES.contains(&&*table));
        let unknown = || if path.match_indices('#').any(is_table) { Self::Markdown } else { Self::Text };
        known.map_or_else(unknown, |(format, _)| *format)
    }

    /// Returns whether a text is laid out like Markdown, by its author or by a reader.
    pub(crate) fn is_like_markdown(self) -> bool {
        matches!(self, Self::Markdown | Self::Written(_))
    }

    /// Returns the name written to datasets; for source code, the name of its language.
    pub fn name(self) -> &'static str {
        match self {
            Self::Markdown => "markdown",
            Self::Text => "text",
            Self::Yaml => "yaml",
            Self::Json => "json",
            Self::Code(language) => language.name(),
            Self::Written(format) => format,
        }
    }
}

impl Language {
    /// Returns the name written to datasets.
    pub fn name(self) -> &'static str {
        match self {
            Self::Rust => "rust",
            Self::Python => "python",
            Self::JavaScript => "javascript",
            Self::TypeScript => "typescript",
            Self::Go => "go",
            Self::Java => "java",
            Self::C => "c",
            Self::Cpp => "cpp",
        }
    }
}
