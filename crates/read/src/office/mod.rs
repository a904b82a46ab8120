//! Word, slides, sheets and `OpenDocument`.
//!
//! These are packages: XML parts in a ZIP file, compressed. So no text of theirs is at bytes of the file, and places have
//! names instead: a paragraph of Word's body, a slide, a range of cells. Libraries were compared: `docx-rs` and `calamine`
//! return text without its place, or a model of one format only, and converters to Markdown must be parsed again. So the
//! parts are read here as events, with `zip` and `quick-xml`, and each paragraph is written when it ends.
//!
//! What is in all of these formats is in one place each: [`package`](crate::package) opens the file and bounds what is
//! unpacked, and reads events with names of known namespaces, [`runs`](crate::runs) makes the text of a paragraph, [`flow`]
//! writes paragraphs, lists and tables, [`drawing`] reads diagrams and charts.

mod about;
mod dates;
mod drawing;
mod flow;
mod math;
mod opendocument;
mod sheet;
mod slides;
mod word;

#[cfg(test)]
#[allow(clippy::pedantic, clippy::unwrap_used, reason = "tests fail by panicking")]
mod tests;

pub(crate) use opendocument::read as opendocument;
pub(crate) use sheet::read as sheet;
pub(crate) use slides::read as slides;
pub(crate) use word::read as word;
