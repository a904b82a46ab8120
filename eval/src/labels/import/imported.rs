//! Imported documents and questions, and how they are written as a set.

use std::collections::{BTreeMap, HashSet};
use std::fs;
use std::path::Path;

use chunkmill::error::{Error, Result};

use super::documents::write_documents;
use super::flaws::Flaws;
use crate::data::files::write_new;
use crate::labels::set::{CORPUS, QUERIES, Query, commit, is_set, stage, to_jsonl, was_interrupted};

/// Documents and questions, all in memory, and counts of what was left out.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct ImportedSet {
    /// Each document's bytes by its id, which is its path below `corpus/`.
    pub documents: BTreeMap<String, Vec<u8>>,
    /// The questions that have evidence.
    pub queries: Vec<Query>,
    /// Number of questions without evidence: not judged, judged without success, or unanswerable.
    pub without_evidence: usize,
    /// Rows and pieces of evidence that cannot be used. An alternative that needs one of them is left out too.
    pub left_out: Flaws,
    /// Number of those rows that judge a document for a question that is not asked: the set lacks nothing without them.
    pub not_asked: usize,
    /// Rows that were mended: evidence whose text its document has once, but elsewhere; a text that is null.
    pub mended: Flaws,
    /// Number of judgements that name a missing document. They are kept, and
    /// [`LabelSet::check`](crate::labels::set::LabelSet::check) reports them.
    pub without_document: usize,
    /// The ids of the questions.
    pub(crate) ids: HashSet<String>,
}

impl ImportedSet {
    /// Creates a set of documents, without questions.
    pub(crate) fn of(documents: BTreeMap<String, Vec<u8>>) -> Self {
        Self { documents, ..Self::default() }
    }

    /// Adds a question, unless it has no evidence.
    ///
    /// # Errors
    /// A description of a question that cannot be asked.
    pub(crate) fn keep(&mut self, query: Query) -> std::result::Result<(), String> {
        if query.text.trim().is_empty() {
            return Err(format!("the text of question `{}` is empty", query.id));
        }
        if !self.ids.insert(query.id.clone()) {
            return Err(format!("question `{}` was there before", query.id));
        }
        if query.references.is_empty() {
            self.without_evidence += 1;
        } else {
            self.queries.push(query);
        }
        Ok(())
    }

    /// Writes it as a set. An existing set is replaced at once, so a reader finds the old one or the new one whenever
    /// this is interrupted; other files in its folder stay. An interrupted import can be repeated.
    ///
    /// # Errors
    /// [`Error::Setting`] if the folder is neither empty nor a set, if two questions have the same id, or if there
    /// is no question to write; [`Error::Io`] if it cannot be written.
    pub fn write(&self, set: &Path) -> Result<()> {
        refuse_other_folders(set)?;
        if self.queries.is_empty() {
            return Err(self.left_out.error().unwrap_or_else(|| {
                Error::setting(
                    set.display().to_string(),
                    "no question has evidence, so there is nothing to write",
                    "check that questions and judgements belong together",
                )
            }));
        }
        let mut ids = HashSet::new();
        if let Some(twice) = self.queries.iter().find(|query| !ids.insert(&query.id)) {
            return Err(Error::setting(
                format!("question `{}`", twice.id),
                "the id was used before",
                "import files that share no questions",
            ));
        }
        let queries = to_jsonl(&self.queries)?;
        let staging = stage(set)?;
        write_documents(&self.documents, &staging.join(CORPUS))?;
        write_new(&staging.join(QUERIES), queries.as_bytes())?;
        commit(set)
    }
}

/// Refuses any folder except an empty one, a set, or the remains of an interrupted import.
fn refuse_other_folders(set: &Path) -> Result<()> {
    let empty = match fs::read_dir(set) {
        Ok(mut entries) => entries.next().is_none(),
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => true,
        Err(error) => return Err(Error::io("read", set)(error)),
    };
    if was_interrupted(set) || is_set(set) || empty {
        return Ok(());
    }
    Err(Error::setting(
        set.display().to_string(),
        format!("is not empty and not a set of labels ({CORPUS}/ and {QUERIES})"),
        "name a new folder with -o",
    ))
}
