//! Composes YAML from the events of granit-parser. The text of every scalar stays as it was written until it is
//! known which key it belongs to: `no` is a tag, `1.10` is a title, and neither is a number or a truth value.

use std::collections::{HashMap, HashSet};

use granit_parser::{Event, Options, Parser, ScalarStyle};
use serde_json::{Map, Number, Value};

use super::{MAX_BYTES, is_written};

/// Limits that keep a hostile text from growing: the depth, and the number of nodes after aliases are replaced.
const MAX_DEPTH: usize = 64;
const MAX_NODES: usize = 25_000;

/// A node of the document.
#[derive(Clone)]
enum Node {
    Scalar { text: String, plain: bool },
    List(Vec<Node>),
    Map(Vec<(String, Node)>),
}

/// A collection that is not complete yet, with the number of its anchor.
enum OpenCollection {
    List(Vec<Node>, usize),
    Map { entries: Vec<(String, Node)>, key: Option<String>, merged: Vec<Node>, anchor: usize },
}

#[derive(Default)]
struct Composer {
    open: Vec<OpenCollection>,
    anchors: HashMap<usize, Node>,
    root: Option<Node>,
    nodes: usize,
    bytes: usize,
}

/// Returns the mapping of a text. Returns `None` if it is not one mapping, breaks the syntax, names a key twice, or
/// exceeds the limits.
pub(super) fn map(text: &str) -> Option<Map<String, Value>> {
    let mut options = Options::default();
    options.set_emit_comments(false);
    let mut composer = Composer::default();
    for event in Parser::new_from_str_with_options(text, options) {
        composer.event(event.ok()?.0)?;
    }
    match composer.root {
        // Only comments.
        None => Some(Map::new()),
        Some(Node::Map(entries)) => {
            let value = |(key, node): (String, Node)| {
                let value = if is_written(&key) { node.written() } else { node.typed() };
                (key, value)
            };
            Some(entries.into_iter().map(value).collect())
        }
        Some(_) => None,
    }
}

impl Composer {
    fn event(&mut self, event: Event<'_>) -> Option<()> {
        match event {
            Event::Scalar(text, style, anchor, tag) => {
                let plain = style == ScalarStyle::Plain;
                // In `@`, `&x` or `!x` alone there is a text to keep, which is not the one that YAML reads.
                if plain && matches!(&*text, "" | "~") && (anchor > 0 || tag.is_some()) {
                    return None;
                }
                self.count(1, text.len())?;
                self.add(Node::Scalar { text: text.into_owned(), plain: plain && tag.is_none() }, anchor)
            }
            Event::Alias(anchor) => {
                let node = self.anchors.get(&anchor)?.clone();
                let Size { nodes, bytes, depth } = node.size();
                (self.open.len() + depth <= MAX_DEPTH).then_some(())?;
                self.count(nodes, bytes)?;
                self.add(node, 0)
            }
            Event::SequenceStart(_, anchor, _) => self.enter(OpenCollection::List(Vec::new(), anchor)),
            Event::MappingStart(_, anchor, _) => {
                self.enter(OpenCollection::Map { entries: Vec::new(), key: None, merged: Vec::new(), anchor })
            }
            Event::SequenceEnd | Event::MappingEnd => {
                let (node, anchor) = self.open.pop()?.close()?;
                self.add(node, anchor)
            }
            // A second document.
            Event::DocumentStart(..) if self.root.is_some() => None,
            _ => Some(()),
        }
    }

    fn count(&mut self, nodes: usize, bytes: usize) -> Option<()> {
        self.nodes += nodes;
        self.bytes += bytes;
        (self.nodes <= MAX_NODES && self.bytes <= MAX_BYTES).then_some(())
    }

    fn enter(&mut self, open: OpenCollection) -> Option<()> {
        self.count(1, 0)?;
        self.open.push(open);
        (self.open.len() <= MAX_DEPTH).then_some(())
    }

