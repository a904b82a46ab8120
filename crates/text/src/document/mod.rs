//! A document, parsed once: its text, blocks with byte ranges, sections, front matter, tags, links and positions.
//! Every chunking strategy reads this, and none parses again.
//!
//! All ranges are byte ranges of [`Document::text`], which are byte ranges of the file if it is UTF-8. Parsing
//! cannot fail: anything odd about a document becomes a [`flag`](Document::flags), and no byte of its text is
//! lost.

mod anchor;
mod code;
mod data_url;
mod depth;
mod encoding;
mod format;
mod front_matter;
mod layer;
pub mod line;
mod markdown;
mod name;
mod nodes;
mod origin;
mod position;
mod regions;
mod room;
mod security;
mod structured;
mod tag;
mod text;
mod trial;

use std::collections::HashSet;
use std::ops::Range;

use chunkmill_base::value::named;
use serde_json::{Map, Value};

#[doc(hidden)] // The tests call it directly.
pub use anchor::slug;
pub use data_url::{INLINE_DATA, around_data_urls, blank_data_urls, short_target, without_data_urls};
pub use format::{Format, Language};
pub use layer::{Layer, MAX_BYTES, Refusal};
#[doc(hidden)] // The tests call it directly.
pub use name::name;
pub use origin::{DEFAULT_COLLECTION, EXTERNAL, Origin};
pub use position::Positions;
pub(crate) use position::padded;
pub(crate) use regions::{fence, inside_containers};
pub use security::after_scheme;
pub use security::{Admission, MANY_SIGNALS, MAX_SIGNALS, SecurityProfile, Signal, SignalKind};
pub use structured::{MALFORMED_JSON, MALFORMED_YAML};

use room::Room;

/// Version of this module's output. It is recorded in every dataset. Increase it when a change here can alter a
/// block, a section, a tag or a position.
pub const PARSER_VERSION: u32 = 5;

/// Flag of a document whose front matter breaks the rules of its syntax and was read line by line. If it does not
/// look like keys with values at all, or exceeds the limits, it stays in the body as text, so nothing is lost.
pub const MALFORMED_FRONT_MATTER: &str = "malformed_front_matter";

/// Flag of a document with more than [`MAX_TAGS`] tags. The rest are not recorded.
pub const MANY_TAGS: &str = "many_tags";

/// Flag of a document that the security profile would have blocked, and of its chunks.
pub const DOCUMENT_BLOCKED: &str = "document_blocked";

/// Maximum number of tags recorded per document. Every chunk repeats them, so there must be a limit.
pub const MAX_TAGS: usize = 200;

/// Maximum number of characters of a heading that become a section's title, for the same reason. The text of the
/// heading itself is never cut.
pub const MAX_TITLE: usize = 300;

/// The kind of a block.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum BlockKind {
    /// An ATX or setext heading of level 1 to 6.
    Heading(u8),
    /// A paragraph.
    Paragraph,
    /// A list; its items are its children.
    List,
    /// A list item.
    ListItem,
    /// A fenced or indented code block; in source code, everything except documentation comments. In source code,
    /// its children are the parts separated by blank lines.
    Code,
    /// A table.
    Table,
    /// A block quote.
    Quote,
    /// An HTML block.
    Html,
    /// A footnote definition.
    Footnote,
    /// A paragraph that contains only display math.
    Math,
    /// A thematic break.
    Rule,
    /// Link reference definitions, which markdown parsers do not report.
    References,
    /// Text that a site generator reads instead of markdown: MDX code, or a template tag with its content.
    Template,
    /// Front matter that is kept as text: it could not be read, or there is no other text.
    FrontMatter,
    /// A key with its value, or an element, in YAML or JSON; the entries inside are its children.
    Entry,
    /// A documentation comment in source code, or the comments about a whole YAML or JSON file.
    Comment,
}

