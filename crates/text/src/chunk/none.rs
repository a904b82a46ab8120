//! The whole document as one chunk: the design of `ragdocs` with chunking turned off, and the baseline.

use super::piece::{Boundary, Group, Kind, Piece};
use crate::document::{Document, trim};

pub(super) fn propose(document: &Document) -> Vec<Group> {
    let range = trim(&document.text, document.body.clone());
    if range.is_empty() {
        return Vec::new();
    }
    vec![Group::whole(Piece::plain(range, Boundary::Start)).of(Kind::Document)]
}
