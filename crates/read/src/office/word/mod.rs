//! Word.
//!
//! A paragraph is written when it ends, with the place that an `XPath` has: `body/p[12]` is the twelfth paragraph of
//! the body. A table is one place. Deletions of change tracking, hidden text, and copies of a text box for older
//! programs are left out and counted; so are comments, headers and footers.

mod body;
mod styles;
mod symbols;

use std::collections::{HashMap, HashSet};

use chunkmill_base::error::Skip;
use chunkmill_text::document::{DropReason, LayerWriter, ReadSettings};

use self::body::{Body, FORMAT, NoteKind, NoteUse};
use self::styles::{Lists, Styles};
use super::drawing;
use super::flow::{Flow, Piece};
use crate::package::xml::{Event, Xml};
use crate::package::{Package, Relations};

/// Parts that are not read, by the kind of the relation to them.
const LEFT_OUT: [(&str, DropReason); 3] =
    [("comments", DropReason::Comment), ("header", DropReason::RunningHead), ("footer", DropReason::RunningHead)];

/// A document that is being read.
struct Document<'b> {
    package: Package<'b>,
    relations: Relations,
    styles: Styles,
    lists: Lists,
}

/// Reads a Word document.
pub(crate) fn read(bytes: &[u8], writer: &mut LayerWriter, settings: &ReadSettings) -> Result<(), Skip> {
    let mut package = Package::open(bytes, FORMAT, settings)?;
    super::about::core(&mut package, writer)?;
    let (main, relations) = package.main("word/document.xml")?;
    let (styles, lists) = (Styles::default(), Lists::default());
    let mut document = Document { package, relations, styles, lists };
    if let Some((part, text)) = document.related("styles")? {
        document.styles = Styles::read(&text, FORMAT, &part)?;
    }
    if let Some((part, text)) = document.related("numbering")? {
        document.lists = Lists::read(&text, FORMAT, &part)?;
    }
    document.body(&main, writer)?;
    for (kind, reason) in LEFT_OUT {
        document.left_out(kind, reason, writer)?;
    }
    Ok(())
}

impl Document<'_> {
    fn body(&mut self, main: &str, writer: &mut LayerWriter) -> Result<(), Skip> {
        let text = self.package.needed(main)?;
        let mut flow = Flow::default();
        let body = Body::new(&self.styles, &mut self.lists, &self.relations, self.package.most);
        let package = &mut self.package;
        let rest = body.read(&text, main, writer, |piece, writer| drawing::write(piece, &mut flow, package, writer))?;
        flow.finish(writer);
        for kind in [NoteKind::Footnote, NoteKind::Endnote] {
            self.notes(kind, &rest.notes, writer)?;
        }
        let about = writer.about();
        about.title = about.title.take().or(rest.title);
        Ok(())
    }

    /// Writes the notes that the body refers to, in its order.
    fn notes(&mut self, kind: NoteKind, used: &[NoteUse], writer: &mut LayerWriter) -> Result<(), Skip> {
        let Some((part, text)) = self.related(kind.part())? else { return Ok(()) };
        let relations = self.package.relations(&part)?;
        let ids: HashSet<&str> = used.iter().filter(|note| note.kind == kind).map(|note| &*note.id).collect();
        let mut notes = HashMap::<String, Vec<Piece>>::new();
        let body = Body::new(&self.styles, &mut self.lists, &relations, self.package.most);
        body.read_notes(&text, &part, (kind, &ids), writer, |id, piece| {
            notes.entry(id.to_owned()).or_default().push(piece);
        })?;
        for note in used.iter().filter(|note| note.kind == kind) {
            let mut pieces = notes.remove(&note.id).unwrap_or_default().into_iter().peekable();
            if let Some(Piece::Place(place)) = pieces.next_if(|piece| matches!(piece, Piece::Place(_))) {
                writer.place(place);
            }
            writer.open_footnote(&note.label);
            let mut flow = Flow::default();
            for piece in pieces {
                drawing::write(piece, &mut flow, &mut self.package, writer)?;
            }
            flow.finish(writer);
            writer.close();
        }
        Ok(())
    }

    /// Returns the name and text of the first part of a kind.
    fn related(&mut self, kind: &str) -> Result<Option<(String, String)>, Skip> {
        let Some(part) = self.relations.of_kind(kind).map(|relation| relation.target.clone()).next() else {
            return Ok(None);
        };
        Ok(self.package.part(&part)?.map(|text| (part, text)))
    }

    /// Counts the text of parts that are not read.
    fn left_out(&mut self, kind: &str, reason: DropReason, writer: &mut LayerWriter) -> Result<(), Skip> {
        for relation in self.relations.of_kind(kind) {
            let Some(text) = self.package.part(&relation.target)? else { continue };
            let mut xml = Xml::new(&text, FORMAT, &relation.target);
            while let Some(event) = xml.next()? {
                let Event::Start(tag) = event else { continue };
                match tag.name() {
                    ("mc", "Fallback") => xml.skip(|_| {})?,
                    ("w" | "m" | "a", "t") => xml.skip(|text| writer.drop(reason, text))?,
                    _ => {}
                }
            }
        }
        Ok(())
    }
}
