//! Converts the labels of other projects to ours. Each format has its own file and produces an [`Imported`], which
//! is written as a set. The same input produces the same bytes.
//!
//! A format describes what a set's rows contain, not the type or location of its files: every format reads JSON,
//! Parquet and CSV, and [`fetched`] turns the name of a set on a hub into a folder. The same command therefore
//! imports a set from a hub and from the files that its authors publish.

mod beir;
mod chroma;
mod conteb;
mod documents;
mod hicbench;
mod hub;
mod legalbench_rag;
mod miracl;
mod narrativeqa;
mod qasper;
mod source;
mod squad;
mod table;
mod trec;

use std::collections::{BTreeMap, HashSet};
use std::fs;
use std::path::Path;

use chunkmill::error::{Error, Result};

pub use beir::beir;
pub use chroma::chroma;
pub use conteb::conteb;
pub use documents::{Documents, documents, write_documents};
pub use hicbench::hicbench;
pub use hub::fetched;
pub use legalbench_rag::legalbench_rag;
pub use miracl::miracl;
pub use narrativeqa::narrativeqa;
pub use qasper::qasper;
pub use squad::squad;
pub use trec::trec;

use crate::labels::{CORPUS, QUERIES, Query, to_jsonl};

/// Documents and questions, all in memory, and counts of what was left out.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Imported {
    /// Each document's bytes by its id, which is its path below `corpus/`.
    pub documents: BTreeMap<String, Vec<u8>>,
    /// The questions that have evidence.
    pub queries: Vec<Query>,
    /// Number of questions without evidence: not judged, judged without success, or unanswerable.
    pub without_evidence: usize,
    /// Number of pieces of evidence whose text is not in their document. They are left out, together with every
    /// alternative that needs one of them.
    pub unplaced: usize,
    /// Number of judgements that name a missing document. They are kept, and
    /// [`LabelSet::check`](crate::labels::LabelSet::check) reports them.
    pub without_document: usize,
}

/// Folder in which a new set is assembled before it replaces the old one.
const STAGING: &str = ".chunkmill-import";

impl Imported {
    /// Writes it as a set. An existing set is replaced; other files in its folder stay. An interrupted import can
    /// be repeated.
    ///
    /// # Errors
    /// [`Error::Setting`] if the folder is neither empty nor a set, if two questions have the same id, or if there
    /// is no question to write; [`Error::Io`] if it cannot be written.
    pub fn write(&self, set: &Path) -> Result<()> {
        refuse_other_folders(set)?;
        if self.queries.is_empty() {
            return Err(Error::Setting {
                origin: set.display().to_string(),
                problem: "no question has evidence, so there is nothing to write".to_owned(),
                help: "check that questions and judgements belong together".to_owned(),
            });
        }
        let mut ids = HashSet::new();
        if let Some(twice) = self.queries.iter().find(|query| !ids.insert(&query.id)) {
            return Err(Error::Setting {
                origin: format!("question `{}`", twice.id),
                problem: "the id was used before".to_owned(),
                help: "import files that share no questions".to_owned(),
            });
        }
        let staging = set.join(STAGING);
        remove(&staging)?;
        write_documents(&self.documents, &staging)?;
        let queries = staging.join(QUERIES);
        fs::create_dir_all(&staging).map_err(Error::io("create", &staging))?;
        fs::write(&queries, to_jsonl(&self.queries)?).map_err(Error::io("write", &queries))?;
        for part in [QUERIES, CORPUS] {
            remove(&set.join(part))?;
        }
        for part in [CORPUS, QUERIES] {
            fs::rename(staging.join(part), set.join(part)).map_err(Error::io("rename", staging.join(part)))?;
        }
        remove(&staging)
    }
}

/// Refuses any folder except an empty one, a set, or the remains of an interrupted import.
fn refuse_other_folders(set: &Path) -> Result<()> {
    let ours = set.join(STAGING).exists() || (set.join(QUERIES).is_file() && set.join(CORPUS).is_dir());
    let empty = match fs::read_dir(set) {
        Ok(mut entries) => entries.next().is_none(),
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => true,
        Err(error) => return Err(Error::io("read", set)(error)),
    };
    if ours || empty {
        return Ok(());
    }
    Err(Error::Setting {
        origin: set.display().to_string(),
        problem: format!("is not empty and not a set of labels ({CORPUS}/ and {QUERIES})"),
        help: "name a new folder with -o".to_owned(),
    })
}

fn remove(path: &Path) -> Result<()> {
    let removed = if path.is_dir() { fs::remove_dir_all(path) } else { fs::remove_file(path) };
    match removed {
        Err(error) if error.kind() != std::io::ErrorKind::NotFound => Err(Error::io("remove", path)(error)),
        _ => Ok(()),
    }
}
