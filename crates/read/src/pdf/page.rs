//! The words of a page, and the blocks of them.

use std::collections::HashMap;

use super::about::{Outline, PageLink};
use super::block::{self, Block};
use super::content::Content;
use super::frame::{self, Frame};
use super::usual::Usual;
use super::word::{self, Word};
use super::{columns, line};

/// Directions of text on a page that are told from each other.
const MAX_ANGLES: usize = 8;

/// Words at the height of a link that may be its text.
const MAX_LINKED: usize = 400;

/// The words of a page.
#[derive(Debug)]
pub(super) struct PageText {
    pub number: u32,
    /// Words of each direction, that of most text first.
    pub groups: Vec<Vec<Word>>,
    /// The frames of tables in each direction.
    pub frames: Vec<Vec<Frame>>,
    /// The ends of the page, in the direction of its text.
    pub top: f32,
    pub bottom: f32,
}

impl PageText {
    /// Makes words of the glyphs of a page, those of each direction on their own.
    pub(super) fn of(number: u32, content: &Content, (width, height): (f32, f32), repeated: &mut String) -> Self {
        let mut angles: Vec<(i16, usize)> = Vec::new();
        for glyph in &content.glyphs {
            let full = angles.len() == MAX_ANGLES;
            match angles.iter_mut().find(|(angle, _)| *angle == glyph.angle) {
                Some((_, count)) => *count += 1,
                None if !full => angles.push((glyph.angle, 1)),
                None => {}
            }
        }
        angles.sort_by(|a, b| b.1.cmp(&a.1).then(a.0.cmp(&b.0)));
        let known = |angle: i16| angles.iter().any(|(known, _)| *known == angle);
        let (mut groups, mut frames): (Vec<Vec<Word>>, Vec<Vec<Frame>>) = Default::default();
        for (at, (angle, _)) in angles.iter().enumerate() {
            // Directions beyond the limit are read with the first, as they come.
            let own = content.glyphs.iter().filter(|glyph| glyph.angle == *angle || at == 0 && !known(glyph.angle));
            let words = word::words(own, repeated);
            if !words.is_empty() {
                frames.push(frame::frames(content.rules.iter().filter_map(|rule| rule.turned(*angle)), &words));
                groups.push(words);
            }
        }
        let (top, bottom) = match angles.first().map_or(0, |(angle, _)| *angle) {
            90 => (-width, 0.0),
            180 => (-height, 0.0),
            270 => (0.0, width),
            _ => (0.0, height),
        };
        Self { number, groups, frames, top, bottom }
    }

    /// Gives the words under a link its number.
    pub(super) fn linked(mut self, on_page: Vec<PageLink>, links: &mut Vec<String>) -> Self {
        let Some(words) = self.groups.first_mut().filter(|_| self.top == 0.0 && !on_page.is_empty()) else {
            return self;
        };
        let mut order: Vec<usize> = (0..words.len()).collect();
        order.sort_by(|a, b| words[*a].y.total_cmp(&words[*b].y).then(a.cmp(b)));
        // The same target again is the same link: a link over two lines is one.
        let mut known: HashMap<String, u32> = HashMap::new();
        for link in on_page {
            let [left, top, right, bottom] = link.bounds;
            let number = known.get(&link.target).copied().unwrap_or_else(|| {
                links.push(link.target.clone());
                let number = u32::try_from(links.len()).unwrap_or(0);
                known.insert(link.target, number);
                number
            });
            let from = order.partition_point(|word| words[*word].y < top);
            let to = order.partition_point(|word| words[*word].y <= bottom + 1.0).max(from);
            // A link over a whole page is not a link of its words; many of them would take very long.
            for index in order[from..to].iter().take(MAX_LINKED) {
                let word = &mut words[*index];
                if (left..=right).contains(&f32::midpoint(word.x, word.end)) {
                    word.link = number;
                }
            }
        }
        self
    }

    pub(super) fn blocks(self, usual: &Usual, outline: &Outline) -> Vec<Block> {
        let mut blocks = Vec::new();
        for (at, (words, frames)) in self.groups.into_iter().zip(&self.frames).enumerate() {
            for region in columns::regions(words, frames, usual) {
                let mut found = block::blocks(&line::lines(region), frames, self.number, usual, outline);
                for block in &mut found {
                    block.aside = at > 0;
                }
                blocks.extend(found);
            }
        }
        blocks
    }
}
