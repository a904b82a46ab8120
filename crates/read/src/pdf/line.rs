//! Lines of a region, and the pieces of a line that are far from each other.

use super::font::Look;
use super::mark::mark;
use super::word::Word;

/// A line of text.
#[derive(Debug, Clone)]
pub(super) struct Line {
    /// Pieces with wide gaps between them, from left to right.
    pub(super) pieces: Vec<Piece>,
    pub(super) x: f32,
    pub(super) end: f32,
    /// Its baseline, and its size: those of most of its text.
    pub(super) y: f32,
    pub(super) size: f32,
    pub(super) look: Look,
    /// Whether a row of dots leads to a number at its end.
    pub(super) leader: bool,
    /// The characters of that row.
    pub(super) dots: String,
}

/// Words of a line without a wide gap.
#[derive(Debug, Clone)]
pub(super) struct Piece {
    pub(super) words: Vec<Word>,
}

impl Piece {
    pub(super) fn x(&self) -> f32 {
        self.words.first().map_or(0.0, |word| word.x)
    }

    pub(super) fn end(&self) -> f32 {
        self.words.iter().map(|word| word.end).fold(f32::NEG_INFINITY, f32::max)
    }
}

impl Line {
    pub(super) fn words(&self) -> impl Iterator<Item = &Word> + Clone {
        self.pieces.iter().flat_map(|piece| &piece.words)
    }

    pub(super) fn text(&self) -> String {
        let mut text = String::new();
        for word in self.words() {
            if !text.is_empty() {
                text.push(' ');
            }
            text.push_str(&word.text);
        }
        text
    }
}

/// Returns the median of some numbers; 10 if there are none.
pub(super) fn median(values: impl Iterator<Item = f32>) -> f32 {
    let mut values: Vec<f32> = values.collect();
    values.sort_by(f32::total_cmp);
    values.get(values.len() / 2).copied().unwrap_or(10.0)
}

/// Returns the lines of a region, from the top.
pub(super) fn lines(mut words: Vec<Word>) -> Vec<Line> {
    // The largest first at each height, so small ones join them.
    words.sort_by(|a, b| a.y.total_cmp(&b.y).then(a.x.total_cmp(&b.x)));
    let mut open: Vec<(f32, f32, Vec<Word>)> = Vec::new();
    for word in words {
        let (top, bottom) = (word.top(), word.bottom());
        let shared = |line: &(f32, f32, Vec<Word>)| {
            let overlap = line.1.min(bottom) - line.0.max(top);
            overlap / (line.1 - line.0).min(bottom - top).max(0.01)
        };
        let from = open.len().saturating_sub(3);
        let near = (from..open.len()).map(|at| (at, shared(&open[at]))).filter(|(_, shared)| *shared > 0.55);
        match near.max_by(|a, b| a.1.total_cmp(&b.1)) {
            Some((at, _)) => {
                let line = &mut open[at];
                // A line is as high as its largest word, not as all together: otherwise it grows into the next.
                if bottom - top > line.1 - line.0 {
                    (line.0, line.1) = (top, bottom);
                }
                line.2.push(word);
            }
            None => open.push((top, bottom, vec![word])),
        }
    }
    let mut lines: Vec<Line> = open.into_iter().map(|(_, _, words)| line(words)).collect();
    lines.sort_by(|a, b| a.y.total_cmp(&b.y).then(a.x.total_cmp(&b.x)));
    lines
}

fn line(mut words: Vec<Word>) -> Line {
    words.sort_by(|a, b| a.x.total_cmp(&b.x).then(a.y.total_cmp(&b.y)));
    let (leader, dots) = take_dots(&mut words);
    let main = main(&words);
    let (y, size) = words.get(main).map_or((0.0, 1.0), |word| (word.y, word.size));
    let chars = |is: &dyn Fn(&Word) -> bool| words.iter().filter(|word| is(word)).map(Word::chars).sum::<usize>();
    let all = chars(&|_| true);
    let look = Look {
        bold: chars(&|word| word.look.bold) * 10 > all * 9,
        italic: chars(&|word| word.look.italic) * 10 > all * 9,
        mono: chars(&|word| word.look.mono) * 10 > all * 7 && !is_item(&words) && !words.iter().any(is_of_sentence),
    };
    let x = words.first().map_or(0.0, |word| word.x);
    let end = words.iter().map(|word| word.end).fold(x, f32::max);
    let mut pieces: Vec<Piece> = Vec::new();
    let mut last = f32::NEG_INFINITY;
    for word in words {
        match pieces.last_mut() {
            Some(piece) if word.x - last < 1.4 * size => piece.words.push(word.clone()),
            _ => pieces.push(Piece { words: vec![word.clone()] }),
        }
        last = last.max(word.end);
    }
    Line { pieces, x, end, y, size, look, leader, dots }
}

/// Returns whether a line starts with the mark of an item in another font than code. A hyphen or asterisk may be a sign of
/// code that has no letter in its own font.
fn is_item(words: &[Word]) -> bool {
    matches!(words, [first, _, ..] if !first.look.mono && !matches!(&*first.text, "-" | "*") && mark(&first.text).is_some())
}

/// Returns whether a word in a line of code shows that it is the line of a sentence with names in it: in another font, or
/// with punctuation of another font behind it.
fn is_of_sentence(word: &Word) -> bool {
    if word.look.mono {
        return word.looks().last().is_some_and(|(range, look)| {
            !look.mono && word.text[range.clone()].chars().all(|c| matches!(c, '.' | ',' | ';' | ':' | ')' | '?' | '!'))
        });
    }
    !word.look.italic && word.text.len() > 1 && word.text.bytes().all(|byte| byte.is_ascii_lowercase())
}

/// Returns the index of a word of the size that most of the text has.
fn main(words: &[Word]) -> usize {
    let weight = |size: f32| -> usize {
        words.iter().filter(|word| (word.size - size).abs() < 0.05 * size).map(Word::chars).sum()
    };
    // A line has few sizes; only long ones are sampled.
    let step = words.len() / 64 + 1;
    let sampled = (0..words.len()).step_by(step).map(|at| (weight(words[at].size), at));
    sampled.max_by(|a, b| a.0.cmp(&b.0).then(b.1.cmp(&a.1))).map_or(0, |(_, at)| at)
}

/// Takes rows of dots out of a line. They lead the eye to the number of a page.
fn take_dots(words: &mut Vec<Word>) -> (bool, String) {
    let is_dots = |text: &str| !text.is_empty() && text.chars().all(|c| matches!(c, '.' | '·' | '…' | '‥' | '_'));
    let single = words.iter().filter(|word| is_dots(&word.text)).map(Word::chars).sum::<usize>();
    let mut dots = String::new();
    if single >= 4 {
        words.retain(|word| {
            let keep = !is_dots(&word.text);
            if !keep {
                dots.push_str(&word.text);
            }
            keep
        });
    }
    for word in words.iter_mut() {
        let kept = word.text.trim_end_matches('.');
        if word.text.len() - kept.len() >= 5 && !kept.is_empty() {
            dots.push_str(&word.text[kept.len()..]);
            word.text.truncate(kept.len());
        }
    }
    let number = words.last().is_some_and(|word| word.text.chars().all(|c| c.is_ascii_alphanumeric()));
    (!dots.is_empty() && number, dots)
}
