//! YAML, from the events of granit-parser. That parser has its own limits on nesting and does not expand aliases,
//! so a hostile file is refused in bounded time and stack.

use std::ops::Range;

use granit_parser::{Event, Options, Parser, Span};

use super::tree::Tree;
use crate::document::block::BlockKind;

/// The role of the next node.
enum Inside {
    /// The root of a document.
    Root,
    /// A key of a mapping.
    Key,
    /// The value of the previous key.
    Value,
    /// An element of a sequence.
    Element,
}

/// Returns the entries of every document of `text[body]`, or `None` if the syntax is broken.
pub(super) fn read(text: &str, body: Range<usize>, room: u64) -> Option<Tree<'_>> {
    let source = &text[body.clone()];
    let mut options = Options::default();
    // Comments are found in the gaps between tokens. Refusing an alias without an anchor is not our job.
    options.set_emit_comments(false);
    options.emit_unresolved_aliases = true;
    let mut tree = Tree::new(text, &body, room);
    let mut insides = vec![Inside::Root];
    let mut starts = Vec::new();
    let mut lone = true;
    for next in Parser::new_from_str_with_options(source, options) {
        let (event, span) = next.ok()?;
        if tree.is_over() {
            return Some(tree);
        }
        let Range { start, end } = bytes(source, &span, body.start)?;
        match event {
            Event::Scalar(value, ..) => {
                let at_root = matches!(insides.last(), Some(Inside::Root));
                // Unicode white space alone is not a node, just as an empty text is not.
                if !(at_root && text[start..end].trim().is_empty()) {
                    node(&mut tree, insides.last(), start, at_root);
                    tree.token(start + text[start..end].trim_end().len());
                    leave(&mut tree, &mut insides, Some(&value));
                }
            }
            Event::Alias(_) | Event::UnresolvedAlias(_) => {
                node(&mut tree, insides.last(), start, false);
                tree.token(end);
                leave(&mut tree, &mut insides, Some(&text[start..end]));
            }
            Event::SequenceStart(..) | Event::MappingStart(..) => {
                lone &= !matches!(insides.last(), Some(Inside::Root));
                node(&mut tree, insides.last(), start, false);
                // A block collection has no token of its own; a bracket is one.
                if start < end {
                    tree.token(end);
                }
                starts.push(start);
                insides.push(if matches!(event, Event::MappingStart(..)) { Inside::Key } else { Inside::Element });
            }
            Event::SequenceEnd | Event::MappingEnd => {
                insides.pop();
                if start < end {
                    tree.token(end);
                }
                let from = starts.pop()?;
                let key = matches!(insides.last(), Some(Inside::Key));
                let title = if key { Some(text[from..tree.cursor.max(from)].to_owned()) } else { None };
                leave(&mut tree, &mut insides, title.as_deref());
            }
            _ => {}
        }
    }
    // A text without collections is prose, not data.
    if lone { Some(Tree::new(text, &body, room)) } else { Some(tree) }
}

/// Returns the byte range of an event.
fn bytes(source: &str, span: &Span, offset: usize) -> Option<Range<usize>> {
    let range = span.byte_range()?;
    source.get(range.clone())?;
    Some(range.start + offset..range.end + offset)
}

/// Begins a node.
fn node(tree: &mut Tree<'_>, inside: Option<&Inside>, start: usize, prose: bool) {
    match inside {
        Some(Inside::Root) if prose => tree.enter(start, BlockKind::Paragraph),
        Some(Inside::Key | Inside::Element) => tree.enter(start, BlockKind::Entry),
        _ => {}
    }
}

/// Completes a node. `text` is its text, in case it is a key.
fn leave(tree: &mut Tree<'_>, insides: &mut [Inside], text: Option<&str>) {
    let Some(inside) = insides.last_mut() else { return };
    match inside {
        Inside::Key => {
            tree.name(text.unwrap_or_default());
            *inside = Inside::Value;
        }
        Inside::Value => {
            tree.leave();
            *inside = Inside::Key;
        }
        Inside::Element => tree.leave(),
        Inside::Root if !tree.open.is_empty() => tree.leave(),
        Inside::Root => {}
    }
}
