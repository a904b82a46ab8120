//! Seed 1: sections by heading, merged forward while under the minimum, split at blank lines when
//! over the maximum.
//!
//! Merging goes through the document once, from its start: a chunk that is under the minimum takes
//! the next section, whatever its level, until it is not; the last one may stay small. A merged
//! chunk keeps the heading path of the section it starts with. Only the pieces of a section that
//! had to be split overlap, because sections are different topics.

use super::Boundary;
use super::pack::{Group, Packer, Piece, trim};
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
        let headers =
            |own: bool| if spec.parent_headers() { parent_headers(packer, first, own) } else { String::new() };
        let merged = last - first + 1;
        let prefix = headers(false);
        groups.push(if packer.fits(&prefix, range.clone())? {
            let piece = Piece { prefix, ..Piece::plain(range, start) };
            Group { section: Some(first), pieces: vec![piece], split: false, merged }
        } else {
            let pieces = packer.fill(&range, start, &prefix, &headers(true))?;
            Group { section: Some(first), pieces, split: true, merged }
        });
        first = last + 1;
    }
    Ok(groups)
}

/// The headings a section stands under, and its `own` if the text does not start with it.
fn parent_headers(packer: &Packer<'_>, section: usize, own: bool) -> String {
    let sections = &packer.document.sections;
    let mut above: Vec<String> = Vec::new();
    let mut at = if own { Some(section) } else { sections[section].parent };
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
