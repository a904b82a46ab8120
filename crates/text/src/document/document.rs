//! The document: every chunking strategy reads this, and none parses again.

use std::collections::HashSet;
use std::ops::Range;

use serde_json::{Map, Value};

use super::block::{Block, Footnote, Link, Section};
use super::format::Format;
use super::front_matter::{self, FrontMatter, MALFORMED_FRONT_MATTER};
use super::layer::Layer;
use super::origin::{EXTERNAL, Origin};
use super::parsed::{Heading, Markup, ParsedBody};
use super::position::Positions;
use super::room::{self, Room};
use super::security::{self, MANY_SIGNALS, Signal};
use super::source_map::SourceMap;
use super::structure::{Dropped, Place, ReadFlag, Structure};
use super::white_space::{is_blank, trim};
use super::{anchor, code, data_url, markdown, structured, text};

/// Version of this module's output. It is recorded in every dataset. Increase it when a change here can alter a
/// block, a section, a tag or a position.
pub const PARSER_VERSION: u32 = 6;

/// Flag of a document with more than [`MAX_TAGS`] tags. The rest are not recorded.
pub const MANY_TAGS: &str = "many_tags";

/// Maximum number of tags recorded per document. Every chunk repeats them, so there must be a limit.
pub const MAX_TAGS: usize = 200;

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
    /// Where named places of its source start in the text, if a reader wrote it, see [`Structure::places`].
    pub places: Vec<(usize, Place)>,
    /// The byte of the source where each of its lines starts, if a reader wrote the text from lines.
    source_lines: Vec<u64>,
    /// Characters of the source that its reader left out, by reason.
    pub dropped: Vec<Dropped>,
    /// The whole text, including any byte order mark and front matter.
    pub text: String,
    /// Where each part of the text is in the file.
    pub source_map: SourceMap,
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
        let Layer { text, map, hash, bytes, metadata, mut structure } = layer;
        let (places, dropped, source_lines) = structure.as_deref_mut().map_or_else(Default::default, |read| {
            (std::mem::take(&mut read.places), std::mem::take(&mut read.dropped), std::mem::take(&mut read.lines))
        });
        let format =
            structure.as_ref().map_or_else(|| Format::of_path(&origin.path), |read| Format::Written(read.format));
        let mut body = (if text.starts_with('\u{feff}') { '\u{feff}'.len_utf8() } else { 0 })..text.len();
        let mut flags = Vec::new();
        let mut front = FrontMatter::default();
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
            Format::Written(_) => written(structure.unwrap_or_default(), &mut front, room),
            Format::Markdown => markdown::parse(&text, scan, kept.as_ref(), &positions, is_mdx(&origin.path), room),
            Format::Text => text::parse(&text, scan, room),
            Format::Yaml => structured::yaml(&text, scan, room),
            Format::Json => structured::json(&text, scan, room),
            Format::Code(language) => code::parse(&text, scan, language, room),
        };
        flags.append(&mut parsed.flags);
        if !metadata.is_empty() {
            front.add(metadata);
        }
        // The sections of a page have the names that it gives them, and no others.
        if !matches!(format, Format::Markdown | Format::Written("html")) {
            let mut slugger = anchor::Slugger::default();
            let unnamed = |heading: &&mut Heading| heading.level > 0 && heading.anchor.is_empty();
            for heading in parsed.headings.iter_mut().filter(unnamed) {
                heading.anchor = slugger.name(&heading.title);
            }
        }
        // A heading is recorded when it ends, which is after the elements inside it.
        parsed.anchors.sort_by_key(|(_, at)| *at);
        let sections = sections(&text, &body, &mut parsed.headings);
        let leveled = *origin.collection != *EXTERNAL;
        let promotion_level = if leveled { front.take("promotion_level") } else { None };
        let mut titles = sections.iter().filter(|section| section.level == 1 && format.is_like_markdown());
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
            content_hash: hash,
            bytes,
            source_map: map,
            places,
            source_lines,
            dropped,
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

    /// Returns the bytes of the file that a range of the text was read from.
    pub fn place(&self, range: &Range<usize>) -> Range<u64> {
        self.source_map.place(&self.text, range)
    }

    /// Returns the bytes of the file that a range of the text was read from; `None` if the file is packed, so its places
    /// have only names.
    pub fn source_range(&self, range: &Range<usize>) -> Option<Range<u64>> {
        let known = (!self.source_map.is_unknown()).then(|| self.place(range));
        known.filter(|place| !place.is_empty() || self.places.is_empty())
    }

    /// Returns the first and the last named place that a range of the text is from, see [`Structure::places`].
    pub fn places_of(&self, range: &Range<usize>) -> Option<(&Place, &Place)> {
        let first = self.places.partition_point(|(start, _)| *start <= range.start).saturating_sub(1);
        let end = self.places.partition_point(|(start, _)| *start < range.end.max(range.start + 1));
        let places = self.places.get(first..end)?;
        Some((&places.first()?.1, &places.last()?.1))
    }

    /// Returns where a range is in its source, as it is cited after the path, if a reader wrote the text: `#install` for a
    /// section of a page, `:12-20` for lines of the file, otherwise the names of places, such as `slide 4`.
    pub fn cited_place(&self, range: &Range<usize>) -> Option<String> {
        let Format::Written(format) = self.format else { return None };
        if let Some((first, last)) = self.places_of(range) {
            return Some(first.to(last));
        }
        let section = self.section_at(range.start).map(|section| &self.sections[section]);
        if let Some(section) = section.filter(|section| format == "html" && !section.anchor.is_empty()) {
            return Some(format!("#{}", section.anchor));
        }
        let place = self.place(range);
        let line = |byte: u64| self.source_lines.partition_point(|start| *start <= byte).max(1);
        let last = place.end.saturating_sub(1).max(place.start);
        (!self.source_lines.is_empty()).then(|| format!(":{}-{}", line(place.start), line(last)))
    }

    /// Returns the blocks that start in a range.
    pub fn blocks_in(&self, range: &Range<usize>) -> &[Block] {
        let before = |byte: usize| self.blocks.partition_point(|block| block.range.start < byte);
        &self.blocks[before(range.start)..before(range.end)]
    }

    /// Returns the last block before `index` that no other block contains.
    pub fn top_level_block_before(&self, index: usize) -> Option<usize> {
        self.top_level.partition_point(|&block| block < index).checked_sub(1).map(|at| self.top_level[at])
    }

    /// Returns the section that contains the byte at this offset of the body.
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
    pub fn data_urls_in(&self, range: &Range<usize>) -> &[Range<usize>] {
        let first = self.data_urls.partition_point(|url| url.end <= range.start);
        let rest = &self.data_urls[first..];
        &rest[..rest.partition_point(|url| url.start < range.end)]
    }

    /// Returns the titles of a section and its ancestors, outermost first.
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
    pub fn lines(&self) -> usize {
        self.positions.lines_in(0..self.text.len())
    }
}

/// Takes over what the reader knows of a text that it wrote. The file's title, tags and metadata become its front matter.
fn written(structure: Box<Structure>, front: &mut FrontMatter, room: &mut Room) -> ParsedBody {
    let Structure { title, tags, metadata, flags, blocks, headings, links, mut anchors, .. } = *structure;
    let Structure { footnotes, code, markup, .. } = *structure;
    room.take(blocks.len() * room::BLOCK + headings.len() * room::HEADING);
    front.title = title;
    front.tags = tags;
    front.metadata = metadata;
    anchors.sort_by_key(|(_, at)| *at);
    let markup = Markup { code, ..markup };
    let flags = flags.into_iter().map(ReadFlag::name).collect();
    ParsedBody { blocks, headings, links, tags: Vec::new(), flags, anchors, footnotes, markup }
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

fn unique(items: Vec<String>) -> Vec<String> {
    let mut seen = HashSet::new();
    items.into_iter().filter(|item| !item.is_empty() && seen.insert(item.clone())).collect()
}
