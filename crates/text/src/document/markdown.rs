//! Markdown: one pass over pulldown-cmark's events with offsets.
//!
//! The parser reports no event for link reference definitions, so any text between two reported top-level blocks
//! becomes a block of its own. No byte is lost.

use std::ops::Range;

use pulldown_cmark::{CowStr, Event, LinkType, Parser, RefDefs, Tag, TagEnd};

use super::block::{Block, BlockKind, Footnote, Link, LinkKind};
use super::parsed::{Heading, ParsedBody};
use super::position::Positions;
use super::regions::Regions;
use super::room::Room;
use super::white_space::{is_blank, one_line, trim};
use super::{anchor, depth, line, nodes, tag, trial};

/// Maximum number of nested links and images that a text is added to.
const MAX_NESTED_TEXT: usize = 8;

/// Bytes per block assumed when reserving space, fewer than the average in most documents, and the maximum number
/// of blocks to reserve.
const BLOCK: usize = 64;
const MAX_RESERVED: usize = 1024;

/// Maximum nesting of parentheses in a link destination; the parser has the same limit.
const MAX_PARENTHESES: usize = 32;

/// Parses `text[body]`. `kept` is front matter just before it that stays as text; `mdx` says whether there may be
/// code between paragraphs.
pub(super) fn parse(
    text: &str,
    body: Range<usize>,
    kept: Option<&Range<usize>>,
    positions: &Positions,
    mdx: bool,
    room: &mut Room,
) -> ParsedBody {
    let regions = Regions::find(text, body.clone(), positions, mdx);
    let masked = line::with_feeds(regions.apply(text, &depth::too_deep(text, body.clone())));
    let masked = &masked[body.clone()];
    if !has_room(masked, room) {
        return ParsedBody::default();
    }
    let mut state = State::new(text, body, &regions);
    if let Some(range) = kept.cloned() {
        state.parsed.blocks.push(Block { kind: BlockKind::FrontMatter, range, next: 1 });
    }
    state.read(masked)
}

/// Reserves room for what the parser makes of a text and what we make of that. Returns whether there is enough. If the
/// estimate is too high, the code and the HTML of the text are found first.
fn has_room(text: &str, room: &mut Room) -> bool {
    if nodes::is_small(text, room.left()) {
        return true;
    }
    let most = nodes::most_bytes(text, 0..text.len(), &[]);
    if most as u64 <= room.left() {
        return room.take(most);
    }
    let verbatim = trial::verbatim(text, room.left());
    room.take(nodes::most_bytes(text, 0..text.len(), &verbatim))
}

struct State<'t> {
    text: &'t str,
    body: Range<usize>,
    /// The regions hidden from the parser.
    regions: &'t Regions,
    parsed: ParsedBody,
    /// Indices of the open blocks.
    open: Vec<usize>,
    /// How far line starts were searched, and the start of the line at that offset.
    line: (usize, usize),
    /// End of the last top-level block.
    covered: usize,
    /// At the start of an HTML block.
    html_block: bool,
    /// Inside code or HTML, where `#` does not start a tag.
    verbatim: bool,
    /// The range searched for `#`, up to the next one found.
    hash: Range<usize>,
    /// Source range of consecutive text events without a gap.
    run: Range<usize>,
    heading: Option<OpenHeading>,
    slugger: anchor::Slugger,
    links: Vec<Link>,
    /// The content of the open paragraph so far.
    paragraph: Paragraph,
}

struct OpenHeading {
    text: String,
    /// The heading's own `{#id}`.
    id: Option<String>,
    start: usize,
}

#[derive(Default, PartialEq)]
enum Paragraph {
    #[default]
    Empty,
    Math,
    Other,
}

impl<'t> State<'t> {
    fn new(text: &'t str, body: Range<usize>, regions: &'t Regions) -> Self {
        let mut parsed = ParsedBody::default();
        parsed.blocks.reserve((body.len() / BLOCK).min(MAX_RESERVED));
        parsed.markup.comments.extend(regions.comments());
        Self {
            text,
            covered: body.start,
            line: (body.start, body.start),
            body,
            regions,
            parsed,
            open: Vec::new(),
            html_block: false,
            verbatim: false,
            hash: 0..0,
            run: 0..0,
            heading: None,
            slugger: anchor::Slugger::default(),
            links: Vec::new(),
            paragraph: Paragraph::Empty,
        }
    }

