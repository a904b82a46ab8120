//! The tables before the text: fonts, styles, lists.

use std::collections::{HashMap, HashSet};

use super::charset::Coding;

/// Most styles that one is based on in turn.
const MAX_CHAIN: usize = 10;

/// Longest name that is read, in bytes.
const MAX_NAME: usize = 200;

/// The fonts of a document, by their numbers.
#[derive(Debug, Default)]
pub(super) struct Fonts {
    codings: HashMap<i32, Option<Coding>>,
    /// Those whose letters are all as wide, as code has them.
    monospaced: HashSet<i32>,
    current: i32,
    name: String,
}

impl Fonts {
    pub(super) fn word(&mut self, name: &str, number: Option<i32>) {
        match (name, number) {
            ("f", Some(number)) => {
                self.current = number;
                self.name.clear();
                self.codings.insert(number, None);
            }
            ("fmodern", _) => drop(self.monospaced.insert(self.current)),
            ("fcharset", Some(charset)) => {
                // Of the fonts of East Asia, those of this family are for any text.
                if matches!(charset, 128..=136) {
                    self.monospaced.remove(&self.current);
                }
                self.codings.insert(self.current, Coding::of_charset(charset));
            }
            ("cpg", Some(page)) if page != 0 => {
                self.codings.insert(self.current, Some(Coding::of_page(page)));
            }
            _ => {}
        }
    }

    /// Reads text of the table: names, each before a semicolon.
    pub(super) fn text(&mut self, text: &str) {
        for part in text.split_inclusive(';') {
            extend(&mut self.name, part);
            if !part.ends_with(';') {
                continue;
            }
            let name = self.name.to_ascii_lowercase();
            if ["courier", "consolas", "mono", "menlo", "monaco"].iter().any(|part| name.contains(part)) {
                self.monospaced.insert(self.current);
            }
            if let Some(Some(coding)) = self.codings.get_mut(&self.current)
                && *coding == Coding::Signs
            {
                *coding = Coding::of_signs(&self.name);
            }
            self.name.clear();
        }
    }

    pub(super) fn is_monospaced(&self, font: i32) -> bool {
        self.monospaced.contains(&font)
    }

    /// Returns the coding of a font; `None` if it is the one of the document.
    pub(super) fn coding(&self, font: i32) -> Option<Coding> {
        self.codings.get(&font).copied().flatten()
    }
}

/// The role of a paragraph, by its style.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Role {
    Text,
    Title,
    /// A heading of a level from 1.
    Heading(u8),
    /// An entry of a table of contents.
    Contents,
}

#[derive(Debug, Clone, Copy, Default)]
struct Style {
    role: Option<Role>,
    based: Option<i32>,
}

/// The styles of a document, by their numbers.
#[derive(Debug, Default)]
pub(super) struct Styles {
    by_number: HashMap<i32, Style>,
    number: i32,
    style: Style,
    name: String,
}

impl Styles {
    pub(super) fn word(&mut self, name: &str, number: Option<i32>) {
        match (name, number) {
            ("s", Some(number)) => self.number = number,
            ("sbasedon", number) => self.style.based = number,
            ("outlinelevel", Some(level)) => self.style.role = Some(outline(level)),
            _ => {}
        }
    }

    /// Reads text of the table: names, each before a semicolon.
    pub(super) fn text(&mut self, text: &str) {
        for part in text.split_inclusive(';') {
            extend(&mut self.name, part);
            if part.ends_with(';') {
                self.end();
            }
        }
    }

    /// Ends a style.
    pub(super) fn end(&mut self) {
        if !self.name.trim().is_empty() {
            // The outline may be that of a style that is no heading; of a table of contents, the name says more.
            let named = role_of(&self.name);
            let role = if named == Some(Role::Contents) { named } else { self.style.role.or(named) };
            self.by_number.insert(self.number, Style { role, ..self.style });
        }
        self.name.clear();
        (self.number, self.style) = (0, Style::default());
    }

    pub(super) fn role(&self, number: i32) -> Role {
        let mut next = Some(number);
        for _ in 0..MAX_CHAIN {
            let Some(style) = next.and_then(|number| self.by_number.get(&number)) else { break };
            if let Some(role) = style.role {
                return role;
            }
            next = style.based;
        }
        Role::Text
    }
}

/// Returns what a paragraph of an outline level from 0 is.
pub(super) fn outline(level: i32) -> Role {
    u8::try_from(level).ok().filter(|level| *level < 9).map_or(Role::Text, |level| Role::Heading(level + 1))
}

fn role_of(name: &str) -> Option<Role> {
    // Other names may follow: `heading 1,h1`.
    let name = name.split([',', ';']).next().unwrap_or_default();
    let name: String = name.chars().filter(|c| !c.is_whitespace()).collect();
    let name = name.to_ascii_lowercase();
    let level = |prefix| name.strip_prefix(prefix)?.parse::<u8>().ok().filter(|level| (1..=9).contains(level));
    match &*name {
        "title" => Some(Role::Title),
        "tocheading" => Some(Role::Contents),
        _ => level("heading").map(Role::Heading).or_else(|| level("toc").map(|_| Role::Contents)),
    }
}

/// The marks before the items of a list.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Marks {
    Bullets,
    Numbers,
    Nothing,
}

/// The lists of a document: for each level, the kind of its marks.
#[derive(Debug, Default)]
pub(super) struct Lists {
    levels: Vec<Marks>,
    by_id: HashMap<i32, Vec<Marks>>,
    current: i32,
    /// The lists that paragraphs name.
    used: HashMap<i32, i32>,
}

impl Lists {
    pub(super) fn word(&mut self, name: &str, number: Option<i32>) {
        match (name, number) {
            ("list", _) => self.levels.clear(),
            // As many as Word has.
            ("listlevel", _) if self.levels.len() < 9 => self.levels.push(Marks::Numbers),
            ("levelnfc" | "levelnfcn", Some(kind)) => {
                if let Some(last) = self.levels.last_mut() {
                    *last = match kind {
                        23 => Marks::Bullets,
                        255 => Marks::Nothing,
                        _ => Marks::Numbers,
                    };
                }
            }
            ("listid", Some(id)) => {
                self.by_id.insert(id, std::mem::take(&mut self.levels));
            }
            _ => {}
        }
    }

    pub(super) fn used_word(&mut self, name: &str, number: Option<i32>) {
        match (name, number) {
            ("listid", Some(id)) => self.current = id,
            ("ls", Some(number)) => {
                self.used.insert(number, self.current);
            }
            _ => {}
        }
    }

    pub(super) fn marks(&self, number: i32, level: usize) -> Option<Marks> {
        self.by_id.get(self.used.get(&number)?)?.get(level).copied()
    }
}

fn extend(name: &mut String, text: &str) {
    if name.len() < MAX_NAME {
        name.push_str(&text[..text.floor_char_boundary(MAX_NAME)]);
    }
}
