//! The one place where sizes and overlap are enforced.
//!
//! A strategy says which range to pack and what it starts with. [`Packer::fill`] packs whole
//! blocks and never cuts one that fits; [`Packer::windows`] cuts exactly at the limit. Sizes count
//! the whole content: prefix and source.

use std::ops::Range;

use unicode_segmentation::UnicodeSegmentation;

use super::{Boundary, Kind, Spec, Strategy};
use crate::document::{Block, BlockKind, Document, is_blank, trim};
use crate::error::Result;
use crate::tokens::{Ruler, Sizer};

/// Stands between overlap and text.
const SEPARATOR: &str = "\n\n";

/// Sizes of a prefix and of a range add up to the size of both to within this many units. Where
/// that could decide, the joined text is measured.
const JOIN_SLACK: usize = 8;

/// The chunks of one section, or of several that were merged.
pub(super) struct Group {
    pub(super) pieces: Vec<Piece>,
    /// Whether the limit forced a split, also if only one piece came of it.
    pub(super) split: bool,
    /// What the pieces hold.
    pub(super) kind: Kind,
}

impl Group {
    /// A section that is one chunk.
    pub(super) fn whole(piece: Piece) -> Self {
        Self { pieces: vec![piece], split: false, kind: Kind::Text }
    }

    /// A section that was split.
    pub(super) fn split(pieces: Vec<Piece>) -> Self {
        Self { pieces, split: true, kind: Kind::Text }
    }

    /// The pieces of a document that is cut without regard to sections.
    pub(super) fn document(pieces: Vec<Piece>) -> Vec<Self> {
        if pieces.is_empty() { Vec::new() } else { vec![Self { split: pieces.len() > 1, pieces, kind: Kind::Text }] }
    }

    /// The same with another kind.
    pub(super) fn of(self, kind: Kind) -> Self {
        Self { kind, ..self }
    }
}

/// What becomes one chunk.
#[derive(Debug)]
pub(super) struct Piece {
    pub(super) range: Range<usize>,
    pub(super) prefix: String,
    pub(super) has_overlap: bool,
    pub(super) flags: Vec<&'static str>,
    pub(super) boundary: Boundary,
}

impl Piece {
    /// A piece without prefix or flags.
    pub(super) fn plain(range: Range<usize>, boundary: Boundary) -> Self {
        Self { range, prefix: String::new(), has_overlap: false, flags: Vec::new(), boundary }
    }
}

/// Packs ranges of one document.
pub(super) struct Packer<'a> {
    pub(super) document: &'a Document,
    pub(super) spec: &'a Spec,
    pub(super) sizer: Sizer<'a>,
    pub(super) ruler: &'a Ruler<'a>,
}

/// A run of sibling blocks that is kept together if it fits, or a sentence of a block that did not.
struct Unit {
    range: Range<usize>,
    blocks: Range<usize>,
    /// Whether it is a sentence, which is never cut.
    sentence: bool,
    /// Whether it starts inside a list item, which is then over the maximum.
    inside_item: bool,
    /// How a chunk that starts here is said to start.
    boundary: Boundary,
}

