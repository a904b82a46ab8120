//! Reads documents that are not plain text, and keeps where each part of their text is in the file.
//!
//! A reader writes a layer with a [`LayerWriter`](chunkmill_text::document::LayerWriter): blocks, not Markdown, so nothing
//! is parsed a second time. For each piece of text it says which bytes of the file the piece stands for or, in formats that
//! are packed, the name of the place. It counts the characters that it leaves out, with the reason.
//!
//! # Map
//!
//! | module | question it answers |
//! | --- | --- |
//! | `check` | Is a layer what it should be? For tests |
//! | `html` | What does a page say? |
//! | `package` | Which parts has a packed file? |
//! | `raw` | Has markup of another format words to read? |
//! | `runs` | Where do marks stand in a paragraph? |
//! | `asciidoc` | What does a file in `AsciiDoc` say? |
//! | `epub` | What does a book say? |
//! | `latex` | What does a file in LaTeX say? |
//! | `mail` | What does a mail or a mailbox say? |
//! | `notebook` | What do the cells of a notebook say? |
//! | `office` | What do a Word file, slides and sheets say? |
//! | `pdf` | What do the pages of a PDF file say? |
//! | `rst` | What does a file in reStructuredText say? |
//! | `rtf` | What does an RTF file say? |
//! | `subtitles` | What is said, and when? |
//! | `table` | What do the rows of a table say? |
//! | `child` | What if a file is hostile? |
//! | `format` | Which reader has a file? |
//!
//! # Features
//!
//! | feature | formats |
//! | --- | --- |
//! | `epub` | EPUB 2 and 3 |
//! | `html` | HTML, XHTML |
//! | `mail` | mail (`.eml`), mailboxes (`.mbox`) |
//! | `markup` | reStructuredText, `AsciiDoc`, LaTeX, subtitles (SRT, `WebVTT`) |
//! | `notebook` | Jupyter notebooks |
//! | `office` | Word, slides, sheets, OpenDocument |
//! | `pdf` | PDF |
//! | `rtf` | RTF |
//! | `table` | CSV, TSV |

#[cfg(test)]
mod check;

#[cfg(feature = "html")]
mod html;
#[cfg(feature = "package")]
#[allow(dead_code, reason = "not all builds have readers that use all of it")]
mod package;

#[cfg(any(feature = "asciidoc", feature = "rst"))]
mod raw;
#[cfg(any(feature = "office", feature = "pdf", feature = "rtf"))]
#[allow(dead_code, reason = "not all builds have readers that use all of it")]
mod runs;

#[cfg(feature = "asciidoc")]
mod asciidoc;
#[cfg(feature = "epub")]
mod epub;
#[cfg(feature = "latex")]
mod latex;
#[cfg(feature = "mail")]
mod mail;
#[cfg(feature = "notebook")]
mod notebook;
#[cfg(feature = "office")]
mod office;
#[cfg(feature = "pdf")]
mod pdf;
#[cfg(feature = "rst")]
mod rst;
#[cfg(feature = "rtf")]
mod rtf;
#[cfg(feature = "subtitles")]
mod subtitles;
#[cfg(feature = "table")]
mod table;

#[cfg(feature = "child")]
mod child;

mod format;

#[cfg(feature = "child")]
pub use child::isolate;
pub use chunkmill_text::document::{HtmlPart, ReadSettings};
#[cfg(feature = "child")]
pub use format::serve;
pub use format::{ReadFormat, read};
#[cfg(feature = "mail")]
pub use mail::attachments;
#[cfg(feature = "table")]
pub use table::rows;

/// Without a reader of mails, nothing is attached to one.
#[cfg(not(feature = "mail"))]
pub fn attachments(_: &[u8], _: &mut dyn FnMut(&str, &[u8])) {}

/// Without a reader of tables, they have no rows.
#[cfg(not(feature = "table"))]
pub fn rows(_: &str) -> impl Iterator<Item = Vec<String>> {
    std::iter::empty()
}
