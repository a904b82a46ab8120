//! Source code in the design of the preset `sections`: enough documentation is kept separate, small items merge with their siblings, and the
//! end of one item never shares a chunk with the start of the next.
//!
//! An item (a function, a class, the file) has its own text and members. Own text that no member interrupts is one
//! text, except that documentation comments of at least the minimum are separated; shorter ones say too little
//! without their code. Then, from the innermost item outwards, a text under the minimum joins what follows it in
//! its item, otherwise what precedes it, if both are within the maximum. Only whole members take part. If a member
//! is in several pieces, its first piece can still take something: the own text of the item around it. That text
//! ends where the member starts, and the heading path of its start is true for both. A small function between two
//! split ones therefore stays a separate chunk, whole and under its own path.

use chunkmill_base::error::Result;

use super::packer::Packer;
use super::part::{Part, Treatment, parts};
use super::piece::Kind;
use crate::document::{BlockKind, Section};

/// Returns the parts of a source code document.
pub(super) fn merged(packer: &Packer<'_>) -> Result<Vec<Part>> {
    let mut open = vec![Item::default()];
    let mut entered = 0;
    for part in texts(packer)? {
        for section in &packer.document.sections[entered..=part.section] {
            enter(packer, &mut open, section)?;
        }
        entered = entered.max(part.section + 1);
        if let Some(item) = open.last_mut() {
            item.add(packer, Candidate { part, holds: Holds::Own })?;
        }
    }
    close(packer, &mut open, 0)?;
    let mut file = open.pop().unwrap_or_default();
    file.settle(packer)?;
    Ok(file.pieces.into_iter().map(|piece| piece.part).collect())
}

/// Returns the text of each section, with documentation comments of at least the minimum separated.
fn texts(packer: &Packer<'_>) -> Result<Vec<Part>> {
    let code = |kind| if kind == BlockKind::Code { Treatment::Apart(Kind::Code) } else { Treatment::Prose };
    let mut texts: Vec<Part> = Vec::new();
    let mut last_is_apart = true;
    for part in parts(packer.document, |block| code(block.kind)) {
        let apart = part.kind == Some(Kind::Text) && packer.ruler.size(part.range.clone())? >= packer.spec.min();
        match texts.last_mut() {
            Some(last) if last.section == part.section && !apart && !last_is_apart => last.join(&part),
            _ => texts.push(part),
        }
        last_is_apart = apart;
    }
    Ok(texts)
}

/// Closes the items that do not contain a section, and opens the section's own.
fn enter(packer: &Packer<'_>, open: &mut Vec<Item>, section: &Section) -> Result<()> {
    // A section of level 0 belongs to the file, which is never closed.
    let goes_on = section.continues || section.level == 0;
    close(packer, open, if goes_on { section.level } else { section.level - 1 })?;
    if !goes_on {
        open.push(Item { level: section.level, ..Item::default() });
    }
    Ok(())
}

/// Closes items below a level. Their pieces become pieces of the item around them.
fn close(packer: &Packer<'_>, open: &mut Vec<Item>, level: u8) -> Result<()> {
    while let Some(mut item) = open.pop_if(|item| item.level > level) {
        item.settle(packer)?;
        let Some(around) = open.last_mut() else { break };
        match &mut item.pieces[..] {
            [whole] if whole.holds != Holds::Some && packer.fits(whole.part.range.clone())? => {
                around.add(packer, Candidate { holds: Holds::Whole, part: whole.part.clone() })?;
            }
            _ => around.add_member(packer, item.pieces)?,
        }
    }
    Ok(())
}

/// An item that is being read.
#[derive(Default)]
struct Item {
    level: u8,
    pieces: Vec<Candidate>,
}

/// A candidate for a chunk.
struct Candidate {
    part: Part,
    holds: Holds,
}

/// The part of its item that a piece contains.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Holds {
    /// Own text only.
    Own,
    /// Whole members, possibly with own text.
    Whole,
    /// Part of a member that is in several pieces.
    Some,
}

impl Item {
    /// Adds own text or a whole member.
    fn add(&mut self, packer: &Packer<'_>, piece: Candidate) -> Result<()> {
        if let Some(last) = self.pieces.last_mut()
            && last.is_small(packer)?
            && last.takes(packer, &piece)?
        {
            last.join(&piece);
            return Ok(());
        }
        self.settle(packer)?;
        self.pieces.push(piece);
        Ok(())
    }

    /// Adds a member that is in several pieces.
    fn add_member(&mut self, packer: &Packer<'_>, mut pieces: Vec<Candidate>) -> Result<()> {
        self.settle(packer)?;
        for piece in &mut pieces {
            piece.holds = Holds::Some;
        }
        if let (Some(last), Some(first)) = (self.pieces.last(), pieces.first_mut())
            && last.holds == Holds::Own
            && (last.is_small(packer)? || first.is_small(packer)?)
            && last.fits(packer, first)?
            && let Some(mut last) = self.pieces.pop()
        {
            last.join(first);
            *first = last;
        }
        self.pieces.append(&mut pieces);
        Ok(())
    }

    /// Merges a small last piece into the previous one, if that can take it. Nothing that the last piece could
    /// take follows it.
    fn settle(&mut self, packer: &Packer<'_>) -> Result<()> {
        if let [.., before, last] = &mut self.pieces[..]
            && last.is_small(packer)?
            && before.takes(packer, last)?
        {
            before.join(last);
            self.pieces.pop();
        }
        Ok(())
    }
}

impl Candidate {
    fn is_small(&self, packer: &Packer<'_>) -> Result<bool> {
        Ok(packer.ruler.size(self.part.range.clone())? < packer.spec.min())
    }

    /// Returns whether the next piece may be joined to this one, given what both contain.
    fn takes(&self, packer: &Packer<'_>, next: &Self) -> Result<bool> {
        Ok(self.holds != Holds::Some && next.holds != Holds::Some && self.fits(packer, next)?)
    }

    /// Returns whether both together are within the maximum, or will be split in any case.
    fn fits(&self, packer: &Packer<'_>, next: &Self) -> Result<bool> {
        let fits = |piece: &Self| packer.fits(piece.part.range.clone());
        let split = self.holds == Holds::Own && next.holds != Holds::Whole && !(fits(self)? && fits(next)?);
        Ok(split || packer.fits(self.part.range.start..next.part.range.end)?)
    }

    fn join(&mut self, next: &Self) {
        self.part.join(&next.part);
        if next.holds != Holds::Own {
            self.holds = next.holds;
        }
    }
}
