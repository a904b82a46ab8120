//! The lines of a file, and a text of some of them whose bytes are known.

use std::ops::Range;

use chunkmill_text::document::{DropReason, Inline, LayerWriter};

/// The bytes of a line or of a part of it, without white space at its end.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(super) struct Line {
    pub start: usize,
    pub end: usize,
}

impl Line {
    pub(super) fn of(self, source: &str) -> &str {
        source.get(self.start..self.end).unwrap_or_default()
    }

    pub(super) fn is_blank(self) -> bool {
        self.start >= self.end
    }

    /// Returns what is behind the first bytes, without white space at both ends.
    pub(super) fn behind(self, source: &str, len: usize) -> Self {
        Self { start: (self.start + len).min(self.end), end: self.end }.bare(source)
    }

    /// Returns it without white space at both ends.
    pub(super) fn bare(self, source: &str) -> Self {
        let text = self.of(source);
        let kept = text.trim_end();
        let start = self.start + kept.len() - kept.trim_start().len();
        Self { start, end: self.start + kept.len() }
    }

    pub(super) fn range(self) -> Range<usize> {
        self.start..self.end
    }
}

/// Returns the lines of a file without those of conditions, which are counted.
pub(super) fn of_file(text: &str, writer: &mut LayerWriter) -> Vec<Line> {
    let mut lines = Vec::new();
    let mut at = 0;
    if text.starts_with('\u{feff}') {
        at = '\u{feff}'.len_utf8();
        writer.drop(DropReason::Markup, "\u{feff}");
    }
    for raw in text[at..].split('\n') {
        let line = Line { start: at, end: at + raw.trim_end().len() };
        at += raw.len() + 1;
        match condition(line.of(text)) {
            None => lines.push(line),
            Some(shown) => {
                let kept = Line { start: line.start + shown.start, end: line.start + shown.end };
                writer.drop(DropReason::Markup, &text[line.start..kept.start]);
                writer.drop(DropReason::Markup, &text[kept.end..line.end]);
                if !kept.is_blank() {
                    lines.push(kept);
                }
            }
        }
    }
    lines
}

/// Returns the bytes of what a condition on one line shows; an empty range if that is on other lines.
fn condition(line: &str) -> Option<Range<usize>> {
    let (name, rest) = line.split_once("::")?;
    if !matches!(name, "ifdef" | "ifndef" | "ifeval" | "endif") || !rest.ends_with(']') {
        return None;
    }
    let open = line.find('[')?;
    let shown = line[open + 1..line.len() - 1].trim_end().len();
    let is_shown = matches!(name, "ifdef" | "ifndef");
    Some(open + 1..open + 1 + if is_shown { shown } else { 0 })
}

/// Lines as one text.
pub(super) struct Text<'s> {
    source: &'s str,
    pub joined: String,
    /// Where each line starts in the text and in the source.
    starts: Vec<(usize, usize)>,
    /// For each opening bracket its closing one, in the order of the opening ones.
    brackets: Vec<(usize, usize)>,
    /// Text between two or three plus signs, with them. No mark in it counts.
    passes: Vec<Range<usize>>,
}

impl<'s> Text<'s> {
    /// Joins lines, without their indentation.
    pub(super) fn of(source: &'s str, lines: &[Line]) -> Self {
        let bare: Vec<_> = lines.iter().map(|line| line.bare(source)).collect();
        Self::verbatim(source, &bare)
    }

    /// Joins lines as they are.
    pub(super) fn verbatim(source: &'s str, lines: &[Line]) -> Self {
        let mut text = String::new();
        let mut starts = Vec::with_capacity(lines.len());
        for (index, line) in lines.iter().enumerate() {
            if index > 0 {
                text.push('\n');
            }
            starts.push((text.len(), line.start));
            text.push_str(line.of(source));
        }
        let (brackets, passes) = (brackets(&text), passes(&text));
        Self { source, joined: text, starts, brackets, passes }
    }

