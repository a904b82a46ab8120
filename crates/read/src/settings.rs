//! The settings of readers.

pub use chunkmill_text::document::{HtmlPart, ReadSettings};
