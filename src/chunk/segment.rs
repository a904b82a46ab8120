//! A document as a row of segments: texts that no cut goes through, with how much each belongs to the
//! one before it.
//!
//! A segment is a block or an item of a list; of a block that is over the maximum a block inside it, some
//! of its rows or lines, a sentence, or part of one. Segments know the sums of sizes up to them, so that
//! the size of any run of them is a difference.

use std::collections::BTreeMap;
use std::ops::Range;

use super::Boundary;
use super::packer::{JOIN_SLACK, Packer, furthest};
use super::unit::{Grain, Unit, Wrap, blank_line_before, close_gaps};
use crate::document::{Block, BlockKind, is_blank, trim};
use crate::error::Result;
use crate::tokens::Unit as Measure;

/// A text that is not cut.
pub(super) struct Segment {
    /// Its text, without white space at its ends.
    pub(super) range: Range<usize>,
    /// Why a chunk would start here.
    pub(super) boundary: Boundary,
    /// How much it belongs to the segment before.
    pub(super) bond: Bond,
    /// Level of the section that it is in.
    pub(super) level: u8,
    /// Size of what a chunk that starts here repeats of a table or a fence, or of the text before it.
    pub(super) opening: usize,
    /// Size of what a chunk that ends here repeats of a fence.
    pub(super) closing: usize,
    wrap: Wrap,
    /// Whether it is one heading.
    pub(super) is_heading: bool,
    /// Whether it does not fit a chunk with the headings above it.
    parted: bool,
    /// Size of what stands before it, and of that with its own text, as far as sizes add up.
    sums: [usize; 2],
}

impl Segment {
    /// Where the text stands that a chunk repeats if it starts here.
    pub(super) fn opening(&self) -> Range<usize> {
        self.wrap.opening(self.range.start).0
    }

    /// Where the text stands that a chunk repeats if it ends here.
    pub(super) fn closing(&self) -> Range<usize> {
        self.wrap.closing(self.range.end).0
    }
}

/// How much two neighbours belong together, from the least to the most.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Bond {
    /// Another section starts.
    Section,
    /// A blank line is between them.
    Loose,
    /// There is none, or they are items of one list.
    Tight,
    /// Blocks inside one that is over the maximum.
    Nested,
    /// A text that ends with a colon, and what it announces.
    Announced,
    /// Lines of one block, a blank line between them.
    Stanza,
    /// Lines of one block of which the second is not indented.
    Line,
    /// Sentences, indented lines.
    Sentence,
    /// Words.
    Word,
    /// A documentation comment, and what it is about.
    Comment,
    /// A heading, and what is under it.
    Heading,
}

/// The segments of one document.
pub(super) struct Segments<'a> {
    packer: &'a Packer<'a>,
    pub(super) row: Vec<Segment>,
    /// The flags of those that are over the maximum alone.
    oversized: BTreeMap<usize, &'static str>,
    /// Whether the sizes of neighbours add up to that of both.
    adds_up: bool,
}

impl<'a> Segments<'a> {
    /// The segments of the body.
    pub(super) fn of(packer: &'a Packer<'a>) -> Result<Self> {
        let adds_up = !matches!(packer.spec.unit(), Measure::Words | Measure::Estimate);
        let mut segments = Self { packer, row: Vec::new(), oversized: BTreeMap::new(), adds_up };
        let mut stack = Vec::new();
        for (unit, level) in top_level(packer)? {
            stack.push((unit, false));
            segments.add(&mut stack, level)?;
        }
        Ok(segments)
    }

    /// Size of a run of segments, without what a chunk of them would repeat.
    pub(super) fn size(&self, first: usize, last: usize) -> Result<usize> {
        let (first, last) = (&self.row[first], &self.row[last]);
        if self.adds_up {
            return Ok(last.sums[1] - first.sums[0]);
        }
        self.packer.ruler.size(first.range.start..last.range.end)
    }

