//! Which chunks a search may find at all.
//!
//! A filter is applied before the best are chosen: `k` hits are `k` hits that pass it, and the rank of
//! a hit is its rank among those. What a keyword is worth is still counted over the whole dataset.

use std::str::FromStr;

use globset::{GlobBuilder, GlobMatcher};

use crate::error::{Error, Result};
use crate::ranking::{DocumentInfo, Headings, Rows};

/// What a hit must be. An empty list asks for nothing; the lists add up.
#[derive(Debug, Clone, Default)]
pub struct Filter {
    /// In one of these collections.
    pub collections: Vec<String>,
    /// In a document with one of these promotion levels. Levels are names without an order.
    pub promotion_levels: Vec<String>,
    /// In a document at one of these places.
    pub paths: Vec<PathPattern>,
    /// Under one of these headings: the first headings of a chunk's path, as the dataset writes them
    /// (`header_path`) or joined with ` > `.
    pub headings: Vec<String>,
    /// In a document with all these tags.
    pub tags: Vec<String>,
}

/// A path below a root: a document, a folder with all below it, or a glob over whole paths.
#[derive(Debug, Clone)]
pub enum PathPattern {
    /// A document or folder.
    Below(String),
    /// A glob; `*` stays in a folder, `**` does not.
    Glob(GlobMatcher),
}

impl FromStr for PathPattern {
    type Err = Error;

    fn from_str(s: &str) -> Result<Self> {
        let s = s.strip_prefix("./").unwrap_or(s);
        if !s.contains(['*', '?', '[', '{']) {
            return Ok(Self::Below(s.trim_end_matches('/').to_owned()));
        }
        let glob = GlobBuilder::new(s).literal_separator(true).build().map_err(|error| Error::Setting {
            origin: "path".to_owned(),
            problem: error.to_string(),
            help: "write a folder (guide), a document (guide/start.md) or a glob (guide/**/*.md)".to_owned(),
        })?;
        Ok(Self::Glob(glob.compile_matcher()))
    }
}

impl PathPattern {
    fn matches(&self, path: &str) -> bool {
        match self {
            Self::Below(folder) => is_at_or_below(path, folder, "/"),
            Self::Glob(glob) => glob.is_match(path),
        }
    }
}

impl Filter {
    /// Whether it lets everything through.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        let Self { collections, promotion_levels, paths, headings, tags } = self;
        collections.is_empty()
            && promotion_levels.is_empty()
            && paths.is_empty()
            && headings.is_empty()
            && tags.is_empty()
    }

    /// Which rows it lets through, or `None` for all.
    pub(super) fn mask(&self, rows: &Rows) -> Option<Vec<bool>> {
        if self.is_empty() {
            return None;
        }
        let documents: Vec<bool> = rows.documents().iter().map(|document| self.takes(document)).collect();
        let headings: Vec<bool> = rows.headings().iter().map(|headings| self.takes_headings(headings)).collect();
        Some(rows.iter().map(|row| documents[row.doc as usize] && headings[row.headings as usize]).collect())
    }

    fn takes(&self, document: &DocumentInfo) -> bool {
        let one_of = |wanted: &[String], value: Option<&String>| {
            wanted.is_empty() || value.is_some_and(|value| wanted.contains(value))
        };
        one_of(&self.collections, Some(&document.collection))
            && one_of(&self.promotion_levels, document.promotion_level.as_ref())
            && (self.paths.is_empty() || self.paths.iter().any(|path| path.matches(&document.path)))
            && self.tags.iter().all(|tag| document.tags.contains(tag))
    }

    fn takes_headings(&self, headings: &Headings) -> bool {
        let joined = headings.path.join(SEPARATOR);
        let under = |prefix: &String| {
            is_at_or_below(&joined, prefix, SEPARATOR) || is_at_or_below(&headings.header_path, prefix, SEPARATOR)
        };
        self.headings.is_empty() || self.headings.iter().any(under)
    }
}

/// What stands between headings.
const SEPARATOR: &str = " > ";

fn is_at_or_below(path: &str, above: &str, separator: &str) -> bool {
    path.strip_prefix(above).is_some_and(|rest| rest.is_empty() || above.is_empty() || rest.starts_with(separator))
}
