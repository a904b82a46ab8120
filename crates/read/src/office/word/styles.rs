//! The effect of styles and lists on their paragraphs.

use std::collections::HashMap;

use chunkmill_base::error::Skip;

use super::super::flow::Mark;
use crate::package::xml::{Event, Xml};
use crate::runs::is_monospaced;

/// How many styles a style may be based on, one on the other.
const MAX_CHAIN: usize = 20;

/// Levels of a list.
const LEVELS: usize = 9;

/// The properties that a style sets itself.
#[derive(Debug, Default)]
struct Style {
    /// In lower case without spaces: `heading1`.
    name: String,
    based_on: Option<String>,
    outline: Option<u8>,
    list: Option<String>,
    level: Option<usize>,
    hidden: Option<bool>,
    bold: Option<bool>,
    italic: Option<bool>,
    code: bool,
}

/// The styles of a document, by their identifiers.
#[derive(Debug, Default)]
pub(super) struct Styles(HashMap<String, Style>);

/// The role of a paragraph.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Role {
    Text,
    Title,
    Heading(u8),
    Code,
    Quote,
    /// An entry of a table of contents, or its title.
    Contents,
}

impl Styles {
    pub(super) fn read(text: &str, format: &'static str, part: &str) -> Result<Self, Skip> {
        let mut styles = HashMap::new();
        let mut current: Option<(String, Style)> = None;
        let mut xml = Xml::new(text, format, part);
        while let Some(event) = xml.next()? {
            match event {
                Event::Start(tag) if tag.name() == ("w", "style") => {
                    current = Some((tag.attr("styleId").unwrap_or_default().into_owned(), Style::default()));
                }
                Event::Start(tag) => {
                    let Some((_, style)) = &mut current else { continue };
                    let value = || tag.attr("val").unwrap_or_default().into_owned();
                    match tag.name() {
                        ("w", "name") => style.name = folded(&value()),
                        ("w", "basedOn") => style.based_on = Some(value()),
                        ("w", "outlineLvl") => style.outline = value().parse().ok(),
                        ("w", "numId") => style.list = Some(value()),
                        ("w", "ilvl") => style.level = value().parse().ok(),
                        ("w", "vanish") => style.hidden = Some(tag.is_on()),
                        ("w", "b") => style.bold = Some(tag.is_on()),
                        ("w", "i") => style.italic = Some(tag.is_on()),
                        ("w", "rFonts") => style.code |= tag.attr("ascii").is_some_and(|font| is_monospaced(&font)),
                        _ => {}
                    }
                }
                Event::End(tag) if tag.name() == ("w", "style") => styles.extend(current.take()),
                _ => {}
            }
        }
        Ok(Self(styles))
    }

    /// Returns a style and those that it is based on.
    fn chain<'s>(&'s self, id: &'s str) -> impl Iterator<Item = &'s Style> {
        let next = |style: &&'s Style| style.based_on.as_deref().and_then(|id| self.0.get(id));
        std::iter::successors(self.0.get(id), next).take(MAX_CHAIN)
    }

    /// Returns what a paragraph with a style is.
    pub(super) fn role(&self, id: &str) -> Role {
        if !self.0.contains_key(id) {
            return role_of(&folded(id)).unwrap_or(Role::Text);
        }
        for style in self.chain(id) {
            // `TOC Heading` is based on a heading, and says that it is none.
            if let Some(role) = role_of(&style.name) {
                return role;
            }
            if let Some(level) = style.outline {
                return if level < 9 { Role::Heading(level + 1) } else { Role::Text };
            }
        }
        Role::Text
    }

    /// Returns the list that a style puts its paragraphs in, and the level.
    pub(super) fn list(&self, id: &str) -> Option<(String, Option<usize>)> {
        let mut level = None;
        for style in self.chain(id) {
            level = level.or(style.level);
            if let Some(list) = &style.list {
                return Some((list.clone(), level));
            }
        }
        None
    }

    /// Returns how deep a style indents its items. `List Bullet 2` is a list of its own, whose first level is indented.
    pub(super) fn indent(&self, id: &str) -> usize {
        let indent = |style: &Style| {
            let rest = style.name.strip_prefix("listbullet").or_else(|| style.name.strip_prefix("listnumber"))?;
            rest.parse().ok().map(|number: usize| number.saturating_sub(1).min(LEVELS - 1))
        };
        self.first(id, indent).unwrap_or(0)
    }

    /// Returns what a style says first in its chain.
    fn first<T>(&self, id: &str, of: impl Fn(&Style) -> Option<T>) -> Option<T> {
        self.chain(id).find_map(of)
    }

    pub(super) fn is_hidden(&self, id: &str) -> bool {
        self.first(id, |style| style.hidden).unwrap_or(false)
    }

    pub(super) fn is_bold(&self, id: &str) -> bool {
        self.first(id, |style| style.bold).unwrap_or(false)
    }

    pub(super) fn is_italic(&self, id: &str) -> bool {
        self.first(id, |style| style.italic).unwrap_or(false)
    }

    pub(super) fn is_code(&self, id: &str) -> bool {
        self.chain(id).any(|style| {
            style.code || matches!(&*style.name, "htmlcode" | "sourcetext" | "verbatimchar" | "codechar" | "inlinecode")
        })
    }
}

fn role_of(name: &str) -> Option<Role> {
    if let Some(level) = name.strip_prefix("heading").and_then(|level| level.parse().ok()) {
        return (1..=9).contains(&level).then_some(Role::Heading(level));
    }
    match name {
        "title" => Some(Role::Title),
        "sourcecode" | "htmlpreformatted" | "preformattedtext" | "code" | "codeblock" => Some(Role::Code),
        "quote" | "intensequote" | "blocktext" | "blockquote" | "quotations" => Some(Role::Quote),
        "tocheading" => Some(Role::Contents),
        _ => name.strip_prefix("toc").and_then(|level| level.parse::<u8>().ok()).map(|_| Role::Contents),
    }
}

