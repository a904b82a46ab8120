//! The design of the preset `line-threshold`: a document over the threshold is cut at its headings of level 2 and 3; any
//! other document is one chunk.
//!
//! The threshold is the spec's minimum, and the limit of a section is its maximum. Deeper headings stay inside
//! their section. Text before the first heading of level 2 or 3 is a section without a path. A section with
//! nothing under its heading is skipped. A section over the limit is packed block by block, so code is not cut
//! unless `cut_oversized` is on.

use std::ops::Range;

use chunkmill_base::error::Result;

use super::packer::Packer;
use super::piece::{Boundary, Group, Kind, Piece};
use crate::document::{BlockKind, Document, is_blank, trim};

pub(super) fn propose(packer: &Packer<'_>) -> Result<Vec<Group>> {
    let document = packer.document;
    let whole = trim(&document.text, document.body.clone());
    if whole.is_empty() {
        return Ok(Vec::new());
    }
    // The whole file counts, including its front matter.
    let size = packer.ruler.size(0..document.text.len())?;
    if size <= packer.spec.min() {
        return Ok(vec![Group::whole(Piece::plain(whole, Boundary::Start)).of(Kind::Document)]);
    }
    let kept = cuts(document).into_iter().filter(|(_, range)| !is_empty(document, range));
    kept.map(|(boundary, range)| packer.whole_or_filled(trim(&document.text, range), boundary)).collect()
}

/// Cuts the document at its headings of level 2 and 3.
fn cuts(document: &Document) -> Vec<(Boundary, Range<usize>)> {
    let mut cuts: Vec<(Boundary, Range<usize>)> = Vec::new();
    for section in &document.sections {
        match cuts.last_mut() {
            Some((_, range)) if !matches!(section.level, 2 | 3) => range.end = section.range.end,
            _ => {
                let boundary = if section.level > 1 { Boundary::Heading(section.level) } else { Boundary::Start };
                cuts.push((boundary, section.range.clone()));
            }
        }
    }
    cuts
}

/// Returns whether a range is at most a heading of level 2 or 3.
fn is_empty(document: &Document, range: &Range<usize>) -> bool {
    match document.blocks_in(range) {
        [] => true,
        [heading] => {
            matches!(heading.kind, BlockKind::Heading(2 | 3))
                && is_blank(&document.text[range.start..heading.range.start])
                && is_blank(&document.text[heading.range.end..range.end])
        }
        _ => false,
    }
}

/// Returns the headings of level 2 and 3 in a section's heading path, written as in the source.
pub(super) fn header_path(document: &Document, section: usize) -> String {
    let up = |&at: &usize| document.sections[at].parent;
    let mut path: Vec<String> = std::iter::successors(Some(section), up)
        .map(|at| &document.sections[at])
        .filter(|section| matches!(section.level, 2 | 3))
        .map(|section| format!("{} {}", "#".repeat(section.level.into()), section.title))
        .collect();
    path.reverse();
    path.join(" > ")
}
