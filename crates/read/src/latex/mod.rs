//! LaTeX, as far as it says what the text is. No macro is expanded but names for words.
//!
//! TeX can only be read by running it, and converters that know most of it, such as pandoc and `LaTeXML`, are programs
//! of their own. The body of a document uses few commands, and those are read here; no crate was compared. If a command
//! is not known, its name is left out and the content of its braces is text.
//!
//! The text is read in one pass with a stack of groups and environments, without recursion. The preamble is left out
//! except for the title; definitions, comments and what `\iffalse` hides are counted.

mod accents;
mod commands;
mod environments;
mod frame;
mod macros;
mod output;
mod scan;
#[cfg(test)]
#[allow(clippy::pedantic, clippy::unwrap_used, reason = "tests fail by panicking")]
mod tests;

use chunkmill_base::error::Skip;
use chunkmill_text::document::{DropReason, Inline, Layer, LayerWriter, ReadSettings};

use self::frame::{Frame, Group};
use self::macros::Macros;
use self::scan::Braces;

/// Most groups and environments that are open at a time. Those inside are read as if they were not there.
const MAX_DEPTH: usize = 100;

/// Reads a file in LaTeX.
///
/// # Errors
/// None: any text can be read.
#[expect(clippy::unnecessary_wraps, reason = "other readers refuse files")]
pub(crate) fn read(source: &Layer, writer: &mut LayerWriter, _settings: &ReadSettings) -> Result<(), Skip> {
    Reader::new(source.text.as_str(), writer).document();
    Ok(())
}

/// Reads one file.
struct Reader<'r> {
    text: &'r str,
    writer: &'r mut LayerWriter,
    at: usize,
    braces: Braces,
    macros: Macros,
    /// The texts that are being written: of the paragraph, and of what is inside it, such as a footnote.
    outs: Vec<Inline>,
    frames: Vec<Frame>,
    /// Groups that are too deep to be kept.
    too_deep: usize,
    /// Names of the next block.
    anchors: Vec<String>,
    notes: Vec<(String, Inline)>,
    note_count: usize,
    /// How many texts of code are open, in which there are no marks.
    in_code: usize,
    /// Level of the headings of chapters, or of sections if there are none.
    top: u8,
    /// Rank of the highest sections of the file: of parts, chapters or sections.
    first_rank: u8,
    /// Whether the text in brackets of an item is being read.
    in_label: bool,
    /// Environments that are begun and never ended.
    endless: Vec<String>,
    /// Whether something is hidden up to the end of the file.
    is_endless: bool,
    /// Where the next formula on lines of its own ends.
    next_display_end: Option<usize>,
    /// Where the next formula inside of text ends.
    next_inline_end: Option<usize>,
    /// Where the paragraph ends.
    paragraph_end: usize,
    /// Where text is interrupted, because what is being read ends there.
    limit: usize,
    /// Where the body ends. Others that end before are examples of a document.
    document_end: Option<usize>,
}

impl<'r> Reader<'r> {
    fn new(text: &'r str, writer: &'r mut LayerWriter) -> Self {
        Self {
            text,
            writer,
            at: 0,
            braces: Braces::of(text),
            macros: Macros::new(text.len()),
            outs: vec![Inline::new()],
            frames: Vec::new(),
            too_deep: 0,
            anchors: Vec::new(),
            notes: Vec::new(),
            note_count: 0,
            in_code: 0,
            top: 1,
            first_rank: scan::first_rank(text),
            in_label: false,
            endless: Vec::new(),
            is_endless: false,
            next_display_end: None,
            next_inline_end: None,
            paragraph_end: 0,
            limit: usize::MAX,
            document_end: None,
        }
    }

