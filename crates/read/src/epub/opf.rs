//! The package document of a book: what the book says about itself, its parts, and the order of its pages.

use std::collections::{HashMap, HashSet};

use chunkmill_base::error::Skip;
use chunkmill_text::document::{LayerWriter, on_one_line};
use serde_json::Value;

use super::names::{FORMAT, follow, place_name, short_name, target};
use crate::package::Package;
use crate::package::xml::{Event, Tag, Xml};

/// Longest value that is kept, in bytes.
const MAX_VALUE: usize = 2000;

/// Most values of one kind.
const MAX_VALUES: usize = 100;

/// Most parts in a row that stand for each other.
const MAX_FALLBACKS: usize = 8;

/// Media types of pages.
const PAGES: &[&str] =
    &["application/xhtml+xml", "text/html", "image/svg+xml", "application/x-dtbook+xml", "application/xml", "text/xml"];

/// Returns the name of the package document.
pub(super) fn root(package: &mut Package<'_>) -> Result<String, Skip> {
    const CONTAINER: &str = "META-INF/container.xml";
    let text = package.needed(CONTAINER)?;
    let mut xml = Xml::new(&text, FORMAT, CONTAINER);
    let mut first = None;
    while let Some(event) = xml.next()? {
        let Event::Start(tag) = event else { continue };
        if tag.name().1 != "rootfile" {
            continue;
        }
        // A book may be there in several forms. The first is the usual one.
        let Some((part, _)) = tag.attr("full-path").and_then(|path| follow("", &path)) else { continue };
        if tag.attr("media-type").is_some_and(|kind| kind == "application/oebps-package+xml") {
            return Ok(part);
        }
        first.get_or_insert(part);
    }
    first.ok_or_else(|| Skip::Malformed { format: FORMAT, problem: format!("{CONTAINER} names no package document") })
}

/// A page of a book.
#[derive(Debug)]
pub(super) struct Page {
    /// Its name in the package.
    pub(super) part: String,
    /// Its name in the book.
    pub(super) name: String,
    /// Whether it is the table of contents.
    pub(super) is_contents: bool,
}

/// A part that the book declares.
#[derive(Debug)]
struct Item {
    part: String,
    media_type: String,
    fallback: Option<String>,
}

/// A book.
#[derive(Debug, Default)]
pub(super) struct Book {
    /// Its pages in the order in which they are read.
    pub(super) pages: Vec<Page>,
    /// The names of the parts that have tables of contents, in EPUB 3 and 2.
    pub(super) nav: Option<String>,
    pub(super) ncx: Option<String>,
    pub(super) has_pictures: bool,
    /// The folder that it is in.
    folder: String,
    /// Names of its pages by their names in the package in lower case.
    names: HashMap<String, String>,
}

/// The package document, as it is read.
#[derive(Default)]
struct Document {
    items: HashMap<String, Item>,
    /// Identifiers of pages, and whether each is read in order.
    spine: Vec<(String, bool)>,
    ncx: Option<String>,
    nav: Option<String>,
    /// The page with the table of contents in EPUB 2.
    contents: Option<String>,
    /// The identifier of the identifier of the book.
    identifier: Option<String>,
    about: About,
}

/// The metadata of a book.
#[derive(Default)]
struct About {
    titles: Vec<String>,
    creators: Vec<String>,
    subjects: Vec<String>,
    /// Whether the identifier is the one that the book names.
    is_own: bool,
    has_published: bool,
    values: HashMap<&'static str, String>,
}

impl Book {
    /// Reads the package document, and writes what the book says about itself.
    pub(super) fn read(package: &mut Package<'_>, root: &str, writer: &mut LayerWriter) -> Result<Self, Skip> {
        let text = package.needed(root)?;
        let mut document = Document::default();
        let mut xml = Xml::new(&text, FORMAT, root);
        while let Some(event) = xml.next()? {
            let Event::Start(tag) = event else { continue };
            if tag.name().0 == "dc" {
                let value = xml.text()?;
                document.about(&tag, &value);
            } else {
                document.element(&tag, root);
            }
        }
        std::mem::take(&mut document.about).write(writer);
        Ok(document.book(package, root))
    }

    /// Returns the name of a place by a reference in a part; `None` if it is on no page of the book.
    pub(super) fn place(&self, from: &str, reference: &str) -> Option<String> {
        let (part, element) = follow(from, reference)?;
        let page = self.names.get(&part.to_ascii_lowercase())?;
        Some(place_name(page, &element))
    }

    /// Returns the target of a link of a page: the place in the book if it leads there.
    pub(super) fn target(&self, from: &str, href: &str) -> String {
        self.place(from, href).map_or_else(|| href.to_owned(), |place| target(&place))
    }
}

