//! A sheet as tables: a new one after two empty rows, and after many rows one with the same head.

use chunkmill_base::error::Skip;
use chunkmill_text::document::{Inline, LayerWriter, Place};

use super::super::flow::{Flow, Grid, Piece};
use super::range::range;

/// Rows of one table.
const MAX_TABLE: usize = 200;

/// Empty rows between two tables.
const GAP: u32 = 2;

/// Writes the cells of a sheet.
pub(crate) struct Tables {
    sheet: String,
    grid: Grid,
    most: usize,
    flow: Flow,
    /// Whether its name was written.
    named: bool,
}

impl Tables {
    pub(crate) fn new(sheet: String, most: usize) -> Self {
        Self { grid: Grid::of_sheet(&sheet, most), sheet, most, flow: Flow::default(), named: false }
    }

    /// Writes a row with its cells, both numbered from 0.
    pub(crate) fn row(&mut self, number: u32, cells: Vec<(u32, Inline)>, writer: &mut LayerWriter) -> Result<(), Skip> {
        if cells.iter().all(|(_, text)| text.is_blank()) {
            return Ok(());
        }
        if self.grid.last().is_some_and(|last| number <= last || number - last > GAP) {
            self.end(writer);
        } else if self.grid.len() >= MAX_TABLE || self.grid.is_full() {
            // The gap to the next row counts from here on, too: the first row of the rest follows.
            let part = self.grid.split();
            self.write(part, writer);
        }
        self.grid.row(number, cells)
    }

    /// Ends a table.
    pub(crate) fn end(&mut self, writer: &mut LayerWriter) {
        let grid = std::mem::replace(&mut self.grid, Grid::of_sheet(&self.sheet, self.most));
        if !grid.is_empty() {
            self.write(grid, writer);
        }
    }

    /// Writes text that is on the sheet but in no cell.
    pub(crate) fn text(&mut self, text: Inline, writer: &mut LayerWriter) {
        self.end(writer);
        self.flow.write(Piece::Place(Place::new(&*self.sheet)), writer);
        self.name(writer);
        self.flow.write(Piece::Paragraph(text), writer);
        self.flow.finish(writer);
    }

    fn write(&mut self, grid: Grid, writer: &mut LayerWriter) {
        let Some(all) = grid.range() else { return };
        self.flow.write(Piece::Place(Place::new(range(&self.sheet, all))), writer);
        self.name(writer);
        self.flow.write(Piece::Table(grid), writer);
        self.flow.finish(writer);
    }

    fn name(&mut self, writer: &mut LayerWriter) {
        if !std::mem::replace(&mut self.named, true) {
            self.flow.write(Piece::Heading(2, Inline::from(&*self.sheet)), writer);
        }
    }
}
