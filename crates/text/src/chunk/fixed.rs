//! The mode of the design of `docs` for large homogeneous text: windows of the target size with overlap.
//!
//! With `respect_boundaries`, a window ends where its section ends, and small sections are merged while they fit a
//! chunk. Without it, only footnotes and parts that are left out interrupt the text.

use chunkmill_base::error::Result;

use super::packer::Packer;
use super::part::{Part, adopt_bare, join_prose, parts};
use super::piece::{Group, Kind};
use super::semantic::treatment;
use super::strategy::Switch;

pub(super) fn propose(packer: &Packer<'_>) -> Result<Vec<Group>> {
    let parts = parts(packer.document, |block| treatment(packer.spec, block));
    let parts = if packer.spec.is_on(Switch::RespectBoundaries) {
        merge_small(packer, adopt_bare(packer, parts)?)?
    } else {
        join_prose(parts)
    };
    parts.iter().filter_map(|part| part.windows(packer).transpose()).collect()
}

/// Merges prose under the minimum with the prose that follows. Prose that is still under the minimum joins the prose
/// before it. Both require that the result fits a chunk.
fn merge_small(packer: &Packer<'_>, parts: Vec<Part>) -> Result<Vec<Part>> {
    let is_small = |part: &Part| -> Result<bool> { Ok(packer.ruler.size(part.range.clone())? < packer.spec.min()) };
    let mut merged: Vec<Part> = Vec::with_capacity(parts.len());
    let mut parts = parts.into_iter().peekable();
    while let Some(part) = parts.next() {
        let follows = parts.peek().is_some_and(|next| next.kind == Some(Kind::Text));
        match merged.last_mut() {
            Some(last)
                if last.kind == Some(Kind::Text)
                    && part.kind == last.kind
                    && packer.fits(last.range.start..part.range.end)?
                    && (is_small(last)? || (!follows && is_small(&part)?)) =>
            {
                last.range.end = part.range.end;
            }
            _ => merged.push(part),
        }
    }
    Ok(merged)
}