impl Document {
    fn element(&mut self, tag: &Tag<'_>, root: &str) {
        let own = |name: &str| tag.attr(name).map(std::borrow::Cow::into_owned);
        match tag.name().1 {
            "package" => self.identifier = own("unique-identifier"),
            "item" => {
                let (Some(id), Some(href)) = (own("id"), own("href")) else { return };
                let Some((part, _)) = follow(root, &href) else { return };
                let properties = own("properties").unwrap_or_default();
                if properties.split_whitespace().any(|property| property == "nav") {
                    self.nav = Some(part.clone());
                }
                let media_type = own("media-type").unwrap_or_default().to_ascii_lowercase();
                self.items.entry(id).or_insert(Item { part, media_type, fallback: own("fallback") });
            }
            "spine" => self.ncx = own("toc"),
            "itemref" => {
                let linear = tag.attr("linear").is_none_or(|linear| linear != "no");
                self.spine.extend(own("idref").map(|id| (id, linear)));
            }
            "reference" if own("type").is_some_and(|kind| kind == "toc") => {
                let followed = own("href").and_then(|href| follow(root, &href));
                self.contents = followed.map(|(part, _)| part);
            }
            _ => {}
        }
    }

    fn about(&mut self, tag: &Tag<'_>, value: &str) {
        let value = on_one_line(value);
        let value = value[..value.floor_char_boundary(MAX_VALUE)].to_owned();
        // Programs write this if they know nothing.
        if value.is_empty() || value.eq_ignore_ascii_case("unknown") {
            return;
        }
        let about = &mut self.about;
        let push = |list: &mut Vec<String>, value| {
            if list.len() < MAX_VALUES && !list.contains(&value) {
                list.push(value);
            }
        };
        match tag.name().1 {
            "title" => push(&mut about.titles, value),
            "creator" => push(&mut about.creators, value),
            "subject" => push(&mut about.subjects, value),
            "language" => drop(about.values.entry("lang").or_insert(value)),
            "publisher" => drop(about.values.entry("publisher").or_insert(value)),
            "description" => drop(about.values.entry("description").or_insert(value)),
            "date" => {
                // EPUB 2 has dates of several events.
                let is_published = tag.attr("event").is_some_and(|event| event == "publication");
                if is_published && !about.has_published || !about.values.contains_key("date") {
                    about.values.insert("date", value);
                }
                about.has_published |= is_published;
            }
            "identifier" => {
                let is_own = self.identifier.is_some() && tag.attr("id").as_deref() == self.identifier.as_deref();
                if is_own && !about.is_own || !about.values.contains_key("identifier") {
                    about.values.insert("identifier", value);
                }
                about.is_own |= is_own;
            }
            _ => {}
        }
    }

    /// Returns the part that is a page, which may stand for another one.
    fn page(&self, id: &str) -> Option<&Item> {
        let next = |item: &&Item| self.items.get(item.fallback.as_deref()?);
        std::iter::successors(self.items.get(id), next)
            .take(MAX_FALLBACKS)
            .find(|item| item.media_type.is_empty() || PAGES.contains(&&*item.media_type))
    }

    fn book(self, package: &Package<'_>, root: &str) -> Book {
        let folder = root.rsplit_once('/').map_or("", |(folder, _)| folder).to_owned();
        let mut book = Book { folder, nav: self.nav.clone(), ..Book::default() };
        book.has_pictures = self.items.values().any(|item| item.media_type.starts_with("image/"));
        let named = self.ncx.as_ref().and_then(|id| self.items.get(id));
        let ncx = named.or_else(|| self.items.values().find(|item| item.media_type == "application/x-dtbncx+xml"));
        book.ncx = ncx.map(|item| item.part.clone()).filter(|part| package.has(part));
        let mut seen = HashSet::new();
        let in_order = self.spine.iter().filter(|(_, linear)| *linear);
        for (id, _) in in_order.chain(self.spine.iter().filter(|(_, linear)| !linear)) {
            let Some(item) = self.page(id) else { continue };
            if seen.insert(item.part.to_ascii_lowercase()) {
                let is_contents = [&self.nav, &self.contents].into_iter().any(|part| part.as_ref() == Some(&item.part));
                let name = short_name(&book.folder, &item.part);
                book.names.insert(item.part.to_ascii_lowercase(), name.clone());
                book.pages.push(Page { part: item.part.clone(), name, is_contents });
            }
        }
        book
    }
}

impl About {
    fn write(self, writer: &mut LayerWriter) {
        let about = writer.about();
        about.title = self.titles.into_iter().next();
        about.tags = self.subjects;
        let mut creators: Vec<Value> = self.creators.into_iter().map(Value::from).collect();
        match creators.len() {
            0 => {}
            1 => drop(about.metadata.insert("author".to_owned(), creators.remove(0))),
            _ => drop(about.metadata.insert("author".to_owned(), creators.into())),
        }
        about.metadata.extend(self.values.into_iter().map(|(key, value)| (key.to_owned(), Value::from(value))));
    }
}