    /// Reads the body as masked for the parser.
    fn read(mut self, masked: &str) -> ParsedBody {
        let start = self.body.start;
        let mut events = Parser::new_ext(masked, nodes::options()).into_offset_iter();
        while let Some((mut event, range)) = events.next() {
            // For an end event, the parser reports the whole element, whose range is known from its start.
            let range = match event {
                Event::End(_) => self.run.end..self.run.end,
                _ => range.start + start..range.end + start,
            };
            if let Event::Start(Tag::Link { .. } | Tag::Image { .. }) = event {
                by_definition(&mut event, events.reference_definitions());
            }
            self.event(&mut event, range);
        }
        self.end_run();
        self.cover(self.body.end);
        // A link that contains an image ends after it; sort by where they start.
        self.parsed.links.sort_by_key(|link| link.range.start);
        self.parsed
    }

    fn event(&mut self, event: &mut Event<'_>, range: Range<usize>) {
        if !(matches!(event, Event::Text(_)) && range.start == self.run.end) {
            self.end_run();
            self.run = range.start..range.start;
        }
        match event {
            Event::Start(tag) => self.start(tag, range),
            Event::End(end) => self.end(*end),
            Event::Text(text) => {
                self.inline(text, Paragraph::Other);
                if !self.verbatim {
                    self.run.end = range.end;
                }
            }
            Event::Code(text) => {
                self.inline(text, Paragraph::Other);
                self.parsed.markup.code.push(range);
            }
            Event::InlineMath(_) => self.inline(&self.text[range], Paragraph::Other),
            Event::DisplayMath(text) => self.inline(text, Paragraph::Math),
            Event::SoftBreak | Event::HardBreak => {
                if let Some(heading) = &mut self.heading {
                    // A line break becomes a space in the title and is dropped from the anchor, as on GitHub.
                    heading.text.push('\n');
                }
                self.link_text(" ");
            }
            Event::Rule => {
                self.open(BlockKind::Rule, range);
                self.close();
            }
            Event::Html(_) => self.html(range, true),
            Event::InlineHtml(_) => {
                self.html_anchors(range.clone());
                self.paragraph = Paragraph::Other;
                self.html(range, false);
            }
            Event::FootnoteReference(_) | Event::TaskListMarker(_) => self.paragraph = Paragraph::Other,
        }
    }

    fn start(&mut self, tag: &mut Tag<'_>, range: Range<usize>) {
        match tag {
            Tag::Heading { level, id, .. } => {
                let start = self.line_start(range.start);
                let id = id.take().map(CowStr::into_string).filter(|id| !id.is_empty());
                self.heading = Some(OpenHeading { text: String::new(), id, start });
                self.open(BlockKind::Heading(*level as u8), range);
            }
            Tag::Paragraph => {
                self.paragraph = Paragraph::Empty;
                self.open(BlockKind::Paragraph, range);
            }
            Tag::CodeBlock(_) => {
                self.verbatim = true;
                self.open(BlockKind::Code, range);
            }
            Tag::HtmlBlock => {
                self.verbatim = true;
                self.html_anchors(range.clone());
                let template = self.regions.at(range.start).is_some();
                let kind = if template { BlockKind::Template } else { BlockKind::Html };
                self.html_block = true;
                self.open(kind, range);
            }
            Tag::Table(_) => self.open(BlockKind::Table, range),
            Tag::List(_) => self.open(BlockKind::List, range),
            Tag::Item => self.open(BlockKind::ListItem, range),
            Tag::BlockQuote(_) => self.open(BlockKind::Quote, range),
            Tag::FootnoteDefinition(label) => {
                self.open(BlockKind::Footnote, range);
                if let [block] = self.open[..] {
                    self.parsed.footnotes.push(Footnote { label: taken(label), block });
                }
            }
            Tag::Link { link_type, dest_url, .. } => self.link(LinkKind::Link, *link_type, dest_url, range),
            Tag::Image { link_type, dest_url, .. } => self.link(LinkKind::Image, *link_type, dest_url, range),
            _ => {}
        }
    }

