//! The whole document as one chunk: seed 1 with chunking turned off, and the baseline.

use super::pack::{Group, Piece};
use super::{Boundary, Kind};
use crate::document::{Document, trim};

pub(super) fn propose(document: &Document) -> Vec<Group> {
    let range = trim(&document.text, document.body.clone());
    if range.is_empty() {
        return Vec::new();
    }
    vec![Group::whole(Piece::plain(range, Boundary::Start)).of(Kind::Document)]
}