fn folded(name: &str) -> String {
    name.chars().filter(|c| !c.is_whitespace() && *c != '-' && *c != '_').flat_map(char::to_lowercase).collect()
}

/// A level of a list.
#[derive(Debug, Clone)]
struct Level {
    format: String,
    start: u64,
    /// Whether its mark is white space.
    blank: bool,
}

impl Default for Level {
    fn default() -> Self {
        Self { format: "decimal".to_owned(), start: 1, blank: false }
    }
}

#[derive(Debug, Default, Clone)]
struct Numbering {
    levels: Vec<Option<Level>>,
    /// The style of each level's paragraphs.
    styles: HashMap<String, usize>,
}

/// A list: what it is a copy of, and where its levels start.
#[derive(Debug, Default)]
struct List {
    numbering: String,
    starts: Vec<(usize, u64)>,
    used: bool,
}

/// The lists of a document, with the numbers that were given so far.
#[derive(Debug, Default)]
pub(super) struct Lists {
    numberings: HashMap<String, Numbering>,
    all: HashMap<String, List>,
    counts: HashMap<String, [Option<u64>; LEVELS]>,
}

impl Lists {
    pub(super) fn read(text: &str, format: &'static str, part: &str) -> Result<Self, Skip> {
        let mut lists = Self::default();
        let mut numbering: Option<(String, Numbering)> = None;
        let mut list: Option<(String, List)> = None;
        let mut at = 0;
        let mut xml = Xml::new(text, format, part);
        while let Some(event) = xml.next()? {
            match event {
                Event::Start(tag) => {
                    let value = |name: &str| tag.attr(name).unwrap_or_default().into_owned();
                    match tag.name() {
                        ("w", "abstractNum") => numbering = Some((value("abstractNumId"), Numbering::default())),
                        ("w", "num") => list = Some((value("numId"), List::default())),
                        ("w", "abstractNumId") => {
                            if let Some((_, list)) = &mut list {
                                list.numbering = value("val");
                            }
                        }
                        ("w", "lvl" | "lvlOverride") => at = level(&value("ilvl")),
                        ("w", "startOverride") => {
                            if let (Some((_, list)), Some(start)) = (&mut list, tag.number("val")) {
                                list.starts.push((at, start));
                            }
                        }
                        ("w", "pStyle") => {
                            if let Some((_, numbering)) = &mut numbering {
                                numbering.styles.insert(value("val"), at);
                            }
                        }
                        ("w", "numFmt") => {
                            if let Some((_, numbering)) = &mut numbering {
                                numbering.level(at).format = value("val");
                            }
                        }
                        ("w", "lvlText") => {
                            if let Some((_, numbering)) = &mut numbering {
                                numbering.level(at).blank = tag.attr("val").is_some_and(|mark| mark.trim().is_empty());
                            }
                        }
                        ("w", "start") => {
                            if let (Some((_, numbering)), Some(start)) = (&mut numbering, tag.number("val")) {
                                numbering.level(at).start = start;
                            }
                        }
                        _ => {}
                    }
                }
                Event::End(tag) => match tag.name() {
                    ("w", "abstractNum") => lists.numberings.extend(numbering.take()),
                    ("w", "num") => lists.all.extend(list.take()),
                    _ => {}
                },
                Event::Text(_) => {}
            }
        }
        Ok(lists)
    }

    /// Returns the level of a style's paragraphs in a list.
    pub(super) fn level_of(&self, list: &str, style: &str) -> Option<usize> {
        let numbering = self.numberings.get(&self.all.get(list)?.numbering)?;
        numbering.styles.get(style).copied()
    }

    /// Returns whether paragraphs of a list at a level go on with the item before them: their mark is not to be seen.
    pub(super) fn goes_on(&self, list: &str, level: usize) -> bool {
        let numbering = self.all.get(list).and_then(|list| self.numberings.get(&list.numbering));
        let level = numbering.and_then(|numbering| numbering.levels.get(level.min(LEVELS - 1))?.as_ref());
        level.is_some_and(|level| level.format == "bullet" && level.blank)
    }

    /// Returns the mark of the next item of a list at a level; `None` if the level has no marks.
    pub(super) fn next(&mut self, list: &str, level: usize) -> Option<Mark> {
        let level = level.min(LEVELS - 1);
        let Some(entry) = self.all.get_mut(list) else { return Some(Mark::Bullet) };
        let numbering = self.numberings.get(&entry.numbering);
        let found = numbering.and_then(|numbering| numbering.levels.get(level).cloned().flatten()).unwrap_or_default();
        let counts = self.counts.entry(entry.numbering.clone()).or_default();
        if !std::mem::replace(&mut entry.used, true) {
            for (level, start) in &entry.starts {
                counts[*level] = start.checked_sub(1);
            }
        }
        let number = counts[level].map_or(found.start, |last| last.saturating_add(1));
        counts[level] = Some(number);
        for deeper in &mut counts[level + 1..] {
            *deeper = None;
        }
        match &*found.format {
            "bullet" => Some(Mark::Bullet),
            "none" => None,
            _ => Some(Mark::Number(number)),
        }
    }
}

impl Numbering {
    fn level(&mut self, at: usize) -> &mut Level {
        if self.levels.len() <= at {
            self.levels.resize(at + 1, None);
        }
        self.levels[at].get_or_insert_default()
    }
}

/// Returns the number of a level that is there.
fn level(value: &str) -> usize {
    value.parse().unwrap_or(0).min(LEVELS - 1)
}
