//! The structure of a document: blocks, sections, links and footnotes, each with its bytes.

use std::ops::Range;

use chunkmill_base::value::named;
use serde::{Deserialize, Serialize};

/// The kind of a block.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub enum BlockKind {
    /// An ATX or setext heading of level 1 to 6.
    Heading(u8),
    /// A paragraph.
    Paragraph,
    /// A list; its items are its children.
    List,
    /// A list item.
    ListItem,
    /// A fenced or indented code block; in source code, everything except documentation comments. In source code,
    /// its children are the parts separated by blank lines.
    Code,
    /// A table.
    Table,
    /// A block quote.
    Quote,
    /// An HTML block.
    Html,
    /// A footnote definition.
    Footnote,
    /// A paragraph that contains only display math.
    Math,
    /// A thematic break.
    Rule,
    /// Link reference definitions, which markdown parsers do not report.
    References,
    /// Text that a site generator reads instead of markdown: MDX code, or a template tag with its content.
    Template,
    /// Front matter that is kept as text: it could not be read, or there is no other text.
    FrontMatter,
    /// A key with its value, or an element, in YAML or JSON; the entries inside are its children.
    Entry,
    /// A documentation comment in source code, or the comments about a whole YAML or JSON file.
    Comment,
}

impl BlockKind {
    /// Returns the name used in flags and messages.
    pub fn name(self) -> &'static str {
        match self {
            Self::Heading(_) => "heading",
            Self::Paragraph => "paragraph",
            Self::List => "list",
            Self::ListItem => "list_item",
            Self::Code => "code_block",
            Self::Table => "table",
            Self::Quote => "quote",
            Self::Html => "html",
            Self::Footnote => "footnote",
            Self::Math => "math",
            Self::Rule => "rule",
            Self::References => "references",
            Self::Template => "template",
            Self::FrontMatter => "front_matter",
            Self::Entry => "entry",
            Self::Comment => "doc_comment",
        }
    }

    /// Returns the flag of a chunk that is one block of this kind and exceeds the maximum size.
    pub const fn oversized(self) -> &'static str {
        match self {
            Self::Heading(_) => "oversized_heading",
            Self::Paragraph => "oversized_paragraph",
            Self::List | Self::ListItem => "oversized_list_item",
            Self::Code => "oversized_code_block",
            Self::Table => "oversized_table",
            Self::Quote => "oversized_quote",
            Self::Html => "oversized_html",
            Self::Footnote => "oversized_footnote",
            Self::Math => "oversized_math",
            Self::Rule => "oversized_rule",
            Self::References => "oversized_references",
            Self::Template => "oversized_template",
            Self::FrontMatter => "oversized_front_matter",
            Self::Entry => "oversized_entry",
            Self::Comment => "oversized_doc_comment",
        }
    }
}

/// A piece of structure. Blocks are in document order, a container before its contents.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Block {
    /// Its kind.
    pub kind: BlockKind,
    /// Its bytes, from the start of its first line.
    pub range: Range<usize>,
    /// Index of the next block that it does not contain.
    pub next: usize,
}

impl Block {
    /// Returns whether it is a heading.
    pub fn is_heading(&self) -> bool {
        matches!(self.kind, BlockKind::Heading(_))
    }
}

/// A heading and the text below it, up to the next heading of any level; or the text before the first heading.
/// Headings inside quotes, lists and `:::` containers do not open a section.
///
/// In YAML and JSON, the headings are the keys of the top-level mapping. In source code, the headings are the
/// items: functions, types and, inside a class or module, its members. Text between two items is again a section
/// of the enclosing class or module, or a section of level 0 at the top level.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Section {
    /// Heading level from 1 to 6; 0 for text under no heading. Outside source code, only the text before the first
    /// heading has level 0.
    pub level: u8,
    /// Heading text without markup; empty for the text before the first heading.
    pub title: String,
    /// Its bytes. The sections of a document follow each other without gaps.
    pub range: Range<usize>,
    /// Index of the section whose heading this one is under.
    pub parent: Option<usize>,
    /// Its name in a link, after `#`: the heading's own `{#id}`, otherwise GitHub's name for it. Empty for the
    /// text before the first heading.
    pub anchor: String,
    /// Whether it continues the last section of its level after deeper sections interrupted that one: text between
    /// two members of a class belongs to the class again. Only in source code.
    pub continues: bool,
}

named! {
    /// How a link is written.
    #[derive(Debug, Clone, Copy, PartialEq, Eq)]
    pub enum LinkKind: "a kind of link" {
        /// `[text](target)`, a reference link or an autolink.
        Link = "link",
        /// `[[target]]` or `[[target|text]]`.
        Wikilink = "wikilink",
        /// `![alt](target)` or `![[target]]`.
        Image = "image",
    }
}

/// A link or image.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Link {
    /// How it is written.
    pub kind: LinkKind,
    /// Whether its target is a name, as in `[[name]]` and `![[name]]`, rather than a path.
    pub named: bool,
    /// Its target, with references resolved inside the document.
    pub target: String,
    /// Its text; for an image, its alternative text.
    pub text: String,
    /// Its bytes.
    pub range: Range<usize>,
}

/// A footnote definition that no other block contains.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Footnote {
    /// The label that references use.
    pub label: String,
    /// Index of its block in [`Document::blocks`](super::Document::blocks).
    pub block: usize,
}
