//! The one place where sizes and overlap are enforced.
//!
//! A strategy says which range to pack and what it starts with. [`Packer::fill`] packs whole
//! blocks and never cuts one that fits; [`Packer::windows`] cuts exactly at the limit. Sizes count
//! the whole content: prefix and source.

use std::ops::Range;

use super::{Boundary, Spec};
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
}

impl Group {
    /// A section that is one chunk.
    pub(super) fn whole(piece: Piece) -> Self {
        Self { pieces: vec![piece], split: false }
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

/// A run of sibling blocks that is kept together if it fits.
struct Unit {
    range: Range<usize>,
    blocks: Range<usize>,
    /// How a chunk that starts here is said to start.
    boundary: Boundary,
}

impl Packer<'_> {
    /// Whether prefix and range together are within the maximum.
    pub(super) fn fits(&self, prefix: &str, range: Range<usize>) -> Result<bool> {
        let max = self.spec.max();
        let own = self.ruler.size(range.clone())?;
        if prefix.is_empty() {
            return Ok(own <= max);
        }
        let sum = own + self.sizer.size(prefix)?;
        if sum.abs_diff(max) > JOIN_SLACK {
            return Ok(sum <= max);
        }
        Ok(self.sizer.size(&format!("{prefix}{}", &self.document.text[range]))? <= max)
    }

    /// Packs a range into pieces of whole blocks, each as full as the maximum allows.
    ///
    /// Cuts are made between paragraphs that a blank line separates; where such a paragraph is over
    /// the maximum by itself, between its blocks (the items of a list, say); where such a block is,
    /// between the blocks inside it. A block with none inside is never cut, but becomes a piece of
    /// its own and is flagged. A piece starts with the `headers` for the offset at which its source
    /// starts; each but the first goes on with the end of the piece before, unless a block would
    /// then no longer fit.
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
            if self.fits(&open.prefix, trim(&self.document.text, open.range.start..unit.range.end))? {
                open.range.end = unit.range.end;
                continue;
            }
            // A piece that is still empty already is the fresh one, and can only lose its overlap.
            let empty = open.range.is_empty();
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
                let next = next(prefix);
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
                oversized.flags.push(oversized_flag(self.document.blocks[unit.blocks.start].kind));
            }
            self.finish(&mut pieces, open);
            let after = unit.range.end..unit.range.end;
            let bare = headers(after.start);
            let prefix = self.overlap(&oversized, &bare)?;
            let boundary = units.last().map_or(Boundary::BlankLine, |unit| unit.boundary);
            self.finish(&mut pieces, oversized);
            open = Piece { has_overlap: prefix.len() > bare.len(), prefix, ..Piece::plain(after, boundary) };
        }
        self.finish(&mut pieces, open);
        Ok(pieces)
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
                _ => {
                    units.push(Unit {
                        range: at.start..range.end,
                        blocks: index..*next,
                        boundary: Boundary::BlankLine,
                    });
                }
            }
            heading = matches!(blocks[index].kind, BlockKind::Heading(_));
            index = *next;
        }
        close_gaps(&mut units, range.clone());
        units
    }

    /// What a unit that is too large may be cut into; nothing if it is one block with none inside.
    fn children(&self, unit: &Unit) -> Vec<Unit> {
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
                units.push(Unit { range, blocks: outer..outer + 1, boundary: Boundary::Block });
            }
        }
        while index < unit.blocks.end {
            let Block { range, next, .. } = &blocks[index];
            units.push(Unit { range: range.clone(), blocks: index..*next, boundary: Boundary::Block });
            index = *next;
        }
        close_gaps(&mut units, unit.range.clone());
        if let Some(first) = units.first_mut() {
            first.boundary = unit.boundary;
        }
        units
    }

    /// Cuts a range into windows of exactly the maximum that overlap by exactly the overlap.
    pub(super) fn windows(&self, range: &Range<usize>, boundary: Boundary) -> Result<Vec<Piece>> {
        let text = &self.document.text;
        let ends = self.ruler.atoms(range)?;
        let width = self.ruler.atoms_in(self.spec.max()).max(1);
        let overlap = self.ruler.atoms_in(self.spec.overlap()).min(width - 1);
        let at = |atom: usize| if atom == 0 { range.start } else { ends[atom - 1] };
        let mut pieces: Vec<Piece> = Vec::new();
        // Windows are runs of atoms `first..last`; `done` is where the one before ended.
        let (mut first, mut done) = (0, 0);
        while done < ends.len() {
            let mut last = (first + width).min(ends.len());
            while last > done + 1 && self.ruler.size(at(first)..at(last))? > self.spec.max() {
                last -= 1;
            }
            while last < ends.len() && at(last) <= at(done) {
                last += 1;
            }
            let mut start = at(first);
            let mut flags = Vec::new();
            if self.ruler.size(start..at(last))? > self.spec.max() {
                start = at(done);
                if self.ruler.size(start..at(last))? > self.spec.max() {
                    flags.push("oversized_character");
                }
            }
            let core = at(done)..at(last);
            if !core.is_empty() {
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
        }
        Ok(pieces)
    }
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

fn oversized_flag(kind: BlockKind) -> &'static str {
    match kind {
        BlockKind::Heading(_) => "oversized_heading",
        BlockKind::Paragraph => "oversized_paragraph",
        BlockKind::List | BlockKind::ListItem => "oversized_list_item",
        BlockKind::Code => "oversized_code_block",
        BlockKind::Table => "oversized_table",
        BlockKind::Quote => "oversized_quote",
        BlockKind::Html => "oversized_html",
        BlockKind::Footnote => "oversized_footnote",
        BlockKind::Math => "oversized_math",
        BlockKind::Rule => "oversized_rule",
        BlockKind::References => "oversized_references",
        BlockKind::FrontMatter => "oversized_front_matter",
        BlockKind::Entry => "oversized_entry",
        BlockKind::Comment => "oversized_doc_comment",
    }
}
