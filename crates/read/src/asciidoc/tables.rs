//! Tables: cells between bars, or values separated by commas, colons or tabs.

use std::ops::Range;

use chunkmill_text::document::{DropReason, Inline};

use super::Reader;
use super::lines::{Line, Text};

/// Most columns of a table, and most times that a cell is repeated.
const MAX_COLUMNS: usize = 200;

/// A cell of a table.
#[derive(Debug, Clone, Default)]
struct Cell {
    lines: Vec<Line>,
    columns: usize,
    rows: usize,
    /// How often it is repeated.
    times: usize,
    style: Option<char>,
    /// The line of the table that it begins on.
    line: usize,
}

impl Reader<'_> {
    /// Reads the lines of a table.
    pub(super) fn table(&mut self, mark: &str, inside: &[Line]) {
        let source = self.text;
        let format = match (self.pending.value(source, "format"), mark.chars().next()) {
            (Some(format), _) => format.to_owned(),
            (None, Some(',')) => "csv".to_owned(),
            (None, Some(':')) => "dsv".to_owned(),
            _ => "psv".to_owned(),
        };
        let separator = self.pending.value(source, "separator").map(str::to_owned);
        let columns = self.pending.value(source, "cols").map(column_count);
        // Without a head, the first row is written as one: there is no other way to write a table.
        self.before_block();
        let given =
            separator.as_deref().map(|given| if given == "\\t" { '\t' } else { given.chars().next().unwrap_or('|') });
        let rows = match format.as_str() {
            "csv" | "tsv" => {
                let separator = given.unwrap_or(if format == "tsv" { '\t' } else { ',' });
                self.values(inside, separator, true)
            }
            "dsv" => self.values(inside, given.unwrap_or(':'), false),
            _ => {
                let cells = self.cells(inside, given.unwrap_or(if mark.starts_with('!') { '!' } else { '|' }));
                let in_first = cells.first().map_or(0, |first| {
                    cells
                        .iter()
                        .filter(|cell| cell.line == first.line)
                        .map(|cell| cell.columns.max(1) * cell.times)
                        .sum()
                });
                self.rows(&cells, columns.unwrap_or(in_first).clamp(1, MAX_COLUMNS))
            }
        };
        self.writer.table(&rows);
    }

    /// Divides lines into cells.
    fn cells(&mut self, inside: &[Line], separator: char) -> Vec<Cell> {
        let mut cells: Vec<Cell> = Vec::new();
        for (index, line) in inside.iter().enumerate() {
            let text = line.of(self.text);
            if super::marks::is_comment(text) {
                self.writer.drop(DropReason::Comment, text);
                continue;
            }
            let mut start = 0;
            for (at, _) in text.match_indices(separator) {
                if at < start {
                    continue;
                }
                if text[..at].ends_with('\\') {
                    // It is a character of the text, and its escape is not.
                    self.push_part(&mut cells, *line, start..at - 1);
                    self.markup("\\");
                    start = at;
                    continue;
                }
                let spec = spec(&text[start..at]);
                self.push_part(&mut cells, *line, start..at - spec.len());
                self.markup(spec);
                self.markup(&text[at..at + separator.len_utf8()]);
                cells.push(Cell { line: index, ..cell(spec) });
                start = at + separator.len_utf8();
            }
            self.push_part(&mut cells, *line, start..text.len());
        }
        cells
    }

    /// Adds a part of a line to the last cell. Text before the first cell is a cell too.
    fn push_part(&self, cells: &mut Vec<Cell>, line: Line, part: Range<usize>) {
        let part = Line { start: line.start + part.start, end: line.start + part.end }.bare(self.text);
        if part.is_blank() {
            return;
        }
        if cells.is_empty() {
            cells.push(cell(""));
        }
        if let Some(last) = cells.last_mut() {
            last.lines.push(part);
        }
    }

    /// Puts cells in rows.
    fn rows(&mut self, cells: &[Cell], columns: usize) -> Vec<Vec<Inline>> {
        let mut rows: Vec<Vec<Inline>> = Vec::new();
        let mut row: Vec<Inline> = Vec::new();
        // How many more rows the cell of each column takes.
        let mut below = vec![0_usize; columns];
        for cell in cells {
            for time in 0..cell.times {
                while row.len() < columns && below[row.len()] > 0 {
                    below[row.len()] -= 1;
                    row.push(Inline::new());
                }
                if row.len() >= columns {
                    rows.push(std::mem::take(&mut row));
                    while row.len() < columns && below[row.len()] > 0 {
                        below[row.len()] -= 1;
                        row.push(Inline::new());
                    }
                }
                let text = if time == 0 || self.take_room(cell) { self.cell_text(cell) } else { Inline::new() };
                for column in 0..cell.columns {
                    if let Some(below) = below.get_mut(row.len()) {
                        *below = cell.rows.saturating_sub(1);
                    }
                    row.push(if column == 0 { text.clone() } else { Inline::new() });
                }
            }
        }
        if !row.is_empty() {
            rows.push(row);
        }
        rows
    }

    fn take_room(&mut self, cell: &Cell) -> bool {
        let len: usize = cell.lines.iter().map(|line| line.range().len()).sum();
        let fits = len <= self.room;
        self.room -= if fits { len } else { 0 };
        fits
    }

    fn cell_text(&mut self, cell: &Cell) -> Inline {
        let text = Text::of(self.text, &cell.lines);
        let all = 0..text.joined.len();
        let mut out = Inline::new();
        match cell.style {
            Some('l' | 'm') if !all.is_empty() => {
                let mut code = Inline::new();
                if cell.style == Some('l') {
                    text.push(&mut code, all);
                } else {
                    self.in_code += 1;
                    self.write_inline(&text, all, &mut code, 0);
                    self.in_code -= 1;
                }
                out.code(&code);
            }
            Some('h' | 's' | 'e') => {
                let mark = if cell.style == Some('e') { "*" } else { "**" };
                let start = out.start_mark(mark);
                self.write_inline(&text, all, &mut out, 0);
                out.end_mark(mark, start);
            }
            _ => self.write_inline(&text, all, &mut out, 0),
        }
        out
    }

    /// Reads rows of values.
    fn values(&mut self, inside: &[Line], separator: char, quotes: bool) -> Vec<Vec<Inline>> {
        let mut rows = Vec::new();
        let mut row: Vec<Inline> = Vec::new();
        let mut open: Option<Vec<Line>> = None;
        for line in inside {
            let mut at = line.start;
            while at <= line.end {
                let rest = &self.text[at..line.end];
                if let Some(mut value) = open.take() {
                    // A value between quotes goes on until the next that is not doubled.
                    let end = rest.find('"').map_or(line.end, |quote| at + quote);
                    value.push(Line { start: at, end });
                    at = end;
                    if end == line.end {
                        open = Some(value);
                        break;
                    }
                    self.markup("\"");
                    at += 1;
                    if self.text[at..line.end].starts_with('"') {
                        value.push(Line { start: at, end: at + 1 });
                        at += 1;
                        open = Some(value);
                        continue;
                    }
                    row.push(self.value_text(&value));
                    let stop = self.text[at..line.end].find(separator).map_or(line.end, |found| at + found);
                    self.stray(&mut row, Line { start: at, end: stop });
                    at = stop;
                } else {
                    let bare = rest.trim_start();
                    if quotes && bare.starts_with('"') {
                        self.markup("\"");
                        at += rest.len() - bare.len() + 1;
                        open = Some(Vec::new());
                        continue;
                    }
                    let stop = rest.find(separator).map_or(line.end, |found| at + found);
                    row.push(self.value_text(&[Line { start: at, end: stop }]));
                    at = stop;
                }
                if at == line.end {
                    break;
                }
                self.markup(&self.text[at..at + separator.len_utf8()]);
                at += separator.len_utf8();
            }
            if open.is_none() && !row.is_empty() {
                rows.push(std::mem::take(&mut row));
            }
        }
        if let Some(value) = open {
            row.push(self.value_text(&value));
        }
        if !row.is_empty() {
            rows.push(row);
        }
        rows
    }

    /// Appends what stands behind the quotes of a value.
    fn stray(&mut self, row: &mut [Inline], line: Line) {
        let text = self.value_text(&[line]);
        if let Some(last) = row.last_mut() {
            last.append(&text);
        }
    }

    fn value_text(&mut self, lines: &[Line]) -> Inline {
        let mut out = Inline::new();
        for line in lines {
            if line.start > 0 && self.text[..line.start].ends_with('\n') && !out.is_blank() {
                out.write(" ");
            }
            // The spaces around a doubled quote are text.
            let text = Text::verbatim(self.text, &[*line]);
            self.write_inline(&text, 0..text.joined.len(), &mut out, 0);
        }
        out
    }
}

