//! What verification found: each thing with its file, what is wrong, and what to run.
//!
//! A dataset that is wrong everywhere would give a finding a row, so of each kind only the first ones
//! are kept, and the others counted.

use std::collections::BTreeMap;

use serde::Serialize;

use crate::storage::Location;

/// Findings of one kind that are kept.
const KEPT: u64 = 1000;

/// What was checked when something was found.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Check {
    /// The manifest names everything that it should, once.
    Manifest,
    /// Each file has the bytes that the manifest says.
    File,
    /// Each Parquet file has the columns and the description that the manifest says.
    Footer,
    /// What later runs need not read again is readable, and of the documents that are there.
    Outline,
    /// Totals are those of the rows.
    Count,
    /// Ids are unique.
    Id,
    /// Rows are in the file and the order in which they are looked up.
    Order,
    /// Chunks belong to their document.
    Document,
    /// Ranges are inside their document and fit the text.
    Range,
    /// Hashes are those of the text.
    Content,
    /// Vectors are finite and of length 1.
    Vector,
    /// Edges lead from what is there to what is there.
    Edge,
    /// The list of documents that are not indexed is whole, and as it was written.
    Quarantine,
    /// The card is as it was written.
    Card,
    /// Documents are as they are in the corpus.
    Corpus,
    /// No file is there in vain.
    Leftover,
}

impl Check {
    /// What to run when it fails.
    fn help(self, root: &Location) -> String {
        match self {
            Self::Quarantine | Self::Card | Self::Corpus => format!("chunkmill index CORPUS -o {root}"),
            Self::Leftover => format!("chunkmill gc {root}"),
            _ => format!("chunkmill index CORPUS -o {root} --fresh"),
        }
    }
}

/// Something that is wrong, or in vain.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Finding {
    /// What was checked.
    pub check: Check,
    /// Path below the dataset's folder.
    pub file: String,
    /// What is wrong with it, and where in it.
    pub problem: String,
    /// What to run.
    pub help: String,
}

/// Findings in the order in which they were found.
#[derive(Debug)]
pub(super) struct Findings {
    root: Location,
    pub(super) kept: Vec<Finding>,
    pub(super) counts: BTreeMap<Check, u64>,
}

impl Findings {
    pub(super) fn new(root: &Location) -> Self {
        Self { root: root.clone(), kept: Vec::new(), counts: BTreeMap::new() }
    }

    pub(super) fn is_empty(&self) -> bool {
        self.counts.is_empty()
    }

    pub(super) fn add(&mut self, check: Check, file: &str, problem: impl Into<String>) {
        let count = self.counts.entry(check).or_default();
        *count += 1;
        if *count <= KEPT {
            let help = check.help(&self.root);
            self.kept.push(Finding { check, file: file.to_owned(), problem: problem.into(), help });
        }
    }

    /// Adds those of another part.
    pub(super) fn append(&mut self, other: Self) {
        let Self { kept, counts, .. } = other;
        for finding in kept {
            if self.counts.get(&finding.check).is_none_or(|count| *count < KEPT) {
                self.kept.push(finding.clone());
            }
            *self.counts.entry(finding.check).or_default() += 1;
        }
        // Those that were counted there and not kept.
        for (check, count) in counts {
            *self.counts.entry(check).or_default() += count.saturating_sub(KEPT);
        }
    }
}
