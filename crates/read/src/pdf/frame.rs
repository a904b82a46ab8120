//! Finds where tables are by the lines that are drawn around and in them: horizontal lines with the same ends, one below the
//! other. Each may consist of parts, one for each cell; the vertical lines and the ends of the parts are the borders of
//! columns.

use std::ops::Range;

use super::gutter;
use super::line::median;
use super::rule::Rule;
use super::word::Word;

/// Ends of lines that are the same, in points.
const SAME: f32 = 3.0;

/// Lines at one height, and parts of a line that touch, in points. Cells may have a space between them.
const HEIGHT: f32 = 1.5;
const TOUCH: f32 = 3.0;

/// Narrowest table, in points.
const NARROW: f32 = 30.0;

/// Places where gutters are looked for.
const MAX_PLACES: usize = 1000;

/// Narrowest gutter, in sizes of the font.
const GUTTER: f32 = 0.5;

/// Widest space between words, in sizes of the font.
const SPACE: f32 = 0.4;

/// Columns that a table may have.
pub(super) const MAX_COLUMNS: usize = 64;

/// Tallest space without text in a table, in points.
const MAX_EMPTY: f32 = 40.0;

/// Lines with other ends on a page.
const MAX_FRAMES: usize = 50;

/// Words in a frame. More are no table of a page.
const MAX_WORDS: usize = 4000;

/// The lines of a table.
#[derive(Debug)]
pub(super) struct Frame {
    pub(super) left: f32,
    pub(super) right: f32,
    /// The heights of the lines over its whole width, from the top.
    pub(super) rows: Vec<f32>,
    /// Where its columns meet, from left to right.
    pub(super) borders: Vec<f32>,
    /// Whether lines say where that is.
    pub(super) drawn: bool,
}

/// Parts of a line that touch each other.
struct Span {
    from: f32,
    to: f32,
    at: f32,
    /// Where its parts meet.
    joints: Vec<f32>,
}

impl Span {
    /// Returns whether it may be the next line of a table whose lines have these joints.
    fn continues(&self, joints: &[f32]) -> bool {
        let least = self.joints.len().min(joints.len());
        let known = |x: &&f32| joints.iter().any(|joint| (joint - **x).abs() < SAME);
        self.joints.iter().filter(known).count() * 4 >= least * 3
    }
}

/// Returns the frames of tables among the lines and the words of a page.
pub(super) fn frames(rules: impl Iterator<Item = Rule>, words: &[Word]) -> Vec<Frame> {
    let (vertical, horizontal): (Vec<Rule>, Vec<Rule>) = rules.partition(|rule| rule.vertical);
    let mut open: Vec<(Frame, Vec<f32>)> = Vec::new();
    for span in spans(horizontal) {
        let same = |frame: &Frame| (frame.left - span.from).abs() < SAME && (frame.right - span.to).abs() < SAME;
        // Of two tables with the same ends, the one below goes on.
        let before = open.iter_mut().rev().find(|(frame, _)| same(frame));
        if let Some((frame, joints)) = before.filter(|(_, joints)| span.continues(joints)) {
            frame.rows.push(span.at);
            joints.extend(span.joints);
        } else if open.len() < MAX_FRAMES && span.to - span.from >= NARROW {
            let frame =
                Frame { left: span.from, right: span.to, rows: vec![span.at], borders: Vec::new(), drawn: false };
            open.push((frame, span.joints));
        }
    }
    open.retain(|(frame, _)| frame.rows.len() > 1);
    let tables = open.into_iter().flat_map(|(mut frame, joints)| {
        frame.borders = borders(&frame, joints, &vertical);
        frame.drawn = !frame.borders.is_empty();
        frame.tables(words)
    });
    tables.collect()
}

impl Frame {
    pub(super) fn top(&self) -> f32 {
        self.rows.first().copied().unwrap_or_default()
    }

    pub(super) fn bottom(&self) -> f32 {
        self.rows.last().copied().unwrap_or_default()
    }

    /// Returns whether a gutter below it is between its columns: only the header has lines, and no word before the gutter is
    /// over two columns.
    pub(super) fn has_cells_at(&self, gutter: &Range<f32>, top: f32, words: &[Word]) -> bool {
        let is_border = |x: &f32| gutter.contains(x);
        let between = |word: &&Word| (self.bottom()..top).contains(&word.middle()) && self.spans(word.x, word.end);
        self.is_header()
            && top > self.bottom()
            && self.borders.iter().any(is_border)
            && !words.iter().filter(between).any(|word| self.is_crossed_by(word))
    }

    /// Returns whether its lines may be those of a header only.
    pub(super) fn is_header(&self) -> bool {
        self.rows.len() == 2
    }

