//! A document as a row of segments: texts that are never cut, each with how closely it belongs to the previous
//! one.
//!
//! A segment is a block or a list item. If a block is over the maximum, its segments are the blocks inside it,
//! some of its rows or lines, its sentences, or parts of these. Each segment stores the sum of the sizes up to it,
//! so the size of any run of segments is a difference.

use std::collections::BTreeMap;
use std::ops::Range;

use chunkmill_base::error::Result;

use super::fragment::{Fragment, Grain, Wrap, blank_line_before, close_gaps};
use super::packer::{JOIN_SLACK, Packer, furthest};
use super::piece::Boundary;
use super::repeats::Repeats;
use crate::document::{Block, BlockKind, is_blank, trim};
use crate::tokens::Unit;

/// A text that is not cut.
pub(super) struct Segment {
    /// Its text, without white space at its ends.
    pub(super) range: Range<usize>,
    /// The reason why a chunk would start here.
    pub(super) boundary: Boundary,
    /// How closely it belongs to the previous segment.
    pub(super) bond: Bond,
    /// Level of its section.
    pub(super) level: u8,
    /// Size of the text that a chunk repeats if it starts here: lines of a table or fence, or overlap.
    pub(super) opening: usize,
    /// Size of the text that a chunk repeats if it ends here: the last line of a fence.
    pub(super) closing: usize,
    wrap: Wrap,
    /// Whether it is a single heading.
    pub(super) is_heading: bool,
    /// Whether it is separated from the headings above it, because they do not fit a chunk together.
    parted: bool,
    /// Size of everything before it, and of that with its own text, as far as sizes add up.
    sums: [usize; 2],
}

impl Segment {
    /// Returns the range of the text that a chunk repeats if it starts here.
    pub(super) fn opening(&self) -> Range<usize> {
        self.wrap.opening(self.range.start).0
    }

    /// Returns the range of the text that a chunk repeats if it ends here.
    pub(super) fn closing(&self) -> Range<usize> {
        self.wrap.closing(self.range.end).0
    }
}

/// How closely two neighbours belong together, from least to most.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Bond {
    /// The start of another section.
    Section,
    /// A blank line between them.
    Loose,
    /// No blank line between them, or items of one list.
    Tight,
    /// Blocks inside a block that is over the maximum.
    Nested,
    /// A text that ends with a colon, and the text after it.
    Announced,
    /// Lines of one block, with a blank line between them.
    Stanza,
    /// Lines of one block, where the second one is not indented.
    Line,
    /// Sentences, or lines where the second one is indented.
    Sentence,
    /// Words.
    Word,
    /// A documentation comment and the code that it describes.
    Comment,
    /// A heading and the text under it.
    Heading,
}

/// The segments of one document.
pub(super) struct Segments<'a> {
    packer: &'a Packer<'a>,
    pub(super) row: Vec<Segment>,
    /// Flags of the segments that are over the maximum by themselves.
    oversized: BTreeMap<usize, &'static str>,
    /// Whether the sizes of neighbours add up to the size of both.
    adds_up: bool,
}

impl<'a> Segments<'a> {
    /// Splits the body into segments.
    pub(super) fn of(packer: &'a Packer<'a>) -> Result<Self> {
        let adds_up = !matches!(packer.spec.unit(), Unit::Words | Unit::Estimate);
        let mut segments = Self { packer, row: Vec::new(), oversized: BTreeMap::new(), adds_up };
        let mut stack = Vec::new();
        for (unit, level) in top_level(packer)? {
            stack.push((unit, false));
            segments.add(&mut stack, level)?;
        }
        Ok(segments)
    }

    /// Returns the size of a run of segments, without the text that a chunk of them would repeat.
    pub(super) fn size(&self, first: usize, last: usize) -> Result<usize> {
        let (first, last) = (&self.row[first], &self.row[last]);
        if self.adds_up {
            return Ok(last.sums[1] - first.sums[0]);
        }
        self.packer.ruler.size(first.range.start..last.range.end)
    }

