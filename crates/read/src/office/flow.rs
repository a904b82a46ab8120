//! Writes the blocks of a document: paragraphs, lists by their levels, code by its lines, tables by their cells.

use std::collections::BTreeSet;

use chunkmill_base::error::Skip;
use chunkmill_text::document::{Inline, LayerWriter, Place};

use super::sheet::range;

/// A block or what is known of the next one.
#[derive(Debug)]
pub(super) enum Piece {
    /// Where the next blocks are from.
    Place(Place),
    /// Names of the place of the next block.
    Anchors(Vec<String>),
    Heading(u8, Inline),
    Paragraph(Inline),
    /// A paragraph of a quotation. Those that follow each other are one.
    Quote(Inline),
    /// An item of a list: its level from 0, the list, its mark.
    Item {
        level: usize,
        list: String,
        mark: Mark,
        text: Inline,
    },
    /// A paragraph that belongs to the last item of this level.
    More(usize, Inline),
    /// A line of code, in an item of this level or in none. Lines that follow each other are one block.
    Code(Option<usize>, Inline),
    Math(Inline),
    Table(Grid),
    /// A part with a drawing, which its caller reads.
    Drawing(String),
}

impl Piece {
    /// Returns its text, if it has one.
    pub(super) fn text(&self) -> Option<&Inline> {
        match self {
            Self::Heading(_, text)
            | Self::Paragraph(text)
            | Self::Quote(text)
            | Self::Item { text, .. }
            | Self::More(_, text)
            | Self::Code(_, text)
            | Self::Math(text) => Some(text),
            Self::Place(_) | Self::Anchors(_) | Self::Table(_) | Self::Drawing(_) => None,
        }
    }
}

/// The mark of an item.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Mark {
    Bullet,
    Number(u64),
}

/// Writes pieces one after the other.
#[derive(Debug, Default)]
pub(super) struct Flow {
    place: Option<Place>,
    anchors: Vec<String>,
    /// Lists that are open: level, list, whether its items have numbers.
    lists: Vec<(usize, String, bool)>,
    /// Code, and whether its paragraph had several lines: then it is a listing of its own.
    code: Option<(Inline, bool)>,
    /// Whether a quotation is open.
    quote: bool,
}

impl Flow {
    pub(super) fn write(&mut self, piece: Piece, writer: &mut LayerWriter) {
        match piece {
            Piece::Place(place) => self.place = Some(place),
            Piece::Anchors(names) => self.anchors.extend(names),
            Piece::Code(within, text) => {
                let whole = text.as_str().contains('\n');
                if self.code.as_ref().is_some_and(|code| code.1 || whole) {
                    self.end_code(writer);
                }
                match &mut self.code {
                    Some((code, _)) => {
                        code.write("\n");
                        code.append(&text);
                    }
                    None if text.is_blank() => {}
                    None => {
                        match within {
                            Some(level) => self.close_below(level, writer),
                            None => self.close_lists(writer),
                        }
                        self.close_quote(writer);
                        self.begin(writer);
                        self.code = Some((text, whole));
                    }
                }
            }
            piece if piece.text().is_some_and(Inline::is_blank) => {}
            piece => {
                self.end_code(writer);
                if !matches!(piece, Piece::Quote(_)) {
                    self.close_quote(writer);
                }
                self.block(piece, writer);
            }
        }
    }

    /// Writes what is left, and closes lists.
    pub(super) fn finish(&mut self, writer: &mut LayerWriter) {
        self.end_code(writer);
        self.close_lists(writer);
        self.close_quote(writer);
        // Nothing is at the last place.
        self.place = None;
        self.begin(writer);
    }

    fn block(&mut self, piece: Piece, writer: &mut LayerWriter) {
        match piece {
            Piece::Item { level, list, mark, text } => {
                self.open_item(level, list, mark, writer);
                self.begin(writer);
                writer.paragraph(&text);
            }
            Piece::More(level, text) => {
                self.close_below(level, writer);
                self.begin(writer);
                writer.paragraph(&text);
            }
            other => {
                self.close_lists(writer);
                self.begin(writer);
                match other {
                    Piece::Heading(level, text) => writer.heading(level, &text, None),
                    Piece::Paragraph(text) => writer.paragraph(&text),
                    Piece::Quote(text) => {
                        if !std::mem::replace(&mut self.quote, true) {
                            writer.open_quote();
                        }
                        writer.paragraph(&text);
                    }
                    Piece::Math(text) => writer.math(&text),
                    Piece::Table(grid) => grid.write(writer),
                    _ => {}
                }
            }
        }
    }

