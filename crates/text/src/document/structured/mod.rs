//! YAML and JSON: each top-level key with its value, or each element, is one block, and each
//! top-level key opens a section.
//!
//! The parsers report where entries begin and end. Only `tree` decides which bytes belong to which entry:
//! comments before a key belong to the key, comments after a value to that value, and brackets and document
//! markers to the entry next to them. The top-level blocks therefore cover the whole text.

mod json;
mod tree;
mod yaml;

use std::ops::Range;

use super::parsed::ParsedBody;
use super::room::Room;
use super::text;
use tree::Tree;

/// Flag of a YAML file that breaks the syntax or its limits. It is read as plain text.
pub const MALFORMED_YAML: &str = "malformed_yaml";

/// Flag of a JSON file that breaks the syntax. It is read as plain text.
pub const MALFORMED_JSON: &str = "malformed_json";

pub(super) fn yaml(text: &str, body: Range<usize>, room: &mut Room) -> ParsedBody {
    finish(text, body.clone(), yaml::read(text, body, room.left()), MALFORMED_YAML, room)
}

pub(super) fn json(text: &str, body: Range<usize>, room: &mut Room) -> ParsedBody {
    finish(text, body.clone(), json::read(text, body, room.left()), MALFORMED_JSON, room)
}

fn finish(text: &str, body: Range<usize>, tree: Option<Tree<'_>>, flag: &'static str, room: &mut Room) -> ParsedBody {
    match tree {
        None => ParsedBody { flags: vec![flag], ..text::parse(text, body, room) },
        Some(tree) if tree.blocks.is_empty() => text::parse(text, body, room),
        Some(tree) => {
            room.take(tree.bytes());
            tree.finish(&body, room)
        }
    }
}