impl BlockKind {
    /// Returns the name used in flags and messages.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Self::Heading(_) => "heading",
            Self::Paragraph => "paragraph",
            Self::List => "list",
            Self::ListItem => "list_item",
            Self::Code => "code_block",
            Self::Table => "table",
            Self::Quote => "quote",
            Self::Html => "html",
            Self::Footnote => "footnote",
            Self::Math => "math",
            Self::Rule => "rule",
            Self::References => "references",
            Self::Template => "template",
            Self::FrontMatter => "front_matter",
            Self::Entry => "entry",
            Self::Comment => "doc_comment",
        }
    }

    /// Returns the flag of a chunk that is one block of this kind and exceeds the maximum size.
    #[must_use]
    pub const fn oversized(self) -> &'static str {
        match self {
            Self::Heading(_) => "oversized_heading",
            Self::Paragraph => "oversized_paragraph",
            Self::List | Self::ListItem => "oversized_list_item",
            Self::Code => "oversized_code_block",
            Self::Table => "oversized_table",
            Self::Quote => "oversized_quote",
            Self::Html => "oversized_html",
            Self::Footnote => "oversized_footnote",
            Self::Math => "oversized_math",
            Self::Rule => "oversized_rule",
            Self::References => "oversized_references",
            Self::Template => "oversized_template",
            Self::FrontMatter => "oversized_front_matter",
            Self::Entry => "oversized_entry",
            Self::Comment => "oversized_doc_comment",
        }
    }
}

/// A piece of structure. Blocks are in document order, a container before its contents.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Block {
    /// Its kind.
    pub kind: BlockKind,
    /// Its bytes, from the start of its first line.
    pub range: Range<usize>,
    /// Index of the next block that it does not contain.
    pub next: usize,
}

impl Block {
    /// Returns whether it is a heading.
    #[must_use]
    pub fn is_heading(&self) -> bool {
        matches!(self.kind, BlockKind::Heading(_))
    }
}

/// A heading and the text below it, up to the next heading of any level; or the text before the first heading.
/// Headings inside quotes, lists and `:::` containers do not open a section.
///
/// In YAML and JSON, the headings are the keys of the top-level mapping. In source code, the headings are the
/// items: functions, types and, inside a class or module, its members. Text between two items is again a section
/// of the enclosing class or module, or a section of level 0 at the top level.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Section {
    /// Heading level from 1 to 6; 0 for text under no heading. Outside source code, only the text before the first
    /// heading has level 0.
    pub level: u8,
    /// Heading text without markup; empty for the text before the first heading.
    pub title: String,
    /// Its bytes. The sections of a document follow each other without gaps.
    pub range: Range<usize>,
    /// Index of the section whose heading this one is under.
    pub parent: Option<usize>,
    /// Its name in a link, after `#`: the heading's own `{#id}`, otherwise GitHub's name for it. Empty for the
    /// text before the first heading.
    pub anchor: String,
    /// Whether it continues the last section of its level after deeper sections interrupted that one: text between
    /// two members of a class belongs to the class again. Only in source code.
    pub continues: bool,
}

/// How a link is written.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum LinkKind {
    /// `[text](target)`, a reference link or an autolink.
    Link,
    /// `[[target]]` or `[[target|text]]`.
    Wikilink,
    /// `![alt](target)` or `![[target]]`.
    Image,
}

impl LinkKind {
    /// All kinds.
    pub const ALL: [Self; 3] = [Self::Link, Self::Wikilink, Self::Image];

    /// Returns the name written to datasets.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Self::Link => "link",
            Self::Wikilink => "wikilink",
            Self::Image => "image",
        }
    }
}

named!(LinkKind, "a kind of link");

/// A link or image.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Link {
    /// How it is written.
    pub kind: LinkKind,
    /// Whether its target is a name, as in `[[name]]` and `![[name]]`, rather than a path.
    pub named: bool,
    /// Its target, with references resolved inside the document.
    pub target: String,
    /// Its text; for an image, its alternative text.
    pub text: String,
    /// Its bytes.
    pub range: Range<usize>,
}

/// A footnote definition that no other block contains.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Footnote {
    /// The label that references use.
    pub label: String,
    /// Index of its block in [`Document::blocks`].
    pub block: usize,
}

