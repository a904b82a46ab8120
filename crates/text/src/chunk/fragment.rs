//! The units that text is cut into: paragraphs into blocks, blocks into those inside them and, if a spec wants no
//! block to be over the maximum, these into rows, lines, sentences and words.
//!
//! The rows of a table say little without its header, and lines of code say little without the fence that marks
//! them as code. Pieces that are cut out of either therefore have a [`Wrap`]: the lines that a chunk repeats
//! before and after them.

use std::ops::Range;
use std::rc::Rc;

use chunkmill_base::error::Result;
use unicode_segmentation::GraphemeCursor;

use super::packer::Packer;
use super::piece::Boundary;
use super::sentence::sentence_starts;
use super::strategy::{Strategy, Switch};
use crate::document::{Block, BlockKind, Link, fence, inside_containers, is_blank, line, trim};

/// Lines and sentences are joined to at least 1/`FINEST` of the maximum before they are offered as units: a cut
/// need not be finer.
const FINEST: usize = 16;

/// Largest number of lines or sentences that are offered at once. If there are more, groups of this many are
/// offered first: a document can have one for every few bytes.
const MOST_AT_ONCE: usize = 4096;

/// Pieces of a table or a fence repeat its lines only if these take at most 1/`MOST_REPEATED` of the maximum.
const MOST_REPEATED: usize = 2;

/// Headings belong to a block if they take at most 1/`MOST_HEADINGS` of the maximum: a long run of headings
/// without text does not become one unit with the block after it.
const MOST_HEADINGS: usize = 2;

/// A run of text that is kept together if it fits.
#[derive(Clone)]
pub(super) struct Fragment {
    pub(super) range: Range<usize>,
    /// The blocks in it or, if it is finer than a block, that block.
    pub(super) blocks: Range<usize>,
    pub(super) grain: Grain,
    /// Whether it starts inside a list item, which is then over the maximum.
    pub(super) inside_item: bool,
    /// The boundary of a chunk that starts here.
    pub(super) boundary: Boundary,
    /// The lines that a chunk repeats if it is cut here.
    pub(super) wrap: Wrap,
}

/// The granularity of a unit.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Grain {
    /// Whole blocks.
    Block,
    /// Very many lines or sentences of a block.
    Group,
    /// Rows or lines of a block.
    Line,
    /// Sentences of a block.
    Sentence,
    /// Part of a line or sentence.
    Word,
}

/// The lines that every piece of a table or a fence repeats, if there are any. All its pieces share them.
#[derive(Clone, Default)]
pub(super) struct Wrap(Option<Rc<RepeatedLines>>);

/// The lines repeated before and after a piece, and their sizes.
struct RepeatedLines {
    before: Range<usize>,
    after: Range<usize>,
    sizes: [usize; 2],
}

impl Wrap {
    /// Returns the lines that a piece starting at `start` repeats before its text, and their size.
    pub(super) fn opening(&self, start: usize) -> (Range<usize>, usize) {
        let here = self.0.as_ref().filter(|lines| start >= lines.before.end);
        here.map_or((0..0, 0), |lines| (lines.before.clone(), lines.sizes[0]))
    }

    /// Returns the lines that a piece ending at `end` repeats after its text, and their size.
    pub(super) fn closing(&self, end: usize) -> (Range<usize>, usize) {
        let here = self.0.as_ref().filter(|lines| end <= lines.after.start);
        here.map_or((0..0, 0), |lines| (lines.after.clone(), lines.sizes[1]))
    }

    /// Returns the size of all lines that a piece can repeat.
    fn size(&self) -> usize {
        self.0.as_ref().map_or(0, |lines| lines.sizes.iter().sum())
    }

    /// Returns the end of the text that is repeated before a piece.
    fn start(&self) -> usize {
        self.0.as_ref().map_or(0, |lines| lines.before.end)
    }

