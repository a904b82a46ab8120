//! A document with the limits that its chunks have to keep, and what measures them: what every strategy works with.

use std::ops::Range;

use super::Spec;
use crate::document::Document;
use crate::error::Result;
use crate::tokens::{Ruler, Sizer};

/// Sizes of a prefix and of a range add up to the size of both to within this many units. Where
/// that could decide, the joined text is measured.
pub(super) const JOIN_SLACK: usize = 8;

/// Packs ranges of one document.
pub(super) struct Packer<'a> {
    pub(super) document: &'a Document,
    pub(super) spec: &'a Spec,
    pub(super) sizer: Sizer<'a>,
    pub(super) ruler: &'a Ruler<'a>,
}

impl Packer<'_> {
    /// Whether prefix and range together are within the maximum.
    pub(super) fn fits(&self, prefix: &str, range: Range<usize>) -> Result<bool> {
        self.within(self.spec.max(), prefix, range, "")
    }

    pub(super) fn within(&self, limit: usize, prefix: &str, range: Range<usize>, suffix: &str) -> Result<bool> {
        let own = self.ruler.size(range.clone())?;
        if prefix.is_empty() && suffix.is_empty() {
            return Ok(own <= limit);
        }
        let sum = own + self.sizer.size(prefix)? + self.sizer.size(suffix)?;
        if sum.abs_diff(limit) > JOIN_SLACK {
            return Ok(sum <= limit);
        }
        Ok(self.ruler.size_between(prefix, range, suffix)? <= limit)
    }
}

/// The largest number of `least..=most` that passes, for a test that the smaller pass if the larger
/// do; `least` if none does. It is looked for from above, because it is mostly there.
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