/// A parsed document.
#[derive(Debug, Clone)]
pub struct Document {
    /// Where it came from.
    pub origin: Origin,
    /// BLAKE3 of the file's bytes, in hexadecimal.
    pub content_hash: String,
    /// Size of the file in bytes.
    pub bytes: u64,
    /// The format it was read as.
    pub format: Format,
    /// The whole text, including any byte order mark and front matter.
    pub text: String,
    /// The text without byte order mark and front matter. This part is chunked. If there is no other text, it is the
    /// front matter itself, without the lines around it.
    pub body: Range<usize>,
    /// The blocks of the body.
    pub blocks: Vec<Block>,
    /// Indices of the blocks that no other contains.
    top_level: Vec<usize>,
    /// The sections of the body; empty if the body is blank.
    pub sections: Vec<Section>,
    /// Title from the front matter, otherwise the first heading of level 1 in markdown, which may be an `<h1>`.
    pub title: Option<String>,
    /// Tags from the front matter and `#tag`s in the text, without `#`, in order and without duplicates.
    pub tags: Vec<String>,
    /// Aliases from the front matter.
    pub aliases: Vec<String>,
    /// The rest of the front matter.
    pub metadata: Map<String, Value>,
    /// Promotion level from the front matter: how far the document's knowledge is proven. `None` in the collection
    /// [`EXTERNAL`], whose documents have no promotion level.
    pub promotion_level: Option<String>,
    /// Links and images in document order.
    pub links: Vec<Link>,
    /// More places that a link can name, with their byte offsets, in document order: `id`s of HTML elements,
    /// `name`s of HTML anchors, and headings that do not open a section.
    pub anchors: Vec<(String, usize)>,
    /// Footnote definitions in document order.
    pub footnotes: Vec<Footnote>,
    /// Inline `data:` URLs in document order: text that stands for bytes, and that says nothing to a reader.
    pub data_urls: Vec<Range<usize>>,
    /// Content that may harm a page or a model, ordered by where it starts.
    pub signals: Vec<Signal>,
    /// Flags for anything odd about the document.
    pub flags: Vec<&'static str>,
    /// Converts byte offsets to characters and lines.
    pub positions: Positions,
}

/// A document that exceeds its memory limit.
#[derive(Debug)]
pub struct Costly {
    /// Where it came from.
    pub origin: Origin,
    /// BLAKE3 of the file's bytes, in hexadecimal.
    pub content_hash: String,
    /// Memory in bytes that it takes at least, or may take.
    pub memory: u64,
}

/// The result of parsing a body.
#[derive(Debug, Default)]
struct Parsed {
    blocks: Vec<Block>,
    headings: Vec<Heading>,
    links: Vec<Link>,
    tags: Vec<String>,
    flags: Vec<&'static str>,
    anchors: Vec<(String, usize)>,
    footnotes: Vec<Footnote>,
    markup: Markup,
}

/// Parts of a document that a page does not show as text. All are in document order.
#[derive(Debug, Default)]
struct Markup {
    /// HTML blocks and inline tags.
    html: Vec<Range<usize>>,
    /// Bytes inside the HTML blocks that belong to the enclosing quote or list.
    gaps: Vec<Range<usize>>,
    /// Comments in a template language.
    comments: Vec<Range<usize>>,
    /// Code inside paragraphs.
    code: Vec<Range<usize>>,
}

#[derive(Debug)]
struct Heading {
    level: u8,
    title: String,
    anchor: String,
    start: usize,
    continues: bool,
}

impl Document {
    /// Parses the text of one document. This is linear in the length of the text, whatever it contains.
    #[must_use]
    pub fn parse(origin: Origin, layer: Layer) -> Self {
        Self::read(origin, layer, &mut Room::new(u64::MAX))
    }

    /// Parses a document that may take at most `memory` bytes, both while it is parsed and afterwards.
    ///
    /// # Errors
    /// Returns the document as [`Costly`] if it would take more.
    pub fn parse_within(origin: Origin, layer: Layer, memory: u64) -> Result<Self, Costly> {
        let mut room = Room::new(memory);
        let document = Self::read(origin, layer, &mut room);
        tracing::debug!("{} may need {} bytes of memory", document.origin.path, room.used());
        if room.is_over() {
            let Self { origin, content_hash, .. } = document;
            return Err(Costly { origin, content_hash, memory: room.used() });
        }
        Ok(document)
    }

