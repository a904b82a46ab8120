//! The tags and texts of a page, which html5gum reads, passed to html5ever's tree builder.
//!
//! Of a text, the tree builder checks only whether it is white space, and whether it begins with a line end. So it gets
//! the number of each text instead, in letters or in white space, and the tree has numbers of texts whose bytes are
//! known. Of attributes, it gets those that it or the reader looks at.
//!
//! Some pages would take the tree builder quadratic time. Tags that are nested too deeply are left out here, and the tree
//! has a limit of nodes.

use std::cell::RefCell;
use std::collections::HashSet;

use chunkmill_base::error::Skip;
use html5ever::tokenizer::states::RawKind;
use html5ever::tokenizer::{Doctype, Tag, TagKind, Token, TokenSink, TokenSinkResult};
use html5ever::tree_builder::{Tracer, TreeBuilder, TreeBuilderOpts};
use html5ever::{Attribute, LocalName, QualName, ns};
use html5gum::{Emitter, Error, State, Tokenizer};

use super::element::{is_raw, is_void};
use super::text::{Run, Texts, split_white, white_code};
use super::tree::{Handle, Nodes, Tree};

/// Most attributes of a tag. More are left out.
const MAX_ATTRIBUTES: usize = 1000;

/// Nodes that the tree of any page may have. It may have one more for each byte of the page.
const FREE_NODES: usize = 100_000;

/// End tags after which the open elements are counted again.
const ENDS: usize = 16;

/// The attributes that are looked at.
const ATTRIBUTES: &[&str] = &[
    "alt",
    "alttext",
    "aria-hidden",
    "checked",
    "class",
    "color",
    "colspan",
    "content",
    "data-footnote-backref",
    "data-footnote-ref",
    "data-lang",
    "data-language",
    "data-line-number",
    "display",
    "encoding",
    "epub:type",
    "face",
    "hidden",
    "href",
    "http-equiv",
    "id",
    "lang",
    "name",
    "open",
    "property",
    "rel",
    "role",
    "rowspan",
    "size",
    "src",
    "start",
    "style",
    "type",
    "value",
    "xml:lang",
];

/// The attributes whose values are texts of the page.
const TEXTS: [&str; 2] = ["alt", "alttext"];

/// The content of a page.
#[derive(Debug)]
pub(super) struct Page<'t> {
    pub(super) source: &'t str,
    pub(super) nodes: Nodes,
    pub(super) texts: Texts,
    /// All comments, one after the other.
    pub(super) comments: String,
}

/// Reads a page; `is_xml` says that it is XHTML, whether or not it says so.
///
/// # Errors
/// [`Skip::Malformed`] if its tree would be much larger than the page.
pub(super) fn page(source: &str, is_xml: bool) -> Result<Page<'_>, Skip> {
    let start = if source.starts_with('\u{feff}') { '\u{feff}'.len_utf8() } else { 0 };
    let most = FREE_NODES + source.len();
    let mut tokens = Tokens {
        source,
        builder: TreeBuilder::new(
            Tree::new(most),
            TreeBuilderOpts { drop_doctype: true, ..TreeBuilderOpts::default() },
        ),
        is_xml: is_xml || source[start..].trim_start().starts_with("<?xml"),
        position: start,
        run: Run::new(source),
        value: Run::new(source),
        texts: Texts::default(),
        tag: Vec::new(),
        is_end: false,
        self_closing: false,
        attributes: Vec::new(),
        seen: 0,
        attribute: Vec::new(),
        bytes: Vec::new(),
        last_start: Vec::new(),
        skipped: Vec::new(),
        comment: Vec::new(),
        comments: String::new(),
        doctype: Doctype::default(),
        ended: 0,
        stopped: false,
    };
    tokens.run.seek(start);
    if Tokenizer::new_with_emitter(&source[start..], &mut tokens).next().is_some() {
        let problem = format!("its tags make a tree of more than {most} nodes");
        return Err(Skip::Malformed { format: "a page", problem });
    }
    let nodes = tokens.builder.sink.nodes();
    Ok(Page { source, nodes, texts: tokens.texts, comments: tokens.comments })
}

/// Takes tokens from html5gum.
#[expect(clippy::struct_excessive_bools, reason = "they are about different things")]
struct Tokens<'t> {
    source: &'t str,
    builder: TreeBuilder<Handle, Tree>,
    /// Whether `<a/>` is an empty element.
    is_xml: bool,
    /// Where the tokenizer stands.
    position: usize,
    /// The text between two tags.
    run: Run<'t>,
    /// The value of an attribute that is a text of the page.
    value: Run<'t>,
    texts: Texts,
    /// The name of the tag that is being read.
    tag: Vec<u8>,
    is_end: bool,
    self_closing: bool,
    attributes: Vec<(&'static str, String)>,
    /// How many attributes it has, with those that are not kept.
    seen: usize,
    /// The name and the value of the attribute that is being read.
    attribute: Vec<u8>,
    bytes: Vec<u8>,
    last_start: Vec<u8>,
    /// Tags that were left out because they are too deep.
    skipped: Vec<Vec<u8>>,
    comment: Vec<u8>,
    comments: String,
    doctype: Doctype,
    /// How many end tags came since the open elements were counted.
    ended: usize,
    stopped: bool,
}

