//! Seed 2: sections by heading; a small one takes the next when its level allows, a large one is
//! packed to a target.
//!
//! A section under the minimum merges with the one that follows it unless that one is deeper: a
//! heading's short introduction stays apart from the first of its subsections. Sections over the
//! maximum are packed paragraph by paragraph up to the target, each piece starting with the end of
//! the one before. A paragraph over the maximum is cut between sentences.
//!
//! Other formats have sections too: the top-level keys of YAML and JSON, the items of source code.
//! In source code, documentation comments and code never share a chunk, and only siblings merge.

use super::Kind;
use super::pack::{Group, Packer};
use super::part::{Part, Treatment, parts};
use crate::document::{Block, BlockKind, Document, Format};
use crate::error::Result;

pub(super) fn propose(packer: &Packer<'_>) -> Result<Vec<Group>> {
    let document = packer.document;
    let mut merged: Vec<Part> = Vec::new();
    for part in parts(document, |block| treatment(document, block)) {
        let parent = |part: &Part| document.sections[part.section].parent;
        if let Some(last) = merged.last_mut()
            && last.kind == part.kind
            && (!is_source(document) || parent(last) == parent(&part))
            && document.sections[last.section].level >= document.sections[part.section].level
            && packer.ruler.size(last.range.clone())? < packer.spec.min()
        {
            last.range.end = part.range.end;
            continue;
        }
        merged.push(part);
    }
    merged.iter().filter_map(|part| part.packed(packer).transpose()).collect()
}

fn treatment(document: &Document, block: &Block) -> Treatment {
    if is_source(document) && block.kind == BlockKind::Code { Treatment::Apart(Kind::Code) } else { Treatment::Prose }
}

/// Source code, where levels are those of items and the end of one does not belong to the next.
fn is_source(document: &Document) -> bool {
    matches!(document.format, Format::Code(_))
}
