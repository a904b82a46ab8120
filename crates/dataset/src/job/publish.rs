//! From finished parts to a snapshot: the steps that concern all parts, and the commit.

use std::sync::atomic::AtomicBool;

use arrow::array::{AsArray, StringArray};
use chunkmill_base::error::{Error, Result};

use super::{duplicates, edges};
use crate::dataset::{ChunkChanges, Counts, Dataset, FileEntry, Manifest, Part, QuarantineRow, Staging, Table};
use crate::storage::Location;

/// Resolves links over all parts and commits them. The parts, files and counts of `manifest` are set from the
/// parts. A `fresh` run keeps nothing of the earlier snapshot. Returns the committed manifest, the documents that are not indexed, and numbers of chunks that changed, if they
/// are known.
pub(super) fn publish(
    staging: Staging,
    mut manifest: Manifest,
    parts: Vec<Part>,
    fresh: bool,
    stop: &AtomicBool,
) -> Result<(Manifest, Vec<QuarantineRow>, Option<ChunkChanges>)> {
    let mut counts = Counts::default();
    for part in &parts {
        counts.add(&part.record.counts);
    }
    let outlines: Vec<FileEntry> = parts.iter().filter_map(|part| part.files.last().cloned()).collect();
    // Edges repeat what the outlines contain, with ids instead of numbers.
    let need = outlines.iter().map(|file| 8 * file.bytes).sum();
    let resolved = edges::write(&staging, &manifest, &outlines, &mut counts, stop);
    let mut resolved = resolved.map_err(|error| error.with_need(need))?;
    let duplicates = duplicates::write(&staging, &manifest, &parts, &mut counts, fresh, stop)?;
    resolved.quarantined.sort_by(|a, b| a.doc_id.cmp(&b.doc_id));
    manifest.counts = counts;
    manifest.parts = parts.iter().map(|part| part.record.clone()).collect();
    manifest.files = parts.into_iter().flat_map(|part| part.files).chain(resolved.files).chain(duplicates).collect();
    manifest.files.sort_by(|a, b| a.path.cmp(&b.path));
    let committed = staging.commit(manifest, &resolved.quarantined).map_err(|error: Error| error.with_need(need))?;
    let (manifest, changes) = committed;
    Ok((manifest, resolved.quarantined, changes))
}

/// Returns the ids of the documents of a dataset that have a flag.
pub(super) fn flagged(out: &Location, flag: &str) -> Result<Vec<String>> {
    let Some(dataset) = Dataset::find(out)? else { return Ok(Vec::new()) };
    let mut found = Vec::new();
    for file in dataset.files(Table::Documents) {
        for batch in dataset.read(file, &["doc_id", "flags"], None)? {
            let batch = batch?;
            let ids = batch.column_by_name("doc_id").and_then(|ids| ids.as_string_opt::<i32>());
            let flags = batch.column_by_name("flags").and_then(|flags| flags.as_list_opt::<i32>());
            for (id, flags) in ids.into_iter().flatten().zip(flags.into_iter().flat_map(|flags| flags.iter())) {
                let flags = flags.as_ref().and_then(|flags| flags.as_any().downcast_ref::<StringArray>());
                if let (Some(id), true) = (id, flags.is_some_and(|flags| flags.iter().any(|name| name == Some(flag)))) {
                    found.push(id.to_owned());
                }
            }
        }
    }
    found.sort();
    Ok(found)
}
