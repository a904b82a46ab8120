//! The blocks of the content, from its events.

use std::collections::HashMap;

use chunkmill_base::error::Skip;
use chunkmill_text::document::{DropReason, Inline, LayerWriter, Place, ReadFlag, on_one_line};
use serde_json::Value;

use super::super::drawing::{self, Drawing};
use super::super::flow::{Flow, Mark, Piece, Table};
use super::super::sheet::{MAX_COLUMNS, MAX_ROWS, Tables};
use super::styles::{Run, Styles};
use crate::package::xml::{Event, Tag, Xml};
use crate::package::{Package, resolved};
use crate::runs::Runs;

pub(super) const FORMAT: &str = "an OpenDocument file";

/// The part with the text of a document, or of an object in it.
const CONTENT: &str = "content.xml";

/// How many times a cell or a row with text is written that is said to be there more often.
const MAX_REPEATED: u64 = 100;

/// Most spaces that one element may stand for.
const MAX_SPACES: u64 = 100;

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Kind {
    Text,
    Slides,
    Sheets,
}

#[derive(Debug)]
struct Paragraph {
    line: Runs,
    heading: Option<u8>,
    code: bool,
    title: bool,
    /// How runs look, the innermost last.
    runs: Vec<Run>,
    /// Whether each link that is open is written.
    links: Vec<bool>,
    boxed: Vec<Piece>,
}

#[derive(Debug)]
struct List {
    style: String,
    number: u64,
    /// Whether an item began whose first paragraph is still to come.
    fresh: bool,
}

#[derive(Debug)]
struct Note {
    label: String,
    place: Option<Place>,
    pieces: Vec<Piece>,
    /// How many paragraphs were open where it stands.
    depth: usize,
}

#[derive(Debug, Default)]
struct Frame {
    class: String,
    title: String,
    description: String,
    target: String,
}

#[derive(Debug, Default)]
struct Slide {
    number: u32,
    title: Inline,
    notes: Vec<Inline>,
    in_notes: bool,
}

/// A sheet that is being read.
struct Sheet {
    tables: Tables,
    row: u64,
    rows: u64,
    column: u64,
    cells: Vec<(u32, Inline)>,
    bytes: usize,
    cell: Option<Cell>,
}

#[derive(Default)]
struct Cell {
    text: Inline,
    count: u64,
    date: Option<String>,
    value: Option<String>,
}

/// Reads the content.
pub(super) struct Content<'p, 'b> {
    package: &'p mut Package<'b>,
    styles: Styles,
    kind: Option<Kind>,
    flow: Flow,
    out: Vec<Piece>,
    place: Option<Place>,
    paragraphs: Vec<Paragraph>,
    lists: Vec<List>,
    /// The last number of each list that may go on.
    numbers: HashMap<String, u64>,
    table: Option<Table>,
    repeated: u64,
    frames: Vec<Frame>,
    note: Option<Note>,
    notes: Vec<Note>,
    endnotes: usize,
    slide: Slide,
    sheet: Option<Sheet>,
    hidden: Vec<Value>,
    title: Option<String>,
}

impl<'p, 'b> Content<'p, 'b> {
    pub(super) fn new(package: &'p mut Package<'b>, styles: Styles) -> Self {
        Self {
            package,
            styles,
            kind: None,
            flow: Flow::default(),
            out: Vec::new(),
            place: None,
            paragraphs: Vec::new(),
            lists: Vec::new(),
            numbers: HashMap::new(),
            table: None,
            repeated: 1,
            frames: Vec::new(),
            note: None,
            notes: Vec::new(),
            endnotes: 0,
            slide: Slide::default(),
            sheet: None,
            hidden: Vec::new(),
            title: None,
        }
    }

