//! Tables: in frames, and by cells that stand one below the other.
//!
//! What the lines of a page are in a table is not said: a row may have several, because its cells were wrapped. The lines of
//! a row follow each other as closely as lines do, rows mostly not; and a line was wrapped only if the first word of the next
//! had no room in it.

use std::collections::{BTreeMap, BTreeSet};

use super::frame::{Frame, MAX_COLUMNS};
use super::line::{Line, Piece, median};
use super::mark::mark;
use super::word::Word;

/// Columns at the same place, in points.
const SAME: f32 = 4.0;

/// A table.
#[derive(Debug)]
pub(super) struct Table {
    pub(super) rows: Vec<Vec<Cell>>,
    /// Where its columns are.
    columns: Vec<(f32, f32)>,
    /// Whether it is in a frame.
    ruled: bool,
}

/// The lines of a cell.
#[derive(Debug, Default)]
pub(super) struct Cell(pub(super) Vec<Vec<Word>>);

impl Cell {
    fn text(&self) -> String {
        self.0.iter().flatten().map(|word| &*word.text).collect()
    }
}

// Blocks are compared by their kind; tables are never the same.
impl PartialEq for Table {
    fn eq(&self, _: &Self) -> bool {
        false
    }
}

impl Eq for Table {}

impl Table {
    /// Returns the table in a frame that lines begin with, and how many lines it has.
    /// `first` is whether they are the first of a region.
    pub(super) fn ruled(lines: &[Line], frames: &[Frame], first: bool) -> Option<(Self, usize)> {
        let middle = |line: &Line| line.y - 0.26 * line.size;
        let inside = |line: &Line, frame: &Frame| {
            frame.spans(line.x, line.end) && (frame.top()..frame.bottom()).contains(&middle(line))
        };
        let frame = frames.iter().find(|frame| inside(&lines[0], frame))?;
        let mut len = lines.iter().take_while(|line| inside(line, frame)).count();
        if frame.is_header() {
            // Then the last line is on the next page.
            let crosses = |line: &Line| line.words().any(|word| frame.is_crossed_by(word));
            let goes_on = |at: &usize| {
                let (before, line) = (&lines[at - 1], &lines[*at]);
                frame.spans(line.x, line.end) && !crosses(line) && line.y - before.y < 3.5 * line.size
            };
            if (len..lines.len()).all(|at| goes_on(&at)) {
                len = lines.len();
            }
        }
        let band = |line: &Line| frame.rows.partition_point(|row| *row < middle(line));
        let lines = &lines[..len];
        let parts: Vec<Vec<Part>> =
            lines.iter().map(|line| Part::of(line.words().map(|word| (word, frame.column(word))))).collect();
        let bands: Vec<usize> = lines.iter().map(band).collect();
        let columns = ends(frame);
        let rows = rows(lines, parts, &bands, columns.len(), frame.drawn);
        // A single row may be the last one of a table on the page before.
        let least = if frame.drawn && first { 1 } else { 2 };
        let filled = |column: usize| rows.iter().filter(|row| !row[column].0.is_empty()).count();
        let used = (0..columns.len()).filter(|column| filled(*column) >= least).count();
        (rows.len() >= least && used > 1).then_some((Self { rows, columns, ruled: true }, len))
    }

