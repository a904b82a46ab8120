//! From finished parts to a snapshot: the steps that concern all parts, and the commit.

use std::sync::atomic::AtomicBool;

use super::edges;
use crate::error::{Error, Result};
use crate::store::{Counts, FileEntry, Manifest, Part, QuarantineRow, Staging};

/// Resolves links over all parts and commits them. The parts, files and counts of `manifest` are set from the
/// parts. Returns the committed manifest and the documents that are not indexed.
pub(super) fn publish(
    staging: Staging,
    mut manifest: Manifest,
    parts: Vec<Part>,
    stop: &AtomicBool,
) -> Result<(Manifest, Vec<QuarantineRow>)> {
    let mut counts = Counts::default();
    for part in &parts {
        counts.add(&part.record.counts);
    }
    let outlines: Vec<FileEntry> = parts.iter().filter_map(|part| part.files.last().cloned()).collect();
    // Edges repeat what the outlines contain, with ids instead of numbers.
    let need = outlines.iter().map(|file| 8 * file.bytes).sum();
    let resolved = edges::write(&staging, &manifest, &outlines, &mut counts, stop);
    let mut resolved = resolved.map_err(|error| error.with_need(need))?;
    resolved.quarantined.sort_by(|a, b| a.doc_id.cmp(&b.doc_id));
    manifest.counts = counts;
    manifest.parts = parts.iter().map(|part| part.record.clone()).collect();
    manifest.files = parts.into_iter().flat_map(|part| part.files).chain(resolved.files).collect();
    manifest.files.sort_by(|a, b| a.path.cmp(&b.path));
    let committed = staging.commit(manifest, &resolved.quarantined).map_err(|error: Error| error.with_need(need))?;
    Ok((committed, resolved.quarantined))
}
