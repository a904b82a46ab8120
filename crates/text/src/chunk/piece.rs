//! What strategies propose: groups of pieces, each of which becomes a chunk.

use std::fmt;
use std::ops::Range;

use super::repeats::Repeats;

/// The contents of a chunk.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Kind {
    /// Part of a document.
    Text,
    /// Code, where a strategy separates it from prose.
    Code,
    /// A footnote.
    Footnote,
    /// A whole document that its strategy does not cut.
    Document,
}

impl Kind {
    /// Returns the name written to datasets.
    pub fn name(self) -> &'static str {
        match self {
            Self::Text => "text",
            Self::Code => "code",
            Self::Footnote => "footnote",
            Self::Document => "document",
        }
    }
}

/// The reason why a chunk starts where it does.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Boundary {
    /// The start of the text.
    Start,
    /// A heading of this level.
    Heading(u8),
    /// The previous chunk was full; this is the next blank line.
    BlankLine,
    /// The previous chunk was full, and there was no suitable blank line; this is the next block.
    Block,
    /// The previous chunk was full, and the whole block is too large; this is its next row or line.
    Line,
    /// The previous chunk was full, and the whole paragraph is too large; this is its next sentence.
    Sentence,
    /// The previous chunk was full; this is inside a block, at the limit.
    Limit,
    /// The previous chunk was full; this is the next separator. The empty one is between two characters.
    Separator(&'static str),
    /// The start of code that is kept separate.
    Code,
    /// Prose that continues after something that was kept separate or left out.
    Prose,
    /// The start of a footnote.
    Footnote,
}

impl fmt::Display for Boundary {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Start => write!(f, "start of text"),
            Self::Heading(level) => write!(f, "heading {level}"),
            Self::BlankLine => write!(f, "full: blank line"),
            Self::Block => write!(f, "full: next block"),
            Self::Line => write!(f, "full: next line"),
            Self::Sentence => write!(f, "full: next sentence"),
            Self::Limit => write!(f, "full: at the limit"),
            Self::Separator("") => write!(f, "full: next character"),
            Self::Separator(separator) => write!(f, "full: at {separator:?}"),
            Self::Code => write!(f, "code"),
            Self::Prose => write!(f, "prose goes on"),
            Self::Footnote => write!(f, "footnote"),
        }
    }
}

/// The chunks of one section, or of several merged sections.
pub(super) struct Group {
    pub(super) pieces: Vec<Piece>,
    /// Whether the limit forced a split, even if only one piece resulted.
    pub(super) split: bool,
    /// The kind of the pieces.
    pub(super) kind: Kind,
}

impl Group {
    /// Makes a group of a section that is one chunk, or none if there is no room for it.
    pub(super) fn whole(piece: impl Into<Option<Piece>>) -> Self {
        Self { pieces: piece.into().into_iter().collect(), split: false, kind: Kind::Text }
    }

    /// Makes a group of a section that was split.
    pub(super) fn split(pieces: Vec<Piece>) -> Self {
        Self { pieces, split: true, kind: Kind::Text }
    }

    /// Makes one group of the pieces of a document that is cut without regard to sections.
    pub(super) fn document(pieces: Vec<Piece>) -> Vec<Self> {
        if pieces.is_empty() { Vec::new() } else { vec![Self { split: pieces.len() > 1, pieces, kind: Kind::Text }] }
    }

    /// Returns the group with another kind.
    pub(super) fn of(self, kind: Kind) -> Self {
        Self { kind, ..self }
    }
}

/// The parts of one future chunk.
#[derive(Debug)]
pub(super) struct Piece {
    pub(super) range: Range<usize>,
    pub(super) repeats: Repeats,
    pub(super) flags: Vec<&'static str>,
    pub(super) boundary: Boundary,
}

impl Piece {
    /// Returns the number of bytes that it takes.
    pub(super) fn bytes(&self) -> usize {
        size_of::<Self>() + self.repeats.headings.len() * size_of::<usize>()
    }

    /// Creates a piece that repeats nothing, without flags.
    pub(super) fn plain(range: Range<usize>, boundary: Boundary) -> Self {
        Self { range, repeats: Repeats::default(), flags: Vec::new(), boundary }
    }
}
