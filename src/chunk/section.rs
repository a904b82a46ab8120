//! Seed 2: sections by heading; a small one takes the next when its level allows, a large one is
//! packed to a target.
//!
//! A section under the minimum merges with the one that follows it unless that one is deeper: a
//! heading's short introduction stays apart from the first of its subsections. Sections over the
//! maximum are packed paragraph by paragraph up to the target, each piece starting with the end of
//! the one before. A paragraph over the maximum is cut between sentences.
//!
//! Other formats have sections too: the top-level keys of YAML and JSON, the items of source code.
//! In source code, documentation comments and code never share a chunk.

use super::Kind;
use super::pack::{Group, Packer};
use super::part::{Part, Treatment, parts};
use crate::document::{Block, BlockKind, Document, Format};
use crate::error::Result;

pub(super) fn propose(packer: &Packer<'_>) -> Result<Vec<Group>> {
    let document = packer.document;
    let mut merged: Vec<Part> = Vec::new();
    for part in parts(document, |block| treatment(document, block)) {
        if let Some(last) = merged.last_mut()
            && last.kind == part.kind
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
    let source = !matches!(document.format, Format::Markdown | Format::Text);
    if source && block.kind == BlockKind::Code { Treatment::Apart(Kind::Code) } else { Treatment::Prose }
}