    /// Returns the start of the text that is repeated after a piece, if there is any.
    fn end(&self) -> Option<usize> {
        self.0.as_ref().filter(|lines| !lines.after.is_empty()).map(|lines| lines.after.start)
    }
}

impl Fragment {
    pub(super) fn block(range: Range<usize>, blocks: Range<usize>, boundary: Boundary) -> Self {
        Self { range, blocks, grain: Grain::Block, inside_item: false, boundary, wrap: Wrap::default() }
    }
}

impl Packer<'_> {
    /// Returns the top-level blocks of a range, grouped where no blank line separates them. A heading is grouped
    /// with what follows it, and headings at the end with what precedes them.
    pub(super) fn paragraphs(&self, range: &Range<usize>) -> Result<Vec<Fragment>> {
        let blocks = &self.document.blocks;
        // A block may start before the range: on a line that is blank in Unicode but not in Markdown.
        let mut first = blocks.partition_point(|block| block.range.start < range.start);
        if let Some(block) = self.document.top_level_block_before(first)
            && blocks[block].range.end > range.start
        {
            first = block;
        }
        let mut units: Vec<Fragment> = Vec::new();
        let mut index = first;
        let mut heading = false;
        while index < blocks.len() && blocks[index].range.start < range.end {
            let Block { range: at, next, .. } = &blocks[index];
            match units.last_mut() {
                Some(unit) if heading || !blank_line_before(&self.document.text[unit.range.start..at.start]) => {
                    unit.blocks.end = *next;
                }
                _ => units.push(Fragment::block(at.start..range.end, index..*next, Boundary::BlankLine)),
            }
            heading = blocks[index].is_heading();
            index = *next;
        }
        close_gaps(&mut units, range.clone());
        if let [.., before, last] = units.as_mut_slice()
            && blocks[last.blocks.clone()].iter().all(Block::is_heading)
            && self.belong(last.range.clone())?
        {
            (before.range.end, before.blocks.end) = (last.range.end, last.blocks.end);
            units.pop();
        }
        Ok(units)
    }

    /// Returns whether headings are short enough to belong to the block next to them.
    pub(super) fn belong(&self, headings: Range<usize>) -> Result<bool> {
        Ok(self.ruler.size(trim(&self.document.text, headings))? <= self.spec.max() / MOST_HEADINGS)
    }

    /// Returns the block of a unit that its headings belong to; `None` if it has no headings, if they are too
    /// long, or if it has several other blocks.
    pub(super) fn under_headings(&self, unit: &Fragment) -> Result<Option<Fragment>> {
        let blocks = &self.document.blocks[..unit.blocks.end];
        let next = |&at: &usize| blocks.get(at).map(|block| block.next);
        let row = std::iter::successors(Some(unit.blocks.start), next).take_while(|at| *at < blocks.len());
        let mut others = row.filter(|at| !blocks[*at].is_heading());
        let (Some(at), None) = (others.next(), others.next()) else { return Ok(None) };
        let next = blocks[at].next.min(blocks.len());
        let end = blocks.get(next).map_or(unit.range.end, |heading| heading.range.start);
        let range = blocks[at].range.start.max(unit.range.start)..end;
        let alone = at == unit.blocks.start && next == unit.blocks.end;
        // Not from the start of the unit, which contains the marks of the blocks around them, such as those of a
        // list item.
        let first = blocks[unit.blocks.start].range.start.clamp(unit.range.start, range.start);
        let belong = !alone && self.belong(first..range.start)? && self.belong(end..unit.range.end)?;
        Ok(belong.then(|| Fragment { range, blocks: at..next, ..unit.clone() }))
    }

    /// Returns what a unit larger than `limit` may be cut into; nothing if it is as small as the spec allows.
    pub(super) fn finer(&self, unit: &Fragment, limit: usize) -> Result<Vec<Fragment>> {
        let cuts = self.spec.is_on(Switch::CutOversized);
        if !matches!(unit.grain, Grain::Block | Grain::Group) {
            return if cuts { self.words(unit, limit) } else { Ok(Vec::new()) };
        }
        if unit.grain == Grain::Block
            && let Some(body) = self.under_headings(unit)?
        {
            let above = self.ruler.size(unit.range.start..body.range.start)?;
            let below = self.ruler.size(body.range.end..unit.range.end)?;
            let mut units = self.finer(&body, limit.saturating_sub(above + below))?;
            // The headings stay with the first piece, and headings at the end with the last.
            close_gaps(&mut units, unit.range.clone());
            // Text that would fit without them is cut anyway where sizes do not quite add up.
            return if units.is_empty() && cuts { self.words(unit, limit) } else { Ok(units) };
        }
        let inner = self.innermost(unit);
        let mut units = if unit.grain == Grain::Block { self.blocks_inside(unit, inner)? } else { Vec::new() };
        if units.is_empty() {
            units = match self.document.blocks[..unit.blocks.end].get(inner).map(|block| block.kind) {
                Some(BlockKind::Paragraph) if cuts || self.spec.strategy() == Strategy::Section => self.sentences(unit),
                kind if cuts => self.lines(unit, kind)?,
                _ => units,
            };
        }
        if units.is_empty() && cuts {
            units = self.words(unit, limit)?;
        }
        let around = self.document.blocks.get(unit.blocks.start..=inner).unwrap_or_default();
        let item = !self.are_siblings(unit, inner) && around.iter().any(|block| block.kind == BlockKind::ListItem);
        for (at, child) in units.iter_mut().enumerate() {
            child.inside_item = unit.inside_item || (item && at > 0);
        }
        if let Some(first) = units.first_mut() {
            first.boundary = unit.boundary;
        }
        Ok(units)
    }

    /// Returns the first block of a unit, or the last of nested blocks that start and end together: a container
    /// around one block offers no cut of its own. Chains of these can be long (`>>>>…`), so they are walked here,
    /// without measuring each level.
    fn innermost(&self, unit: &Fragment) -> usize {
        let blocks = &self.document.blocks;
        let mut outer = unit.blocks.start;
        while outer + 1 < unit.blocks.end
            && blocks[outer].next == unit.blocks.end
            && blocks[outer + 1].next == unit.blocks.end
            && blocks[outer + 1].range.start == blocks[outer].range.start
        {
            outer += 1;
        }
        outer
    }

    /// Returns whether a unit has further blocks after this one.
    fn are_siblings(&self, unit: &Fragment, block: usize) -> bool {
        self.document.blocks[..unit.blocks.end].get(block).is_some_and(|block| block.next < unit.blocks.end)
    }

    /// Returns the blocks of a unit or, if it is one block, those inside it; nothing if there are none. Headings
    /// stay with the block they belong to.
    fn blocks_inside(&self, unit: &Fragment, outer: usize) -> Result<Vec<Fragment>> {
        let blocks = &self.document.blocks[..unit.blocks.end];
        let siblings = self.are_siblings(unit, outer);
        let mut index = if siblings { outer } else { outer + 1 };
        let mut units: Vec<Fragment> = Vec::new();
        if !siblings && index < blocks.len() {
            // A container's own text, before the first block inside it, is a unit if it has lines
            // of its own.
            let head = &self.document.text[unit.range.start..blocks[index].range.start];
            if head.contains(['\n', '\r']) {
                let range = unit.range.start..blocks[index].range.start;
                units.push(Fragment::block(range, outer..outer + 1, Boundary::Block));
            }
        }
        // Consecutive headings that no other block has followed yet.
        let mut headings: Vec<Fragment> = Vec::new();
        // Text at the end that is blank in Unicode is no longer in the range, although it may be a block.
        while let Some(block) = blocks.get(index).filter(|block| block.range.start < unit.range.end) {
            let mut child = Fragment::block(block.range.clone(), index..block.next, Boundary::Block);
            index = block.next;
            if block.is_heading() {
                headings.push(child);
                continue;
            }
            while let Some(heading) = headings.last()
                && self.belong(heading.range.start..block.range.start)?
            {
                (child.range.start, child.blocks.start) = (heading.range.start, heading.blocks.start);
                headings.pop();
            }
            units.append(&mut headings);
            units.push(child);
        }
        if let (Some(last), Some(heading)) = (units.last_mut(), headings.first())
            && self.belong(heading.range.start..unit.range.end)?
        {
            last.blocks.end = unit.blocks.end;
            headings.clear();
        }
        units.append(&mut headings);
        close_gaps(&mut units, unit.range.clone());
        // A unit that is not smaller would be cut for ever.
        let same = matches!(units.as_slice(), [only] if only.blocks == unit.blocks);
        Ok(if same { Vec::new() } else { units })
    }

    /// Returns the sentences of a paragraph, except that none ends inside a link; nothing if it is one sentence.
    fn sentences(&self, unit: &Fragment) -> Vec<Fragment> {
        units_from(unit, &self.sentence_starts(unit.range.clone()), Grain::Sentence, Boundary::Sentence)
    }

    /// Returns where the [`sentences`](Self::sentences) of a range start.
    fn sentence_starts(&self, range: Range<usize>) -> Vec<usize> {
        let others = sentence_starts(&self.document.text[range.clone()]).into_iter().map(|at| range.start + at);
        let starts = std::iter::once(range.start).chain(others);
        self.far_apart(starts.filter(|&at| self.link_around(at).is_none()))
    }

    /// Returns the link that a byte offset is inside of, if any.
    fn link_around(&self, at: usize) -> Option<&Link> {
        let links = &self.document.links;
        let before = links.partition_point(|link| link.range.start < at);
        // An image may be in a link, and nothing else in either.
        let last = &links[before.saturating_sub(2)..before];
        last.iter().find(|link| at < link.range.end)
    }

    /// Returns the start of the last sentences of a range that may be repeated after it: whole ones, of its last
    /// paragraphs and list items, as many as the overlap and half the maximum allow. Returns the end of the range
    /// if there are none.
    pub(super) fn sentences_before(&self, range: Range<usize>) -> Result<usize> {
        let limit = self.spec.overlap().min(self.spec.max() / 2);
        let blocks = &self.document.blocks;
        // The range may start inside a paragraph.
        let first = blocks.partition_point(|block| block.range.start < range.start).saturating_sub(1);
        let last = blocks.partition_point(|block| block.range.start < range.end);
        let mut start = range.end;
        for index in (first..last).rev() {
            let block = &blocks[index];
            let is_leaf = block.next == index + 1;
            if !is_leaf || block.range.end <= range.start {
                continue;
            }
            if !matches!(block.kind, BlockKind::Paragraph | BlockKind::ListItem) {
                break;
            }
            let text = block.range.start.max(range.start)..start;
            let mut starts = self.sentence_starts(text.clone());
            if starts.is_empty() {
                starts.push(text.start);
            }
            for at in starts.iter().rev() {
                if self.ruler.size(*at..range.end)? > limit {
                    return Ok(start);
                }
                start = *at;
            }
        }
        Ok(start)
    }

    /// Returns the lines of a block, with what each piece repeats if it is a table or a fence.
    fn lines(&self, unit: &Fragment, kind: Option<BlockKind>) -> Result<Vec<Fragment>> {
        let text = &self.document.text;
        let range = trim(text, unit.range.clone());
        let wrap = match kind {
            _ if unit.grain == Grain::Group => unit.wrap.clone(),
            Some(BlockKind::Table) => self.wrap(table_wrap(text, &range))?,
            Some(BlockKind::Code) => self.wrap(fence_wrap(text, &range))?,
            _ => Wrap::default(),
        };
        let starts = line::ends(&text[range.clone()]).map(|end| range.start + end).filter(|&at| at > wrap.start());
        let last = wrap.end().unwrap_or(range.end).min(range.end);
        let starts = std::iter::once(unit.range.start).chain(starts.take_while(|&at| at < last));
        let starts = self.far_apart(starts);
        Ok(units_from(&Fragment { wrap, ..unit.clone() }, &starts, Grain::Line, Boundary::Line))
    }

    /// Returns the lines to repeat, unless they take too much of each piece.
    fn wrap(&self, lines: Option<[Range<usize>; 2]>) -> Result<Wrap> {
        let Some([before, after]) = lines else { return Ok(Wrap::default()) };
        let size = |range: &Range<usize>| self.sizer.size(&self.document.text[range.clone()]);
        let sizes = [size(&before)?, size(&after)?];
        let few = sizes.iter().sum::<usize>() * MOST_REPEATED <= self.spec.max();
        Ok(Wrap(few.then(|| Rc::new(RepeatedLines { before, after, sizes }))))
    }

    /// Returns the starts of lines or sentences that are more than the finest size apart; nothing if only one is
    /// left.
    fn far_apart(&self, starts: impl Iterator<Item = usize>) -> Vec<usize> {
        let finest = if self.spec.is_on(Switch::CutOversized) { self.spec.max() / FINEST } else { 0 };
        let mut far: Vec<usize> = Vec::new();
        for start in starts {
            // In any unit, a text is at most as large as its number of bytes.
            if far.last().is_none_or(|last| start - last > finest) {
                far.push(start);
            }
        }
        if far.len() < 2 { Vec::new() } else { far }
    }

    /// Returns pieces of a line or sentence, each as long as the limit allows with the lines it repeats. They are
    /// cut between words outside links if possible, otherwise between words, otherwise between graphemes (UAX #29),
    /// otherwise between characters.
    fn words(&self, unit: &Fragment, limit: usize) -> Result<Vec<Fragment>> {
        let text = &self.document.text;
        let room = limit.saturating_sub(unit.wrap.size()).max(1);
        let range = trim(text, unit.range.clone());
        let mut units: Vec<Fragment> = Vec::new();
        let mut start = range.start;
        while start < range.end {
            let boundary = if units.is_empty() { unit.boundary } else { Boundary::Limit };
            units.push(Fragment { range: start..range.end, grain: Grain::Word, boundary, ..unit.clone() });
            let end = self.reach(start, range.end, room)?;
            start = if end < range.end { self.last_break(start, end) } else { end };
        }
        close_gaps(&mut units, unit.range.clone());
        Ok(if units.len() < 2 { Vec::new() } else { units })
    }

    /// Returns where to cut a text from `start` that may extend to `end`: before a link that a cut between words would
    /// be inside of, unless that leaves less than half.
    fn last_break(&self, start: usize, end: usize) -> usize {
        let at = last_break(&self.document.text, start, end);
        let link = self.link_around(at).filter(|link| link.range.start > start + (end - start) / 2);
        link.map_or(at, |link| link.range.start)
    }

    /// Returns a character boundary up to `end`: the text from `start` to it has at most size `room`, and the text
    /// to the next boundary has more.
    fn reach(&self, start: usize, end: usize, room: usize) -> Result<usize> {
        let text = &self.document.text;
        let fits = |to: usize| -> Result<bool> { Ok(self.ruler.size(start..to)? <= room) };
        // The tokens of the document end at the same places as those of the text alone, or nearly.
        let likely = self.ruler.after_tokens(start, room);
        let mut step = if likely.is_some() { 1 } else { room.clamp(1, 1 << 20) };
        let first = text.floor_char_boundary(likely.unwrap_or(start.saturating_add(step)).min(end));
        let first = if first > start { first } else { text.ceil_char_boundary(start + 1) };
        let (mut good, mut bad) = (start, first);
        if fits(first)? {
            good = first;
            loop {
                if good == end {
                    return Ok(end);
                }
                bad = text.ceil_char_boundary(good.saturating_add(step)).min(end);
                if !fits(bad)? {
                    break;
                }
                (good, step) = (bad, step * 2);
            }
        } else {
            while bad > start {
                good = text.floor_char_boundary(bad.saturating_sub(step).max(start));
                if good == start || fits(good)? {
                    break;
                }
                (bad, step) = (good, step * 2);
            }
        }
        loop {
            let middle = text.floor_char_boundary(usize::midpoint(good, bad));
            if middle <= good {
                return Ok(good);
            }
            if fits(middle)? { good = middle } else { bad = middle }
        }
    }
}