impl Packer<'_> {
    /// Whether prefix and range together are within the maximum.
    pub(super) fn fits(&self, prefix: &str, range: Range<usize>) -> Result<bool> {
        self.within(self.spec.max(), prefix, range)
    }

    fn within(&self, limit: usize, prefix: &str, range: Range<usize>) -> Result<bool> {
        let own = self.ruler.size(range.clone())?;
        if prefix.is_empty() {
            return Ok(own <= limit);
        }
        let sum = own + self.sizer.size(prefix)?;
        if sum.abs_diff(limit) > JOIN_SLACK {
            return Ok(sum <= limit);
        }
        Ok(self.ruler.size_after(prefix, range)? <= limit)
    }

    /// A range as one chunk if it fits, else packed by [`fill`](Self::fill).
    pub(super) fn whole_or_filled(&self, range: Range<usize>, boundary: Boundary) -> Result<Group> {
        if self.fits("", range.clone())? {
            return Ok(Group::whole(Piece::plain(range, boundary)));
        }
        Ok(Group::split(self.fill(&range, boundary, &|_| String::new())?))
    }

    /// A range as one chunk if it fits, else cut by [`windows`](Self::windows).
    pub(super) fn whole_or_windows(&self, range: Range<usize>, boundary: Boundary) -> Result<Group> {
        if self.fits("", range.clone())? {
            return Ok(Group::whole(Piece::plain(range, boundary)));
        }
        Ok(Group::split(self.windows(&range, boundary)?))
    }

    /// Packs a range into pieces of whole blocks, each as full as the target allows.
    ///
    /// Cuts are made between paragraphs that a blank line separates; where such a paragraph is over
    /// the maximum by itself, between its blocks (the items of a list, say); where such a block is,
    /// between the blocks inside it or, with a strategy that cuts between sentences, between those
    /// of a paragraph. What has nothing inside is never cut, but becomes a piece of its own and is
    /// flagged. A piece starts with the `headers` for the offset at which its source starts; each
    /// but the first goes on with the end of the piece before, unless a block would then no longer
    /// fit.
    pub(super) fn fill(
        &self,
        range: &Range<usize>,
        boundary: Boundary,
        headers: &dyn Fn(usize) -> String,
    ) -> Result<Vec<Piece>> {
        let mut pieces: Vec<Piece> = Vec::new();
        let mut open = Piece { prefix: headers(range.start), ..Piece::plain(range.start..range.start, boundary) };
        let mut units = self.paragraphs(range);
        units.reverse();
        while let Some(unit) = units.pop() {
            // A piece that is still empty already is the fresh one, and can only lose its overlap.
            let empty = open.range.is_empty();
            let limit = if empty { self.spec.max() } else { self.spec.target() };
            if self.within(limit, &open.prefix, trim(&self.document.text, open.range.start..unit.range.end))? {
                open.range.end = unit.range.end;
                continue;
            }
            let bare = headers(unit.range.start);
            let fresh = if empty { open.prefix.clone() } else { self.overlap(&open, &bare)? };
            let alone = trim(&self.document.text, unit.range.clone());
            let prefix = if !empty && self.fits(&fresh, alone.clone())? {
                Some(fresh)
            } else if fresh != bare && self.fits(&bare, alone.clone())? {
                Some(bare.clone())
            } else {
                None
            };
            let next = |prefix: String| Piece {
                has_overlap: prefix.len() > bare.len(),
                prefix,
                ..Piece::plain(unit.range.clone(), if empty { open.boundary } else { unit.boundary })
            };
            if let Some(prefix) = prefix {
                let mut next = next(prefix);
                if unit.inside_item && !empty {
                    // The item is over the maximum, and here it is cut: both sides say so.
                    flag(&mut open, CUT_ITEM);
                    flag(&mut next, CUT_ITEM);
                }
                self.finish(&mut pieces, std::mem::replace(&mut open, next));
                continue;
            }
            let children = self.children(&unit);
            if !children.is_empty() {
                units.extend(children.into_iter().rev());
                continue;
            }
            // One block, alone and without headers, is as small as it gets.
            let mut oversized = next(String::new());
            if !self.fits("", alone)? {
                let kind = self.document.blocks[unit.blocks.start].kind;
                flag(&mut oversized, if unit.sentence { "oversized_sentence" } else { kind.oversized() });
            }
            if unit.inside_item {
                flag(&mut open, CUT_ITEM);
                flag(&mut oversized, CUT_ITEM);
            }
            self.finish(&mut pieces, open);
            let after = unit.range.end..unit.range.end;
            let bare = headers(after.start);
            let prefix = self.overlap(&oversized, &bare)?;
            let boundary = units.last().map_or(Boundary::BlankLine, |unit| unit.boundary);
            self.finish(&mut pieces, oversized);
            open = Piece { has_overlap: prefix.len() > bare.len(), prefix, ..Piece::plain(after, boundary) };
            if units.last().is_some_and(|unit| unit.inside_item) {
                flag(&mut open, CUT_ITEM);
            }
        }
        self.finish(&mut pieces, open);
        self.merge_last(&mut pieces)?;
        Ok(pieces)
    }

    /// A last piece under the minimum joins the one before where both together are within the
    /// maximum: with a target below it there can be room.
    fn merge_last(&self, pieces: &mut Vec<Piece>) -> Result<()> {
        if let [.., before, last] = pieces.as_slice()
            && before.flags.is_empty()
            && last.flags.is_empty()
            && self.ruler.size(last.range.clone())? < self.spec.min()
            && self.fits(&before.prefix, before.range.start..last.range.end)?
        {
            let end = last.range.end;
            pieces.pop();
            if let Some(before) = pieces.last_mut() {
                before.range.end = end;
            }
        }
        Ok(())
    }

    fn finish(&self, pieces: &mut Vec<Piece>, mut piece: Piece) {
        piece.range = trim(&self.document.text, piece.range);
        if !piece.range.is_empty() {
            pieces.push(piece);
        }
    }

    /// The prefix of the piece after this one: headers, then the end of this one's content.
    fn overlap(&self, piece: &Piece, headers: &str) -> Result<String> {
        if self.spec.overlap() == 0 {
            return Ok(headers.to_owned());
        }
        let range = trim(&self.document.text, piece.range.clone());
        let content = format!("{}{}", piece.prefix, &self.document.text[range]);
        let tail = self.sizer.suffix(&content, self.spec.overlap())?;
        Ok(format!("{headers}{tail}{SEPARATOR}"))
    }

    /// The top-level blocks of a range, grouped where no blank line separates them. A heading is
    /// grouped with what follows it.
    fn paragraphs(&self, range: &Range<usize>) -> Vec<Unit> {
        let blocks = &self.document.blocks;
        // A block may start before the range does: on a line that is blank to Unicode, not to markdown.
        let mut first = blocks.partition_point(|block| block.range.start < range.start);
        if let Some(block) = self.document.top_level_block_before(first)
            && blocks[block].range.end > range.start
        {
            first = block;
        }
        let mut units: Vec<Unit> = Vec::new();
        let mut index = first;
        let mut heading = false;
        while index < blocks.len() && blocks[index].range.start < range.end {
            let Block { range: at, next, .. } = &blocks[index];
            match units.last_mut() {
                Some(unit) if heading || !blank_line_before(&self.document.text[unit.range.start..at.start]) => {
                    unit.blocks.end = *next;
                }
                _ => units.push(Unit::block(at.start..range.end, index..*next, Boundary::BlankLine)),
            }
            heading = matches!(blocks[index].kind, BlockKind::Heading(_));
            index = *next;
        }
        close_gaps(&mut units, range.clone());
        units
    }

    /// What a unit that is too large may be cut into; nothing if it is one block with none inside.
    fn children(&self, unit: &Unit) -> Vec<Unit> {
        if unit.sentence {
            return Vec::new();
        }
        let blocks = &self.document.blocks;
        let mut outer = unit.blocks.start;
        // A container around one block that starts and ends with it offers no cut of its own. Such
        // chains can be long (`>>>>…`), so they are walked here, without measuring each level.
        while blocks[outer].next == unit.blocks.end
            && outer + 1 < unit.blocks.end
            && blocks[outer + 1].next == unit.blocks.end
            && blocks[outer + 1].range.start == blocks[outer].range.start
        {
            outer += 1;
        }
        let siblings = blocks[outer].next < unit.blocks.end;
        let mut index = if siblings { outer } else { outer + 1 };
        let mut units: Vec<Unit> = Vec::new();
        if !siblings && index < unit.blocks.end {
            // A container's own text, before the first block inside it, is a unit if it has lines
            // of its own.
            let head = &self.document.text[unit.range.start..blocks[index].range.start];
            if head.contains('\n') {
                let range = unit.range.start..blocks[index].range.start;
                units.push(Unit::block(range, outer..outer + 1, Boundary::Block));
            }
        }
        while index < unit.blocks.end {
            // A heading stays with the block after it, unless these two are all there is.
            let is_heading = |block: &Block| matches!(block.kind, BlockKind::Heading(_));
            let mut next = blocks[index].next;
            let after = blocks[..unit.blocks.end].get(next).filter(|after| !is_heading(after));
            if let Some(after) =
                after.filter(|after| siblings && is_heading(&blocks[index]) && (index..after.next) != unit.blocks)
            {
                next = after.next;
            }
            units.push(Unit::block(blocks[index].range.clone(), index..next, Boundary::Block));
            index = next;
        }
        if units.is_empty() && self.spec.strategy() == Strategy::Section && blocks[outer].kind == BlockKind::Paragraph {
            units = self.sentences(unit);
        }
        close_gaps(&mut units, unit.range.clone());
        let item = !siblings && blocks[unit.blocks.start..=outer].iter().any(|b| b.kind == BlockKind::ListItem);
        for (at, child) in units.iter_mut().enumerate() {
            child.inside_item = unit.inside_item || (item && at > 0);
        }
        if let Some(first) = units.first_mut() {
            first.boundary = unit.boundary;
        }
        units
    }

    /// The sentences of a paragraph, by Unicode's rules (UAX #29), except that the end of a line ends
    /// none and that none ends inside a link; nothing if it is one sentence.
    fn sentences(&self, unit: &Unit) -> Vec<Unit> {
        let one_line = self.document.text[unit.range.clone()].replace(['\n', '\r'], " ");
        let links = &self.document.links;
        let inside_link = |at: usize| {
            let before = links.partition_point(|link| link.range.start < at);
            before > 0 && at < links[before - 1].range.end
        };
        let starts = one_line.split_sentence_bound_indices().map(|(at, _)| unit.range.start + at);
        let starts: Vec<usize> = starts.filter(|&at| !inside_link(at)).collect();
        if starts.len() < 2 {
            return Vec::new();
        }
        let sentence = |start: usize| Unit {
            sentence: true,
            ..Unit::block(start..unit.range.end, unit.blocks.clone(), Boundary::Sentence)
        };
        starts.into_iter().map(sentence).collect()
    }

    /// Cuts a range into windows of exactly the target that overlap by exactly the overlap. What
    /// is left at the end is one window if it is within the maximum. With `fixed`, a code block or
    /// table counts as one atom: no window ends inside, and one over the maximum is flagged.
    pub(super) fn windows(&self, range: &Range<usize>, boundary: Boundary) -> Result<Vec<Piece>> {
        let text = &self.document.text;
        let (target, max) = (self.spec.target(), self.spec.max());
        let mut ends = self.ruler.atoms(range)?;
        let whole = if self.spec.strategy() == Strategy::Fixed { self.uncuttable(range) } else { Vec::new() };
        let block_before = |at: usize| whole[..whole.partition_point(|(block, _)| block.start < at)].last();
        ends.retain(|&end| end == range.end || block_before(end).is_none_or(|(block, _)| end >= block.end));
        let width = self.ruler.most_atoms_in(target).max(1);
        let overlap = self.ruler.atoms_in(self.spec.overlap()).min(width - 1);
        let at = |atom: usize| if atom == 0 { range.start } else { ends[atom - 1] };
        let mut pieces: Vec<Piece> = Vec::new();
        // Windows are runs of atoms `first..last`; `done` is where the one before ended.
        let (mut first, mut done) = (0, 0);
        while done < ends.len() {
            let rest = ends.len() - first <= self.ruler.most_atoms_in(max);
            let mut last = if rest && self.ruler.size(at(first)..range.end)? <= max {
                ends.len()
            } else {
                let most = (first + width).min(ends.len());
                furthest(done + 1, most, |last| Ok(self.ruler.size(at(first)..at(last))? <= target))?
            };
            while last < ends.len() && at(last) <= at(done) {
                last += 1;
            }
            let mut start = at(first);
            let mut flags = Vec::new();
            if self.ruler.size(start..at(last))? > max {
                start = at(done);
                if self.ruler.size(start..at(last))? > max {
                    let block = block_before(at(last)).filter(|(block, _)| start < block.end);
                    flags.push(block.map_or("oversized_character", |(_, kind)| kind.oversized()));
                }
            }
            let core = at(done)..at(last);
            if pieces.is_empty() {
                start = core.start;
            }
            // A window of white space and of what the one before already holds says nothing.
            if !is_blank(&text[core.clone()]) {
                pieces.push(Piece {
                    prefix: text[start..core.start].to_owned(),
                    has_overlap: start < core.start,
                    flags,
                    boundary: if pieces.is_empty() { boundary } else { Boundary::Limit },
                    range: core,
                });
            }
            done = last;
            first = last.saturating_sub(overlap);
            // A block in the overlap can be larger than all of it should be.
            while !whole.is_empty() && first < last && self.ruler.size(at(first)..at(last))? > self.spec.overlap() {
                first += 1;
            }
        }
        Ok(pieces)
    }

    /// The code blocks and tables at the top level of a range, without white space at their ends.
    fn uncuttable(&self, range: &Range<usize>) -> Vec<(Range<usize>, BlockKind)> {
        let blocks = &self.document.blocks;
        let first = blocks.partition_point(|block| block.range.start < range.start);
        let first = self.document.top_level_block_before(first + 1).unwrap_or(first);
        let next = |block: &&Block| blocks.get(block.next);
        let inside = std::iter::successors(blocks.get(first), next).take_while(|block| block.range.start < range.end);
        let whole = inside.filter(|block| matches!(block.kind, BlockKind::Code | BlockKind::Table));
        whole.map(|block| (trim(&self.document.text, block.range.clone()), block.kind)).collect()
    }
}

