//! Which part of a page is its content. Programs that make documentation have their own marks for it, and pages by hand
//! have the elements of the standard, or nothing. Text outside of the content is counted as navigation.

use std::collections::HashSet;

use chunkmill_text::document::{DropReason, LayerWriter, on_one_line, visible_chars};
use serde_json::Value;

use super::element::{heading, is_hidden, is_line_numbers, is_navigation, is_permalink};
use super::notes::{is_note, is_notes};
use super::text::Piece;
use super::tokens::Page;
use super::tree::{Element, Kind, Space};

/// Most elements of one kind that are compared.
const MAX_CANDIDATES: usize = 8;

/// Most tags that are taken from a page.
const MAX_TAGS: usize = 100;

/// Fewest links of a list that may be a menu.
const MENU: usize = 3;

/// Fewest characters without a link that a paragraph of text has.
const TEXT: u64 = 20;

/// The parts of a page that are read.
#[derive(Debug, Default)]
pub(super) struct Plan {
    /// Whether what is not content is left out.
    is_main: bool,
    /// Whether the page does not say what its content is.
    is_guess: bool,
    /// The elements with the content.
    pub(super) roots: HashSet<usize>,
    /// The elements around them.
    pub(super) above: HashSet<usize>,
    /// Lists that are menus.
    menus: HashSet<usize>,
}

impl Page<'_> {
    /// Calls a function with the characters of a text.
    pub(super) fn pieces(&self, text: usize, mut each: impl FnMut(&str)) {
        for piece in self.texts.get(text) {
            match piece {
                Piece::Same(range) => each(&self.source[range.clone()]),
                Piece::Other(text, _) => each(text),
            }
        }
    }

    /// Returns the text of a node and those in it.
    pub(super) fn string(&self, node: usize) -> String {
        let mut string = String::new();
        self.nodes.visit(node, |node| {
            if let Kind::Text { number, .. } = self.nodes.kind(node) {
                self.pieces(*number, |text| string.push_str(text));
            }
            true
        });
        string
    }

    /// Returns whether the first link in a node leads to a place of this page.
    fn leads_into_itself(&self, root: usize) -> bool {
        let mut target = None;
        self.nodes.visit(root, |node| {
            let link = self.nodes.element(node).filter(|element| element.html() == Some("a"));
            target = target.or_else(|| link?.attribute("href"));
            target.is_none()
        });
        target.is_some_and(|target| target.starts_with('#'))
    }

    /// Returns how many characters of the text of a node are seen, and how many of them are in links.
    pub(super) fn weight(&self, root: usize, plan: &Plan) -> (u64, u64) {
        let (mut outside, mut linked) = (0, 0);
        let is_seen = |node: usize, element: &Element| plan.reason(self, node, element).is_none();
        self.nodes.visit(root, |node| match self.nodes.kind(node) {
            Kind::Element(element) if node != root && !is_seen(node, element) => false,
            // A link in a link is a part of it.
            Kind::Element(element) if element.html() == Some("a") && element.attribute("href").is_some() => {
                linked += self.chars_where(node, is_seen);
                false
            }
            kind => {
                outside += self.chars_of(kind);
                true
            }
        });
        (outside + linked, linked)
    }

    /// Returns whether a heading is seen.
    pub(super) fn has_heading(&self, plan: &Plan) -> bool {
        let mut found = false;
        self.nodes.visit(0, |node| {
            let Some(element) = self.nodes.element(node).filter(|_| !found) else { return !found };
            if plan.reason(self, node, element).is_some() {
                return false;
            }
            found = element.html().and_then(heading).is_some() && self.chars(node) > 0;
            !found
        });
        found
    }

    /// Returns how many characters the text of a node has.
    fn chars(&self, root: usize) -> u64 {
        self.chars_where(root, |_, _| true)
    }

    /// Returns how many characters the text of a node has, without the elements in it that do not count.
    fn chars_where(&self, root: usize, counts: impl Fn(usize, &Element) -> bool) -> u64 {
        let mut all = 0;
        self.nodes.visit(root, |node| match self.nodes.kind(node) {
            Kind::Element(element) => node == root || counts(node, element),
            kind => {
                all += self.chars_of(kind);
                true
            }
        });
        all
    }

    /// Returns how many characters a text has, and 0 for anything else.
    fn chars_of(&self, kind: &Kind) -> u64 {
        let mut all = 0;
        if let Kind::Text { number, .. } = kind {
            self.pieces(*number, |text| all += visible_chars(text));
        }
        all
    }
}

impl Plan {
    /// Decides what is read of a page.
    pub(super) fn new(page: &Page<'_>, is_main: bool) -> Self {
        if !is_main {
            return Self { roots: HashSet::from([0]), ..Self::default() };
        }
        let mut plan = Self { is_main, ..Self::default() };
        if let Some(roots) = plan.find(page) {
            for root in roots {
                plan.above.extend(page.nodes.around(root));
                plan.roots.insert(root);
            }
            return plan;
        }
        (plan.is_guess, plan.roots) = (true, HashSet::from([0]));
        let (menus, weight) = plan.find_menus(page);
        if weight * 2 < page.weight(0, &plan).0 {
            plan.menus = menus;
        }
        if page.weight(0, &plan).0 == 0 {
            return Self { roots: HashSet::from([0]), ..Self::default() };
        }
        plan
    }

