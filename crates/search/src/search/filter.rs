//! Filters: which chunks a search can find.
//!
//! A filter is applied before the best chunks are chosen: a search for `k` hits returns `k` hits that pass it, and
//! the rank of a hit is its rank among those. The weight of a keyword is still computed over the whole dataset.

use std::collections::BTreeSet;
use std::str::FromStr;
use std::sync::Arc;

use chunkmill_base::error::{Error, Result};
use chunkmill_base::value::{did_you_mean, nearest_path};
use globset::{GlobBuilder, GlobMatcher};

use crate::ranking::{DocumentInfo, Headings, HeadingsInside, Rows};

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
    /// Tags that a document must have, all of them, in any case. `fruit` is also the tag `Fruit/Pear`.
    pub tags: Vec<String>,
    /// Ids of documents that are left out.
    pub without: Vec<String>,
}

/// A path below a root: the document or folder of that name if there is one, otherwise a glob over whole paths. `*`
/// does not match across folders, `**` does.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PathPattern(String);

impl From<String> for PathPattern {
    fn from(path: String) -> Self {
        Self(path.strip_prefix("./").map(str::to_owned).unwrap_or(path))
    }
}

impl FromStr for PathPattern {
    type Err = std::convert::Infallible;

    fn from_str(s: &str) -> Result<Self, Self::Err> {
        Ok(s.to_owned().into())
    }
}

/// A [`PathPattern`] in one dataset.
enum PathMatcher<'p> {
    /// A document, or a folder with everything below it.
    Below(&'p str),
    Glob(GlobMatcher),
}

impl PathPattern {
    fn matcher(&self, documents: &[Arc<DocumentInfo>]) -> Result<PathMatcher<'_>> {
        let path = self.0.trim_end_matches('/');
        let is_glob = path.contains(['*', '?', '[', '{']);
        if !is_glob || documents.iter().any(|document| is_at_or_below(&document.path, path, "/")) {
            return Ok(PathMatcher::Below(path));
        }
        let glob = GlobBuilder::new(&self.0).literal_separator(true).build().map_err(|error| {
            Error::setting(
                "path",
                format!("no document or folder has this name, and {error}"),
                "write a folder (guide), a document (guide/start.md) or a glob (guide/**/*.md)",
            )
        })?;
        Ok(PathMatcher::Glob(glob.compile_matcher()))
    }
}

impl PathMatcher<'_> {
    fn matches(&self, path: &str) -> bool {
        match self {
            Self::Below(folder) => is_at_or_below(path, folder, "/"),
            Self::Glob(glob) => glob.is_match(path),
        }
    }
}

impl Filter {
    /// Returns whether the filter lets everything through.
    pub fn is_empty(&self) -> bool {
        let Self { collections, promotion_levels, paths, headings, tags, without } = self;
        collections.is_empty()
            && promotion_levels.is_empty()
            && paths.is_empty()
            && headings.is_empty()
            && tags.is_empty()
            && without.is_empty()
    }

    /// Returns which rows pass the filter, or `None` if all do.
    pub(super) fn mask(&self, rows: &Rows) -> Result<Option<Vec<bool>>> {
        if self.is_empty() {
            return Ok(None);
        }
        let paths: Vec<PathMatcher<'_>> =
            self.paths.iter().map(|path| path.matcher(rows.documents())).collect::<Result<_>>()?;
        let documents: Vec<bool> = rows.documents().iter().map(|document| self.takes(document, &paths)).collect();
        let headings: Vec<bool> = rows.headings().map(|headings| self.takes_headings(&headings)).collect();
        let inside = self.under_headings(rows.inside());
        let takes = |row: usize| {
            documents[rows.docs()[row] as usize]
                && (headings[rows.of(row).headings as usize] || inside[rows.inside_row(row)].contains(&true))
        };
        Ok(Some((0..rows.len()).map(takes).collect()))
    }

