//! Makes words of glyphs.
//!
//! A file says where each glyph is, not where words end. A gap between two glyphs of a line that is wide against the size
//! of the font ends a word; so does a glyph for a space. Glyphs of one line mostly follow each other in the file, so words
//! are made in that order; only lines and columns are found by place.

use std::collections::HashMap;
use std::ops::Range;

use super::content::Glyph;
use super::font::Look;

/// Width of a gap that ends a word, in sizes of the font. TeX's spaces have at least .22, its thin ones .17; where lines are
/// stretched and shrunk with their letters, .15 was seen.
const GAP: f32 = 0.12;

/// The same between dots, which are far from each other in an ellipsis.
const DOTS: f32 = 0.3;

/// A word on a page.
#[derive(Debug, Clone)]
pub(super) struct Word {
    pub(super) text: String,
    pub(super) x: f32,
    pub(super) end: f32,
    /// Its baseline.
    pub(super) y: f32,
    pub(super) size: f32,
    pub(super) look: Look,
    /// The bytes at which its look changes, and how it looks from there.
    pub(super) turns: Vec<(usize, Look)>,
    /// The byte where a raised end of it starts: the mark of a footnote, an exponent.
    pub(super) raised: Option<usize>,
    /// Its link: an index from 1 of those of the page.
    pub(super) link: u32,
}

impl Word {
    pub(super) fn top(&self) -> f32 {
        self.y - 0.75 * self.size
    }

    pub(super) fn bottom(&self) -> f32 {
        self.y + 0.22 * self.size
    }

    /// The middle of its height.
    pub(super) fn middle(&self) -> f32 {
        f32::midpoint(self.top(), self.bottom())
    }

    pub(super) fn chars(&self) -> usize {
        self.text.chars().count()
    }

    /// Returns its parts that look the same: bytes, and how they look.
    pub(super) fn looks(&self) -> Vec<(Range<usize>, Look)> {
        let len = self.text.len();
        let mut looks: Vec<(Range<usize>, Look)> = vec![(0..len, self.look)];
        for (at, look) in &self.turns {
            let (before, after) = self.text.split_at_checked(*at).unwrap_or((&self.text, ""));
            let letters = before.ends_with(char::is_alphanumeric) && after.starts_with(char::is_alphanumeric);
            let Some((range, last)) = looks.last_mut().filter(|_| !after.is_empty()) else { break };
            // A letter of another font is not emphasis.
            let look = Look { mono: look.mono, ..if letters { *last } else { *look } };
            range.end = before.len();
            if before.len() == range.start {
                looks.pop();
            }
            looks.push((before.len()..len, look));
        }
        // Nor is a symbol, which its font may lack.
        for at in 1..looks.len().saturating_sub(1) {
            let (before, after) = (looks[at - 1].1, looks[at + 1].1);
            if before == after && !self.text[looks[at].0.clone()].contains(char::is_alphanumeric) {
                looks[at].1 = before;
            }
        }
        looks
    }
}

/// Makes words of the glyphs of a page that have one direction. Appends to `repeated` what is printed twice.
pub(super) fn words<'g>(glyphs: impl Iterator<Item = &'g Glyph>, repeated: &mut String) -> Vec<Word> {
    let mut builder = Builder { seen: HashMap::new(), words: Vec::new(), open: false, accent: None };
    for glyph in glyphs {
        builder.push(glyph, repeated);
    }
    builder.words
}

struct Builder<'g> {
    /// Where each text is printed.
    seen: HashMap<(&'g str, i32, i32), (f32, f32)>,
    words: Vec<Word>,
    /// Whether the last word may go on.
    open: bool,
    /// An accent at the end of the last word: where it starts and ends.
    accent: Option<(f32, f32)>,
}

impl<'g> Builder<'g> {
    fn push(&mut self, glyph: &'g Glyph, repeated: &mut String) {
        let text: &str = &glyph.text;
        if text.trim().is_empty() {
            self.open = false;
            return;
        }
        if self.is_repeated(glyph) {
            repeated.push_str(text);
            return;
        }
        if self.open && self.goes_on(glyph) {
            self.append(glyph);
        } else {
            self.words.push(Word {
                text: text.trim().to_owned(),
                x: glyph.x,
                end: glyph.end,
                y: glyph.y,
                size: glyph.size,
                look: glyph.look,
                turns: Vec::new(),
                raised: None,
                link: 0,
            });
        }
        self.accent = accent(text).map(|_| (glyph.x, glyph.end));
        // A text with a space at its end is a word with its space.
        self.open = !text.ends_with(' ');
    }

    /// Returns whether the same text is printed at the same place, as some programs do to make it bold.
    #[expect(clippy::cast_possible_truncation, reason = "places on a page are small")]
    fn is_repeated(&mut self, glyph: &'g Glyph) -> bool {
        let cell = |value: f32| (value / glyph.size.max(1.0) * 2.0).floor() as i32;
        let near = 0.12 * glyph.size;
        let (x, y) = (cell(glyph.x), cell(glyph.y));
        for cells in [
            (x, y),
            (x - 1, y),
            (x + 1, y),
            (x, y - 1),
            (x, y + 1),
            (x - 1, y - 1),
            (x + 1, y + 1),
            (x - 1, y + 1),
            (x + 1, y - 1),
        ] {
            let before = self.seen.get(&(&*glyph.text, cells.0, cells.1));
            if before.is_some_and(|(x, y)| (x - glyph.x).abs() < near && (y - glyph.y).abs() < near) {
                return true;
            }
        }
        self.seen.insert((&*glyph.text, x, y), (glyph.x, glyph.y));
        false
    }

