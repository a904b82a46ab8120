//! The design of the preset `docs`: the section tree, walked depth first.
//!
//! A section that fits with all its subsections is one chunk. Otherwise it is cut into its own text and its
//! subsections, each by the same rule; none of a parent's own text is lost. Siblings, and a section's own text
//! with its first subsections, merge while they stay within the target, or within the maximum if one of them is
//! under the minimum. Text over the maximum is split between paragraphs, which are not cut unless `cut_oversized`
//! is on. A heading with nothing under it joins a sibling that follows, or what precedes it in its chapter.
//!
//! Only the pieces of a section that had to be split overlap: other neighbours are different topics. Footnotes are
//! separate chunks; with `code_aware`, code blocks are too. If `respect_boundaries` is off, sections are ignored
//! and paragraphs are packed to the target.

use chunkmill_base::error::Result;

use super::packer::Packer;
use super::part::{Part, Treatment, adopt_bare, join_prose, parts};
use super::piece::{Group, Kind};
use super::spec::Spec;
use super::strategy::{Strategy, Switch};
use crate::document::{Block, BlockKind, Document};

pub(super) fn propose(packer: &Packer<'_>) -> Result<Vec<Group>> {
    let parts = parts(packer.document, |block| treatment(packer.spec, block));
    let parts = if packer.spec.is_on(Switch::RespectBoundaries) {
        merge(packer, adopt_bare(packer, subtrees(packer, &parts)?)?)?
    } else {
        join_prose(parts)
    };
    parts.iter().filter_map(|part| part.packed(packer).transpose()).collect()
}

/// Returns how the modes of that design treat a top-level block.
pub(super) fn treatment(spec: &Spec, block: &Block) -> Treatment {
    match block.kind {
        BlockKind::Footnote => Treatment::Apart(Kind::Footnote),
        BlockKind::Code if !spec.is_on(Switch::IncludeCode) => Treatment::Out,
        BlockKind::Table if !spec.is_on(Switch::IncludeTables) => Treatment::Out,
        BlockKind::Code if spec.strategy() == Strategy::CodeAware => Treatment::Apart(Kind::Code),
        _ => Treatment::Prose,
    }
}

/// Replaces the parts of every section that fits with everything below it by one part, if they are all prose.
fn subtrees(packer: &Packer<'_>, parts: &[Part]) -> Result<Vec<Part>> {
    let ends = subtree_ends(packer.document);
    let mut whole: Vec<Part> = Vec::with_capacity(parts.len());
    let mut at = 0;
    while let Some(first) = parts.get(at) {
        let begins = at == 0 || parts[at - 1].section < first.section;
        let inside = &parts[at..at + parts[at..].partition_point(|part| part.section < ends[first.section])];
        let range = first.range.start..inside.last().map_or(first.range.end, |last| last.range.end);
        let prose = inside.iter().all(|part| part.kind == Some(Kind::Text));
        if begins && prose && packer.fits(range.clone())? {
            whole.push(Part { range, ..first.clone() });
            at += inside.len();
        } else {
            whole.push(first.clone());
            at += 1;
        }
    }
    Ok(whole)
}

/// Returns, for each section, the index of the first one after it that is not below it.
fn subtree_ends(document: &Document) -> Vec<usize> {
    let sections = &document.sections;
    let mut ends = vec![sections.len(); sections.len()];
    let mut open: Vec<usize> = Vec::new();
    for (index, section) in sections.iter().enumerate() {
        while open.last().is_some_and(|&last| Some(last) != section.parent) {
            if let Some(last) = open.pop() {
                ends[last] = index;
            }
        }
        open.push(index);
    }
    ends
}

fn merge(packer: &Packer<'_>, parts: Vec<Part>) -> Result<Vec<Part>> {
    let document = packer.document;
    let mut merged: Vec<Part> = Vec::with_capacity(parts.len());
    for part in parts {
        match merged.last_mut() {
            Some(last) if related(document, last, &part) && together(packer, last, &part)? => {
                last.range.end = part.range.end;
            }
            _ => merged.push(part),
        }
    }
    Ok(merged)
}

/// Returns whether two consecutive parts may share a chunk: siblings, or a section's own text and what is directly
/// below it. Footnotes and parts that are left out never do.
fn related(document: &Document, last: &Part, part: &Part) -> bool {
    let parent = |section: usize| document.sections[section].parent;
    matches!(last.kind, Some(Kind::Text | Kind::Code))
        && last.kind == part.kind
        && (parent(last.section) == parent(part.section) || parent(part.section) == Some(last.section))
}

fn together(packer: &Packer<'_>, last: &Part, part: &Part) -> Result<bool> {
    let both = packer.ruler.size(last.range.start..part.range.end)?;
    let (min, target, max) = (packer.spec.min(), packer.spec.target(), packer.spec.max());
    let small = packer.ruler.size(last.range.clone())? < min || packer.ruler.size(part.range.clone())? < min;
    Ok(both <= target || (small && both <= max))
}
