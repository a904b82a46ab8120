//! Parts that a document shows as drawings: diagrams, and charts with their data.
//!
//! A chart is a table: its categories are the first column, its series the others. Its numbers are those that were saved
//! with it, because their workbook may be elsewhere. On a sheet they are not read, as they are in its cells.

use std::collections::{BTreeMap, BTreeSet};

use chunkmill_base::error::Skip;
use chunkmill_text::document::{DropReason, Inline, LayerWriter};

use super::dates::{self, Kind};
use super::flow::{Flow, Grid, Piece, Table};
use crate::package::Package;
use crate::package::xml::{Event, Tag, Xml};

/// The text of a drawing.
#[derive(Debug, Default)]
pub(super) struct Drawing {
    /// Titles and labels, or the boxes of a diagram.
    pub(super) paragraphs: Vec<String>,
    tables: Vec<Grid>,
}

impl Drawing {
    /// Reads a part; nothing, if the package does not have it.
    pub(super) fn read(package: &mut Package<'_>, part: &str, writer: &mut LayerWriter) -> Result<Self, Skip> {
        let Some(text) = package.part(part)? else { return Ok(Self::default()) };
        let mut reader = DrawingReader { most: package.most, ..DrawingReader::default() };
        let mut xml = Xml::new(&text, package.format, part);
        while let Some(event) = xml.next()? {
            match event {
                Event::Start(tag) => reader.start(&tag, &mut xml, writer)?,
                Event::End(tag) => reader.end(&tag)?,
                Event::Text(text) => reader.flow(&text),
            }
        }
        reader.finish()
    }

    /// Writes its paragraphs, then its tables.
    fn write(self, flow: &mut Flow, writer: &mut LayerWriter) {
        for text in self.paragraphs {
            flow.write(Piece::Paragraph(Inline::from(&*text)), writer);
        }
        for grid in self.tables {
            flow.write(Piece::Table(grid), writer);
        }
    }
}

/// Writes a piece; in place of a drawing, the text of its part.
pub(super) fn write(
    piece: Piece,
    flow: &mut Flow,
    package: &mut Package<'_>,
    writer: &mut LayerWriter,
) -> Result<(), Skip> {
    match piece {
        Piece::Drawing(part) => Drawing::read(package, &part, writer)?.write(flow, writer),
        piece => flow.write(piece, writer),
    }
    Ok(())
}

/// Texts by the numbers of their points.
type Points = BTreeMap<u32, String>;

/// A row of numbers in a chart, with what they are of.
#[derive(Debug, Default)]
struct Series {
    name: String,
    /// The names of its points, level by level, the innermost first: months, then years.
    categories: Vec<Points>,
    /// Its numbers; those of bubbles have a second list.
    values: Vec<Points>,
}

/// The part of a series that is being read.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum SeriesPart {
    Name,
    Category,
    Value,
}

#[derive(Debug, Default)]
struct DrawingReader {
    most: usize,
    drawing: Drawing,
    paragraph: String,
    series: Vec<Series>,
    /// The series that is open, and in which part of it we are.
    open: Option<Series>,
    part: Option<SeriesPart>,
    point: u32,
    format: Option<Kind>,
    since_1904: bool,
    /// A table, in a chart of `OpenDocument`.
    table: Option<Table>,
    /// Whether text is in a paragraph of `OpenDocument`.
    flows: bool,
}

impl DrawingReader {
    fn start(&mut self, tag: &Tag<'_>, xml: &mut Xml<'_>, writer: &mut LayerWriter) -> Result<(), Skip> {
        match tag.name() {
            ("mc", "Fallback") => xml.skip(|text| writer.drop(DropReason::Repeated, text))?,
            ("a", "t") => xml.skip(|text| self.paragraph.push_str(text))?,
            ("a", "br") => self.paragraph.push('\n'),
            ("c", name) => self.start_in_chart(name, tag, xml, writer)?,
            ("text", "p") => self.flows = true,
            ("text", "s" | "tab" | "line-break") => self.flow(" "),
            ("table", "table") if self.table.is_none() => self.table = Some(Table::new(self.most)),
            ("table", "table-cell") if tag.attr("value").is_some_and(|value| value == "NaN") => {
                // A gap.
                xml.skip(|text| writer.drop(DropReason::Markup, text))?;
                self.table.iter_mut().for_each(|table| table.end_cell(1));
            }
            _ => {}
        }
        Ok(())
    }

