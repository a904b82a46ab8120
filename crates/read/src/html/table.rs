//! The cells of a table. A cell over several columns or rows is written once; the others are empty.

use chunkmill_text::document::Inline;

/// Most columns. The text of further cells goes to the last one.
const MAX_COLUMNS: usize = 1000;

/// Empty cells that a table may have for each cell that the page has, and those that any table may have.
const EMPTY: usize = 16;
const FREE_EMPTY: usize = 1024;

/// A table that is being read.
#[derive(Debug, Default)]
pub(super) struct Table {
    pub(super) caption: Inline,
    pub(super) rows: Vec<Vec<Inline>>,
    /// How many rows more a cell above has, by column.
    spans: Vec<usize>,
    /// Columns and rows of the cell that is open.
    open: (usize, usize),
    cells: usize,
    empty: usize,
}

impl Table {
    /// Begins a row.
    pub(super) fn row(&mut self) {
        self.end_row();
        self.rows.push(Vec::new());
    }

    /// Counts the columns down that the last row did not reach.
    fn end_row(&mut self) {
        let Some(row) = self.rows.last() else { return };
        self.spans.iter_mut().skip(row.len()).for_each(|left| *left = left.saturating_sub(1));
        while self.spans.last() == Some(&0) {
            self.spans.pop();
        }
    }

    /// Opens a cell over so many columns and rows.
    pub(super) fn open(&mut self, columns: usize, rows: usize) {
        self.open = (columns, rows);
    }

    /// Ends the cell.
    pub(super) fn cell(&mut self, text: Inline) {
        let (columns, rows) = std::mem::replace(&mut self.open, (1, 1));
        if self.rows.is_empty() {
            self.rows.push(Vec::new());
        }
        self.cells += 1;
        let Some(row) = self.rows.last_mut() else { return };
        if row.len() >= MAX_COLUMNS {
            if let Some(last) = row.last_mut() {
                last.write(" ");
                last.append(&text);
            }
            return;
        }
        let room = (self.cells * EMPTY + FREE_EMPTY).saturating_sub(self.empty);
        let mut added = 0;
        while let Some(left) = self.spans.get_mut(row.len()).filter(|left| **left > 0) {
            if added >= room || row.len() + 1 >= MAX_COLUMNS {
                break;
            }
            *left -= 1;
            row.push(Inline::new());
            added += 1;
        }
        let columns = columns.clamp(1, MAX_COLUMNS - row.len()).min(1 + room - added);
        let first = row.len();
        row.push(text);
        row.resize(first + columns, Inline::new());
        self.empty += added + columns - 1;
        if self.spans.len() < row.len() {
            self.spans.resize(row.len(), 0);
        }
        self.spans[first..first + columns].fill(rows.clamp(1, 65_534) - 1);
    }
}
