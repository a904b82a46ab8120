//! Tables of comma-separated or tab-separated values.
//!
//! Most are written as tables, in parts with a limited number of rows. Each part repeats the head, so a passage from
//! the middle still names its columns. But some are collections of documents, with a column of long texts: questions
//! and answers, articles, tickets. There, each row is a section, because a page of text does not fit into a cell.
//!
//! Cells are split by ourselves, see [`cells`].

mod cells;
#[cfg(test)]
#[allow(clippy::pedantic, clippy::unwrap_used, reason = "tests fail by panicking")]
mod tests;

use chunkmill_base::error::Skip;
use chunkmill_text::document::{DropReason, Inline, Layer, LayerWriter, Place, ReadSettings};

use cells::{Cell, Rows};

/// Most columns. A file with more is no table that people read.
const MAX_COLUMNS: usize = 16_384;

/// Most rows and cells of one part of a table.
const ROWS: usize = 200;
const CELLS: usize = 20_000;

/// Mean characters of the cells of a column from which on it has long texts.
const LONG: usize = 200;

/// Longest title of a section, in bytes.
const MAX_TITLE: usize = 300;

/// Columns that name a row, the best first.
const TITLES: [&str; 5] = ["title", "name", "question", "subject", "id"];

/// Reads a table.
pub(crate) fn read(source: &Layer, writer: &mut LayerWriter, _: &ReadSettings) -> Result<(), Skip> {
    let text = source.text.as_str();
    let (start, delimiter) = head(text, writer);
    let means = means(Rows::new(text, delimiter, start), text)?;
    let mut rows = Rows::new(text, delimiter, start);
    let mut head = Vec::new();
    if !rows.next(&mut head) {
        return Ok(());
    }
    let mut table = Table { text, delimiter: char::from(delimiter), writer };
    if means.iter().any(|mean| *mean > LONG) {
        table.sections(rows, &head, &means);
    } else {
        table.parts(rows, &head, means.len());
    }
    Ok(())
}

/// Returns where the rows start, behind a byte order mark and the line with which Excel names the delimiter; and that.
fn head(text: &str, writer: &mut LayerWriter) -> (usize, u8) {
    let start = if text.starts_with('\u{feff}') { '\u{feff}'.len_utf8() } else { 0 };
    let line = text[start..].split(['\n', '\r']).next().unwrap_or_default();
    let named = line.strip_prefix("sep=").filter(|name| name.len() == 1 && name.is_ascii() && *name != "\"");
    let end = start + named.map_or(0, |_| line.len());
    writer.drop(DropReason::Markup, &text[..end]);
    let named = named.and_then(|name| name.bytes().next());
    (end, named.unwrap_or_else(|| cells::delimiter(text, end)))
}

/// Returns the mean length of the cells of each column below the head, in characters.
fn means(mut rows: Rows<'_>, text: &str) -> Result<Vec<usize>, Skip> {
    let mut cells = Vec::new();
    rows.next(&mut cells);
    let mut sums = vec![0; cells.len()];
    let mut count = 0;
    loop {
        if cells.len() > MAX_COLUMNS {
            let problem = format!("a row has more than {MAX_COLUMNS} columns");
            return Err(Skip::Malformed { format: "a table", problem });
        }
        if !rows.next(&mut cells) {
            break;
        }
        count += 1;
        sums.resize(sums.len().max(cells.len()), 0);
        for (sum, cell) in sums.iter_mut().zip(&cells) {
            *sum += text[cell.range.clone()].chars().count();
        }
    }
    Ok(sums.into_iter().map(|sum| sum / count.max(1)).collect())
}

/// Returns the rows of a table, the first with the names of its columns, each with the texts of its cells.
pub fn rows(text: &str) -> impl Iterator<Item = Vec<String>> {
    let mut uncounted = LayerWriter::new("csv", 0);
    let (start, delimiter) = head(text, &mut uncounted);
    let mut rows = Rows::new(text, delimiter, start);
    let mut cells = Vec::new();
    std::iter::from_fn(move || rows.next(&mut cells).then(|| cells.iter().map(|cell| cell.text(text)).collect()))
}

struct Table<'t, 'w> {
    text: &'t str,
    delimiter: char,
    writer: &'w mut LayerWriter,
}

