//! RTF.
//!
//! Compared on crates.io: `rtf-parser` (text by fonts and colours, no tables, lists, links or code pages; it fails at what it
//! does not know), `rtf-grimoire` (tokens only). A file is a list of tokens with a stack of states, so the tokens are ours.
//! The characters come from `encoding_rs`.
//!
//! The text of a file is in escapes, in the code pages of its fonts, with copies for older programs, so a piece of the layer
//! has no bytes of its own: a block has a place instead, `par 12`, the twelfth paragraph of the file. Cells are paragraphs
//! too, as in Word; a table is one place, that of its first cell. Notes are written at the end: `footnote 2`.
//!
//! A group whose purpose is not known, and which may be ignored, is left out and counted; any other text is kept.

mod charset;
mod flow;
mod header;
mod paragraph;
mod token;
mod words;

#[cfg(test)]
#[allow(clippy::pedantic, clippy::unwrap_used, reason = "tests fail by panicking")]
mod tests;

use std::borrow::Cow;

use chunkmill_base::error::Skip;
use chunkmill_text::document::{DropReason, LayerWriter, ReadFlag, ReadSettings, on_one_line};
use serde_json::Value;

use self::charset::Coding;
use self::flow::{Flow, Format, Tables};
use self::header::{Fonts, Lists, Styles};
use self::token::{Token, Tokens};
use self::words::{Destination, Group};
use crate::runs::Look;

/// Deepest nesting of groups that is read.
const MAX_DEPTH: usize = 256;

/// Longest value that is kept of what a document says about itself, in bytes.
const MAX_VALUE: usize = 2000;

/// Reads a file in RTF.
pub(crate) fn read(bytes: &[u8], writer: &mut LayerWriter, _: &ReadSettings) -> Result<(), Skip> {
    let start = bytes.strip_prefix(b"\xef\xbb\xbf").unwrap_or(bytes).trim_ascii_start();
    if !start.starts_with(b"{\\rtf") {
        return Err(Skip::Malformed { format: "an RTF file", problem: "it does not begin with `{\\rtf`".to_owned() });
    }
    Reader::new(writer).read(start);
    Ok(())
}

/// The settings inside a group.
#[derive(Debug, Clone, Copy)]
struct State {
    to: Destination,
    /// Where the text goes that is read of a choice.
    chosen: Option<Destination>,
    font: Option<i32>,
    /// How many characters stand for one in Unicode in older programs.
    fallback: usize,
    look: Look,
    hidden: bool,
    deleted: bool,
    format: Format,
}

impl State {
    fn new(to: Destination) -> Self {
        Self {
            to,
            chosen: None,
            font: None,
            fallback: 1,
            look: Look::default(),
            hidden: false,
            deleted: false,
            format: Format::default(),
        }
    }
}

/// The action when a group ends.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum End {
    Nothing,
    Aside,
    Link,
    Field,
    Marker,
    Anchor,
    Value(&'static str),
    Date(&'static str),
}

/// The state around a group.
#[derive(Debug)]
struct Open {
    around: State,
    end: End,
}

struct Reader<'w> {
    writer: &'w mut LayerWriter,
    state: State,
    groups: Vec<Open>,
    /// Groups that are open and too deep to be read.
    too_deep: usize,
    /// Whether the group may be ignored if its purpose is not known.
    optional: bool,
    /// Bytes of text that were not decoded yet, and whether some were escaped.
    bytes: Vec<u8>,
    escaped: bool,
    /// The first half of a character in UTF-16.
    surrogate: Option<u16>,
    /// How many characters are left that stand for the last one in older programs.
    skipped: usize,
    page: Coding,
    default_font: Option<i32>,
    fonts: Fonts,
    styles: Styles,
    lists: Lists,
    flow: Flow,
    /// Instructions of the fields that are open.
    fields: Vec<String>,
    marker: String,
    /// A value or name that is being read.
    value: String,
    date: [i32; 5],
}

impl<'w> Reader<'w> {
    fn new(writer: &'w mut LayerWriter) -> Self {
        Self {
            writer,
            // Text outside of the document's group is not shown.
            state: State::new(Destination::Dropped(DropReason::Hidden)),
            groups: Vec::new(),
            too_deep: 0,
            optional: false,
            bytes: Vec::new(),
            escaped: false,
            surrogate: None,
            skipped: 0,
            page: Coding::of_page(1252),
            default_font: None,
            fonts: Fonts::default(),
            styles: Styles::default(),
            lists: Lists::default(),
            flow: Flow::default(),
            fields: Vec::new(),
            marker: String::new(),
            value: String::new(),
            date: [0; 5],
        }
    }