    /// Reads the content, and returns the first paragraph in the style of a title.
    pub(super) fn read(mut self, writer: &mut LayerWriter) -> Result<Option<String>, Skip> {
        let text = self.package.needed(CONTENT)?;
        let mut xml = Xml::new(&text, FORMAT, CONTENT);
        let mut counts = HashMap::<String, u32>::new();
        let mut body = None;
        while let Some(event) = xml.next()? {
            match &event {
                Event::Start(tag) if self.kind.is_none() => {
                    self.kind = match tag.name() {
                        ("office", "text") => Some(Kind::Text),
                        ("office", "presentation" | "drawing") => Some(Kind::Slides),
                        ("office", "spreadsheet") => Some(Kind::Sheets),
                        ("office", "scripts") => {
                            xml.skip(|text| writer.drop(DropReason::Script, text))?;
                            None
                        }
                        _ => {
                            self.styles.start(tag);
                            None
                        }
                    };
                    body = self.kind.map(|_| xml.depth());
                }
                Event::Start(tag) => {
                    if body == Some(xml.depth() - 1) && self.kind == Some(Kind::Text) {
                        let name = tag.name().1;
                        let count = counts.entry(name.to_owned()).or_default();
                        *count += 1;
                        let place = Place::new(format!("text/{name}[{count}]"));
                        self.place = Some(place.clone());
                        self.out.push(Piece::Place(place));
                    }
                    self.start(tag, &mut xml, writer)?;
                }
                Event::End(tag) => self.end(tag, writer)?,
                Event::Text(text) => self.say(text, true, writer),
            }
            if self.slide.number == 0 {
                self.write_out(writer)?;
            }
            if writer.is_full() {
                break;
            }
        }
        if self.kind.is_none() {
            return Err(Skip::Malformed {
                format: FORMAT,
                problem: "content.xml has no text, slides or sheets".to_owned(),
            });
        }
        self.flow.finish(writer);
        self.write_notes(writer)?;
        if !self.hidden.is_empty() {
            writer.about().metadata.insert("hidden_sheets".to_owned(), Value::Array(self.hidden));
        }
        Ok(self.title)
    }

    /// Writes the blocks that ended.
    fn write_out(&mut self, writer: &mut LayerWriter) -> Result<(), Skip> {
        for piece in self.out.drain(..) {
            match (piece, &mut self.sheet) {
                (Piece::Drawing(part), Some(sheet)) => {
                    let drawing = Drawing::read(self.package, &part, writer)?;
                    drawing.paragraphs.iter().for_each(|text| sheet.tables.text(Inline::from(&**text), writer));
                }
                (piece, _) => drawing::write(piece, &mut self.flow, self.package, writer)?,
            }
        }
        Ok(())
    }

    fn write_notes(&mut self, writer: &mut LayerWriter) -> Result<(), Skip> {
        for note in self.notes.drain(..) {
            if let Some(place) = note.place {
                writer.place(place);
            }
            writer.open_footnote(&note.label);
            let mut flow = Flow::default();
            for piece in note.pieces {
                drawing::write(piece, &mut flow, self.package, writer)?;
            }
            flow.finish(writer);
            writer.close();
        }
        Ok(())
    }

    fn start(&mut self, tag: &Tag<'_>, xml: &mut Xml<'_>, writer: &mut LayerWriter) -> Result<(), Skip> {
        match tag.name() {
            ("text" | "table", "tracked-changes") => left_out(xml, DropReason::Deleted, writer)?,
            ("office", "annotation") => left_out(xml, DropReason::Comment, writer)?,
            // Fields of forms, and what a sheet says of a value that someone enters.
            ("office", "forms") | ("table", "content-validations") => left_out(xml, DropReason::Hidden, writer)?,
            (
                "text",
                "table-of-content" | "illustration-index" | "table-index" | "object-index" | "user-index"
                | "alphabetical-index",
            ) => left_out(xml, DropReason::Navigation, writer)?,
            ("text", "note-citation" | "number") => left_out(xml, DropReason::Markup, writer)?,
            ("text", "ruby-text") => left_out(xml, DropReason::Repeated, writer)?,
            ("text", "script") => left_out(xml, DropReason::Script, writer)?,
            ("presentation", "header-decl" | "footer-decl" | "date-time-decl") => {
                left_out(xml, DropReason::RunningHead, writer)?;
            }
            ("svg", "title") => {
                let text = xml.text()?;
                self.frames.iter_mut().last().into_iter().for_each(|frame| frame.title.clone_from(&text));
            }
            ("svg", "desc") => {
                let text = xml.text()?;
                self.frames.iter_mut().last().into_iter().for_each(|frame| frame.description.clone_from(&text));
            }
            ("text", _) => self.start_text(tag, writer),
            ("table", _) => self.start_table(tag, writer),
            ("draw" | "presentation", _) => self.start_drawing(tag),
            _ => {}
        }
        Ok(())
    }