    fn begin(&mut self, writer: &mut LayerWriter) {
        if let Some(place) = self.place.take() {
            writer.place(place);
        }
        for name in self.anchors.drain(..) {
            writer.anchor(&name);
        }
    }

    fn end_code(&mut self, writer: &mut LayerWriter) {
        if let Some((code, _)) = self.code.take() {
            // The place of what follows is still to come.
            writer.code("", &code);
        }
    }

    fn close_quote(&mut self, writer: &mut LayerWriter) {
        if std::mem::take(&mut self.quote) {
            writer.close();
        }
    }

    fn open_item(&mut self, level: usize, list: String, mark: Mark, writer: &mut LayerWriter) {
        self.close_below(level, writer);
        let ordered = mark != Mark::Bullet;
        if let Some((last, last_list, last_ordered)) = self.lists.last()
            && *last == level
        {
            writer.close();
            if *last_list != list || *last_ordered != ordered {
                writer.close();
                self.lists.pop();
            }
        }
        if self.lists.last().is_none_or(|(last, ..)| *last < level) {
            writer.open_list(true);
            self.lists.push((level, list, ordered));
        }
        match mark {
            Mark::Bullet => writer.open_item("-"),
            Mark::Number(number) => writer.open_item(&format!("{number}.")),
        }
    }

    /// Closes the lists below a level.
    fn close_below(&mut self, level: usize, writer: &mut LayerWriter) {
        while self.lists.last().is_some_and(|(last, ..)| *last > level) {
            writer.close();
            writer.close();
            self.lists.pop();
        }
    }

    fn close_lists(&mut self, writer: &mut LayerWriter) {
        while self.lists.pop().is_some() {
            writer.close();
            writer.close();
        }
    }
}

/// Cells that are in memory at most before they are written: in a table without end, the rest is a table with the same head.
const MAX_CELLS: usize = 1 << 16;

/// A table. Only cells with text are in memory, and only columns with text are written, so a cell far away costs
/// nothing.
#[derive(Debug, Default)]
pub(super) struct Grid {
    /// The first row, if it was taken already: text of ours.
    head: Option<Row>,
    rows: Vec<Row>,
    columns: BTreeSet<u32>,
    /// Bytes of the rows.
    bytes: usize,
    /// Most bytes that may be in memory.
    most: usize,
    /// The sheet that it is on: its rows have places of their own.
    sheet: Option<String>,
}

/// Its number, and its cells by their columns, both from 0.
pub(super) type Row = (u32, Vec<(u32, Inline)>);

impl Grid {
    pub(super) fn new(most: usize) -> Self {
        Self { most, ..Self::default() }
    }

    pub(super) fn of_sheet(sheet: &str, most: usize) -> Self {
        Self { sheet: Some(sheet.to_owned()), ..Self::new(most) }
    }

    pub(super) fn is_empty(&self) -> bool {
        self.rows.is_empty()
    }

    /// Returns the number of rows that are in memory.
    pub(super) fn len(&self) -> usize {
        self.rows.len()
    }

    /// Returns the number of the last row.
    pub(super) fn last(&self) -> Option<u32> {
        self.rows.last().map(|(number, _)| *number)
    }

    /// Returns whether its rows should be written before the next.
    pub(super) fn is_full(&self) -> bool {
        (self.rows.len() + 1) * self.columns.len() > MAX_CELLS
    }

    /// Returns the first and last row and column: what is in memory.
    pub(super) fn range(&self) -> Option<(u32, u32, u32, u32)> {
        let (first, last) = (self.rows.first()?.0, self.rows.last()?.0);
        let used = self.rows.iter().flat_map(|(_, cells)| cells.iter().map(|(column, _)| *column));
        let (left, right) = used.fold((u32::MAX, 0), |(left, right), column| (left.min(column), right.max(column)));
        Some((first, last, left, right))
    }

    /// Appends a row with its cells, without blank ones. A blank row is not appended.
    ///
    /// # Errors
    /// [`Skip::Growth`] if its text is over the limit.
    pub(super) fn row(&mut self, number: u32, cells: Vec<(u32, Inline)>) -> Result<(), Skip> {
        let mut row: Vec<(u32, Inline)> = Vec::with_capacity(cells.len());
        for (column, text) in cells {
            if text.is_blank() {
                continue;
            }
            self.bytes += text.as_str().len();
            self.columns.insert(column);
            row.push((column, text));
        }
        if self.bytes > self.most {
            return Err(Skip::Growth { limit: self.most as u64 });
        }
        if !row.is_empty() {
            row.sort_by_key(|(column, _)| *column);
            self.rows.push((number, row));
        }
        Ok(())
    }

