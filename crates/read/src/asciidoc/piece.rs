//! The marks and macros inside of text, as they are found.

use std::ops::Range;

/// How text between marks is shown.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Style {
    Strong,
    Emphasis,
    Code,
    /// Nothing is shown of the marks.
    Plain,
    /// Nothing is a mark inside.
    Literal,
    /// Between the quotes of a book.
    Quotes(&'static str, &'static str),
    Super,
}

/// The markup that begins at a byte of a text.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Piece {
    /// Text between two marks.
    Styled(Style, Range<usize>),
    /// The name of an attribute.
    Value(String),
    /// Nothing is shown.
    Nothing,
    /// A sign that is typed with several characters.
    Sign(&'static str),
    /// Names of the place, and what is shown of it.
    Anchor(String, Range<usize>),
    Macro(Macro),
}

/// A piece and where it ends.
pub(super) type Found = Option<(usize, Piece)>;

/// From where on there is no closing mark any more, for each mark: what was not found once is not searched again.
#[derive(Debug, Default)]
pub(super) struct Missing(Vec<&'static str>);

impl Missing {
    pub(super) fn find(&mut self, mark: &'static str, find: impl FnOnce() -> Option<usize>) -> Option<usize> {
        if self.0.contains(&mark) {
            return None;
        }
        let found = find();
        if found.is_none() {
            self.0.push(mark);
        }
        found
    }
}

/// The kind of a macro.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Kind {
    /// To an address, which is shown without a text.
    Link,
    /// To a place in this or another document of the same kind.
    Place,
    Image,
    Footnote,
    Math,
    /// Its text as it is.
    Literal,
    /// Its text with marks.
    Text,
    /// Keys to press.
    Keys,
    /// A menu, and the entry to choose in it.
    Menu,
    Anchor,
    Hidden,
}

/// A macro: `name:target[text]`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Macro {
    pub kind: Kind,
    /// Bytes of its name with the colon.
    pub name_len: usize,
    pub target: Range<usize>,
    pub text: Range<usize>,
}