impl<'t> Table<'t, '_> {
    /// Returns the text of a cell with its places, and counts its marks.
    fn inline(&mut self, cell: &Cell) -> Inline {
        let mut inline = Inline::new();
        cell.parts(self.text, |range, is_text| {
            let part = &self.text[range.clone()];
            if is_text { inline.push(part, range) } else { self.writer.drop(DropReason::Markup, part) }
        });
        inline
    }

    /// Counts the delimiters of a row.
    fn delimiters(&mut self, row: &[Cell]) {
        let mut mark = [0; 4];
        let mark = self.delimiter.encode_utf8(&mut mark);
        row.iter().skip(1).for_each(|_| self.writer.drop(DropReason::Markup, mark));
    }

    fn row(&mut self, row: &[Cell]) -> Vec<Inline> {
        self.delimiters(row);
        row.iter().map(|cell| self.inline(cell)).collect()
    }

    /// Writes the rows as tables of so many rows.
    fn parts(&mut self, mut rows: Rows<'t>, head: &[Cell], columns: usize) {
        let most = (CELLS / columns.max(1)).clamp(1, ROWS);
        let mut part = vec![self.row(head)];
        let repeated: Vec<_> = part[0].iter().map(|cell| Inline::from(cell.as_str())).collect();
        let mut cells = Vec::new();
        let mut number = 1;
        let mut first = 2;
        while !self.writer.is_full() {
            let more = rows.next(&mut cells);
            if (!more && (part.len() > 1 || number == 1)) || part.len() > most {
                self.writer.place(Place::new(if first < number {
                    format!("rows {first}-{number}")
                } else {
                    format!("row {number}")
                }));
                self.writer.table(&part);
                part.clear();
                part.push(repeated.clone());
                first = number + 1;
            }
            if !more {
                break;
            }
            part.push(self.row(&cells));
            number += 1;
        }
    }

    /// Writes each row as a section.
    fn sections(&mut self, mut rows: Rows<'t>, head: &[Cell], means: &[usize]) {
        self.delimiters(head);
        let mut labels: Vec<_> =
            head.iter().map(|cell| Label { name: cell.text(self.text), cell: Some(cell.clone()) }).collect();
        let named = |title: &str| {
            let is = |label: &Label| label.name.trim().eq_ignore_ascii_case(title);
            labels.iter().position(is).filter(|column| means.get(*column).is_none_or(|mean| *mean <= LONG))
        };
        let title = TITLES.iter().find_map(|title| named(title));
        let mut cells = Vec::new();
        let mut number = 1;
        while !self.writer.is_full() && rows.next(&mut cells) {
            number += 1;
            self.delimiters(&cells);
            self.section(number, &cells, title, &mut labels);
        }
        for cell in labels.iter().filter_map(|label| label.cell.as_ref()) {
            self.writer.drop(DropReason::Markup, &self.text[cell.range.clone()]);
        }
    }

    fn section(&mut self, number: usize, row: &[Cell], title: Option<usize>, labels: &mut [Label]) {
        let is_title = |cell: &&Cell| cell.range.len() <= MAX_TITLE && !cell.text(self.text).trim().is_empty();
        let title = title.filter(|column| row.get(*column).as_ref().is_some_and(is_title));
        self.writer.place(Place::new(format!("row {number}")));
        let heading = match title.and_then(|column| row.get(column)) {
            Some(cell) => self.inline(cell),
            None => Inline::from(format!("Row {number}").as_str()),
        };
        self.writer.heading(2, &heading, None);
        for (column, cell) in row.iter().enumerate() {
            if Some(column) == title {
                continue;
            }
            let mut paragraph = Inline::new();
            if let Some(label) = labels.get_mut(column).filter(|_| !cell.text(self.text).trim().is_empty()) {
                self.label(label, &mut paragraph);
            }
            self.paragraphs(cell, paragraph);
        }
    }

    /// Writes the text of a cell behind the name of its column. Blank lines end a paragraph.
    fn paragraphs(&mut self, cell: &Cell, mut paragraph: Inline) {
        let mut blank = false;
        cell.parts(self.text, |range, is_text| {
            if !is_text {
                self.writer.drop(DropReason::Markup, &self.text[range]);
                return;
            }
            let mut at = range.start;
            for line in self.text[range].split_inclusive('\n') {
                let empty = line.trim_start().is_empty();
                if blank && empty && line.ends_with('\n') {
                    self.writer.paragraph(&std::mem::take(&mut paragraph));
                }
                paragraph.push(line, at..at + line.len());
                blank = line.ends_with('\n') || blank && empty;
                at += line.len();
            }
        });
        self.writer.paragraph(&paragraph);
    }

    /// Writes the name of a column before its cell. The first time, it is that of the file; then it is ours.
    fn label(&mut self, label: &mut Label, paragraph: &mut Inline) {
        if label.name.trim().is_empty() {
            return;
        }
        let strong = paragraph.start_mark("**");
        match label.cell.take() {
            Some(cell) => paragraph.append(&self.inline(&cell)),
            None => paragraph.write(&label.name),
        }
        paragraph.write(":");
        paragraph.end_mark("**", strong);
        paragraph.write(" ");
    }
}

/// The name of a column, and its cell until it was written.
struct Label {
    name: String,
    cell: Option<Cell>,
}