impl Unit {
    fn block(range: Range<usize>, blocks: Range<usize>, boundary: Boundary) -> Self {
        Self { range, blocks, sentence: false, inside_item: false, boundary }
    }
}

/// The flag of chunks that hold only part of a list item.
const CUT_ITEM: &str = BlockKind::ListItem.oversized();

fn flag(piece: &mut Piece, flag: &'static str) {
    if !piece.flags.contains(&flag) {
        piece.flags.push(flag);
    }
}

/// The largest number of `least..=most` that passes, for a test that the smaller pass if the larger
/// do; `least` if none does. It is looked for from above, because it is mostly there.
fn furthest(least: usize, most: usize, passes: impl Fn(usize) -> Result<bool>) -> Result<usize> {
    let (mut bad, mut step) = (most, 1);
    if most <= least || passes(most)? {
        return Ok(most.max(least));
    }
    let mut good = loop {
        let next = bad.saturating_sub(step).max(least);
        if next == least || passes(next)? {
            break next;
        }
        (bad, step) = (next, step * 2);
    };
    while bad - good > 1 {
        let middle = usize::midpoint(good, bad);
        if passes(middle)? { good = middle } else { bad = middle }
    }
    Ok(good)
}

/// Makes the units follow each other without a gap from the start of `range` to its end.
fn close_gaps(units: &mut [Unit], range: Range<usize>) {
    let mut end = range.end;
    for unit in units.iter_mut().rev() {
        unit.range.end = end;
        end = unit.range.start;
    }
    if let Some(first) = units.first_mut() {
        first.range.start = range.start;
    }
}

/// Whether the line before the end of a text is blank.
fn blank_line_before(text: &str) -> bool {
    let Some(line_end) = text.strip_suffix('\n') else { return false };
    let line = line_end.rsplit('\n').next().unwrap_or(line_end);
    is_blank(line)
}
