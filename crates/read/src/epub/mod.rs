//! Books in EPUB 2 and 3.
//!
//! A book is a package of pages in XHTML, with a list of them in reading order. The crates `epub` and
//! `rbook` were looked at: they return the pages as strings, which is the small part of the work, and set no bound on what
//! they unpack. So [`opf`] reads the list here, and each page goes through the reader of HTML into one layer. That makes a
//! tree of any page, also of one that is not XML.
//!
//! The text of a book is packed, so its places are names: `text/ch1.xhtml`, and `text/ch1.xhtml#id` for an element. Anchors
//! are named alike, and links inside of the book lead to them. Pages that are not in the order of reading (`linear="no"`:
//! notes, answers) come last: elsewhere, they would stand between two chapters. A page without a heading takes its title from
//! the table of contents, which itself is not read.

mod encryption;
mod names;
mod opf;
#[cfg(test)]
#[allow(clippy::pedantic, clippy::unwrap_used, reason = "tests fail by panicking")]
mod tests;
mod toc;

use std::collections::HashMap;

use chunkmill_base::error::Skip;
use chunkmill_text::document::{LayerWriter, ReadFlag, ReadSettings};

use crate::html::{Part, Title, decode, write_part};
use crate::package::{Package, decoded};
use names::FORMAT;
use opf::{Book, Page};

/// Reads a book.
pub(crate) fn read(bytes: &[u8], writer: &mut LayerWriter, settings: &ReadSettings) -> Result<(), Skip> {
    writer.forget_bytes();
    write(bytes, writer, settings)
}

fn write(bytes: &[u8], writer: &mut LayerWriter, settings: &ReadSettings) -> Result<(), Skip> {
    let mut package = Package::open(bytes, FORMAT, settings)?;
    let encrypted = encryption::parts(&mut package)?;
    let root = opf::root(&mut package)?;
    let book = Book::read(&mut package, &root, writer)?;
    if book.pages.iter().any(|page| encrypted.contains(&page.part.to_ascii_lowercase())) {
        return Err(Skip::Encrypted);
    }
    let titles = toc::titles(&mut package, &book);
    for page in &book.pages {
        if writer.is_full() {
            break;
        }
        let Some(text) = text(&mut package, page, writer)? else { continue };
        write_page(&text, &book, page, &titles, writer)?;
    }
    if writer.is_empty() {
        return Err(Skip::NoText { pictures: book.has_pictures });
    }
    Ok(())
}

/// Returns the text of a page. Those of old books may have other encodings than they should.
fn text(package: &mut Package<'_>, page: &Page, writer: &mut LayerWriter) -> Result<Option<String>, Skip> {
    let Some(bytes) = package.bytes(&page.part)? else {
        writer.flag(ReadFlag::MissingPage);
        return Ok(None);
    };
    Ok(Some(match String::from_utf8(bytes) {
        Ok(text) => text,
        Err(error) => {
            let bytes = error.into_bytes();
            decode(bytes.clone()).map_or_else(|_| decoded(bytes), |layer| layer.text)
        }
    }))
}

fn write_page(
    text: &str,
    book: &Book,
    page: &Page,
    titles: &HashMap<String, Title>,
    writer: &mut LayerWriter,
) -> Result<(), Skip> {
    let target = |href: &str| book.target(&page.part, href);
    let part = Part { name: &page.name, is_contents: page.is_contents, titles, target: &target };
    write_part(text, Some(&part), 0, writer)
}
