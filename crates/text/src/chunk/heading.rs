//! The design of the preset `heading-tokens`: every heading starts a chunk, and a section over the maximum becomes windows.
//!
//! Each section is tokenized on its own. Its windows are runs of exactly `max` of those tokens, each starting
//! exactly `overlap` tokens before the end of the previous one; with another unit, read characters, words or lines
//! for tokens. Two corrections keep every promise about chunks. A cut inside a character moves to its nearer side.
//! And because a few texts have more tokens once they are cut out of their section, a window whose own count is
//! over `max` drops tokens at its end until it fits.

use chunkmill_base::error::Result;

use super::packer::Packer;
use super::piece::{Boundary, Group, Piece};
use crate::document::trim;

pub(super) fn propose(packer: &Packer<'_>) -> Result<Vec<Group>> {
    let document = packer.document;
    if document.sections.is_empty() {
        // An empty file produces one empty chunk, so it can be found at all.
        let empty = document.body.start..document.body.start;
        return Ok(vec![Group::whole(Piece::plain(empty, Boundary::Start))]);
    }
    let sections = document.sections.iter();
    let groups = sections.map(|section| {
        let range = trim(&document.text, section.range.clone());
        let start = if section.level == 0 { Boundary::Start } else { Boundary::Heading(section.level) };
        packer.whole_or_windows(range, start)
    });
    groups.collect()
}
