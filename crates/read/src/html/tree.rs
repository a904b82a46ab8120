//! The tree of a page, which html5ever's tree builder makes: elements and numbers of texts, linked by their indexes.

use std::borrow::Cow;
use std::cell::{Cell, RefCell};
use std::rc::Rc;

use html5ever::interface::{ElementFlags, NodeOrText, QuirksMode, TreeSink};
use html5ever::tendril::StrTendril;
use html5ever::{Attribute, ExpandedName, QualName, ns};

use super::text::number_of;

/// No node.
const NONE: u32 = u32::MAX;

/// Deepest nesting of elements. Browsers have 512.
const MAX_DEPTH: u16 = 256;

/// Most attributes that later tags may add to an element.
const MAX_ADDED: usize = 100;

/// A node, for the tree builder.
#[derive(Debug, Clone)]
pub(super) struct Handle {
    index: usize,
    name: Rc<QualName>,
}

impl Handle {
    /// Returns the index of the node.
    pub(super) fn index(&self) -> usize {
        self.index
    }
}

/// Which language an element is of.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Space {
    Html,
    Svg,
    Math,
    Other,
}

/// An element.
#[derive(Debug)]
pub(super) struct Element {
    pub(super) space: Space,
    name: Rc<QualName>,
    attributes: Vec<Attribute>,
    /// Whether it is `MathML` that contains HTML.
    has_html: bool,
}

impl Element {
    /// Returns its name.
    pub(super) fn name(&self) -> &str {
        &self.name.local
    }

    /// Returns its name if it is HTML.
    pub(super) fn html(&self) -> Option<&str> {
        (self.space == Space::Html).then(|| self.name())
    }

    /// Returns the value of an attribute.
    pub(super) fn attribute(&self, name: &str) -> Option<&str> {
        self.attributes.iter().find(|attribute| &*attribute.name.local == name).map(|attribute| &*attribute.value)
    }

    /// Returns the number of the text of an attribute.
    pub(super) fn text(&self, name: &str) -> Option<usize> {
        self.attribute(name)?.parse().ok()
    }

    /// Returns its classes.
    pub(super) fn classes(&self) -> impl Iterator<Item = &str> {
        self.attribute("class").unwrap_or_default().split_ascii_whitespace()
    }

    /// Returns whether it has a class.
    pub(super) fn has_class(&self, class: &str) -> bool {
        self.classes().any(|own| own == class)
    }

    /// Returns whether it has a role.
    pub(super) fn has_role(&self, role: &str) -> bool {
        self.attribute("role").is_some_and(|roles| roles.split_ascii_whitespace().any(|own| own == role))
    }
}

/// The kind of a node.
#[derive(Debug)]
pub(super) enum Kind {
    Document,
    Element(Box<Element>),
    /// The text with this number, without its first line end if that is not shown.
    Text {
        number: usize,
        is_cut: bool,
    },
    /// Something without text.
    Nothing,
}

#[derive(Debug)]
struct Node {
    kind: Kind,
    parent: u32,
    before: u32,
    next: u32,
    first: u32,
    last: u32,
    depth: u16,
}

/// The nodes of a page. The first is the document.
#[derive(Debug, Default)]
pub(super) struct Nodes(Vec<Node>);

impl Nodes {
    /// Returns the number of nodes.
    pub(super) fn len(&self) -> usize {
        self.0.len()
    }

    /// Returns what a node is.
    pub(super) fn kind(&self, node: usize) -> &Kind {
        self.0.get(node).map_or(&Kind::Nothing, |node| &node.kind)
    }

    /// Returns the element that a node is.
    pub(super) fn element(&self, node: usize) -> Option<&Element> {
        match self.kind(node) {
            Kind::Element(element) => Some(element),
            _ => None,
        }
    }

    /// Returns the node that it is in.
    pub(super) fn parent(&self, node: usize) -> Option<usize> {
        some(self.0.get(node)?.parent)
    }

    /// Returns the first node in a node.
    pub(super) fn first(&self, node: usize) -> Option<usize> {
        some(self.0.get(node)?.first)
    }

    /// Returns the node that follows in the same node.
    pub(super) fn next(&self, node: usize) -> Option<usize> {
        some(self.0.get(node)?.next)
    }

    /// Returns the nodes in a node, without those in them.
    pub(super) fn children(&self, node: usize) -> impl Iterator<Item = usize> {
        std::iter::successors(self.first(node), |&child| self.next(child))
    }

    /// Returns the elements in a node, without those in them.
    pub(super) fn elements(&self, node: usize) -> impl Iterator<Item = (usize, &Element)> {
        self.children(node).filter_map(|child| Some((child, self.element(child)?)))
    }