    /// Returns what is in memory, to be written, and keeps the head for the rows to come.
    pub(super) fn split(&mut self) -> Self {
        let head = self.head.clone().or_else(|| self.rows.first().map(plain));
        let columns = head.iter().flat_map(|(_, cells)| cells.iter().map(|(column, _)| *column)).collect();
        let sheet = self.sheet.clone();
        std::mem::replace(self, Self { head, rows: Vec::new(), columns, bytes: 0, most: self.most, sheet })
    }

    /// Writes its rows, below the head if that is not among them.
    pub(super) fn write(self, writer: &mut LayerWriter) {
        let Some((first, _, left, right)) = self.range() else { return };
        // The head of the rows before is a copy, at the place of the first row.
        let numbers: Vec<u32> =
            self.head.iter().map(|_| first).chain(self.rows.iter().map(|(number, _)| *number)).collect();
        let columns: Vec<u32> = self.columns.into_iter().collect();
        let dense = |(_, cells): Row| {
            let mut row: Vec<Inline> = Vec::new();
            for (column, text) in cells {
                let Ok(at) = columns.binary_search(&column) else { continue };
                if row.len() <= at {
                    row.resize_with(at + 1, Inline::new);
                }
                let cell = &mut row[at];
                if !cell.as_str().is_empty() {
                    cell.write(" ");
                }
                cell.append(&text);
            }
            row
        };
        let rows: Vec<Vec<Inline>> = self.head.into_iter().chain(self.rows).map(dense).collect();
        writer.table_of(&rows, |row| {
            let (sheet, number) = (self.sheet.as_deref()?, *numbers.get(row)?);
            Some(Place::new(range(sheet, (number, number, left, right))))
        });
    }
}

/// Returns a head that is written again: text of ours, without names that links could mean.
fn plain((number, cells): &Row) -> Row {
    (*number, cells.iter().map(|(column, text)| (*column, Inline::from(text.as_str()))).collect())
}

/// A table that is being read cell by cell.
#[derive(Debug)]
pub(super) struct Table {
    pub(super) grid: Grid,
    row: Vec<(u32, Inline)>,
    /// The number of the row.
    pub(super) number: u32,
    pub(super) column: u32,
    /// The text of the cell.
    cell: Inline,
    /// Tables that are open inside of its cells: they are written as text of the cell.
    pub(super) nested: usize,
    /// Drawings in its cells.
    drawings: Vec<Piece>,
}

impl Table {
    pub(super) fn new(most: usize) -> Self {
        let (row, cell, drawings) = (Vec::new(), Inline::new(), Vec::new());
        Self { grid: Grid::new(most), row, number: 0, column: 0, cell, nested: 0, drawings }
    }

    /// Appends a paragraph to the cell.
    pub(super) fn append(&mut self, text: &Inline) {
        if text.is_blank() {
            return;
        }
        if !self.cell.is_blank() {
            self.cell.write(" ");
        }
        self.cell.append(text);
    }

    /// Appends what a paragraph in the cell is: its text, or a drawing, which follows the table.
    pub(super) fn put(&mut self, piece: Piece) {
        match piece {
            Piece::Drawing(_) => self.drawings.push(piece),
            piece => piece.text().into_iter().for_each(|text| self.append(text)),
        }
    }

    /// Names a place in the cell.
    pub(super) fn anchor(&mut self, name: &str) {
        self.cell.anchor(name);
    }

    /// Ends a cell that is this many columns wide. Empty cells are not kept.
    pub(super) fn end_cell(&mut self, columns: u64) {
        let text = std::mem::take(&mut self.cell);
        if !text.is_blank() {
            self.row.push((self.column, text));
        }
        self.column = self.column.saturating_add(u32::try_from(columns.max(1)).unwrap_or(u32::MAX));
    }

    /// Ends a row, and returns the rows so far if they are to be written.
    pub(super) fn end_row(&mut self) -> Result<Option<Grid>, Skip> {
        self.grid.row(self.number, std::mem::take(&mut self.row))?;
        self.number = self.number.saturating_add(1);
        self.column = 0;
        Ok(self.grid.is_full().then(|| self.grid.split()))
    }

    /// Returns the rows that are left, then the drawings in its cells.
    pub(super) fn finish(self) -> impl Iterator<Item = Piece> {
        std::iter::once(Piece::Table(self.grid)).chain(self.drawings)
    }
}