    /// Returns whether a word is over a border of columns.
    pub(super) fn is_crossed_by(&self, word: &Word) -> bool {
        self.borders.iter().any(|x| word.x < *x - 1.0 && word.end > *x + 1.0)
    }

    /// Returns whether a range of a line is between its sides.
    pub(super) fn spans(&self, x: f32, end: f32) -> bool {
        x > self.left - SAME && end < self.right + SAME
    }

    /// Returns the column of a word.
    pub(super) fn column(&self, word: &Word) -> usize {
        self.borders.partition_point(|border| *border < f32::midpoint(word.x, word.end))
    }

    /// Returns the tables between these lines. Lines with the same ends may also be those of several tables with text between
    /// them, or of no table: at the top and at the bottom of a page, around code.
    fn tables(mut self, words: &[Word]) -> Vec<Self> {
        let inside =
            |word: &&Word| self.spans(word.x, word.end) && (self.top()..self.bottom()).contains(&word.middle());
        let words: Vec<&Word> = words.iter().filter(inside).take(MAX_WORDS + 1).collect();
        if words.len() > MAX_WORDS {
            return Vec::new();
        }
        if self.borders.is_empty() {
            let lines = by_line(&words);
            self.borders = gutters(&lines);
            let size = median(words.iter().map(|word| word.size));
            let is_text = |x: &f32| gutter::parts_text(|| words.iter().copied(), *x, size);
            let code = lines.iter().filter(|line| is_code(line)).count();
            if self.borders.iter().any(is_text) || code * 5 > lines.len() * 2 {
                return Vec::new();
            }
        }
        if self.borders.is_empty() || self.borders.len() >= MAX_COLUMNS {
            return Vec::new();
        }
        let mut tables = Vec::new();
        let mut rows: Vec<f32> = Vec::new();
        let mut end = 0;
        for band in self.rows.windows(2) {
            let words = words.iter().filter(|word| (band[0]..band[1]).contains(&word.middle()));
            let words: Vec<&Word> = words.copied().collect();
            let is_text = !words.is_empty() && self.is_text(&words);
            if is_text || words.is_empty() && band[1] - band[0] > MAX_EMPTY {
                tables.push((std::mem::take(&mut rows), std::mem::take(&mut end)));
                continue;
            }
            if words.is_empty() && rows.is_empty() {
                continue;
            }
            if rows.is_empty() {
                rows.push(band[0]);
            }
            rows.push(band[1]);
            if !words.is_empty() {
                end = rows.len();
            }
        }
        tables.push((rows, end));
        let tables = tables.into_iter().filter(|(_, end)| *end > 1).map(|(mut rows, end)| {
            rows.truncate(end);
            Self { rows, borders: self.borders.clone(), ..self }
        });
        tables.collect()
    }

    /// Returns whether the words between two lines are text over the columns: more lines go over borders than have wide gaps, or
    /// have a gap at a border.
    fn is_text(&self, words: &[&Word]) -> bool {
        let (lines, mut over, mut parted) = (by_line(words), 0, 0);
        for line in &lines {
            let gaps = gaps(line, SPACE);
            let at_border = |x: &f32| gaps.iter().any(|gap| gap.0 < x + 1.0 && gap.1 > x - 1.0);
            let is_over = |x: &f32| line[0].x < x - 1.0 && line.iter().any(|word| word.end > x + 1.0);
            if self.borders.iter().any(at_border) || !self::gaps(line, GUTTER).is_empty() {
                parted += 1;
            } else if self.borders.iter().any(is_over) {
                over += 1;
            }
        }
        over > parted || over * 8 > lines.len() + 8
    }
}

/// Returns whether a line is of a typewriter; its number, at the left, may not be.
fn is_code(line: &[&Word]) -> bool {
    let is_number = |word: &Word| word.text.chars().all(|c| c.is_ascii_digit() || ":.".contains(c));
    line[1..].iter().all(|word| word.look.mono) && (line[0].look.mono || line.len() > 1 && is_number(line[0]))
}

/// Returns words by their lines, from the top, and from left to right.
fn by_line<'w>(words: &[&'w Word]) -> Vec<Vec<&'w Word>> {
    let mut words = words.to_vec();
    words.sort_by(|a, b| a.y.total_cmp(&b.y).then(a.x.total_cmp(&b.x)));
    let lines = words.chunk_by_mut(|a, b| b.y - a.y < 0.3 * a.size).map(|line| {
        line.sort_by(|a, b| a.x.total_cmp(&b.x));
        line.to_vec()
    });
    lines.collect()
}

