//! The blocks that matter for a range.

use std::ops::Range;

use crate::document::{Block, Document};

/// Returns the blocks that start in a range, and the innermost one that contains its start.
pub(super) fn blocks_in<'d>(document: &'d Document, range: &Range<usize>) -> &'d [Block] {
    let first = document.blocks.partition_point(|block| block.range.start <= range.start).saturating_sub(1);
    let last = document.blocks.partition_point(|block| block.range.start < range.end).max(first);
    &document.blocks[first..last]
}
