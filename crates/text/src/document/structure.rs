//! The structure of a text that a reader wrote, and where it is from. [`Document`](super::Document) takes it
//! as it is; nothing is parsed again.

use std::ops::Range;

use chunkmill_base::value::named;
use serde_json::{Map, Value};

use super::block::{Block, Footnote, Link};
use super::parsed::{Heading, Markup};

/// The structure of a text that a reader wrote, see [`LayerWriter`](super::LayerWriter).
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Structure {
    /// Name of the format that was read: `html`.
    pub format: &'static str,
    /// Title that the file itself declares.
    pub title: Option<String>,
    /// Tags that the file declares.
    pub tags: Vec<String>,
    /// What else it says about itself: author, date, language.
    pub metadata: Map<String, Value>,
    /// Anything unusual, by name.
    pub flags: Vec<&'static str>,
    /// Where named places of the source start in the text, in the order of the text. A place ends where the next starts.
    pub places: Vec<(usize, Place)>,
    /// Characters of the source's text that are not in the layer, by reason.
    pub dropped: Vec<Dropped>,
    /// The byte of the file where each of its lines starts; empty if the file is not text.
    pub(super) lines: Vec<u64>,
    pub(super) blocks: Vec<Block>,
    pub(super) headings: Vec<Heading>,
    pub(super) links: Vec<Link>,
    pub(super) anchors: Vec<(String, usize)>,
    pub(super) footnotes: Vec<Footnote>,
    /// Code inside paragraphs.
    pub(super) code: Vec<Range<usize>>,
    /// HTML and comments of Markdown that is kept as it is.
    pub(super) markup: Markup,
}

/// A place in a source whose text is not found by bytes.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Place {
    /// Its name: `cell 3`, `slide 4`, `Prices!A1:C9`, `body/p[12]`.
    pub name: String,
    /// Page or slide, from 1.
    pub page: Option<u32>,
}

impl Place {
    /// Creates a place that is on no page.
    pub fn new(name: impl Into<String>) -> Self {
        Self { name: name.into(), page: None }
    }
}

named! {
    /// Why text of a source is not in the layer.
    #[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
    pub enum DropReason: "a reason" {
        /// Menus, search forms, lists of links.
        Navigation = "navigation",
        /// Text that a reader of the page does not see.
        Hidden = "hidden",
        /// Scripts and styles.
        Script = "script",
        /// Comments of the markup.
        Comment = "comment",
        /// Words of the markup itself: directives, delimiters, settings.
        Markup = "markup",
        /// Headers and footers of pages, page numbers.
        RunningHead = "running_head",
        /// Outputs of a program, because the settings leave them out.
        Output = "output",
        /// Text that was deleted while changes were tracked.
        Deleted = "deleted",
        /// A repetition of text that is there once already.
        Repeated = "repeated",
        /// Attachments and pictures.
        Attachment = "attachment",
        /// Over a limit of the reader.
        Limit = "limit",
    }
}

/// Characters that are not in the layer.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Dropped {
    /// The reason.
    pub reason: DropReason,
    /// How many characters, without white space.
    pub chars: u64,
}
