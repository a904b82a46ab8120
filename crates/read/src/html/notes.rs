//! Footnotes: which links refer to notes, and which blocks are the notes. Programs mark the references, the list of notes or
//! both, each in its own way; a link is a reference if either end says so.

use std::collections::{HashMap, HashSet};

use super::tokens::Page;
use super::tree::Element;

/// How many elements up a list of notes may be from a note, or a note from the element that is named.
const NEAR: usize = 4;

/// Longest label that is taken from the text of a reference, in bytes.
const MAX_LABEL: usize = 20;

/// The notes of a page.
#[derive(Debug, Default)]
pub(super) struct Notes {
    /// Labels by the links that refer to notes.
    pub(super) references: HashMap<usize, String>,
    /// Labels by the blocks that are notes.
    pub(super) definitions: HashMap<usize, String>,
    /// Lists whose items are notes.
    pub(super) lists: HashSet<usize>,
    /// Terms that are labels.
    pub(super) labels: HashSet<usize>,
    /// Links from a note to a reference.
    pub(super) backs: HashSet<usize>,
}

impl Notes {
    /// Finds the notes of a page. In a larger file, `page_name` makes their labels unique.
    pub(super) fn find(page: &Page<'_>, page_name: Option<&str>) -> Self {
        let mut notes = Self::default();
        let links = links(page);
        let mut places: HashMap<&str, Option<usize>> = links.iter().map(|(_, place)| (*place, None)).collect();
        for node in 0..if links.is_empty() { 0 } else { page.nodes.len() } {
            let Some(id) = page.nodes.element(node).and_then(|element| element.attribute("id")) else { continue };
            if let Some(found @ None) = places.get_mut(id) {
                *found = Some(node);
            }
        }
        let mut labels = HashSet::new();
        let mut referring = HashSet::new();
        for (link, place) in &links {
            let Some(element) = page.nodes.element(*link) else { continue };
            let Some(named) = places.get(place).copied().flatten() else { continue };
            let Some((block, term)) = block_of(page, named) else { continue };
            if is_back(element) || page.nodes.around(*link).any(|around| around == block) {
                continue;
            }
            let is_listed = || page.nodes.around(block).take(NEAR).any(|around| is(page, around, is_notes));
            let is_in_notes =
                || page.nodes.around(*link).any(|around| is(page, around, |up| is_note(up) || is_notes(up)));
            if !is_reference(element) && (!(is(page, block, is_note) || is_listed()) || is_in_notes()) {
                continue;
            }
            let label = notes.definitions.entry(block).or_insert_with(|| {
                let shown = page.string(*link);
                let shown = shown.trim().trim_matches(['[', ']', '(', ')']).trim();
                label(shown, place, page_name, &mut labels)
            });
            notes.references.insert(*link, label.clone());
            notes.labels.extend(term);
            let around = page.nodes.parent(*link).filter(|around| is(page, *around, |up| up.html() != Some("p")));
            let own = [Some(*link), around].into_iter().flatten().filter_map(|node| page.nodes.element(node));
            referring.extend(own.filter_map(|element| element.attribute("id")));
        }
        for (link, place) in links {
            let is_in = |around| notes.definitions.contains_key(&around);
            if referring.contains(place) && page.nodes.around(link).any(is_in) {
                notes.backs.insert(link);
            }
        }
        notes.add_lists(page, page_name, &mut labels);
        notes
    }

    /// Makes all items of a list notes if one is.
    fn add_lists(&mut self, page: &Page<'_>, page_name: Option<&str>, labels: &mut HashSet<String>) {
        let items = self.definitions.keys().filter(|node| is(page, **node, |element| element.html() == Some("li")));
        self.lists = items.filter_map(|item| page.nodes.parent(*item)).collect();
        let mut lists: Vec<usize> = self.lists.iter().copied().collect();
        lists.sort_unstable();
        for list in lists {
            for (number, (item, element)) in (1_usize..).zip(page.nodes.elements(list)) {
                if element.html() == Some("li") && !self.definitions.contains_key(&item) {
                    let place = element.attribute("id").unwrap_or_default();
                    let label = label(&number.to_string(), place, page_name, labels);
                    self.definitions.insert(item, label);
                }
            }
        }
    }
}

