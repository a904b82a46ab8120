//! The files below a root that no glob takes. They are none of the documents that the dataset promises to keep, but the user
//! who named the folder should learn of them.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt;

use chunkmill_base::value::count;
use serde::{Deserialize, Serialize};

/// Number of paths that are kept.
const KEPT: usize = 1000;

/// Number of types that are shown.
const SHOWN: usize = 6;

/// Largest number of characters of a type. Longer ends of a name are no extension.
const LONGEST: usize = 12;

/// Files that are no documents because of their names.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct OtherFiles {
    /// Number of files.
    pub count: u64,
    /// Number of files by extension, in lower case; empty for a name without one.
    pub types: BTreeMap<String, u64>,
    /// The first 1,000 of their paths below their roots, in order.
    pub first: BTreeSet<String>,
}

impl OtherFiles {
    pub(super) fn add(&mut self, path: &str) {
        self.count += 1;
        let name = path.rsplit('/').next().unwrap_or(path);
        let extension = name.rsplit_once('.').filter(|(stem, end)| !stem.is_empty() && end.chars().count() <= LONGEST);
        let extension = extension.map(|(_, end)| end.to_lowercase()).unwrap_or_default();
        *self.types.entry(extension).or_default() += 1;
        if self.first.len() < KEPT || self.first.last().is_some_and(|last| path < last.as_str()) {
            self.first.insert(path.to_owned());
            if self.first.len() > KEPT {
                self.first.pop_last();
            }
        }
    }
}

/// `30 files of other types: 6 html, 5 py, 1 without extension and 18 others`.
impl fmt::Display for OtherFiles {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut types: Vec<(&str, u64)> = self.types.iter().map(|(name, &count)| (name.as_str(), count)).collect();
        types.sort_by_key(|&(name, count)| (std::cmp::Reverse(count), name));
        let shown = types.iter().take(SHOWN);
        let words = shown.clone().map(|&(name, count)| {
            if name.is_empty() { format!("{count} without extension") } else { format!("{count} {name}") }
        });
        let words: Vec<String> = words.collect();
        write!(f, "{} of other types: {}", count(self.count, "file"), words.join(", "))?;
        match self.count - shown.map(|(_, count)| count).sum::<u64>() {
            0 => Ok(()),
            1 => write!(f, " and 1 other"),
            more => write!(f, " and {more} others"),
        }
    }
}