    /// Decides what is read of a page with a table of contents: what is not in the table, if that is more than titles.
    pub(super) fn of_contents(page: &Page<'_>) -> Self {
        let mut plan = Self { is_main: true, roots: HashSet::from([0]), ..Self::default() };
        let (all, linked) = page.weight(0, &plan);
        let mut titles = 0;
        page.nodes.visit(0, |node| {
            let Some(element) = page.nodes.element(node) else { return true };
            let is_title = element.html().and_then(heading).is_some();
            let is_read = plan.reason(page, node, element).is_none();
            titles += if is_title && is_read { page.chars(node) } else { 0 };
            is_read && !is_title
        });
        if linked * 10 >= all.saturating_sub(titles) * 9 {
            return Self::default();
        }
        plan.menus = plan.find_menus(page).0;
        plan
    }

    /// Finds the elements with the content.
    fn find(&self, page: &Page<'_>) -> Option<Vec<usize>> {
        /// Ids and classes of the content, by program: Sphinx, `MkDocs`, `mdBook`, rustdoc, doxygen, javadoc, Hugo.
        const MARKS: &[&str] = &[
            "#main-content",
            ".md-content__inner",
            ".body",
            ".td-content",
            ".markdown-body",
            ".document",
            "#doc-content",
        ];
        let elements: Vec<(usize, &Element)> = (0..page.nodes.len())
            .filter_map(|node| Some((node, page.nodes.element(node)?)))
            .filter(|(node, element)| element.space == Space::Html && page.nodes.parent(*node).is_some())
            .collect();
        let some = |test: &dyn Fn(&Element) -> bool| -> Vec<usize> {
            elements.iter().filter(|(_, element)| test(element)).map(|(node, _)| *node).take(MAX_CANDIDATES).collect()
        };
        let marked = |mark: &str| {
            some(&|element| match mark.split_at(1) {
                ("#", id) => element.attribute("id") == Some(id),
                (_, class) => element.html() != Some("body") && element.has_class(class),
            })
        };
        let heaviest = |nodes: Vec<usize>| {
            let weighed =
                nodes.into_iter().map(|node| (page.weight(node, self).0, node)).filter(|(weight, _)| *weight > 0);
            // The first of those that are equal.
            weighed.rev().max_by_key(|(weight, _)| *weight)
        };
        let articles = some(&|element| element.html() == Some("article"));
        let mains = some(&|element| element.html() == Some("main") || element.has_role("main"));
        if let Some((weight, main)) = heaviest(mains) {
            // The parts of a page around its article are often in `main` too.
            let inside = |node: &usize| page.nodes.around(*node).any(|around| around == main);
            let inner = articles.iter().copied().filter(inside).collect::<Vec<_>>();
            let inner = match &inner[..] {
                [article] => heaviest(vec![*article]),
                _ => heaviest(marked(".body").into_iter().filter(inside).collect()),
            };
            return Some(vec![inner.filter(|(inner, _)| inner * 2 > weight).map_or(main, |(_, inner)| inner)]);
        }
        for (title, content) in [(".header", ".contents"), (".header", ".contentContainer")] {
            // A table of contents may have the same class.
            let all = page.weight(0, self).0;
            if let Some((_, content)) = heaviest(marked(content)).filter(|(weight, _)| weight * 2 > all) {
                let mut roots = marked(title);
                roots.truncate(1);
                roots.push(content);
                return Some(roots);
            }
        }
        if let [article] = articles[..]
            && let Some((_, article)) = heaviest(vec![article])
        {
            return Some(vec![article]);
        }
        MARKS.iter().find_map(|mark| heaviest(marked(mark))).map(|(_, node)| vec![node])
    }

    /// Finds lists that have hardly anything but links, and how many characters they have. A list that stands below a paragraph
    /// of the same element is a part of its text if it leads to other pages.
    fn find_menus(&self, page: &Page<'_>) -> (HashSet<usize>, u64) {
        let (mut menus, mut weight) = (HashSet::new(), 0);
        let mut with_text = HashSet::new();
        page.nodes.visit(0, |node| {
            let Some(element) = page.nodes.element(node) else { return true };
            if self.reason(page, node, element).is_some() {
                return false;
            }
            if is_notes(element) {
                return false;
            }
            if element.html() == Some("p") {
                let (all, linked) = page.weight(node, self);
                if all - linked >= TEXT {
                    with_text.extend(page.nodes.parent(node));
                }
                return false;
            }
            if matches!(element.html(), Some("ul" | "ol")) {
                let (all, linked) = page.weight(node, self);
                let is_text = page.nodes.parent(node).is_some_and(|parent| with_text.contains(&parent))
                    && !page.leads_into_itself(node);
                if !is_text && page.nodes.elements(node).count() >= MENU && linked * 10 >= all * 9 {
                    menus.insert(node);
                    weight += all;
                }
                return false;
            }
            true
        });
        (menus, weight)
    }

