//! Documents of a dataset that are not in the corpus any more. A run deletes them, which is what an update is for. But a
//! wrong folder would cost a dataset, so a run deletes more than half of its documents only if it is told to.

use chunkmill_base::error::{Error, Result};
use chunkmill_base::value::count;

use super::job::Job;
use super::parts::PartWork;
use crate::corpus::NameList;
use crate::dataset::{Dataset, Table, file_of};
use crate::storage::Location;

/// Finds the documents of a dataset that are not in the work of a job. A damaged dataset does not say which they
/// are, and must not stop the run that replaces it.
///
/// # Errors
/// [`Error::Setting`] if they are more than half of the dataset and the job does not allow that.
pub(super) fn leaving(job: &Job, out: &Location, dataset: Option<&Dataset>, parts: &[PartWork]) -> Result<NameList> {
    let Some(dataset) = dataset else { return Ok(NameList::default()) };
    let stays = |id: &str| {
        let part = &parts[file_of(id, parts.len())];
        part.sources.binary_search_by(|source| (*source.origin.doc_id).cmp(id)).is_ok()
            || part.passed_over.iter().any(|row| row.doc_id == id)
    };
    let read = || {
        let (mut all, mut leaving) = (0_u64, NameList::default());
        for file in dataset.files(Table::Documents) {
            for batch in dataset.read_texts(file, ["doc_id"])? {
                let [column] = batch?;
                all += column.iter().count() as u64;
                column.iter().flatten().filter(|id| !stays(id)).for_each(|id| leaving.add(id));
            }
        }
        Ok::<_, Error>((all, leaving))
    };
    let Ok((all, leaving)) = read() else { return Ok(NameList::default()) };
    if 2 * leaving.count > all && !job.allow_shrink {
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
