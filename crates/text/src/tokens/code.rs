//! The characters of a document that are code: the unit `estimate` counts them differently from prose.

use std::ops::Range;

use crate::document::{BlockKind, Document, Positions};

/// The code blocks of a document, in order and without overlaps.
#[derive(Default)]
pub(super) struct Code {
    pub(super) blocks: Vec<Range<usize>>,
    /// Number of characters in all blocks before each block.
    chars_before: Vec<usize>,
}

impl Code {
    pub(super) fn of(document: &Document) -> Self {
        let mut code = Self::default();
        let mut chars = 0;
        for block in document.blocks.iter().filter(|block| block.kind == BlockKind::Code) {
            let start = block.range.start.max(code.blocks.last().map_or(0, |last| last.end));
            if start < block.range.end {
                code.blocks.push(start..block.range.end);
                code.chars_before.push(chars);
                chars += document.positions.char_at(block.range.end) - document.positions.char_at(start);
            }
        }
        code
    }

    /// Returns the last block that starts at or before a byte.
    fn block_before(&self, byte: usize) -> Option<usize> {
        self.blocks.partition_point(|block| block.start <= byte).checked_sub(1)
    }

    pub(super) fn holds(&self, byte: usize) -> bool {
        self.block_before(byte).is_some_and(|block| byte < self.blocks[block].end)
    }

    /// Returns how many characters of a range are in code.
    pub(super) fn chars(&self, positions: &Positions, range: &Range<usize>) -> usize {
        let before = |byte: usize| match self.block_before(byte) {
            None => 0,
            Some(at) => {
                let block = &self.blocks[at];
                let end = byte.min(block.end);
                self.chars_before[at] + positions.char_at(end) - positions.char_at(block.start)
            }
        };
        before(range.end) - before(range.start)
    }

    /// Returns the part of each block that is in a range.
    pub(super) fn within(&self, range: &Range<usize>) -> impl Iterator<Item = Range<usize>> {
        let first = self.blocks.partition_point(|block| block.end <= range.start);
        let touched = self.blocks[first..].iter().take_while(|block| block.start < range.end);
        touched.map(|block| block.start.max(range.start)..block.end.min(range.end))
    }
}