    /// Adds a complete node to the collection around it.
    fn add(&mut self, node: Node, anchor: usize) -> Option<()> {
        if anchor > 0 {
            self.anchors.insert(anchor, node.clone());
        }
        match self.open.last_mut() {
            None => self.root = Some(node),
            Some(OpenCollection::List(items, _)) => items.push(node),
            Some(OpenCollection::Map { entries, key, merged, .. }) => match key.take() {
                Some(name) if name == "<<" && !matches!(node, Node::Scalar { .. }) => merged.push(node),
                Some(name) => entries.push((name, node)),
                None => match node {
                    // The parser says `~` for a key that is missing, as after the mark in `- ?`.
                    Node::Scalar { text, plain } if !(plain && text == "~") => *key = Some(text),
                    _ => return None,
                },
            },
        }
        Some(())
    }
}

impl OpenCollection {
    /// Completes the collection. Returns `None` if a mapping names a key twice.
    fn close(self) -> Option<(Node, usize)> {
        match self {
            Self::List(items, anchor) => Some((Node::List(items), anchor)),
            Self::Map { mut entries, merged, anchor, .. } => {
                let mut keys = HashSet::new();
                entries.iter().all(|(key, _)| keys.insert(key.clone())).then_some(())?;
                // An entry that `<<` adds replaces none that is there.
                for (key, node) in merged.into_iter().flat_map(Node::entries) {
                    if keys.insert(key.clone()) {
                        entries.push((key, node));
                    }
                }
                Some((Node::Map(entries), anchor))
            }
        }
    }
}

/// The size of a node with everything inside it.
#[derive(Default)]
struct Size {
    nodes: usize,
    bytes: usize,
    depth: usize,
}

impl Node {
    fn size(&self) -> Size {
        let inside = |nodes: &mut dyn Iterator<Item = &Node>| {
            nodes.map(Self::size).fold(Size { nodes: 1, bytes: 0, depth: 1 }, |whole, part| Size {
                nodes: whole.nodes + part.nodes,
                bytes: whole.bytes + part.bytes,
                depth: whole.depth.max(part.depth + 1),
            })
        };
        match self {
            Self::Scalar { text, .. } => Size { nodes: 1, bytes: text.len(), depth: 0 },
            Self::List(items) => inside(&mut items.iter()),
            Self::Map(entries) => inside(&mut entries.iter().map(|(_, node)| node)),
        }
    }

    /// Returns the entries of a mapping, or of the mappings in a list.
    fn entries(self) -> Vec<(String, Self)> {
        match self {
            Self::Map(entries) => entries,
            Self::List(items) => items.into_iter().flat_map(Self::entries).collect(),
            Self::Scalar { .. } => Vec::new(),
        }
    }

    /// Returns the node with every scalar as it was written; only what stands for nothing is `null`.
    fn written(self) -> Value {
        match self {
            Self::Scalar { text, plain } if plain && matches!(text.as_str(), "" | "~" | "null") => Value::Null,
            Self::Scalar { text, .. } => text.into(),
            Self::List(items) => items.into_iter().map(Self::written).collect(),
            Self::Map(entries) => Value::Object(entries.into_iter().map(|(key, node)| (key, node.written())).collect()),
        }
    }

    /// Returns the node with plain scalars as YAML's core schema reads them.
    fn typed(self) -> Value {
        match self {
            Self::Scalar { text, plain: true } => typed(text),
            Self::Scalar { text, .. } => text.into(),
            Self::List(items) => items.into_iter().map(Self::typed).collect(),
            Self::Map(entries) => Value::Object(entries.into_iter().map(|(key, node)| (key, node.typed())).collect()),
        }
    }
}

/// Returns the value of a plain scalar. A number that JSON would write otherwise stays text: `1.10` is a version
/// and `007` a name.
pub(super) fn typed(text: String) -> Value {
    match text.as_str() {
        "" | "~" | "null" | "Null" | "NULL" => Value::Null,
        "true" | "True" | "TRUE" => Value::Bool(true),
        "false" | "False" | "FALSE" => Value::Bool(false),
        number => match number.parse::<Number>() {
            Ok(number) if number.to_string() == text => Value::Number(number),
            _ => text.into(),
        },
    }
}
