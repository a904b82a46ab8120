//! Tells gutters between columns of text from those between the cells of a table.

use super::word::Word;

/// One side of a gutter.
struct Side {
    /// Left and right end and height of each line.
    lines: Vec<(f32, f32, f32)>,
    words: usize,
}

impl Side {
    fn of<'w>(words: impl Iterator<Item = &'w Word>) -> Self {
        let mut all: Vec<_> = words.map(|word| (word.y, word.x, word.end, word.size)).collect();
        all.sort_by(|a, b| a.0.total_cmp(&b.0).then(a.1.total_cmp(&b.1)));
        let mut lines: Vec<(f32, f32, f32)> = Vec::new();
        for (y, x, end, size) in &all {
            match lines.last_mut() {
                Some(line) if y - line.2 < 0.5 * size => (line.0, line.1) = (line.0.min(*x), line.1.max(*end)),
                _ => lines.push((*x, *end, *y)),
            }
        }
        Self { lines, words: all.len() }
    }

    fn width(&self) -> f32 {
        let left = self.lines.iter().map(|line| line.0).fold(f32::INFINITY, f32::min);
        self.lines.iter().map(|line| line.1).fold(f32::NEG_INFINITY, f32::max) - left
    }

    /// Returns whether most of its lines follow each other closely.
    fn is_dense(&self, size: f32) -> bool {
        let close = self.lines.windows(2).filter(|pair| pair[1].2 - pair[0].2 < 2.0 * size).count();
        close * 10 >= self.lines.len().saturating_sub(1) * 6
    }

    #[expect(clippy::cast_precision_loss, reason = "a page has few lines")]
    fn fill(&self) -> (f32, f32) {
        let lines = self.lines.len().max(1) as f32;
        let filled: f32 = self.lines.iter().map(|line| line.1 - line.0).sum();
        (filled / lines / self.width().max(1.0), self.words as f32 / lines)
    }
}

/// Returns whether the words at both sides of a gutter are columns of text.
#[expect(clippy::cast_precision_loss, reason = "a page has few lines")]
pub(super) fn parts_text<'w, I: Iterator<Item = &'w Word>>(words: impl Fn() -> I, x: f32, size: f32) -> bool {
    let middle = |word: &Word| f32::midpoint(word.x, word.end);
    let left = Side::of(words().filter(|word| middle(word) < x));
    let right = Side::of(words().filter(|word| middle(word) >= x));
    if left.lines.len() < 3 || right.lines.len() < 3 {
        return false;
    }
    let aligned = right.lines.iter().filter(|line| {
        let near = left.lines.partition_point(|other| other.2 < line.2 - 0.2 * size);
        left.lines.get(near).is_some_and(|other| (other.2 - line.2).abs() <= 0.2 * size)
    });
    let aligned = aligned.count() as f32 / right.lines.len() as f32;
    let is_text = |side: &Side| {
        // The rows of a table are far from each other where a cell has several lines.
        if !side.is_dense(size) {
            return false;
        }
        let (fill, words) = side.fill();
        let width = side.width() / size;
        if aligned < 0.5 {
            fill > 0.35 && words >= 1.3 && width > 6.0
        } else if side.lines.len() >= 25 {
            // An index, or a list in columns.
            fill > 0.35 && words >= 1.5 && width > 7.0
        } else {
            fill > 0.55 && words >= 3.0 && width > 9.0
        }
    };
    is_text(&left) && is_text(&right)
}