    fn start_text(&mut self, tag: &Tag<'_>, writer: &mut LayerWriter) {
        let value = |name: &str| tag.attr(name).unwrap_or_default().into_owned();
        match tag.name().1 {
            "p" => self.open_paragraph(None, &value("style-name")),
            "h" => {
                let level = tag.number("outline-level").and_then(|level| u8::try_from(level).ok()).unwrap_or(1);
                self.open_paragraph(Some(level.max(1)), &value("style-name"));
            }
            "list" => self.open_list(tag),
            "list-item" => {
                if let Some(list) = self.lists.last_mut() {
                    list.fresh = true;
                    list.number = tag.number("start-value").unwrap_or(list.number.saturating_add(1));
                }
            }
            "list-header" => self.lists.iter_mut().last().into_iter().for_each(|list| list.fresh = false),
            "note" if self.note.is_none() && !self.paragraphs.is_empty() => {
                let label = if value("note-class") == "endnote" {
                    self.endnotes += 1;
                    format!("e{}", self.endnotes)
                } else {
                    (self.notes.len() + 1 - self.endnotes).to_string()
                };
                let (place, depth) = (self.place.clone(), self.paragraphs.len());
                self.note = Some(Note { label, place, pieces: Vec::new(), depth });
            }
            "s" => {
                let count = usize::try_from(tag.number("c").unwrap_or(1).min(MAX_SPACES)).unwrap_or(1);
                self.say(&" ".repeat(count), false, writer);
            }
            "tab" => self.say("\t", false, writer),
            _ => self.start_in_paragraph(tag),
        }
    }

    fn start_in_paragraph(&mut self, tag: &Tag<'_>) {
        let Some(paragraph) = self.paragraphs.last_mut() else { return };
        match tag.name().1 {
            "span" => {
                let mut run = self.styles.run("text", &tag.attr("style-name").unwrap_or_default());
                if let Some(around) = paragraph.runs.last() {
                    run.look.bold |= around.look.bold;
                    run.look.italic |= around.look.italic;
                    run.look.code |= around.look.code;
                    run.hidden |= around.hidden;
                    run.look.raised |= around.look.raised;
                }
                paragraph.runs.push(run);
            }
            "a" => {
                let target = tag.attr("href").unwrap_or_default();
                if !target.is_empty() {
                    paragraph.line.open_link(&target);
                }
                paragraph.links.push(!target.is_empty());
            }
            "line-break" => paragraph.line.line_break(),
            "bookmark" | "bookmark-start" | "reference-mark" | "reference-mark-start" => {
                paragraph.line.anchor(&tag.attr("name").unwrap_or_default());
            }
            _ => {}
        }
    }

    fn start_drawing(&mut self, tag: &Tag<'_>) {
        let value = |name: &str| tag.attr(name).unwrap_or_default().into_owned();
        match tag.name() {
            ("draw", "page") => {
                let number = self.slide.number.saturating_add(1);
                self.slide = Slide { number, ..Slide::default() };
            }
            ("presentation", "notes") => self.slide.in_notes = true,
            ("draw", "frame") => {
                self.frames.push(Frame { class: value("class"), ..Frame::default() });
            }
            ("draw", "image") => {
                if let Some(frame) = self.frames.last_mut().filter(|frame| frame.target.is_empty()) {
                    frame.target = value("href");
                }
            }
            ("draw", "object") if !self.slide.in_notes => {
                let drawing = Piece::Drawing(format!("{}/{CONTENT}", resolved("", &value("href"))));
                match self.paragraphs.last_mut() {
                    Some(paragraph) => paragraph.boxed.push(drawing),
                    None => self.out.push(drawing),
                }
            }
            _ => {}
        }
    }