    fn document(&mut self) {
        if self.text.starts_with('\u{feff}') {
            self.skip('\u{feff}'.len_utf8());
        }
        if let Some(body) = scan::body(self.text) {
            self.document_end = self.text.rfind("\\end{document}");
            self.preamble(body);
        }
        while self.at < self.text.len() && !self.writer.is_full() {
            self.step();
        }
        while !self.frames.is_empty() {
            self.close_frame();
        }
        self.flush();
        self.write_notes();
    }

    /// Returns what is not read yet.
    fn rest(&self) -> &'r str {
        self.text.get(self.at..).unwrap_or_default()
    }

    /// Counts a text as markup.
    fn markup(&mut self, text: &str) {
        self.writer.drop(DropReason::Markup, text);
    }

    /// Counts the next bytes as markup.
    fn skip(&mut self, len: usize) {
        let end = self.text.ceil_char_boundary((self.at + len).min(self.text.len()));
        let text = self.text;
        self.markup(text.get(self.at..end).unwrap_or_default());
        self.at = end;
    }

    /// Counts everything up to a byte as markup.
    fn skip_to(&mut self, end: usize) {
        self.skip(end.saturating_sub(self.at));
    }

    /// Reads what is before the body: the title, and nothing else.
    fn preamble(&mut self, body: usize) {
        let mut depth = 0_usize;
        while self.at < body {
            let rest = self.rest();
            match rest.as_bytes()[0] {
                b'%' => self.comment(),
                b'\\' => {
                    let len = scan::command(rest);
                    let name = &rest[1..len];
                    if depth == 0 && matches!(name, "title" | "author" | "date") {
                        self.titling(name, len, body);
                    } else {
                        self.macros.learn(name, self.text, self.at + len, &self.braces);
                        self.skip(len);
                    }
                }
                byte => {
                    match byte {
                        b'{' => depth += 1,
                        b'}' => depth = depth.saturating_sub(1),
                        _ => {}
                    }
                    let first = rest.ceil_char_boundary(1);
                    let len = rest[first..].find(['%', '\\', '{', '}']).map_or(rest.len(), |len| len + first);
                    self.skip(len.min(body - self.at));
                }
            }
        }
        while !self.frames.is_empty() {
            self.close_frame();
        }
        self.flush();
    }

    /// Reads the title, the authors or the date in the preamble.
    fn titling(&mut self, name: &str, len: usize, body: usize) {
        self.skip(len);
        self.skip_option();
        self.skip_space();
        let Some(end) = self.braces.end(self.at).filter(|end| *end < body) else { return };
        self.titling_group(name);
        let depth = self.frames.len();
        while self.at < end {
            self.step();
        }
        while self.frames.len() > depth {
            self.close_frame();
        }
        // The group may have been too deep, or closed by a command.
        if self.at == end {
            self.step();
        }
    }

    /// Opens the group of the title, the authors or the date.
    fn titling_group(&mut self, name: &str) {
        let group = match name {
            "title" => Group::Title,
            "author" => Group::About("author"),
            _ => Group::About("date"),
        };
        self.open_captured(group);
    }

    /// Reads what begins here.
    fn step(&mut self) {
        let rest = self.rest();
        let Some(first) = rest.as_bytes().first() else { return };
        match first {
            b'%' => self.comment(),
            b'\\' => self.command(),
            b'{' => self.open_group(Group::Plain),
            b'}' => self.close_group(),
            b'$' => self.dollar(),
            b'&' if self.table_is_open() => self.next_cell(),
            b'~' => {
                self.skip(1);
                self.space();
            }
            b'`' | b'\'' | b'-' => self.typography(),
            b' ' | b'\t' | b'\n' | b'\r' => self.white_space(),
            _ => {
                let len = rest.find(['%', '\\', '{', '}', '$', '&', '~', '`', '\'', '-', ' ', '\t', '\n', '\r']);
                // `&` outside of tables is text.
                let len = len.unwrap_or(rest.len());
                let most = self.limit.checked_sub(self.at).filter(|most| *most > 0).unwrap_or(len);
                self.keep(len.min(most).max(1));
            }
        }
    }

    /// Reads a comment with the end of its line and the indentation of the next.
    fn comment(&mut self) {
        let rest = self.rest();
        let len = rest.find('\n').unwrap_or(rest.len());
        self.writer.drop(DropReason::Comment, &rest[..len]);
        self.at += len;
        let rest = self.rest();
        let blank = scan::white_space(rest);
        if rest[..blank].bytes().filter(|byte| *byte == b'\n').count() < 2 {
            self.at += blank;
        }
    }

    /// Reads white space: two ends of lines end the paragraph.
    fn white_space(&mut self) {
        let rest = self.rest();
        let len = scan::white_space(rest);
        let space = &rest[..len];
        let at = self.at;
        self.at += len;
        let feed = space.find('\n');
        if let Some(feed) = feed
            && space[feed + 1..].contains('\n')
        {
            return self.end_paragraph();
        }
        let out = self.out();
        if out.as_str().is_empty() || out.as_str().ends_with([' ', '\n']) {
            return;
        }
        match feed {
            Some(feed) => out.push("\n", at + feed..at + feed + 1),
            None if space.starts_with(' ') => out.push(" ", at..at + 1),
            None => out.write(" "),
        }
    }

    /// Reads quotes and dashes.
    fn typography(&mut self) {
        const MARKS: [(&str, &str); 6] = [
            ("``", "\u{201c}"),
            ("''", "\u{201d}"),
            ("`", "\u{2018}"),
            ("'", "\u{2019}"),
            ("---", "\u{2014}"),
            ("--", "\u{2013}"),
        ];
        let rest = self.rest();
        match MARKS.iter().find(|(mark, _)| rest.starts_with(*mark)).filter(|_| self.in_code == 0) {
            Some((mark, shown)) => self.replace(shown, mark.len()),
            None => self.keep(1),
        }
    }

    /// Reads a formula that begins with a dollar.
    fn dollar(&mut self) {
        let rest = self.rest();
        if let Some(formula) = rest.strip_prefix("$$") {
            return match formula.find("$$") {
                Some(len) if !scan::has_blank_lines(&formula[..len], 3) => self.formula(2, len, 2),
                _ => self.keep(2),
            };
        }
        if self.paragraph_end <= self.at {
            self.paragraph_end = self.at + scan::paragraph_end(rest);
        }
        let end = (self.paragraph_end - self.at).max(1);
        match scan::unescaped(&rest[1..end], b'$') {
            Some(len) if len > 0 => self.keep(len + 2),
            // The rest of the paragraph has none.
            _ => self.keep(1),
        }
    }

    /// Reads a formula on lines of its own: marks, formula, marks. Inside of text it stays in it.
    fn formula(&mut self, open: usize, len: usize, close: usize) {
        self.skip(open);
        let formula = self.verbatim(len);
        self.skip(close);
        self.write_formula(&formula);
    }

    /// Keeps the next bytes as text.
    fn keep(&mut self, len: usize) {
        let rest = self.rest();
        let len = rest.ceil_char_boundary(len.min(rest.len()));
        let range = self.at..self.at + len;
        self.at += len;
        self.out().push(&rest[..len], range);
    }

    /// Writes a text in place of the next bytes.
    fn replace(&mut self, shown: &str, len: usize) {
        let range = self.at..(self.at + len).min(self.text.len());
        self.at = range.end;
        self.out().replaced(shown, range);
    }

    /// Takes the next bytes as they are.
    fn verbatim(&mut self, len: usize) -> Inline {
        let rest = self.rest();
        let len = rest.floor_char_boundary(len.min(rest.len()));
        let mut text = Inline::new();
        text.push(&rest[..len], self.at..self.at + len);
        self.at += len;
        text
    }

    /// Writes a space of our own.
    fn space(&mut self) {
        let out = self.out();
        if !out.as_str().is_empty() && !out.as_str().ends_with([' ', '\n']) {
            out.write(" ");
        }
    }
}
