//! The outline of a document, recorded while it is in memory: the places that links can name, and its own links.

use chunkmill_text::chunk::Chunk;
use chunkmill_text::document::{Document, Link, LinkKind};

use super::name::hash;
use super::target;

/// The places and links of one document.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Outline {
    /// Every place that a link can name.
    pub anchors: Vec<Anchor>,
    /// The links of each chunk in order, except for links out of the corpus.
    pub links: Vec<Outgoing>,
}

/// A place that a link can name.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Anchor {
    /// Hash of its name.
    pub name: u64,
    /// Index of the chunk that contains it, or of the next chunk if it is in text that chunks omit.
    pub chunk: Option<usize>,
}

/// A link that is not resolved yet.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Outgoing {
    /// Index of the chunk in which it starts.
    pub chunk: usize,
    /// How it is written.
    pub kind: LinkKind,
    /// Whether its target is a name, as in `[[name]]` and `![[name]]`, instead of a path.
    pub named: bool,
    /// Its target as written.
    pub target: String,
}

impl Outline {
    /// Collects the places and links of a document and its chunks.
    #[must_use]
    pub fn new(document: &Document, chunks: &[Chunk]) -> Self {
        Self { anchors: anchors(document, chunks), links: outgoing(document, chunks) }
    }
}

fn anchors(document: &Document, chunks: &[Chunk]) -> Vec<Anchor> {
    let mut by_start: Vec<usize> = (0..chunks.len()).collect();
    by_start.sort_by_key(|&chunk| chunks[chunk].range.start);
    let holder = |byte: usize| {
        let after = by_start.partition_point(|&chunk| chunks[chunk].range.start <= byte);
        let before = after.checked_sub(1).map(|at| by_start[at]);
        before.filter(|&chunk| byte < chunks[chunk].range.end).or_else(|| by_start.get(after).copied())
    };
    let sections = document.sections.iter().map(|section| (section.anchor.as_str(), section.range.start));
    let places = document.anchors.iter().map(|(name, at)| (name.as_str(), *at));
    let named = sections.chain(places).filter(|(name, _)| !name.is_empty());
    let mut found: Vec<(u64, usize)> = named.map(|(name, at)| (hash(name), at)).collect();
    // As in HTML, the first of equal names wins.
    found.sort_unstable();
    found.dedup_by_key(|(name, _)| *name);
    found.into_iter().map(|(name, at)| Anchor { name, chunk: holder(at) }).collect()
}

fn outgoing(document: &Document, chunks: &[Chunk]) -> Vec<Outgoing> {
    let mut found = Vec::new();
    for (chunk, range) in chunks.iter().map(|chunk| &chunk.range).enumerate() {
        let first = document.links.partition_point(|link| link.range.start < range.start);
        for link in document.links[first..].iter().take_while(|link| link.range.start < range.end) {
            let Link { kind, named, .. } = *link;
            if !target::is_external(&link.target, named) {
                found.push(Outgoing { chunk, kind, named, target: link.target.clone() });
            }
        }
    }
    found
}
