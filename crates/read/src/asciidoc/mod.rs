//! `AsciiDoc`, as Asciidoctor reads it, without what needs other files.
//!
//! The crate `asciidoc-parser` was considered. It brings 21 more crates, reads UTF-8 only and has no `book` doctype,
//! and what it renders does not say from which byte of the file a piece of text inside a line is. `AsciiDoc` is read
//! line by line anyway, so this reader is one of lines, and keeps the byte of each piece of text.
//!
//! Lines of `ifdef::` and the like are left out and what they enclose is kept: which of it is shown depends on
//! settings that are not in the file. Files of `include::` are not read: the line stays and names them. References to
//! attributes are replaced if the file itself defines the attribute. Index terms, comments and passed-through HTML are
//! counted and left out.

mod attributes;
mod blocks;
mod inline;
mod lines;
mod links;
mod lists;
mod marks;
mod piece;
mod tables;
#[cfg(test)]
#[allow(clippy::pedantic, clippy::unwrap_used, reason = "tests fail by panicking")]
mod tests;

use std::collections::HashMap;

use chunkmill_base::error::Skip;
use chunkmill_text::document::{DropReason, Inline, Layer, LayerWriter, ReadSettings};
use serde_json::Value;

use self::attributes::Attributes;
use self::lines::Line;
use self::marks::Marker;

/// Deepest nesting of blocks and lists that is read. Deeper blocks are read as paragraphs.
const MAX_DEPTH: usize = 24;

/// Bytes that attributes may always put in; the size of the file is added.
const FREE_ROOM: usize = 64 << 10;

/// Attributes of the document that say something about it, with the name that they have in metadata.
const ABOUT: [(&str, &str); 7] = [
    ("author", "author"),
    ("email", "email"),
    ("revdate", "date"),
    ("revnumber", "version"),
    ("description", "description"),
    ("lang", "lang"),
    ("revremark", "revision"),
];

/// Reads a file in `AsciiDoc`.
///
/// # Errors
/// None: any text can be read.
#[expect(clippy::unnecessary_wraps, reason = "other readers refuse files")]
pub(crate) fn read(source: &Layer, writer: &mut LayerWriter, _settings: &ReadSettings) -> Result<(), Skip> {
    let text = source.text.as_str();
    let lines = lines::of_file(text, writer);
    let mut reader = Reader::new(text, writer);
    reader.find_titles(&lines);
    reader.blocks(&lines);
    reader.write_notes();
    reader.describe();
    Ok(())
}

/// Reads one file.
struct Reader<'r> {
    text: &'r str,
    writer: &'r mut LayerWriter,
    /// Attributes of the document, by name in lower case.
    settings: HashMap<String, String>,
    /// The names of sections by their title, for links that have the title as target.
    titles: HashMap<String, String>,
    /// How many bytes attributes may still put in.
    room: usize,
    /// The attributes of the next block, from the lines before it.
    pending: Attributes,
    /// Text to write before the next paragraph, in the same paragraph.
    lead: Option<Inline>,
    /// Footnotes that are not written yet.
    notes: Vec<(String, Inline)>,
    /// Labels of footnotes by the name that the author gave them.
    note_names: HashMap<String, String>,
    note_count: usize,
    /// The marks of the lists that are open, from the outermost.
    markers: Vec<Marker>,
    depth: usize,
    /// How many of the marks around are code, in which there are no others.
    in_code: usize,
    has_title: bool,
}

impl<'r> Reader<'r> {
    fn new(text: &'r str, writer: &'r mut LayerWriter) -> Self {
        Self {
            text,
            writer,
            settings: HashMap::new(),
            titles: HashMap::new(),
            room: text.len() + FREE_ROOM,
            pending: Attributes::default(),
            lead: None,
            notes: Vec::new(),
            note_names: HashMap::new(),
            note_count: 0,
            markers: Vec::new(),
            depth: 0,
            in_code: 0,
            has_title: false,
        }
    }

    /// Counts a text as markup.
    fn markup(&mut self, text: &str) {
        self.writer.drop(DropReason::Markup, text);
    }

    fn markup_lines(&mut self, reason: DropReason, lines: &[Line]) {
        for line in lines {
            self.writer.drop(reason, line.of(self.text));
        }
    }

    /// Finds the titles of sections: a link may name one.
    fn find_titles(&mut self, lines: &[Line]) {
        for line in lines {
            if let Some((_, len)) = marks::title(line.of(self.text)) {
                let text = line.of(self.text);
                let title = text[len..].trim();
                let title = title.strip_suffix(&text[..len]).map_or(title, str::trim_end);
                self.titles.entry(title.to_owned()).or_insert_with(|| marks::section_name(title));
            }
        }
    }

    /// Writes the footnotes of the section that ends here.
    fn write_notes(&mut self) {
        for (label, note) in std::mem::take(&mut self.notes) {
            self.writer.open_footnote(&label);
            self.writer.paragraph(&note);
            self.writer.close();
        }
    }

    /// Takes over what the attributes say about the document.
    fn describe(&mut self) {
        for (name, key) in ABOUT {
            let Some(value) = self.settings.get(name).filter(|value| !value.is_empty()) else { continue };
            self.writer.about().metadata.insert(key.to_owned(), Value::String(value.clone()));
        }
        let tags = self.settings.get("keywords").cloned().unwrap_or_default();
        let tags = tags.split(',').map(str::trim).filter(|tag| !tag.is_empty()).map(str::to_owned);
        self.writer.about().tags.extend(tags);
    }
}
