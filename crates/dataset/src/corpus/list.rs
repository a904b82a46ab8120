//! Names of documents or files for reports: how many there are, and the first of them. Memory is bounded, however many
//! there are.

use std::collections::BTreeSet;
use std::fmt;

use serde::{Deserialize, Serialize};

/// Number of names that are kept.
const KEPT: usize = 1000;

/// Number of names that are shown.
const SHOWN: usize = 5;

/// Some names: how many, and the first of them.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct NameList {
    /// Number of names.
    pub count: u64,
    /// The first 1,000 of them, in order.
    pub first: BTreeSet<String>,
}

impl NameList {
    pub(crate) fn add(&mut self, name: &str) {
        self.count += 1;
        if self.first.len() < KEPT || self.first.last().is_some_and(|last| name < last.as_str()) {
            self.first.insert(name.to_owned());
            if self.first.len() > KEPT {
                self.first.pop_last();
            }
        }
    }
}

/// The first names, and how many more there are.
impl fmt::Display for NameList {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let shown: Vec<&str> = self.first.iter().take(SHOWN).map(String::as_str).collect();
        f.write_str(&shown.join(", "))?;
        match self.count.saturating_sub(shown.len() as u64) {
            0 => Ok(()),
            more => write!(f, " and {more} more"),
        }
    }
}