    /// The flag of a segment that is over the maximum alone.
    pub(super) fn oversized(&self, segment: usize) -> Option<&'static str> {
        self.oversized.get(&segment).copied()
    }

    /// Adds units, the last of them first, or what they must be cut into; each comes with whether it is
    /// inside of one that was.
    fn add(&mut self, units: &mut Vec<(Unit, bool)>, level: u8) -> Result<()> {
        while let Some((unit, nested)) = units.pop() {
            let range = trim(&self.packer.document.text, unit.range.clone());
            if range.is_empty() {
                continue;
            }
            let bond = self.bond(&unit, &range, nested);
            let mut segment = self.segment(&unit, range, bond, level)?;
            // A text that does not fit with its heading is cut rather than parted from it.
            let headings = self.headings_above(self.row.len())?;
            let start = headings.map_or(&segment, |first| &self.row[first]);
            let above = segment.sums[0] - start.sums[0];
            let fits = self.fits(start, &segment)?;
            segment.parted = !fits && self.fits(&segment, &segment)? && self.may_part(&unit)?;
            if !fits && !segment.parted {
                let finer = self.packer.finer(&unit, self.packer.spec.max().saturating_sub(above))?;
                if !finer.is_empty() {
                    let finer = finer.into_iter().enumerate().rev();
                    units.extend(finer.map(|(at, finer)| (finer, nested || at > 0)));
                    continue;
                }
                if !self.fits(&segment, &segment)? {
                    self.oversized.insert(self.row.len(), self.packer.oversized(&unit)?);
                }
            }
            if bond != Bond::Section && segment.opening().is_empty() && !self.row.is_empty() {
                let spec = self.packer.spec;
                segment.opening = spec.overlap().min(spec.max() / 2);
            }
            self.row.push(segment);
        }
        Ok(())
    }

    /// Whether a unit is rather parted from its headings than cut: what reads badly in pieces, if its headings
    /// fit a chunk with what stands before them.
    fn may_part(&self, unit: &Unit) -> Result<bool> {
        let kind = self.packer.document.blocks.get(unit.blocks.start).map(|block| block.kind);
        if unit.grain != Grain::Block || matches!(kind, Some(BlockKind::Paragraph | BlockKind::ListItem)) {
            return Ok(false);
        }
        let before = self.headings_above(self.row.len())?.and_then(|first| first.checked_sub(1));
        let Some((before, last)) = before.zip(self.row.last()) else { return Ok(false) };
        let start = if self.row[before].parted { None } else { self.headings_above(before)? };
        self.fits(&self.row[start.unwrap_or(before)], last)
    }

    /// The first of the headings that stand directly above a segment and belong to it.
    fn headings_above(&self, segment: usize) -> Result<Option<usize>> {
        let belong = |count: usize| -> Result<bool> {
            let Some(first) = segment.checked_sub(count) else { return Ok(false) };
            let above = &self.row[first..segment];
            let Some(last) = above.last().filter(|_| above.iter().all(|above| above.is_heading)) else {
                return Ok(false);
            };
            self.packer.belong(above[0].range.start..last.range.end)
        };
        // There can be very many.
        let mut most = 1;
        while belong(most)? {
            most *= 2;
        }
        let count = furthest(most / 2, most - 1, belong)?;
        Ok((count > 0).then(|| segment - count))
    }

    /// Whether the text from one segment to another fits a chunk, with what that repeats.
    pub(super) fn fits(&self, first: &Segment, last: &Segment) -> Result<bool> {
        let Packer { document, spec, .. } = self.packer;
        let sum = last.sums[1] - first.sums[0] + first.opening + last.closing;
        if self.adds_up && sum.abs_diff(spec.max()) > JOIN_SLACK {
            return Ok(sum <= spec.max());
        }
        let [opening, closing] = [first.opening(), last.closing()].map(|range| &document.text[range]);
        self.packer.within(spec.max(), opening, first.range.start..last.range.end, closing)
    }

    fn segment(&self, unit: &Unit, range: Range<usize>, bond: Bond, level: u8) -> Result<Segment> {
        let Packer { document, ruler, .. } = self.packer;
        let before = match self.row.last() {
            Some(last) => last.sums[0] + ruler.size(last.range.start..range.start)?,
            None => 0,
        };
        Ok(Segment {
            boundary: unit.boundary,
            bond,
            level,
            opening: unit.wrap.opening(range.start).1,
            closing: unit.wrap.closing(range.end).1,
            wrap: unit.wrap.clone(),
            is_heading: unit.grain == Grain::Block
                && unit.blocks.len() == 1
                && document.blocks[unit.blocks.start].is_heading(),
            parted: false,
            sums: [before, before + ruler.size(range.clone())?],
            range,
        })
    }

    /// How much a unit belongs to the last segment.
    fn bond(&self, unit: &Unit, range: &Range<usize>, nested: bool) -> Bond {
        let document = self.packer.document;
        let Some(last) = self.row.last() else { return Bond::Section };
        let between = &document.text[last.range.start..range.start];
        let block = unit.blocks.start.checked_sub(1).and_then(|before| document.blocks.get(before));
        let commented =
            || block.is_some_and(|block| block.kind == BlockKind::Comment && block.range.end > last.range.start);
        match unit.boundary {
            _ if last.is_heading => Bond::Heading,
            Boundary::Limit => Bond::Word,
            Boundary::Sentence => Bond::Sentence,
            Boundary::Line if blank_line_before(between) => Bond::Stanza,
            Boundary::Line if document.text[range.start..].starts_with([' ', '\t']) => Bond::Sentence,
            Boundary::Line => Bond::Line,
            _ if commented() => Bond::Comment,
            Boundary::Heading(_) => Bond::Section,
            _ if document.text[..last.range.end].ends_with([':', '：']) => Bond::Announced,
            _ if nested => Bond::Nested,
            Boundary::BlankLine => Bond::Loose,
            _ => Bond::Tight,
        }
    }
}

