//! Seed 3's mode for large homogeneous text: windows of the target size with overlap.
//!
//! With `respect_boundaries` a window ends where its section ends, small sections being taken
//! together while they fit a chunk; without, only where footnotes or what is left out interrupt the
//! text.

use super::pack::{Group, Packer};
use super::part::{Part, join_prose, parts};
use super::semantic::treatment;
use super::{Kind, Switch};
use crate::error::Result;

pub(super) fn propose(packer: &Packer<'_>) -> Result<Vec<Group>> {
    let parts = parts(packer.document, |block| treatment(packer.spec, block));
    let parts =
        if packer.spec.is_on(Switch::RespectBoundaries) { merge_forward(packer, parts)? } else { join_prose(parts) };
    parts.iter().filter_map(|part| part.windows(packer).transpose()).collect()
}

/// Prose under the minimum takes the prose that follows it, if both fit a chunk.
fn merge_forward(packer: &Packer<'_>, parts: Vec<Part>) -> Result<Vec<Part>> {
    let mut merged: Vec<Part> = Vec::with_capacity(parts.len());
    for part in parts {
        match merged.last_mut() {
            Some(last)
                if last.kind == Some(Kind::Text)
                    && part.kind == last.kind
                    && packer.ruler.size(last.range.clone())? < packer.spec.min()
                    && packer.fits("", last.range.start..part.range.end)? =>
            {
                last.range.end = part.range.end;
            }
            _ => merged.push(part),
        }
    }
    Ok(merged)
}
