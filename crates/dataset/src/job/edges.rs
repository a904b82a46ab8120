//! From the links of all documents to the table of edges.
//!
//! A link can be resolved only when all documents are known. This takes two passes over the outlines of all parts,
//! including those reused from the previous snapshot. The first pass fills the [`Catalog`], which keeps a few
//! bytes per document and anchor, and writes the chunk ids to disk. The second pass resolves each link and writes
//! its edge.

use std::sync::atomic::{AtomicBool, Ordering};

use chunkmill_base::error::{Error, Result};

use crate::dataset::{
    self, Counts, EdgeRow, FileEntry, Manifest, OutlineRow, QuarantineRow, Records, Spool, Staging, read_outlines,
};
use crate::links::{Catalog, Lead, Outgoing};

/// Number of edges in memory at once: about a megabyte.
const BATCH: usize = 1 << 12;

/// Marks an anchor that is in no chunk.
const NO_CHUNK: u64 = u64::MAX;

/// The result of resolving the links of all parts.
pub(super) struct LinkResult {
    /// One file of edges per part.
    pub(super) files: Vec<FileEntry>,
    /// Documents that are not indexed.
    pub(super) quarantined: Vec<QuarantineRow>,
}

/// Resolves every link in these outlines, writes one file of edges per part, and adds the edges to `counts`.
pub(super) fn write(
    staging: &Staging,
    manifest: &Manifest,
    outlines: &[FileEntry],
    counts: &mut Counts,
    stop: &AtomicBool,
) -> Result<LinkResult> {
    let mut quarantined = Vec::new();
    let mut listings = Vec::new();
    let mut chunk_ids = Spool::create(staging.workspace(), "chunk-ids")?;
    for file in outlines {
        for row in read_outlines(staging.root().storage(), staging.locate(file))? {
            match row? {
                OutlineRow::Quarantined(row) => quarantined.push(row),
                OutlineRow::Document(document) => {
                    let place = |id: Option<&str>| id.map_or(Ok(NO_CHUNK), |id| chunk_ids.push(id.as_bytes()));
                    listings.push(document.listing(place)?);
                }
            }
        }
    }
    let catalog = Catalog::new(listings);
    let mut chunk_ids = chunk_ids.into_records()?;
    let mut files = Vec::with_capacity(outlines.len());
    for (index, file) in outlines.iter().enumerate() {
        let mut failed = None;
        let documents = read_outlines(staging.root().storage(), staging.locate(file))?.map_while(|row| match row {
            Ok(OutlineRow::Document(document)) => Some(Some(document)),
            Ok(OutlineRow::Quarantined(_)) => Some(None),
            Err(error) => {
                failed = Some(error);
                None
            }
        });
        let mut links = documents.flatten().flat_map(|document| {
            let id = document.doc_id().to_owned();
            document.into_links().map(move |(chunk, link)| (id.clone(), chunk, link))
        });
        let batches = std::iter::from_fn(|| {
            if stop.load(Ordering::Relaxed) {
                return Some(Err(Error::Interrupted));
            }
            let mut resolve = |(doc, chunk, link)| {
                let edge = edge(doc, chunk, link, &catalog, &mut chunk_ids)?;
                counts.add_edge(&edge);
                Ok(edge)
            };
            let rows: Result<Vec<EdgeRow>> = links.by_ref().take(BATCH).map(&mut resolve).collect();
            match rows {
                Ok(rows) if rows.is_empty() => None,
                rows => Some(rows),
            }
        });
        files.push(dataset::write_edges(staging.workspace(), manifest, index, batches)?);
        if let Some(error) = failed {
            return Err(error);
        }
    }
    Ok(LinkResult { files, quarantined })
}

fn edge(
    from_doc: String,
    from_chunk: String,
    link: Outgoing,
    catalog: &Catalog,
    chunk_ids: &mut Records,
) -> Result<EdgeRow> {
    let (to_doc, place, resolved) = match catalog.lead(&from_doc, &link) {
        Lead::Nothing => (None, None, false),
        Lead::Document(to) => (Some(to), None, true),
        Lead::NoSuchPlace(to) => (Some(to), None, false),
        Lead::Place(to, place) => (Some(to), Some(place), true),
    };
    let id = place.filter(|&place| place != NO_CHUNK).map(|place| chunk_ids.read_at(place)).transpose()?.flatten();
    Ok(EdgeRow {
        from_chunk,
        to_doc: to_doc.map(str::to_owned),
        to_chunk: id.map(|id| String::from_utf8_lossy(&id).into_owned()),
        from_doc,
        kind: link.kind,
        target: link.target,
        resolved,
    })
}
