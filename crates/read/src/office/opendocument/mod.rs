//! `OpenDocument`: text, slides and sheets.
//!
//! All three have their text in one part, with the same paragraphs, lists and tables. Where a paragraph is has three names: a
//! paragraph of the text as an `XPath` has it, a slide with its number, a range of cells. Repeated rows and columns are one
//! element with a count, which is not trusted.

mod content;
mod styles;

use chunkmill_base::error::Skip;
use chunkmill_text::document::{LayerWriter, ReadSettings};

use self::content::{Content, FORMAT};
use self::styles::Styles;
use crate::package::Package;
use crate::package::xml::{Event, Xml};

/// Reads an `OpenDocument` file.
pub(crate) fn read(bytes: &[u8], writer: &mut LayerWriter, settings: &ReadSettings) -> Result<(), Skip> {
    let mut package = Package::open(bytes, FORMAT, settings)?;
    if is_encrypted(&mut package)? {
        return Err(Skip::Encrypted);
    }
    super::about::properties(&mut package, "meta.xml", writer)?;
    let mut styles = Styles::default();
    if let Some(text) = package.part("styles.xml")? {
        let mut xml = Xml::new(&text, FORMAT, "styles.xml");
        while let Some(event) = xml.next()? {
            let Event::Start(tag) = event else { continue };
            if tag.name() == ("office", "master-styles") {
                // Headers, footers and prompts.
                break;
            }
            styles.start(&tag);
        }
    }
    let title = Content::new(&mut package, styles).read(writer)?;
    let about = writer.about();
    about.title = about.title.take().or(title);
    Ok(())
}

/// Returns whether parts are encrypted.
fn is_encrypted(package: &mut Package<'_>) -> Result<bool, Skip> {
    let name = "META-INF/manifest.xml";
    let Some(text) = package.part(name)? else { return Ok(false) };
    let mut xml = Xml::new(&text, FORMAT, name);
    while let Some(event) = xml.next()? {
        if matches!(&event, Event::Start(tag) if tag.name().1 == "encryption-data") {
            return Ok(true);
        }
    }
    Ok(false)
}