    fn end(&mut self, end: TagEnd) {
        match end {
            TagEnd::Heading(level) => {
                self.close();
                if let Some(OpenHeading { text, id, start }) = self.heading.take() {
                    self.heading(level as u8, text, id, start);
                }
            }
            TagEnd::Paragraph => {
                if self.paragraph == Paragraph::Math
                    && let Some(&block) = self.open.last()
                {
                    self.parsed.blocks[block].kind = BlockKind::Math;
                }
                self.close();
            }
            TagEnd::CodeBlock | TagEnd::HtmlBlock => {
                self.verbatim = false;
                self.close();
            }
            TagEnd::Table | TagEnd::List(_) | TagEnd::Item | TagEnd::BlockQuote(_) | TagEnd::FootnoteDefinition => {
                self.close();
            }
            TagEnd::Link | TagEnd::Image => {
                if let Some(mut link) = self.links.pop() {
                    trim_in_place(&mut link.text);
                    self.parsed.links.push(link);
                }
            }
            _ => {}
        }
    }

    /// Records a heading whose block is closed.
    fn heading(&mut self, level: u8, text: String, id: Option<String>, start: usize) {
        let anchor = id.unwrap_or_else(|| self.slugger.name(&text));
        if self.open.is_empty() && !self.regions.contained(start) {
            self.parsed.headings.push(Heading { level, title: one_line(text), anchor, start, continues: false });
        } else {
            self.parsed.anchors.push((anchor, start));
        }
    }

    fn link(&mut self, kind: LinkKind, written: LinkType, target: &mut CowStr<'_>, range: Range<usize>) {
        let brackets = matches!(written, LinkType::WikiLink { .. });
        let text = String::new();
        if brackets && let Some((target, len)) = destination(&self.text[range.end..self.body.end]) {
            let range = range.start..range.end + len;
            self.links.push(Link { kind, named: false, target, text, range });
            return;
        }
        let kind = if brackets && kind == LinkKind::Link { LinkKind::Wikilink } else { kind };
        let target = if written == LinkType::Email { format!("mailto:{target}") } else { taken(target) };
        self.links.push(Link { kind, named: brackets, target, text, range });
    }

    fn inline(&mut self, text: &str, content: Paragraph) {
        if let Some(heading) = &mut self.heading {
            heading.text.push_str(text);
        }
        self.link_text(text);
        if self.paragraph != Paragraph::Other && !is_blank(text) {
            self.paragraph = content;
        }
    }

    fn html_anchors(&mut self, range: Range<usize>) {
        let start = range.start;
        anchor::html(&self.text[range], |name, at| self.parsed.anchors.push((name.to_owned(), start + at)));
    }

    /// Adds text to the innermost open links and images. Images nest without limit, and each has the text of all
    /// inside it.
    fn link_text(&mut self, text: &str) {
        let from = self.links.len().saturating_sub(MAX_NESTED_TEXT);
        self.links[from..].iter_mut().for_each(|link| link.text.push_str(text));
    }

    fn open(&mut self, kind: BlockKind, range: Range<usize>) {
        let start = self.line_start(range.start);
        if self.open.is_empty() {
            self.cover(start);
            self.covered = range.end.max(self.covered);
        }
        self.open.push(self.parsed.blocks.len());
        self.parsed.blocks.push(Block { kind, range: start..range.end, next: 0 });
    }

    fn close(&mut self) {
        if let Some(block) = self.open.pop() {
            self.parsed.blocks[block].next = self.parsed.blocks.len();
        }
    }