/// The elements that the tree builder still uses: those that are open, and those that it opens again before the next text.
#[derive(Default)]
struct Open(RefCell<HashSet<usize>>);

impl Tracer for Open {
    type Handle = Handle;

    fn trace_handle(&self, node: &Handle) {
        self.0.borrow_mut().insert(node.index());
    }
}

impl Tokens<'_> {
    /// Passes a token on. The result may say how the tokenizer goes on.
    fn pass(&mut self, token: Token) -> Option<State> {
        if self.stopped {
            return None;
        }
        let result = self.builder.process_token(token, 1);
        self.stopped = self.builder.sink.is_full();
        match result {
            TokenSinkResult::Continue | TokenSinkResult::EncodingIndicator(_) => None,
            TokenSinkResult::Script(_) => Some(State::Data),
            TokenSinkResult::Plaintext => Some(State::PlainText),
            TokenSinkResult::RawData(RawKind::Rcdata) => Some(State::RcData),
            TokenSinkResult::RawData(RawKind::Rawtext) => Some(State::RawText),
            TokenSinkResult::RawData(RawKind::ScriptData | RawKind::ScriptDataEscaped(_)) => Some(State::ScriptData),
        }
    }

    /// Passes the text before a tag on, by its number.
    fn pass_text(&mut self) {
        if self.run.is_empty() {
            return;
        }
        let (white, rest) = split_white(self.source, self.run.take());
        if !white.is_empty() {
            let starts_line = match white.first() {
                Some(super::text::Piece::Same(range)) => self.source[range.clone()].starts_with('\n'),
                Some(super::text::Piece::Other(text, _)) => text.starts_with('\n'),
                None => false,
            };
            let number = self.texts.add(white);
            self.pass(Token::CharacterTokens(white_code(number, starts_line).as_str().into()));
        }
        if !rest.is_empty() {
            let number = self.texts.add(rest);
            self.pass(Token::CharacterTokens(format!("x{number}").as_str().into()));
        }
    }

    /// Keeps the attribute that was read.
    fn end_attribute(&mut self) {
        if self.attribute.is_empty() {
            return;
        }
        let name = std::mem::take(&mut self.attribute);
        let bytes = std::mem::take(&mut self.bytes);
        let pieces = self.value.take();
        let Some(known) = ATTRIBUTES.iter().find(|known| known.as_bytes() == name) else { return };
        if self.seen > MAX_ATTRIBUTES || self.is_end || self.attributes.iter().any(|(name, _)| name == known) {
            return;
        }
        let value = if TEXTS.contains(known) {
            self.texts.add(pieces).to_string()
        } else {
            String::from_utf8(bytes).unwrap_or_else(|error| String::from_utf8_lossy(error.as_bytes()).into_owned())
        };
        self.attributes.push((known, value));
    }

    /// Returns whether nothing more may be nested in what is open.
    fn is_deep(&mut self) -> bool {
        if self.ended >= ENDS {
            // The tree is not told of all ends, and not of elements that change places.
            let open = Open::default();
            self.builder.trace_handles(&open);
            self.builder.sink.set_open(open.0.into_inner().len());
            self.ended = 0;
        }
        self.builder.sink.is_deep()
    }

    /// Returns whether a start tag is too deep, and remembers it.
    fn skips_start(&mut self) -> bool {
        if !self.is_deep() {
            self.skipped.clear();
            return false;
        }
        if is_void(&self.tag) || is_raw(&self.tag) {
            return false;
        }
        self.skipped.push(self.tag.clone());
        true
    }

    fn start_tag(&mut self) -> Option<State> {
        let name = LocalName::from(&*String::from_utf8_lossy(&self.tag));
        let attrs = self.attributes.drain(..).map(|(name, value)| Attribute {
            name: QualName::new(None, ns!(), LocalName::from(name)),
            value: value.as_str().into(),
        });
        let tag = Tag {
            kind: TagKind::StartTag,
            name: name.clone(),
            self_closing: self.self_closing,
            attrs: attrs.collect(),
            had_duplicate_attributes: false,
        };
        let state = self.pass(Token::TagToken(tag));
        let closes = self.is_xml && self.self_closing && !is_void(&self.tag) && !matches!(&*name, "svg" | "math");
        if closes && !self.builder.adjusted_current_node_present_but_not_in_html_namespace() {
            self.pass(end_tag(name));
            return None;
        }
        state
    }
}

fn end_tag(name: LocalName) -> Token {
    let kind = TagKind::EndTag;
    Token::TagToken(Tag { kind, name, self_closing: false, attrs: Vec::new(), had_duplicate_attributes: false })
}