    /// Returns the nodes around a node, the nearest first.
    pub(super) fn around(&self, node: usize) -> impl Iterator<Item = usize> {
        std::iter::successors(self.parent(node), |&parent| self.parent(parent))
    }

    /// Visits a node and those in it, in the order of the document. Those in a node are left out if `visit` says `false`.
    pub(super) fn visit(&self, root: usize, mut visit: impl FnMut(usize) -> bool) {
        let mut node = root;
        loop {
            let inside = if visit(node) { self.first(node) } else { None };
            let mut next = inside;
            while next.is_none() && node != root {
                next = self.next(node);
                if next.is_none() {
                    let Some(parent) = self.parent(node) else { return };
                    node = parent;
                }
            }
            let Some(next) = next else { return };
            node = next;
        }
    }

    fn push(&mut self, kind: Kind) -> usize {
        self.0.push(Node { kind, parent: NONE, before: NONE, next: NONE, first: NONE, last: NONE, depth: 0 });
        self.0.len() - 1
    }

    fn detach(&mut self, node: usize) {
        let Some(it) = self.0.get_mut(node) else { return };
        let (parent, before, next) = (it.parent, it.before, it.next);
        (it.parent, it.before, it.next) = (NONE, NONE, NONE);
        match some(before) {
            Some(before) => self.0[before].next = next,
            None => {
                if let Some(parent) = some(parent) {
                    self.0[parent].first = next;
                }
            }
        }
        match some(next) {
            Some(next) => self.0[next].before = before,
            None => {
                if let Some(parent) = some(parent) {
                    self.0[parent].last = before;
                }
            }
        }
    }

    /// Puts a node into another: before a node in there, or at the end.
    fn insert(&mut self, node: usize, parent: usize, next: Option<usize>) {
        self.detach(node);
        let before = next.map_or(self.0[parent].last, |next| self.0[next].before);
        let depth = self.0[parent].depth.saturating_add(1);
        let it = &mut self.0[node];
        (it.parent, it.before, it.next, it.depth) = (index(parent), before, next.map_or(NONE, index), depth);
        match some(before) {
            Some(before) => self.0[before].next = index(node),
            None => self.0[parent].first = index(node),
        }
        match next {
            Some(next) => self.0[next].before = index(node),
            None => self.0[parent].last = index(node),
        }
    }
}

fn some(index: u32) -> Option<usize> {
    (index != NONE).then_some(index as usize)
}

/// Converts an index. There are fewer nodes, because a page is not longer than 1 GiB and the tree has a limit.
fn index(node: usize) -> u32 {
    u32::try_from(node).unwrap_or(NONE)
}

/// Builds the tree.
#[derive(Debug)]
pub(super) struct Tree {
    nodes: RefCell<Nodes>,
    document: Rc<QualName>,
    /// How many nodes and attributes there may be more.
    left: Cell<usize>,
    is_full: Cell<bool>,
    /// Depth of the element that is open.
    depth: Cell<u16>,
    /// How many elements were open when they were counted.
    open: Cell<usize>,
}

impl Tree {
    pub(super) fn new(most: usize) -> Self {
        let mut nodes = Nodes::default();
        nodes.push(Kind::Document);
        Self {
            nodes: RefCell::new(nodes),
            document: Rc::new(QualName::new(None, ns!(), "".into())),
            left: Cell::new(most),
            is_full: Cell::new(false),
            depth: Cell::new(0),
            open: Cell::new(0),
        }
    }

    /// Returns whether there are more nodes than there may be.
    pub(super) fn is_full(&self) -> bool {
        self.is_full.get()
    }

    /// Returns whether no more elements may be nested in what is open.
    pub(super) fn is_deep(&self) -> bool {
        self.depth.get() >= MAX_DEPTH || self.open.get() >= usize::from(MAX_DEPTH)
    }

    /// Says how many elements are open.
    pub(super) fn set_open(&self, open: usize) {
        self.open.set(open);
        if open < usize::from(MAX_DEPTH) {
            self.depth.set(u16::try_from(open).unwrap_or(MAX_DEPTH));
        }
    }

    /// Returns the nodes.
    pub(super) fn nodes(self) -> Nodes {
        self.nodes.into_inner()
    }

    fn pay(&self, nodes: usize) -> bool {
        let left = self.left.get().checked_sub(nodes);
        self.is_full.set(self.is_full.get() || left.is_none());
        self.left.set(left.unwrap_or(0));
        left.is_some()
    }