    fn read(mut self, bytes: &[u8]) {
        for token in Tokens::new(bytes) {
            self.token(token);
            if self.writer.is_full() {
                return;
            }
        }
        while !self.groups.is_empty() {
            self.close();
        }
        self.flush();
        self.finish();
    }

    fn finish(&mut self) {
        let tables = Tables { styles: &self.styles, lists: &self.lists };
        self.flow.finish(Format::default(), tables, self.writer);
        let about = self.writer.about();
        about.title = about.title.take().or(self.flow.title.take());
    }

    fn token(&mut self, token: Token<'_>) {
        match token {
            Token::Hex(byte) => self.escape(byte),
            Token::Text(bytes) => self.raw(bytes),
            Token::Open => self.open(),
            Token::Close => self.close(),
            Token::Symbol(byte @ 0x80..) => self.raw(&[byte]),
            Token::Symbol(byte) => self.symbol(byte),
            Token::Word(name, number) => {
                self.flush();
                if self.too_deep == 0 {
                    self.word(name, number);
                } else if name == "u" {
                    self.writer.drop(DropReason::Limit, "?");
                }
            }
            Token::Binary(data) => {
                self.flush();
                self.skipped = self.skipped.saturating_sub(1);
                self.writer.drop(DropReason::Attachment, &String::from_utf8_lossy(data));
            }
        }
    }

    fn open(&mut self) {
        self.flush();
        self.skipped = 0;
        self.optional = false;
        if self.too_deep > 0 || self.groups.len() >= MAX_DEPTH {
            self.too_deep += 1;
        } else {
            self.groups.push(Open { around: self.state, end: End::Nothing });
        }
    }

    fn close(&mut self) {
        self.flush();
        self.lone_surrogate();
        self.skipped = 0;
        self.optional = false;
        if self.too_deep > 0 {
            self.too_deep -= 1;
            return;
        }
        let Some(Open { around, end }) = self.groups.pop() else { return };
        if self.state.to == Destination::Styles {
            self.styles.end();
        }
        self.end(end);
        let inner = std::mem::replace(&mut self.state, around);
        if self.groups.is_empty() {
            // The last paragraph has no end of its own.
            let tables = Tables { styles: &self.styles, lists: &self.lists };
            if !self.flow.paragraph.is_blank() {
                self.flow.end_paragraph(inner.format, tables, self.writer);
            }
        }
    }

    /// Does what is left to do for a group.
    fn end(&mut self, end: End) {
        match end {
            End::Nothing => {}
            End::Aside => self.flow.close_aside(),
            End::Link => self.flow.paragraph.close_link(),
            End::Field => {
                let instruction = self.fields.pop().unwrap_or_default();
                self.writer.drop(DropReason::Markup, &instruction);
            }
            End::Marker => {
                self.writer.drop(DropReason::Markup, &self.marker);
                self.flow.paragraph.marker = Some(std::mem::take(&mut self.marker));
            }
            End::Anchor => {
                let name = std::mem::take(&mut self.value);
                self.flow.paragraph.anchor(name.trim().to_owned());
            }
            End::Value(key) => {
                let value = std::mem::take(&mut self.value);
                self.keep(key, &value);
            }
            End::Date(key) => self.keep_date(key),
        }
    }

    fn keep(&mut self, key: &str, value: &str) {
        let value = on_one_line(value);
        let value = &value[..value.floor_char_boundary(MAX_VALUE)];
        if value.is_empty() {
            return;
        }
        let about = self.writer.about();
        match key {
            "title" => about.title = Some(value.to_owned()),
            "keywords" => {
                let words = value.split([',', ';']).map(str::trim).filter(|word| !word.is_empty());
                let words = words.take(100).map(|word| Value::String(word.to_owned())).collect();
                about.metadata.insert(key.to_owned(), Value::Array(words));
            }
            key => {
                about.metadata.insert(key.to_owned(), Value::String(value.to_owned()));
            }
        }
    }

