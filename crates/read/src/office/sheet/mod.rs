//! Excel.
//!
//! Each sheet is a section with tables of its cells. Cells have the values that were saved: what a formula gave, numbers as
//! they are written in the file, dates in ISO form. The size that a sheet declares is not used, and only cells with text are
//! in memory. `calamine` was compared: it allocates the whole range of a sheet.

mod range;
mod tables;

use std::collections::HashMap;

use chunkmill_base::error::Skip;
use chunkmill_text::document::{DropReason, Inline, LayerWriter, ReadSettings};
use serde_json::Value;

pub(super) use self::range::{MAX_COLUMNS, MAX_ROWS, range};
pub(super) use self::tables::Tables;
use super::dates::{self, Kind};
use super::drawing::Drawing;
use crate::package::Package;
use crate::package::xml::{Event, Tag, Xml};

const FORMAT: &str = "a spreadsheet";

/// A sheet in its workbook.
struct Sheet {
    name: String,
    part: String,
    hidden: bool,
}

/// The data of a workbook that the cells of all sheets refer to.
struct Book {
    strings: Strings,
    /// The meaning of numbers in each cell format.
    formats: Vec<Kind>,
    since_1904: bool,
    most: usize,
}

/// Reads a workbook.
pub(crate) fn read(bytes: &[u8], writer: &mut LayerWriter, settings: &ReadSettings) -> Result<(), Skip> {
    let mut package = Package::open(bytes, FORMAT, settings)?;
    super::about::core(&mut package, writer)?;
    let (main, relations) = package.main("xl/workbook.xml")?;
    let text = package.needed(&main)?;
    let most = package.most;
    let mut book = Book { strings: Strings::default(), formats: Vec::new(), since_1904: false, most };
    let mut sheets = Vec::new();
    let mut found = false;
    let mut xml = Xml::new(&text, FORMAT, &main);
    while let Some(event) = xml.next()? {
        let Event::Start(tag) = event else { continue };
        match tag.name() {
            ("s", "workbook") => found = true,
            ("s", "workbookPr") => {
                book.since_1904 = tag.attr("date1904").is_some_and(|value| matches!(&*value, "1" | "true"));
            }
            ("s", "sheet") => {
                let part = tag.prefixed("id").and_then(|id| relations.part(&id).map(str::to_owned));
                let name = tag.attr("name").unwrap_or_default().into_owned();
                let hidden = tag.attr("state").is_some_and(|state| state != "visible");
                sheets.extend(part.map(|part| Sheet { name, part, hidden }));
            }
            _ => {}
        }
    }
    if !found {
        return Err(Skip::Malformed { format: FORMAT, problem: format!("{main} is no workbook") });
    }
    for (kind, read) in [
        ("sharedStrings", Book::read_strings as fn(&mut Book, &str, &str, &mut LayerWriter) -> Result<(), Skip>),
        ("styles", Book::read_formats),
    ] {
        let Some(part) = relations.of_kind(kind).map(|relation| relation.target.clone()).next() else { continue };
        if let Some(text) = package.part(&part)? {
            read(&mut book, &text, &part, writer)?;
        }
    }
    let mut hidden = Vec::new();
    for sheet in &sheets {
        book.sheet(&mut package, sheet, writer)?;
        if sheet.hidden {
            hidden.push(Value::String(sheet.name.clone()));
        }
        if writer.is_full() {
            break;
        }
    }
    if !hidden.is_empty() {
        writer.about().metadata.insert("hidden_sheets".to_owned(), Value::Array(hidden));
    }
    Ok(())
}

/// The strings that cells share, one after the other.
#[derive(Default)]
struct Strings {
    text: String,
    ends: Vec<usize>,
}

impl Strings {
    fn get(&self, index: usize) -> Option<&str> {
        let start = index.checked_sub(1).map_or(Some(0), |before| self.ends.get(before).copied())?;
        self.text.get(start..*self.ends.get(index)?)
    }
}

/// A cell that is being read.
#[derive(Default)]
struct Cell {
    column: u32,
    kind: String,
    format: usize,
    value: String,
}

impl Book {
    fn read_strings(&mut self, text: &str, part: &str, writer: &mut LayerWriter) -> Result<(), Skip> {
        let mut xml = Xml::new(text, FORMAT, part);
        while let Some(event) = xml.next()? {
            match event {
                Event::Start(tag) => match tag.name() {
                    ("s", "t") => xml.skip(|text| self.strings.text.push_str(text))?,
                    // How a text is spoken.
                    ("s", "rPh") => xml.skip(|text| writer.drop(DropReason::Repeated, text))?,
                    _ => {}
                },
                Event::End(tag) if tag.name() == ("s", "si") => self.strings.ends.push(self.strings.text.len()),
                _ => {}
            }
        }
        Ok(())
    }

    fn read_formats(&mut self, text: &str, part: &str, _writer: &mut LayerWriter) -> Result<(), Skip> {
        let mut xml = Xml::new(text, FORMAT, part);
        let mut own = HashMap::new();
        let mut cells = false;
        while let Some(event) = xml.next()? {
            match event {
                Event::Start(tag) => match tag.name() {
                    ("s", "numFmt") => {
                        let code = tag.attr("formatCode").unwrap_or_default();
                        own.insert(tag.number("numFmtId").unwrap_or_default(), dates::kind(&code));
                    }
                    ("s", "cellXfs") => cells = true,
                    ("s", "xf") if cells => {
                        let id = tag.number("numFmtId").unwrap_or_default();
                        self.formats.push(own.get(&id).copied().unwrap_or_else(|| dates::built_in(id)));
                    }
                    _ => {}
                },
                Event::End(tag) if tag.name() == ("s", "cellXfs") => cells = false,
                _ => {}
            }
        }
        Ok(())
    }

