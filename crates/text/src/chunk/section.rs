//! The design of the preset `sections`: sections by heading. A small section takes the next one if its level allows, and a large one is packed
//! to a target.
//!
//! A section under the minimum merges with the next one unless that one is deeper: a heading's short introduction
//! stays separate from the first of its subsections. A heading alone introduces nothing and merges with any section.
//! A small last section joins the one before, unless that one is small itself and stayed separate for this reason.
//! Sections over the maximum are packed paragraph by paragraph up to the target, and each piece starts with the end
//! of the previous one. A paragraph over the maximum is cut between sentences.
//!
//! Other formats have sections too: the top-level keys of YAML and JSON, and the items of source code. Those of
//! source code merge by their own rules; see [`items`].

use chunkmill_base::error::Result;

use super::items;
use super::packer::Packer;
use super::part::{Part, Treatment, parts};
use super::piece::Group;
use crate::document::Format;

pub(super) fn propose(packer: &Packer<'_>) -> Result<Vec<Group>> {
    let merged = match packer.document.format {
        Format::Code(_) => items::merged(packer)?,
        _ => sections(packer)?,
    };
    merged.iter().filter_map(|part| part.packed(packer).transpose()).collect()
}

fn sections(packer: &Packer<'_>) -> Result<Vec<Part>> {
    let Packer { document, spec, ruler, .. } = *packer;
    let is_small = |part: &Part| -> Result<bool> { Ok(ruler.size(part.range.clone())? < spec.min()) };
    let mut merged: Vec<Part> = Vec::new();
    // The level of the section that the last part starts in, not counting headings alone.
    let mut level = 0;
    for part in parts(document, |_| Treatment::Prose) {
        let own = document.sections[part.section].level;
        match merged.last_mut() {
            Some(last) if last.is_bare(document) => {
                last.join(&part);
                level = own;
            }
            Some(last) if level >= own && is_small(last)? => last.join(&part),
            _ => {
                merged.push(part);
                level = own;
            }
        }
    }
    if let [.., before, last] = &mut merged[..]
        && (last.is_bare(document) || is_small(last)? && !is_small(before)?)
        && packer.fits(before.range.start..last.range.end)?
    {
        before.join(last);
        merged.pop();
    }
    Ok(merged)
}