    /// Returns the table of aligned cells that lines begin with, and how many lines it has.
    pub(super) fn aligned(lines: &[Line]) -> Option<(Self, usize)> {
        if lines[0].pieces.len() < 2 {
            return None;
        }
        let mut len = 1;
        while len < lines.len() {
            let (line, before) = (&lines[len], &lines[len - 1]);
            let down = line.y - before.y;
            let near = if line.pieces.len() > 1 { 3.2 } else { 1.6 };
            if down > near * line.size.max(before.size) || line.look.mono != lines[0].look.mono {
                break;
            }
            len += 1;
        }
        let run = &lines[..len];
        let counts = run.iter().map(|line| line.pieces.len()).filter(|count| *count > 1);
        let mut seen = BTreeMap::<usize, usize>::new();
        counts.for_each(|count| *seen.entry(count).or_default() += 1);
        let (usual, _) = seen.iter().max_by(|a, b| a.1.cmp(b.1).then(a.0.cmp(b.0)))?;
        let columns = columns(run.iter().filter(|line| line.pieces.len() == *usual).flat_map(|line| &line.pieces));
        if columns.len() < 2 || columns.len() > MAX_COLUMNS {
            return None;
        }
        // A line in one piece over several columns is text again.
        let spans =
            |piece: &Piece| columns.iter().filter(|column| piece.x() < column.1 && piece.end() > column.0).count();
        let text =
            run.iter().position(|line| line.pieces.len() == 1 && line.pieces.iter().any(|piece| spans(piece) > 1));
        let run = &run[..text.unwrap_or(run.len())];
        let parts = run.iter().map(|line| {
            let pieces = line.pieces.iter().map(|piece| (of(piece, &columns), piece));
            Part::of(pieces.flat_map(|(column, piece)| piece.words.iter().map(move |word| (word, column))))
        });
        let mut parts: Vec<Vec<Part>> = parts.collect();
        let goes_on = wrapped(run, &parts, &vec![0; run.len()], &widest(&parts, columns.len()), false);
        // A line in the first column alone is text below the table, or the rest of a cell.
        let is_text = |at: &usize| parts[*at].len() == 1 && parts[*at][0].column == 0 && !goes_on[*at];
        len = run.len() - (0..run.len()).rev().take_while(is_text).count();
        parts.truncate(len);
        let run = &run[..len];
        let full: Vec<&Line> = run.iter().filter(|line| line.pieces.len() > 1).collect();
        let first = |line: &&&Line| {
            line.pieces[0].words.len() == 1
                && line.pieces[0].words.first().is_some_and(|word| mark(&word.text).is_some())
        };
        if full.len() < 2 || full.iter().filter(first).count() * 2 > full.len() {
            return None;
        }
        let used = |column: usize| {
            full.iter().filter(|line| line.pieces.iter().any(|piece| of(piece, &columns) == column)).count()
        };
        if (0..columns.len()).filter(|column| used(*column) >= 2).count() < 2 {
            return None;
        }
        if full.len() == 2 && columns.len() == 2 && run.iter().any(|line| line.words().count() > 12) {
            return None;
        }
        let rows = rows(run, parts, &vec![0; len], columns.len(), false);
        Some((Self { rows, columns, ruled: false }, len))
    }

    /// Returns whether a table at the top of the next page is the rest of this one: in a frame with the same columns, or with
    /// the same header.
    pub(super) fn is_continued_by(&self, next: &Self) -> bool {
        let by =
            next.columns.first().map_or(0.0, |column| column.0) - self.columns.first().map_or(0.0, |column| column.0);
        let same = |(a, b): (&(f32, f32), &(f32, f32))| (a.0 + by - b.0).abs() < SAME && (a.1 + by - b.1).abs() < SAME;
        self.columns.len() == next.columns.len()
            && (self.is_header_of(next) || self.ruled && next.ruled && self.columns.iter().zip(&next.columns).all(same))
    }

    fn is_header_of(&self, next: &Self) -> bool {
        let [header, first] = [&self.rows, &next.rows].map(|rows| rows.first().map(|row| row.iter().map(Cell::text)));
        header.zip(first).is_some_and(|(header, first)| header.eq(first))
    }

