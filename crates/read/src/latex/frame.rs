//! Groups and environments that are open.

use chunkmill_text::document::Inline;

/// An open group or environment.
#[derive(Debug)]
pub(super) enum Frame {
    Group(Group),
    Environment(Environment),
}

/// The purpose of the text between braces.
#[derive(Debug)]
pub(super) enum Group {
    Plain,
    /// An argument of a command that is not known.
    Argument,
    /// The first of two arguments that say the same.
    First,
    /// Text between two marks, and where it starts.
    Mark(&'static str, usize),
    /// Raised text, and where it starts.
    Raised(usize),
    /// The text of a link to a target.
    Link(String),
    Footnote(String),
    Heading(u8),
    Title,
    /// A property of the document, by its key in the metadata.
    About(&'static str),
    /// A paragraph of its own.
    Caption,
    Code,
}

impl Group {
    /// Returns whether its text is kept apart until it ends.
    pub(super) fn is_captured(&self) -> bool {
        !matches!(self, Self::Plain | Self::Argument | Self::First | Self::Mark(..) | Self::Raised(_) | Self::Link(_))
    }
}

/// An environment that is open.
#[derive(Debug)]
pub(super) struct Environment {
    pub name: String,
    pub kind: Kind,
}

impl Environment {
    /// Returns whether it is written around its blocks.
    pub(super) fn is_container(&self) -> bool {
        !matches!(self.kind, Kind::Blocks)
    }
}

#[derive(Debug)]
pub(super) enum Kind {
    /// Only what is inside counts.
    Blocks,
    Quote,
    List(List),
    Table(Table),
}

#[derive(Debug)]
pub(super) struct List {
    pub mark: ListMark,
    pub tight: bool,
    pub number: u32,
    pub item_is_open: bool,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum ListMark {
    Bullet,
    Number,
    Term,
    /// Of a list inside of a text, which is not written as one.
    Inside,
}

/// Rows whose last cell is being written.
#[derive(Debug, Default)]
pub(super) struct Table {
    pub rows: Vec<Vec<Inline>>,
    pub row: Vec<Inline>,
    /// Further columns that the cell spans.
    pub more: usize,
}
