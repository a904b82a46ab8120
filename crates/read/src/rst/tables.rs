//! Tables: drawn as a grid, by columns of `=`, as a list of lists, as comma-separated values.

use std::ops::Range;

use chunkmill_text::document::{Inline, visible_chars};

use super::directives::Directive;
use super::lines::{Flat, Line, trim};
use super::{Reader, marks};

/// How many characters of a grid are looked at for each that it has. A table that needs more is kept as it is drawn.
const MOST_LOOKS: usize = 200;

/// A table as it is drawn: of each line, the characters with their bytes, one for each column.
struct Grid {
    rows: Vec<Vec<(char, usize)>>,
    /// The lines in the source.
    places: Vec<Range<usize>>,
    /// How many more characters are looked at.
    looks: usize,
}

/// A cell: its edges.
#[derive(Clone, Copy)]
struct Cell {
    top: usize,
    left: usize,
    bottom: usize,
    right: usize,
}

impl Grid {
    fn new(source: &str, lines: &[Line]) -> Self {
        let mut looks = 1000;
        let rows = lines.iter().map(|line| {
            let row = line.drawn(source);
            looks += row.len() * MOST_LOOKS;
            row
        });
        let rows = rows.collect();
        Self { rows, places: lines.iter().map(Line::range).collect(), looks }
    }

    fn at(&mut self, row: usize, column: usize) -> Option<char> {
        self.looks = self.looks.checked_sub(1)?;
        self.rows.get(row)?.get(column).map(|(c, _)| *c)
    }

    /// Returns the bytes between two columns of a row.
    fn bytes(&self, row: usize, columns: Range<usize>) -> Option<Range<usize>> {
        let line = self.rows.get(row)?;
        let place = self.places.get(row)?;
        let byte = |column: usize| line.get(column).map_or(place.end, |(_, at)| *at);
        // Accents have no columns: one may be before the first.
        let start = if columns.start == 0 { place.start } else { byte(columns.start) };
        let end = byte(columns.end);
        Some(start..end.max(start))
    }

    /// Finds the cell whose top left corner is here, and the corners on its edges, as docutils does.
    fn cell(&mut self, top: usize, left: usize, rows: &mut Vec<usize>, columns: &mut Vec<usize>) -> Option<Cell> {
        let mut right = left;
        loop {
            right += 1;
            match self.at(top, right)? {
                '+' => {
                    columns.push(right);
                    if let Some(bottom) = self.down(top, left, right, rows, columns) {
                        return Some(Cell { top, left, bottom, right });
                    }
                }
                '-' | '=' => {}
                _ => return None,
            }
        }
    }

    fn down(
        &mut self,
        top: usize,
        left: usize,
        right: usize,
        rows: &mut Vec<usize>,
        columns: &mut Vec<usize>,
    ) -> Option<usize> {
        let mut bottom = top;
        loop {
            bottom += 1;
            match self.at(bottom, right)? {
                '+' => {
                    rows.push(bottom);
                    if self.is_closed(top, left, bottom, right, rows, columns) {
                        return Some(bottom);
                    }
                }
                '|' => {}
                _ => return None,
            }
        }
    }

    fn is_closed(
        &mut self,
        top: usize,
        left: usize,
        bottom: usize,
        right: usize,
        rows: &mut Vec<usize>,
        columns: &mut Vec<usize>,
    ) -> bool {
        let (mut across, mut up) = (Vec::new(), Vec::new());
        for column in (left + 1..right).rev() {
            match self.at(bottom, column) {
                Some('+') => across.push(column),
                Some('-' | '=') => {}
                _ => return false,
            }
        }
        if self.at(bottom, left) != Some('+') {
            return false;
        }
        for row in (top + 1..bottom).rev() {
            match self.at(row, left) {
                Some('+') => up.push(row),
                Some('|') => {}
                _ => return false,
            }
        }
        columns.append(&mut across);
        rows.append(&mut up);
        true
    }

