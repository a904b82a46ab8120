//! The titles of a book's table of contents, by the names of their places. The table is there to help: one that cannot be
//! read gives the titles up to its mistake.

use std::collections::HashMap;

use chunkmill_base::error::Skip;
use chunkmill_text::document::on_one_line;

use super::names::FORMAT;
use super::opf::Book;
use crate::html::Title;
use crate::package::Package;
use crate::package::xml::{Event, Xml};

/// Returns the titles by the names of their places. Of several for one place, the first counts.
pub(super) fn titles(package: &mut Package<'_>, book: &Book) -> HashMap<String, Title> {
    let mut titles = HashMap::new();
    let mut read = |part: Option<&String>, entries: Entries| {
        let Some(part) = part else { return };
        let Ok(Some(text)) = package.part(part) else { return };
        let mut add = |href: &str, level: usize, title: &str| {
            let text = on_one_line(title);
            let level = u8::try_from(level.clamp(1, 6)).unwrap_or(6);
            if let Some(place) = book.place(part, href).filter(|_| !text.is_empty()) {
                titles.entry(place).or_insert(Title { level, text });
            }
        };
        // The entries before a mistake were added.
        drop(entries(&mut Xml::new(&text, FORMAT, part), &mut add));
    };
    read(book.nav.as_ref(), of_nav);
    read(book.ncx.as_ref(), of_ncx);
    titles
}

/// A function that reads a table, and shows the reference, the level and the title of each entry.
type Entries = fn(&mut Xml<'_>, &mut dyn FnMut(&str, usize, &str)) -> Result<(), Skip>;

/// Reads a table of EPUB 3: lists of links in a page.
fn of_nav(xml: &mut Xml<'_>, add: &mut dyn FnMut(&str, usize, &str)) -> Result<(), Skip> {
    let (mut table, mut level) = (None, 0);
    while let Some(event) = xml.next()? {
        match event {
            Event::Start(tag) => match tag.name().1 {
                "nav" if tag.attr("type").is_some_and(|kind| kind.split_whitespace().any(|kind| kind == "toc")) => {
                    table.get_or_insert(xml.depth());
                }
                "ol" if table.is_some() => level += 1,
                "a" if table.is_some() => {
                    let title = xml.text()?;
                    if let Some(href) = tag.attr("href") {
                        add(&href, level, &title);
                    }
                }
                _ => {}
            },
            Event::End(tag) if tag.name().1 == "ol" && table.is_some() => level -= 1,
            Event::End(_) if table.is_some_and(|depth| xml.depth() < depth) => break,
            _ => {}
        }
    }
    Ok(())
}

/// Reads a table of EPUB 2: points in points.
fn of_ncx(xml: &mut Xml<'_>, add: &mut dyn FnMut(&str, usize, &str)) -> Result<(), Skip> {
    let (mut level, mut title) = (0_usize, String::new());
    while let Some(event) = xml.next()? {
        match event {
            Event::Start(tag) => match tag.name().1 {
                "navPoint" => level += 1,
                "navLabel" if level > 0 => title = xml.text()?,
                "content" if level > 0 => {
                    if let Some(href) = tag.attr("src") {
                        add(&href, level, &title);
                    }
                }
                _ => {}
            },
            Event::End(tag) if tag.name().1 == "navPoint" => level -= 1,
            _ => {}
        }
    }
    Ok(())
}
