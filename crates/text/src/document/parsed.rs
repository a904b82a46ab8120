//! The result of the parser of a format.

use std::ops::Range;

use serde::{Deserialize, Serialize};

use super::block::{Block, Footnote, Link};

/// The result of parsing a body.
#[derive(Debug, Default)]
pub(super) struct ParsedBody {
    pub(super) blocks: Vec<Block>,
    pub(super) headings: Vec<Heading>,
    pub(super) links: Vec<Link>,
    pub(super) tags: Vec<String>,
    pub(super) flags: Vec<&'static str>,
    pub(super) anchors: Vec<(String, usize)>,
    pub(super) footnotes: Vec<Footnote>,
    pub(super) markup: Markup,
}

/// Parts of a document that a page does not show as text. All are in document order.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
pub(super) struct Markup {
    /// HTML blocks and inline tags.
    pub(super) html: Vec<Range<usize>>,
    /// Bytes inside the HTML blocks that belong to the enclosing quote or list.
    pub(super) gaps: Vec<Range<usize>>,
    /// Comments in a template language.
    pub(super) comments: Vec<Range<usize>>,
    /// Code inside paragraphs.
    pub(super) code: Vec<Range<usize>>,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct Heading {
    pub(super) level: u8,
    pub(super) title: String,
    pub(super) anchor: String,
    pub(super) start: usize,
    pub(super) continues: bool,
}
