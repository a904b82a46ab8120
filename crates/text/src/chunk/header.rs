//! The design of the preset `ragdocs`: sections by heading, merged forward while under the minimum, and split at blank lines if over the
//! maximum.
//!
//! Merging goes through the document once, from its start. A chunk under the minimum takes the next section,
//! whatever its level, until it reaches the minimum. A small last chunk joins the previous one if both fit, and always
//! if it is only a heading. Only the pieces of a section that had to be split overlap, because sections are different
//! topics.

use std::ops::Range;

use chunkmill_base::error::Result;

use super::packer::Packer;
use super::part::is_bare;
use super::piece::{Boundary, Group, Piece};
use super::repeats::Repeats;
use super::strategy::Switch;
use crate::document::{Document, is_blank, trim};

pub(super) fn propose(packer: &Packer<'_>) -> Result<Vec<Group>> {
    let (document, spec) = (packer.document, packer.spec);
    let mut groups = Vec::new();
    for sections in merged(packer)? {
        let range = text_of(document, &sections);
        if packer.ruler.size(range.clone())? < spec.min()
            && let Some(last) = groups.last_mut().and_then(|group: &mut Group| group.pieces.last_mut())
            && last.flags.is_empty()
            && last.repeats.closing.is_empty()
            && packer.within(spec.max(), &last.repeats, last.range.start..range.end)?
        {
            last.range.end = range.end;
            continue;
        }
        let level = document.sections[sections.start].level;
        let start = if level == 0 { Boundary::Start } else { Boundary::Heading(level) };
        let above =
            |start: usize| if spec.is_on(Switch::ParentHeaders) { headings_above(document, start) } else { Vec::new() };
        let repeats = Repeats { headings: above(range.start), ..Repeats::default() };
        groups.push(if packer.within(spec.max(), &repeats, range.clone())? {
            Group::whole(packer.counted(Piece { repeats, ..Piece::plain(range, start) }))
        } else {
            Group::split(packer.fill(&range, start, &above)?)
        });
    }
    Ok(groups)
}

/// Returns the runs of sections that are merged. Headings without text never form a run of their own: at the end
/// of the document they join the previous run.
fn merged(packer: &Packer<'_>) -> Result<Vec<Range<usize>>> {
    let document = packer.document;
    let mut runs: Vec<Range<usize>> = Vec::new();
    let (mut first, mut bare) = (0, true);
    for (at, section) in document.sections.iter().enumerate() {
        let run = first..at + 1;
        bare &= is_bare(document, &section.range);
        let small = bare || packer.ruler.size(text_of(document, &run))? < packer.spec.min();
        if small && run.end < document.sections.len() {
            continue;
        }
        match runs.last_mut().filter(|_| bare) {
            Some(before) => before.end = run.end,
            None => runs.push(run),
        }
        (first, bare) = (at + 1, true);
    }
    Ok(runs)
}

/// Returns the text of a run of sections, without white space at its ends.
fn text_of(document: &Document, run: &Range<usize>) -> Range<usize> {
    let sections = &document.sections[run.clone()];
    let end = sections.last().map_or(0, |last| last.range.end);
    trim(&document.text, sections.first().map_or(end, |first| first.range.start)..end)
}

/// Returns the sections above a text that starts at `start`, outermost first, except the one whose heading it starts
/// with.
fn headings_above(document: &Document, start: usize) -> Vec<usize> {
    let sections = &document.sections;
    let mut above = Vec::new();
    let mut at = document.section_at(start);
    if let Some(own) = at
        && is_blank(&document.text[sections[own].range.start..start])
    {
        at = sections[own].parent;
    }
    while let Some(index) = at {
        let section = &sections[index];
        if section.level > 0 {
            above.push(index);
        }
        at = section.parent;
    }
    above.reverse();
    above
}