    fn start_table(&mut self, tag: &Tag<'_>, writer: &mut LayerWriter) {
        let repeated = |name: &str| tag.number(name).unwrap_or(1).max(1);
        let name = tag.name().1;
        if self.kind == Some(Kind::Sheets) {
            match (name, &mut self.sheet) {
                ("table", None) => {
                    let name = tag.attr("name").unwrap_or_default().into_owned();
                    let style = tag.attr("style-name").unwrap_or_default();
                    if self.styles.run("table", &style).hidden {
                        self.hidden.push(Value::String(name.clone()));
                    }
                    self.flow.finish(writer);
                    self.sheet = Some(Sheet::new(name, self.package.most));
                }
                ("table-row", Some(sheet)) if sheet.cell.is_none() => {
                    (sheet.rows, sheet.column, sheet.bytes) = (repeated("number-rows-repeated"), 0, 0);
                }
                ("table-cell" | "covered-table-cell", Some(sheet)) if sheet.cell.is_none() => {
                    let date = tag.attr("value-type").is_some_and(|kind| kind == "date");
                    let own = |name: &str| tag.attr(name).map(std::borrow::Cow::into_owned);
                    sheet.cell = Some(Cell {
                        text: Inline::new(),
                        count: repeated("number-columns-repeated"),
                        date: if date { own("date-value") } else { None },
                        value: own("string-value").or_else(|| own("value")),
                    });
                }
                _ => {}
            }
            return;
        }
        if !self.paragraphs.is_empty() {
            return;
        }
        match (name, &mut self.table) {
            ("table", None) => self.table = Some(Table::new(self.package.most)),
            ("table", Some(table)) => table.nested += 1,
            (_, Some(table)) if table.nested > 0 => {}
            ("table-cell" | "covered-table-cell", Some(_)) => self.repeated = repeated("number-columns-repeated"),
            _ => {}
        }
    }

    fn end(&mut self, tag: &Tag<'_>, writer: &mut LayerWriter) -> Result<(), Skip> {
        match tag.name() {
            ("text", "p" | "h") => self.close_paragraph(writer),
            ("text", "span") => {
                if let Some(paragraph) = self.paragraphs.last_mut()
                    && paragraph.runs.len() > 1
                {
                    paragraph.runs.pop();
                }
            }
            ("text", "a") => {
                if let Some(paragraph) = self.paragraphs.last_mut()
                    && paragraph.links.pop() == Some(true)
                {
                    paragraph.line.close_link();
                }
            }
            ("text", "list") => {
                if let Some(list) = self.lists.pop()
                    && self.lists.is_empty()
                {
                    self.numbers.insert(list.style, list.number);
                }
            }
            ("text", "note") => {
                if self.note.as_ref().is_some_and(|note| note.depth == self.paragraphs.len())
                    && let Some(note) = self.note.take()
                {
                    if let Some(paragraph) = self.paragraphs.last_mut() {
                        paragraph.line.own(&format!("[^{}]", note.label));
                    }
                    self.notes.push(note);
                }
            }
            ("draw", "frame") => self.end_frame(),
            ("draw", "page") => self.end_slide(writer)?,
            ("presentation", "notes") => self.slide.in_notes = false,
            ("table", name) if self.kind == Some(Kind::Sheets) => self.end_in_sheet(name, writer)?,
            ("table", name) if self.paragraphs.is_empty() => self.end_in_table(name)?,
            _ => {}
        }
        Ok(())
    }

    fn end_frame(&mut self) {
        let Some(frame) = self.frames.pop() else { return };
        let alt = if frame.description.trim().is_empty() { frame.title } else { frame.description };
        if frame.target.is_empty() || alt.trim().is_empty() || self.slide.in_notes {
            return;
        }
        if let Some(paragraph) = self.paragraphs.last_mut() {
            paragraph.line.image(&frame.target, &alt);
        } else {
            let mut line = Runs::new();
            line.image(&frame.target, &alt);
            self.out.push(Piece::Paragraph(line.finish().0));
        }
    }

    fn end_slide(&mut self, writer: &mut LayerWriter) -> Result<(), Skip> {
        let number = self.slide.number;
        let slide = std::mem::replace(&mut self.slide, Slide { number, ..Slide::default() });
        writer.place(Place { name: format!("slide {number}"), page: Some(number) });
        let title = if slide.title.is_blank() { Inline::from(&*format!("Slide {number}")) } else { slide.title };
        self.flow.write(Piece::Heading(2, title), writer);
        self.write_out(writer)?;
        self.flow.finish(writer);
        super::super::slides::notes_of(slide.notes.into_iter(), writer);
        Ok(())
    }

    fn end_in_table(&mut self, name: &str) -> Result<(), Skip> {
        let Some(table) = &mut self.table else { return Ok(()) };
        match name {
            "table" if table.nested > 0 => table.nested -= 1,
            _ if table.nested > 0 => {}
            "table" => self.out.extend(self.table.take().into_iter().flat_map(Table::finish)),
            "table-cell" | "covered-table-cell" => table.end_cell(self.repeated),
            "table-row" => self.out.extend(table.end_row()?.map(Piece::Table)),
            _ => {}
        }
        Ok(())
    }

