//! The findings of a verification: each with its file, what is wrong, and what to run.
//!
//! A dataset that is wrong everywhere would produce a finding for every row. So only the first findings of each
//! kind are kept; the others are counted.

use std::collections::BTreeMap;

use serde::Serialize;

use crate::storage::Location;

/// Number of findings of each kind that are kept.
const KEPT: u64 = 1000;

/// The check that produced a finding.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Check {
    /// The manifest names everything it should, once, and does not contradict itself.
    Manifest,
    /// Each file has the bytes recorded in the manifest.
    File,
    /// Each Parquet file has the columns and metadata that the manifest implies.
    Footer,
    /// Outlines, which spare later runs reading documents again, are readable and match the documents.
    Outline,
    /// Totals match the rows.
    Count,
    /// Ids are unique.
    Id,
    /// Rows are in the file and in the order in which they are looked up.
    Order,
    /// Chunks belong to their document.
    Document,
    /// Ranges lie inside their document and fit the text.
    Range,
    /// Hashes match the text.
    Content,
    /// Vectors are finite and of length 1, or zero where flagged.
    Vector,
    /// Edges lead from and to existing chunks and documents.
    Edge,
    /// Duplicates are of other documents, which are no duplicates.
    Duplicate,
    /// The list of documents that are not indexed is complete and unchanged.
    Quarantine,
    /// The card is unchanged.
    Card,
    /// Documents match those in the corpus.
    Corpus,
    /// No leftover files exist.
    Leftover,
}

impl Check {
    /// Returns the command to run when the check fails.
    fn help(self, root: &Location) -> String {
        match self {
            Self::Quarantine | Self::Card | Self::Corpus => format!("chunkmill index CORPUS -o {root}"),
            Self::Leftover => format!("chunkmill gc {root}"),
            _ => format!("chunkmill index CORPUS -o {root} --fresh"),
        }
    }
}

/// A problem or a leftover.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Finding {
    /// The check that produced it.
    pub check: Check,
    /// Path below the dataset's folder.
    pub file: String,
    /// The problem, with its place in the file.
    pub problem: String,
    /// The command to run.
    pub help: String,
}

/// Findings in the order they were found.
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

    /// Returns how many there are of all kinds.
    pub(super) fn total(&self) -> u64 {
        self.counts.values().sum()
    }

    pub(super) fn add(&mut self, check: Check, file: &str, problem: impl Into<String>) {
        let count = self.counts.entry(check).or_default();
        *count += 1;
        if *count <= KEPT {
            let help = check.help(&self.root);
            self.kept.push(Finding { check, file: file.to_owned(), problem: problem.into(), help });
        }
    }

    /// Adds the findings of another part.
    pub(super) fn append(&mut self, other: Self) {
        let Self { kept, counts, .. } = other;
        for finding in kept {
            if self.counts.get(&finding.check).is_none_or(|count| *count < KEPT) {
                self.kept.push(finding.clone());
            }
            *self.counts.entry(finding.check).or_default() += 1;
        }
        // Findings that were counted there but not kept.
        for (check, count) in counts {
            *self.counts.entry(check).or_default() += count.saturating_sub(KEPT);
        }
    }
}