/// Returns where gutters are: some lines have a wide gap there, and four times as many have one as go over it. Text has none,
/// if few of its lines have wide gaps.
fn gutters(lines: &[Vec<&Word>]) -> Vec<f32> {
    let inset = GUTTER / 2.0 * median(lines.iter().flatten().map(|word| word.size));
    let with_gaps = lines.iter().map(|line| (line, gaps(line, GUTTER))).filter(|(_, gaps)| !gaps.is_empty());
    let (with_gaps, gaps): (Vec<_>, Vec<_>) = with_gaps.unzip();
    if gaps.len() * 5 < lines.len() {
        return Vec::new();
    }
    let places = |gap: &(f32, f32)| [gap.0 + inset, f32::midpoint(gap.0, gap.1), gap.1 - inset];
    let mut places: Vec<f32> = gaps.iter().flatten().flat_map(places).collect();
    places.sort_by(f32::total_cmp);
    places.dedup_by(|a, b| (*a - *b).abs() < 0.5);
    places.truncate(MAX_PLACES);
    // How many lines go over each place.
    let found = places.into_iter().filter_map(|x| {
        let parted = gaps.iter().filter(|gaps| gaps.iter().any(|gap| gap.0 < x && x < gap.1)).count();
        let crossed = lines.iter().filter(|line| line.iter().any(|word| word.x < x && word.end > x)).count();
        (parted > 1 && parted * 8 >= lines.len() && crossed * 4 <= parted).then_some((x, crossed))
    });
    let found: Vec<(f32, usize)> = found.collect();
    // Places without a word between them are the same gutter.
    let between = |a: f32, b: f32| with_gaps.iter().copied().flatten().any(|word| word.x >= a && word.end <= b);
    let same = found.chunk_by(|a, b| !between(a.0, b.0));
    let best = same.filter_map(|places| {
        let fewest = places.iter().map(|(_, crossed)| *crossed).min()?;
        let best: Vec<f32> = places.iter().filter(|(_, crossed)| *crossed == fewest).map(|(x, _)| *x).collect();
        Some(best[best.len() / 2])
    });
    best.collect()
}

/// Returns the gaps between the words of a line that are at least this wide, in sizes of its font.
fn gaps(line: &[&Word], least: f32) -> Vec<(f32, f32)> {
    let least = least * line.iter().map(|word| word.size).fold(0.0, f32::max);
    let (mut gaps, mut end) = (Vec::new(), line[0].end);
    for word in &line[1..] {
        if word.x - end >= least {
            gaps.push((end, word.x));
        }
        end = end.max(word.end);
    }
    gaps
}

/// Joins parts at the same height that touch.
fn spans(mut parts: Vec<Rule>) -> Vec<Span> {
    parts.sort_by(|a, b| a.at.total_cmp(&b.at));
    let mut spans = Vec::new();
    for row in parts.chunk_by(|a, b| b.at - a.at < HEIGHT) {
        let mut row = row.to_vec();
        row.sort_by(|a, b| a.from.total_cmp(&b.from).then(a.to.total_cmp(&b.to)));
        let first = spans.len();
        for part in row {
            match spans[first..].last_mut() {
                Some(Span { to, joints, .. }) if part.from - *to < TOUCH => {
                    // A line that is drawn twice has no joint.
                    if (part.from - *to).abs() < TOUCH && part.to > *to + TOUCH {
                        joints.push(f32::midpoint(part.from, *to));
                    }
                    *to = to.max(part.to);
                }
                _ => spans.push(Span { from: part.from, to: part.to, at: part.at, joints: Vec::new() }),
            }
        }
    }
    spans
}

/// Returns the borders of columns: where the parts of at least two lines meet, or a line stands that is as high as half of the
/// frame, perhaps in parts.
fn borders(frame: &Frame, joints: Vec<f32>, vertical: &[Rule]) -> Vec<f32> {
    let (top, bottom) = (frame.top(), frame.bottom());
    let (height, inside) = (bottom - top, frame.left + SAME..frame.right - SAME);
    let mut at: Vec<(f32, f32)> = joints.into_iter().map(|x| (x, 0.25 * height)).collect();
    for rule in vertical.iter().filter(|rule| rule.from > top - SAME && rule.to < bottom + SAME) {
        at.push((rule.at, rule.to - rule.from));
    }
    at.retain(|(x, _)| inside.contains(x));
    at.sort_by(|a, b| a.0.total_cmp(&b.0).then(a.1.total_cmp(&b.1)));
    let near = at.chunk_by(|a, b| b.0 - a.0 < SAME);
    let tall = near.filter(|near| near.iter().map(|(_, height)| height).sum::<f32>() >= 0.49 * height);
    tall.map(|near| near[near.len() / 2].0).collect()
}
