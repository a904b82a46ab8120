//! The reading order of a page.
//!
//! A region is cut where a gutter runs through at least three lines: what is above, the left column, the right column, and
//! what is below follow each other, and each is cut again. So a heading over both columns does not hide them, and three
//! columns are two and one. The cells of a table have gutters, too; they are told from columns by their lines, which are
//! short and stand side by side. No gutter runs through a ruled table.

use std::ops::Range;

use super::frame::Frame;
use super::gutter;
use super::line::median;
use super::usual::Usual;
use super::word::Word;

/// Deepest nesting of cuts.
const DEPTH: usize = 16;

/// Rows of a region that are searched for gutters. Pages have fewer.
const ROWS: usize = 400;

/// Returns the regions of a page, in reading order.
pub(super) fn regions(words: Vec<Word>, frames: &[Frame], usual: &Usual) -> Vec<Vec<Word>> {
    let mut done = Vec::new();
    let mut open = vec![(words, 0)];
    while let Some((words, depth)) = open.pop() {
        if depth < DEPTH
            && words.len() > 8
            && let Some(cut) = Cut::find(&words, frames, usual)
        {
            let [above, left, right, below] = cut.parts(words);
            for part in [below, right, left, above] {
                if !part.is_empty() {
                    open.push((part, depth + 1));
                }
            }
            continue;
        }
        if !words.is_empty() {
            done.push(words);
        }
    }
    done
}

/// A gutter between two heights.
#[derive(Debug)]
struct Cut {
    top: f32,
    bottom: f32,
    x: f32,
}

/// Words whose heights overlap.
struct Row {
    top: f32,
    bottom: f32,
    words: Vec<usize>,
    /// Whether they are code.
    code: bool,
    /// Where it has no text, from left to right.
    free: Vec<Range<f32>>,
}

impl Cut {
    fn find(words: &[Word], frames: &[Frame], usual: &Usual) -> Option<Self> {
        let rows = rows(words, frames, usual);
        if rows.len() > ROWS {
            return None;
        }
        let size = median(words.iter().map(|word| word.size));
        let least = (0.9 * size).max(4.0);
        let mut best: Option<(usize, Self)> = None;
        for start in 0..rows.len() {
            let mut free = rows[start].free.clone();
            let (top, mut end) = (rows[start].top, start);
            loop {
                let next = rows.get(end + 1).map(|row| intersection(&free, &row.free, least));
                // A gutter that ends here is as long as it gets.
                for gutter in &free {
                    let goes_on = next
                        .as_ref()
                        .is_some_and(|next| next.iter().any(|next| next.start < gutter.end && gutter.start < next.end));
                    if goes_on || !gutter.start.is_finite() || !gutter.end.is_finite() {
                        continue;
                    }
                    let x = f32::midpoint(gutter.start, gutter.end);
                    // The comments of a listing are not a column.
                    let texts = rows[start..=end].iter().filter(|row| !row.code);
                    let inside = || texts.clone().flat_map(|row| &row.words).map(|word| &words[*word]);
                    let lines = inside().count();
                    if best.as_ref().is_some_and(|(most, _)| *most >= lines) {
                        continue;
                    }
                    let cells = || frames.iter().any(|frame| frame.has_cells_at(gutter, top, words));
                    if gutter::parts_text(inside, x, size) && !cells() {
                        best = Some((lines, Self { top, bottom: rows[end].bottom, x }));
                    }
                }
                match next {
                    Some(next)
                        if next.iter().any(|gap| gap.start.is_finite() && gap.end.is_finite()) || {
                            // A row on one side only leaves the outer parts free; they may become a gutter.
                            next.len() > 1
                        } =>
                    {
                        free = next;
                        end += 1;
                    }
                    _ => break,
                }
            }
        }
        best.map(|(_, cut)| cut)
    }

    fn parts(&self, words: Vec<Word>) -> [Vec<Word>; 4] {
        let mut parts: [Vec<Word>; 4] = Default::default();
        for word in words {
            let middle = word.middle();
            let part = if middle < self.top {
                0
            } else if middle > self.bottom {
                3
            } else if f32::midpoint(word.x, word.end) < self.x {
                1
            } else {
                2
            };
            parts[part].push(word);
        }
        parts
    }
}

/// Returns the rows of a region, from the top.
fn rows(words: &[Word], frames: &[Frame], usual: &Usual) -> Vec<Row> {
    let mut order: Vec<usize> = (0..words.len()).collect();
    order.sort_by(|a, b| words[*a].top().total_cmp(&words[*b].top()).then(a.cmp(b)));
    let mut rows: Vec<Row> = Vec::new();
    for index in order {
        let word = &words[index];
        match rows.last_mut() {
            // Descenders may touch the next line.
            Some(row) if word.top() + 0.1 * word.size < row.bottom => {
                row.bottom = row.bottom.max(word.bottom());
                row.words.push(index);
            }
            _ => rows.push(Row {
                top: word.top(),
                bottom: word.bottom(),
                words: vec![index],
                code: false,
                free: Vec::new(),
            }),
        }
    }
    for row in &mut rows {
        row.code = row.words.iter().all(|word| usual.is_code(words[*word].look));
        let beside = frames.iter().filter(|frame| frame.top() < row.bottom && frame.bottom() > row.top);
        let beside = beside.map(|frame| (frame.left, frame.right));
        let mut taken: Vec<(f32, f32)> = row.words.iter().map(|word| (words[*word].x, words[*word].end)).collect();
        taken.extend(beside);
        taken.sort_by(|a, b| a.0.total_cmp(&b.0).then(a.1.total_cmp(&b.1)));
        let mut at = f32::NEG_INFINITY;
        for (x, end) in taken {
            if x > at && (at == f32::NEG_INFINITY || x - at > 3.0) {
                row.free.push(at..x);
            }
            at = at.max(end);
        }
        row.free.push(at..f32::INFINITY);
    }
    rows
}

/// Returns the parts that are in both lists and are wide enough.
fn intersection(a: &[Range<f32>], b: &[Range<f32>], least: f32) -> Vec<Range<f32>> {
    let (mut both, mut i, mut j) = (Vec::new(), 0, 0);
    while let (Some(one), Some(other)) = (a.get(i), b.get(j)) {
        let part = one.start.max(other.start)..one.end.min(other.end);
        if part.end - part.start >= least {
            both.push(part);
        }
        if one.end < other.end { i += 1 } else { j += 1 }
    }
    both
}
