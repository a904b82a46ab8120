//! Lines of the file without the indentation of what they are in. Tabs are 8 columns wide.

use std::ops::Range;

/// A line, or what is left of it behind the indentation and the mark of its container. It ends before white space.
#[derive(Debug, Clone, Copy)]
pub(super) struct Line {
    /// Its first byte in the source.
    pub start: usize,
    /// The byte behind its last.
    pub end: usize,
    /// The column of its first byte in the file.
    column: usize,
    /// Columns of a tab before it that was cut in two.
    pub pad: usize,
}

impl Line {
    /// Returns whether nothing is on it.
    pub(super) fn is_blank(&self) -> bool {
        self.start >= self.end
    }

    /// Returns its text with its indentation.
    pub(super) fn raw<'t>(&self, source: &'t str) -> &'t str {
        source.get(self.start..self.end).unwrap_or_default()
    }

    /// Returns its text without indentation.
    pub(super) fn text<'t>(&self, source: &'t str) -> &'t str {
        self.raw(source).trim_start_matches(is_space)
    }

    /// Returns how many columns it is indented.
    pub(super) fn indent(&self, source: &str) -> usize {
        if self.is_blank() {
            return 0;
        }
        let spaces = self.raw(source).chars().take_while(|c| is_space(*c));
        self.pad + spaces.fold(self.column, advance) - self.column
    }

    /// Returns it without so many columns of its indentation.
    pub(super) fn strip(mut self, source: &str, columns: usize) -> Self {
        let pad = self.pad.min(columns);
        self.pad -= pad;
        let mut rest = columns - pad;
        while rest > 0 && !self.is_blank() {
            let Some(c) = self.raw(source).chars().next().filter(|c| is_space(*c)) else { break };
            let width = advance(self.column, c) - self.column;
            self.column += width;
            self.start += c.len_utf8();
            self.pad = width.saturating_sub(rest);
            rest = rest.saturating_sub(width);
        }
        self
    }

    /// Returns what is behind so many bytes of it.
    pub(super) fn behind(&self, source: &str, bytes: usize) -> Self {
        let cut = self.raw(source).get(..bytes).unwrap_or_default();
        let column = cut.chars().fold(self.column, advance);
        Self { start: (self.start + bytes).min(self.end), column, pad: 0, ..*self }
    }

    /// Returns it without indentation.
    pub(super) fn bare(self, source: &str) -> Self {
        let text = self.text(source).len();
        self.behind(source, self.end.saturating_sub(self.start) - text)
    }

    /// Returns its first bytes.
    pub(super) fn front(self, bytes: usize) -> Self {
        Self { end: (self.start + bytes).min(self.end), ..self }
    }

    /// Returns its characters and their bytes, one for each column.
    pub(super) fn drawn(&self, source: &str) -> Vec<(char, usize)> {
        let mut drawn = vec![(' ', self.start); self.pad];
        let mut column = self.column;
        for (at, c) in self.raw(source).char_indices() {
            let columns = if c == '\t' { advance(column, c) - column } else { width(c) };
            column += columns;
            drawn.extend(std::iter::repeat_n((c, self.start + at), columns));
        }
        drawn
    }

    /// Returns the columns between its start and that of what is left of it.
    pub(super) fn width_to(&self, rest: &Self) -> usize {
        rest.column.saturating_sub(self.column)
    }

    /// Returns its bytes.
    pub(super) fn range(&self) -> Range<usize> {
        self.start..self.end.max(self.start)
    }
}

/// White space that indents. Other white space is text.
pub(super) fn is_space(c: char) -> bool {
    matches!(c, ' ' | '\t' | '\u{b}' | '\u{c}')
}

fn advance(column: usize, c: char) -> usize {
    if c == '\t' { (column / 8 + 1) * 8 } else { column + 1 }
}

/// Returns the lines of a source from a byte on.
pub(super) fn lines(source: &str, from: usize) -> Vec<Line> {
    let mut at = from;
    let all = source.get(from..).unwrap_or_default().split('\n');
    all.map(|line| {
        let start = at;
        at += line.len() + 1;
        Line { start, end: start + line.trim_end().len(), column: 0, pad: 0 }
    })
    .collect()
}

/// Returns where the lines that are indented end, without blank lines at the end.
pub(super) fn indented(source: &str, lines: &[Line], from: usize) -> usize {
    deeper(source, lines, from, 1)
}

/// Returns where the lines that are indented so many columns end, without blank lines at the end.
pub(super) fn deeper(source: &str, lines: &[Line], from: usize, columns: usize) -> usize {
    let mut end = from;
    for (at, line) in lines.iter().enumerate().skip(from) {
        if line.is_blank() {
            continue;
        }
        if line.indent(source) < columns {
            break;
        }
        end = at + 1;
    }
    end
}

/// Returns lines without the indentation that they share, and without blank lines around them.
pub(super) fn dedent(source: &str, lines: &[Line]) -> Vec<Line> {
    let shared = lines.iter().filter(|line| !line.is_blank()).map(|line| line.indent(source)).min().unwrap_or(0);
    trim(lines).iter().map(|line| line.strip(source, shared)).collect()
}

/// Returns lines without blank lines around them.
pub(super) fn trim(lines: &[Line]) -> &[Line] {
    let Some(first) = lines.iter().position(|line| !line.is_blank()) else { return &[] };
    let last = lines.iter().rposition(|line| !line.is_blank()).unwrap_or(first);
    &lines[first..=last]
}

/// Returns whether there is a blank line between lines.
pub(super) fn is_loose(lines: &[Line]) -> bool {
    trim(lines).iter().any(Line::is_blank)
}

/// Returns the columns that a character takes in a terminal: tables are drawn with them.
pub(super) fn width(c: char) -> usize {
    match u32::from(c) {
        0x300..=0x36f | 0x483..=0x489 | 0x591..=0x5bd | 0x200b..=0x200f | 0x20d0..=0x20ff | 0xfe00..=0xfe0f => 0,
        0x1100..=0x115f
        | 0x2e80..=0x303e
        | 0x3041..=0xa4cf
        | 0xac00..=0xd7a3
        | 0xf900..=0xfaff
        | 0xfe30..=0xfe6f
        | 0xff00..=0xff60
        | 0xffe0..=0xffe6
        | 0x1f300..=0x1f64f
        | 0x1f900..=0x1f9ff
        | 0x20000..=0x3fffd => 2,
        _ => 1,
    }
}

/// Text of some lines, joined, that knows which bytes of the source it is.
#[derive(Debug, Default)]
pub(super) struct Flat {
    pub text: String,
    /// Where each line starts: here, and in the source.
    parts: Vec<(usize, usize)>,
}

impl Flat {
    /// Joins lines without their indentation.
    pub(super) fn new(source: &str, lines: &[Line]) -> Self {
        let mut flat = Self::default();
        for line in lines.iter().filter(|line| !line.is_blank()) {
            let line = line.bare(source);
            flat.add(source, line.range());
        }
        flat
    }

    /// Appends bytes of the source as a line.
    pub(super) fn add(&mut self, source: &str, range: Range<usize>) {
        if !self.parts.is_empty() {
            self.text.push('\n');
        }
        self.parts.push((self.text.len(), range.start));
        self.text.push_str(source.get(range).unwrap_or_default());
    }

    /// Returns the byte of the source that is at a byte of the text.
    pub(super) fn place(&self, at: usize) -> usize {
        let part = self.parts.partition_point(|(start, _)| *start <= at).saturating_sub(1);
        self.parts.get(part).map_or(0, |(start, source)| source + (at - start))
    }
}