    /// Appends rows of the next page, and returns the text of the header if they repeat it.
    pub(super) fn append(&mut self, next: Self) -> String {
        let skipped = usize::from(self.is_header_of(&next));
        let mut rows = next.rows.into_iter();
        let header = rows.by_ref().take(skipped).flatten().map(|cell| cell.text()).collect();
        let mut rows = rows.peekable();
        // A row over both pages has some of its cells here, the others there.
        if let Some((last, first)) = self.rows.last_mut().zip(rows.peek())
            && last.iter().zip(first).all(|(last, first)| last.0.is_empty() != first.0.is_empty())
            && let Some(first) = rows.next()
        {
            for (last, first) in last.iter_mut().zip(first) {
                last.0.extend(first.0);
            }
        }
        self.rows.extend(rows);
        header
    }
}

/// Returns where the columns of a frame are.
fn ends(frame: &Frame) -> Vec<(f32, f32)> {
    let mut left = frame.left;
    let rights = frame.borders.iter().copied().chain([frame.right]);
    rights.map(|right| (std::mem::replace(&mut left, right), right)).collect()
}

/// Returns where the columns are whose cells are these pieces.
fn columns<'p>(pieces: impl Iterator<Item = &'p Piece>) -> Vec<(f32, f32)> {
    let mut all: Vec<(f32, f32)> = pieces.map(|piece| (piece.x(), piece.end())).collect();
    all.sort_by(|a, b| a.0.total_cmp(&b.0).then(a.1.total_cmp(&b.1)));
    let mut columns: Vec<(f32, f32)> = Vec::new();
    for (x, end) in all {
        match columns.last_mut() {
            Some(column) if x < column.1 => column.1 = column.1.max(end),
            _ => columns.push((x, end)),
        }
    }
    columns
}

/// Returns the column that has most of a piece, or the nearest one.
fn of(piece: &Piece, columns: &[(f32, f32)]) -> usize {
    let (x, end) = (piece.x(), piece.end());
    let shared = |column: &(f32, f32)| column.1.min(end) - column.0.max(x);
    let best = columns.iter().enumerate().max_by(|a, b| shared(a.1).total_cmp(&shared(b.1)).then(b.0.cmp(&a.0)));
    best.map_or(0, |(at, _)| at)
}

/// The words of a line in a column.
struct Part {
    column: usize,
    words: Vec<Word>,
}

impl Part {
    fn of<'w>(words: impl Iterator<Item = (&'w Word, usize)>) -> Vec<Self> {
        let mut parts: Vec<Self> = Vec::new();
        for (word, column) in words {
            match parts.iter_mut().find(|part| part.column == column) {
                Some(part) => part.words.push(word.clone()),
                None => parts.push(Self { column, words: vec![word.clone()] }),
            }
        }
        parts
    }
}

fn width(words: &[Word]) -> f32 {
    let x = words.iter().map(|word| word.x).fold(f32::INFINITY, f32::min);
    words.iter().map(|word| word.end).fold(f32::NEG_INFINITY, f32::max) - x
}

/// Returns whether a line of a cell may go on with the next: they are no numbers, and would not be one line if the column was
/// as wide as its widest line.
fn is_wrapped(line: &[Word], next: &[Word], widest: f32) -> bool {
    let is_number = |words: &[Word]| {
        words.len() == 1 && words[0].text.chars().all(|c| c.is_ascii_digit() || "()[].,%+-−–".contains(c))
    };
    let Some(word) = next.first() else { return true };
    let needed = width(line) + 0.2 * word.size + word.end - word.x;
    !(is_number(line) && is_number(next)) && needed >= 0.97 * widest
}

/// Returns the width of the widest line of each column.
fn widest(parts: &[Vec<Part>], columns: usize) -> Vec<f32> {
    let mut widest = vec![0.0_f32; columns];
    for part in parts.iter().flatten() {
        widest[part.column] = widest[part.column].max(width(&part.words));
    }
    widest
}

