//! Seed 1: sections by heading, merged forward while under the minimum, split at blank lines when
//! over the maximum.
//!
//! Merging goes through the document once, from its start: a chunk that is under the minimum takes
//! the next section, whatever its level, until it is not; the last one may stay small. A
//! chunk has the heading path of the section it starts in. Only the pieces of a section that
//! had to be split overlap, because sections are different topics.

use super::pack::{Group, Packer, Piece};
use super::{Boundary, Switch};
use crate::document::{Document, is_blank, trim};
use crate::error::Result;

pub(super) fn propose(packer: &Packer<'_>) -> Result<Vec<Group>> {
    let (document, spec) = (packer.document, packer.spec);
    let mut groups = Vec::new();
    let mut first = 0;
    while first < document.sections.len() {
        let mut last = first;
        let range = loop {
            let whole = document.sections[first].range.start..document.sections[last].range.end;
            let range = trim(&document.text, whole);
            let small = packer.ruler.size(range.clone())? < spec.min();
            if !small || last + 1 == document.sections.len() {
                break range;
            }
            last += 1;
        };
        let level = document.sections[first].level;
        let start = if level == 0 { Boundary::Start } else { Boundary::Heading(level) };
        let headers = |start: usize| {
            if spec.is_on(Switch::ParentHeaders) { parent_headers(document, start) } else { String::new() }
        };
        let prefix = headers(range.start);
        groups.push(if packer.fits(&prefix, range.clone())? {
            Group::whole(Piece { prefix, ..Piece::plain(range, start) })
        } else {
            Group::split(packer.fill(&range, start, &headers)?)
        });
        first = last + 1;
    }
    Ok(groups)
}

/// The headings that a text starting at `start` stands under and does not start with itself.
fn parent_headers(document: &Document, start: usize) -> String {
    let sections = &document.sections;
    let mut above: Vec<String> = Vec::new();
    let mut at = document.section_at(start);
    if let Some(own) = at
        && is_blank(&document.text[sections[own].range.start..start])
    {
        at = sections[own].parent;
    }
    while let Some(index) = at {
        let section = &sections[index];
        if section.level > 0 {
            above.push(format!("{} {}\n\n", "#".repeat(section.level.into()), section.title));
        }
        at = section.parent;
    }
    above.reverse();
    above.concat()
}
