//! The files below a root that no glob takes. They are none of the documents that the dataset promises to keep, but the user
//! who named the folder should learn of them.

use std::collections::BTreeMap;
use std::fmt;

use chunkmill_base::value::count;
use serde::{Deserialize, Serialize};

use super::list::NameList;

/// Number of types that are shown.
const SHOWN: usize = 6;

/// Largest number of characters of a type. Longer ends of a name are no extension.
const LONGEST: usize = 12;

/// Files that are no documents because of their names.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct OtherFiles {
    /// Their paths below their roots.
    #[serde(flatten)]
    pub paths: NameList,
    /// Number of files by extension, in lower case; empty for a name without one.
    pub types: BTreeMap<String, u64>,
}

impl OtherFiles {
    pub(super) fn add(&mut self, path: &str) {
        self.paths.add(path);
        let name = path.rsplit('/').next().unwrap_or(path);
        let extension = name.rsplit_once('.').filter(|(stem, end)| !stem.is_empty() && end.chars().count() <= LONGEST);
        let extension = extension.map(|(_, end)| end.to_lowercase()).unwrap_or_default();
        *self.types.entry(extension).or_default() += 1;
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
        write!(f, "{} of other types: {}", count(self.paths.count, "file"), words.join(", "))?;
        match self.paths.count - shown.map(|(_, count)| count).sum::<u64>() {
            0 => Ok(()),
            1 => write!(f, " and 1 other"),
            more => write!(f, " and {more} others"),
        }
    }
}
