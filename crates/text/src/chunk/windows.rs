//! The plainest baseline: windows of exactly the maximum over the whole document, blind to structure.

use chunkmill_base::error::Result;

use super::packer::Packer;
use super::piece::{Boundary, Group};
use crate::document::trim;

pub(super) fn propose(packer: &Packer<'_>) -> Result<Vec<Group>> {
    let range = trim(&packer.document.text, packer.document.body.clone());
    if range.is_empty() {
        return Ok(Vec::new());
    }
    Ok(Group::document(packer.windows(&range, Boundary::Start)?))
}