    fn end_in_sheet(&mut self, name: &str, writer: &mut LayerWriter) -> Result<(), Skip> {
        let Some(sheet) = &mut self.sheet else { return Ok(()) };
        match name {
            "table-cell" | "covered-table-cell" => sheet.end_cell(self.package.most, writer)?,
            "table-row" => sheet.end_row(writer)?,
            "table" if sheet.cell.is_none() => {
                sheet.tables.end(writer);
                self.sheet = None;
            }
            _ => {}
        }
        Ok(())
    }

    /// Appends text to the paragraph that is open. `flows` says that white space counts as one space.
    fn say(&mut self, text: &str, flows: bool, writer: &mut LayerWriter) {
        let Some(paragraph) = self.paragraphs.last_mut() else { return };
        let run = paragraph.runs.last().copied().unwrap_or_default();
        if run.hidden {
            return writer.drop(DropReason::Hidden, text);
        }
        if flows { paragraph.line.flow(text, run.look) } else { paragraph.line.text(text, run.look) }
    }

    fn open_list(&mut self, tag: &Tag<'_>) {
        let around = self.lists.last().map(|list| list.style.clone()).unwrap_or_default();
        let style = tag.attr("style-name").map_or(around, std::borrow::Cow::into_owned);
        let goes_on =
            tag.attr("continue-numbering").is_some_and(|value| value == "true") || tag.attr("continue-list").is_some();
        let number = if goes_on && self.lists.is_empty() { self.numbers.get(&style).copied() } else { None };
        self.lists.push(List { style, number: number.unwrap_or(0), fresh: false });
    }

    fn open_paragraph(&mut self, heading: Option<u8>, style: &str) {
        let mut line = Runs::new();
        let code = self.styles.is_based_on("paragraph", style, &["Preformatted_20_Text", "Source_20_Code"]);
        let title = heading.is_none()
            && self.kind == Some(Kind::Text)
            && self.styles.is_based_on("paragraph", style, &["Title"]);
        let head = self.table.as_ref().is_some_and(|table| table.number == 0);
        let in_title =
            self.kind == Some(Kind::Slides) && self.frames.last().is_some_and(|frame| frame.class == "title");
        if heading.is_some() || code || title || head || in_title {
            line.set_plain();
        }
        let own = self.styles.run("paragraph", style);
        let run = Run { hidden: own.hidden, ..Run::default() };
        let (runs, links, boxed) = (vec![run], Vec::new(), Vec::new());
        self.paragraphs.push(Paragraph { line, heading, code, title, runs, links, boxed });
    }

    fn close_paragraph(&mut self, writer: &mut LayerWriter) {
        let Some(Paragraph { line, heading, code, title, boxed, .. }) = self.paragraphs.pop() else { return };
        let (text, anchors) = line.finish();
        if let Some(cell) = self.sheet.as_mut().and_then(|sheet| sheet.cell.as_mut()) {
            append(&mut cell.text, &text);
            boxed.iter().filter_map(Piece::text).for_each(|text| append(&mut cell.text, text));
            return;
        }
        let mut pieces = Vec::new();
        if !anchors.is_empty() {
            pieces.push(Piece::Anchors(anchors));
        }
        if !text.is_blank() || code && self.paragraphs.is_empty() {
            pieces.push(self.piece(text, heading, code, title));
        }
        pieces.extend(boxed);
        if let Some(note) = self.note.as_mut().filter(|note| self.paragraphs.len() >= note.depth) {
            note.pieces.extend(pieces);
        } else if let Some(around) = self.paragraphs.last_mut() {
            around.boxed.extend(pieces);
        } else if let Some(table) = &mut self.table {
            for piece in pieces {
                table.put(piece);
            }
        } else if self.kind == Some(Kind::Slides) {
            self.on_slide(pieces, writer);
        } else if let Some(sheet) = &mut self.sheet {
            for piece in pieces {
                if let Some(text) = piece.text() {
                    sheet.tables.text(text.clone(), writer);
                }
            }
        } else {
            self.out.extend(pieces);
        }
    }

    fn on_slide(&mut self, pieces: Vec<Piece>, writer: &mut LayerWriter) {
        let class = self.frames.last().map(|frame| &*frame.class).unwrap_or_default();
        match class {
            "header" | "footer" | "date-time" | "page-number" => {
                for text in pieces.iter().filter_map(Piece::text) {
                    writer.drop(DropReason::RunningHead, text.as_str());
                }
            }
            _ if self.slide.in_notes => {
                self.slide.notes.extend(pieces.iter().filter_map(Piece::text).cloned());
            }
            "title" => pieces.iter().filter_map(Piece::text).for_each(|text| append(&mut self.slide.title, text)),
            _ => self.out.extend(pieces),
        }
    }

