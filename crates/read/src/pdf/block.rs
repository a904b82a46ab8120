//! Makes blocks of the lines of a region: paragraphs, items, code, tables, lists of contents.

use super::about::Outline;
use super::frame::Frame;
use super::line::{Line, median};
use super::mark::{Mark, mark};
use super::table::Table;
use super::usual::Usual;

/// A block of a document.
#[derive(Debug)]
pub(super) struct Block {
    pub(super) kind: Kind,
    /// The page where it starts, and the one where it ends.
    pub(super) pages: (u32, u32),
    /// Its lines, except those of a table.
    pub(super) lines: Vec<Line>,
    /// Whether it is the first of a region, and so may continue another.
    pub(super) first: bool,
    /// Whether its direction is not the main one of the page.
    pub(super) aside: bool,
    /// Right end of the region's lines.
    pub(super) right: f32,
}

#[derive(Debug, PartialEq, Eq)]
pub(super) enum Kind {
    Text,
    /// An item of a list with its mark, which is `None` if it is a bullet.
    Item(Option<String>),
    Code,
    /// Lines that stay lines, such as those of a list of contents.
    Lines,
    Table(Table),
    Heading(u8),
}

impl Block {
    pub(super) fn size(&self) -> f32 {
        self.lines.first().map_or(0.0, |line| line.size)
    }

    pub(super) fn text(&self) -> String {
        self.lines.iter().map(Line::text).collect::<Vec<_>>().join(" ")
    }
}

/// Makes blocks of the lines of a region.
pub(super) fn blocks(lines: &[Line], frames: &[Frame], page: u32, usual: &Usual, outline: &Outline) -> Vec<Block> {
    let mut blocks = Vec::new();
    let mut text: Vec<Line> = Vec::new();
    let new = |kind, lines| Block { kind, pages: (page, page), lines, first: false, aside: false, right: 0.0 };
    let right = lines.iter().map(|line| line.end).fold(f32::NEG_INFINITY, f32::max);
    let margins = Margins::of(lines);
    let mut at = 0;
    while at < lines.len() {
        let rest = &lines[at..];
        let is_code = |line: &Line| usual.is_code(line.look) && line.size < 1.15 * usual.body;
        let (kind, len) = if let Some(len) = contents(rest) {
            (Kind::Lines, len)
        } else if let Some((table, len)) = Table::ruled(rest, frames, at == 0) {
            (Kind::Table(table), len)
        } else if is_code(&rest[0]) && !continues(&text, rest, &margins, right) {
            let gap = |len: usize| rest[len].y - rest[len - 1].y < 3.0 * rest[len].size;
            let mut len = 1;
            while len < rest.len() && is_code(&rest[len]) && gap(len) {
                len += 1;
            }
            (Kind::Code, len)
        } else if let Some((table, len)) = Table::aligned(rest) {
            (Kind::Table(table), len)
        } else {
            text.push(lines[at].clone());
            at += 1;
            continue;
        };
        paragraphs(&std::mem::take(&mut text), outline, &mut |kind, lines| blocks.push(new(kind, lines)));
        let taken = lines[at..at + len].to_vec();
        blocks.push(new(kind, taken));
        at += len;
    }
    paragraphs(&text, outline, &mut |kind, lines| blocks.push(new(kind, lines)));
    for block in &mut blocks {
        block.right = right;
    }
    if let Some(block) = blocks.first_mut() {
        block.first = true;
    }
    blocks
}

/// Returns whether the first line, which is all code, goes on with the paragraph or item that `text` ends with: it is below its
/// words, and its first word had no room in the line before. A paragraph must show that it goes on, as listings may stand
/// close below one.
fn continues(text: &[Line], lines: &[Line], margins: &Margins, right: f32) -> bool {
    let (line, next) = (&lines[0], lines.get(1));
    let Some(last) = text.last() else { return false };
    let same = |x: f32| (x - line.x).abs() < 0.4 * line.size;
    let hanging = text.iter().rev().take_while(|before| same(before.x)).count();
    let item = text.len().checked_sub(hanging + 1).filter(|at| behind_mark(&text[*at]).is_some_and(same));
    let from = item.unwrap_or(text.len() - hanging);
    let first = line.words().next().map_or(0.0, |word| word.end - word.x);
    let mut end = last.words().last().map_or("", |word| &word.text).chars().rev();
    let open = end.next().is_some_and(|c| c.is_lowercase() && end.all(char::is_alphabetic) || matches!(c, '-' | '/'));
    (item.is_some() || open && from < text.len())
        && right - last.end < first + 0.5 * line.size
        && !margins.ends(last, line, next, &text[from..])
}

/// Returns how many lines at the start are a list of contents.
fn contents(lines: &[Line]) -> Option<usize> {
    let close = |at: usize| lines[at].y - lines[at - 1].y < 3.0 * lines[at].size;
    let number = |line: &Line| line.words().last().is_some_and(|word| word.text.chars().all(|c| c.is_ascii_digit()));
    let (mut len, mut leaders) = (0, 0);
    while len < lines.len() && (len == 0 || close(len)) {
        let line = &lines[len];
        leaders += usize::from(line.leader);
        // The title of a chapter has no dots; a long title goes on in the next line.
        let goes_on = lines.get(len + 1).is_some_and(|next| next.leader) && len > 0;
        if !(line.leader || number(line) && line.pieces.len() > 1 || goes_on) {
            break;
        }
        len += 1;
    }
    (leaders >= 2 && leaders * 3 >= len).then_some(len)
}