/// Returns where to cut a text from `start` that may extend to `end`: after the last word, unless that leaves less
/// than half; otherwise before the last grapheme; otherwise at `end`. The result is always after `start`.
fn last_break(text: &str, start: usize, end: usize) -> usize {
    let end = end.max(text.ceil_char_boundary(start + 1));
    let half = text.ceil_char_boundary(start + (end - start) / 2);
    if text[end..].starts_with(char::is_whitespace) {
        return end;
    }
    if let Some((at, space)) = text[half..end].char_indices().rev().find(|(_, c)| c.is_whitespace()) {
        return half + at + space.len_utf8();
    }
    // A grapheme cluster can be as long as an author wants, so the text before this piece is not examined.
    let piece = &text[start..];
    let mut cursor = GraphemeCursor::new(end - start, piece.len(), true);
    if cursor.is_boundary(piece, 0).unwrap_or(true) {
        return end;
    }
    match cursor.prev_boundary(piece, 0) {
        Ok(Some(at)) if at > 0 => start + at,
        _ => end,
    }
}

/// Returns the lines to repeat before every piece of a table, its header and the line under it, and none after it.
fn table_wrap(text: &str, range: &Range<usize>) -> Option<[Range<usize>; 2]> {
    let head = range.start + line::ends(&text[range.clone()]).nth(1)?;
    Some([range.start..head, range.end..range.end])
}

