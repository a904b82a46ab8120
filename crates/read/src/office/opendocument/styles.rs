//! What styles mean: how runs look, and which lists have numbers.

use std::collections::HashMap;

use crate::package::xml::Tag;
use crate::runs::{Look, is_monospaced};

/// How many styles a style may be based on, one on the other.
const MAX_CHAIN: usize = 20;

/// Levels of a list.
const LEVELS: usize = 10;

#[derive(Debug, Default)]
struct Style {
    parent: Option<String>,
    bold: Option<bool>,
    italic: Option<bool>,
    hidden: Option<bool>,
    code: bool,
    raised: bool,
}

/// How a run is written.
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct Run {
    pub(super) look: Look,
    pub(super) hidden: bool,
}

/// The styles of a document: by family and name.
#[derive(Debug, Default)]
pub(super) struct Styles {
    all: HashMap<String, Style>,
    /// Whether each level of a list has numbers.
    lists: HashMap<String, [bool; LEVELS]>,
    /// The style and the list that are being read.
    style: String,
    list: String,
}

impl Styles {
    /// Reads an element, if it is of a style.
    pub(super) fn start(&mut self, tag: &Tag<'_>) {
        let value = |name: &str| tag.attr(name).unwrap_or_default().into_owned();
        match tag.name() {
            ("style", "style") => {
                let family = value("family");
                self.style = format!("{family}/{}", value("name"));
                let parent = tag.attr("parent-style-name").map(|parent| format!("{family}/{parent}"));
                let style = Style { parent, ..Style::default() };
                self.all.insert(self.style.clone(), style);
            }
            ("style", "text-properties" | "table-properties") => {
                let Some(style) = self.all.get_mut(&self.style) else { return };
                let bold = |weight: &str| weight == "bold" || weight.parse().is_ok_and(|weight: u32| weight >= 600);
                style.bold = tag.attr("font-weight").map(|weight| bold(&weight)).or(style.bold);
                style.italic = tag.attr("font-style").map(|slant| slant != "normal").or(style.italic);
                style.hidden =
                    tag.attr("display").map(|display| matches!(&*display, "none" | "false")).or(style.hidden);
                style.raised |= tag.attr("text-position").is_some_and(|position| is_raised(&position));
                let font = tag.attr("font-name").or_else(|| tag.attr("font-family"));
                style.code |= font.is_some_and(|font| is_monospaced(&font));
            }
            ("text", "list-style") => {
                self.list = value("name");
                self.lists.insert(self.list.clone(), [false; LEVELS]);
            }
            ("text", "list-level-style-number") => {
                let level = tag.number("level").and_then(|level| usize::try_from(level).ok()).unwrap_or(0);
                let numbered = tag.attr("num-format").is_some_and(|format| !format.is_empty());
                if let Some(levels) = self.lists.get_mut(&self.list)
                    && let Some(slot) = level.checked_sub(1).and_then(|level| levels.get_mut(level))
                {
                    *slot = numbered;
                }
            }
            _ => {}
        }
    }

    /// Returns whether a level of a list, from 0, has numbers.
    pub(super) fn is_numbered(&self, list: &str, level: usize) -> bool {
        self.lists.get(list).and_then(|levels| levels.get(level)).copied().unwrap_or(false)
    }

    /// Returns whether a style is one of this name, or is based on it.
    pub(super) fn is_based_on(&self, family: &str, style: &str, names: &[&str]) -> bool {
        let is_one = |key: &str| key.split_once('/').is_some_and(|(_, name)| names.contains(&name));
        let key = format!("{family}/{style}");
        is_one(&key) || self.chain(&key).any(|style| style.parent.as_deref().is_some_and(is_one))
    }

    /// Returns how runs with a style are written.
    pub(super) fn run(&self, family: &str, style: &str) -> Run {
        let key = format!("{family}/{style}");
        let mut run = Run {
            look: Look {
                bold: self.chain(&key).find_map(|style| style.bold).unwrap_or(false),
                italic: self.chain(&key).find_map(|style| style.italic).unwrap_or(false),
                code: false,
                raised: self.chain(&key).any(|style| style.raised),
            },
            hidden: self.chain(&key).find_map(|style| style.hidden).unwrap_or(false),
        };
        run.look.code = self.chain(&key).any(|style| style.code)
            || self.is_based_on(family, style, &["Source_20_Text", "Teletype"]);
        run
    }

    fn chain<'s>(&'s self, key: &str) -> impl Iterator<Item = &'s Style> {
        let next = |style: &&'s Style| style.parent.as_deref().and_then(|key| self.all.get(key));
        std::iter::successors(self.all.get(key), next).take(MAX_CHAIN)
    }
}

/// Returns whether a position of text, with its size, is above the line: `super 58%`, `33% 58%`.
fn is_raised(position: &str) -> bool {
    let first = position.split_whitespace().next().unwrap_or_default();
    first == "super" || first.strip_suffix('%').is_some_and(|percent| percent.parse().is_ok_and(|up: f32| up > 0.0))
}
