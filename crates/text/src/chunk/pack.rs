//! Packing: the one place where sizes and overlap are enforced.
//!
//! A strategy chooses the range to pack and the boundary it starts with. [`Packer::fill`] packs whole blocks and
//! never cuts one that fits; [`Packer::windows`] cuts exactly at the limit. Sizes count the whole content: prefix,
//! source and suffix.

use std::ops::Range;

use chunkmill_base::error::Result;

use super::fragment::{Fragment, Grain};
use super::packer::{Packer, furthest};
use super::piece::{Boundary, Group, Piece};
use super::repeats::Repeats;
use super::strategy::{Strategy, Switch};
use crate::document::{Block, BlockKind, is_blank, trim};

/// A block that no window cuts.
struct Whole {
    /// The block with the headings that stay with it.
    range: Range<usize>,
    /// The block alone.
    block: Range<usize>,
    kind: BlockKind,
}

impl Packer<'_> {
    /// Returns a range as one chunk if it fits, otherwise packed by [`fill`](Self::fill).
    pub(super) fn whole_or_filled(&self, range: Range<usize>, boundary: Boundary) -> Result<Group> {
        if self.fits(range.clone())? {
            return Ok(Group::whole(Piece::plain(range, boundary)));
        }
        Ok(Group::split(self.fill(&range, boundary, &|_| Vec::new())?))
    }

    /// Returns a range as one chunk if it fits, otherwise cut by [`windows`](Self::windows).
    pub(super) fn whole_or_windows(&self, range: Range<usize>, boundary: Boundary) -> Result<Group> {
        if self.fits(range.clone())? {
            return Ok(Group::whole(Piece::plain(range, boundary)));
        }
        Ok(Group::split(self.windows(&range, boundary)?))
    }

    /// Packs a range into pieces of whole blocks, each as full as the target allows.
    ///
    /// Cuts are made between paragraphs that a blank line separates. If a paragraph is over the maximum by itself,
    /// it is cut between its blocks (for example, list items). If one of these blocks is over the maximum, it is
    /// cut between the blocks inside it or, with a strategy that cuts between sentences, between the sentences of
    /// a paragraph. A block with nothing inside is cut only if `cut_oversized` is on; otherwise it becomes a
    /// separate piece with a flag. A piece starts with the `headings` for the offset of its source. Each piece
    /// except the first continues with the end of the previous one, unless a block would then no longer fit. With
    /// `header`, whose design adds the overlap after the cut, that block is flagged rather than left without it.
    pub(super) fn fill(
        &self,
        range: &Range<usize>,
        boundary: Boundary,
        headings: &dyn Fn(usize) -> Vec<usize>,
    ) -> Result<Vec<Piece>> {
        let text = &self.document.text;
        // Text that is cut has room for its overlap.
        let keeps_overlap = self.spec.strategy() == Strategy::Header && !self.spec.is_on(Switch::CutOversized);
        let mut pieces: Vec<Piece> = Vec::new();
        let under = |start: usize| Repeats { headings: headings(start), ..Repeats::default() };
        let mut open = Piece { repeats: under(range.start), ..Piece::plain(range.start..range.start, boundary) };
        let mut units = self.paragraphs(range)?;
        units.reverse();
        while let Some(unit) = units.pop() {
            // A piece that is still empty is already the fresh one, and can only lose its overlap.
            let empty = open.range.is_empty();
            let limit = if empty { self.spec.max() } else { self.spec.target() };
            let alone = trim(text, unit.range.clone());
            let (opening, closing) = (unit.wrap.opening(alone.start).0, unit.wrap.closing(alone.end).0);
            let joined = trim(text, open.range.start..unit.range.end);
            let repeats = Repeats { closing: closing.clone(), ..open.repeats.clone() };
            if self.within(limit, &repeats, joined)? {
                open.range.end = unit.range.end;
                open.repeats = repeats;
                continue;
            }
            let wrapped = Repeats { opening, closing, ..Repeats::default() };
            let bare = Repeats { headings: headings(unit.range.start), ..wrapped.clone() };
            let fresh = if empty {
                repeats
            } else if wrapped.opening.is_empty() {
                self.overlapping(&open, bare.clone())?
            } else {
                bare.clone()
            };
            let fits = |repeats: &Repeats| self.within(self.spec.max(), repeats, alone.clone());
            // Where there is no room for both, the overlap without headings.
            let tail = Some(Repeats { headings: Vec::new(), ..fresh.clone() });
            let tail = tail.filter(|tail| keeps_overlap && tail.overlap.is_some());
            let fitting = if !empty && fits(&fresh)? {
                Some(&fresh)
            } else if let Some(tail) = &tail {
                fits(tail)?.then_some(tail)
            } else if fresh != bare && fits(&bare)? {
                Some(&bare)
            } else {
                None
            };
            let next = |repeats: &Repeats| Piece {
                repeats: repeats.clone(),
                ..Piece::plain(unit.range.clone(), if empty { open.boundary } else { unit.boundary })
            };
            if let Some(repeats) = fitting {
                let mut next = next(repeats);
                if unit.inside_item && !empty {
                    // The item is over the maximum and is cut here, so both sides are flagged.
                    flag(&mut open, CUT_ITEM);
                    flag(&mut next, CUT_ITEM);
                }
                self.finish(&mut pieces, std::mem::replace(&mut open, next));
                continue;
            }
            let finer = self.finer(&unit, self.spec.max())?;
            if !finer.is_empty() {
                units.extend(finer.into_iter().rev());
                continue;
            }
            // Alone and without headings it is as small as it gets.
            let mut oversized = next(&wrapped);
            if !fits(&wrapped)? {
                oversized.repeats = Repeats::default();
                if !self.fits(alone.clone())? {
                    if keeps_overlap {
                        // Leaving anything out would not make it fit.
                        oversized = next(&fresh);
                    }
                    flag(&mut oversized, self.oversized(&unit)?);
                }
            } else if let Some(tail) = &tail {
                oversized = next(tail);
                flag(&mut oversized, WITH_OVERLAP);
            }
            if unit.inside_item {
                flag(&mut open, CUT_ITEM);
                flag(&mut oversized, CUT_ITEM);
            }
            self.finish(&mut pieces, open);
            let after = unit.range.end..unit.range.end;
            let repeats = self.overlapping(&oversized, under(after.start))?;
            let boundary = units.last().map_or(Boundary::BlankLine, |unit| unit.boundary);
            self.finish(&mut pieces, oversized);
            open = Piece { repeats, ..Piece::plain(after, boundary) };
            if units.last().is_some_and(|unit| unit.inside_item) {
                flag(&mut open, CUT_ITEM);
            }
        }
        self.finish(&mut pieces, open);
        self.merge_last(&mut pieces)?;
        Ok(pieces)
    }

    /// Returns the flag of a unit that is over the maximum and cannot be cut.
    pub(super) fn oversized(&self, unit: &Fragment) -> Result<&'static str> {
        Ok(match unit.grain {
            Grain::Sentence => "oversized_sentence",
            Grain::Word => OVERSIZED_CHARACTER,
            Grain::Block | Grain::Group | Grain::Line => {
                let body = self.under_headings(unit)?;
                if let Some(body) = &body
                    && self.fits(trim(&self.document.text, body.range.clone()))?
                {
                    return Ok(WITH_HEADINGS);
                }
                let body = body.map_or(unit.blocks.start, |body| body.blocks.start);
                self.document.blocks.get(body).map_or(OVERSIZED_CHARACTER, |block| block.kind.oversized())
            }
        })
    }

    /// Merges a last piece under the minimum into the previous one, if both together are within the maximum. There
    /// can be room if the target is below the maximum.
    fn merge_last(&self, pieces: &mut Vec<Piece>) -> Result<()> {
        let [.., before, last] = pieces.as_mut_slice() else { return Ok(()) };
        let small =
            before.flags.is_empty() && last.flags.is_empty() && self.ruler.size(last.range.clone())? < self.spec.min();
        let repeats = Repeats { closing: last.repeats.closing.clone(), ..before.repeats.clone() };
        if small && self.within(self.spec.max(), &repeats, before.range.start..last.range.end)? {
            (before.range.end, before.repeats) = (last.range.end, repeats);
            pieces.pop();
        }
        Ok(())
    }

    /// Returns a piece if there is room for it.
    pub(super) fn counted(&self, piece: Piece) -> Option<Piece> {
        self.budget.take(piece.bytes()).then_some(piece)
    }

    fn finish(&self, pieces: &mut Vec<Piece>, mut piece: Piece) {
        piece.range = trim(&self.document.text, piece.range);
        if !piece.range.is_empty() {
            pieces.extend(self.counted(piece));
        }
    }

    /// Returns what the next piece repeats: these headings, then the end of this piece's own text.
    fn overlapping(&self, piece: &Piece, repeats: Repeats) -> Result<Repeats> {
        let range = trim(&self.document.text, piece.range.clone());
        // A blank piece has nothing to repeat.
        if self.spec.overlap() == 0 || range.is_empty() {
            return Ok(repeats);
        }
        let start = if self.spec.is_on(Switch::SentenceOverlap) {
            self.sentences_before(range.clone())?
        } else {
            range.end - self.sizer.suffix(&self.document.text[range.clone()], self.spec.overlap())?.len()
        };
        Ok(Repeats { overlap: (start < range.end).then_some(start..range.end), ..repeats })
    }

    /// Cuts a range into windows of exactly the target size that overlap by exactly the overlap. The rest at the
    /// end is one window if it is within the maximum. With `fixed`, a code block or table counts as one atom: no
    /// window ends inside it, and one over the maximum is flagged.
    pub(super) fn windows(&self, range: &Range<usize>, boundary: Boundary) -> Result<Vec<Piece>> {
        let text = &self.document.text;
        let (target, max) = (self.spec.target(), self.spec.max());
        let mut ends = self.ruler.atoms(range)?;
        let whole = if self.spec.strategy() == Strategy::Fixed { self.uncuttable(range) } else { Vec::new() };
        let block_before = |at: usize| whole[..whole.partition_point(|whole| whole.range.start < at)].last();
        ends.retain(|&end| end == range.end || block_before(end).is_none_or(|whole| end >= whole.range.end));
        let width = self.ruler.most_atoms_in(target).max(1);
        let overlap = self.ruler.atoms_in(self.spec.overlap()).min(width - 1);
        let at = |atom: usize| if atom == 0 { range.start } else { ends[atom - 1] };
        let mut pieces: Vec<Piece> = Vec::new();
        // Windows are runs of atoms `first..last`; `done` is where the previous one ended.
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
                    let block = block_before(at(last)).filter(|whole| start < whole.range.end);
                    flags.push(match block {
                        Some(whole) if self.fits(whole.block.clone())? => WITH_HEADINGS,
                        Some(whole) => whole.kind.oversized(),
                        None => OVERSIZED_CHARACTER,
                    });
                }
            }
            let core = at(done)..at(last);
            if pieces.is_empty() {
                start = core.start;
            }
            // A window that adds only white space to the previous one is left out.
            if !is_blank(&text[core.clone()]) {
                // The source starts on the line of its first text; blank lines before it go with the overlap.
                let source = trim(text, core.clone()).start..core.end;
                let overlap = (start < core.start).then_some(start..source.start);
                let piece = Piece {
                    repeats: Repeats { overlap, ..Repeats::default() },
                    flags,
                    boundary: if pieces.is_empty() { boundary } else { Boundary::Limit },
                    range: source,
                };
                pieces.extend(self.counted(piece));
            }
            done = last;
            first = last.saturating_sub(overlap);
            // A block in the overlap can be larger than the whole overlap may be.
            while !whole.is_empty() && first < last && self.ruler.size(at(first)..at(last))? > self.spec.overlap() {
                first += 1;
            }
        }
        Ok(pieces)
    }

    /// Returns the code blocks and tables at the top level of a range, with the headings above them and without
    /// white space at their ends. Headings at the end of the range are in one piece with the text before them.
    fn uncuttable(&self, range: &Range<usize>) -> Vec<Whole> {
        let (text, blocks) = (&self.document.text, &self.document.blocks);
        let first = blocks.partition_point(|block| block.range.start < range.start);
        let first = self.document.top_level_block_before(first + 1).unwrap_or(first);
        let next = |block: &&Block| blocks.get(block.next);
        let inside = std::iter::successors(blocks.get(first), next).take_while(|block| block.range.start < range.end);
        let mut whole: Vec<Whole> = Vec::new();
        let mut headings = None;
        for block in inside {
            let own = trim(text, block.range.clone());
            if block.is_heading() {
                headings.get_or_insert(own.start);
                continue;
            }
            let start = headings.take().unwrap_or(own.start);
            if matches!(block.kind, BlockKind::Code | BlockKind::Table) {
                whole.push(Whole { range: start..own.end, block: own, kind: block.kind });
            }
        }
        let headings = headings.map(|start| start.max(range.start)..range.end);
        let before = headings.as_ref().map(|headings| trim(text, range.start..headings.start));
        if let (Some(before), Some(block)) = (before.filter(|before| !before.is_empty()), headings) {
            match whole.last_mut().filter(|last| last.range.end == before.end) {
                Some(last) => last.range.end = range.end,
                None => whole.push(Whole { range: before.end - 1..range.end, block, kind: BlockKind::Heading(1) }),
            }
        }
        whole
    }
}

/// Flag of chunks that contain only part of a list item.
const CUT_ITEM: &str = BlockKind::ListItem.oversized();

/// Flag of a block that is within the maximum, but not together with its headings.
const WITH_HEADINGS: &str = "oversized_with_headings";

/// Flag of a block that is within the maximum, but not together with the end of the previous chunk.
const WITH_OVERLAP: &str = "oversized_with_overlap";

/// Flag of a chunk of one character that is over the maximum by itself.
pub(super) const OVERSIZED_CHARACTER: &str = "oversized_character";

fn flag(piece: &mut Piece, flag: &'static str) {
    if !piece.flags.contains(&flag) {
        piece.flags.push(flag);
    }
}