    /// Parses a document and leaves out anything there is no room for.
    fn read(origin: Origin, layer: Layer, room: &mut Room) -> Self {
        room.take_text(&layer.text);
        let format = Format::of_path(&origin.path);
        let text = layer.text;
        let mut body = (if text.starts_with('\u{feff}') { '\u{feff}'.len_utf8() } else { 0 })..text.len();
        let mut flags = Vec::new();
        let mut front = front_matter::FrontMatter::default();
        let mut kept = None;
        if format == Format::Markdown
            && let Some(block) = front_matter::find(&text, body.start)
        {
            if let Some((parsed, breaks)) = front_matter::parse(&block, &text) {
                front = parsed;
                flags.extend(breaks.then_some(MALFORMED_FRONT_MATTER));
                if is_blank(&text[block.end..]) && front.speaks() {
                    // It is all that the page says, so the page is found by it.
                    body = block.inner;
                    kept = Some(trim(&text, body.clone()));
                } else {
                    body.start = block.end;
                }
            } else {
                flags.push(MALFORMED_FRONT_MATTER);
                kept = Some(body.start..block.end);
            }
        }
        let positions = Positions::new(&text);
        let scan = kept.as_ref().map_or(body.start, |front| front.end)..body.end;
        let mut parsed = match format {
            Format::Markdown => markdown::parse(&text, scan, kept.as_ref(), &positions, is_mdx(&origin.path), room),
            Format::Text => text::parse(&text, scan, room),
            Format::Yaml => structured::yaml(&text, scan, room),
            Format::Json => structured::json(&text, scan, room),
            Format::Code(language) => code::parse(&text, scan, language, room),
        };
        flags.append(&mut parsed.flags);
        if format != Format::Markdown {
            let mut slugger = anchor::Slugger::default();
            for heading in parsed.headings.iter_mut().filter(|heading| heading.level > 0) {
                heading.anchor = slugger.name(&heading.title);
            }
        }
        // A heading is recorded when it ends, which is after the elements inside it.
        parsed.anchors.sort_by_key(|(_, at)| *at);
        let sections = sections(&text, &body, &mut parsed.headings);
        let leveled = *origin.collection != *EXTERNAL;
        let promotion_level = if leveled { front.take("promotion_level") } else { None };
        let mut titles = sections.iter().filter(|section| section.level == 1 && format == Format::Markdown);
        let title = front.title.or_else(|| {
            let (first, html) = (titles.next(), anchor::html_title(&text, &parsed.markup.html));
            let html = html.filter(|(_, at)| first.is_none_or(|section| *at < section.range.start));
            html.map(|(title, _)| title).or_else(|| first.map(|section| section.title.clone()))
        });
        let mut tags = front.tags;
        tags.append(&mut parsed.tags);
        let mut tags = unique(tags);
        if tags.len() > MAX_TAGS {
            tags.truncate(MAX_TAGS);
            flags.push(MANY_TAGS);
        }
        let (signals, many) = security::scan(&text, &origin.path, format, positions.is_ascii(), &parsed);
        if many {
            flags.push(MANY_SIGNALS);
        }
        Self {
            content_hash: layer.hash,
            bytes: layer.bytes,
            format,
            positions,
            body,
            top_level: top_level(&parsed.blocks),
            blocks: parsed.blocks,
            sections,
            title: title.filter(|title| !title.is_empty()),
            tags,
            aliases: unique(front.aliases),
            metadata: front.metadata,
            promotion_level,
            links: parsed.links,
            anchors: parsed.anchors,
            footnotes: parsed.footnotes,
            data_urls: data_url::data_urls(&text),
            signals,
            flags,
            origin,
            text,
        }
    }

    /// Parses a text that is not a file of a corpus. Its path determines the format and is its id.
    #[must_use]
    pub fn from_text(path: &str, text: impl Into<String>) -> Self {
        Self::parse(path.into(), Layer::from(text.into()))
    }

    /// Returns the blocks that start in a range.
    #[must_use]
    pub fn blocks_in(&self, range: &Range<usize>) -> &[Block] {
        let before = |byte: usize| self.blocks.partition_point(|block| block.range.start < byte);
        &self.blocks[before(range.start)..before(range.end)]
    }

    /// Returns the last block before `index` that no other block contains.
    #[must_use]
    pub fn top_level_block_before(&self, index: usize) -> Option<usize> {
        self.top_level.partition_point(|&block| block < index).checked_sub(1).map(|at| self.top_level[at])
    }

    /// Returns the section that contains the byte at this offset of the body.
    #[must_use]
    pub fn section_at(&self, byte: usize) -> Option<usize> {
        self.sections.partition_point(|section| section.range.start <= byte).checked_sub(1)
    }

    /// Returns the sections whose headings start in a range, in order.
    pub fn headings_in(&self, range: &Range<usize>) -> impl Iterator<Item = &Section> {
        // White space before a heading is part of its section, but may be in the previous chunk or in none.
        let start = |section: &Section| section.range.end - self.text[section.range.clone()].trim_start().len();
        let first = self.section_at(range.start).unwrap_or_default();
        let sections = self.sections[first..].iter().take_while(|section| section.range.start < range.end);
        sections.filter(move |section| section.level > 0 && !section.continues && range.contains(&start(section)))
    }