/// Returns the lines that open and close a fence; `None` if the block is indented code.
fn fence_wrap(text: &str, range: &Range<usize>) -> Option<[Range<usize>; 2]> {
    let block = &text[range.clone()];
    let opening = line::ends(block).next()?;
    let (mark, len, _) = fence(inside_containers(&block[..opening]))?;
    let last = line::start(block);
    let close = fence(inside_containers(&block[last..])).filter(|_| last > opening);
    let closes = close.is_some_and(|(with, marks, rest)| with == mark && marks >= len && is_blank(rest));
    // The end of the line before is repeated with the closing line.
    let end = if closes { range.start + last - 1 } else { range.end };
    Some([range.start..range.start + opening, end..range.end])
}

/// Returns the units of a block that start at `starts`, or groups of them.
fn units_from(unit: &Fragment, starts: &[usize], grain: Grain, boundary: Boundary) -> Vec<Fragment> {
    let at_once = if starts.len() > MOST_AT_ONCE { MOST_AT_ONCE } else { 1 };
    let groups = starts.chunks(at_once);
    let unit_of = |group: &[usize]| Fragment {
        range: group[0]..unit.range.end,
        grain: if group.len() > 1 { Grain::Group } else { grain },
        boundary,
        ..unit.clone()
    };
    let mut units: Vec<Fragment> = groups.map(unit_of).collect();
    close_gaps(&mut units, unit.range.clone());
    units
}

/// Makes the units contiguous from the start of `range` to its end.
pub(super) fn close_gaps(units: &mut [Fragment], range: Range<usize>) {
    let mut end = range.end;
    for unit in units.iter_mut().rev() {
        unit.range.end = end;
        end = unit.range.start;
    }
    if let Some(first) = units.first_mut() {
        first.range.start = range.start;
    }
}

/// Returns whether a text ends with a blank line.
pub(super) fn blank_line_before(text: &str) -> bool {
    text.ends_with(['\n', '\r']) && is_blank(&text[line::last(text)..])
}