impl Emitter for &mut Tokens<'_> {
    type Token = ();

    fn set_last_start_tag(&mut self, name: Option<&[u8]>) {
        self.last_start = name.unwrap_or_default().to_vec();
    }

    fn emit_eof(&mut self) {
        self.pass_text();
        self.pass(Token::EOFToken);
        self.builder.end();
    }

    fn emit_error(&mut self, _: Error) {}

    fn should_emit_errors(&mut self) -> bool {
        false
    }

    fn pop_token(&mut self) -> Option<()> {
        self.stopped.then_some(())
    }

    fn init_string(&mut self) {
        let position = self.position;
        self.run.seek(position);
    }

    fn emit_string(&mut self, part: &[u8]) {
        if part == b"\0" {
            // The tree builder ignores it in text.
            self.run.pass();
            return;
        }
        let position = self.position;
        self.run.push(part, position);
    }

    fn init_start_tag(&mut self) {
        self.tag.clear();
        self.attributes.clear();
        (self.is_end, self.self_closing, self.seen) = (false, false, 0);
    }

    fn init_end_tag(&mut self) {
        self.init_start_tag();
        self.is_end = true;
    }

    fn init_comment(&mut self) {
        self.comment.clear();
    }

    fn emit_current_tag(&mut self) -> Option<State> {
        self.end_attribute();
        self.pass_text();
        let state = if self.is_end {
            self.last_start.clear();
            self.ended += 1;
            if self.skipped.last() == Some(&self.tag) && self.is_deep() {
                self.skipped.pop();
                None
            } else {
                let name = LocalName::from(&*String::from_utf8_lossy(&self.tag));
                self.pass(end_tag(name))
            }
        } else {
            self.last_start.clone_from(&self.tag);
            if self.skips_start() { None } else { self.start_tag() }
        };
        let position = self.position;
        self.run.seek(position);
        state
    }

    fn emit_current_comment(&mut self) {
        let comment = String::from_utf8_lossy(&self.comment).into_owned();
        self.comments.push_str(&comment);
        self.comment.clear();
        let position = self.position;
        self.run.seek(position);
    }

    fn emit_current_doctype(&mut self) {
        self.pass_text();
        let doctype = std::mem::take(&mut self.doctype);
        self.pass(Token::DoctypeToken(doctype));
        let position = self.position;
        self.run.seek(position);
    }

    fn set_self_closing(&mut self) {
        self.self_closing = !self.is_end;
    }

    fn set_force_quirks(&mut self) {
        self.doctype.force_quirks = true;
    }

    fn push_tag_name(&mut self, part: &[u8]) {
        self.tag.extend(part);
    }

    fn push_comment(&mut self, part: &[u8]) {
        self.comment.extend(part);
    }

    fn push_doctype_name(&mut self, part: &[u8]) {
        let part = String::from_utf8_lossy(part).into_owned();
        self.doctype.name.get_or_insert_default().push_slice(&part);
    }

    fn init_doctype(&mut self) {
        self.doctype = Doctype::default();
    }

    fn init_attribute(&mut self) {
        self.end_attribute();
        self.seen += 1;
        self.bytes.clear();
    }

    fn init_attribute_value(&mut self) {
        let position = self.position;
        self.value.seek(position);
    }

    fn push_attribute_name(&mut self, part: &[u8]) {
        self.attribute.extend(part);
    }

    fn push_attribute_value(&mut self, part: &[u8]) {
        if TEXTS.iter().any(|text| text.as_bytes() == self.attribute) {
            let position = self.position;
            self.value.push(part, position);
        } else {
            self.bytes.extend(part);
        }
    }

    fn set_doctype_public_identifier(&mut self, value: &[u8]) {
        self.doctype.public_id = Some((&*String::from_utf8_lossy(value)).into());
    }

    fn set_doctype_system_identifier(&mut self, value: &[u8]) {
        self.doctype.system_id = Some((&*String::from_utf8_lossy(value)).into());
    }

    fn push_doctype_public_identifier(&mut self, part: &[u8]) {
        let part = String::from_utf8_lossy(part).into_owned();
        self.doctype.public_id.get_or_insert_default().push_slice(&part);
    }

    fn push_doctype_system_identifier(&mut self, part: &[u8]) {
        let part = String::from_utf8_lossy(part).into_owned();
        self.doctype.system_id.get_or_insert_default().push_slice(&part);
    }

    fn current_is_appropriate_end_tag_token(&mut self) -> bool {
        self.is_end && !self.last_start.is_empty() && self.last_start == self.tag
    }

    fn adjusted_current_node_present_but_not_in_html_namespace(&mut self) -> bool {
        let is_text = self.is_xml || self.builder.adjusted_current_node_present_but_not_in_html_namespace();
        if is_text {
            // A text begins here, in which there are no character references.
            let position = self.position;
            self.run.seek(position);
        }
        is_text
    }

    fn move_position(&mut self, by: isize) {
        self.position = self.position.saturating_add_signed(by);
    }
}
