//! reStructuredText, as docutils and Sphinx write it.
//!
//! No crate keeps the places of text in the file: `rst_parser` and `document_tree` have no spans and stop at the first
//! error, and docutils itself knows lines, not bytes. So the lines are read here, by docutils' rules: blocks by their first
//! line and their indentation, then marks inside of text. Where docutils reports an error and leaves text out, the text is
//! kept. Directives of Sphinx that are about names (`py:function`) are read as signatures with their content; those that
//! are about layout are left out, and their content is read.

mod blocks;
mod directives;
mod inline;
mod lines;
mod lists;
mod marks;
mod names;
mod tables;

use std::collections::HashMap;

use chunkmill_base::error::Skip;
use chunkmill_text::document::{Inline, Layer, LayerWriter, ReadSettings};

use names::Names;

#[cfg(test)]
mod tests;

/// Deepest nesting of blocks that is read. Deeper blocks are read as paragraphs.
const MAX_DEPTH: usize = 40;

/// Bytes that substitutions may always put in; the size of the file is added.
const FREE_ROOM: usize = 1 << 16;

/// Reads a file.
struct Reader<'a> {
    text: &'a str,
    writer: &'a mut LayerWriter,
    names: Names,
    /// How titles of each level are underlined: the character, and whether there is a line above too.
    styles: Vec<(char, bool)>,
    /// How many titles there are of the first level.
    first_titles: usize,
    title: Option<String>,
    /// Whether nothing but the title was read, so a list of fields is about the document.
    at_top: bool,
    /// Names of the next block.
    anchors: Vec<String>,
    /// Text to write before the next paragraph, in the same paragraph.
    lead: Option<Inline>,
    /// Language of literal blocks.
    language: String,
    /// Role of text in backticks that has none.
    default_role: String,
    /// Roles that the file makes, and what they are made of.
    roles: HashMap<String, String>,
    /// Whether the text that is read is put in elsewhere, so it stands for no bytes.
    own: bool,
    /// How many bytes substitutions may still put in.
    room: usize,
    depth: usize,
    /// Footnotes without a name so far: numbers of definitions and of references, symbols of both.
    counted: [usize; 4],
}

/// Reads a file.
///
/// # Errors
/// None: any text is reStructuredText.
#[expect(clippy::unnecessary_wraps, reason = "readers have one type")]
pub(crate) fn read(source: &Layer, writer: &mut LayerWriter, _settings: &ReadSettings) -> Result<(), Skip> {
    let text = source.text.as_str();
    let mark = if text.starts_with('\u{feff}') { '\u{feff}'.len_utf8() } else { 0 };
    let lines = lines::lines(text, mark);
    let names = Names::new(text, &lines);
    let mut reader = Reader {
        text,
        writer,
        names,
        styles: Vec::new(),
        first_titles: 0,
        title: None,
        at_top: true,
        anchors: Vec::new(),
        lead: None,
        language: String::new(),
        default_role: String::new(),
        roles: HashMap::new(),
        own: false,
        room: text.len() + FREE_ROOM,
        depth: 0,
        counted: [0; 4],
    };
    reader.markup(&text[..mark]);
    reader.blocks(&lines);
    reader.end();
    Ok(())
}

impl Reader<'_> {
    /// Returns the number of the next footnote without a name, or of the next reference to one.
    fn next_number(&mut self, defined: bool) -> String {
        let count = &mut self.counted[usize::from(defined)];
        *count = self.names.free_number(*count + 1);
        count.to_string()
    }

    /// Returns the symbol of the next footnote with a symbol, or of the next reference to one.
    fn next_symbol(&mut self, defined: bool) -> String {
        let count = &mut self.counted[2 + usize::from(defined)];
        *count += 1;
        format!("*{count}")
    }

    /// Writes what waits for a block that does not come, and what is known of the whole.
    fn end(&mut self) {
        self.before_block();
        if self.first_titles == 1
            && let Some(title) = self.title.take().filter(|title| !title.is_empty())
        {
            let about = self.writer.about();
            about.title.get_or_insert(title);
        }
    }
}