    /// Keeps a date. It has no time zone.
    fn keep_date(&mut self, key: &str) {
        let [year, month, day, hour, minute] = std::mem::take(&mut self.date);
        if (1..=9999).contains(&year) && (1..=12).contains(&month) && (1..=31).contains(&day) {
            let (hour, minute) = (hour.clamp(0, 23), minute.clamp(0, 59));
            self.keep(key, &format!("{year:04}-{month:02}-{day:02}T{hour:02}:{minute:02}"));
        }
    }

    fn escape(&mut self, byte: u8) {
        if self.skipped > 0 {
            self.skipped -= 1;
            return;
        }
        self.bytes.push(byte);
        self.escaped = true;
    }

    fn raw(&mut self, bytes: &[u8]) {
        let skipped = self.skipped.min(bytes.len());
        self.skipped -= skipped;
        self.bytes.extend_from_slice(&bytes[skipped..]);
    }

    fn symbol(&mut self, byte: u8) {
        if byte == b'*' {
            self.flush();
            self.optional = true;
            return;
        }
        if matches!(byte, b'\r' | b'\n') {
            return self.token(Token::Word("par", None));
        }
        if byte == b'\'' {
            // An escape without its digits.
            return;
        }
        if self.skipped > 0 {
            self.skipped -= 1;
            return;
        }
        match byte {
            b'\\' | b'{' | b'}' => self.bytes.push(byte),
            _ => {
                self.flush();
                match byte {
                    b'~' => self.say("\u{a0}"),
                    // Found as the hyphen that it looks like.
                    b'_' => self.say("-"),
                    b'\t' => self.say("\t"),
                    _ => {}
                }
            }
        }
    }

    /// Returns whether text is in a font for code, in a document that has another for its text.
    fn is_code(&self) -> bool {
        let is_code = |font: Option<i32>| font.is_some_and(|font| self.fonts.is_monospaced(font));
        is_code(self.state.font) && !is_code(self.default_font)
    }

    fn coding(&self) -> Coding {
        let font = self.state.font.or(self.default_font);
        font.and_then(|font| self.fonts.coding(font)).unwrap_or(self.page)
    }

    /// Decodes the bytes of text so far.
    fn flush(&mut self) {
        if self.bytes.is_empty() {
            return;
        }
        let bytes = std::mem::take(&mut self.bytes);
        let escaped = std::mem::take(&mut self.escaped);
        let coding = self.coding();
        let high = !bytes.is_ascii();
        // Simple programs write UTF-8 as it is. Text in a code page of single bytes hardly looks like that.
        let simple = high && !escaped && !coding.has_pairs();
        let text = match std::str::from_utf8(&bytes).ok().filter(|_| simple) {
            Some(text) => Cow::Borrowed(text),
            None => coding.decode(&bytes),
        };
        if high && coding == Coding::Unknown && matches!(text, Cow::Owned(_)) {
            self.writer.flag(ReadFlag::UnknownCodePage);
        }
        self.say(&text);
        drop(text);
        self.bytes = bytes;
        self.bytes.clear();
    }

    fn lone_surrogate(&mut self) {
        if self.surrogate.take().is_some() {
            self.put("\u{fffd}");
        }
    }

    /// Takes a character in Unicode.
    fn unicode(&mut self, number: i32) {
        self.skipped = self.state.fallback;
        let code = if number < 0 { number.saturating_add(0x1_0000) } else { number };
        let code = u32::try_from(code).unwrap_or(0xfffd);
        match (self.surrogate, u16::try_from(code)) {
            (Some(high), Ok(low @ 0xdc00..=0xdfff)) => {
                self.surrogate = None;
                let pair = char::decode_utf16([high, low]).next().and_then(Result::ok);
                self.put(pair.unwrap_or(char::REPLACEMENT_CHARACTER).encode_utf8(&mut [0; 4]));
            }
            (_, Ok(high @ 0xd800..=0xdbff)) => {
                self.lone_surrogate();
                self.surrogate = Some(high);
            }
            _ => {
                let c = self.coding().unicode(code).unwrap_or(char::REPLACEMENT_CHARACTER);
                self.say(c.encode_utf8(&mut [0; 4]));
            }
        }
    }

    fn say(&mut self, text: &str) {
        self.lone_surrogate();
        let is_control = |c: char| c.is_control() && c != '\t';
        if text.contains(is_control) {
            let text: String = text.chars().filter(|c| !is_control(*c)).collect();
            self.put(&text);
        } else {
            self.put(text);
        }
    }