/// Returns the rows of lines. `bands` are those between the lines of a frame, which may be drawn around columns, too.
fn rows(lines: &[Line], parts: Vec<Vec<Part>>, bands: &[usize], columns: usize, drawn: bool) -> Vec<Vec<Cell>> {
    let widest = widest(&parts, columns);
    let goes_on = wrapped(lines, &parts, bands, &widest, drawn);
    let mut rows: Vec<Vec<Cell>> = Vec::new();
    let mut before: Option<(&Line, usize)> = None;
    for (((line, parts), band), goes_on) in lines.iter().zip(parts).zip(bands).zip(goes_on) {
        // Mostly the first column has a text in each row.
        let first = parts.iter().any(|part| part.column == 0);
        let near = before.is_some_and(|(before, at)| at == *band && line.y - before.y < 1.5 * line.size);
        before = Some((line, *band));
        let below = |part: &Part| match rows.last().and_then(|row| row[part.column].0.last()) {
            Some(line) => is_wrapped(line, &part.words, if parts.len() > 1 { widest[part.column] } else { 0.0 }),
            None => true,
        };
        if rows.is_empty() || !(goes_on || !first && near && parts.iter().all(below)) {
            rows.push((0..columns).map(|_| Cell::default()).collect());
        }
        let Some(row) = rows.last_mut() else { continue };
        for part in parts {
            row[part.column].0.push(part.words);
        }
    }
    rows
}

/// Returns for each line whether it goes on with the row of the line before. A single row is told only by lines that are drawn.
fn wrapped(lines: &[Line], parts: &[Vec<Part>], bands: &[usize], widest: &[f32], drawn: bool) -> Vec<bool> {
    let mut goes_on = vec![false; lines.len()];
    // How closely lines of a column follow each other, in points: cells of a row may have letters of several sizes.
    let mut last: Vec<Option<usize>> = vec![None; widest.len()];
    let mut close = f32::INFINITY;
    for (at, parts) in parts.iter().enumerate() {
        for part in parts {
            if let Some(before) = last[part.column].replace(at).filter(|before| bands[*before] == bands[at]) {
                close = close.min(lines[at].y - lines[before].y);
            }
        }
    }
    if !(0.8..1.8).contains(&(close / median(lines.iter().map(|line| line.size)))) {
        return goes_on;
    }
    let (mut all, mut shorter, mut groups) = (0, 0, 0);
    // Groups of lines of which some lack cells, and others.
    let (mut found, mut whole) = (Vec::new(), Vec::new());
    let mut start = 0;
    while start < lines.len() {
        let near = |at: &usize| bands[*at] == bands[start] && lines[*at].y - lines[at - 1].y <= 1.12 * close;
        let end = start + 1 + (start + 1..lines.len()).take_while(near).count();
        groups += 1;
        if end > start + 1 {
            let group = &parts[start..end];
            let used: BTreeSet<usize> = group.iter().flatten().map(|part| part.column).collect();
            let short = group.iter().filter(|parts| parts.len() < used.len()).count();
            all += end - start;
            shorter += short;
            let sure = is_row(group, widest);
            if short > 0 {
                found.push((start + 1..end, sure, is_row(group, &vec![0.0; widest.len()])));
            } else if sure {
                whole.push(start + 1..end);
            }
        }
        start = end;
    }
    if (groups > 1 || drawn) && shorter * 5 >= all * 2 {
        // If most are rows, so are those in which a line ended early.
        let sure = found.iter().filter(|(_, sure, _)| *sure).count();
        let most = sure * 3 >= found.len() * 2;
        // Then all lines that are that close are one row.
        if most && sure > 0 && groups > 2 {
            for lines in whole {
                goes_on[lines].fill(true);
            }
        }
        found.retain(|(_, sure, possible)| *sure || most && *possible);
        for (lines, ..) in found {
            goes_on[lines].fill(true);
        }
    }
    goes_on
}

/// Returns whether lines may be those of one row.
fn is_row(lines: &[Vec<Part>], widest: &[f32]) -> bool {
    let mut last: BTreeMap<usize, &Part> = BTreeMap::new();
    lines.iter().flatten().all(|part| {
        let before = last.insert(part.column, part);
        before.is_none_or(|before| is_wrapped(&before.words, &part.words, widest[part.column]))
    })
}
