//! A page that is a part of a larger file, like a chapter of a book.

use std::collections::HashMap;

use super::plan::Plan;
use super::tokens::Page;

/// A title that a table of contents gives a place.
#[derive(Debug)]
pub(crate) struct Title {
    /// 1 for a chapter or a part, 2 for what is in it.
    pub(crate) level: u8,
    pub(crate) text: String,
}

/// A page of XHTML in a larger file.
pub(crate) struct Part<'p> {
    /// Its name, which is unique in the file: `text/ch1.xhtml`. The names of its elements begin with it.
    pub(crate) name: &'p str,
    /// Whether it is a table of contents, whose links are not read.
    pub(crate) is_contents: bool,
    /// Titles by the names of their places, for pages without headings.
    pub(crate) titles: &'p HashMap<String, Title>,
    /// Returns the target of a link in the larger file.
    pub(crate) target: &'p dyn Fn(&str) -> String,
}

impl Part<'_> {
    /// Returns the name of an element in the larger file.
    pub(super) fn element(&self, id: &str) -> String {
        format!("{}#{id}", self.name)
    }
}

/// Returns whether a page has text that is seen, but no heading.
pub(super) fn needs_titles(page: &Page<'_>, plan: &Plan) -> bool {
    page.weight(0, plan).0 > 0 && !page.has_heading(plan)
}
