//! Reads HTML and XHTML pages.
//!
//! Three things were wanted together: the tree that browsers make of a page, also of one with mistakes; the bytes of each
//! piece of text; and a bound on time and memory. No crate has all. html5ever makes the tree as the standard says, but its
//! tokenizer knows lines, not bytes. html5gum's tokenizer knows the bytes of everything. So html5gum reads the tags, and
//! html5ever's tree builder makes the tree of them. `scraper` and `html5gum::emitters::html5ever` connect the two as well,
//! but merge text and lose its bytes. Programs that print a page as text, such as `html2text`, have no bytes either.
//!
//! | module | question it answers |
//! | --- | --- |
//! | `part` | What is known of a page that is a part of a larger file? |
//! | `encoding` | Which characters are the bytes? |
//! | `text` | Which bytes are a text of the page? |
//! | `tokens` | Which tags and texts follow each other? |
//! | `tree` | Which elements are inside which? |
//! | `element` | What is an element for? |
//! | `plan` | Which part of the page is its content, and what does the page say about itself? |
//! | `inline` | How is text inside a block written? |
//! | `lines` | How is code written? |
//! | `notes` | Which blocks are footnotes, and which links refer to them? |
//! | `table` | Which cells has a table? |
//! | `walk` | Which blocks does the content have? |

mod element;
mod encoding;
mod inline;
mod lines;
mod notes;
mod part;
mod plan;
mod table;
mod text;
mod tokens;
mod tree;
mod walk;

#[cfg(test)]
mod tests;

use chunkmill_base::error::Skip;
use chunkmill_text::document::{DropReason, HtmlPart, Layer, LayerWriter, ReadSettings, Width};

pub(crate) use encoding::decode;
#[allow(unused_imports, reason = "not all builds have books")]
pub(crate) use part::{Part, Title};

use plan::Plan;
use walk::Walk;

/// Reads a page.
pub(crate) fn read(source: &Layer, writer: &mut LayerWriter, settings: &ReadSettings) -> Result<(), Skip> {
    let page = tokens::page(&source.text, false)?;
    if source.map.is_unknown() {
        writer.forget_bytes();
    }
    if let Some(known) = &source.structure {
        writer.about().metadata.extend(known.metadata.clone());
        known.flags.iter().for_each(|flag| writer.flag(*flag));
    } else if source.map.width() == Width::Utf16 {
        writer.about().metadata.insert("encoding".into(), "UTF-16".into());
    }
    plan::about(&page, writer);
    writer.drop(DropReason::Comment, &page.comments);
    let plan = Plan::new(&page, settings.html == HtmlPart::Main);
    Walk::new(&page, &plan, None, writer).page();
    Ok(())
}

/// Reads a page that is a part of a larger file, with all that it shows, under a heading of level `below`, or 0. Its bytes
/// are not those of the file, so [`LayerWriter::forget_bytes`] comes first.
#[allow(dead_code, reason = "not all builds have files with parts")]
pub(crate) fn write_part(text: &str, part: Option<&Part<'_>>, below: u8, writer: &mut LayerWriter) -> Result<(), Skip> {
    let page = tokens::page(text, part.is_some())?;
    writer.drop(DropReason::Comment, &page.comments);
    let is_contents = part.is_some_and(|part| part.is_contents);
    let plan = if is_contents { Plan::of_contents(&page) } else { Plan::new(&page, false) };
    Walk::new(&page, &plan, part, writer).below(below).page();
    Ok(())
}