/// Returns the links to places in the page, with the names of the places.
fn links<'p>(page: &'p Page<'_>) -> Vec<(usize, &'p str)> {
    let mut links = Vec::new();
    page.nodes.visit(0, |node| {
        if let Some(element) = page.nodes.element(node).filter(|element| element.html() == Some("a"))
            && let Some(place) = element.attribute("href").and_then(|href| href.strip_prefix('#'))
            && !place.is_empty()
        {
            links.push((node, place));
        }
        true
    });
    links
}

/// Returns the block that a named element is or begins. Behind a term, it is the meaning, with the term as its label.
fn block_of(page: &Page<'_>, named: usize) -> Option<(usize, Option<usize>)> {
    const BLOCKS: &[&str] = &["aside", "dd", "div", "li", "p", "section", "table"];
    for node in std::iter::once(named).chain(page.nodes.around(named)).take(NEAR) {
        let name = page.nodes.element(node)?.html()?;
        if name == "dt" {
            let mut behind = std::iter::successors(page.nodes.next(node), |node| page.nodes.next(*node));
            let meaning = behind.find(|node| page.nodes.element(*node).is_some())?;
            return is(page, meaning, |element| element.html() == Some("dd")).then_some((meaning, Some(node)));
        }
        if BLOCKS.contains(&name) {
            return Some((node, None));
        }
    }
    None
}

/// Returns a label that no other note has: the text of the reference, the number in its name, or the name.
fn label(shown: &str, place: &str, page_name: Option<&str>, labels: &mut HashSet<String>) -> String {
    let is_word = |c: char| c.is_alphanumeric() || matches!(c, '-' | '_' | '.');
    let named: String = place.chars().map(|c| if is_word(c) { c } else { '-' }).collect();
    let number = place.trim_end_matches(|c: char| c.is_ascii_digit());
    let is_label = |text: &&str| !text.is_empty() && text.len() <= MAX_LABEL && text.chars().all(is_word);
    let page_name = page_name.map(|name| {
        let file = name.rsplit('/').next().unwrap_or(name);
        let stem = file.rsplit_once('.').map_or(file, |(stem, _)| stem);
        stem.chars().map(|c| if is_word(c) { c } else { '-' }).chain(['-']).collect::<String>()
    });
    let wanted = [shown, &place[number.len()..], &named].into_iter().filter(is_label);
    for label in wanted {
        let label = format!("{}{label}", page_name.as_deref().unwrap_or_default());
        if labels.insert(label.clone()) {
            return label;
        }
    }
    // As many as there are labels are taken at most.
    let label = format!("{}{}", page_name.unwrap_or_else(|| "note-".to_owned()), labels.len() + 1);
    labels.insert(label.clone());
    label
}

fn is(page: &Page<'_>, node: usize, test: impl Fn(&Element) -> bool) -> bool {
    page.nodes.element(node).is_some_and(test)
}

fn has_type(element: &Element, names: &[&str]) -> bool {
    let types = element.attribute("epub:type").unwrap_or_default();
    types.split_ascii_whitespace().any(|own| names.contains(&own))
}

fn is_reference(element: &Element) -> bool {
    element.has_role("doc-noteref")
        || element.has_class("footnote-ref")
        || element.has_class("footnote-reference")
        || element.attribute("data-footnote-ref").is_some()
        || has_type(element, &["noteref"])
}

/// Returns whether an element is a note.
pub(super) fn is_note(element: &Element) -> bool {
    element.has_role("doc-footnote")
        || element.has_role("doc-endnote")
        || element.has_class("footnote")
        || has_type(element, &["footnote", "endnote", "rearnote"])
}

/// Returns whether an element is a list of notes.
pub(super) fn is_notes(element: &Element) -> bool {
    element.has_role("doc-endnotes")
        || element.has_class("footnotes")
        || element.has_class("footnote-list")
        || element.has_class("references") && element.html() == Some("ol")
        || has_type(element, &["footnotes", "endnotes", "rearnotes"])
}

/// Returns whether an element only leads from a note to its reference.
pub(super) fn is_back(element: &Element) -> bool {
    const CLASSES: &[&str] = &["footnote-back", "footnote-backref", "reversefootnote", "fn-backref", "backrefs"];
    element.has_role("doc-backlink")
        || element.attribute("data-footnote-backref").is_some()
        || element.classes().any(|class| CLASSES.contains(&class))
}