    fn start_in_chart(
        &mut self,
        name: &str,
        tag: &Tag<'_>,
        xml: &mut Xml<'_>,
        writer: &mut LayerWriter,
    ) -> Result<(), Skip> {
        match name {
            "date1904" => self.since_1904 = tag.is_on(),
            "ser" => self.open = Some(Series::default()),
            // Series that were filtered away.
            "extLst" => xml.skip(|text| writer.drop(DropReason::Hidden, text))?,
            "f" => xml.skip(|text| writer.drop(DropReason::Markup, text))?,
            "formatCode" => self.format = Some(dates::kind(&xml.text()?)),
            "tx" if self.open.is_some() && self.part.is_none() => self.part = Some(SeriesPart::Name),
            "cat" | "xVal" | "val" | "yVal" | "bubbleSize" => {
                let part = if matches!(name, "cat" | "xVal") { SeriesPart::Category } else { SeriesPart::Value };
                (self.part, self.format) = (Some(part), None);
                self.open_points();
            }
            "lvl" => {
                let before = self.open.as_ref().and_then(|series| series.categories.last());
                if before.is_some_and(|points| !points.is_empty()) {
                    self.open_points();
                }
            }
            "pt" => self.point = tag.number("idx").and_then(|at| u32::try_from(at).ok()).unwrap_or_default(),
            "v" => {
                let text = xml.text()?;
                self.say(text);
            }
            _ => {}
        }
        Ok(())
    }

    /// Begins a list of points.
    fn open_points(&mut self) {
        let Some(series) = &mut self.open else { return };
        match self.part {
            Some(SeriesPart::Category) => series.categories.push(Points::new()),
            Some(SeriesPart::Value) => series.values.push(Points::new()),
            Some(SeriesPart::Name) | None => {}
        }
    }

    /// Takes the text of a point.
    fn say(&mut self, text: String) {
        let text = self.format.and_then(|kind| dates::written(&text, kind, self.since_1904)).unwrap_or(text);
        let Some(series) = &mut self.open else {
            // A title from a cell.
            self.paragraph.push_str(&text);
            return self.end_paragraph();
        };
        let points = match self.part {
            Some(SeriesPart::Category) => series.categories.last_mut(),
            Some(SeriesPart::Value) => series.values.last_mut(),
            Some(SeriesPart::Name) => {
                if !series.name.is_empty() {
                    series.name.push(' ');
                }
                return series.name.push_str(&text);
            }
            None => None,
        };
        if let Some(points) = points {
            points.insert(self.point, text);
        }
    }

    fn flow(&mut self, text: &str) {
        if self.flows {
            self.paragraph.push_str(text);
        }
    }

    fn end(&mut self, tag: &Tag<'_>) -> Result<(), Skip> {
        match tag.name() {
            ("a", "p") => self.end_paragraph(),
            ("c", "ser") => {
                self.series.extend(self.open.take());
                self.part = None;
            }
            ("c", "tx" | "cat" | "xVal" | "val" | "yVal" | "bubbleSize") => (self.part, self.format) = (None, None),
            ("text", "p") => {
                self.flows = false;
                match &mut self.table {
                    Some(table) => table.append(&Inline::from(&*std::mem::take(&mut self.paragraph))),
                    None => self.end_paragraph(),
                }
            }
            ("table", "table-cell") => self.table.iter_mut().for_each(|table| table.end_cell(1)),
            ("table", "table-row") => {
                if let Some(table) = &mut self.table {
                    self.drawing.tables.extend(table.end_row()?);
                }
            }
            ("table", "table") => self.drawing.tables.extend(self.table.take().map(|table| table.grid)),
            _ => {}
        }
        Ok(())
    }

    fn end_paragraph(&mut self) {
        let text = std::mem::take(&mut self.paragraph);
        self.drawing.paragraphs.extend((!text.trim().is_empty()).then_some(text));
    }

    /// Returns the drawing, with a table for series that follow each other and have the same categories.
    fn finish(mut self) -> Result<Drawing, Skip> {
        let mut first = 1;
        for series in self.series.chunk_by(|one, other| one.categories == other.categories) {
            self.drawing.tables.extend(table(series, first, self.most)?);
            first += series.len();
        }
        Ok(self.drawing)
    }
}

/// Returns the rows of series with the same categories. A series without a name has its number, as programs show it.
fn table(series: &[Series], first: usize, most: usize) -> Result<Vec<Grid>, Skip> {
    let mut table = Table::new(most);
    let mut tables = Vec::new();
    let Some(categories) = series.first().map(|series| &series.categories) else { return Ok(tables) };
    let columns: Vec<&Points> = series.iter().flat_map(|series| &series.values).collect();
    let points: BTreeSet<u32> =
        columns.iter().copied().chain(categories.first()).flat_map(|points| points.keys().copied()).collect();
    if points.is_empty() {
        return Ok(tables);
    }
    for _ in categories {
        table.end_cell(1);
    }
    for (number, series) in (first..).zip(series) {
        for _ in &series.values {
            let name = if series.name.trim().is_empty() { format!("Series {number}") } else { series.name.clone() };
            table.append(&Inline::from(&*name));
            table.end_cell(1);
        }
    }
    tables.extend(table.end_row()?);
    for point in points {
        for (level, names) in categories.iter().enumerate().rev() {
            // The name of a group stands at its first point.
            let name =
                if level == 0 { names.get(&point) } else { names.range(..=point).next_back().map(|(_, name)| name) };
            if let Some(name) = name {
                table.append(&Inline::from(&**name));
            }
            table.end_cell(1);
        }
        for values in &columns {
            if let Some(value) = values.get(&point) {
                table.append(&Inline::from(&**value));
            }
            table.end_cell(1);
        }
        tables.extend(table.end_row()?);
    }
    tables.push(table.grid);
    Ok(tables)
}