/// Cuts lines into paragraphs and items.
fn paragraphs(lines: &[Line], outline: &Outline, push: &mut dyn FnMut(Kind, Vec<Line>)) {
    if lines.is_empty() {
        return;
    }
    let margins = Margins::of(lines);
    let (mut open, mut kind): (Vec<Line>, Kind) = (Vec::new(), Kind::Text);
    let mut number = 0;
    // A line that is a title in the outline is one, even if text follows closely.
    let mut titled = false;
    for at in 0..lines.len() {
        let line = &lines[at];
        let is_title = line.words().nth(1).is_some() && outline.level(&line.text()).is_some();
        let ends = std::mem::replace(&mut titled, is_title) || is_title;
        let ends = ends || open.last().is_none_or(|last| margins.ends(last, line, lines.get(at + 1), &open));
        let item = item(line, number, ends);
        if item.is_some() || ends {
            if !open.is_empty() {
                push(std::mem::replace(&mut kind, Kind::Text), std::mem::take(&mut open));
            }
            kind = Kind::Text;
        }
        if let Some((mark, value)) = item {
            number = value;
            kind = Kind::Item(mark);
        }
        open.push(line.clone());
    }
    if !open.is_empty() {
        push(kind, open);
    }
}

/// Returns the mark of a line that starts an item, and its number.
fn item(line: &Line, before: u32, fresh: bool) -> Option<(Option<String>, u32)> {
    let mut words = line.words();
    let (first, second) = (words.next()?, words.next()?);
    match mark(&first.text)? {
        // A dash also stands in sentences.
        Mark::Bullet if fresh || !first.text.starts_with(['-', '–', '—', '*', '·']) => Some((None, before)),
        Mark::Number(value) => {
            let far = second.x - first.end > 0.25 * line.size;
            (far && (value == before + 1 || value == 1 && fresh)).then(|| (Some(first.text.clone()), value))
        }
        Mark::Bullet => None,
    }
}

/// Returns where the text of an item starts, if a line starts with its mark.
fn behind_mark(line: &Line) -> Option<f32> {
    let mut words = line.words();
    mark(&words.next()?.text)?;
    words.next().map(|word| word.x)
}

/// The usual margins of the lines of a region.
struct Margins {
    left: f32,
    right: f32,
    /// Usual distance of lines, in sizes of the font.
    leading: f32,
}

impl Margins {
    fn of(lines: &[Line]) -> Self {
        if lines.is_empty() {
            return Self { left: 0.0, right: 0.0, leading: 1.2 };
        }
        let mut ends: Vec<f32> = lines.iter().map(|line| line.end).collect();
        ends.sort_by(f32::total_cmp);
        let right = ends[(ends.len() * 4 / 5).min(ends.len() - 1)];
        let left = lines.iter().map(|line| line.x).fold(f32::INFINITY, f32::min);
        let downs = lines.windows(2).map(|pair| (pair[1].y - pair[0].y) / pair[1].size.max(0.1));
        let leading = median(downs.filter(|down| (0.8..2.2).contains(down)));
        Self { left, right, leading: if leading > 2.2 { 1.2 } else { leading } }
    }

    /// Returns whether a paragraph ends before a line. `open` are its lines so far.
    fn ends(&self, last: &Line, line: &Line, next: Option<&Line>, open: &[Line]) -> bool {
        let size = line.size.max(last.size);
        let down = line.y - last.y;
        if down > (self.leading * 1.28).max(1.25) * size || down < 0.3 * size {
            return true;
        }
        // Code in a text is often smaller.
        let near = if line.look.mono == last.look.mono { 0.09 } else { 0.25 };
        if (line.size - last.size).abs() > near * size || line.look.bold != last.look.bold {
            return true;
        }
        let em = line.size;
        let same = |a: f32, b: f32| (a - b).abs() < 0.4 * em;
        let first = open.first().map_or(line.x, |first| first.x);
        // The second line of a paragraph may be further left or right than the first; all others are as the second.
        if open.len() >= 2 {
            let usual = open[1].x;
            if line.x < usual - 0.6 * em && !self.is_centred(last, line) {
                return true;
            }
            if line.x > usual + 0.6 * em && !self.is_centred(last, line) {
                return !next.is_some_and(|next| same(next.x, line.x)) || !same(first, usual);
            }
        } else if line.x > first + 0.6 * em && !self.is_centred(last, line) {
            let mut hangs = next.is_none_or(|next| same(next.x, line.x) || next.y - line.y > 1.6 * em);
            // Below the text of an item, behind its mark.
            hangs |= open.first().and_then(behind_mark).is_some_and(|x| same(x, line.x));
            if !hangs {
                return true;
            }
        }
        // The first word of this line had room in the one before.
        let word = line.words().next().map_or(0.0, |word| word.end - word.x);
        let room = self.right - last.end;
        let sentence =
            last.words().last().is_some_and(|word| word.text.ends_with(['.', '!', '?', ':', '。', '”', '"']));
        let width = (self.right - self.left).max(1.0);
        room > word + em && (sentence && room > 0.04 * width || room > 0.3 * width && starts_big(line))
    }

    fn is_centred(&self, a: &Line, b: &Line) -> bool {
        let middle = |line: &Line| f32::midpoint(line.x, line.end);
        (middle(a) - middle(b)).abs() < 0.5 * a.size && (a.x - b.x).abs() > 0.5 * a.size && a.x > self.left + a.size
    }
}

fn starts_big(line: &Line) -> bool {
    line.words().next().and_then(|word| word.text.chars().next()).is_some_and(|c| !c.is_lowercase())
}
