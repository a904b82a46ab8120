//! Filters: which chunks a search can find.
//!
//! A filter is applied before the best chunks are chosen: a search for `k` hits returns `k` hits that pass it, and
//! the rank of a hit is its rank among those. The weight of a keyword is still computed over the whole dataset.

use std::str::FromStr;

use globset::{GlobBuilder, GlobMatcher};

use crate::error::{Error, Result};
use crate::ranking::{DocumentInfo, HeadingInside, Headings, Row, Rows};

/// The conditions on a hit, which must meet all of them. An empty list sets no condition.
#[derive(Debug, Clone, Default)]
pub struct Filter {
    /// Collections to search.
    pub collections: Vec<String>,
    /// Promotion levels of the documents to search. Levels are names without an order.
    pub promotion_levels: Vec<String>,
    /// Paths of the documents to search.
    pub paths: Vec<PathPattern>,
    /// Headings to search under: the beginning of a chunk's heading path, as the dataset writes it (`header_path`)
    /// or with headings joined by ` > `, or of the path of a heading in the chunk.
    pub headings: Vec<String>,
    /// Tags that a document must have, all of them.
    pub tags: Vec<String>,
}

/// A path below a root: a document, a folder with everything below it, or a glob over whole paths.
#[derive(Debug, Clone)]
pub enum PathPattern {
    /// A document or folder.
    Below(String),
    /// A glob. `*` does not match across folders, `**` does.
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
    /// Returns whether the filter lets everything through.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        let Self { collections, promotion_levels, paths, headings, tags } = self;
        collections.is_empty()
            && promotion_levels.is_empty()
            && paths.is_empty()
            && headings.is_empty()
            && tags.is_empty()
    }

    /// Returns which rows pass the filter, or `None` if all do.
    pub(super) fn mask(&self, rows: &Rows) -> Option<Vec<bool>> {
        if self.is_empty() {
            return None;
        }
        let documents: Vec<bool> = rows.documents().iter().map(|document| self.takes(document)).collect();
        let headings: Vec<bool> = rows.headings().iter().map(|headings| self.takes_headings(headings)).collect();
        let inside = self.under_headings(rows.inside());
        let passes = |(at, row): (usize, &Row)| {
            documents[row.doc as usize]
                && (headings[row.headings as usize] || inside[rows.inside_row(at)].contains(&true))
        };
        Some(rows.iter().enumerate().map(passes).collect())
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

    /// Returns which of the headings in chunks are one of those to search under, or below one.
    fn under_headings(&self, headings: &[HeadingInside]) -> Vec<bool> {
        let mut under: Vec<bool> = Vec::with_capacity(headings.len());
        for (at, heading) in headings.iter().enumerate() {
            let above = heading.parent.is_some_and(|parent| under[parent as usize]);
            under.push(above || self.headings.iter().any(|path| is_path(headings, at, path)));
        }
        under
    }

    fn takes_headings(&self, headings: &Headings) -> bool {
        let joined = headings.path.join(SEPARATOR);
        let under = |prefix: &String| {
            is_at_or_below(&joined, prefix, SEPARATOR) || is_at_or_below(&headings.header_path, prefix, SEPARATOR)
        };
        self.headings.is_empty() || self.headings.iter().any(under)
    }
}

/// Returns whether the path of a heading is this text.
fn is_path(headings: &[HeadingInside], heading: usize, path: &str) -> bool {
    let mut rest = Some(path);
    let mut at = Some(&headings[heading]);
    while let (Some(path), Some(HeadingInside { parent, title })) = (rest, at) {
        at = parent.map(|parent| &headings[parent as usize]);
        let above = path.strip_suffix(&**title);
        rest = if at.is_some() { above.and_then(|above| above.strip_suffix(SEPARATOR)) } else { above };
    }
    rest == Some("")
}

/// Separator between headings.
const SEPARATOR: &str = " > ";

fn is_at_or_below(path: &str, above: &str, separator: &str) -> bool {
    path.strip_prefix(above).is_some_and(|rest| rest.is_empty() || above.is_empty() || rest.starts_with(separator))
}