/// The top-level blocks of the body and the items of its lists, each with the level of its section. A
/// section that starts inside a block, as a method of a class does, starts a unit too. Headings at the end
/// belong to what stands before them.
fn top_level(packer: &Packer<'_>) -> Result<impl Iterator<Item = (Unit, u8)>> {
    let document = packer.document;
    let blocks = &document.blocks;
    let mut units: Vec<Unit> = Vec::with_capacity(blocks.len());
    let mut levels: Vec<u8> = Vec::with_capacity(blocks.len());
    let mut block = 0;
    for section in &document.sections {
        let first = units.len();
        while let Some(at) = blocks.get(block).filter(|at| at.range.start < section.range.end) {
            let is_list = at.kind == BlockKind::List && block + 1 < at.next;
            let mut item = if is_list { block + 1 } else { block };
            while item < at.next {
                let Some(inner) = blocks.get(item) else { break };
                units.push(Unit::block(inner.range.start..at.range.end, item..inner.next, Boundary::Block));
                item = inner.next;
            }
            block = at.next;
        }
        let start = section.range.start;
        let starts_at_block = units
            .get(first)
            .is_some_and(|unit| unit.range.start <= start || is_blank(&document.text[start..unit.range.start]));
        if !starts_at_block {
            let inside = blocks.partition_point(|block| block.range.start < start)..block;
            let after = units.get(first).map_or(inside.end, |unit| unit.blocks.start);
            units.insert(first, Unit::block(start..section.range.end, inside.start..after, Boundary::Block));
        }
        units[first].range.start = start;
        units[first].boundary = if section.level == 0 { Boundary::Start } else { Boundary::Heading(section.level) };
        levels.resize(units.len(), section.level);
    }
    close_gaps(&mut units, document.body.clone());
    for at in 0..units.len() {
        let range = units[at].range.clone();
        // What of a block is in later sections is in their units.
        let held = units[at].blocks.clone();
        let inside = blocks[held.clone()].partition_point(|block| block.range.start < range.end);
        units[at].blocks.end = held.start + inside;
        let before = at.checked_sub(1).map_or("", |before| &document.text[units[before].range.start..range.start]);
        if units[at].boundary == Boundary::Block && !is_item(packer, &units[at]) && blank_line_before(before) {
            units[at].boundary = Boundary::BlankLine;
        }
    }
    let is_heading = |unit: &Unit| !unit.blocks.is_empty() && blocks[unit.blocks.clone()].iter().all(Block::is_heading);
    let headings = units.iter().rev().take_while(|unit| is_heading(unit)).count();
    let texts = units.len() - headings;
    if let Some(last) = texts.checked_sub(1).filter(|_| headings > 0)
        && packer.belong(units[texts].range.start..document.body.end)?
    {
        (units[last].range.end, units[last].blocks.end) = (document.body.end, blocks.len());
        units.truncate(texts);
    }
    Ok(units.into_iter().zip(levels))
}

/// Whether a unit is an item of a list, and not its first.
fn is_item(packer: &Packer<'_>, unit: &Unit) -> bool {
    let blocks = &packer.document.blocks;
    let start = unit.blocks.start;
    blocks.get(start).is_some_and(|block| block.kind == BlockKind::ListItem)
        && start.checked_sub(1).is_some_and(|before| blocks[before].kind != BlockKind::List)
}
