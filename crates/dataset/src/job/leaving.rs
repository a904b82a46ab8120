//! Documents of a dataset that are not in the corpus any more. A run deletes them, which is what an update is for. But a
//! wrong folder would cost a dataset, so a run deletes more than half of its documents only if it is told to.

use chunkmill_base::error::{Error, Result};
use chunkmill_base::value::count;

use super::job::Job;
use super::parts::PartWork;
use crate::dataset::{Dataset, Table, file_of};
use crate::storage::Location;

/// Number of names that are kept to be shown.
const SHOWN: usize = 5;

/// The documents that leave a dataset.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Leaving {
    /// Number of documents that leave.
    pub count: u64,
    /// Ids of the first of them.
    pub first: Vec<String>,
}

impl Leaving {
    /// Finds the documents of a dataset that are not in the work of a job. A damaged dataset does not say which they
    /// are, and must not stop the run that replaces it.
    ///
    /// # Errors
    /// [`Error::Setting`] if they are more than half of the dataset and the job does not allow that.
    pub(super) fn find(job: &Job, out: &Location, dataset: Option<&Dataset>, parts: &[PartWork]) -> Result<Self> {
        let Some(dataset) = dataset else { return Ok(Self::default()) };
        let stays = |id: &str| {
            let part = &parts[file_of(id, parts.len())];
            part.sources.binary_search_by(|source| (*source.origin.doc_id).cmp(id)).is_ok()
                || part.passed_over.iter().any(|row| row.doc_id == id)
        };
        let read = || {
            let (mut all, mut ids) = (0_u64, Vec::new());
            for file in dataset.files(Table::Documents) {
                for batch in dataset.read_texts(file, ["doc_id"])? {
                    let [column] = batch?;
                    all += column.iter().count() as u64;
                    ids.extend(column.iter().flatten().filter(|id| !stays(id)).map(str::to_owned));
                }
            }
            Ok::<_, Error>((all, ids))
        };
        let Ok((all, mut ids)) = read() else { return Ok(Self::default()) };
        ids.sort_unstable();
        let leaving = Self { count: ids.len() as u64, first: ids.into_iter().take(SHOWN).collect() };
        if leaving.is_most_of(all) && !job.allow_shrink {
            return Err(Error::setting(
                out.to_string(),
                format!(
                    "the dataset has {}, and {} of them would be deleted, because this corpus does not have them: {leaving}",
                    count(all, "document"),
                    leaving.count
                ),
                "name every folder of the dataset, or write to another one; --allow-shrink deletes them",
            ));
        }
        Ok(leaving)
    }

    /// Returns whether they are more than half of the documents.
    fn is_most_of(&self, all: u64) -> bool {
        2 * self.count > all
    }
}

/// The first names, and how many more there are.
impl std::fmt::Display for Leaving {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(&self.first.join(", "))?;
        match self.count - (self.first.len() as u64).min(self.count) {
            0 => Ok(()),
            more => write!(f, " and {more} more"),
        }
    }
}