    /// Finds all cells, the rows and the columns where they begin; `None` if the cells do not fill the table.
    fn cells(&mut self) -> Option<(Vec<Cell>, Vec<usize>, Vec<usize>)> {
        let right = self.rows.first()?.len().checked_sub(1)?;
        let bottom = self.rows.len().checked_sub(1)?;
        let (mut rows, mut columns, mut cells) = (vec![0], vec![0], Vec::new());
        // The row down to which each column is found.
        let mut done = vec![0; right];
        let mut corners = std::collections::BTreeSet::from([(0, 0)]);
        while let Some((top, left)) = corners.pop_first() {
            if top == bottom || left >= right || done.get(left).is_none_or(|done| top < *done) {
                continue;
            }
            let cell = self.cell(top, left, &mut rows, &mut columns)?;
            for column in done.get_mut(left..cell.right)? {
                if *column != top {
                    return None;
                }
                *column = cell.bottom;
            }
            corners.extend([(top, cell.right), (cell.bottom, left)]);
            cells.push(cell);
        }
        if done.iter().any(|done| *done != bottom) {
            return None;
        }
        rows.sort_unstable();
        rows.dedup();
        columns.sort_unstable();
        columns.dedup();
        Some((cells, rows, columns))
    }
}

impl Reader<'_> {
    /// Reads a table that begins at a line, and returns the line behind it.
    pub(super) fn table(&mut self, lines: &[Line], at: usize) -> Option<usize> {
        let text = lines[at].raw(self.text);
        if text.starts_with("+-") && text.ends_with("-+") && text.bytes().all(|byte| matches!(byte, b'+' | b'-')) {
            return Some(self.grid_table(lines, at));
        }
        border(text, '=').filter(|columns| columns.len() > 1).and_then(|columns| self.simple_table(lines, at, &columns))
    }

    fn grid_table(&mut self, lines: &[Line], at: usize) -> usize {
        let is_row = |line: &&Line| line.raw(self.text).starts_with(['+', '|']);
        let len = lines[at..].iter().take_while(is_row).count();
        let table = &lines[at..at + len];
        // Text directly below belongs to the block, but not to the table.
        let last = table.iter().rposition(|line| line.raw(self.text).starts_with("+-")).unwrap_or(0);
        let (table, end) = if last > 0 { (&table[..=last], at + last + 1) } else { (table, at + len) };
        let mut grid = Grid::new(self.text, table);
        let Some((cells, rows, columns)) = grid.cells() else {
            self.code("", table);
            return end;
        };
        let mut texts: Vec<Vec<Inline>> = vec![Vec::new(); rows.len().saturating_sub(1)];
        let mut kept: u64 = 0;
        for cell in &cells {
            let row = rows.binary_search(&cell.top).unwrap_or(0);
            let column = columns.binary_search(&cell.left).unwrap_or(0);
            let mut lines = Vec::new();
            for line in cell.top + 1..cell.bottom {
                let Some(bytes) = grid.bytes(line, cell.left + 1..cell.right) else { continue };
                let text = self.text.get(bytes.clone()).unwrap_or_default();
                kept += visible_chars(text);
                lines.push(bytes.start..bytes.start + text.trim_end().len());
            }
            let text = self.cell(&lines);
            if let Some(row) = texts.get_mut(row) {
                put(row, column, text);
            }
        }
        // All other characters draw the table.
        let all: u64 = table.iter().map(|line| visible_chars(line.raw(self.text))).sum();
        self.drawn(all.saturating_sub(kept));
        self.before_block();
        self.writer.table(&texts);
        end
    }

    /// Counts characters that draw a table.
    fn drawn(&mut self, mut chars: u64) {
        const LINE: &str = "----------------------------------------------------------------";
        while chars > 0 {
            let part = chars.min(LINE.len() as u64);
            self.markup(&LINE[..usize::try_from(part).unwrap_or(1)]);
            chars -= part;
        }
    }

    /// Reads the text of a cell. An image is read; other blocks are text.
    fn cell(&mut self, lines: &[Range<usize>]) -> Inline {
        let mut flat = Flat::default();
        for range in lines {
            let text = self.text.get(range.clone()).unwrap_or_default();
            let start = range.start + text.len() - text.trim_start().len();
            if start < range.end {
                flat.add(self.text, start..range.end);
            }
        }
        self.flat(&flat)
    }

    fn cell_of_lines(&mut self, lines: &[Line]) -> Inline {
        let ranges: Vec<Range<usize>> = lines.iter().map(Line::range).collect();
        self.cell(&ranges)
    }

    fn simple_table(&mut self, lines: &[Line], at: usize, columns: &[Range<usize>]) -> Option<usize> {
        let len = lines[at].raw(self.text).len();
        let mut borders = Vec::new();
        for (index, line) in lines.iter().enumerate().skip(at + 1) {
            if border(line.raw(self.text), '=').is_none() {
                continue;
            }
            if line.raw(self.text).len() != len {
                return None;
            }
            borders.push(index);
            if borders.len() == 2 || lines.get(index + 1).is_none_or(Line::is_blank) {
                break;
            }
        }
        let end = *borders.last()?;
        let mut rows: Vec<Vec<Inline>> = Vec::new();
        let mut block: Vec<Line> = Vec::new();
        for line in &lines[at..=end] {
            let text = line.raw(self.text);
            let head = border(text, '=');
            if let Some(spans) = head.or_else(|| border(text, '-')) {
                self.markup(text);
                self.simple_rows(&std::mem::take(&mut block), &spans, columns, &mut rows);
            } else {
                block.push(*line);
            }
        }
        self.before_block();
        self.writer.table(&rows);
        Some(end + 1)
    }

    /// Reads the rows above a line that shows how wide their cells are.
    fn simple_rows(
        &mut self,
        lines: &[Line],
        spans: &[Range<usize>],
        columns: &[Range<usize>],
        rows: &mut Vec<Vec<Inline>>,
    ) {
        let grid = Grid::new(self.text, lines);
        let starts: Vec<usize> = spans.iter().map(|span| span.start).collect();
        let cut = |row: usize, span: usize| {
            let start = if span == 0 { 0 } else { starts.get(span).copied().unwrap_or(usize::MAX) };
            let end = starts.get(span + 1).copied().unwrap_or(usize::MAX);
            grid.bytes(row, start..end).unwrap_or(0..0)
        };
        let is_blank = |range: Range<usize>| self.text.get(range).is_none_or(|text| text.trim().is_empty());
        let mut groups: Vec<Range<usize>> = Vec::new();
        for (row, line) in lines.iter().enumerate() {
            match groups.last_mut() {
                Some(last) if is_blank(cut(row, 0)) => last.end = row + 1,
                _ if line.is_blank() => {}
                _ => groups.push(row..row + 1),
            }
        }
        for group in groups {
            let mut cells = Vec::new();
            let longest = group.clone().filter_map(|row| grid.rows.get(row)).map(Vec::len).max().unwrap_or(0);
            for (span, place) in spans.iter().enumerate() {
                if place.start >= longest && span > 0 {
                    break;
                }
                let parts: Vec<Range<usize>> = group
                    .clone()
                    .map(|row| {
                        let range = cut(row, span);
                        let text = self.text.get(range.clone()).unwrap_or_default();
                        range.start..range.start + text.trim_end().len()
                    })
                    .collect();
                let text = self.cell(&parts);
                let column = columns.partition_point(|column| column.start < place.start);
                put(&mut cells, column, text);
            }
            rows.push(cells);
        }
    }

    /// Reads a table that is a list of lists.
    pub(super) fn list_table(&mut self, directive: &Directive) {
        self.leave_options(directive, &[]);
        self.bold_paragraph(&directive.arguments());
        let lines = &directive.content;
        let Some((mark, _)) = lines.first().and_then(|line| marks::bullet(line.raw(self.text))) else {
            return self.blocks(lines);
        };
        let mut rows = Vec::new();
        let items = self.bullets(lines, 0, mark);
        let is_whole = items.last().is_some_and(|item| item.end == lines.len())
            && items.iter().all(|item| self.is_row(trim(&item.lines)));
        if !is_whole {
            return self.blocks(lines);
        }
        for item in items {
            self.markup(&self.text[item.place.clone()]);
            let inside = trim(&item.lines);
            let Some((mark, _)) = inside.first().and_then(|line| marks::bullet(line.raw(self.text))) else { continue };
            let mut row = Vec::new();
            for cell in self.bullets(inside, 0, mark) {
                self.markup(&self.text[cell.place.clone()]);
                let text = self.cell_of_lines(&cell.lines);
                row.push(text);
            }
            rows.push(row);
        }
        self.before_block();
        self.writer.table(&rows);
    }

    /// Returns whether lines are only a list with bullets.
    fn is_row(&self, lines: &[Line]) -> bool {
        let Some(first) = lines.first() else { return true };
        let Some((mark, _)) = marks::bullet(first.raw(self.text)) else { return false };
        self.bullets(lines, 0, mark).last().is_some_and(|item| item.end == lines.len())
    }

    /// Reads a table of comma-separated values.
    pub(super) fn csv_table(&mut self, directive: &Directive) {
        if directive.content.is_empty() && (directive.option("file").is_some() || directive.option("url").is_some()) {
            self.leave_options(directive, &["file", "url", "header"]);
            self.bold_paragraph(&directive.arguments());
            for name in ["file", "url", "header"] {
                if let Some(option) = directive.option(name) {
                    self.code("", &option.lines);
                }
            }
            return;
        }
        self.leave_options(directive, &["header"]);
        self.bold_paragraph(&directive.arguments());
        let delimiter = directive.option("delim").and_then(|option| option.lines.first());
        let delimiter = match delimiter.map(|line| line.raw(self.text)) {
            Some("tab") => '\t',
            Some("space") => ' ',
            Some(text) => text.chars().next().filter(|_| text.chars().count() == 1).unwrap_or(','),
            None => ',',
        };
        let mut rows =
            directive.option("header").map(|header| self.values(&header.lines, delimiter)).unwrap_or_default();
        rows.extend(self.values(&directive.content, delimiter));
        self.before_block();
        self.writer.table(&rows);
    }

    /// Reads lines of values.
    fn values(&mut self, lines: &[Line], delimiter: char) -> Vec<Vec<Inline>> {
        let mut rows = Vec::new();
        let mut row = Vec::new();
        // The parts of the cell so far, and whether a quotation is open.
        let (mut parts, mut quoted): (Vec<Range<usize>>, bool) = (Vec::new(), false);
        for line in lines.iter().filter(|line| !line.is_blank()) {
            let line = line.bare(self.text);
            let text = line.raw(self.text);
            let mut start = 0;
            let mut chars = text.char_indices().peekable();
            let mut is_start = !quoted;
            while let Some((at, c)) = chars.next() {
                if c == '"' && (is_start || quoted) {
                    if quoted && chars.peek().is_some_and(|(_, next)| *next == '"') {
                        // Two stand for one.
                        chars.next();
                        parts.push(line.start + start..line.start + at + 1);
                        start = at + 2;
                        self.markup("\"");
                        continue;
                    }
                    parts.push(line.start + start..line.start + at);
                    self.markup("\"");
                    start = at + 1;
                    quoted = !quoted;
                    is_start = false;
                } else if c == delimiter && !quoted {
                    parts.push(line.start + start..line.start + at);
                    self.markup(&text[at..at + c.len_utf8()]);
                    row.push(self.value(&std::mem::take(&mut parts)));
                    start = at + c.len_utf8();
                    is_start = true;
                } else if !c.is_whitespace() {
                    is_start = false;
                }
            }
            parts.push(line.start + start..line.end);
            if !quoted {
                row.push(self.value(&std::mem::take(&mut parts)));
                rows.push(std::mem::take(&mut row));
            }
        }
        if !parts.is_empty() {
            row.push(self.value(&parts));
            rows.push(row);
        }
        rows
    }

    fn value(&mut self, parts: &[Range<usize>]) -> Inline {
        let mut value = Inline::new();
        let mut lines: Vec<Range<usize>> = Vec::new();
        for part in parts {
            if self.text.get(part.clone()).is_none_or(|text| text.trim().is_empty()) {
                continue;
            }
            // A quotation mark that stands for one ends a part in the middle of a line.
            let is_same =
                |last: &Range<usize>| self.text.get(last.end..part.start).is_some_and(|gap| !gap.contains('\n'));
            if lines.last().is_some_and(is_same) {
                value.append(&self.cell(&std::mem::take(&mut lines)));
            }
            lines.push(part.clone());
        }
        value.append(&self.cell(&lines));
        value
    }
}

/// Puts a cell in a column of a row.
fn put(row: &mut Vec<Inline>, column: usize, text: Inline) {
    if text.is_blank() && text.as_str().is_empty() {
        return;
    }
    while row.len() < column {
        row.push(Inline::new());
    }
    match row.get_mut(column) {
        Some(cell) => {
            cell.write(" ");
            cell.append(&text);
        }
        None => row.push(text),
    }
}

/// Returns the columns of a line of `=` or `-` with gaps.
fn border(text: &str, mark: char) -> Option<Vec<Range<usize>>> {
    if !text.starts_with(mark) || !text.chars().all(|c| c == mark || c == ' ') {
        return None;
    }
    let mut columns: Vec<Range<usize>> = Vec::new();
    for (at, c) in text.char_indices() {
        if c != mark {
            continue;
        }
        match columns.last_mut() {
            Some(last) if last.end == at => last.end = at + 1,
            _ => columns.push(at..at + 1),
        }
    }
    Some(columns)
}