    fn goes_on(&self, glyph: &Glyph) -> bool {
        let Some(word) = self.words.last() else { return false };
        let size = word.size.min(glyph.size);
        let (gap, down) = (glyph.x - word.end, (glyph.y - word.y).abs());
        if let Some((start, end)) = self.accent
            && glyph.x < end
            && glyph.end > start
            && down < size
        {
            return true;
        }
        // The mark of a note stands before its text without a space.
        if glyph.size > 1.15 * word.size
            && glyph.y - word.y > 0.15 * glyph.size
            && word.text.chars().all(|c| c.is_ascii_digit() || "*∗†‡§¶".contains(c))
        {
            return false;
        }
        // The letters of a logo may overlap far, as in LaTeX.
        let back = if down < 0.1 * size { -0.6 * size } else { -0.5 * word.size.max(glyph.size) };
        let dots = &*glyph.text == "." && word.text.ends_with('.');
        gap > back && gap < if dots { DOTS } else { GAP } * size && down < 0.62 * word.size.max(glyph.size)
    }

    fn append(&mut self, glyph: &Glyph) {
        let Some(word) = self.words.last_mut() else { return };
        let on_accent = self
            .accent
            .is_some_and(|(start, end)| glyph.x < end && glyph.end > start && glyph.x < start + 0.9 * (end - start));
        let joined = on_accent.then(|| {
            let mark = accent(word.text.chars().next_back().map(|c| c.to_string()).unwrap_or_default().as_str())?;
            let mut rest = glyph.text.chars();
            let letter = composed(rest.next()?, mark)?;
            Some(format!("{letter}{}", rest.as_str()))
        });
        if let Some(joined) = joined.flatten() {
            word.text.pop();
            word.text.push_str(&joined);
        } else {
            let smaller = glyph.size < 0.85 * word.size && word.y - glyph.y > 0.15 * word.size;
            if smaller && word.raised.is_none() {
                word.raised = Some(word.text.len());
            } else if !smaller && glyph.y > word.y - 0.1 * word.size {
                word.raised = None;
            }
            if glyph.size > 1.15 * word.size {
                if glyph.y - word.y > 0.1 * glyph.size {
                    // A mark before the text that it belongs to.
                    word.look = glyph.look;
                    word.turns.clear();
                }
                (word.y, word.size) = (glyph.y, glyph.size);
            }
            if word.turns.last().map_or(word.look, |(_, look)| *look) != glyph.look {
                word.turns.push((word.text.len(), glyph.look));
            }
            word.text.push_str(glyph.text.trim_end());
        }
        word.end = word.end.max(glyph.end);
        word.x = word.x.min(glyph.x);
    }
}

/// Returns the combining form of an accent that is printed on its own.
fn accent(text: &str) -> Option<char> {
    let mut chars = text.chars();
    let c = chars.next().filter(|_| chars.next().is_none())?;
    Some(match c {
        '`' | '\u{300}' => '\u{300}',
        '´' | '\u{301}' => '\u{301}',
        'ˆ' | '\u{302}' => '\u{302}',
        '˜' | '\u{303}' => '\u{303}',
        '¨' | '\u{308}' => '\u{308}',
        '˚' | '\u{30a}' => '\u{30a}',
        'ˇ' | '\u{30c}' => '\u{30c}',
        '¸' | '\u{327}' => '\u{327}',
        _ => return None,
    })
}

/// Returns a letter with an accent.
fn composed(letter: char, accent: char) -> Option<char> {
    let (from, to) = match accent {
        '\u{300}' => ("aeiouAEIOU", "àèìòùÀÈÌÒÙ"),
        '\u{301}' => ("aeiouyAEIOUYcnszlrCNSZLRı", "áéíóúýÁÉÍÓÚÝćńśźĺŕĆŃŚŹĹŔí"),
        '\u{302}' => ("aeiouAEIOUıcghjsw", "âêîôûÂÊÎÔÛîĉĝĥĵŝŵ"),
        '\u{303}' => ("anoANOiu", "ãñõÃÑÕĩũ"),
        '\u{308}' => ("aeiouyAEIOUYı", "äëïöüÿÄËÏÖÜŸï"),
        '\u{30a}' => ("aAuU", "åÅůŮ"),
        '\u{30c}' => ("cdensrtzCDENSRTZ", "čďěňšřťžČĎĚŇŠŘŤŽ"),
        '\u{327}' => ("cstCST", "çşţÇŞŢ"),
        _ => return None,
    };
    from.chars().zip(to.chars()).find(|(from, _)| *from == letter).map(|(_, to)| to)
}