    /// Records HTML, unless it is a placeholder for a region. The lines of one block are one range.
    fn html(&mut self, range: Range<usize>, in_block: bool) {
        if self.regions.at(range.start).is_some() {
            return;
        }
        let markup = &mut self.parsed.markup;
        if let Some(last) = markup.html.last_mut().filter(|_| in_block && !self.html_block) {
            if last.end < range.start {
                markup.gaps.push(last.end..range.start);
            }
            last.end = range.end;
        } else {
            markup.html.push(range);
        }
        self.html_block = false;
    }

    /// Makes a block of text that was not reported between the last top-level block and `end`.
    fn cover(&mut self, end: usize) {
        if self.covered < end && !is_blank(&self.text[self.covered..end]) {
            let next = self.parsed.blocks.len() + 1;
            let range = trim(self.text, self.covered..end);
            self.parsed.blocks.push(Block { kind: BlockKind::References, range, next });
        }
        self.covered = self.covered.max(end);
    }

    /// Looks for tags in the text since the run began. This searches the source, not the parsed text: there the
    /// backslash of an escaped `\#` is visible, and an entity is not a `#`.
    fn end_run(&mut self) {
        let Range { start, end } = self.run;
        self.run.start = end;
        if self.hash.end < start {
            let bytes = &self.text.as_bytes()[start..self.body.end];
            self.hash = start..memchr::memchr(b'#', bytes).map_or(self.body.end, |at| start + at);
        }
        let clean = self.hash.start <= start && end <= self.hash.end;
        if start < end && !clean {
            let before = self.text[..start].chars().next_back();
            tag::scan(&self.text[start..end], before, |tag| self.parsed.tags.push(tag.to_owned()));
        }
    }

    /// Returns the start of the line that contains the byte at `at`. If many blocks open in one long line, only
    /// the part since the last call is searched.
    fn line_start(&mut self, at: usize) -> usize {
        let (searched, start) = self.line;
        let (from, known) = if at >= searched { (searched, start) } else { (self.body.start, self.body.start) };
        let before = &self.text.as_bytes()[from..at];
        let start = match before.last() {
            Some(b'\n' | b'\r') => at,
            _ => memchr::memrchr2(b'\n', b'\r', before).map_or(known, |end| from + end + 1),
        };
        self.line = (at, start);
        start
    }
}

/// Takes a string out of an event, for strings that nothing else reads.
fn taken(text: &mut CowStr<'_>) -> String {
    std::mem::replace(text, CowStr::Borrowed("")).into_string()
}

/// Trims white space from both ends.
fn trim_in_place(text: &mut String) {
    text.truncate(text.trim_end().len());
    text.drain(..text.len() - text.trim_start().len());
}

/// Turns a wikilink like `[[1]]` into a reference link in brackets if `[1]` is defined.
fn by_definition<'e>(event: &mut Event<'e>, definitions: &RefDefs<'e>) {
    if let Event::Start(Tag::Link { link_type, dest_url, .. } | Tag::Image { link_type, dest_url, .. }) = event
        && matches!(link_type, LinkType::WikiLink { has_pothole: false })
        && let Some(definition) = definitions.get(dest_url)
    {
        (*link_type, *dest_url) = (LinkType::Shortcut, definition.dest.clone());
    }
}

/// Returns the destination in parentheses at the start of a text, and its length with the parentheses. For GitHub
/// and other renderers without wikilinks, `[[text]](destination)` is a link whose text is `[text]`.
fn destination(text: &str) -> Option<(String, usize)> {
    if !text.starts_with('(') {
        return None;
    }
    let mut depth = 0;
    let mut escaped = false;
    for (at, byte) in text.bytes().enumerate() {
        match byte {
            b'\n' | b'\r' => return None,
            b'(' if !escaped => depth += 1,
            b')' if !escaped => depth -= 1,
            _ => {}
        }
        escaped = byte == b'\\' && !escaped;
        if depth == 0 || depth > MAX_PARENTHESES {
            let link = format!("[]{}", text.get(..=at).filter(|_| depth == 0)?);
            return Parser::new(&link).into_offset_iter().find_map(|(event, range)| match event {
                Event::Start(Tag::Link { dest_url, .. }) if range.end == link.len() => {
                    Some((dest_url.into_string(), at + 1))
                }
                _ => None,
            });
        }
    }
    None
}