    /// Returns the inline URLs that touch a range.
    #[must_use]
    pub fn data_urls_in(&self, range: &Range<usize>) -> &[Range<usize>] {
        let first = self.data_urls.partition_point(|url| url.end <= range.start);
        let rest = &self.data_urls[first..];
        &rest[..rest.partition_point(|url| url.start < range.end)]
    }

    /// Returns the titles of a section and its ancestors, outermost first.
    #[must_use]
    pub fn heading_path(&self, section: usize) -> Vec<String> {
        let mut path = Vec::new();
        let mut at = Some(section);
        while let Some(index) = at {
            let section = &self.sections[index];
            if section.level > 0 {
                path.push(section.title.clone());
            }
            at = section.parent;
        }
        path.reverse();
        path
    }

    /// Estimates the memory that it takes, in bytes, without what parsing it took.
    pub fn memory(&self) -> u64 {
        let parts = self.blocks.len() * room::PARSED + self.sections.len() * room::HEADING;
        (self.text.len() * room::TEXT + parts) as u64
    }

    /// Returns the number of lines, including a last one without an end.
    #[must_use]
    pub fn lines(&self) -> usize {
        self.positions.lines_in(0..self.text.len())
    }
}

/// Returns whether this file may have code between its paragraphs.
fn is_mdx(path: &str) -> bool {
    path.rsplit_once('.').is_some_and(|(_, extension)| extension.eq_ignore_ascii_case("mdx"))
}

fn top_level(blocks: &[Block]) -> Vec<usize> {
    let next = |&index: &usize| blocks.get(index).map(|block| block.next);
    std::iter::successors(Some(0), next).take_while(|&index| index < blocks.len()).collect()
}

fn sections(text: &str, body: &Range<usize>, headings: &mut Vec<Heading>) -> Vec<Section> {
    let mut sections = Vec::with_capacity(headings.len() + 1);
    let first = headings.first().map_or(body.end, |heading| heading.start);
    if !is_blank(&text[body.start..first]) {
        let (title, anchor) = (String::new(), String::new());
        sections.push(Section { level: 0, title, range: body.start..first, parent: None, anchor, continues: false });
    }
    let ends: Vec<usize> = headings.iter().skip(1).map(|heading| heading.start).chain([body.end]).collect();
    let mut open: Vec<usize> = Vec::new();
    for (heading, end) in headings.drain(..).zip(ends) {
        while open.last().is_some_and(|&last| sections[last].level >= heading.level) {
            open.pop();
        }
        // Blank lines before the first heading belong to its section, so the sections cover the body.
        let start = if sections.is_empty() { body.start } else { heading.start };
        let parent = open.last().copied();
        open.push(sections.len());
        let Heading { level, title, anchor, continues, .. } = heading;
        sections.push(Section { level, title, range: start..end, parent, anchor, continues });
    }
    sections
}

/// Returns whether a text contains only Unicode white space.
#[doc(hidden)] // The tests and the harness need it.
#[must_use]
pub fn is_blank(text: &str) -> bool {
    text.trim_start().is_empty()
}

/// Returns a range without white space at its end and without blank lines at its start. The indentation of its
/// first line stays, because it is significant in markdown.
#[doc(hidden)] // The tests and the harness need it.
#[must_use]
pub fn trim(text: &str, range: Range<usize>) -> Range<usize> {
    let slice = &text[range.clone()];
    let kept = slice.trim_end();
    let blank = kept.len() - kept.trim_start().len();
    let start = line::start(&kept[..blank]);
    range.start + start..range.start + kept.len()
}

/// Returns a title on one line and not too long, because every chunk of its section repeats it.
fn one_line(mut text: String) -> String {
    let mut before = b' ';
    let tidy = text.bytes().all(|byte| {
        let spaced = std::mem::replace(&mut before, byte) == b' ';
        byte.is_ascii_graphic() || byte == b' ' && !spaced
    });
    if !tidy || before == b' ' {
        text = text.split_whitespace().collect::<Vec<_>>().join(" ");
    }
    if let Some((end, _)) = text.char_indices().nth(MAX_TITLE).filter(|_| text.len() > MAX_TITLE) {
        text.truncate(end);
    }
    text
}

fn unique(items: Vec<String>) -> Vec<String> {
    let mut seen = HashSet::new();
    items.into_iter().filter(|item| !item.is_empty() && seen.insert(item.clone())).collect()
}
