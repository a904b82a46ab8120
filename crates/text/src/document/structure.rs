//! The structure of a text that a reader wrote, and where it is from. [`Document`](super::Document) takes it
//! as it is; nothing is parsed again.

use std::ops::Range;

use chunkmill_base::value::named;
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

use super::block::{Block, Footnote, Link};
use super::parsed::{Heading, Markup};

/// The structure of a text that a reader wrote, see [`LayerWriter`](super::LayerWriter).
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
pub struct Structure {
    /// Name of the format that was read: `html`.
    #[serde(skip)]
    pub format: &'static str,
    /// Title that the file itself declares.
    pub title: Option<String>,
    /// Tags that the file declares.
    pub tags: Vec<String>,
    /// What else it says about itself: author, date, language.
    pub metadata: Map<String, Value>,
    /// Anything unusual.
    pub flags: Vec<ReadFlag>,
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
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
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

    /// Returns the name of what is from this place to a later one: of two ranges of cells, rows or times one range, like
    /// `Prices!A5:C9`; of others both names.
    pub fn to(&self, last: &Self) -> String {
        let (first, last) = (&*self.name, &*last.name);
        if first == last {
            return first.to_owned();
        }
        if let (Some((kind, start, _)), Some((other, _, end))) = (range_of(first), range_of(last))
            && kind == other
        {
            return match kind {
                ROWS => format!("{kind}{start}-{end}"),
                "" => format!("{start}-{end}"),
                sheet => format!("{sheet}!{start}:{end}"),
            };
        }
        format!("{first} to {last}")
    }
}

const ROWS: &str = "rows ";

/// Returns what a range is of, and where it starts and ends: rows of a table, cells of a sheet, or times, of nothing.
fn range_of(name: &str) -> Option<(&str, &str, &str)> {
    let both = |range, mark| str::split_once(range, mark).unwrap_or((range, range));
    if let Some(rows) = name.strip_prefix(ROWS).or_else(|| name.strip_prefix("row ")) {
        let (start, end) = both(rows, '-');
        return Some((ROWS, start, end));
    }
    if let Some((sheet, cells)) = name.rsplit_once('!') {
        let (start, end) = both(cells, ':');
        return Some((sheet, start, end));
    }
    let (start, end) = name.split_once('-')?;
    let is_time =
        |time: &str| time.contains(':') && time.bytes().all(|byte| byte.is_ascii_digit() || b":.".contains(&byte));
    (is_time(start) && is_time(end)).then_some(("", start, end))
}

named! {
    /// Anything unusual that a reader found in a file.
    #[derive(Debug, Clone, Copy, PartialEq, Eq)]
    pub enum ReadFlag: "a flag" {
        /// The file has more than the reader reads.
        Cut = "cut",
        /// Over a tenth of the text of some pages has characters that are not known.
        IncompletePages = "incomplete_pages",
        /// Some pages have no text.
        NoText = "no_text",
        /// A page that the file names is not in it.
        MissingPage = "missing_page",
        /// Equal cells are not repeated as often as the file says.
        RepeatedCellsCut = "repeated_cells_cut",
        /// The file does not say its encoding.
        GuessedEncoding = "guessed_encoding",
        /// The file is in an encoding that is not known.
        UnknownCodePage = "unknown_code_page",
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
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct Dropped {
    /// The reason.
    pub reason: DropReason,
    /// How many characters, without white space.
    pub chars: u64,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn two_ranges_of_a_kind_are_one() {
        for (first, last, both) in [
            ("Prices!A1:C1", "Prices!A9:C9", "Prices!A1:C9"),
            ("'A!b'!A1", "'A!b'!B2", "'A!b'!A1:B2"),
            ("Prices!A1", "Stock!A1", "Prices!A1 to Stock!A1"),
            ("rows 2-41", "rows 42-81", "rows 2-81"),
            ("row 2", "row 3", "rows 2-3"),
            ("00:00:01.000-00:00:03.000", "01:00:00.000-01:00:01.000", "00:00:01.000-01:00:01.000"),
            ("slide 1", "slide 2", "slide 1 to slide 2"),
            ("body/p[1]", "body/p[1]", "body/p[1]"),
            ("a-b", "c-d", "a-b to c-d"),
        ] {
            assert_eq!(Place::new(first).to(&Place::new(last)), both);
        }
    }
}