    /// Returns why an element is not read.
    pub(super) fn reason(&self, page: &Page<'_>, node: usize, element: &Element) -> Option<DropReason> {
        if matches!(element.name(), "script" | "style") {
            return Some(DropReason::Script);
        }
        if element.html() == Some("head") {
            return Some(DropReason::Markup);
        }
        if is_hidden(element) {
            return Some(DropReason::Hidden);
        }
        if is_line_numbers(element) {
            return Some(DropReason::Markup);
        }
        if is_permalink(element) && page.chars(node) <= 2 {
            return Some(DropReason::Navigation);
        }
        (self.is_main && self.is_around(page, node, element)).then_some(DropReason::Navigation)
    }

    /// Returns whether an element is not content.
    fn is_around(&self, page: &Page<'_>, node: usize, element: &Element) -> bool {
        if is_navigation(element) || self.menus.contains(&node) {
            return true;
        }
        let is_banner = element.has_role("banner") || element.has_role("contentinfo");
        match element.html() {
            Some("button") => !page.nodes.around(node).take(3).any(|around| {
                let around = page.nodes.element(around).and_then(Element::html).unwrap_or_default();
                heading(around).is_some() || matches!(around, "summary" | "dt")
            }),
            Some("aside") if is_note(element) || is_notes(element) => false,
            Some("aside") => is_links(page, node) || self.is_guess && element.has_role("complementary"),
            Some("footer") => self.is_guess && !is_in_section(page, node) || is_links(page, node),
            Some("header") => self.is_guess && !is_in_section(page, node) && !has_title(page, node),
            _ => is_banner && !has_title(page, node),
        }
    }
}

/// Returns whether half of a text is links.
fn is_links(page: &Page<'_>, node: usize) -> bool {
    let (mut all, mut linked) = (0, 0);
    page.nodes.visit(node, |node| match page.nodes.kind(node) {
        Kind::Element(element) => {
            if element.html() == Some("a") && element.attribute("href").is_some() {
                let link = page.chars(node);
                (all, linked) = (all + link, linked + link);
                return false;
            }
            true
        }
        Kind::Text { number, .. } => {
            page.pieces(*number, |text| all += visible_chars(text));
            true
        }
        Kind::Document | Kind::Nothing => true,
    });
    linked * 2 >= all && linked > 0
}

/// Returns whether an element is inside a part of the page.
fn is_in_section(page: &Page<'_>, node: usize) -> bool {
    page.nodes.around(node).any(|around| {
        let name = page.nodes.element(around).and_then(Element::html);
        matches!(name, Some("article" | "section" | "main" | "blockquote"))
    })
}

/// Returns whether an element has the title of the page.
fn has_title(page: &Page<'_>, node: usize) -> bool {
    let mut found = false;
    page.nodes.visit(node, |node| {
        found |= page.nodes.element(node).is_some_and(|element| element.html() == Some("h1"));
        !found
    });
    found
}

/// Writes what a page says about itself.
pub(super) fn about(page: &Page<'_>, writer: &mut LayerWriter) {
    page.nodes.visit(0, |node| {
        let Some(element) = page.nodes.element(node) else { return true };
        match element.html() {
            Some("title") => {
                let title = on_one_line(&page.string(node));
                let about = writer.about();
                if about.title.is_none() && !title.is_empty() {
                    about.title = Some(title);
                }
            }
            Some("html") => {
                let lang = element.attribute("lang").or_else(|| element.attribute("xml:lang"));
                set(writer, "lang", lang.unwrap_or_default());
            }
            Some("meta") => meta(element, writer),
            Some("link") if element.attribute("rel").is_some_and(|rel| rel.eq_ignore_ascii_case("canonical")) => {
                set(writer, "canonical", element.attribute("href").unwrap_or_default());
            }
            Some("body") => return false,
            _ => {}
        }
        true
    });
}

fn meta(element: &Element, writer: &mut LayerWriter) {
    let name = element.attribute("name").or_else(|| element.attribute("property")).unwrap_or_default();
    let content = element.attribute("content").unwrap_or_default();
    match &*name.to_ascii_lowercase() {
        "description" | "dcterms.description" | "dc.description" => set(writer, "description", content),
        "author" | "dcterms.creator" | "dc.creator" => set(writer, "author", content),
        "date" | "dcterms.date" | "dc.date" | "article:published_time" => set(writer, "date", content),
        "keywords" => {
            let tags = content.split(',').map(on_one_line).filter(|tag| !tag.is_empty());
            writer.about().tags.extend(tags.take(MAX_TAGS));
        }
        _ => {}
    }
}

fn set(writer: &mut LayerWriter, key: &str, value: &str) {
    let value = on_one_line(value);
    if !value.is_empty() && !writer.about().metadata.contains_key(key) {
        writer.about().metadata.insert(key.to_owned(), Value::String(value));
    }
}
