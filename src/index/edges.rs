//! From the links of all documents to the table of edges.
//!
//! What a link leads to is known only when the last document was prepared. Until then links and the
//! ids of chunks that have a heading or anchor wait in the staging folder; memory holds the
//! [`Catalog`]'s few bytes of each document and anchor. Afterwards links come back one batch at a
//! time, in the order they went.

use std::sync::atomic::{AtomicBool, Ordering};

use serde::{Deserialize, Serialize};

use super::Prepared;
use crate::document::LinkKind;
use crate::error::{Error, Result};
use crate::links::{Catalog, Lead, Listing, Outgoing};
use crate::store::{self, Counts, EdgeRow, FileEntry, Manifest, Records, Spool, Staging};

/// Edges that are in memory at once, and in a row group: a few megabytes.
const BATCH: usize = 1 << 15;

/// Stands for the chunk of an anchor that has none.
const NO_CHUNK: u64 = u64::MAX;

/// Takes in documents in the order of the data files, and in each in the order of its rows.
pub(super) struct Collector {
    listings: Vec<Listing>,
    chunk_ids: Spool,
    links: Spool,
    /// How many links each data file has.
    per_file: Vec<usize>,
}

/// A link that waits for the last document.
#[derive(Serialize, Deserialize)]
struct Waiting {
    doc: String,
    chunk: String,
    kind: LinkKind,
    named: bool,
    to: String,
}

impl Collector {
    pub(super) fn new(staging: &Staging, files: usize) -> Result<Self> {
        Ok(Self {
            listings: Vec::new(),
            chunk_ids: Spool::create(staging, "chunk-ids")?,
            links: Spool::create(staging, "links")?,
            per_file: vec![0; files],
        })
    }

    /// Takes in a document whose rows go to the data file number `file`.
    pub(super) fn add(&mut self, file: usize, prepared: &Prepared) -> Result<()> {
        let Prepared { document, chunks, outline, .. } = prepared;
        let mut places = vec![None; chunks.len()];
        let mut anchors = Vec::with_capacity(outline.anchors.len());
        for anchor in &outline.anchors {
            let Some(chunk) = anchor.chunk else {
                anchors.push((anchor.name, NO_CHUNK));
                continue;
            };
            let place = match places[chunk] {
                Some(place) => place,
                None => self.chunk_ids.push(chunks[chunk].chunk_id.as_bytes())?,
            };
            places[chunk] = Some(place);
            anchors.push((anchor.name, place));
        }
        self.listings.push(Listing::new(&document.doc_id, &document.path, &document.aliases, anchors));
        for Outgoing { chunk, kind, named, target } in &outline.links {
            let waiting = Waiting {
                doc: document.doc_id.clone(),
                chunk: chunks[*chunk].chunk_id.clone(),
                kind: *kind,
                named: *named,
                to: target.clone(),
            };
            self.links.push(&serde_json::to_vec(&waiting).map_err(unreadable)?)?;
            self.per_file[file] += 1;
        }
        Ok(())
    }

    /// Resolves every link and writes a file of edges for each data file; counts them in `counts`.
    pub(super) fn write(
        self,
        staging: &Staging,
        manifest: &Manifest,
        counts: &mut Counts,
        stop: &AtomicBool,
    ) -> Result<Vec<FileEntry>> {
        let catalog = Catalog::new(self.listings);
        let mut chunk_ids = self.chunk_ids.into_records()?;
        let mut links = self.links.into_records()?;
        let mut write = |(file, mut left): (usize, usize)| {
            let batches = std::iter::from_fn(|| {
                let rows = left.min(BATCH);
                left -= rows;
                let mut next = || {
                    let edge = edge(links.read()?, &catalog, &mut chunk_ids)?;
                    counts.add_edge(&edge);
                    Ok(edge)
                };
                if stop.load(Ordering::Relaxed) {
                    return Some(Err(Error::Interrupted));
                }
                (rows > 0).then(|| (0..rows).map(|_| next()).collect())
            });
            store::write_edges(staging, manifest, file, batches)
        };
        self.per_file.into_iter().enumerate().map(&mut write).collect()
    }
}

fn edge(record: Option<Vec<u8>>, catalog: &Catalog, chunk_ids: &mut Records) -> Result<EdgeRow> {
    let Waiting { doc, chunk, kind, named, to } =
        serde_json::from_slice(&record.unwrap_or_default()).map_err(unreadable)?;
    let link = Outgoing { chunk: 0, kind, named, target: to };
    let (to_doc, place, resolved) = match catalog.lead(&doc, &link) {
        Lead::Nothing => (None, None, false),
        Lead::Document(to) => (Some(to), None, true),
        Lead::NoSuchPlace(to) => (Some(to), None, false),
        Lead::Place(to, place) => (Some(to), Some(place), true),
    };
    let id = place.filter(|&place| place != NO_CHUNK).map(|place| chunk_ids.read_at(place)).transpose()?.flatten();
    Ok(EdgeRow {
        from_chunk: chunk,
        to_doc: to_doc.map(str::to_owned),
        to_chunk: id.map(String::from_utf8).transpose().map_err(unreadable)?,
        from_doc: doc,
        kind,
        target: link.target,
        resolved,
    })
}

fn unreadable(error: impl std::error::Error + Send + Sync + 'static) -> Error {
    Error::io("read back a link from", ".staging")(std::io::Error::other(error))
}