    fn put(&self, parent: usize, next: Option<usize>, child: NodeOrText<Handle>) {
        let nodes = &mut *self.nodes.borrow_mut();
        match child {
            NodeOrText::AppendNode(handle) => {
                nodes.insert(handle.index, parent, next);
                self.depth.set(nodes.0[handle.index].depth);
            }
            NodeOrText::AppendText(code) => {
                self.depth.set(nodes.0[parent].depth);
                if let Some((number, is_cut)) = number_of(&code).filter(|_| self.pay(1)) {
                    let text = nodes.push(Kind::Text { number, is_cut });
                    nodes.insert(text, parent, next);
                }
            }
        }
    }

    fn nothing(&self) -> Handle {
        let index = self.nodes.borrow_mut().push(Kind::Nothing);
        Handle { index, name: self.document.clone() }
    }
}

impl TreeSink for Tree {
    type Handle = Handle;
    type Output = Self;
    type ElemName<'a> = ExpandedName<'a>;

    fn finish(self) -> Self {
        self
    }

    fn parse_error(&self, _: Cow<'static, str>) {}

    fn get_document(&self) -> Handle {
        Handle { index: 0, name: self.document.clone() }
    }

    fn elem_name<'a>(&'a self, target: &'a Handle) -> ExpandedName<'a> {
        target.name.expanded()
    }

    fn create_element(&self, name: QualName, attributes: Vec<Attribute>, flags: ElementFlags) -> Handle {
        self.pay(1 + attributes.len());
        // Over the limit, what is left of the token makes elements without attributes.
        let attributes = if self.is_full.get() { Vec::new() } else { attributes };
        let space = match name.ns {
            ns!(html) => Space::Html,
            ns!(svg) => Space::Svg,
            ns!(mathml) => Space::Math,
            _ => Space::Other,
        };
        let name = Rc::new(name);
        let has_html = flags.mathml_annotation_xml_integration_point;
        let element = Element { space, name: name.clone(), attributes, has_html };
        let index = self.nodes.borrow_mut().push(Kind::Element(Box::new(element)));
        Handle { index, name }
    }

    fn create_comment(&self, _: StrTendril) -> Handle {
        self.nothing()
    }

    fn create_pi(&self, _: StrTendril, _: StrTendril) -> Handle {
        self.nothing()
    }

    fn append(&self, parent: &Handle, child: NodeOrText<Handle>) {
        self.put(parent.index, None, child);
    }

    fn append_based_on_parent_node(&self, element: &Handle, previous: &Handle, child: NodeOrText<Handle>) {
        let parent = self.nodes.borrow().parent(element.index);
        match parent {
            Some(parent) => self.put(parent, Some(element.index), child),
            None => self.put(previous.index, None, child),
        }
    }

    fn append_doctype_to_document(&self, _: StrTendril, _: StrTendril, _: StrTendril) {}

    fn pop(&self, node: &Handle) {
        self.depth.set(self.nodes.borrow().0[node.index].depth.saturating_sub(1));
    }

    fn get_template_contents(&self, target: &Handle) -> Handle {
        target.clone()
    }

    fn same_node(&self, one: &Handle, other: &Handle) -> bool {
        one.index == other.index
    }

    fn set_quirks_mode(&self, _: QuirksMode) {}

    fn append_before_sibling(&self, sibling: &Handle, child: NodeOrText<Handle>) {
        let parent = self.nodes.borrow().parent(sibling.index);
        if let Some(parent) = parent {
            self.put(parent, Some(sibling.index), child);
        }
    }

    fn add_attrs_if_missing(&self, target: &Handle, attributes: Vec<Attribute>) {
        if let Kind::Element(element) = &mut self.nodes.borrow_mut().0[target.index].kind {
            for attribute in attributes {
                let is_new = element.attributes.iter().all(|own| own.name != attribute.name);
                if is_new && element.attributes.len() < MAX_ADDED {
                    element.attributes.push(attribute);
                }
            }
        }
    }

    fn remove_from_parent(&self, target: &Handle) {
        self.nodes.borrow_mut().detach(target.index);
    }

    fn reparent_children(&self, node: &Handle, parent: &Handle) {
        let nodes = &mut *self.nodes.borrow_mut();
        while let Some(child) = nodes.first(node.index) {
            nodes.insert(child, parent.index, None);
        }
    }

    fn is_mathml_annotation_xml_integration_point(&self, handle: &Handle) -> bool {
        self.nodes.borrow().element(handle.index).is_some_and(|element| element.has_html)
    }

    fn allow_declarative_shadow_roots(&self, _: &Handle) -> bool {
        false
    }
}