    /// Returns the bytes of the source that a part of a line stands for.
    pub(super) fn place(&self, range: Range<usize>) -> Range<usize> {
        let line = self.starts.partition_point(|(start, _)| *start <= range.start).saturating_sub(1);
        let (start, source) = self.starts.get(line).copied().unwrap_or_default();
        let first = source + range.start - start;
        first..first + range.len()
    }

    /// Appends a part to a text of a block.
    pub(super) fn push(&self, out: &mut Inline, range: Range<usize>) {
        let mut at = range.start;
        while at < range.end {
            let rest = &self.joined[at..range.end];
            if rest.starts_with('\n') {
                let feed = self.place(at..at + 1);
                if self.source.get(feed.clone()) == Some("\n") {
                    out.push("\n", feed);
                } else {
                    out.write("\n");
                }
                at += 1;
                continue;
            }
            let len = rest.find('\n').unwrap_or(rest.len());
            out.push(&rest[..len], self.place(at..at + len));
            at += len;
        }
    }

    /// Returns where text between plus signs ends that starts at a byte.
    pub(super) fn pass(&self, start: usize) -> Option<usize> {
        let index = self.passes.binary_search_by_key(&start, |pass| pass.start).ok()?;
        Some(self.passes[index].end)
    }

    /// Returns whether a mark at a byte counts: it is not in text between plus signs.
    pub(super) fn counts(&self, at: usize) -> bool {
        let next = self.passes.partition_point(|pass| pass.start <= at);
        next.checked_sub(1).is_none_or(|index| self.passes[index].end <= at)
    }

    /// Returns where the bracket is closed that is open at a byte: its partner, or the next that closes one.
    pub(super) fn closing(&self, open: usize, end: usize) -> Option<usize> {
        let index = self.brackets.binary_search_by_key(&open, |(open, _)| *open).ok()?;
        Some(self.brackets[index].1).filter(|close| *close < end)
    }
}

/// Returns the parts of a text between two or three plus signs. They are found before all marks.
fn passes(text: &str) -> Vec<Range<usize>> {
    let mut passes = Vec::new();
    let mut at = 0;
    // A run without a partner has none later either.
    let mut missing = 0;
    while let Some(found) = text[at..].find("++") {
        let start = at + found;
        let len = 2 + usize::from(text[start + 2..].starts_with('+'));
        at = start + len;
        if len == missing {
            continue;
        }
        let Some(close) = text.get(at + 1..).and_then(|rest| rest.find(&text[start..at])) else {
            missing = len;
            continue;
        };
        let close = at + 1 + close;
        if len == 2 && text[at..close].starts_with('\n') {
            continue;
        }
        // A longer run closes at its end.
        let behind = &text[close + len..];
        let more = len == 2 && behind.starts_with('+') && !behind.starts_with("++");
        at = close + len + usize::from(more);
        if !text[..start].ends_with('\\') {
            passes.push(start..at);
        }
    }
    passes
}

/// Returns the brackets of a text. One without a partner is closed by the next closing one.
fn brackets(text: &str) -> Vec<(usize, usize)> {
    let bytes = text.as_bytes();
    let mut pairs: Vec<(usize, usize)> = Vec::new();
    let mut open = Vec::new();
    let (mut at, mut next_close) = (0, Vec::new());
    while at < bytes.len() {
        match bytes[at] {
            b'\\' if matches!(bytes.get(at + 1), Some(b'[' | b']')) => at += 1,
            b'[' => {
                open.push(pairs.len());
                pairs.push((at, usize::MAX));
            }
            b']' => {
                next_close.push(at);
                if let Some(index) = open.pop() {
                    pairs[index].1 = at;
                }
            }
            _ => {}
        }
        at += 1;
    }
    for pair in &mut pairs {
        if pair.1 == usize::MAX {
            let next = next_close.partition_point(|close| *close < pair.0);
            pair.1 = next_close.get(next).copied().unwrap_or(usize::MAX);
        }
    }
    pairs
}
