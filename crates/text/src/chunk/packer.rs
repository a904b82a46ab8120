//! A document with the limits of its chunks and what measures them, for every strategy.

use std::cell::Cell;
use std::ops::Range;

use chunkmill_base::error::Result;

use super::repeats::Repeats;
use super::spec::Spec;
use crate::document::Document;
use crate::tokens::{Ruler, Sizer};

/// The sizes of a prefix and of a range add up to the size of both to within this many units. Where that could
/// decide, the joined text is measured. In words, two runs of characters become one.
pub(super) const JOIN_SLACK: usize = 16;

/// A packer for ranges of one document.
pub(super) struct Packer<'a> {
    pub(super) document: &'a Document,
    pub(super) spec: &'a Spec,
    pub(super) sizer: Sizer<'a>,
    pub(super) ruler: &'a Ruler<'a>,
    pub(super) budget: &'a Budget,
}

/// The memory that the chunks of a document may take, in bytes. A chunk without room is left out, and the
/// document is then given up.
pub(super) struct Budget {
    most: u64,
    used: Cell<u64>,
}

impl Budget {
    pub(super) fn new(most: u64) -> Self {
        Self { most, used: Cell::new(0) }
    }

    /// Reserves some bytes. Returns whether there was room for them.
    pub(super) fn take(&self, bytes: usize) -> bool {
        self.used.set(self.used.get().saturating_add(bytes as u64));
        !self.is_over()
    }

    pub(super) fn is_over(&self) -> bool {
        self.used.get() > self.most
    }

    /// Returns the number of bytes reserved, even if that is too many.
    pub(super) fn used(&self) -> u64 {
        self.used.get()
    }
}

impl Packer<'_> {
    /// Returns whether a range is within the maximum.
    pub(super) fn fits(&self, range: Range<usize>) -> Result<bool> {
        Ok(self.ruler.size(range)? <= self.spec.max())
    }

    /// Returns whether a range is within a limit together with what is repeated around it.
    pub(super) fn within(&self, limit: usize, repeats: &Repeats, range: Range<usize>) -> Result<bool> {
        let own = self.ruler.size(range.clone())?;
        if repeats.is_empty() {
            return Ok(own <= limit);
        }
        let (prefix, suffix) = (repeats.before(self.document, range.start), repeats.after(self.document));
        let sum = own + self.sizer.size(&prefix)? + self.sizer.size(suffix)?;
        if sum.abs_diff(limit) > JOIN_SLACK {
            return Ok(sum <= limit);
        }
        Ok(self.ruler.size_between(&prefix, range, suffix)? <= limit)
    }
}

/// Returns the largest number in `least..=most` that passes a test, or `least` if none does. If a number passes,
/// all smaller ones must pass. The search starts from the top, because the result is usually there.
pub(super) fn furthest(least: usize, most: usize, passes: impl Fn(usize) -> Result<bool>) -> Result<usize> {
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
