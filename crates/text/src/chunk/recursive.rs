//! The usual baselines: a hierarchy of separators, as in `LangChain`'s recursive character splitter, with its default
//! separators, or with those of Chroma's chunking evaluation.
//!
//! The text is cut before every occurrence of the first separator that it contains. A piece that is not under the
//! maximum is cut by the next separators, and finally between characters. Neighbouring pieces are then joined up
//! to the maximum, which is compared with the sum of their own sizes. The pieces at the end of a chunk that
//! together are within the overlap are repeated in the next chunk. Chunks lose the white space around them.

use std::collections::VecDeque;
use std::ops::Range;

use chunkmill_base::error::Result;

use super::packer::Packer;
use super::piece::{Boundary, Group, Piece};
use super::repeats::Repeats;
use crate::tokens::Unit;

/// `LangChain`'s separators, from the coarsest to the finest; the last one matches between any two characters.
pub(super) const LANGCHAIN: [&str; 4] = ["\n\n", "\n", " ", ""];

/// Chroma's.
pub(super) const CHROMA: [&str; 7] = ["\n\n", "\n", ".", "?", "!", " ", ""];

pub(super) fn propose(packer: &Packer<'_>, separators: &[&'static str]) -> Result<Vec<Group>> {
    let body = packer.document.body.clone();
    let mut splitter = Splitter { packer, separators, pieces: Vec::new(), done: body.start };
    splitter.split(&body, separators)?;
    Ok(Group::document(splitter.pieces))
}

struct Splitter<'a> {
    packer: &'a Packer<'a>,
    separators: &'a [&'static str],
    pieces: Vec<Piece>,
    /// End of the last chunk's source.
    done: usize,
}

/// Pieces that are being joined, each with its size.
#[derive(Default)]
struct JoinedPieces {
    pieces: VecDeque<(Range<usize>, usize)>,
    size: usize,
}

impl Splitter<'_> {
    /// Splits a range. Calls itself only with fewer separators, so at most as deep as there are separators.
    fn split(&mut self, range: &Range<usize>, separators: &[&'static str]) -> Result<()> {
        let text = &self.packer.document.text[range.clone()];
        let found = separators.iter().position(|separator| text.contains(separator));
        let Some((at, &separator)) = found.and_then(|at| Some((at, separators.get(at)?))) else {
            return Ok(());
        };
        let finer = &separators[at + 1..];
        let mut open = JoinedPieces::default();
        // Every piece except the first starts with the separator; the first may be empty.
        let cuts = text.match_indices(separator).map(|(at, _)| range.start + at).chain([range.end]);
        let mut start = range.start;
        for end in cuts {
            if end > start {
                let piece = start..end;
                let size = self.packer.ruler.size(piece.clone())?;
                if size < self.packer.spec.max() {
                    self.join(&mut open, piece, size)?;
                } else {
                    self.close(&mut open)?;
                    if finer.is_empty() {
                        self.emit(&piece)?;
                    } else {
                        self.split(&piece, finer)?;
                    }
                }
            }
            start = end;
        }
        self.close(&mut open)
    }

    fn join(&mut self, open: &mut JoinedPieces, piece: Range<usize>, size: usize) -> Result<()> {
        let (max, overlap) = (self.packer.spec.max(), self.packer.spec.overlap());
        if !open.pieces.is_empty() && self.joined(open, &piece, size)? > max {
            self.emit_open(open)?;
            while open.size > overlap || (open.size > 0 && self.joined(open, &piece, size)? > max) {
                self.drop_first(open)?;
            }
        }
        open.size = self.joined(open, &piece, size)?;
        open.pieces.push_back((piece, size));
        Ok(())
    }

    /// Returns the size of the open pieces with one more. In tokens, it is the sum of the pieces' own sizes, as in
    /// the original; in other units, the text is measured, because only there it costs nothing.
    fn joined(&self, open: &JoinedPieces, piece: &Range<usize>, size: usize) -> Result<usize> {
        match open.pieces.front() {
            Some((first, _)) if !self.sums() => self.packer.ruler.size(first.start..piece.end),
            _ => Ok(open.size + size),
        }
    }

    fn drop_first(&self, open: &mut JoinedPieces) -> Result<()> {
        let first = open.pieces.pop_front();
        open.size = match (open.pieces.front(), open.pieces.back()) {
            (Some((first, _)), Some((last, _))) if !self.sums() => self.packer.ruler.size(first.start..last.end)?,
            (Some(_), _) => open.size - first.map_or(0, |(_, size)| size),
            (None, _) => 0,
        };
        Ok(())
    }

    fn sums(&self) -> bool {
        matches!(self.packer.spec.unit(), Unit::Tokens | Unit::Model)
    }

    fn close(&mut self, open: &mut JoinedPieces) -> Result<()> {
        self.emit_open(open)?;
        *open = JoinedPieces::default();
        Ok(())
    }

    fn emit_open(&mut self, open: &JoinedPieces) -> Result<()> {
        match (open.pieces.front(), open.pieces.back()) {
            (Some((first, _)), Some((last, _))) => self.emit(&(first.start..last.end)),
            _ => Ok(()),
        }
    }

    /// Adds a range as chunks. The part of it that was in an earlier chunk becomes overlap. A range whose text is
    /// over the maximum only without the white space before it (` word` can be one token, and `word` two) keeps it.
    fn emit(&mut self, range: &Range<usize>) -> Result<()> {
        let text = &self.packer.document.text;
        let strip = |range: Range<usize>| {
            let kept = text[range.clone()].trim_end();
            range.start + kept.len() - kept.trim_start().len()..range.start + kept.len()
        };
        let core = strip(range.start.max(self.done)..range.end);
        if core.is_empty() {
            return Ok(());
        }
        let here = &text[range.start.max(self.done)..];
        let separator = self.separators.iter().find(|separator| here.starts_with(**separator)).copied();
        let boundary = Boundary::Separator(separator.unwrap_or_default());
        let boundary = if self.pieces.is_empty() { Boundary::Start } else { boundary };
        let stripped = strip(range.start..core.end).start;
        let mut fitting = None;
        for start in [stripped, range.start] {
            if fitting.is_none() && self.packer.fits(start..core.end)? {
                fitting = Some(start);
            }
        }
        match fitting {
            Some(start) if start < self.done => {
                let core = self.done..core.end;
                let repeats = Repeats { overlap: Some(start..core.start), ..Repeats::default() };
                let piece = Piece { repeats, ..Piece::plain(core, boundary) };
                self.pieces.extend(self.packer.counted(piece));
            }
            Some(start) => self.pieces.extend(self.packer.counted(Piece::plain(start..core.end, boundary))),
            // A text can have more tokens than its pieces together; it is then cut at the limit.
            None => self.pieces.extend(self.packer.windows(&core, boundary)?),
        }
        self.done = range.end;
        Ok(())
    }
}