/// Returns the number of columns that `cols` declares: `1,2a`, `3*`.
fn column_count(cols: &str) -> usize {
    let one = |part: &str| match part.trim().split_once('*') {
        Some((times, _)) => times.trim().parse().unwrap_or(1_usize),
        None => 1,
    };
    cols.split([',', ';']).map(one).fold(0, usize::saturating_add)
}

/// Returns the end of a text that says how the next cell is: `2+`, `.2+^.>s`.
fn spec(text: &str) -> &str {
    let is_part =
        |c: char| c.is_ascii_digit() || matches!(c, '.' | '+' | '*' | '<' | '^' | '>') || c.is_ascii_lowercase();
    let kept = text.trim_end_matches(is_part);
    let spec = &text[kept.len()..];
    let ends = kept.is_empty() || kept.ends_with([' ', '\t']);
    let letters = spec.bytes().filter(u8::is_ascii_lowercase).count();
    let styled = spec.trim_end_matches(|c| "adehlmsv".contains(c));
    let span = styled.trim_end_matches(['<', '^', '>', '.']);
    let is_span = span.is_empty()
        || span.ends_with(['+', '*'])
            && span[..span.len() - 1].bytes().all(|byte| byte.is_ascii_digit() || byte == b'.');
    let fits = ends && letters <= 1 && spec.len() - styled.len() == letters && is_span;
    if fits { spec } else { "" }
}

/// Returns an empty cell of this kind.
fn cell(spec: &str) -> Cell {
    let style = spec.chars().next_back().filter(char::is_ascii_lowercase);
    let number = |text: &str| text.parse().unwrap_or(1_usize).clamp(1, MAX_COLUMNS);
    let mut cell = Cell { columns: 1, rows: 1, times: 1, style, ..Cell::default() };
    if let Some(end) = spec.find(['+', '*']) {
        let (columns, rows) = spec[..end].split_once('.').unwrap_or((&spec[..end], ""));
        if spec[end..].starts_with('*') {
            cell.times = number(columns);
        } else {
            (cell.columns, cell.rows) = (number(columns), number(rows));
        }
    }
    cell
}