    /// Puts text where that of the group goes.
    fn put(&mut self, text: &str) {
        if self.too_deep > 0 {
            return self.writer.drop(DropReason::Limit, text);
        }
        match self.state.to {
            Destination::Body if self.state.deleted => self.writer.drop(DropReason::Deleted, text),
            Destination::Body if self.state.hidden => self.writer.drop(DropReason::Hidden, text),
            Destination::Body => {
                let look = Look { code: self.is_code(), ..self.state.look };
                self.flow.paragraph.say(text, look);
            }
            Destination::Instruction => match self.fields.last_mut() {
                Some(instruction) => instruction.push_str(text),
                None => self.writer.drop(DropReason::Markup, text),
            },
            Destination::Marker => self.marker.push_str(text),
            Destination::Anchor | Destination::Value(_) => self.value.push_str(text),
            Destination::Dropped(reason) => self.writer.drop(reason, text),
            to => {
                self.writer.drop(DropReason::Markup, text);
                match to {
                    Destination::Fonts => self.fonts.text(text),
                    Destination::Styles => self.styles.text(text),
                    _ => {}
                }
            }
        }
    }

    fn word(&mut self, name: &str, number: Option<i32>) {
        let optional = std::mem::take(&mut self.optional);
        match (name, number) {
            ("u", Some(number)) => return self.unicode(number),
            ("uc", number) => {
                self.state.fallback = usize::try_from(number.unwrap_or(1)).unwrap_or_default().min(16);
                return;
            }
            ("rtf", _) if self.groups.len() == 1 => {
                self.begin();
                return;
            }
            _ => {}
        }
        if let Some(characters) = words::characters(name) {
            if self.skipped > 0 {
                self.skipped -= 1;
            } else {
                self.say(characters);
            }
            return;
        }
        self.skipped = 0;
        if self.enter(name) {
            return;
        }
        if optional {
            self.state.chosen = None;
            self.state.to = match self.state.to {
                to @ Destination::Dropped(_) => to,
                _ => Destination::Dropped(DropReason::Markup),
            };
            return;
        }
        match self.state.to {
            Destination::Fonts => self.fonts.word(name, number),
            Destination::Styles => self.styles.word(name, number),
            Destination::Lists => self.lists.word(name, number),
            Destination::UsedLists => self.lists.used_word(name, number),
            Destination::Date(_) => self.date_word(name, number),
            Destination::Dropped(_) => {}
            _ => self.set(name, number),
        }
    }

    /// Begins a document. More than one may be in a file.
    fn begin(&mut self) {
        self.state = State::new(Destination::Body);
        (self.page, self.default_font) = (Coding::of_page(1252), None);
        (self.fonts, self.styles, self.lists) = (Fonts::default(), Styles::default(), Lists::default());
    }

    fn date_word(&mut self, name: &str, number: Option<i32>) {
        let at = ["yr", "mo", "dy", "hr", "min"].iter().position(|part| *part == name);
        if let (Some(part), Some(number)) = (at.and_then(|at| self.date.get_mut(at)), number) {
            *part = number;
        }
    }

    /// Makes the group what a control word says; returns whether it says something.
    fn enter(&mut self, name: &str) -> bool {
        let dropped = matches!(self.state.to, Destination::Dropped(_));
        if self.state.to == Destination::Info
            && let Some(to) = words::info(name)
        {
            self.enter_destination(to);
            return true;
        }
        let Some(group) = words::group(name) else { return false };
        match group {
            Group::Same => {}
            Group::Chosen | Group::Box => {
                let Some(chosen) = self.state.chosen.take() else { return true };
                self.state.to = chosen;
                if group == Group::Box && chosen == Destination::Body {
                    self.open_aside(false);
                }
            }
            Group::To(to @ Destination::Dropped(_)) if self.state.chosen.take().is_some() => self.state.to = to,
            _ if dropped => {}
            Group::To(to) => self.enter_destination(to),
            Group::Choice(reason) => {
                self.state.chosen = Some(self.state.to);
                self.state.to = Destination::Dropped(reason);
            }
            Group::Note if self.state.to == Destination::Body => self.open_aside(true),
            Group::Note => {}
            Group::Field => {
                if self.at_end(End::Field) {
                    self.fields.push(String::new());
                }
            }
            Group::FieldResult => self.enter_result(),
        }
        true
    }