    fn sheet(&self, package: &mut Package<'_>, sheet: &Sheet, writer: &mut LayerWriter) -> Result<(), Skip> {
        let Some(text) = package.part(&sheet.part)? else { return Ok(()) };
        let mut tables = Tables::new(sheet.name.clone(), self.most);
        self.cells(&text, &sheet.part, &mut tables, writer)?;
        drop(text);
        tables.end(writer);
        let relations = package.relations(&sheet.part)?;
        for relation in relations.of_kind("drawing") {
            let own = package.relations(&relation.target)?;
            let charts = own.of_kind("chart").map(|chart| &chart.target);
            for part in [&relation.target].into_iter().chain(charts) {
                for text in Drawing::read(package, part, writer)?.paragraphs {
                    tables.text(Inline::from(&*text), writer);
                }
            }
        }
        for kind in ["comments", "threadedComment"] {
            for relation in relations.of_kind(kind) {
                let Some(text) = package.part(&relation.target)? else { continue };
                let mut xml = Xml::new(&text, FORMAT, &relation.target);
                while let Some(event) = xml.next()? {
                    if matches!(&event, Event::Start(tag) if matches!(tag.name().1, "t" | "text") && tag.name() != ("s", "text"))
                    {
                        xml.skip(|text| writer.drop(DropReason::Comment, text))?;
                    }
                }
            }
        }
        Ok(())
    }

    fn cells(&self, text: &str, part: &str, tables: &mut Tables, writer: &mut LayerWriter) -> Result<(), Skip> {
        let mut xml = Xml::new(text, FORMAT, part);
        let (mut row, mut next_row, mut next_column) = (0, 0, 0);
        let mut cells: Vec<(u32, Inline)> = Vec::new();
        let mut bytes = 0;
        let mut cell = Cell::default();
        while let Some(event) = xml.next()? {
            match event {
                Event::Start(tag) => match tag.name() {
                    ("s", "row") => {
                        let number = tag.number("r").and_then(|number| number.checked_sub(1));
                        row = number.map_or(Some(next_row), |number| u32::try_from(number).ok()).unwrap_or(u32::MAX);
                        next_row = row.saturating_add(1);
                        (next_column, bytes) = (0, 0);
                    }
                    ("s", "c") => cell = start(&tag, &mut row, next_column, part)?,
                    ("s", "v") => cell.value = xml.text()?,
                    ("s", "t") => xml.skip(|text| cell.value.push_str(text))?,
                    ("s", "rPh") => xml.skip(|text| writer.drop(DropReason::Repeated, text))?,
                    ("s", "f") => xml.skip(|text| writer.drop(DropReason::Markup, text))?,
                    ("s", "headerFooter") => xml.skip(|text| writer.drop(DropReason::RunningHead, text))?,
                    _ => {}
                },
                Event::End(tag) => match tag.name() {
                    ("s", "c") => {
                        next_column = cell.column + 1;
                        let value = self.value(&mut cell);
                        bytes += value.as_str().len();
                        if bytes > self.most {
                            return Err(Skip::Growth { limit: self.most as u64 });
                        }
                        if !value.is_blank() {
                            cells.push((cell.column, value));
                        }
                    }
                    ("s", "row") => tables.row(row, std::mem::take(&mut cells), writer)?,
                    _ => {}
                },
                Event::Text(_) => {}
            }
            if writer.is_full() {
                break;
            }
        }
        Ok(())
    }

    /// Returns the text of a cell.
    fn value(&self, cell: &mut Cell) -> Inline {
        let value = std::mem::take(&mut cell.value);
        let text = match &*cell.kind {
            "s" => {
                let index = value.trim().parse().ok();
                return Inline::from(index.and_then(|index| self.strings.get(index)).unwrap_or_default());
            }
            "b" => match value.trim() {
                "1" => "TRUE".to_owned(),
                "0" => "FALSE".to_owned(),
                _ => value,
            },
            "" | "n" => {
                let kind = self.formats.get(cell.format).copied().unwrap_or(Kind::Number);
                dates::written(&value, kind, self.since_1904).unwrap_or(value)
            }
            _ => value,
        };
        Inline::from(&*text)
    }
}

/// Begins a cell. Its name is optional, and so is that of its row.
fn start(tag: &Tag<'_>, row: &mut u32, next: u32, part: &str) -> Result<Cell, Skip> {
    let mut column = next;
    if let Some((own_row, own_column)) = tag.attr("r").and_then(|name| range::cell(&name)) {
        (*row, column) = (own_row, own_column);
    }
    if *row >= MAX_ROWS || column >= MAX_COLUMNS {
        let problem = format!("{part}: a cell is outside of {MAX_ROWS} rows and {MAX_COLUMNS} columns");
        return Err(Skip::Malformed { format: FORMAT, problem });
    }
    let kind = tag.attr("t").unwrap_or_default().into_owned();
    let format = tag.number("s").and_then(|format| usize::try_from(format).ok()).unwrap_or_default();
    Ok(Cell { column, kind, format, value: String::new() })
}
