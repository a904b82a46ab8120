//! The parts of a document that later steps need without reading it again.
//!
//! Links can be resolved only when all documents are known, and a run that reuses a part of an older snapshot does
//! not open its documents. So each part has a file of lines in addition to its tables. For each document, a line
//! contains the places that links can name and the document's own links, or the reason why it is not indexed.

use std::collections::HashMap;
use std::io::{BufRead, BufReader};
use std::path::{Path, PathBuf};

use chunkmill_base::error::{Error, Result};
use chunkmill_text::document::LinkKind;
use serde::{Deserialize, Serialize};

use super::Manifest;
use super::rows::{DocumentRow, QuarantineRow};
use crate::links::{Listing, Outgoing, Outline};
use crate::storage::{Location, Storage};

/// A line of the file.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum OutlineRow {
    /// A document that is indexed.
    Document(DocumentOutline),
    /// A document that is not indexed, with the reason.
    Quarantined(QuarantineRow),
}

/// The parts of a document that link resolution needs.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct DocumentOutline {
    doc_id: String,
    path: String,
    aliases: Vec<String>,
    /// Ids of the chunks that contain anchors or links.
    chunks: Vec<String>,
    /// Hashes of anchor names, each with the index of its chunk's id in `chunks`.
    anchors: Vec<(u64, Option<usize>)>,
    links: Vec<LinkOutline>,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
struct LinkOutline {
    /// Index of the chunk's id in `chunks`.
    chunk: usize,
    kind: LinkKind,
    named: bool,
    target: String,
}

impl DocumentOutline {
    /// Records a document; `chunk_id` returns the id of each of its chunks.
    #[must_use]
    pub fn new<'i>(document: &DocumentRow, chunk_id: impl Fn(usize) -> &'i str, outline: &Outline) -> Self {
        let mut ids = Vec::new();
        let mut places = HashMap::new();
        let mut place = |chunk: usize| {
            *places.entry(chunk).or_insert_with(|| {
                ids.push(chunk_id(chunk).to_owned());
                ids.len() - 1
            })
        };
        let anchors = outline.anchors.iter().map(|anchor| (anchor.name, anchor.chunk.map(&mut place))).collect();
        let links = outline.links.iter().map(|link| LinkOutline {
            chunk: place(link.chunk),
            kind: link.kind,
            named: link.named,
            target: link.target.clone(),
        });
        let links = links.collect();
        Self {
            doc_id: document.doc_id.to_string(),
            path: document.path.to_string(),
            aliases: document.aliases.to_vec(),
            chunks: ids,
            anchors,
            links,
        }
    }

    /// Returns the document's id.
    pub fn doc_id(&self) -> &str {
        &self.doc_id
    }

    /// Returns the document's entry for the link catalog. `place` maps the id of a chunk, or `None` where there is
    /// no chunk, to the number that represents it there.
    ///
    /// # Errors
    /// Those of `place`.
    pub fn listing(&self, mut place: impl FnMut(Option<&str>) -> Result<u64>) -> Result<Listing> {
        let mut places = vec![None; self.chunks.len()];
        let mut anchors = Vec::with_capacity(self.anchors.len());
        for &(name, chunk) in &self.anchors {
            let at = match chunk.and_then(|chunk| Some((chunk, self.chunks.get(chunk)?))) {
                None => place(None)?,
                Some((chunk, id)) => match places[chunk] {
                    Some(at) => at,
                    None => *places[chunk].insert(place(Some(id))?),
                },
            };
            anchors.push((name, at));
        }
        Ok(Listing::new(&self.doc_id, &self.path, &self.aliases, anchors))
    }

    /// Returns the document's links, each with the id of the chunk it starts in.
    pub fn into_links(self) -> impl Iterator<Item = (String, Outgoing)> {
        let chunks = self.chunks;
        self.links.into_iter().map(move |LinkOutline { chunk, kind, named, target }| {
            let id = chunks.get(chunk).cloned().unwrap_or_default();
            (id, Outgoing { chunk, kind, named, target })
        })
    }
}

/// Returns the documents that a snapshot did not index, sorted by id. Reads only the parts that have some.
pub(crate) fn quarantined(root: &Location, manifest: &Manifest) -> Result<Vec<QuarantineRow>> {
    let mut found = Vec::new();
    let files = manifest.files.iter().filter(|file| file.table == "outlines");
    for (file, _) in files.zip(&manifest.parts).filter(|(_, part)| part.counts.quarantined > 0) {
        for row in read_outlines(root.storage(), root.join(&file.path))? {
            if let OutlineRow::Quarantined(row) = row? {
                found.push(row);
            }
        }
    }
    found.sort_by(|a, b| a.doc_id.cmp(&b.doc_id));
    Ok(found)
}

/// Reads the lines of a file.
///
/// # Errors
/// [`Error::Dataset`] if the file is missing or is not an outline file. The items return the same error.
pub fn read_outlines(storage: &dyn Storage, path: PathBuf) -> Result<impl Iterator<Item = Result<OutlineRow>> + use<>> {
    let damaged = |path: &Path, error: &dyn std::fmt::Display| Error::Dataset {
        path: path.to_owned(),
        problem: format!("cannot be read: {error}"),
        help: "the dataset is damaged: index the corpus again with --fresh".to_owned(),
    };
    let opened = storage.open(&path).and_then(zstd::Decoder::new).map_err(|error| damaged(&path, &error))?;
    let lines = BufReader::new(opened).lines();
    Ok(lines.map(move |line| {
        let line = line.map_err(|error| damaged(&path, &error))?;
        serde_json::from_str(&line).map_err(|error| damaged(&path, &error))
    }))
}