    /// Returns the flag of a segment that is over the maximum by itself.
    pub(super) fn oversized(&self, segment: usize) -> Option<&'static str> {
        self.oversized.get(&segment).copied()
    }

    /// Adds units as segments, from the last to the first, after cutting those that do not fit. Each unit comes
    /// with whether it is inside one that was cut.
    fn add(&mut self, units: &mut Vec<(Fragment, bool)>, level: u8) -> Result<()> {
        while let Some((unit, nested)) = units.pop() {
            let range = trim(&self.packer.document.text, unit.range.clone());
            if range.is_empty() {
                continue;
            }
            let bond = self.bond(&unit, &range, nested);
            let mut segment = self.segment(&unit, range, bond, level)?;
            // A text that does not fit together with its heading is cut rather than separated from it.
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

    /// Returns whether a unit should be separated from its headings rather than cut. It should if it reads badly
    /// in pieces and its headings fit a chunk with the text before them.
    fn may_part(&self, unit: &Fragment) -> Result<bool> {
        let kind = self.packer.document.blocks.get(unit.blocks.start).map(|block| block.kind);
        if unit.grain != Grain::Block || matches!(kind, Some(BlockKind::Paragraph | BlockKind::ListItem)) {
            return Ok(false);
        }
        let before = self.headings_above(self.row.len())?.and_then(|first| first.checked_sub(1));
        let Some((before, last)) = before.zip(self.row.last()) else { return Ok(false) };
        let start = if self.row[before].parted { None } else { self.headings_above(before)? };
        self.fits(&self.row[start.unwrap_or(before)], last)
    }

    /// Returns the first of the headings that are directly above a segment and belong to it.
    fn headings_above(&self, segment: usize) -> Result<Option<usize>> {
        let belong = |count: usize| -> Result<bool> {
            let Some(first) = segment.checked_sub(count) else { return Ok(false) };
            let above = &self.row[first..segment];
            let Some(last) = above.last().filter(|_| above.iter().all(|above| above.is_heading)) else {
                return Ok(false);
            };
            self.packer.belong(above[0].range.start..last.range.end)
        };
        // There can be very many headings.
        let mut most = 1;
        while belong(most)? {
            most *= 2;
        }
        let count = furthest(most / 2, most - 1, belong)?;
        Ok((count > 0).then(|| segment - count))
    }

    /// Returns whether the text from one segment to another fits a chunk, including the text that the chunk
    /// repeats.
    pub(super) fn fits(&self, first: &Segment, last: &Segment) -> Result<bool> {
        let spec = self.packer.spec;
        let sum = last.sums[1] - first.sums[0] + first.opening + last.closing;
        if self.adds_up && sum.abs_diff(spec.max()) > JOIN_SLACK {
            return Ok(sum <= spec.max());
        }
        let repeats = Repeats { opening: first.opening(), closing: last.closing(), ..Repeats::default() };
        self.packer.within(spec.max(), &repeats, first.range.start..last.range.end)
    }

    fn segment(&self, unit: &Fragment, range: Range<usize>, bond: Bond, level: u8) -> Result<Segment> {
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

    /// Returns how closely a unit belongs to the last segment.
    fn bond(&self, unit: &Fragment, range: &Range<usize>, nested: bool) -> Bond {
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

/// Returns the top-level blocks of the body and the items of its lists, each with the level of its section. A
/// section that starts inside a block, as a method of a class does, also starts a unit. Headings at the end belong
/// to the text before them.
fn top_level(packer: &Packer<'_>) -> Result<impl Iterator<Item = (Fragment, u8)>> {
    let document = packer.document;
    let blocks = &document.blocks;
    let mut units: Vec<Fragment> = Vec::with_capacity(blocks.len());
    let mut levels: Vec<u8> = Vec::with_capacity(blocks.len());
    let mut block = 0;
    for section in &document.sections {
        let first = units.len();
        while let Some(at) = blocks.get(block).filter(|at| at.range.start < section.range.end) {
            let is_list = at.kind == BlockKind::List && block + 1 < at.next;
            let mut item = if is_list { block + 1 } else { block };
            while item < at.next {
                let Some(inner) = blocks.get(item) else { break };
                units.push(Fragment::block(inner.range.start..at.range.end, item..inner.next, Boundary::Block));
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
            units.insert(first, Fragment::block(start..section.range.end, inside.start..after, Boundary::Block));
        }
        units[first].range.start = start;
        units[first].boundary = if section.level == 0 { Boundary::Start } else { Boundary::Heading(section.level) };
        levels.resize(units.len(), section.level);
    }
    close_gaps(&mut units, document.body.clone());
    for at in 0..units.len() {
        let range = units[at].range.clone();
        // The parts of a block in later sections are in the units of these sections.
        let held = units[at].blocks.clone();
        let inside = blocks[held.clone()].partition_point(|block| block.range.start < range.end);
        units[at].blocks.end = held.start + inside;
        let before = at.checked_sub(1).map_or("", |before| &document.text[units[before].range.start..range.start]);
        if units[at].boundary == Boundary::Block && !is_item(packer, &units[at]) && blank_line_before(before) {
            units[at].boundary = Boundary::BlankLine;
        }
    }
    let is_heading =
        |unit: &Fragment| !unit.blocks.is_empty() && blocks[unit.blocks.clone()].iter().all(Block::is_heading);
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

/// Returns whether a unit is a list item other than the first.
fn is_item(packer: &Packer<'_>, unit: &Fragment) -> bool {
    let blocks = &packer.document.blocks;
    let start = unit.blocks.start;
    blocks.get(start).is_some_and(|block| block.kind == BlockKind::ListItem)
        && start.checked_sub(1).is_some_and(|before| blocks[before].kind != BlockKind::List)
}