    /// Returns a remark on each condition that nothing in the dataset meets, with the name that was most likely meant.
    pub(super) fn unmet(&self, rows: &Rows) -> Result<Vec<String>> {
        let mut unmet = Vec::new();
        let mut look = |what: &str, written: &str, filter: Self, names: &dyn Fn() -> Vec<String>, ends: &[char]| {
            if filter.mask(rows)?.is_none_or(|mask| mask.contains(&true)) {
                return Ok(());
            }
            let names = names();
            let names: Vec<&str> = names.iter().map(String::as_str).collect();
            let meant = did_you_mean(nearest_path(written, &names, ends));
            unmet.push(format!("nothing in the dataset {what} `{written}`{meant}"));
            Ok::<(), Error>(())
        };
        let of = |names: fn(&DocumentInfo) -> Vec<&str>| {
            let names = rows.documents().iter().flat_map(|document| names(document));
            names.map(str::to_owned).collect::<BTreeSet<String>>().into_iter().collect::<Vec<_>>()
        };
        for name in &self.collections {
            let filter = Self { collections: vec![name.clone()], ..Self::default() };
            look("is in the collection", name, filter, &|| of(|document| vec![&document.collection]), &[])?;
        }
        for level in &self.promotion_levels {
            let filter = Self { promotion_levels: vec![level.clone()], ..Self::default() };
            let levels = || of(|document| document.promotion_level.iter().map(String::as_str).collect());
            look("has the promotion level", level, filter, &levels, &[])?;
        }
        for path in &self.paths {
            let filter = Self { paths: vec![path.clone()], ..Self::default() };
            let paths = || of(|document| above(&document.path, "/").collect());
            look("has the path", &path.0, filter, &paths, &['/'])?;
        }
        for heading in &self.headings {
            let filter = Self { headings: vec![heading.clone()], ..Self::default() };
            let paths = || {
                let paths: BTreeSet<String> = rows
                    .headings()
                    .flat_map(|Headings { path, .. }| (1..=path.len()).map(move |end| path[..end].join(SEPARATOR)))
                    .collect();
                paths.into_iter().collect()
            };
            look("is below the heading", heading, filter, &paths, &['>'])?;
        }
        for tag in &self.tags {
            let filter = Self { tags: vec![tag.clone()], ..Self::default() };
            let tags = || of(|document| document.tags.iter().flat_map(|tag| above(tag, "/")).collect());
            look("has the tag", tag, filter, &tags, &['/'])?;
        }
        Ok(unmet)
    }

    fn takes(&self, document: &DocumentInfo, paths: &[PathMatcher<'_>]) -> bool {
        let one_of = |wanted: &[String], value: Option<&String>| {
            wanted.is_empty() || value.is_some_and(|value| wanted.contains(value))
        };
        one_of(&self.collections, Some(&document.collection))
            && one_of(&self.promotion_levels, document.promotion_level.as_ref())
            && (paths.is_empty() || paths.iter().any(|path| path.matches(&document.path)))
            && !self.without.contains(&document.doc_id)
            && self.tags.iter().all(|wanted| document.tags.iter().any(|tag| is_tag(tag, wanted)))
    }

    /// Returns which of the headings in chunks are one of those to search under, or below one.
    fn under_headings(&self, headings: &HeadingsInside) -> Vec<bool> {
        let mut under: Vec<bool> = Vec::with_capacity(headings.len());
        for at in 0..headings.len() {
            let above = headings.parent(at).is_some_and(|parent| under[parent]);
            under.push(above || self.headings.iter().any(|path| is_path(headings, at, path)));
        }
        under
    }

    fn takes_headings(&self, headings: &Headings<'_>) -> bool {
        let joined = headings.path.join(SEPARATOR);
        let under = |prefix: &String| {
            is_at_or_below(&joined, prefix, SEPARATOR) || is_at_or_below(headings.header_path, prefix, SEPARATOR)
        };
        self.headings.is_empty() || self.headings.iter().any(under)
    }
}

/// Returns whether the path of a heading is this text.
fn is_path(headings: &HeadingsInside, heading: usize, path: &str) -> bool {
    let mut rest = Some(path);
    let mut next = Some(heading);
    while let (Some(path), Some(at)) = (rest, next) {
        next = headings.parent(at);
        let above = path.strip_suffix(headings.title(at));
        rest = if next.is_some() { above.and_then(|above| above.strip_suffix(SEPARATOR)) } else { above };
    }
    rest == Some("")
}

/// Separator between headings.
const SEPARATOR: &str = " > ";

/// Returns whether a tag is the wanted one, or nested below it.
fn is_tag(tag: &str, wanted: &str) -> bool {
    is_at_or_below(&tag.to_lowercase(), &wanted.trim_start_matches('#').to_lowercase(), "/")
}

/// Returns a path and the folders above it, outermost first.
fn above<'p>(path: &'p str, separator: &'p str) -> impl Iterator<Item = &'p str> {
    path.match_indices(separator).map(|(at, _)| &path[..at]).chain([path])
}

fn is_at_or_below(path: &str, above: &str, separator: &str) -> bool {
    path.strip_prefix(above).is_some_and(|rest| rest.is_empty() || above.is_empty() || rest.starts_with(separator))
}