    fn enter_destination(&mut self, to: Destination) {
        self.state.to = to;
        let end = match to {
            Destination::Marker => End::Marker,
            Destination::Anchor => End::Anchor,
            Destination::Value(key) => End::Value(key),
            Destination::Date(key) => End::Date(key),
            _ => return,
        };
        self.at_end(end);
        self.marker.clear();
        self.value.clear();
        self.date = [0; 5];
    }

    fn enter_result(&mut self) {
        let Some(instruction) = self.fields.last_mut().map(std::mem::take) else { return };
        if self.state.to != Destination::Body {
            return self.writer.drop(DropReason::Markup, &instruction);
        }
        if let Some((code, font)) = words::sign(&instruction) {
            // The result is empty, or the sign again.
            let sign = Coding::of_signs(&font).unicode(if code < 0x100 { 0xf000 + code } else { code });
            self.say(sign.unwrap_or(char::REPLACEMENT_CHARACTER).encode_utf8(&mut [0; 4]));
            self.state.to = Destination::Dropped(DropReason::Repeated);
        }
        match words::address(&instruction) {
            Some(target) if self.at_end(End::Link) => self.flow.paragraph.open_link(target),
            _ => self.writer.drop(DropReason::Markup, &instruction),
        }
    }

    fn open_aside(&mut self, is_note: bool) {
        if self.at_end(End::Aside) {
            self.flow.open_aside(is_note);
        }
    }

    /// Says what is done when the group ends; returns whether nothing else is.
    fn at_end(&mut self, end: End) -> bool {
        match self.groups.last_mut() {
            Some(group) if group.end == End::Nothing => {
                group.end = end;
                true
            }
            _ => false,
        }
    }

    /// Sets what a control word sets, or ends what it ends.
    fn set(&mut self, name: &str, number: Option<i32>) {
        let on = number != Some(0);
        let state = &mut self.state;
        match (name, number) {
            ("b", _) => state.look.bold = on,
            ("i", _) => state.look.italic = on,
            ("super", _) => state.look.raised = on,
            ("nosupersub" | "sub", _) => state.look.raised = false,
            ("v", _) => state.hidden = on,
            ("deleted", _) => state.deleted = on,
            ("plain", _) => {
                (state.look, state.font, state.hidden, state.deleted) = (Look::default(), None, false, false);
            }
            ("f", font) => state.font = font,
            ("pard", _) => state.format = Format::default(),
            ("s", Some(style)) => state.format.style = style,
            ("outlinelevel", level) => state.format.outline = level,
            ("li" | "lin", indent) => state.format.indent = indent.unwrap_or_default(),
            ("fi", indent) => state.format.first = indent.unwrap_or_default(),
            ("ls", list) => state.format.list = list.filter(|list| *list != 0),
            ("ilvl", level) => {
                state.format.level = usize::try_from(level.unwrap_or_default()).unwrap_or_default().min(8);
            }
            ("intbl", _) => state.format.table = on,
            ("itap", depth) => state.format.table = depth.unwrap_or_default() > 0,
            ("ansi", _) => self.page = Coding::of_page(1252),
            ("mac", _) => self.page = Coding::of_page(10000),
            ("pc", _) => self.page = Coding::of_page(437),
            ("pca", _) => self.page = Coding::of_page(850),
            ("ansicpg", Some(page)) => self.page = Coding::of_page(page),
            ("deff", font) => self.default_font = font,
            _ if state.to == Destination::Body => self.end_block(name),
            _ => {}
        }
    }

    /// Ends a line, paragraph, cell or row.
    fn end_block(&mut self, name: &str) {
        self.lone_surrogate();
        let (format, flow, writer) = (self.state.format, &mut self.flow, &mut *self.writer);
        let tables = Tables { styles: &self.styles, lists: &self.lists };
        match name {
            "par" | "sect" => flow.end_paragraph(format, tables, writer),
            "line" | "lbr" | "softline" | "page" | "column" => flow.line_break(format, tables, writer),
            "cell" => flow.end_cell(false),
            "nestcell" => flow.end_cell(true),
            "row" => flow.end_row(false, writer),
            "nestrow" => flow.end_row(true, writer),
            _ => {}
        }
    }
}