    /// Returns the block that a paragraph is.
    fn piece(&mut self, text: Inline, heading: Option<u8>, code: bool, title: bool) -> Piece {
        if title {
            if self.title.is_none() && !text.is_blank() {
                self.title = Some(on_one_line(text.as_str()));
            }
            return Piece::Heading(1, text);
        }
        if let Some(level) = heading {
            return Piece::Heading(level, text);
        }
        let level = self.lists.len().saturating_sub(1);
        match self.lists.last_mut() {
            Some(list) if list.fresh => {
                list.fresh = false;
                let numbered = self.styles.is_numbered(&list.style, level);
                let mark = if numbered { Mark::Number(list.number) } else { Mark::Bullet };
                Piece::Item { level, list: list.style.clone(), mark, text }
            }
            within if code => Piece::Code(within.map(|_| level), text),
            Some(_) => Piece::More(level, text),
            None => Piece::Paragraph(text),
        }
    }
}

impl Sheet {
    fn new(name: String, most: usize) -> Self {
        let tables = Tables::new(name, most);
        Self { tables, row: 0, rows: 1, column: 0, cells: Vec::new(), bytes: 0, cell: None }
    }

    fn end_cell(&mut self, most: usize, writer: &mut LayerWriter) -> Result<(), Skip> {
        let Some(cell) = self.cell.take() else { return Ok(()) };
        let text = match (cell.date, cell.value) {
            (Some(date), _) => {
                writer.drop(DropReason::Repeated, cell.text.as_str());
                Inline::from(&*date)
            }
            (None, Some(value)) if cell.text.is_blank() => Inline::from(&*value),
            _ => cell.text,
        };
        let first = self.column;
        self.column = self.column.saturating_add(cell.count);
        if text.is_blank() {
            return Ok(());
        }
        for column in first..first.saturating_add(cell.count.min(MAX_REPEATED)) {
            let Some(column) = u32::try_from(column).ok().filter(|column| *column < MAX_COLUMNS) else {
                return Err(outside());
            };
            self.bytes += text.as_str().len();
            if self.bytes > most {
                return Err(Skip::Growth { limit: most as u64 });
            }
            self.cells.push((column, text.clone()));
        }
        if cell.count > MAX_REPEATED {
            writer.flag(ReadFlag::RepeatedCellsCut);
        }
        Ok(())
    }

    fn end_row(&mut self, writer: &mut LayerWriter) -> Result<(), Skip> {
        let first = self.row;
        self.row = self.row.saturating_add(self.rows);
        let cells = std::mem::take(&mut self.cells);
        if cells.is_empty() {
            return Ok(());
        }
        for row in first..first.saturating_add(self.rows.min(MAX_REPEATED)) {
            let Some(row) = u32::try_from(row).ok().filter(|row| *row < MAX_ROWS) else { return Err(outside()) };
            self.tables.row(row, cells.clone(), writer)?;
            if writer.is_full() {
                break;
            }
        }
        if self.rows > MAX_REPEATED {
            writer.flag(ReadFlag::RepeatedCellsCut);
        }
        Ok(())
    }
}

fn outside() -> Skip {
    let problem = format!("a cell is outside of {MAX_ROWS} rows and {MAX_COLUMNS} columns");
    Skip::Malformed { format: FORMAT, problem }
}

/// Appends a paragraph to a text on one line.
fn append(to: &mut Inline, text: &Inline) {
    if text.is_blank() {
        return;
    }
    if !to.is_blank() {
        to.write(" ");
    }
    to.append(text);
}

/// Goes to the end of an element, and counts its text. The author and the date of a change or a comment are not
/// text.
fn left_out(xml: &mut Xml<'_>, reason: DropReason, writer: &mut LayerWriter) -> Result<(), Skip> {
    let depth = xml.depth();
    while xml.depth() >= depth {
        match xml.next()? {
            Some(Event::Start(tag)) if matches!(tag.name(), ("office", "change-info") | ("dc" | "meta", _)) => {
                xml.skip(|_| {})?;
            }
            Some(Event::Text(text)) => writer.drop(reason, &text),
            Some(_) => {}
            None => break,
        }
    }
    Ok(())
}
